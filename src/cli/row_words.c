#include "cli/row_words.h"

#include "record/type_name.h"
#include "cli/console/value.h"
#include "record/json.h"

#include <stdio.h>
#include <strings.h>

#define CELLS_FIRST 16

/* What a message about a value begins with. */
static const char *of_column(struct ctx *c, const char *kind, bytes name)
{
    return arena_printf(&c->arena, "%s %.*s: ", kind, BYTES_FMT(name)).ptr;
}

/* ---- keys ---- */

static int key_column(struct ctx *c, const struct wr_key_schema *s, bytes word,
                      struct wr_value *out)
{
    if (s->auto_increment && bytes_equal(word, BYTES_LIT("auto"))) {
        out->type = WR_AUTO_INCREMENT;
        return 0;
    }
    return value_of_word(c, of_column(c, "key column", s->name), word, s->type, out);
}

/* Names the columns, so that the next try needs no look at the table. */
static int key_miscounted(struct ctx *c, const struct wr_table_description *t, size_t given)
{
    bytes names = BYTES_LIT("");

    for (size_t i = 0; i < t->key_count; i++)
        names = arena_printf(&c->arena, "%.*s%s%.*s:%s", BYTES_FMT(names), i ? ", " : "",
                             BYTES_FMT(t->key[i].name), type_name(t->key[i].type));
    return fail(c, E_PARAMETER, "the key of %.*s is %.*s: %zu value%s wanted, %zu given",
                BYTES_FMT(t->table), BYTES_FMT(names), t->key_count, t->key_count == 1 ? "" : "s",
                given);
}

int row_words_key(struct ctx *c, const struct wr_table_description *t, char **words, size_t count,
                  enum wr_type fill, struct wr_key *out)
{
    struct wr_key_column *columns = ARENA_ARRAY(&c->arena, struct wr_key_column, t->key_count);

    if (count > t->key_count)
        return key_miscounted(c, t, count);
    for (size_t i = 0; i < t->key_count; i++) {
        columns[i] = (struct wr_key_column){.name = t->key[i].name, .value = {.type = fill}};
        if (i < count)
            TRY(key_column(c, &t->key[i], bytes_str(words[i]), &columns[i].value));
    }
    *out = (struct wr_key){columns, t->key_count};
    return 0;
}

/* ---- cells ---- */

static struct wr_cell *add_cell(struct ctx *c, struct wr_row *row)
{
    size_t n = row->cell_count, capacity = CELLS_FIRST;
    struct wr_cell *cells = (struct wr_cell *)(uintptr_t)row->cells;

    while (capacity < n)
        capacity *= 2;
    if (n == 0 || n == capacity) {
        cells = ARENA_ARRAY(&c->arena, struct wr_cell, n ? 2 * capacity : capacity);
        if (n)
            memcpy(cells, row->cells, n * sizeof(*cells));
        row->cells = cells;
    }
    cells[n] = (struct wr_cell){.timestamp_ms = WR_TIMESTAMP_NONE};
    row->cell_count++;
    return &cells[n];
}

/* What the table says of a column, or that it leaves it open. */
static enum wr_type defined_type(const struct wr_table_description *t, bytes name)
{
    for (size_t i = 0; i < t->defined_count; i++)
        if (bytes_equal(t->defined[i].name, name))
            return t->defined[i].type;
    return VALUE_TYPE_OPEN;
}

/* "NAME" or "NAME:type"; a colon that no type follows is of the name. */
static bytes split_type(bytes name, enum wr_type *type)
{
    const char *p = name.ptr, *colon = name.len ? memrchr(p, ':', name.len) : NULL;

    if (colon && type_parse(bytes_skip(name, (size_t)(colon + 1 - p)), type))
        name.len = (size_t)(colon - p);
    return name;
}

static int parse_cell(struct ctx *c, const struct wr_table_description *t, const char *word,
                      struct wr_row *row)
{
    const char *equals = strchr(word, '=');
    enum wr_type type = VALUE_TYPE_OPEN;
    struct wr_cell *cell;
    bool adds;

