#include "table/model/schema_index.h"

#define HASH_BUCKETS 16 /* of an index of which key columns are hashed */

/* The description of an index's own table. */
static struct schema *table_of_index(struct ctx *c, const struct schema *base,
                                     const struct index *index)
{
    struct schema *s = ARENA_NEW(&c->arena, struct schema);
    struct wr_table_description *d = &s->d;
    struct wr_defined_column *defined =
        ARENA_ARRAY(&c->arena, struct wr_defined_column, index->covered_count);

    for (size_t i = 0; i < index->covered_count; i++)
        for (size_t j = 0; j < base->d.defined_count; j++)
            if (bytes_equal(base->d.defined[j].name, index->meta->defined_columns[i]))
                defined[i] = base->d.defined[j];
    s->id = index->id;
    s->location = index->location;
    s->version = 1;
    s->instance = base->instance;
    s->outbox = base->outbox;
    s->base = (struct index_base){base->d.table, base->id, index->phase};
    d->table = index->meta->name;
    d->key = index->location.key;
    d->key_count = index->location.key_count;
    d->defined = defined;
    d->defined_count = index->covered_count;
    d->creation_us = clock_wall_us(c->clock);
    d->last_increase_s = d->creation_us / 1000000;
    d->reserved = (struct wr_throughput){.has_read = true, .has_write = true};
    d->status = WR_TABLE_ACTIVE;
    d->stream.given = true;
    d->sse = base->d.sse;
    schema_follow_base(s, base);
    schema_partitions_init(c, s); /* there are no splits, which alone can be wrong */
    return s;
}

void schema_follow_base(struct schema *table, const struct schema *base)
{
    table->d.options = base->d.options;
    for (size_t i = 0; i < base->index_count; i++)
        if (base->indexes[i].id == table->id)
            table->base.phase = base->indexes[i].phase;
}

/* The lists of a draft, with room for one more; they become its own. The metas of its indexes stay
 * where they were. */
static void lists_copy(struct ctx *c, struct schema *base, struct wr_index_meta **metas,
                       struct index **indexes)
{
    *metas = ARENA_ARRAY(&c->arena, struct wr_index_meta, base->d.index_count + 1);
    *indexes = ARENA_ARRAY(&c->arena, struct index, base->index_count + 1);
    if (base->d.index_count)
        memcpy(*metas, base->d.indexes, base->d.index_count * sizeof(**metas));
    if (base->index_count)
        memcpy(*indexes, base->indexes, base->index_count * sizeof(**indexes));
    base->d.indexes = *metas;
    base->indexes = *indexes;
}

static enum index_phase first_phase(const struct schema *base, enum index_start start)
{
    if ((base->outbox && start != INDEX_OF_NEW_TABLE) || start == INDEX_STAGED)
        return INDEX_COMING;
    return start == INDEX_BUILT ? INDEX_FULL : INDEX_INCR;
}

/* The layout of entries, as text. */
static bytes layout_of(struct arena *a, const struct wr_index_meta *meta)
{
    if (!meta->hashed)
        return BYTES_NONE;
    return arena_printf(a, "splice:%d+hash:%d", meta->hashed, HASH_BUCKETS);
}

int schema_add_index(struct ctx *c, struct schema *base, const struct wr_index_meta *meta,
                     uint32_t id, enum index_start start, struct schema **table)
{
    struct wr_index_meta *metas;
    struct index *indexes, *index;

    lists_copy(c, base, &metas, &indexes);
    metas[base->d.index_count] = *meta;
    index = &indexes[base->index_count];
    *index = (struct index){.meta = meta,
                            .id = id,
                            .phase = first_phase(base, start),
                            .include_base_data = start != INDEX_OF_LATER_WRITES,
                            .descending = meta->descending,
                            .location = {.id = id}};
    if (!index_resolve(&c->arena, &base->d, index))
        return fail(c, E_PARAMETER,
                    "Index '%.*s' has more than %d key columns with those of its table.",
                    BYTES_FMT(meta->name), WR_KEY_COLUMNS_MAX);
    TRY(layout_parse(c, layout_of(&c->arena, meta), index->location.key, index->location.key_count,
                     &index->location.layout));
    base->d.index_count++;
    base->index_count++;
    *table = table_of_index(c, base, index);
    return E_OK;
}

int schema_remove_index(struct ctx *c, struct schema *base, bytes name)
{
    struct wr_index_meta *metas;
    struct index *indexes;
    size_t n = 0, count = 0;

    lists_copy(c, base, &metas, &indexes);
    for (size_t i = 0; i < base->index_count; i++)
        if (!bytes_equal(indexes[i].meta->name, name))
            indexes[count++] = indexes[i];
    for (size_t i = 0; i < base->d.index_count; i++)
        if (!bytes_equal(metas[i].name, name))
            metas[n++] = metas[i];
    if (n == base->d.index_count)
        return fail(c, E_NOT_EXIST, "Requested index does not exist.");
    base->d.index_count = n;
    base->index_count = count;
    return E_OK;
}

/* One of later writes alone is INDEX_FULL, too, with nothing to be built: it is complete when no
 * server brings none of its entries any more. */
static enum index_phase next_phase(const struct index *index)
{
    return index->phase == INDEX_COMING ? INDEX_FULL : INDEX_INCR;
}

bool schema_advance_index(struct ctx *c, struct schema *base, uint32_t id, enum index_phase from)
{
    struct wr_index_meta *metas;
    struct index *indexes;

    lists_copy(c, base, &metas, &indexes);
    for (size_t i = 0; i < base->index_count; i++)
        if (indexes[i].id == id && indexes[i].phase == from && from != INDEX_INCR) {
            indexes[i].phase = next_phase(&indexes[i]);
            return true;
        }
    return false;
}

static bool has_cells_in_key(const struct index *index)
{
    for (size_t i = 0; i < index->location.key_count; i++)
        if (!index->from[i].is_key)
            return true;
    return false;
}

void schema_refill_indexes(struct ctx *c, struct schema *base)
{
    struct wr_index_meta *metas;
    struct index *indexes;

    lists_copy(c, base, &metas, &indexes);
    for (size_t i = 0; i < base->index_count; i++)
        if (indexes[i].phase == INDEX_INCR && indexes[i].include_base_data &&
            !has_cells_in_key(&indexes[i]))
            indexes[i].phase = INDEX_FULL;
}
