#include "table/model/layout.h"

#include "base/floor_div.h"
#include "table/model/name.h"
#include "table/model/value.h"

#include <inttypes.h>
#include <xxhash.h>

#define TAIL_BYTES 4 /* of a text, for REVERSE */

/* ---- buckets ---- */

static unsigned modulo(int64_t v, unsigned n)
{
    int64_t r = v % (int64_t)n;

    return (unsigned)(r < 0 ? r + (int64_t)n : r);
}

static unsigned reverse_bucket(const struct location *p, bytes cols, unsigned n)
{
    size_t last = p->layout.partition_cols - 1u;
    bytes column = key_column_bytes(p->key, cols, last), tail;

    if (!value_is_bytes(p->key[last].type))
        return modulo(key_column_integer(&p->key[last], column), n);
    /* Between the tag and the two bytes that end a text. */
    tail = column.len > 3 ? bytes_of(bytes_u8(column) + 1, column.len - 3) : BYTES_NONE;
    if (tail.len > TAIL_BYTES)
        tail = bytes_skip(tail, tail.len - TAIL_BYTES);
    return (unsigned)(XXH3_64bits(tail.ptr, tail.len) % n);
}

uint8_t layout_bucket(const struct location *p, bytes cols)
{
    const struct layout *l = &p->layout;
    const struct wr_key_schema *column = &p->key[l->column];
    bytes field;

    switch (l->form) {
    case LAYOUT_PLAIN:
        return 0;
    case LAYOUT_HASH:
        cols.len = key_columns_length(p->key, cols, l->partition_cols);
        return (uint8_t)(XXH3_64bits(cols.ptr, cols.len) % l->buckets);
    case LAYOUT_REVERSE:
        return (uint8_t)reverse_bucket(p, cols, l->buckets);
    case LAYOUT_TIME:
        field = key_column_bytes(p->key, cols, l->column);
        /* Rounded down, so that the buckets on both sides of 0 are as wide as all others. */
        return (uint8_t)modulo(floor_div(key_column_integer(column, field), l->width), l->buckets);
    case LAYOUT_RANDOM:
        cols.len = key_columns_length(p->key, cols, p->key_count);
        return (uint8_t)(XXH3_64bits(cols.ptr, cols.len) % l->buckets);
    }
    return 0;
}

void layout_put_key(struct buf *b, const struct location *p, enum key_kind kind, bytes cols)
{
    uint8_t bucket = p->layout.form == LAYOUT_PLAIN ? 0 : layout_bucket(p, cols);

    key_put_prefix(b, p->id, bucket, kind);
    buf_put_bytes(b, cols);
}

void layout_move_key(struct buf *b, const struct location *p, bytes key)
{
    layout_put_key(b, p, (enum key_kind)bytes_u8(key)[5], bytes_skip(key, KEY_PREFIX_BYTES));
}

bool layout_one_bucket(struct ctx *c, const struct location *p, const struct wr_key *a,
                       const struct wr_key *b, uint8_t *bucket)
{
    size_t partition_cols = p->layout.partition_cols;
    struct wr_key first = {a->columns, partition_cols}, second = {b->columns, partition_cols};
    struct buf cols;

    *bucket = 0;
    if (p->layout.buckets == 1)
        return true;
    if (p->layout.form == LAYOUT_RANDOM)
        return false;
    for (size_t i = 0; i < partition_cols; i++)
        if (a->columns[i].value.type >= WR_INF_MIN || b->columns[i].value.type >= WR_INF_MIN)
            return false;
    if (key_compare(p->key, &first, &second) != 0)
        return false;
    buf_init(&cols, &c->arena, 64);
    if (key_put_columns(c, &cols, p->key, a->columns, partition_cols))
        return false;
    *bucket = layout_bucket(p, buf_bytes(&cols));
    return true;
}

/* ---- the text form ---- */