    if (!equals || equals == word)
        return fail(c, E_PARAMETER, "'%s' is no cell: COLUMN=VALUE is wanted", word);
    adds = equals[-1] == '+' && equals - 1 != word;
    cell = add_cell(c, row);
    cell->name = split_type(bytes_of(word, (size_t)(equals - word) - adds), &type);
    if (adds)
        cell->op = WR_CELL_INCREMENT;
    if (type == VALUE_TYPE_OPEN)
        type = defined_type(t, cell->name);
    for (size_t i = 0; i < t->key_count; i++)
        if (bytes_equal(t->key[i].name, cell->name))
            return fail(c, E_PARAMETER,
                        "%.*s is a key column: its value stands behind the table's name",
                        BYTES_FMT(cell->name));
    TRY(value_of_word(c, of_column(c, "column", cell->name), bytes_str(equals + 1), type,
                      &cell->value));
    if (adds && cell->value.type != WR_BIGINT && cell->value.type != WR_DOUBLE)
        return fail(c, E_PARAMETER, "'%s': only a number can be added", word);
    return 0;
}

int row_words_cells(struct ctx *c, const struct wr_table_description *t, char **words, size_t count,
                    struct wr_row *out)
{
    for (size_t i = 0; i < count; i++)
        TRY(parse_cell(c, t, words[i], out));
    return 0;
}

/* ---- JSON ---- */

static int bad_json(struct ctx *c, const struct json_reader *j, const char *what)
{
    return fail(c, E_PARAMETER, "%s: %s", what, j->fault ? j->fault : "that is not its form");
}

static struct json_reader read_copy(struct ctx *c, bytes text)
{
    bytes copy = arena_copy(&c->arena, text);

    return json_reader_of((char *)(uintptr_t)copy.ptr, copy.len);
}

static bool at_end(struct json_reader *j)
{
    json_skip_space(j);
    if (j->at == j->end)
        return true;
    j->fault = "text behind its end";
    return false;
}

/* A text in quotes is no number, whatever it looks like. */
static int json_value(struct ctx *c, const char *of, const struct csv_field *field,
                      enum wr_type type, struct wr_value *out)
{
    if (field->quoted && (type == VALUE_TYPE_OPEN || type == WR_VARCHAR)) {
        *out = (struct wr_value){.type = WR_VARCHAR, .bytes = field->text};
        return bytes_is_utf8(field->text) ? 0 : fail(c, E_PARAMETER, "%sthe text is not UTF-8", of);
    }
    if (!field->quoted && type == WR_VARCHAR)
        return fail(c, E_PARAMETER, "%s%.*s is no string: it has no quotes", of,
                    BYTES_FMT(field->text));
    return value_of_word(c, of, field->text, type, out);
}

static int json_key_value(struct ctx *c, const struct wr_key_schema *s,
                          const struct csv_field *field, struct wr_value *out)
{
    if (!field->text.ptr && s->auto_increment) {
        out->type = WR_AUTO_INCREMENT;
        return 0;
    }
    if (!field->text.ptr)
        return fail(c, E_PARAMETER,
                    "key column %.*s: there is no value, and a row needs its whole "
                    "key",
                    BYTES_FMT(s->name));
    return json_value(c, of_column(c, "key column", s->name), field, s->type, out);
}

/* A member of a row: of its key or a cell. */
static int put_member(struct ctx *c, const struct wr_table_description *t, bytes name,
                      const struct csv_field *field, struct wr_key_column *key, struct wr_row *out)
{
    struct wr_cell *cell;

    for (size_t i = 0; i < t->key_count; i++)
        if (bytes_equal(t->key[i].name, name)) {
            if (key[i].name.ptr)
                return fail(c, E_PARAMETER, "key column %.*s is given twice", BYTES_FMT(name));
            key[i].name = t->key[i].name;
            return json_key_value(c, &t->key[i], field, &key[i].value);
        }
    if (!field->text.ptr)
        return 0;
    cell = add_cell(c, out);
    cell->name = name;
    return json_value(c, of_column(c, "column", name), field, VALUE_TYPE_OPEN, &cell->value);
}

