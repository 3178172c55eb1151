/* generate_filter.c: filters and conditions, about columns that are there if possible. */
#include "generate_part.h"

#include "oracle_part.h"

static struct wr_filter column_filter(struct generator *g, const struct oracle_table *t)
{
    static const bytes patterns[] = {{"([0-9]+)", 8},       {"a(b*)", 5},        {"^([a-z]+)1", 10},
                                     {"=(-?[0-9.]+)$", 13}, {"(-?[0-9.]+)", 11}, {"^([^,]*)$", 9},
                                     {"b([0-9]+)?", 10}};
    static const enum wr_type casts[] = {WR_BIGINT, WR_DOUBLE, WR_VARCHAR};
    const struct wr_cell *known = gen_chance(g, 70) ? gen_known_cell(g, t) : NULL;
    struct wr_filter f = {.type = WR_FILTER_COLUMN};

    f.column.comparator = (enum wr_comparator)(1 + gen_below(g, gen_chance(g, 15) ? 8 : 6));
    f.column.column = known ? arena_copy(g->a, known->name) : gen_column(g);
    f.column.value = known && gen_chance(g, 60)   ? known->value
                     : known && gen_chance(g, 70) ? gen_value_of(g, known->value.type)
                                                  : gen_value(g);
    f.column.filter_if_missing = gen_chance(g, 50);
    f.column.latest_version_only = gen_chance(g, 60);
    if (gen_chance(g, 8)) {
        size_t i = gen_below(g, t->key_count);

        f.column.column = arena_copy(g->a, t->key[i].name);
        f.column.value = t->row_count ? t->rows[gen_below(g, t->row_count)]->key[i].value
                                      : gen_value_of(g, t->key[i].type);
    } else if (gen_chance(g, 15)) {
        f.column.regex = patterns[gen_below(g, PORT_COUNT(patterns))];
        f.column.cast_type = casts[gen_below(g, PORT_COUNT(casts))];
        f.column.value = gen_value_of(g, f.column.cast_type);
    }
    if (oracle_value_is_bytes(f.column.value.type))
        f.column.value.bytes = arena_copy(g->a, f.column.value.bytes);
    return f;
}

static struct wr_filter tree(struct generator *g, const struct oracle_table *t, int depth)
{
    struct wr_filter f = {.type = WR_FILTER_COMPOSITE};
    struct wr_filter *subs;
    size_t count;

    if (depth == 0 || gen_chance(g, 40))
        return column_filter(g, t);
    f.composite.combinator = (enum wr_combinator)(1 + gen_below(g, 3));
    count = f.composite.combinator == WR_NOT ? 1 : 2 + gen_below(g, 2);
    subs = ARENA_ARRAY(g->a, struct wr_filter, count);
    for (size_t i = 0; i < count; i++)
        subs[i] = tree(g, t, depth - 1);
    f.composite.subs = subs;
    f.composite.sub_count = count;
    return f;
}

static struct wr_filter page_filter(struct generator *g)
{
    return (struct wr_filter){
        .type = WR_FILTER_PAGE,
        .page = {.offset = (int32_t)gen_below(g, 4), .limit = 1 + (int32_t)gen_below(g, 4)}};
}

/* Always legal: with a second fault in one request the code would depend on the order of checks. */
const struct wr_filter *gen_filter(struct generator *g, const struct oracle_table *t,
                                   bool condition)
{
    struct wr_filter *f = ARENA_NEW(g->a, struct wr_filter);

    do
        *f = tree(g, t, 3);
    while (oracle_check_filter(g->o, f, condition));
    if (!condition && gen_chance(g, 25)) {
        struct wr_filter *subs = ARENA_ARRAY(g->a, struct wr_filter, 2);

        subs[0] = *f;
        subs[1] = page_filter(g);
        *f = (struct wr_filter){.type = WR_FILTER_COMPOSITE, .composite = {WR_AND, subs, 2}};
        if (gen_chance(g, 50) || oracle_check_filter(g->o, f, false))
            *f = subs[1];
    }
    return f;
}

const struct wr_filter *gen_bad_filter(struct generator *g, const struct oracle_table *t,
                                       bool condition)
{
    struct wr_filter *f = ARENA_NEW(g->a, struct wr_filter);
    size_t count = 0;
    struct wr_filter *subs = ARENA_ARRAY(g->a, struct wr_filter, 40);
    enum wr_combinator how = WR_AND;

    for (size_t i = 0; i < 40; i++)
        subs[i] = column_filter(g, t);
    switch (gen_below(g, 7)) {
    case 0:
        how = WR_NOT;
        count = 2;
        break;
    case 1:
        count = 1;
        break;
    case 2:
        count = 32;
        break;
    case 3:
        count = 2;
        subs[0].column.column = bytes_of("#x", 2);
        break;
    case 4:
        count = 2;
        subs[1].column.regex = bytes_of("([a-z", 5);
        subs[1].column.cast_type = WR_VARCHAR;
        break;
    case 5:
        count = 2;
        subs[1] = page_filter(g);
        if (!condition)
            subs[1].page.limit = 0;
        break;
    default:
        count = 31; /* with the composite just legal */
        break;
    }
    *f = (struct wr_filter){.type = WR_FILTER_COMPOSITE, .composite = {how, subs, count}};
    return f;
}
