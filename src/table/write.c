/* write.c: row changes from request to engine.
 *
 * A request is a walk over its rows, in order. For each row the walk takes the row's latch, loads
 * the old row if the change needs it, decides (modify.c), and adds the edits to the pending group.
 * A group is one engine batch: when it ends, the walk applies it and passes its latches on, without
 * waiting for the sync. The request is answered when the last group is durable.
 *
 *   - A walk holds latches only of its pending group, and never while it waits for another: before
 *     it waits it ends the group. So walks cannot wait for one another in a circle. The rows of an
 *     atomic batch must be held together: they are taken in the order of their keys, with nothing
 *     else held, which has no circle either.
 *   - A row that stands in the request twice finds its own latch taken, ends the group, and goes
 *     on: that is how the second change sees the first.
 *   - An answer that was decided by what LATEST showed (a failed condition) waits for the sync like
 *     a success: what it was decided on may not be durable yet.
 *   - Where other processes write too (no ENGINE_SOLE_WRITER), a latch keeps out only our own.
 * There each batch guards the heads that its rows were decided on; a head names its row's state,
 * wide rows' too. Rows whose guard failed are read and decided again in another round, in order,
 *     when the round before has ended; after ROUNDS_MAX of them they are E_CONFLICT. Of the changes
 *     of one row there is one a round, for the first may have to be decided again.
 *   - A walk runs on one thread at a time but may move: it parks in a latch queue, in the engine
 *     (E_LATER), or while the table's flag is made durable, and goes on where it is woken. Whoever
 *     parks returns at once and touches nothing of the walk again. */
#include "table/access.h"
#include "table/call.h"
#include "table/key.h"
#include "table/load.h"
#include "table/meter.h"
#include "table/modify.h"
#include "table/name.h"
#include "table/route.h"
#include "table/value.h"

#include <inttypes.h>
#include <stdlib.h>

#define GROUP_BYTES_MAX (8u << 20)
#define ROUNDS_MAX 1000 /* the deadline comes before */

struct write_op;

/* One row of the request. */
struct write_row {
    struct write_op *op;
    const struct wr_row_change *change;
    struct wr_row_result *result;
    size_t table_at; /* in the request */
    struct modify m;
    struct modify *begun_as; /* m as it was begun, for another round; NULL: there is none */
    struct access access;
    struct load load;
    struct latch latch;
    bool todo;  /* in this round */
    int walked; /* the last round, from 1, in which the walk came by */
    bool later; /* waits for the next round: an earlier change of its row has not landed yet */
    bool latched;
    bool begun; /* checked against its table; m is filled in */
    bool loading;
    bool decided; /* its outcome rests on stored data */

    /* Atomic batches, where a row may stand more than once. */
    struct write_row *before; /* the change of the same row that this one builds on */
    bool superseded;          /* another change builds on this one: that one makes the edits */
    struct row stored;        /* the row before the first of these changes */
    bool any_changed;         /* this change or one before it has something to store */
};

struct write_table {
    struct table *table;
    size_t first, end; /* its rows */
};

/* Rows [first, end) of one engine batch. */
struct group {
    struct write_op *op;
    struct batch batch;
    size_t first, end;
    struct route_wait wait; /* for another partition, when its own was cut */
};

struct write_op {
    struct call *call;
    struct write_row *rows;
    size_t row_count;
    struct write_table *tables;
    size_t table_count;
    bool atomic;

    size_t at;              /* the row the walk is at */
    size_t group_first;     /* the pending group is [group_first, at) */
    partition_id partition; /* of the pending group, once it has edits or a barrier */
    struct edits edits;
    bool needs_barrier; /* the pending group has an outcome that rests on unsynced data */

    size_t *order; /* atomic: the rows of the current table by key, first of equals only */
    size_t order_count, order_at;

    _Atomic size_t open; /* groups under way, and one for the walk itself */
    atomic_bool again;   /* a guard failed */
    int round;
};

static void walk(struct write_op *op, struct run_list *woken);

/* ---- the end ---- */

/* BulkImport counts names and values alone, as in a table that keeps one version for ever. */
static const struct wr_table_options bulk_options = {.ttl_s = -1, .max_versions = 1};