int row_words_object(struct ctx *c, const struct wr_table_description *t, bytes text,
                     struct wr_row *out)
{
    static const char what[] = "the row is an object, {\"COLUMN\":VALUE,...}";
    struct wr_key_column *key = ARENA_ARRAY(&c->arena, struct wr_key_column, t->key_count);
    struct json_reader j = read_copy(c, text);

    if (!json_take(&j, '{'))
        return bad_json(c, &j, what);
    if (!json_take(&j, '}')) {
        do {
            struct csv_field field;
            bytes name;

            if (!json_take_name(&j, &name) || !json_take_value(&j, &field))
                return bad_json(c, &j, what);
            TRY(put_member(c, t, name, &field, key, out));
        } while (json_take_next(&j, '}'));
    }
    if (j.fault || !at_end(&j))
        return bad_json(c, &j, what);
    for (size_t i = 0; i < t->key_count; i++)
        if (!key[i].name.ptr)
            return fail(c, E_PARAMETER,
                        "key column %.*s: there is no value, and a row needs its "
                        "whole key",
                        BYTES_FMT(t->key[i].name));
    out->key = (struct wr_key){key, t->key_count};
    return 0;
}

/* ---- Tablestore's own ---- */

int row_words_pk(struct ctx *c, const struct wr_table_description *t, bytes text,
                 struct wr_key *out)
{
    static const char what[] = "--pk is an array with all values of the key, '[\"86\",6771]'";
    struct wr_key_column *key = ARENA_ARRAY(&c->arena, struct wr_key_column, t->key_count);
    struct json_reader j = read_copy(c, text);
    size_t count = 0;

    if (!json_take(&j, '['))
        return bad_json(c, &j, what);
    do {
        struct csv_field field;

        if (!json_take_value(&j, &field) || count == t->key_count)
            return bad_json(c, &j, what);
        key[count].name = t->key[count].name;
        TRY(json_key_value(c, &t->key[count], &field, &key[count].value));
        count++;
    } while (json_take_next(&j, ']'));
    if (j.fault || !at_end(&j))
        return bad_json(c, &j, what);
    if (count != t->key_count)
        return key_miscounted(c, t, count);
    *out = (struct wr_key){key, count};
    return 0;
}

int row_words_whole_key(struct ctx *c, const struct wr_table_description *t, const char *pk,
                        char **words, size_t count, struct wr_key *out)
{
    if (pk && count)
        return fail(c, E_PARAMETER, "--pk is the whole key: leave the KEYs out");
    if (pk)
        return row_words_pk(c, t, bytes_str(pk), out);
    if (count != t->key_count)
        return key_miscounted(c, t, count);
    return row_words_key(c, t, words, count, WR_NULL, out);
}

/* The members of one element of --attr; their names in any case. */
struct attr {
    struct csv_field name, value, type, time, whole;
};

static struct csv_field *attr_member(struct attr *a, bytes name)
{
    const struct {
        const char *name;
        struct csv_field *field;
    } members[] = {
        {"c", &a->name}, {"v", &a->value}, {"t", &a->type}, {"ts", &a->time}, {"isint", &a->whole}};

    for (size_t i = 0; i < PORT_COUNT(members); i++)
        if (name.len == strlen(members[i].name) &&
            strncasecmp(name.ptr, members[i].name, name.len) == 0)
            return members[i].field;
    return NULL;
}

static bool take_attr(struct json_reader *j, struct attr *a)
{
    if (!json_take(j, '{'))
        return false;
    do {
        struct csv_field *field;
        bytes name;

        if (!json_take_name(j, &name))
            return false;
        field = attr_member(a, name);
        if (!field) {
            j->fault = "an element has members besides c, v, t, ts and isint";
            return false;
        }
        if (!json_take_value(j, field))
            return false;
    } while (json_take_next(j, '}'));
    return !j->fault;
}