static const struct {
    const char *name;
    enum layout_form form;
} forms[] = {{"plain", LAYOUT_PLAIN},
             {"hash", LAYOUT_HASH},
             {"reverse", LAYOUT_REVERSE},
             {"time", LAYOUT_TIME},
             {"random", LAYOUT_RANDOM}};

static int bad_text(struct ctx *c, bytes text)
{
    return fail(c, E_PARAMETER,
                "Invalid key layout: '%.*s'. It is plain, hash:N, reverse:N, random:N or "
                "time:COLUMN/WIDTH:N, alone or behind splice:K and a '+'.",
                BYTES_FMT(name_text(c, text)));
}

/* A number without sign. */
static bool layout_parse_number(bytes text, int64_t *out)
{
    int64_t v = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = bytes_u8(text)[i] - (unsigned)'0';

        if (digit > 9 || v > (INT64_MAX - 9) / 10)
            return false;
        v = v * 10 + digit;
    }
    *out = v;
    return text.len != 0;
}

/* Cuts `text` at its last `mark`: what is behind it goes to *tail. */
static bool last_characters(bytes *text, char mark, bytes *tail)
{
    const uint8_t *at = text->len ? memrchr(text->ptr, mark, text->len) : NULL;

    if (!at)
        return false;
    *tail = bytes_skip(*text, (size_t)(at - bytes_u8(*text)) + 1);
    text->len = (size_t)(at - bytes_u8(*text));
    return true;
}

/* What is in front of the first `mark`, and what is behind it; `rest` ptr NULL: there is none. */
static bytes first_characters(bytes text, char mark, bytes *rest)
{
    const uint8_t *at = text.len ? memchr(text.ptr, mark, text.len) : NULL;

    *rest = BYTES_NONE;
    if (!at)
        return text;
    *rest = bytes_skip(text, (size_t)(at - bytes_u8(text)) + 1);
    return bytes_of(text.ptr, (size_t)(at - bytes_u8(text)));
}

static int parse_buckets(struct ctx *c, bytes text, bytes whole, struct layout *out)
{
    int64_t n;

    if (!layout_parse_number(text, &n))
        return bad_text(c, whole);
    if (n < 1 || n > LAYOUT_BUCKETS_MAX)
        return fail(c, E_PARAMETER, "The buckets of a key layout must be in range: [1, %d].",
                    LAYOUT_BUCKETS_MAX);
    out->buckets = (uint16_t)n;
    return E_OK;
}

/* COLUMN/WIDTH:N; the column's name may hold any of these marks. */
static int parse_time(struct ctx *c, bytes text, bytes whole, const struct wr_key_schema *key,
                      size_t key_count, struct layout *out)
{
    bytes buckets, width;

    if (!last_characters(&text, ':', &buckets) || !last_characters(&text, '/', &width) ||
        !layout_parse_number(width, &out->width))
        return bad_text(c, whole);
    TRY(parse_buckets(c, buckets, whole, out));
    if (out->width < 1)
        return fail(c, E_PARAMETER, "The width in a key layout must be at least 1.");
    for (size_t i = 0; i < key_count; i++)
        if (bytes_equal(key[i].name, text)) {
            out->column = (uint8_t)i;
            return E_OK;
        }
    return fail(c, E_PARAMETER, "The key layout names column '%.*s', which is no key column.",
                BYTES_FMT(name_text(c, text)));
}

static int parse_form(struct ctx *c, bytes text, bytes whole, const struct wr_key_schema *key,
                      size_t key_count, struct layout *out)
{
    bytes value, name = first_characters(text, ':', &value);

    for (size_t i = 0; i < PORT_COUNT(forms); i++) {
        if (!bytes_equal(name, bytes_str(forms[i].name)))
            continue;
        out->form = forms[i].form;
        if (out->form == LAYOUT_TIME)
            return parse_time(c, value, whole, key, key_count, out);
        if (out->form != LAYOUT_PLAIN)
            return parse_buckets(c, value, whole, out);
        if (!value.ptr)
            return E_OK;
    }
    return bad_text(c, whole);
}

