#include "cli/span.h"

#include "cli/console/value.h"
#include "cli/row_words.h"
#include "record/json.h"

static int compare(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type == WR_BIGINT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    return bytes_compare(a->bytes, b->bytes);
}

/* The first text behind all that begin with `prefix`; WR_INF_MAX: there is none. */
static struct wr_value behind_text(struct ctx *c, bytes prefix)
{
    bytes copy = arena_copy(&c->arena, prefix);
    uint8_t *p = (uint8_t *)(uintptr_t)copy.ptr;
    size_t n = copy.len;

    while (n) {
        size_t from = n - 1;
        uint32_t code, bits;

        while (from && (p[from] & 0xc0) == 0x80)
            from--;
        bits = p[from] < 0x80 ? 0x7f : p[from] < 0xe0 ? 0x1f : p[from] < 0xf0 ? 0x0f : 0x07;
        code = p[from] & bits;
        for (size_t i = from + 1; i < n; i++)
            code = code << 6 | (p[i] & 0x3f);
        if (code < 0x10ffff) {
            char *to = arena_alloc(&c->arena, from + 4), *end;

            memcpy(to, p, from);
            end = json_put_utf8(to + from, code == 0xd7ff ? 0xe000 : code + 1);
            return (struct wr_value){.type = WR_VARCHAR, .bytes = bytes_of(to, (size_t)(end - to))};
        }
        n = from;
    }
    return (struct wr_value){.type = WR_INF_MAX};
}

static struct wr_value behind_binary(struct ctx *c, bytes prefix)
{
    bytes copy = arena_copy(&c->arena, prefix);
    uint8_t *p = (uint8_t *)(uintptr_t)copy.ptr;
    size_t n = copy.len;

    while (n && p[n - 1] == 0xff)
        n--;
    if (!n)
        return (struct wr_value){.type = WR_INF_MAX};
    p[n - 1]++;
    return (struct wr_value){.type = WR_VARBINARY, .bytes = bytes_of(p, n)};
}

/* The bounds of the column behind the given ones: at least *low, less than *high; the placeholders
 * where nothing is said. */
static int bounds(struct ctx *c, const struct wr_key_schema *s, const struct span_options *o,
                  struct wr_value *low, struct wr_value *high)
{
    *low = (struct wr_value){.type = WR_INF_MIN};
    *high = (struct wr_value){.type = WR_INF_MAX};
    if (o->prefix && (o->from || o->to))
        return fail(c, E_PARAMETER, "--prefix excludes --from and --to");
    if (o->prefix && s->type == WR_BIGINT)
        return fail(c, E_PARAMETER,
                    "--prefix is for texts and binaries; key column %.*s is an "
                    "integer: take --from and --to",
                    BYTES_FMT(s->name));
    if (o->prefix) {
        TRY(value_of_word(c, "--prefix ", bytes_str(o->prefix), s->type, low));
        *high = s->type == WR_VARCHAR ? behind_text(c, low->bytes) : behind_binary(c, low->bytes);
    }
    if (o->from)
        TRY(value_of_word(c, "--from ", bytes_str(o->from), s->type, low));
    if (o->to)
        TRY(value_of_word(c, "--to ", bytes_str(o->to), s->type, high));
    return 0;
}

/* A key with `value` at `column`, the same placeholder behind it as in `rest`. */
static struct wr_key with(struct ctx *c, const struct wr_key *rest, size_t column,
                          const struct wr_value *value)
{
    struct wr_key_column *columns = ARENA_ARRAY(&c->arena, struct wr_key_column, rest->count);

    memcpy(columns, rest->columns, rest->count * sizeof(*columns));
    columns[column].value = *value;
    return (struct wr_key){columns, rest->count};
}

static struct wr_value *keep(struct ctx *c, const struct wr_value *v)
{
    struct wr_value *copy = ARENA_NEW(&c->arena, struct wr_value);

    *copy = *v;
    return copy;
}

int span_make(struct ctx *c, const struct wr_table_description *t, const struct span_options *o,
              char **words, size_t count, struct span *out)
{
    struct wr_key lowest, highest;
    struct wr_value low, high;

    *out = (struct span){.column = count};
    if (count >= t->key_count)
        return fail(c, E_PARAMETER, "that is a whole key; `widerow get` prints its row");
    TRY(row_words_key(c, t, words, count, WR_INF_MIN, &lowest));
    TRY(row_words_key(c, t, words, count, WR_INF_MAX, &highest));
    TRY(bounds(c, &t->key[count], o, &low, &high));
    if (t->key[count].descending && (o->prefix || o->from || o->to))
        return fail(c, E_UNSUPPORTED,
                    "key column %.*s descends: --prefix, --from and --to are for "
                    "ascending ones",
                    BYTES_FMT(t->key[count].name));
    /* Behind a bound nothing but the least rest of a key, so that it is in or out as a whole. */
    out->start = with(c, &lowest, count, &low);
    out->end = with(c, high.type == WR_INF_MAX ? &highest : &lowest, count, &high);
    if (!o->backward)
        return 0;
    if (count + 1 == t->key_count && (low.type != WR_INF_MIN || high.type != WR_INF_MAX)) {
        out->least = low.type == WR_INF_MIN ? NULL : keep(c, &low);
        out->below = high.type == WR_INF_MAX ? NULL : keep(c, &high);
        out->start = lowest;
    }
    lowest = out->start;
    out->start = out->end;
    out->end = lowest;
    return 0;
}

enum span_side span_side(const struct span *s, const struct wr_row *row)
{
    const struct wr_value *v =
        s->column < row->key.count ? &row->key.columns[s->column].value : NULL;

    if (v && s->below && compare(v, s->below) >= 0)
        return SPAN_ABOVE;
    return v && s->least && compare(v, s->least) < 0 ? SPAN_BELOW : SPAN_WITHIN;
}