/* There the text itself is base64. */
static int attr_binary(struct ctx *c, const struct attr *a, struct wr_value *out)
{
    bytes object = arena_printf(&c->arena, "{\"base64\":\"%.*s\"}", BYTES_FMT(a->value.text));

    if (value_of_object(object, arena_alloc(&c->arena, object.len), out))
        return 0;
    return fail(c, E_PARAMETER, "column %.*s: a binary is written in base64",
                BYTES_FMT(a->name.text));
}

static int attr_cell(struct ctx *c, const struct attr *a, struct wr_row *out)
{
    struct wr_cell *cell = add_cell(c, out);
    enum wr_type type = VALUE_TYPE_OPEN;

    if (!a->name.text.ptr || !a->value.text.ptr)
        return fail(c, E_PARAMETER, "an element of --attr has its column in c and its value in v");
    if (a->type.text.ptr && !type_parse(a->type.text, &type))
        return fail(c, E_PARAMETER, "'%.*s' is no type: integer, double, string, boolean, binary",
                    BYTES_FMT(a->type.text));
    if (bytes_equal(a->whole.text, BYTES_LIT("true")))
        type = WR_BIGINT;
    else if (bytes_equal(a->whole.text, BYTES_LIT("false")) && !a->value.quoted)
        type = WR_DOUBLE;
    cell->name = a->name.text;
    if (a->time.text.ptr && (!value_of_text(a->time.text, WR_BIGINT, &cell->value)))
        return fail(c, E_PARAMETER, "ts is a time in milliseconds, not %.*s",
                    BYTES_FMT(a->time.text));
    if (a->time.text.ptr)
        cell->timestamp_ms = cell->value.integer;
    if (type == WR_VARBINARY)
        return attr_binary(c, a, &cell->value);
    return json_value(c, of_column(c, "column", cell->name), &a->value, type, &cell->value);
}

int row_words_attr(struct ctx *c, bytes text, struct wr_row *out)
{
    static const char what[] = "--attr is an array, '[{\"c\":\"COLUMN\",\"v\":VALUE}]'";
    struct json_reader j = read_copy(c, text);

    if (!json_take(&j, '['))
        return bad_json(c, &j, what);
    do {
        struct attr a = {0};

        if (!take_attr(&j, &a))
            return bad_json(c, &j, what);
        TRY(attr_cell(c, &a, out));
    } while (json_take_next(&j, ']'));
    return j.fault || !at_end(&j) ? bad_json(c, &j, what) : 0;
}

/* {"Values":[...]}: the array. */
static bool values_of(bytes object, struct ctx *c, bytes *out)
{
    struct json_reader j = read_copy(c, object);
    struct csv_field field;
    bytes name;

    if (!json_take(&j, '{') || !json_take_name(&j, &name) || !json_take_value(&j, &field) ||
        !bytes_equal(name, BYTES_LIT("Values")))
        return false;
    *out = field.text;
    return !json_take_next(&j, '}') && !j.fault;
}

int row_words_document(struct ctx *c, const struct wr_table_description *t, bytes text,
                       struct wr_row *out)
{
    static const char what[] =
        "the file holds a row, or {\"PK\":{\"Values\":[...]},\"Attr\":{\"Values\":[...]}}";
    struct json_reader j = read_copy(c, text);
    bytes pk = BYTES_NONE, attr = BYTES_NONE;

    if (!json_take(&j, '{'))
        return bad_json(c, &j, what);
    do {
        struct csv_field field;
        bytes name;

        if (!json_take_name(&j, &name) || !json_take_value(&j, &field))
            return bad_json(c, &j, what);
        if (bytes_equal(name, BYTES_LIT("PK")) && !values_of(field.text, c, &pk))
            return bad_json(c, &j, what);
        if (bytes_equal(name, BYTES_LIT("Attr")) && !values_of(field.text, c, &attr))
            return bad_json(c, &j, what);
    } while (json_take_next(&j, '}'));
    if (j.fault || !at_end(&j))
        return bad_json(c, &j, what);
    if (!pk.ptr) /* a row as we print it */
        return row_words_object(c, t, text, out);
    TRY(row_words_pk(c, t, pk, &out->key));
    return attr.ptr ? row_words_attr(c, attr, out) : 0;
}