/* What each row of a BulkImport wrote, in bytes. */
static void count_bulk(struct write_op *op)
{
    for (size_t i = 0; i < op->row_count; i++) {
        struct write_row *r = &op->rows[i];

        r->result->consumed = (struct wr_capacity){0};
        if (!r->result->code)
            r->result->consumed.write_size =
                (int64_t)meter_row_size(&bulk_options, &r->change->row.key, r->change->row.cells,
                                        r->change->row.cell_count);
    }
}

static void note_rows(struct write_op *op)
{
    for (size_t i = 0; i < op->row_count; i++) {
        struct write_row *r = &op->rows[i];

        if (err_info(r->result->code)->http_status < 500) { /* ours costs nothing */
            r->access.read_units = r->result->consumed.read;
            r->access.write_units = r->result->consumed.write;
        }
        if (r->access.partition && !r->result->code)
            r->access.write_bytes =
                meter_change_size(&r->m.table->schema.d.options, &r->m.key, r->change->row.cells,
                                  r->change->row.cell_count);
        access_note(&r->access);
    }
}

static void op_finish(struct write_op *op)
{
    struct call *call = op->call;
    bool single = call->req->op == WR_OP_PUT_ROW || call->req->op == WR_OP_UPDATE_ROW ||
                  call->req->op == WR_OP_DELETE_ROW;

    note_rows(op);
    for (size_t i = 0; i < op->table_count; i++)
        table_release(op->tables[i].table);
    if (call->req->op == WR_OP_BULK_IMPORT)
        count_bulk(op);
    if (single) {
        struct wr_row_result *r = op->rows[0].result;

        if (r->code)
            fail(&call->c, r->code, "%s", r->message);
        call->reply.row = *r;
    }
    call_finish(call);
}

static void op_again(struct write_op *op);

static void op_release(struct write_op *op)
{
    if (atomic_fetch_sub(&op->open, 1) != 1)
        return;
    if (atomic_load(&op->again))
        op_again(op);
    else
        op_finish(op);
}

/* Moves the context's failure into a row's result. What a failed condition costs was counted; any
 * other fault of the client's costs one unit (semantics, section 7), one of ours nothing. */
static void row_fail(struct ctx *c, struct write_row *r)
{
    bool fault =
        c->code != E_CONDITION && err_info(c->code)->http_status < 500 && !r->access.refused;

    r->result->code = c->code;
    r->result->message = c->text;
    r->result->consumed.read = fault ? r->change->type == WR_UPDATE : r->m.read_units;
    r->result->consumed.write = fault ? 1 : r->m.write_units;
    ctx_clear(c);
}

static void row_set(struct write_row *r, int code, const char *message)
{
    r->result->code = code;
    r->result->message = message;
    r->result->row = (struct wr_row){.key = {.count = 0}};
}

/* ---- groups ---- */

static void group_done(void *arg, int code);

/* Its partition was cut, and nothing has changed: its rows are decided anew when it is known where
 * they lie now. */
static void group_rerouted(struct route_wait *w, int code)
{
    group_done(PORT_CONTAINER(w, struct group, wait), code ? code : E_GUARD);
}

static bool group_park(struct group *g)
{
    const struct table *t = g->op->tables[g->op->rows[g->first].table_at].table;
    const struct batch *b = &g->batch;

    if (g->wait.run || !t->traffic->route || (!b->edit_count && !b->guard_count))
        return false;
    g->wait = (struct route_wait){.table = t,
                                  .key = b->edit_count ? b->edits[0].key : b->guards[0].key,
                                  .tried = g->batch.partition,
                                  .run = group_rerouted};
    route_wait(&g->wait);
    return true;
}

static void group_done(void *arg, int code)
{
    struct group *g = arg;
    struct write_op *op = g->op;

    if (code == E_PARTITION && group_park(g))
        return;
    if (code == E_GUARD && op->round < ROUNDS_MAX) {
        atomic_store(&op->again, true); /* its rows stay to do */
    } else {
        /* Somebody was faster each time. */
        if (code == E_GUARD)
            code = E_CONFLICT;
        for (size_t i = g->first; i < g->end; i++) {
            struct write_row *r = &op->rows[i];

            if (r->later)
                continue;
            if (code && r->todo && r->decided)
                row_set(r, code, err_info(code)->text);
            r->todo = false;
        }
    }
    op_release(op);
}

