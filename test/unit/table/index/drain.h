/* drain.h: brings every outbox record of a table into its indexes, on an engine with one key space.
 * Included behind cmocka, database.h and stored.h. Nobody writes meanwhile. */
#ifndef UNIT_TABLE_INDEX_DRAIN_H
#define UNIT_TABLE_INDEX_DRAIN_H

#include "table/catalog/catalog.h"
#include "table/index/settle.h"

struct drain {
    struct ctx c;
    struct wr_db *db;
    struct table *table;
    bool unmarks; /* what is settled goes with its marks */
};

static bytes drain_read(struct drain *d, bytes key)
{
    struct get g = {.key = key, .view = VIEW_LATEST};

    assert_int_equal(wait_get(&d->c, d->db->engine, &g), 0);
    return g.found ? arena_copy(&d->c.arena, g.value) : BYTES_NONE;
}

static void drain_apply(struct drain *d, const struct batch_builder *e)
{
    struct write_batch b = {.guards = e->guards,
                            .guard_count = e->guard_count,
                            .edits = e->items,
                            .edit_count = e->count};

    assert_int_equal(wait_apply(&d->c, d->db->engine, &b), 0);
}

static struct settle_seen drain_seen(struct drain *d, const struct location *p, bytes cols)
{
    struct buf key;

    buf_init(&key, &d->c.arena, 64);
    layout_put_key(&key, p, KIND_RECORD, cols);
    return (struct settle_seen){.record = drain_read(d, buf_bytes(&key)),
                                .mark =
                                    drain_read(d, beside_key(&d->c.arena, p, cols, BESIDE_MARK))};
}

static void drain_key(struct drain *d, const struct location *p, const struct outbox_index *x,
                      bytes cols, bytes value)
{
    struct batch_builder e = {.arena = &d->c.arena};
    struct settle_seen seen = drain_seen(d, p, cols);
    struct settle_fence fence = {.key = settle_fence_key(&d->c.arena, p->id, BYTES_NONE)};
    bool needed;

    fence.value = drain_read(d, fence.key);
    if (d->unmarks) {
        assert_int_equal(settle_unmark(&d->c, &e, p, cols, x->stamp, seen.mark), 0);
        assert_int_equal(settle_move_fence(&d->c, &e, &fence), 0);
    } else {
        assert_int_equal(settle_key(&d->c, &e, p, cols, x->stamp, value, &seen, &needed), 0);
        if (needed)
            settle_guard_fence(&e, &fence);
    }
    if (e.count)
        drain_apply(d, &e);
}

static void drain_index(struct drain *d, const struct outbox_index *x)
{
    const struct location *p = NULL;

    for (size_t i = 0; i < d->table->schema.index_count; i++)
        if (d->table->schema.indexes[i].id == x->id)
            p = &d->table->schema.indexes[i].location;
    assert_non_null(p);
    if (x->settled && !d->unmarks)
        return;
    for (size_t i = 0; i < x->other_count; i++)
        drain_key(d, p, x, x->others[i], BYTES_NONE);
    if (x->there)
        drain_key(d, p, x, x->cols, x->value);
}

static void drain_record(struct drain *d, bytes key, bytes value)
{
    struct batch_builder e = {.arena = &d->c.arena};
    struct outbox o;

    assert_int_equal(bytes_u8(key)[key.len - 1], BESIDE_OUTBOX);
    assert_int_equal(outbox_decode(&d->c, value, &o), 0);
    assert_true(o.count > 0); /* or there would be none */
    for (size_t i = 0; i < o.count; i++)
        drain_index(d, &o.indexes[i]);
    outbox_settle(&o);
    batch_add_guard(&e, (struct guard){.key = key, .value = value});
    if (o.count && !d->unmarks)
        batch_add(&e, EDIT_PUT, key, outbox_encode(&d->c.arena, &o));
    else
        batch_add(&e, EDIT_DELETE, key, BYTES_NONE);
    drain_apply(d, &e);
}

static struct page drain_begin(struct drain *d, bytes instance, bytes table)
{
    uint32_t id;

    ctx_init(&d->c, &d->db->clock, &d->db->log, NULL, 0);
    assert_int_equal(catalog_find(&d->c, d->db->catalog, instance, table, &d->table), 0);
    id = d->table->schema.location.id;
    return stored_range(&d->c, d->db, key_prefix(&d->c.arena, id, 0, KIND_CHANGE),
                        key_prefix(&d->c.arena, id, 0, KIND_CHANGE + 1));
}

static void drain_end(struct drain *d)
{
    table_release(d->table);
    ctx_release(&d->c);
}

/* `unmarks`: all records are settled, and go with their marks. */
static void outbox_drain_all(struct wr_db *db, bytes instance, bytes table, bool unmarks)
{
    struct drain d = {.db = db, .unmarks = unmarks};
    struct page page = drain_begin(&d, instance, table);

    for (size_t i = 0; i < page.count; i++)
        drain_record(&d, page.items[i].key, page.items[i].value);
    drain_end(&d);
}

/* As if the last changes had been stamped so much later. */
static void outbox_raise(struct wr_db *db, bytes instance, bytes table, uint64_t by)
{
    struct drain d = {.db = db};
    struct page page = drain_begin(&d, instance, table);
    struct batch_builder e = {.arena = &d.c.arena};

    for (size_t i = 0; i < page.count; i++) {
        struct outbox o;

        assert_int_equal(outbox_decode(&d.c, page.items[i].value, &o), 0);
        for (size_t j = 0; j < o.count; j++)
            o.indexes[j].stamp += by;
        batch_add(&e, EDIT_PUT, page.items[i].key, outbox_encode(&d.c.arena, &o));
    }
    assert_true(e.count > 0);
    drain_apply(&d, &e);
    drain_end(&d);
}

static size_t outbox_count(struct wr_db *db, bytes instance, bytes table)
{
    struct drain d = {.db = db};
    size_t count = drain_begin(&d, instance, table).count;

    drain_end(&d);
    return count;
}

#endif
