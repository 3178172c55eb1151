/* generate_key.c: keys and bounds. A column has four values of its own, more or less. */
#include "generate_part.h"

#define THREAD_KEYS 10 /* first-column integers that belong to one thread */

static struct wr_value integer_key(struct generator *g, size_t column)
{
    static const int64_t pool[] = {0, 1, -1, INT64_MIN, INT64_MAX, 255, 256, -256};
    int64_t v = pool[(column * 2 + gen_below(g, 4)) % PORT_COUNT(pool)];

    if (column == 0 && g->thread >= 0)
        v = g->thread * THREAD_KEYS + 1 + (int64_t)gen_below(g, 4);
    return (struct wr_value){.type = WR_BIGINT, .integer = v};
}

static struct wr_value text_key(struct generator *g, enum wr_type type, size_t column)
{
    static const bytes texts[] = {{"", 0},   {"a", 1}, {"a\0", 2},      {"a\0b", 3},
                                  {"ab", 2}, {"b", 1}, {"\xc3\xa9", 2}, {"a\x01", 2}};
    static const bytes blobs[] = {{"", 0},       {"\0", 1},       {"\0\0", 2}, {"\0\xff", 2},
                                  {"\xff\0", 2}, {"\xff\xff", 2}, {"\1", 1},   {"\xff", 1}};
    const bytes *pool = type == WR_VARCHAR ? texts : blobs;
    struct wr_value v = {.type = type, .bytes = pool[(column * 3 + gen_below(g, 4)) % 8]};
    uint8_t *p;

    if (gen_chance(g, 1)) {
        p = arena_alloc(g->a, 1024);
        memset(p, 'z', 1024);
        v.bytes = bytes_of(p, 1024);
    }
    if (column == 0 && g->thread >= 0) {
        p = arena_alloc(g->a, v.bytes.len + 2);
        p[0] = (uint8_t)('A' + g->thread);
        p[1] = '/';
        if (v.bytes.len)
            memcpy(p + 2, v.bytes.ptr, v.bytes.len);
        v.bytes = bytes_of(p, v.bytes.len > 1022 ? 1024 : v.bytes.len + 2);
    }
    return v;
}

static struct wr_value key_value(struct generator *g, const struct oracle_table *t, size_t column)
{
    switch (t->key[column].type) {
    case WR_BIGINT:
        return integer_key(g, column);
    case WR_VARCHAR:
    case WR_VARBINARY:
        return text_key(g, t->key[column].type, column);
    default: /* of an index */
        return gen_value_of(g, t->key[column].type);
    }
}

static struct wr_key_column *copy_key(struct generator *g, const struct oracle_table *t,
                                      const struct oracle_row *row)
{
    struct wr_key_column *key = ARENA_ARRAY(g->a, struct wr_key_column, t->key_count);

    for (size_t i = 0; i < t->key_count; i++) {
        key[i].name = arena_copy(g->a, t->key[i].name);
        if (!row) {
            key[i].value = key_value(g, t, i);
            continue;
        }
        key[i].value = row->key[i].value;
        if (oracle_value_is_bytes(key[i].value.type))
            key[i].value.bytes = arena_copy(g->a, key[i].value.bytes);
    }
    return key;
}

struct wr_key gen_key(struct generator *g, const struct oracle_table *t, bool write,
                      bool *placeholder)
{
    bool known = t->row_count && gen_chance(g, 55);
    struct wr_key_column *key = copy_key(g, t, known ? t->rows[gen_below(g, t->row_count)] : NULL);

    *placeholder =
        write && t->auto_column >= 0 && t->row_count < 200 && (!known || gen_chance(g, 20));
    /* An answer has the key as it was asked for. */
    for (size_t i = 0; i < t->key_count; i++)
        key[i].value = oracle_value_in_key(key[i].value);
    if (*placeholder)
        key[t->auto_column].value = (struct wr_value){.type = WR_AUTO_INCREMENT};
    return (struct wr_key){key, t->key_count};
}

/* The end of what belongs to this generator, as a bound on the first column. */
static struct wr_value edge(struct generator *g, const struct oracle_table *t, bool high)
{
    uint8_t *p;

    if (g->thread < 0)
        return (struct wr_value){.type = high ? WR_INF_MAX : WR_INF_MIN};
    if (t->key[0].type == WR_BIGINT)
        return (struct wr_value){.type = WR_BIGINT,
                                 .integer = g->thread * THREAD_KEYS + (high ? THREAD_KEYS - 1 : 0)};
    p = arena_alloc(g->a, 1);
    p[0] = (uint8_t)('A' + g->thread + high);
    return (struct wr_value){.type = t->key[0].type, .bytes = bytes_of(p, 1)};
}

static struct wr_key_column *bound(struct generator *g, const struct oracle_table *t, bool high)
{
    bool known = t->row_count && gen_chance(g, 60);
    struct wr_key_column *key = copy_key(g, t, known ? t->rows[gen_below(g, t->row_count)] : NULL);
    size_t from = gen_chance(g, 40) ? 0 : gen_below(g, t->key_count + 1);

    for (size_t i = from; i < t->key_count; i++) {
        if (i == 0)
            key[i].value = edge(g, t, high);
        else if (gen_chance(g, 85))
            key[i].value = (struct wr_value){.type = high ? WR_INF_MAX : WR_INF_MIN};
        else if (gen_chance(g, 50))
            key[i].value = (struct wr_value){.type = high ? WR_INF_MIN : WR_INF_MAX};
    }
    return key;
}

void gen_bounds(struct generator *g, const struct oracle_table *t, bool backward,
                struct wr_key *start, struct wr_key *end)
{
    struct wr_key low = {bound(g, t, false), t->key_count};
    struct wr_key high = {bound(g, t, true), t->key_count};

    /* Mostly in order; what is left the wrong way round is for the error. */
    if (oracle_key_compare(t->key, low.columns, high.columns, t->key_count) > 0 &&
        !gen_chance(g, 5)) {
        struct wr_key swap = low;

        low = high;
        high = swap;
    }
    *start = backward ? high : low;
    *end = backward ? low : high;
}