/* What the rows of the pending group were decided on, one guard a row that is stored. */
static void add_guards(struct write_op *op, struct batch *b)
{
    struct guard *guards = ARENA_ARRAY(&op->call->c.arena, struct guard, op->at - op->group_first);

    for (size_t i = op->group_first; i < op->at; i++) {
        const struct get *head = &op->rows[i].load.get;

        if (op->rows[i].todo && op->rows[i].loading && head->key.ptr && !head->code)
            guards[b->guard_count++] = (struct guard){head->key, head->value, !head->found};
    }
    b->guards = guards;
}

/* What the pending group was decided by and the engine may still refuse. */
static uint64_t group_rests_on(const struct write_op *op)
{
    uint64_t least = 0;

    for (size_t i = op->group_first; i < op->at; i++) {
        const struct write_row *r = &op->rows[i];

        if (r->loading && r->load.get.rests_on && (!least || r->load.get.rests_on < least))
            least = r->load.get.rests_on;
    }
    return least;
}

/* Applies the pending group and passes its latches on. */
static void group_end(struct write_op *op, struct run_list *woken)
{
    struct ctx *c = &op->call->c;
    struct group *g;

    if (op->edits.count || op->needs_barrier) {
        g = ARENA_NEW(&c->arena, struct group);
        g->op = op;
        g->first = op->group_first;
        g->end = op->at;
        g->batch.edits = op->edits.items;
        g->batch.edit_count = op->edits.count;
        g->batch.partition = op->partition;
        g->batch.rests_on = group_rests_on(op);
        if (!(op->call->db->caps & ENGINE_SOLE_WRITER))
            add_guards(op, &g->batch);
        atomic_fetch_add(&op->open, 1);
        engine_apply(c, op->call->db->engine, &g->batch, group_done, g);
    }
    for (size_t i = op->group_first; i < op->at; i++)
        if (op->rows[i].latched) {
            op->rows[i].latched = false;
            latch_pass(op->call->db->latches, &op->rows[i].latch, woken);
        }
    op->edits = (struct edits){.arena = &c->arena};
    op->needs_barrier = false;
    op->group_first = op->at;
}

/* ---- one row ---- */

static void resume(struct write_op *op)
{
    struct run_list woken = {0};

    walk(op, &woken);
    latch_run(&woken);
}

static void load_done(struct load *l)
{
    resume(PORT_CONTAINER(l, struct write_row, load)->op);
}

static void mark_done(void *arg, int code)
{
    struct write_row *r = arg;

    if (code)
        fail(&r->op->call->c, code, "%s", err_info(code)->text);
    resume(r->op);
}

static void choose_columns(struct load *l)
{
    struct write_row *r = PORT_CONTAINER(l, struct write_row, load);

    l->columns = modify_columns(l->c, &r->m, &l->column_count);
}

static int row_load(struct write_op *op, struct write_row *r)
{
    if (!modify_needs_old(&r->m) && !r->loading)
        return E_OK;
    if (!r->loading) {
        r->loading = true;
        r->load = (struct load){.c = &op->call->c,
                                .table = r->m.table,
                                .cols = r->m.cols,
                                .view = VIEW_LATEST,
                                .early = true,
                                .done = load_done,
                                .choose = choose_columns};
    }
    if (!r->before)
        TRY(load_run(&r->load));
    r->m.old = r->load.row;
    r->decided = true;
    return E_OK;
}

/* Loads and decides; leaves the edits to the caller. E_LATER: parked. */
static int row_decide(struct write_op *op, struct write_row *r)
{
    struct ctx *c = &op->call->c;

    if (c->code) /* the table's flag could not be stored */
        return c->code;
    TRY(call_check_deadline(op->call));
    TRY(row_load(op, r));
    /* A row that others changed while we tried carries younger stamps than the request. */
    if (op->round)
        r->m.now_ms = clock_wall_ms(&op->call->db->clock);
    TRY(modify_run(c, &r->m,
                   r->m.row.id ? r->m.row.id : catalog_next_number(op->call->db->catalog)));
    if (modify_detaches(&r->m) && !atomic_load(&r->m.table->has_detached)) {
        /* Stored edits must never be ahead of the flag: blind puts look at it. */
        catalog_mark_detached(op->call->db, op->tables[r->table_at].table, mark_done, r);
        return E_LATER;
    }
    return modify_result(c, &r->m, r->result);
}

static void row_accept(struct write_op *op, struct write_row *r)
{
    r->decided = true;
    r->result->consumed.read = r->m.read_units;
    r->result->consumed.write = r->m.write_units;
    /* Also a change of nothing was decided on what may not be durable yet. */
    op->needs_barrier = true;
}

