#include "table/catalog/catalog_index.h"

#include "table/model/index_note.h"

/* The table of an index of x->now; NULL: another process dropped it, or it cannot be read. */
static struct catalog_txn_other *table_of(struct catalog_txn *x, const struct index *index)
{
    struct catalog_txn_other *other = catalog_txn_other(x, index->meta->name);

    return other->now && other->now->schema.id == index->id ? other : NULL;
}

int catalog_index_add(struct catalog_txn *x, struct schema *base, const struct wr_index_meta *meta,
                      uint32_t id, enum index_start start)
{
    struct catalog_txn_other *other;
    struct schema *table;

    TRY(catalog_refusal(x->c, x->db->catalog, x->instance, meta->name));
    other = catalog_txn_other(x, meta->name);
    if (other->now)
        return fail_code(x->c, E_EXIST);
    base->outbox |= !engine_one_key_space(x->db->engine);
    if (start == INDEX_BUILT && x->db->keeps_indexes && engine_sorts(x->db->engine))
        start = INDEX_STAGED;
    TRY(schema_add_index(x->c, base, meta, id, start, &table));
    return catalog_txn_put_other(x, other, table);
}

static void drop_table_of(struct catalog_txn *x, const struct index *index)
{
    struct catalog_txn_other *other = table_of(x, index);

    if (!other)
        return;
    catalog_txn_drop_other(x, other);
    catalog_drop_rows(&x->builder, x->db, &other->now->schema);
}

int catalog_index_remove(struct catalog_txn *x, struct schema *base, bytes name)
{
    const struct index *index = index_find(base->indexes, base->index_count, name);

    TRY(schema_remove_index(x->c, base, name));
    if (index) /* else an older build described it, and it never had a table */
        drop_table_of(x, index);
    return E_OK;
}

void catalog_index_drop_all(struct catalog_txn *x)
{
    const struct schema *base = &x->now->schema;

    for (size_t i = 0; i < base->index_count; i++)
        drop_table_of(x, &base->indexes[i]);
}

/* The description of an index's table follows its base. */
static int put_table_of(struct catalog_txn *x, const struct index *index, const struct schema *base)
{
    struct catalog_txn_other *other = table_of(x, index);
    struct schema s;

    if (!other)
        return E_OK;
    s = other->now->schema;
    s.version++;
    schema_follow_base(&s, base);
    return catalog_txn_put_other(x, other, &s);
}

int catalog_index_follow(struct catalog_txn *x, const struct schema *base)
{
    for (size_t i = 0; i < base->index_count; i++)
        TRY(put_table_of(x, &base->indexes[i], base));
    return E_OK;
}

/* ---- phases ---- */

struct advance {
    struct catalog_txn txn;
    uint32_t index_id;
    enum index_phase from;
    bool expires; /* the entries were made when the table had a time to live */
};

/* Of the build that has come to its end. */
static void drop_notes(struct catalog_txn *x, uint32_t index_id)
{
    struct arena *a = x->builder.arena;

    batch_add(&x->builder, EDIT_DELETE, catalog_rekey_key(a, index_id), BYTES_NONE);
    if (x->db->keeps_indexes) /* an index's location is its table's id: it cannot be rekeyed */
        batch_add(&x->builder, EDIT_DELETE, index_note_taken(a, index_id, false).key, BYTES_NONE);
}

static int decide_advance(struct catalog_txn *x)
{
    struct advance *a = PORT_CONTAINER(x, struct advance, txn);
    struct schema s = catalog_txn_draft(x);

    if (!schema_advance_index(x->c, &s, a->index_id, a->from))
        return E_NOT_EXIST;
    if (a->from == INDEX_FULL && s.d.options.ttl_s != -1 && !a->expires)
        return E_BUSY;
    for (size_t i = 0; i < s.index_count; i++)
        if (s.indexes[i].id == a->index_id)
            TRY(put_table_of(x, &s.indexes[i], &s));
    if (a->from == INDEX_FULL)
        drop_notes(x, a->index_id);
    return catalog_txn_put(x, &s);
}

int catalog_index_advance(struct ctx *c, struct table *t, const struct index *index)
{
    struct advance a = {.txn = {.db = t->db,
                                .c = c,
                                .instance = t->schema.instance,
                                .name = t->schema.d.table,
                                .id = t->schema.id,
                                .decide = decide_advance,
                                .notify_ms = ENGINE_PUBLISH_MS},
                        .index_id = index->id,
                        .from = index->phase,
                        .expires = t->schema.d.options.ttl_s != -1};
    int code = catalog_txn_wait(&a.txn);

    catalog_txn_release(&a.txn);
    return code;
}
