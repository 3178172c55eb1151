/* generate_index.c: secondary indexes, and tables that can have some. */
#include "generate_part.h"

#include "base/ctx.h"

#define COLUMNS_MAX 4
#define SHARED_COUNT 5 /* defined columns whose types Tablestore has; the first three, in keys */

static const struct wr_defined_column defined[] = {
    {{"a", 1}, WR_BIGINT},     {{"b", 1}, WR_VARCHAR},      {{"c", 1}, WR_VARBINARY},
    {{"ab", 2}, WR_DOUBLE},    {{"column", 6}, WR_BOOLEAN}, {{"i8", 2}, WR_TINYINT},
    {{"i16", 3}, WR_SMALLINT}, {{"i32", 3}, WR_INTEGER},    {{"u64", 3}, WR_UBIGINT},
    {{"f32", 3}, WR_FLOAT},    {{"dec", 3}, WR_DECIMAL},    {{"day", 3}, WR_DATE},
    {{"time", 4}, WR_TIME},    {{"at", 2}, WR_TIMESTAMP}};

static size_t defined_count(const struct generator *g)
{
    return g->scalars ? PORT_COUNT(defined) : SHARED_COUNT;
}

bytes gen_defined_any(struct generator *g)
{
    return defined[gen_below(g, defined_count(g))].name;
}

const struct wr_defined_column *gen_defined(bytes name)
{
    for (size_t i = 0; i < PORT_COUNT(defined); i++)
        if (bytes_equal(defined[i].name, name))
            return &defined[i];
    return NULL;
}

/* One that a key can have, usually; `scalar`: of any type. */
static bytes key_column(struct generator *g, const struct wr_key_schema *key, size_t key_count,
                        bool scalar)
{
    if (gen_chance(g, 40))
        return arena_copy(g->a, key[gen_below(g, key_count)].name);
    if (gen_chance(g, 3))
        return gen_column(g);
    return defined[gen_below(g, scalar ? defined_count(g) : 3)].name;
}

static bool has(const bytes *names, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(names[i], name))
            return true;
    return false;
}

static struct wr_index_meta index_meta(struct generator *g, bytes table,
                                       const struct wr_key_schema *key, size_t key_count,
                                       bool scalar)
{
    bytes *keys = ARENA_ARRAY(g->a, bytes, COLUMNS_MAX),
          *others = ARENA_ARRAY(g->a, bytes, COLUMNS_MAX);
    struct wr_index_meta m = {.key_columns = keys, .defined_columns = others};
    size_t want = 1 + gen_below(g, 2), attributes = gen_below(g, COLUMNS_MAX);

    m.name = arena_printf(g->a, "%.*s_%c", BYTES_FMT(table), 'a' + (int)gen_below(g, 5));
    if (gen_chance(g, 25)) {
        m.type = m.update_mode = 1;
        keys[m.key_column_count++] = arena_copy(g->a, key[0].name);
        want++;
    }
    while (m.key_column_count < want) {
        bytes name = key_column(g, key, key_count, scalar);

        if (!has(keys, m.key_column_count, name) || gen_chance(g, 3))
            keys[m.key_column_count++] = name;
    }
    for (size_t i = 0; i < attributes; i++) {
        bytes name = defined[gen_below(g, defined_count(g))].name;
        bool twice = has(others, m.defined_column_count, name) || has(keys, want, name);

        if (!twice || gen_chance(g, 3))
            others[m.defined_column_count++] = name;
    }
    if (gen_chance(g, 35))
        m.descending = (uint16_t)gen_below(g, (uint64_t)1 << m.key_column_count);
    if (gen_chance(g, 25))
        m.hashed = (uint8_t)gen_below(g, m.key_column_count + 1);
    return m;
}

void gen_indexable(struct generator *g, struct wr_create_table *t)
{
    size_t count = gen_chance(g, 50) ? 0 : 1 + gen_below(g, 2);
    struct wr_index_meta *list = ARENA_ARRAY(g->a, struct wr_index_meta, 2);

    t->key_count = t->key_count > 4 ? 4 : t->key_count;
    t->defined = defined;
    t->defined_count = defined_count(g);
    t->scalar_index_keys = g->scalars && gen_chance(g, 60);
    if (gen_chance(g, 95))
        t->options.max_versions = 1;
    if (gen_chance(g, 75))
        t->options.ttl_s = -1;
    for (size_t i = 0; i < count; i++) {
        list[i] = index_meta(g, t->table, t->key, t->key_count, t->scalar_index_keys);
        list[i].name = arena_printf(g->a, "%.*s_%c", BYTES_FMT(t->table), 'a' + (int)i);
    }
    t->indexes = list;
    t->index_count = count;
}

void gen_index_op(struct generator *g, const struct oracle_table *t, struct wr_request *out)
{
    bytes table = arena_copy(g->a, t->name);
    bool scalar = g->scalars && gen_chance(g, 60);

    if (gen_chance(g, 60)) {
        out->op = WR_OP_CREATE_INDEX;
        out->create_index = (struct wr_create_index){
            .table = table,
            .index = index_meta(g, table, t->key, t->key_count, scalar),
            .scalar_index_keys = scalar,
            /* Else it would lack rows that are there, and which is not for an oracle to know. */
            .include_base_data = t->row_count || t->ghosts || gen_chance(g, 50)};
    } else {
        out->op = WR_OP_DROP_INDEX;
        out->drop_index = (struct wr_drop_index){
            table, arena_printf(g->a, "%.*s_%c", BYTES_FMT(table), 'a' + (int)gen_below(g, 5))};
    }
}

struct oracle_table *gen_readable(struct generator *g, struct oracle_table *t)
{
    const struct oracle_index *x = t->indexes;

    if (!x || gen_chance(g, 50))
        return t;
    for (size_t n = gen_below(g, t->index_count); n; n--)
        x = x->next;
    return oracle_find_any(g->o, x->meta.name);
}

void gen_without_repeated(struct generator *g, struct wr_row_change *c, size_t *count)
{
    size_t n = 0;

    for (size_t i = 0; i < *count; i++) {
        bool twice = false;

        for (size_t k = 0; k < n; k++)
            twice |= gen_same_key(&c[i].row.key, &c[k].row.key);
        if (!twice || gen_chance(g, 3))
            c[n++] = c[i];
    }
    *count = n;
}