static int check_table(struct write_op *op, struct write_row *r)
{
    struct wr_db *db = op->call->db;
    const struct table *t = op->tables[r->table_at].table;
    enum wr_op asked = op->call->req->op;

    if (!t->schema.d.options.cell_bytes_max && db_limits(db) == &db->limits)
        return E_OK;
    return modify_check_table(&op->call->c, &db->limits, t, r->change,
                              asked == WR_OP_BATCH_WRITE_ROW || asked == WR_OP_BULK_IMPORT);
}

/* Checks the row against its table, and asks its partition. */
static int row_check(struct write_op *op, struct write_row *r)
{
    struct call *call = op->call;
    struct table *t = op->tables[r->table_at].table;

    TRY(check_table(op, r));
    TRY(modify_begin(&call->c, &call->db->limits, t, r->change, call->now_ms,
                     catalog_next_number(call->db->catalog), &r->m));
    r->access = (struct access){.db = call->db,
                                .c = &call->c,
                                .table = t,
                                .bucket = layout_bucket(&t->schema.place, r->m.cols),
                                .cols = r->m.cols,
                                .writes = 1};
    return access_admit(&r->access, PARTITION_WRITE);
}

/* Its own failure, the others go on. */
static bool row_begin(struct write_op *op, struct write_row *r)
{
    struct call *call = op->call;

    if (r->begun)
        return r->result->code == 0;
    r->begun = true;
    if (row_check(op, r)) {
        row_fail(&call->c, r);
        return false;
    }
    if (!(call->db->caps & ENGINE_SOLE_WRITER)) {
        r->begun_as = ARENA_NEW(&call->c.arena, struct modify);
        *r->begun_as = r->m;
    }
    return true;
}

/* Another round for the rows that are still to do. */
static void op_again(struct write_op *op)
{
    for (size_t i = 0; i < op->row_count; i++) {
        struct write_row *r = &op->rows[i];

        if (!r->todo || !r->begun_as)
            continue;
        r->m = *r->begun_as;
        *r->result = (struct wr_row_result){.code = 0};
        r->load = (struct load){.c = NULL};
        r->loading = r->decided = r->later = false;
        r->before = NULL;
        r->superseded = r->any_changed = false;
    }
    op->round++;
    op->at = op->group_first = 0;
    op->order = NULL;
    atomic_store(&op->again, false);
    atomic_store(&op->open, 1);
    resume(op);
}

static void latch_woken(struct latch *l, struct run_list *woken)
{
    struct write_row *r = PORT_CONTAINER(l, struct write_row, latch);

    r->latched = true;
    walk(r->op, woken);
}

static void latch_prepare(struct write_op *op, struct write_row *r)
{
    if (r->latch.key.ptr)
        return;
    r->latch.key = schema_latch_key(&op->call->c.arena, &r->m.table->schema, r->m.cols);
    r->latch.run = latch_woken;
}

/* What was decided on is durable already, and was all read at one point in time. */
static bool is_settled(const struct write_row *r)
{
    return r->loading && r->load.get.settled && !r->load.row.wide;
}

/* ---- the walk ---- */

/* True: latched. False: parked. */
static bool row_latch(struct write_op *op, struct write_row *r, struct run_list *woken)
{
    if (r->latched)
        return true;
    latch_prepare(op, r);
    r->latched = latch_try(op->call->db->latches, &r->latch);
    if (r->latched)
        return true;
    group_end(op, woken);
    if (!latch_take(op->call->db->latches, &r->latch))
        return false;
    r->latched = true;
    return true;
}

/* Whether an earlier change of its row is under way in this round. */
static bool row_waits(struct write_op *op, struct write_row *r)
{
    latch_prepare(op, r);
    r->walked = op->round + 1;
    for (struct write_row *b = op->rows; b < r; b++)
        if (b->walked == r->walked && b->table_at == r->table_at &&
            bytes_equal(b->latch.key, r->latch.key))
            return true;
    return false;
}

/* A batch is of one partition: the pending group ends before a row of another one. */
static void row_route(struct write_op *op, const struct write_row *r, struct run_list *woken)
{
    const struct table *t = op->tables[r->table_at].table;
    partition_id id = route_find_row(t, r->m.cols);

    if (id != op->partition && !(op->call->db->caps & ENGINE_ONE_MAP) &&
        (op->edits.count || op->needs_barrier))
        group_end(op, woken);
    if (!op->edits.count && !op->needs_barrier)
        op->partition = id;
}