/* ---- what fits ---- */

static bool is_integer(enum wr_type type)
{
    return (type >= WR_TINYINT && type <= WR_UBIGINT) || type == WR_DATE || type == WR_TIME ||
           type == WR_TIMESTAMP;
}

static int check_fit(struct ctx *c, const struct layout *l, const struct wr_key_schema *key,
                     size_t key_count)
{
    const struct wr_key_schema *last, *time = &key[l->column];

    if (l->partition_cols > key_count)
        return fail(c, E_PARAMETER,
                    "The key layout splices more key columns than the table has: %zu.", key_count);
    last = &key[l->partition_cols - 1];
    for (size_t i = 0; i < l->partition_cols; i++)
        if (key[i].auto_increment && i > 0) /* the first one has a text of its own */
            return fail(c, E_PARAMETER,
                        "The key layout splices column '%.*s', which is auto-increment; splice the "
                        "columns in front of it at most.",
                        BYTES_FMT(key[i].name));
    if (l->form == LAYOUT_REVERSE && !is_integer(last->type) && last->type != WR_VARCHAR &&
        last->type != WR_VARBINARY)
        return fail(c, E_PARAMETER,
                    "The key layout reverse:N needs an integer, a string or a binary, but column "
                    "'%.*s' is %s.",
                    BYTES_FMT(last->name), value_type_name(last->type));
    if (l->form != LAYOUT_TIME)
        return E_OK;
    if (l->column >= l->partition_cols)
        return fail(c, E_PARAMETER,
                    "The key layout names column '%.*s', which is outside of the partition key; "
                    "begin it with splice:%d+.",
                    BYTES_FMT(time->name), l->column + 1);
    if (!is_integer(time->type))
        return fail(c, E_PARAMETER,
                    "The key layout time needs an integer, but column '%.*s' is %s.",
                    BYTES_FMT(time->name), value_type_name(time->type));
    return E_OK;
}

/* splice:K in front of the form; *text is left with what is behind it. */
static int parse_partition_cols(struct ctx *c, bytes *text, bytes whole, struct layout *out)
{
    bytes rest, value, part = first_characters(*text, '+', &rest);
    int64_t n;

    if (!bytes_equal(first_characters(part, ':', &value), BYTES_LIT("splice")))
        return E_OK;
    if (!layout_parse_number(value, &n) || (rest.ptr && !rest.len))
        return bad_text(c, whole);
    if (n < 1)
        return fail(c, E_PARAMETER, "A key layout splices at least 1 key column.");
    out->partition_cols = (uint8_t)(n > WR_KEY_COLUMNS_MAX ? WR_KEY_COLUMNS_MAX + 1 : n);
    *text = rest;
    return E_OK;
}

int layout_parse(struct ctx *c, bytes text, const struct wr_key_schema *key, size_t key_count,
                 struct layout *out)
{
    bytes form = text;

    *out = (struct layout){.buckets = 1, .partition_cols = 1};
    TRY(parse_partition_cols(c, &form, text, out));
    if (form.len)
        TRY(parse_form(c, form, text, key, key_count, out));
    return check_fit(c, out, key, key_count);
}

bytes layout_format(struct arena *a, const struct layout *l, const struct wr_key_schema *key)
{
    bytes form = bytes_str(forms[l->form].name);

    if (l->form == LAYOUT_TIME)
        form = arena_printf(a, "time:%.*s/%" PRId64 ":%d", BYTES_FMT(key[l->column].name), l->width,
                            l->buckets);
    else if (l->form != LAYOUT_PLAIN)
        form = arena_printf(a, "%.*s:%d", BYTES_FMT(form), l->buckets);
    if (l->partition_cols == 1)
        return form;
    if (l->form == LAYOUT_PLAIN)
        return arena_printf(a, "splice:%d", l->partition_cols);
    return arena_printf(a, "splice:%d+%.*s", l->partition_cols, BYTES_FMT(form));
}
