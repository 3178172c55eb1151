#include "cli/transfer/plan.h"

#include "archive/cells.h"
#include "cli/console/option.h"
#include "cli/console/value.h"
#include "record/type_name.h"

#include <stdio.h>

#define SHOWN_BYTES_MAX 40 /* of a bad value in a message */

const char *plan_column_type(const struct plan_column *column)
{
    return column->any ? "any" : type_name(column->type);
}

/* ---- the user's words */

static int find_field(struct ctx *c, const struct csv_record *header, bytes name, size_t *out)
{
    const char **names = ARENA_ARRAY(&c->arena, const char *, header->count), *near;

    for (size_t i = 0; i < header->count; i++) {
        if (bytes_equal(header->fields[i].text, name)) {
            *out = i;
            return 0;
        }
        names[i] = arena_printf(&c->arena, "%.*s", BYTES_FMT(header->fields[i].text)).ptr;
    }
    near =
        option_nearest(arena_printf(&c->arena, "%.*s", BYTES_FMT(name)).ptr, names, header->count);
    return fail(c, E_PARAMETER, "the file has no column '%.*s'%s%s%s", BYTES_FMT(name),
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* "NAME" or "NAME:type". */
static int parse_column(struct ctx *c, bytes word, bool key, const struct csv_record *header,
                        struct plan_column *out)
{
    const char *colon = word.len ? memchr(word.ptr, ':', word.len) : NULL;
    enum wr_type named;
    bytes type;

    *out = (struct plan_column){.name = word, .type = PLAN_TYPE_OPEN};
    if (colon) {
        out->name.len = (size_t)(colon - (const char *)word.ptr);
        type = bytes_skip(word, out->name.len + 1);
        if (type_parse(type, &named) && (!key || type_fits_key(named)))
            out->type = named;
        if (!key && bytes_equal(type, BYTES_LIT("any"))) {
            out->any = true;
            out->type = WR_VARCHAR;
        }
        if (out->type == PLAN_TYPE_OPEN)
            return fail(c, E_PARAMETER, "'%.*s' is no type of a%s; types are %s", BYTES_FMT(type),
                        key ? " key column" : "n attribute column",
                        key ? "integer, string and binary"
                            : "integer, double, string, boolean, binary and (JSON) any");
    }
    return find_field(c, header, out->name, &out->field);
}

/* The next word of a list with commas. */
static bytes next_word(bytes *list)
{
    const char *comma = list->len ? memchr(list->ptr, ',', list->len) : NULL;
    bytes word = {list->ptr, comma ? (size_t)(comma - (const char *)list->ptr) : list->len};

    *list = comma ? bytes_skip(*list, word.len + 1) : BYTES_NONE;
    return word;
}

static bool is_taken(const struct plan *p, bytes name)
{
    for (size_t i = 0; i < p->key_count; i++)
        if (bytes_equal(p->keys[i].name, name))
            return true;
    for (size_t i = 0; i < p->column_count; i++)
        if (bytes_equal(p->columns[i].name, name))
            return true;
    return false;
}

static int parse_columns(struct ctx *c, struct plan *p, const struct csv_record *header,
                         const char *words)
{
    bytes list = words ? bytes_str(words) : BYTES_NONE;

    while (list.ptr) {
        struct plan_column column;

        TRY(parse_column(c, next_word(&list), false, header, &column));
        if (is_taken(p, column.name))
            return fail(c, E_PARAMETER, "column '%.*s' is named twice, or is a key column too",
                        BYTES_FMT(column.name));
        p->columns[p->column_count++] = column;
    }
    return 0;
}

/* All fields that are no key; called once the key is known. */
static void take_other_fields(struct plan *p, const struct csv_record *header)
{
    for (size_t i = 0; i < header->count; i++)
        if (bytes_equal(header->fields[i].text, BYTES_LIT(CELLS_COLUMN))) {
            p->has_cells = true;
            p->cells_field = i;
        } else if (!is_taken(p, header->fields[i].text))
            p->columns[p->column_count++] =
                (struct plan_column){.name = header->fields[i].text, .field = i};
}

/* The header's names, which must outlive the first line, and the types behind them. */
static void keep_header(struct ctx *c, struct plan *p, const struct csv_record *header)
{
    struct csv_field *fields = ARENA_ARRAY(&c->arena, struct csv_field, header->count);

    p->header_types = ARENA_ARRAY(&c->arena, enum wr_type, header->count);
    for (size_t i = 0; i < header->count; i++) {
        bytes name = header->fields[i].text;
        const char *colon = name.len ? memrchr(name.ptr, ':', name.len) : NULL;
        enum wr_type type;

        if (header->values) {
            p->header_types[i] = header->values[i].type;
        } else if (colon &&
                   type_parse(bytes_skip(name, (size_t)(colon + 1 - (const char *)name.ptr)),
                              &type)) {
            p->header_types[i] = type;
            name.len = (size_t)(colon - (const char *)name.ptr);
        }
        fields[i].text = arena_copy(&c->arena, name);
        fields[i].quoted = header->fields[i].quoted;
    }
    p->header = (struct csv_record){.fields = fields, .count = header->count};
}

static int check_header(struct ctx *c, const struct csv_record *header)
{
    for (size_t i = 0; i < header->count; i++) {
        if (header->fields[i].text.len == 0)
            return fail(c, E_PARAMETER, "column %zu of the file's header has no name", i + 1);
        for (size_t j = 0; j < i; j++)
            if (bytes_equal(header->fields[i].text, header->fields[j].text))
                return fail(c, E_PARAMETER, "the file's header has two columns '%.*s'",
                            BYTES_FMT(header->fields[i].text));
    }
    return 0;
}

int plan_parse(struct ctx *c, struct plan *p, const struct csv_record *header, const char *keys,
               const char *columns)
{
    bytes list = keys ? bytes_str(keys) : BYTES_NONE;

    *p = (struct plan){.field_count = header->count, .keys_given = keys};
    keep_header(c, p, header);
    TRY(check_header(c, &p->header));
    p->columns = ARENA_ARRAY(&c->arena, struct plan_column, header->count);
    while (list.ptr) {
        struct plan_column column;

        if (p->key_count == WR_KEY_COLUMNS_MAX)
            return fail(c, E_PARAMETER, "a key has at most %d columns", WR_KEY_COLUMNS_MAX);
        TRY(parse_column(c, next_word(&list), true, &p->header, &column));
        if (is_taken(p, column.name))
            return fail(c, E_PARAMETER, "key column '%.*s' is named twice", BYTES_FMT(column.name));
        p->keys[p->key_count++] = column;
    }
    p->all_columns = !columns;
    TRY(parse_columns(c, p, &p->header, columns));
    if (p->all_columns && keys)
        take_other_fields(p, &p->header);
    return 0;
}

/* ---- the table's own schema */

static int use_key_column(struct ctx *c, struct plan *p, size_t i, const struct wr_key_schema *s)
{
    struct plan_column *k = &p->keys[i];

    if (s->auto_increment)
        return fail(c, E_PARAMETER,
                    "key column '%.*s' is numbered by the server; import cannot "
                    "load such a table",
                    BYTES_FMT(s->name));
    if (s->type != WR_BIGINT && s->type != WR_VARCHAR && s->type != WR_VARBINARY)
        return fail(c, E_PARAMETER, "key column '%.*s' has a type that import does not know",
                    BYTES_FMT(s->name));
    if (p->keys_given && !bytes_equal(k->name, s->name))
        return fail(c, E_PARAMETER, "key column %zu of the table is '%.*s', not '%.*s'", i + 1,
                    BYTES_FMT(s->name), BYTES_FMT(k->name));
    if (k->type != PLAN_TYPE_OPEN && k->type != s->type)
        return fail(c, E_PARAMETER, "key column '%.*s' of the table is of type %s, not %s",
                    BYTES_FMT(s->name), type_name(s->type), type_name(k->type));
    if (!p->keys_given) {
        if (is_taken(p, s->name))
            return fail(c, E_PARAMETER,
                        "'%.*s' is a key column of the table and cannot be among "
                        "--columns",
                        BYTES_FMT(s->name));
        k->name = arena_copy(&c->arena, s->name);
        TRY(find_field(c, &p->header, k->name, &k->field));
    }
    k->type = s->type;
    return 0;
}

int plan_use_schema(struct ctx *c, struct plan *p, const struct wr_key_schema *schema, size_t count)
{
    if (count > WR_KEY_COLUMNS_MAX)
        return fail(c, E_PARAMETER, "the table has %zu key columns", count);
    if (p->keys_given && p->key_count != count)
        return fail(c, E_PARAMETER, "the table has %zu key columns, --key names %zu", count,
                    p->key_count);
    for (size_t i = 0; i < count; i++)
        TRY(use_key_column(c, p, i, &schema[i]));
    p->key_count = count;
    if (p->all_columns && !p->keys_given)
        take_other_fields(p, &p->header);
    return 0;
}

static bool is_open(const struct plan *p, const struct plan_column *column)
{
    return column->type == PLAN_TYPE_OPEN && p->header_types[column->field] == PLAN_TYPE_OPEN;
}

static bool is_type_of_text(enum wr_type type)
{
    return type == WR_BIGINT || type == WR_DOUBLE || type == WR_VARCHAR || type == WR_BOOLEAN ||
           type == WR_VARBINARY;
}

void plan_use_defined(struct plan *p, const struct wr_defined_column *defined, size_t count)
{
    for (size_t i = 0; i < p->column_count && !p->json; i++)
        for (size_t k = 0; k < count; k++)
            if (is_open(p, &p->columns[i]) && bytes_equal(p->columns[i].name, defined[k].name) &&
                is_type_of_text(defined[k].type))
                p->columns[i].type = defined[k].type;
}

/* ---- guessing */

/* A value that JSON Lines writes as an object (value.h). */
static bool json_object(const struct csv_field *field, struct wr_value *out)
{
    return !field->quoted && value_of_object(field->text, NULL, out);
}

/* The text that stands for nothing, by --null. In quotes it is a text as any other, unless all of
 * the file stands in quotes, as the column's name in the header then does. */
static bool is_null(const struct plan *p, const struct plan_column *column,
                    const struct csv_field *field)
{
    return p->has_null && bytes_equal(field->text, p->null) &&
           (!field->quoted || p->header.fields[column->field].quoted);
}

static void guess_column(const struct plan *p, struct plan_column *column,
                         const struct csv_field *field)
{
    struct wr_value v;
    bytes text = field->text, digits = text;
    bool integer;

    if (column->type != PLAN_TYPE_OPEN || (text.len == 0 && !field->quoted) ||
        is_null(p, column, field))
        return;
    column->seen = true;
    column->not_text |= !field->quoted;
    column->not_binary |= !p->json || !json_object(field, &v) || v.type != WR_VARBINARY;
    if (p->json && field->quoted)
        column->not_integer = column->not_double = column->not_boolean = true;
    if (digits.len && bytes_u8(digits)[0] == '-')
        digits = bytes_skip(digits, 1);
    /* 007 is a label: as a number it would lose its zeros. */
    if (digits.len > 1 && bytes_u8(digits)[0] == '0' && bytes_u8(digits)[1] != '.')
        column->not_integer = column->not_double = true;
    integer = value_of_text(text, WR_BIGINT, &v);
    column->integers |= integer;
    column->not_integer |= !integer;
    column->not_double |= !value_of_text(text, WR_DOUBLE, &v);
    column->not_boolean |= !value_of_text(text, WR_BOOLEAN, &v);
}

bool plan_guesses(const struct plan *p)
{
    bool open = false;

    for (size_t i = 0; i < p->key_count; i++)
        open |= is_open(p, &p->keys[i]);
    for (size_t i = 0; i < p->column_count; i++)
        open |= is_open(p, &p->columns[i]);
    return open;
}

void plan_guess(struct plan *p, const struct csv_record *record)
{
    if (record->count != p->field_count || record->values)
        return;
    for (size_t i = 0; i < p->key_count; i++)
        guess_column(p, &p->keys[i], &record->fields[p->keys[i].field]);
    for (size_t i = 0; i < p->column_count; i++)
        guess_column(p, &p->columns[i], &record->fields[p->columns[i].field]);
}

static void decide(const struct plan *p, struct plan_column *column, bool key)
{
    enum wr_type said = p->header_types[column->field];

    if (column->type == PLAN_TYPE_OPEN && !(key && (said == WR_DOUBLE || said == WR_BOOLEAN)))
        column->type = said;
    if (column->type != PLAN_TYPE_OPEN)
        return;
    column->guessed = true;
    column->type = WR_VARCHAR;
    if (!column->seen)
        return;
    if (!column->not_binary)
        column->type = WR_VARBINARY;
    else if (!column->not_integer)
        column->type = WR_BIGINT;
    else if (!column->not_double && !key && p->json && column->integers)
        column->any = true;
    else if (!column->not_double && !key)
        column->type = WR_DOUBLE;
    else if (!column->not_boolean && !key)
        column->type = WR_BOOLEAN;
    else if (column->not_text && !key && p->json)
        column->any = true;
}

void plan_guess_end(struct plan *p)
{
    for (size_t i = 0; i < p->key_count; i++)
        decide(p, &p->keys[i], true);
    for (size_t i = 0; i < p->column_count; i++)
        decide(p, &p->columns[i], false);
}

/* ---- rows */

static void bad_value(const struct plan *p, const struct plan_column *column, bool key, bytes text,
                      char *message, size_t message_size)
{
    int shown = (int)(text.len < SHOWN_BYTES_MAX ? text.len : SHOWN_BYTES_MAX);

    if (key && (text.len == 0 || (p->has_null && bytes_equal(text, p->null))))
        snprintf(message, message_size,
                 "key column %.*s: there is no value, and a row needs its "
                 "whole key",
                 BYTES_FMT(column->name));
    else if (column->type == WR_VARCHAR)
        snprintf(message, message_size,
                 "column %.*s: not UTF-8 text (of Latin-1, iconv -f LATIN1 -t UTF-8 makes it; as a "
                 "binary it could be loaded)",
                 BYTES_FMT(column->name));
    else
        snprintf(message, message_size, "column %.*s: '%.*s'%s is no %s%s", BYTES_FMT(column->name),
                 shown, text.len ? (const char *)text.ptr : "",
                 text.len > SHOWN_BYTES_MAX ? "..." : "", type_name(column->type),
                 column->guessed ? " (the type was guessed from a sample; say NAME:string)" : "");
}

/* A field that may hold anything: the type that its text is written in. */
static enum wr_type written_type(const struct csv_field *field)
{
    static const enum wr_type tried[] = {WR_BIGINT, WR_DOUBLE, WR_BOOLEAN};
    struct wr_value v;

    for (size_t i = 0; i < PORT_COUNT(tried) && !field->quoted; i++)
        if (value_of_text(field->text, tried[i], &v))
            return tried[i];
    return WR_VARCHAR;
}

/* Nothing, as far as the file can say it. */
static bool is_missing(const struct plan *p, const struct plan_column *column,
                       const struct csv_field *field)
{
    return is_null(p, column, field) ||
           (field->text.len == 0 && (!field->quoted || p->header.fields[column->field].quoted));
}

/* One field's value, its text copied to *to. */
static bool row_value(const struct plan *p, const struct plan_column *column, bool key,
                      const struct csv_field *field, uint8_t **to, struct wr_value *out)
{
    bytes text = field->text;
    enum wr_type type = column->any ? written_type(field) : column->type;

    if (p->json && json_object(field, out) && (column->any || type == out->type)) {
        value_of_object(text, *to, out);
        *to += out->type == WR_VARBINARY ? out->bytes.len : 0;
        return true;
    }
    if (key && is_missing(p, column, field))
        return false;
    if (!key && ((text.len == 0 && !field->quoted) || is_null(p, column, field))) {
        *out = (struct wr_value){.type = WR_NULL};
        return true;
    }
    if (type == WR_VARCHAR || type == WR_VARBINARY) {
        if (text.len)
            memcpy(*to, text.ptr, text.len);
        text.ptr = *to;
        *to += text.len;
    }
    return value_of_text(text, type, out);
}

/* ---- typed values */

#define NUMBER_TEXT 32

/* A number as the text that it is read from again. */
static bytes number_text(const struct wr_value *v, uint8_t **to)
{
    char *text = (char *)*to;
    int n;

    if (v->type == WR_BOOLEAN)
        n = snprintf(text, NUMBER_TEXT, "%s", v->boolean ? "true" : "false");
    else if (v->type == WR_DOUBLE)
        n = snprintf(text, NUMBER_TEXT, "%.17g", v->real);
    else
        n = snprintf(text, NUMBER_TEXT, "%lld", (long long)v->integer);
    *to += n;
    return bytes_of(text, (size_t)n);
}

static bool is_text(enum wr_type type)
{
    return type == WR_VARCHAR || type == WR_VARBINARY;
}

/* A value of the file's type to one of the column's, as far as nothing of it is lost. */
static bool typed_value(const struct plan_column *column, bool key, const struct wr_value *v,
                        uint8_t **to, struct wr_value *out)
{
    enum wr_type type = column->any ? v->type : column->type;
    bytes text;

    *out = *v;
    if (v->type == WR_NULL)
        return !key;
    if (!is_text(v->type) && type == v->type)
        return true;
    if (v->type == WR_BIGINT && type == WR_DOUBLE) {
        out->type = WR_DOUBLE;
        out->real = (double)v->integer;
        return true;
    }
    if (!is_text(v->type)) {
        text = number_text(v, to);
        return value_of_text(text, type, out);
    }
    text = v->bytes;
    if (is_text(type)) {
        if (text.len)
            memcpy(*to, text.ptr, text.len);
        text.ptr = *to;
        *to += text.len;
    }
    return value_of_text(text, type, out);
}

/* What a bad one is shown as. */
static bytes shown_text(const struct wr_value *v, uint8_t room[NUMBER_TEXT])
{
    uint8_t *to = room;

    if (v->type == WR_NULL)
        return BYTES_NONE;
    return is_text(v->type) ? v->bytes : number_text(v, &to);
}

static size_t texts_bytes(const struct plan *p, const struct csv_record *record)
{
    size_t size = 0;

    if (!record->values)
        return record->size;
    for (size_t i = 0; i < p->field_count; i++)
        size += is_text(record->values[i].type) ? record->values[i].bytes.len : NUMBER_TEXT;
    return size;
}

static size_t value_bytes(const struct wr_value *v)
{
    switch (v->type) {
    case WR_NULL:
        return 0;
    case WR_BOOLEAN:
        return 1;
    case WR_VARCHAR:
    case WR_VARBINARY:
        return v->bytes.len;
    default:
        return 8;
    }
}

/* ---- cells beside the columns */

/* The bytes that they stand in; of JSON in *made, which is to be freed. False: they are none. */
static bool cells_bytes(const struct plan *p, const struct csv_record *record, uint8_t **made,
                        bytes *out)
{
    const struct csv_field *field;
    struct wr_value v;

    *out = BYTES_NONE;
    *made = NULL;
    if (!p->has_cells)
        return true;
    if (record->values) {
        v = record->values[p->cells_field];
        *out = v.type == WR_VARBINARY ? v.bytes : BYTES_NONE;
        return v.type == WR_VARBINARY || v.type == WR_NULL;
    }
    field = &record->fields[p->cells_field];
    *out = field->text;
    if (!p->json || !field->text.len)
        return true;
    *made = mem_alloc(field->text.len);
    if (field->quoted || !value_of_object(field->text, *made, &v) || v.type != WR_VARBINARY)
        return false;
    *out = v.bytes;
    return true;
}

/* Those of a row, where there is room for them and their bytes. */
static void take_cells(struct import_row *row, struct wr_cell *cells, size_t count, bytes from,
                       uint8_t **to)
{
    if (!count)
        return;
    memcpy(*to, from.ptr, from.len);
    cells_read(bytes_of(*to, from.len), cells);
    *to += from.len;
    row->cells = cells;
    row->cell_count = count;
    for (size_t i = 0; i < count; i++)
        row->bytes += cells[i].name.len + value_bytes(&cells[i].value);
}

struct import_row *plan_row(const struct plan *p, const struct csv_record *record, char *message,
                            size_t message_size)
{
    size_t count = p->key_count + p->column_count, cell_count = 0;
    struct import_row *row;
    uint8_t *text, *made;
    bytes cells;

    if (record->count != p->field_count) {
        snprintf(message, message_size, "%zu fields, the header has %zu", record->count,
                 p->field_count);
        return NULL;
    }
    if (cells_bytes(p, record, &made, &cells) && cells.len)
        cell_count = cells_read(cells, NULL);
    else if (made)
        cell_count = SIZE_MAX;
    if (cell_count == SIZE_MAX) {
        snprintf(message, message_size, "column " CELLS_COLUMN ": not what an export has written");
        mem_free(made);
        return NULL;
    }
    /* The texts of a line are never longer than the line. */
    row = mem_alloc(sizeof(*row) + sizeof(row->values[0]) * count +
                    sizeof(struct wr_cell) * cell_count + cells.len + texts_bytes(p, record) +
                    record->raw.len);
    *row = (struct import_row){.line = record->line, .source_bytes = record->size};
    text = (uint8_t *)&row->values[count] + sizeof(struct wr_cell) * cell_count;
    take_cells(row, (struct wr_cell *)&row->values[count], cell_count, cells, &text);
    mem_free(made);
    if (record->raw.len) {
        row->raw = bytes_of(memcpy(text, record->raw.ptr, record->raw.len), record->raw.len);
        text += record->raw.len;
    }
    for (size_t i = 0; i < count; i++) {
        bool key = i < p->key_count;
        const struct plan_column *column = key ? &p->keys[i] : &p->columns[i - p->key_count];
        size_t field = column->field;
        struct wr_value *to = &row->values[i];
        uint8_t room[NUMBER_TEXT];

        if (record->values ? !typed_value(column, key, &record->values[field], &text, to)
                           : !row_value(p, column, key, &record->fields[field], &text, to)) {
            bad_value(p, column, key,
                      record->values ? shown_text(&record->values[field], room)
                                     : record->fields[field].text,
                      message, message_size);
            mem_free(row);
            return NULL;
        }
        if (row->values[i].type != WR_NULL)
            row->bytes += column->name.len + value_bytes(&row->values[i]);
    }
    return row;
}