static void walk_rows(struct write_op *op, struct run_list *woken)
{
    for (; op->at < op->row_count; op->at++) {
        struct write_row *r = &op->rows[op->at];
        int code;

        if (!r->todo)
            continue;
        if (op->at > op->group_first && op->edits.bytes > GROUP_BYTES_MAX)
            group_end(op, woken);
        if (!row_begin(op, r)) {
            r->todo = false;
            continue;
        }
        if (!(op->call->db->caps & ENGINE_SOLE_WRITER) && row_waits(op, r)) {
            r->later = true;
            atomic_store(&op->again, true);
            continue;
        }
        row_route(op, r, woken);
        if (!row_latch(op, r, woken))
            return;
        code = row_decide(op, r);
        if (code == E_LATER)
            return;
        if (code) {
            row_fail(&op->call->c, r);
            r->decided &= !is_settled(r);
            op->needs_barrier |= r->decided;
            r->todo = r->decided;
        } else {
            row_accept(op, r);
            modify_edits(&r->m, &op->edits);
        }
    }
    group_end(op, woken);
    op_release(op);
}

/* ---- atomic batches ---- */

static int compare_latch(const void *a, const void *b, void *rows)
{
    const struct write_row *ra = (struct write_row *)rows + *(const size_t *)a;
    const struct write_row *rb = (struct write_row *)rows + *(const size_t *)b;
    int r = bytes_compare(ra->latch.key, rb->latch.key);

    return r ? r : (ra > rb) - (ra < rb);
}

/* The text of a partition key in error messages. */
static bytes value_text(struct arena *a, const struct wr_value *v)
{
    return v->type == WR_BIGINT ? arena_printf(a, "%" PRId64, v->integer) : v->bytes;
}

static bytes partition_key_text(struct arena *a, const struct wr_key *key, size_t columns)
{
    bytes text = value_text(a, &key->columns[0].value);

    for (size_t i = 1; i < columns; i++)
        text = arena_printf(a, "%.*s,%.*s", BYTES_FMT(text),
                            BYTES_FMT(value_text(a, &key->columns[i].value)));
    return text;
}

/* The partition of all rows of an atomic batch, as the map is now. Where a partition is more than a
 * range no batch lands in two of them together, and a random layout or a cut inside of it spreads
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
    const struct place *p = &t->table->schema.place;
    partition_id partition;
    struct arena *a = &op->call->c.arena;
    struct wr_key first = {op->rows[t->first].m.key.columns, p->layout.splice};

    for (size_t i = t->first + 1; i < t->end; i++) {
        struct wr_key key = {op->rows[i].m.key.columns, p->layout.splice};

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
            row_set(&op->rows[i], code, message);
}

/* Links changes of one row: each builds on the one before. */
static void table_link(struct write_op *op, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++)
        for (size_t j = i; j-- > t->first;)
            if (bytes_equal(op->rows[i].latch.key, op->rows[j].latch.key)) {
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
        if (!row_begin(op, &op->rows[i])) {
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
        latch_prepare(op, &op->rows[i]);
        op->order[op->order_count++] = i;
    }
    table_link(op, t);
    qsort_r(op->order, op->order_count, sizeof(size_t), compare_latch, op->rows);
    return true;
}

/* Takes the latches of op->order, one after the other. False: parked. */
static bool table_latch(struct write_op *op)
{
    for (; op->order_at < op->order_count; op->order_at++) {
        struct write_row *r = &op->rows[op->order[op->order_at]];

        if (op->order_at &&
            bytes_equal(r->latch.key, op->rows[op->order[op->order_at - 1]].latch.key))
            continue;
        if (r->latched)
            continue;
        if (!latch_take(op->call->db->latches, &r->latch))
            return false;
        r->latched = true;
    }
    return true;
}

/* Decides a change of an atomic batch on the state that the batch itself has made so far. */
static int row_decide_linked(struct write_op *op, struct write_row *r)
{
    struct modify *m = &r->m;

    if (r->before) {
        r->loading = r->decided = true;
        r->load.row = r->before->m.row;
    }
    TRY(row_decide(op, r));
    r->stored = r->before ? r->before->stored : m->old;
    r->any_changed = m->changed || (r->before && r->before->any_changed);
    if (!m->changed)
        m->row = m->old;
    return E_OK;
}

