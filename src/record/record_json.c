/* record_json.c: one line of JSON Lines. Numbers, true, false and whatever is nested stay as they
 * are written; null is the same as nothing. A line usually has the members of the line before in
 * the same order, so a name is looked up by its place first. */
#include "record/json.h"
#include "record/record.h"

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

        if (!json_take_name(j, &name) || !json_take_value(j, &value))
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

bool record_parse_json(struct record_reader *r, char *p, char *end)
{
    struct json_reader j = json_reader_of(p, (size_t)(end - p));
    bool good;

    memset(r->fields, 0, sizeof(r->fields[0]) * r->column_count);
    good = take_members(r, &j);
    json_skip_space(&j);
    if (good && j.at != j.end) {
        j.fault = "text behind the closing }";
        good = false;
    }
    if (!good)
        snprintf(r->message, sizeof(r->message), "%s", j.fault);
    return good;
}
