#include "table/index/outbox_observer.h"

#include "base/invariant.h"
#include "table/index/index_check.h"
#include "table/core/db.h"
#include "table/index/outbox.h"
#include "table/index/outbox_queue.h"
#include "table/model/name.h"
#include "table/model/table.h"

int outbox_take(struct ctx *c, struct modify *m, bytes stored)
{
    struct outbox *o = ARENA_NEW(&c->arena, struct outbox);

    if (stored.ptr)
        TRY(outbox_decode(c, stored, o));
    m->beside->stored = stored;
    m->beside->outbox = o;
    m->last_stamp = outbox_stamp(o);
    return E_OK;
}

static int outbox_check_change(struct ctx *c, const struct row_observer *o,
                               const struct row_change *change)
{
    const struct schema *s = &change->table->schema;
    const struct outbox *outbox = change->beside->outbox;
    const struct wr_db *db = change->table->db;

    (void)o;
    for (size_t i = 0; i < s->index_count; i++)
        TRY(index_check_cells(c, s, &s->indexes[i], change));
    if (outbox_queue_count(db->outboxes) >= (size_t)db->limits.index_backlog_max)
        return fail(c, E_BUSY,
                    "Server is busy: the table's indexes are too far behind its rows; try again.");
    if (outbox && !outbox_has_room(outbox, s->index_count))
        return fail(
            c, E_BUSY,
            "Server is busy: the row's last changes are not in its indexes yet; try again.");
    return E_OK;
}

/* Brings *outbox, the row's record as it was stored, to what the change makes of it. False: no
 * index changes. */
static bool outbox_advance(struct arena *a, const struct row_change *change, struct outbox *outbox)
{
    const struct schema *s = &change->table->schema;
    bool changed = false;

    for (size_t i = 0; i < s->index_count; i++) {
        const struct index *x = &s->indexes[i];
        struct index_entry old = entry_of(a, s, x, change->cols, change->beside->first);
        struct index_entry now = {.there = false};
        bool merged;

        if (x->phase != INDEX_COMING)
            now = entry_of(a, s, x, change->cols, change->now);

        if (!entry_moves(x, &old, &now))
            continue;
        changed = true;
        merged = outbox_merge(a, outbox, x->id, change->stamp, &old, &now);
        invariant(merged); /* check() saw to room for it */
    }
    return changed;
}

static void outbox_record_change(const struct row_observer *o, const struct row_change *change,
                                 struct batch_builder *e)
{
    struct row_beside *b = change->beside;
    struct outbox outbox = *b->outbox;
    bool again = b->first;
    bytes key;

    (void)o;
    invariant(change->old);
    if (!again)
        b->first = change->old;
    if (!outbox_advance(e->arena, change, &outbox) && !again)
        return;
    key = beside_key(e->arena, &change->table->schema.location, change->cols, BESIDE_OUTBOX);
    b->recorded = true;
    batch_add_guard(e, (struct guard){key, b->stored, !b->stored.ptr});
    if (outbox.count)
        batch_add(e, EDIT_PUT, key, outbox_encode(e->arena, &outbox));
    else
        batch_add(e, EDIT_DELETE, key, BYTES_NONE); /* a change before it has put one */
}

/* The columns of all indexes. */
static size_t indexed_columns(struct arena *a, const struct schema *s, bytes **out)
{
    size_t n = 0;

    for (size_t i = 0; i < s->index_count; i++)
        n += s->indexes[i].column_count;
    *out = ARENA_ARRAY(a, bytes, n);
    n = 0;
    for (size_t i = 0; i < s->index_count; i++)
        for (size_t j = 0; j < s->indexes[i].column_count; j++)
            (*out)[n++] = s->indexes[i].columns[j];
    return names_sort_unique(*out, n);
}

void outbox_observe(struct table *t)
{
    struct arena *a = &t->ctx.arena;
    struct row_observer *o = ARENA_NEW(a, struct row_observer);
    bytes *columns;
    size_t count = indexed_columns(a, &t->schema, &columns);

    *o = (struct row_observer){.needs = OLD_ROW_TOUCHED,
                               .columns = columns,
                               .column_count = count,
                               .beside = true,
                               .check = outbox_check_change,
                               .record = outbox_record_change};
    change_point_observe(t, o);
}