/* The edits of a whole table: of each row one set, from what is stored to what the last change
 * made. */
static void table_edits(struct write_op *op, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++) {
        struct write_row *r = &op->rows[i];
        struct modify m = r->m;

        if (r->superseded)
            continue;
        m.old = r->stored;
        m.changed = r->any_changed;
        modify_edits(&m, &op->edits);
    }
}

static void table_done(struct write_op *op, const struct write_table *t)
{
    for (size_t i = t->first; i < t->end; i++)
        op->rows[i].todo = false;
}

/* The pending group goes to one partition. Or, false, it comes to nothing: the table was cut
 * between its rows since it was checked. When it is cut later, that partition refuses the group,
 * and the next round is here again. */
static bool table_land(struct write_op *op, const struct write_table *t)
{
    struct ctx *c = &op->call->c;

    if (!table_route(op, t, &op->partition))
        return true;
    for (size_t i = t->first; i < t->end; i++) {
        *op->rows[i].result = (struct wr_row_result){0};
        row_set(&op->rows[i], c->code, c->text);
        op->rows[i].decided = false;
    }
    table_done(op, t);
    op->needs_barrier = false;
    ctx_clear(c);
    return false;
}

static void walk_atomic(struct write_op *op, struct run_list *woken)
{
    struct ctx *c = &op->call->c;

    while (op->at < op->row_count) {
        struct write_table *t = &op->tables[op->rows[op->at].table_at];

        if (!op->rows[op->at].todo) { /* all of a table or none */
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
        if (!table_latch(op))
            return;
        for (; op->at < t->end; op->at++) {
            struct write_row *r = &op->rows[op->at];
            int code = row_decide_linked(op, r);

            if (code == E_LATER)
                return;
            if (code) {
                row_fail(c, r);
                table_fail(op, t, r->result->code, r->result->message);
                /* The others failed by what was seen here, so they are as unsure as this one. */
                for (size_t i = t->first; i < t->end; i++)
                    op->rows[i].decided = true;
                op->needs_barrier = true;
                break;
            }
            row_accept(op, r);
        }
        if (table_land(op, t) && op->at == t->end)
            table_edits(op, t);
        op->at = t->end;
        op->order = NULL;
        group_end(op, woken);
    }
    op_release(op);
}

static void walk(struct write_op *op, struct run_list *woken)
{
    if (op->atomic)
        walk_atomic(op, woken);
    else
        walk_rows(op, woken);
}

/* ---- the beginning ---- */

static void op_start(struct write_op *op)
{
    op->edits = (struct edits){.arena = &op->call->c.arena};
    atomic_init(&op->open, 1);
    resume(op);
}

static struct write_op *op_new(struct call *call, size_t table_count, size_t row_count)
{
    struct write_op *op = ARENA_NEW(&call->c.arena, struct write_op);

    op->call = call;
    op->tables = ARENA_ARRAY(&call->c.arena, struct write_table, table_count);
    op->rows = ARENA_ARRAY(&call->c.arena, struct write_row, row_count);
    return op;
}

static void op_add_row(struct write_op *op, const struct wr_row_change *change,
                       struct wr_row_result *result)
{
    struct write_row *r = &op->rows[op->row_count++];

    r->op = op;
    r->change = change;
    r->result = result;
    r->table_at = op->table_count - 1;
    r->todo = true;
}

static const char *change_name(enum wr_op op)
{
    return op == WR_OP_PUT_ROW ? "PutRow" : op == WR_OP_UPDATE_ROW ? "UpdateRow" : "DeleteRow";
}

static int check_type(struct ctx *c, enum wr_op op, enum wr_change_type type)
{
    enum wr_change_type want = op == WR_OP_PUT_ROW      ? WR_PUT
                               : op == WR_OP_UPDATE_ROW ? WR_UPDATE
                                                        : WR_DELETE;

    return type == want
               ? E_OK
               : fail(c, E_INTERNAL, "%s was given another type of change.", change_name(op));
}

static int start_single(struct call *call)
{
    const struct wr_row_change *change = &call->req->put_row; /* the three share their struct */
    struct ctx *c = &call->c;
    struct write_op *op;
    struct table *t;

    TRY(check_type(c, call->req->op, change->type));
    TRY(name_check_table(c, change->table));
    TRY(modify_check_alone(c, db_limits(call->db), change, false));
    TRY(catalog_find(c, call->db->catalog, call->req->instance, change->table, &t));
    op = op_new(call, 1, 1);
    op->tables[op->table_count++] = (struct write_table){t, 0, 1};
    op_add_row(op, change, ARENA_NEW(&c->arena, struct wr_row_result));
    op_start(op);
    return E_OK;
}

/* ---- batches ---- */

static int check_batch_tables(struct call *call, const struct wr_table_write *tables, size_t count)
{
    struct ctx *c = &call->c;

    if (!count)
        return fail(c, E_PARAMETER, "No row is specified in BatchWriteRow.");
    for (size_t i = 0; i < count; i++) {
        TRY(name_check_table(c, tables[i].table));
        if (!tables[i].change_count)
            return fail(c, E_PARAMETER, "No operation is specified for table: '%.*s'.",
                        BYTES_FMT(tables[i].table));
        for (size_t j = 0; j < i; j++)
            if (bytes_equal(tables[i].table, tables[j].table))
                return fail(c, E_PARAMETER, "Duplicated table name: '%.*s'.",
                            BYTES_FMT(tables[i].table));
    }
    return E_OK;
}

static int check_batch_rows(struct call *call, const struct wr_table_write *tables, size_t count)
{
    const struct limits *limits = db_limits(call->db);
    size_t rows = 0, size = 0;

    for (size_t i = 0; i < count; i++)
        rows += tables[i].change_count;
    if (rows > (size_t)limits->batch_write_rows_max)
        return fail(&call->c, E_PARAMETER, "Rows count exceeds the upper limit: %d.",
                    (int)limits->batch_write_rows_max);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < tables[i].change_count; j++) {
            TRY(modify_check_alone(&call->c, limits, &tables[i].changes[j], true));
            size += meter_request_size(&tables[i].changes[j]);
        }
    if (size > (size_t)limits->batch_write_bytes_max)
        return fail(&call->c, E_PARAMETER,
                    "The total data size of BatchWriteRow request exceeds the limit, limit size: "
                    "%lld, data size: %zu.",
                    (long long)limits->batch_write_bytes_max, size);
    return E_OK;
}

