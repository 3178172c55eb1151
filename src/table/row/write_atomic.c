/* write_atomic.c: the walk over an atomic batch.
 *
 * The rows of a table are begun, locked and decided together, and their edits are one engine
 * batch, or they all fail like the first that did. A row may stand in it more than once: each of
 * its changes builds on the one before, and the last one makes the edits. */
#include "base/invariant.h"
#include "table/catalog/route.h"
#include "table/model/change_point.h"
#include "table/model/key.h"
#include "table/model/value.h"
#include "table/row/write_own.h"

#include <inttypes.h>
#include <stdlib.h>

static int compare_locks(const void *a, const void *b, void *rows)
{
    const struct write_row *ra = (struct write_row *)rows + *(const size_t *)a;
    const struct write_row *rb = (struct write_row *)rows + *(const size_t *)b;
    int r = bytes_compare(ra->lock.key, rb->lock.key);

    return r ? r : (ra > rb) - (ra < rb);
}

/* The text of a partition key in error messages. */
static bytes atomic_value_text(struct arena *a, const struct wr_value *v)
{
    return v->type == WR_BIGINT ? arena_printf(a, "%" PRId64, v->integer) : v->bytes;
}

static bytes partition_key_text(struct arena *a, const struct wr_key *key, size_t columns)
{
    bytes text = atomic_value_text(a, &key->columns[0].value);

    for (size_t i = 1; i < columns; i++)
        text = arena_printf(a, "%.*s,%.*s", BYTES_FMT(text),
                            BYTES_FMT(atomic_value_text(a, &key->columns[i].value)));
    return text;
}

/* The partition of all rows of an atomic batch, as the map is now. Where a partition is more than a
 * range no batch lands in two of them together, and a random layout or a split inside of it spreads
 * the rows of one partition key. */
static int table_route(struct write_call *w, const struct write_table *t, partition_id *out)
{
    struct ctx *c = &w->call->c;
    bytes *cols = ARENA_ARRAY(&c->arena, bytes, t->end - t->first);

    for (size_t i = t->first; i < t->end; i++)
        cols[i - t->first] = w->rows[i].m.cols;
    if (route_find_rows(t->table, cols, t->end - t->first, out))
        return E_OK;
    return fail(c, E_OUT_OF_RANGE,
                "Data out of scope of atomic: the rows of this partition key lie in several "
                "partitions (it has outgrown one, or the table's layout is random), and on this "
                "server a batch is atomic in one.");
}

/* All rows of an atomic batch share the partition key; else every one fails. What a transaction
 * holds is of one value of the first key column, whatever the layout has made of it since. */
static int check_scope(struct write_call *w, const struct write_table *t)
{
    const struct location *p = &t->table->schema.location;
    partition_id partition;
    struct arena *a = &w->call->c.arena;
    struct wr_key first = {w->rows[t->first].m.key.columns, p->layout.partition_cols};

    for (size_t i = t->first + 1; i < t->end && !w->call->txn; i++) {
        struct wr_key key = {w->rows[i].m.key.columns, p->layout.partition_cols};

        if (key_compare(p->key, &first, &key) != 0)
            return fail(&w->call->c, E_OUT_OF_RANGE,
                        "Data out of scope of atomic. Atomic PartKey:%.*s. Data PartKey:%.*s",
                        BYTES_FMT(partition_key_text(a, &first, first.count)),
                        BYTES_FMT(partition_key_text(a, &key, key.count)));
    }
    return table_route(w, t, &partition);
}

/* Every row of the table fails like the first that did. */
static void table_fail(struct write_call *w, const struct write_table *t, int code,
                       const char *message)
{
    for (size_t i = t->first; i < t->end; i++)
        if (!w->rows[i].result->code)
            write_row_set(&w->rows[i], code, message);
}

/* Links changes of one row: each builds on the one before, behind which w->order has it. */
static void table_link(struct write_call *w)
{
    for (size_t i = 1; i < w->order_count; i++) {
        struct write_row *r = &w->rows[w->order[i]], *before = &w->rows[w->order[i - 1]];

        if (!bytes_equal(r->lock.key, before->lock.key))
            continue;
        r->before = before;
        before->superseded = true;
        before->m.whole = r->m.whole = true;
    }
}

