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
static int table_route(struct write_op *op, const struct write_table *t, partition_id *out)
{
    struct ctx *c = &op->call->c;
    bytes *cols = ARENA_ARRAY(&c->arena, bytes, t->end - t->first);

    for (size_t i = t->first; i < t->end; i++)
        cols[i - t->first] = op->rows[i].m.cols;
    if (route_find_rows(t->table, cols, t->end - t->first, out))
        return E_OK;
    return fail(c, E_OUT_OF_RANGE,
                "Data out of scope of atomic: the rows of this partition key lie in several "
                "partitions (it has outgrown one, or the table's layout is random), and on this "
                "server a batch is atomic in one.");
}

/* All rows of an atomic batch share the partition key; else every one fails. */
static int check_scope(struct write_op *op, const struct write_table *t)
{
    const struct location *p = &t->table->schema.location;
    partition_id partition;
    struct arena *a = &op->call->c.arena;
    struct wr_key first = {op->rows[t->first].m.key.columns, p->layout.partition_cols};

    for (size_t i = t->first + 1; i < t->end; i++) {
        struct wr_key key = {op->rows[i].m.key.columns, p->layout.partition_cols};

        if (key_compare(p->key, &first, &key) != 0)
            return fail(&op->call->c, E_OUT_OF_RANGE,
                        "Data out of scope of atomic. Atomic PartKey:%.*s. Data PartKey:%.*s",
                        BYTES_FMT(partition_key_text(a, &first, first.count)),
                        BYTES_FMT(partition_key_text(a, &key, key.count)));
    }
    return table_route(op, t, &partition);
}

/* Every row of the table fails like the first that did. */
static void table_fail(struct write_op *op, const struct write_table *t, int code,
                       const char *message)
{
    for (size_t i = t->first; i < t->end; i++)
        if (!op->rows[i].result->code)
            write_row_set(&op->rows[i], code, message);
}

/* Links changes of one row: each builds on the one before. */
static void table_link(struct write_op *op, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++)
        for (size_t j = i; j-- > t->first;)
            if (bytes_equal(op->rows[i].lock.key, op->rows[j].lock.key)) {
                op->rows[i].before = &op->rows[j];
                op->rows[j].superseded = true;
                op->rows[j].m.whole = op->rows[i].m.whole = true;
                break;
            }
}

static bool table_begin(struct write_op *op, struct write_table *t)
{
    struct ctx *c = &op->call->c;

    for (size_t i = t->first; i < t->end; i++)
        if (!write_row_begin(op, &op->rows[i])) {
            table_fail(op, t, op->rows[i].result->code, op->rows[i].result->message);
            return false;
        }
    if (check_scope(op, t)) {
        table_fail(op, t, c->code, c->text);
        ctx_clear(c);
        return false;
    }
    op->order = ARENA_ARRAY(&c->arena, size_t, t->end - t->first);
    op->order_count = op->order_at = 0;
    for (size_t i = t->first; i < t->end; i++) {
        write_row_lock_prepare(op, &op->rows[i]);
        op->order[op->order_count++] = i;
    }
    table_link(op, t);
    qsort_r(op->order, op->order_count, sizeof(size_t), compare_locks, op->rows);
    return true;
}

/* Takes the row locks of op->order, one after the other. False: parked. */
static bool lock_table_rows(struct write_op *op)
{
    for (; op->order_at < op->order_count; op->order_at++) {
        struct write_row *r = &op->rows[op->order[op->order_at]];

        if (op->order_at &&
            bytes_equal(r->lock.key, op->rows[op->order[op->order_at - 1]].lock.key))
            continue;
        if (r->locked)
            continue;
        if (!row_lock_take(op->call->db->row_locks, &r->lock))
            return false;
        r->locked = true;
    }
    return true;
}

/* Decides a change of an atomic batch on the state that the batch itself has made so far. */
static int row_decide_linked(struct write_op *op, struct write_row *r)
{
    struct modify *m = &r->m;

    if (r->before) {
        r->loading = true;
        r->load.row = r->before->m.row;
    }
    TRY(write_row_decide(op, r));
    r->stored = r->before ? r->before->stored : m->old;
    r->any_changed = m->changed || (r->before && r->before->any_changed);
    if (!m->changed)
        m->row = m->old;
    return E_OK;
}

/* The edits of a whole table: of each row one set, from what is stored to what the last change
 * made. */
static void table_batch(struct write_op *op, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++) {
        struct write_row *r = &op->rows[i];
        struct modify m = r->m;

        invariant(r->state == WRITE_ROW_DECIDED && (r->locked || r->before));
        change_point_record(&r->m, &op->builder);
        if (r->superseded)
            continue;
        m.old = r->stored;
        m.changed = r->any_changed;
        modify_batch(&m, &op->builder);
    }
}

static void table_done(struct write_op *op, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++)
        if (op->rows[i].state != WRITE_ROW_DONE)
            write_row_enter(&op->rows[i], WRITE_ROW_DONE);
}

/* The pending group goes to one partition. Or, false, it comes to nothing: the table was split
 * between its rows since it was checked. When the partition is split later, that partition refuses
 * the group, and the next round is here again. */
static bool table_land(struct write_op *op, const struct write_table *t)
{
    struct ctx *c = &op->call->c;

    if (!table_route(op, t, &op->partition))
        return true;
    for (size_t i = t->first; i < t->end; i++) {
        *op->rows[i].result = (struct wr_row_result){0};
        write_row_set(&op->rows[i], c->code, c->text);
    }
    table_done(op, t);
    op->needs_barrier = false;
    ctx_clear(c);
    return false;
}

void write_walk_atomic(struct write_op *op, struct run_list *woken)
{
    struct ctx *c = &op->call->c;

    while (op->at < op->row_count) {
        struct write_table *t = &op->tables[op->rows[op->at].table_at];

        if (op->rows[op->at].state == WRITE_ROW_DONE) { /* all of a table or none */
            op->at = op->group_first = t->end;
            continue;
        }
        if (!op->order) {
            if (!table_begin(op, t)) {
                table_done(op, t);
                op->at = op->group_first = t->end;
                op->order = NULL;
                continue;
            }
        }
        invariant(op->group_first == t->first);
        if (!lock_table_rows(op))
            return;
        for (; op->at < t->end; op->at++) {
            struct write_row *r = &op->rows[op->at];
            int code = row_decide_linked(op, r);

            if (code == E_LATER)
                return;
            if (code) {
                write_row_fail(c, r);
                table_fail(op, t, r->result->code, r->result->message);
                /* The others failed by what was seen here, so they are as unsure as this one. */
                for (size_t i = t->first; i < t->end; i++)
                    write_row_enter(&op->rows[i], WRITE_ROW_DECIDED);
                op->needs_barrier = true;
                break;
            }
            write_row_accept(op, r);
        }
        if (table_land(op, t) && op->at == t->end)
            table_batch(op, t);
        op->at = t->end;
        op->order = NULL;
        write_group_end(op, woken);
    }
    call_charge(op->call);
    write_release(op);
}