static bool same_key(const struct wr_key *a, const struct wr_key *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct wr_value *x = &a->columns[i].value, *y = &b->columns[i].value;

        /* A key with a wrong name is no row at all; it fails by itself later. */
        if (!bytes_equal(a->columns[i].name, b->columns[i].name) || x->type != y->type ||
            x->type == WR_AUTO_INCREMENT)
            return false;
        if (x->type == WR_BIGINT ? x->integer != y->integer : !bytes_equal(x->bytes, y->bytes))
            return false;
    }
    return true;
}

static bool has_increment(const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (change->row.cells[i].op == WR_CELL_INCREMENT)
            return true;
    return false;
}

/* A row may stand in a batch more than once, but not with a condition or an increment (semantics,
 * section 6). */
static int check_repeated(struct call *call, const struct wr_table_write *t)
{
    struct ctx *c = &call->c;

    for (size_t i = 0; i < t->change_count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct wr_row_change *a = &t->changes[i], *b = &t->changes[j];

            if (!same_key(&a->row.key, &b->row.key))
                continue;
            if (!call->db->limits.repeated_rows)
                return fail(c, E_PARAMETER, "Repeated rows are not supported in BatchModify.");
            if (a->condition.existence != WR_IGNORE || b->condition.existence != WR_IGNORE)
                return fail(
                    c, E_PARAMETER,
                    "Repeated rows do not support row exist expectation check in BatchModify.");
            if (a->condition.column || b->condition.column)
                return fail(c, E_PARAMETER,
                            "Repeated rows do not support row condition check in BatchModify.");
            if (has_increment(a) || has_increment(b))
                return fail(c, E_PARAMETER,
                            "Repeated rows do not support atomic increment in BatchModify.");
        }
    return E_OK;
}

static struct wr_batch_result *batch_result(struct call *call, const struct wr_table_write *tables,
                                            size_t count, struct wr_table_result **out)
{
    struct wr_batch_result *b = &call->reply.batch;
    struct wr_table_result *results = ARENA_ARRAY(&call->c.arena, struct wr_table_result, count);

    for (size_t i = 0; i < count; i++) {
        results[i].table = arena_copy(&call->c.arena, tables[i].table);
        results[i].rows = ARENA_ARRAY(&call->c.arena, struct wr_row_result, tables[i].change_count);
        results[i].row_count = tables[i].change_count;
    }
    b->tables = results;
    b->table_count = count;
    *out = results;
    return b;
}