static bool table_begin(struct write_call *w, struct write_table *t)
{
    struct ctx *c = &w->call->c;

    for (size_t i = t->first; i < t->end; i++)
        if (!write_row_begin(w, &w->rows[i])) {
            table_fail(w, t, w->rows[i].result->code, w->rows[i].result->message);
            return false;
        }
    if (check_scope(w, t)) {
        table_fail(w, t, c->code, c->text);
        ctx_clear(c);
        return false;
    }
    w->order = ARENA_ARRAY(&c->arena, size_t, t->end - t->first);
    w->order_count = w->order_at = 0;
    for (size_t i = t->first; i < t->end; i++) {
        write_row_lock_prepare(w, &w->rows[i]);
        w->order[w->order_count++] = i;
    }
    qsort_r(w->order, w->order_count, sizeof(size_t), compare_locks, w->rows);
    table_link(w);
    return true;
}

/* Takes the row locks of w->order, one after the other. False: parked. */
static bool lock_table_rows(struct write_call *w)
{
    for (; w->order_at < w->order_count; w->order_at++) {
        struct write_row *r = &w->rows[w->order[w->order_at]];

        if (w->order_at && bytes_equal(r->lock.key, w->rows[w->order[w->order_at - 1]].lock.key))
            continue;
        if (r->locked)
            continue;
        if (!row_lock_take(w->call->db->row_locks, &r->lock))
            return false;
        r->locked = true;
    }
    return true;
}

/* Decides a change of an atomic batch on the state that the batch itself has made so far. */
static int row_decide_linked(struct write_call *w, struct write_row *r)
{
    struct modify *m = &r->m;

    if (r->before) {
        r->loading = true;
        r->load.row = r->before->m.row;
        m->beside = r->before->m.beside;
        m->last_stamp = modify_row_stamp(&r->before->m);
    }
    TRY(write_row_decide(w, r));
    r->stored = r->before ? r->before->stored : m->old;
    r->any_changed = m->changed || (r->before && r->before->any_changed);
    if (!m->changed)
        m->row = m->old;
    return E_OK;
}

/* The edits of a whole table: of each row one set, from what is stored to what the last change
 * made. */
static void table_batch(struct write_call *w, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++) {
        struct write_row *r = &w->rows[i];
        struct modify m = r->m;

        invariant(r->state == WRITE_ROW_DECIDED && (r->locked || r->before));
        change_point_record(&r->m, &w->builder);
        if (r->superseded)
            continue;
        m.old = r->stored;
        m.changed = r->any_changed;
        modify_batch(&m, &w->builder);
    }
    if (PORT_UNLIKELY(t->table->schema.txn_records))
        write_lock_batch(w, &w->rows[t->first]);
}

static void table_done(struct write_call *w, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++)
        if (w->rows[i].state != WRITE_ROW_DONE)
            write_row_enter(&w->rows[i], WRITE_ROW_DONE);
}

/* The pending group goes to one partition. Or, false, it comes to nothing: the table was split
 * between its rows since it was checked. When the partition is split later, that partition refuses
 * the group, and the next round is here again. */
static bool table_land(struct write_call *w, const struct write_table *t)
{
    struct ctx *c = &w->call->c;

    if (!table_route(w, t, &w->partition))
        return true;
    for (size_t i = t->first; i < t->end; i++) {
        *w->rows[i].result = (struct wr_row_result){0};
        write_row_set(&w->rows[i], c->code, c->text);
    }
    table_done(w, t);
    w->needs_barrier = false;
    ctx_clear(c);
    return false;
}

void write_walk_atomic(struct write_call *w, struct run_list *woken)
{
    struct ctx *c = &w->call->c;

    while (w->at < w->row_count) {
        struct write_table *t = &w->tables[w->rows[w->at].table_at];

        if (w->rows[w->at].state == WRITE_ROW_DONE) { /* all of a table or none */
            w->at = w->group_first = t->end;
            continue;
        }
        if (!w->order) {
            if (!table_begin(w, t)) {
                table_done(w, t);
                w->at = w->group_first = t->end;
                w->order = NULL;
                continue;
            }
        }
        invariant(w->group_first == t->first);
        if (!lock_table_rows(w))
            return;
        for (; w->at < t->end; w->at++) {
            struct write_row *r = &w->rows[w->at];
            int code;

            if (write_ahead_is_due(w) && write_ahead(w, t->end) == E_LATER)
                return;
            code = row_decide_linked(w, r);
            if (code == E_LATER)
                return;
            if (code) {
                write_row_fail(c, r);
                table_fail(w, t, r->result->code, r->result->message);
                /* The others failed by what was seen here, so they are as unsure as this one. */
                for (size_t i = t->first; i < t->end; i++)
                    write_row_enter(&w->rows[i], WRITE_ROW_DECIDED);
                w->needs_barrier = true;
                break;
            }
            write_row_accept(w, r);
        }
        if (table_land(w, t) && w->at == t->end)
            table_batch(w, t);
        w->at = t->end;
        w->order = NULL;
        write_group_end(w, woken);
    }
    call_charge(w->call);
    write_release(w);
}
