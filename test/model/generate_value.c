/* generate_value.c: column names, values and stamps. */
#include "generate_part.h"

#include <float.h>

#define HALF_DAY_MS (43200LL * 1000)

bool gen_chance(struct generator *g, int n)
{
    return (int)rng_below(&g->rng, 100) < n;
}

size_t gen_below(struct generator *g, size_t n)
{
    return (size_t)rng_below(&g->rng, n);
}

static bytes plain_column(struct generator *g)
{
    static const bytes names[] = {
        {"a", 1},         {"b", 1},     {"c", 1},        {"a\0b", 3},
        {"ab", 2},        {"B c", 3},   {"\xc3\xa9", 2}, {"a\x01\xc2\x80", 4},
        {"$.:'/\\\n", 7}, {"column", 6}};

    return names[gen_below(g, PORT_COUNT(names))];
}

bytes gen_column(struct generator *g)
{
    return g->scalars && gen_chance(g, 25) ? gen_defined_any(g) : plain_column(g);
}

static bytes long_text(struct generator *g, bool binary)
{
    size_t len = 1 + gen_below(g, gen_chance(g, 20) ? 4000 : 600);
    uint8_t *p = arena_alloc(g->a, len);

    for (size_t i = 0; i < len; i++)
        p[i] = binary ? (uint8_t)rng_next(&g->rng) : (uint8_t)('a' + gen_below(g, 26));
    return bytes_of(p, len);
}

static bytes text(struct generator *g)
{
    static const bytes texts[] = {{"", 0},         {"a", 1},
                                  {"abc12def", 8}, {"-7.5", 4},
                                  {"12", 2},       {"x\0y", 3},
                                  {"\xc3\xa9", 2}, {"k=99;v=1.25", 11},
                                  {"aab", 3},      {"99999999999999999999", 20}};

    return gen_chance(g, 8) ? long_text(g, false) : texts[gen_below(g, PORT_COUNT(texts))];
}

static bytes blob(struct generator *g)
{
    static const bytes blobs[] = {{"", 0}, {"\0", 1}, {"\0\xff", 2}, {"\xff", 1}, {"abc12def", 8}};

    return gen_chance(g, 8) ? long_text(g, true) : blobs[gen_below(g, PORT_COUNT(blobs))];
}

static int64_t integer(struct generator *g, enum wr_type type)
{
    static const int64_t any[] = {0, 1, -1, 2, 12, 99, 4096, INT64_MAX, INT64_MIN};
    int64_t v = any[gen_below(g, PORT_COUNT(any))];

    switch (type) {
    case WR_TINYINT:
        return (int8_t)v;
    case WR_SMALLINT:
        return (int16_t)v;
    case WR_INTEGER:
    case WR_DATE:
        return (int32_t)v;
    case WR_TIME:
        return v & 0x3ffffff; /* below 86,400,000 */
    default:
        return v;
    }
}

/* None is 0 with a sign: the oracle's keys know one zero. */
static bytes decimal(struct generator *g)
{
    static const bytes texts[] = {{"0", 1},     {"1", 1},
                                  {"-1", 2},    {"1.5", 3},
                                  {"1.50", 4},  {"-7.25", 5},
                                  {"0.001", 5}, {"10", 2},
                                  {"-0.10", 5}, {"99999999999999999999999999999999999999", 38}};

    return texts[gen_below(g, PORT_COUNT(texts))];
}

struct wr_value gen_value_of(struct generator *g, enum wr_type type)
{
    static const double reals[] = {0.0, -0.0, 1.5, -7.5, 1.25, DBL_MAX, -DBL_MAX, 4.9e-324, 12.0};
    struct wr_value v = {.type = type};

    switch (type) {
    case WR_DOUBLE:
        v.real = reals[gen_below(g, PORT_COUNT(reals))];
        break;
    case WR_FLOAT: /* without those that only a DOUBLE can be */
        v.real = reals[gen_below(g, 5)];
        break;
    case WR_BOOLEAN:
        v.boolean = gen_chance(g, 50);
        break;
    case WR_UBIGINT:
        v.uinteger = (uint64_t)integer(g, WR_BIGINT);
        break;
    case WR_DECIMAL:
        v.bytes = decimal(g);
        break;
    case WR_VARCHAR:
        v.bytes = text(g);
        break;
    case WR_VARBINARY:
        v.bytes = blob(g);
        break;
    default:
        v.integer = integer(g, type);
        break;
    }
    return v;
}

struct wr_value gen_value(struct generator *g)
{
    static const enum wr_type types[] = {WR_BIGINT,  WR_BIGINT,  WR_DOUBLE,
                                         WR_BOOLEAN, WR_VARCHAR, WR_VARBINARY};

    return gen_value_of(g, types[gen_below(g, PORT_COUNT(types))]);
}

bool gen_stamped(const struct oracle_table *t)
{
    uint8_t last = bytes_u8(t->name)[t->name.len - 1];

    return !t->defined_count && (last == '4' || last == '5');
}

int64_t gen_stamp(struct generator *g, const struct oracle_table *t, bool update)
{
    bool narrow = t->options.deviation_s < 10 * 86400 && !gen_chance(g, 3);
    int64_t days = narrow ? 0 : (int64_t)gen_below(g, 5), step = (int64_t)gen_below(g, 3);

    if (update && g->wide && t->options.ttl_s >= 0 && days * 86400 + 43200 > t->options.ttl_s)
        days = 0;
    if (gen_stamped(t) && gen_chance(g, 40))
        return g->start_ms + HALF_DAY_MS + days % 2 * 2 * HALF_DAY_MS + step;
    return g->start_ms - HALF_DAY_MS - days * 2 * HALF_DAY_MS + step;
}

const struct wr_cell *gen_known_cell(struct generator *g, const struct oracle_table *t)
{
    const struct oracle_row *row;

    if (!t->row_count)
        return NULL;
    row = t->rows[gen_below(g, t->row_count)];
    return row->count ? &row->cells[gen_below(g, row->count)].cell : NULL;
}

int64_t gen_known_stamp(struct generator *g, const struct oracle_table *t)
{
    const struct wr_cell *c = gen_chance(g, 70) ? gen_known_cell(g, t) : NULL;

    return c ? c->timestamp_ms : gen_stamp(g, t, false);
}