static void release_tables(struct write_op *op)
{
    for (size_t i = 0; i < op->table_count; i++)
        table_release(op->tables[i].table);
}

static int start_batch(struct call *call, const struct wr_table_write *tables, size_t count,
                       bool atomic)
{
    struct ctx *c = &call->c;
    struct wr_table_result *results;
    struct write_op *op;
    size_t rows = 0;

    TRY(check_batch_tables(call, tables, count));
    TRY(check_batch_rows(call, tables, count));
    for (size_t i = 0; i < count; i++) {
        TRY(check_repeated(call, &tables[i]));
        rows += tables[i].change_count;
    }
    op = op_new(call, count, rows);
    op->atomic = atomic;
    for (size_t i = 0; i < count; i++) {
        struct table *t;
        int code = catalog_find(c, call->db->catalog, call->req->instance, tables[i].table, &t);

        if (code) {
            release_tables(op);
            return code;
        }
        op->tables[op->table_count++] =
            (struct write_table){t, op->row_count, op->row_count + tables[i].change_count};
        op->row_count += tables[i].change_count;
    }
    op->row_count = op->table_count = 0;
    batch_result(call, tables, count, &results);
    for (size_t i = 0; i < count; i++) {
        op->table_count++;
        for (size_t j = 0; j < tables[i].change_count; j++)
            op_add_row(op, &tables[i].changes[j], (struct wr_row_result *)&results[i].rows[j]);
    }
    op_start(op);
    return E_OK;
}

/* ---- BulkImport ---- */

static bool defined_type(const struct table *t, bytes name, enum wr_type *type)
{
    for (size_t i = 0; i < t->schema.d.defined_count; i++)
        if (bytes_equal(t->schema.d.defined[i].name, name)) {
            *type = t->schema.d.defined[i].type;
            return true;
        }
    return false;
}

/* A cell of a defined column has that column's type; the row fails by itself otherwise. */
static int check_defined_types(struct ctx *c, const struct table *t,
                               const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *cell = &change->row.cells[i];
        enum wr_type type;

        if (cell->op == WR_CELL_PUT && defined_type(t, cell->name, &type) &&
            type != cell->value.type)
            return fail(c, E_PARAMETER, "Invalid column type for column %.*s expect %s actual %s",
                        BYTES_FMT(cell->name), value_type_name(type),
                        value_type_name(cell->value.type));
    }
    return E_OK;
}

/* BulkImport: no conditions; a missing table fails every row instead of the request; cost is
 * counted in bytes. */
static int start_bulk(struct call *call)
{
    const struct wr_table_write *t = &call->req->bulk_import.table;
    struct ctx *c = &call->c;
    struct wr_table_result *results;
    struct write_op *op;
    struct table *table;

    TRY(check_batch_tables(call, t, 1));
    TRY(check_batch_rows(call, t, 1));
    batch_result(call, t, 1, &results);
    if (catalog_find(c, call->db->catalog, call->req->instance, t->table, &table)) {
        for (size_t i = 0; i < t->change_count; i++) {
            struct wr_row_result *r = (struct wr_row_result *)&results->rows[i];

            r->code = c->code;
            r->message = c->text;
        }
        ctx_clear(c);
        call_finish(call);
        return E_OK;
    }
    op = op_new(call, 1, t->change_count);
    op->tables[op->table_count++] = (struct write_table){table, 0, t->change_count};
    for (size_t i = 0; i < t->change_count; i++) {
        op_add_row(op, &t->changes[i], (struct wr_row_result *)&results->rows[i]);
        if (check_defined_types(c, table, &t->changes[i])) {
            op->rows[i].begun = true;
            row_fail(c, &op->rows[i]);
        }
    }
    op_start(op);
    return E_OK;
}

void write_exec(struct call *call)
{
    const struct wr_request *req = call->req;
    int code;

    switch (req->op) {
    case WR_OP_BATCH_WRITE_ROW:
        code = start_batch(call, req->batch_write_row.tables, req->batch_write_row.table_count,
                           req->batch_write_row.atomic);
        break;
    case WR_OP_BULK_IMPORT:
        code = start_bulk(call);
        break;
    default:
        code = start_single(call);
        break;
    }
    if (code)
        call_finish(call);
}
