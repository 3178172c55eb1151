/* record_json.c: one line of JSON Lines, or of DynamoDB's export. Numbers, true, false and whatever
 * is nested stay as they are written; null is the same as nothing. A line usually has the members
 * of the line before in the same order, so a name is looked up by its place first. */
#include "record/json.h"
#include "record/record.h"

#include "base/port.h"

#include <stdio.h>

/* The column of a name, a new one if need be; SIZE_MAX: there are too many. */
static size_t column_of(struct record_reader *r, size_t place, bytes name)
{
    size_t column;

    if (place < RECORD_COLUMNS_MAX && r->order[place] < r->column_count &&
        bytes_equal(r->names[r->order[place]], name))
        return r->order[place];
    column = record_column(r, name);
    if (column == SIZE_MAX && r->column_count < RECORD_COLUMNS_MAX) {
        column = r->column_count++;
        r->names[column] = arena_copy(r->arena, name);
    }
    if (column != SIZE_MAX && place < RECORD_COLUMNS_MAX)
        r->order[place] = column;
    return column;
}

/* ---- DynamoDB: a value is an object of one member, whose name is the type */

#define MADE_BEGIN "{\"base64\":\""
#define MADE_END "\"}"

/* A binary as other JSON Lines have it. The room for all of a record's was made before. */
static bytes make_binary(struct record_reader *r, bytes base64)
{
    char *start = r->made + r->made_size, *to = start;

    memcpy(to, MADE_BEGIN, sizeof(MADE_BEGIN) - 1);
    to += sizeof(MADE_BEGIN) - 1;
    if (base64.len)
        memcpy(to, base64.ptr, base64.len);
    to += base64.len;
    memcpy(to, MADE_END, sizeof(MADE_END) - 1);
    to += sizeof(MADE_END) - 1;
    r->made_size += (size_t)(to - start);
    return bytes_of(start, (size_t)(to - start));
}

/* {"base64":""} is five bytes longer than {"B":""}, which is itself eight. */
static void make_room(struct record_reader *r, size_t line)
{
    r->made_size = 0;
    if (r->made_capacity >= line * 2)
        return;
    r->made_capacity = line * 2;
    r->made = mem_realloc(r->made, r->made_capacity);
}

static bool is_word(bytes b, const char *word)
{
    return bytes_equal(b, bytes_str(word));
}

/* The value of a type into *out; `whole` is the object as it is written, which is what lists, maps
 * and sets become, as texts. */
static bool typed_value(struct record_reader *r, struct json_reader *j, bytes type, bytes whole,
                        struct csv_field *out)
{
    static const char *const nested[] = {"L", "M", "SS", "NS", "BS"};

    if (is_word(type, "S") && out->quoted)
        return true;
    if (is_word(type, "N") && out->quoted && out->text.len) {
        out->quoted = false;
        return true;
    }
    if (is_word(type, "B") && out->quoted) {
        *out = (struct csv_field){make_binary(r, out->text), false};
        return true;
    }
    if (is_word(type, "BOOL") && !out->quoted)
        return true;
    if (is_word(type, "NULL")) {
        *out = (struct csv_field){BYTES_NONE, false};
        return true;
    }
    for (size_t i = 0; i < PORT_COUNT(nested); i++)
        if (is_word(type, nested[i]) && !out->quoted) {
            *out = (struct csv_field){whole, false};
            return true;
        }
    j->fault = "not a value as DynamoDB exports it, {\"S\":\"...\"}, {\"N\":\"7\"} and the like";
    return false;
}

static bool take_typed(struct record_reader *r, struct json_reader *j, struct csv_field *out)
{
    char *start;
    bytes type;

    json_skip_space(j);
    start = j->at;
    if (!json_take(j, '{')) {
        j->fault = "not a value as DynamoDB exports it: an object whose one member is the type";
        return false;
    }
    if (!json_take_name(j, &type) || !json_take_value(j, out))
        return false;
    if (!json_take(j, '}')) {
        j->fault = "a value of DynamoDB with more than one member";
        return false;
    }
    return typed_value(r, j, type, bytes_of(start, (size_t)(j->at - start)), out);
}

/* ---- members */

static bool take_members(struct record_reader *r, struct json_reader *j)
{
    if (!json_take(j, '{')) {
        j->fault = "not an object: a line must begin with {";
        return false;
    }
    if (json_take(j, '}'))
        return true;
    for (size_t place = 0;; place++) {
        struct csv_field value;
        size_t column;
        bytes name;

        if (!json_take_name(j, &name) ||
            !(r->dynamodb ? take_typed(r, j, &value) : json_take_value(j, &value)))
            return false;
        column = column_of(r, place, name);
        if (column == SIZE_MAX) {
            j->fault = "more different columns than can be looked at (256)";
            return false;
        }
        r->fields[column] = value;
        if (!json_take_next(j, '}'))
            return !j->fault;
    }
}

/* {"Item":{...}} */
static bool take_item(struct record_reader *r, struct json_reader *j)
{
    bytes name;

    make_room(r, (size_t)(j->end - j->at));
    if (!json_take(j, '{')) {
        j->fault = "not an object: a line must begin with {";
        return false;
    }
    if (!json_take_name(j, &name))
        return false;
    if (!is_word(name, "Item")) {
        j->fault = "not {\"Item\":{...}}: only full exports of DynamoDB can be read";
        return false;
    }
    if (!take_members(r, j))
        return false;
    if (json_take(j, '}'))
        return true;
    j->fault = "text behind the item";
    return false;
}

/* Looks, and changes nothing: the words that are compared have no escapes. */
bool record_is_dynamodb(char *p, char *end)
{
    static const char *const types[] = {"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"};
    struct json_reader j = json_reader_of(p, (size_t)(end - p));
    bytes type;
    char *quote;

    if (!json_take(&j, '{') || !json_take(&j, '"') || end - j.at < 5 ||
        memcmp(j.at, "Item\"", 5) != 0)
        return false;
    j.at += 5;
    if (!json_take(&j, ':') || !json_take(&j, '{') || !json_take(&j, '"'))
        return false;
    for (; j.at != end && *j.at != '"'; j.at++)
        if (*j.at == '\\' && j.at + 1 != end)
            j.at++;
    if (j.at == end)
        return false;
    j.at++;
    if (!json_take(&j, ':') || !json_take(&j, '{') || !json_take(&j, '"'))
        return false;
    quote = memchr(j.at, '"', (size_t)(end - j.at));
    type = bytes_of(j.at, quote ? (size_t)(quote - j.at) : 0);
    for (size_t i = 0; i < PORT_COUNT(types); i++)
        if (is_word(type, types[i]))
            return true;
    return false;
}

bool record_parse_json(struct record_reader *r, char *p, char *end)
{
    struct json_reader j = json_reader_of(p, (size_t)(end - p));
    bool good;

    memset(r->fields, 0, sizeof(r->fields[0]) * r->column_count);
    good = r->dynamodb ? take_item(r, &j) : take_members(r, &j);
    json_skip_space(&j);
    if (good && j.at != j.end) {
        j.fault = "text behind the closing }";
        good = false;
    }
    if (!good)
        snprintf(r->message, sizeof(r->message), "%s", j.fault);
    return good;
}
