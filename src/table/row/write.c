/* write.c: row changes from request to engine.
 *
 * A request is a walk over its rows, in order. For each row the walk takes the row lock, loads
 * the old row if the change needs it, decides (modify.c), and adds the edits to the pending group.
 * A group is one engine batch: when it ends, the walk applies it and passes its row locks on,
 * without waiting for the sync. The request is answered when the last group is durable.
 *
 *   - A walk holds row locks only of its pending group, and never while it waits for another:
 * before it waits it ends the group. So walks cannot wait for one another in a circle. The rows of
 * an atomic batch must be held together: they are taken in the order of their keys, with nothing
 *     else held, which has no circle either.
 *   - A row that stands in the request twice finds its own row lock taken, ends the group, and goes
 *     on: that is how the second change sees the first.
 *   - An answer that was decided by what LATEST showed (a failed condition) waits for the sync like
 *     a success: what it was decided on may not be durable yet.
 *   - Where other processes write too (db_is_shared()), a row lock keeps out only our own. There
 * each batch guards the row records that its rows were decided on; a row record names its row's
 * state, wide rows' too. Rows whose guard failed are read and decided again in another round, in
 * order, when the round before has ended; after ROUNDS_MAX of them they are E_CONFLICT. Of the
 * changes of one row there is one a round, for the first may have to be decided again.
 *   - A walk runs on one thread at a time but may move: it parks in a row lock's queue, in the
 * engine (E_LATER), or while the table's flag is made durable, and goes on where it is woken.
 * Whoever parks returns at once and touches nothing of the walk again. */
#include "base/invariant.h"
#include "table/blob/upload.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/model/change.h"
#include "table/model/change_point.h"
#include "table/model/meter.h"
#include "table/row/write_own.h"

#define GROUP_BYTES_MAX (8u << 20)
#define ROOM_BYTES (1 << 20) /* what a batch may take in a full memory */
#define STEP_ROWS 4          /* after so many the walk asks whether its turn is over */
#define ROUNDS_MAX 1000      /* the deadline comes before */
#define READ_LOCK_POLL_MS 10

/* Rows [first, end) of one engine batch. */
struct group {
    struct write_op *op;
    struct write_batch batch;
    size_t first, end;
    struct route_wait wait; /* for another partition, when its own was split */
};

static void walk(struct write_op *op, struct run_list *woken);

void write_row_enter(struct write_row *r, enum write_row_state next)
{
    enum {
        BEGUN = 1u << WRITE_ROW_BEGUN,
        LATER = 1u << WRITE_ROW_LATER,
        DECIDED = 1u << WRITE_ROW_DECIDED,
        DONE = 1u << WRITE_ROW_DONE
    };
    static const unsigned may_follow[] = {
        [WRITE_ROW_NEW] = BEGUN | DONE, [WRITE_ROW_BEGUN] = BEGUN | LATER | DECIDED | DONE,
        [WRITE_ROW_LATER] = BEGUN,      [WRITE_ROW_DECIDED] = BEGUN | DECIDED | DONE,
        [WRITE_ROW_DONE] = 0,
    };

    invariant(may_follow[r->state] & 1u << next);
    r->state = next;
}

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

static void count_rows(struct write_op *op)
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
        access_count(&r->access);
    }
}

static void write_finish(struct write_op *op)
{
    struct call *call = op->call;
    bool single = call->req->op == WR_OP_PUT_ROW || call->req->op == WR_OP_UPDATE_ROW ||
                  call->req->op == WR_OP_DELETE_ROW;

    count_rows(op);
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

static void write_again(struct write_op *op);

void write_release(struct write_op *op)
{
    size_t open = atomic_fetch_sub(&op->open, 1);

    invariant(open > 0);
    if (open != 1)
        return;
    if (atomic_load(&op->again))
        write_again(op);
    else
        write_finish(op);
}

/* Moves the context's failure into a row's result. What a failed condition costs was counted; any
 * other fault of the client's costs one unit, one of ours nothing (doc/data-model.md,
 * "Capacity"). */
void write_row_fail(struct ctx *c, struct write_row *r)
{
    bool fault =
        c->code != E_CONDITION && err_info(c->code)->http_status < 500 && !r->access.refused;

    r->result->code = c->code;
    r->result->message = c->text;
    r->result->consumed.read = fault ? r->change->type == WR_UPDATE : r->m.read_units;
    r->result->consumed.write = fault ? 1 : r->m.write_units;
    ctx_clear(c);
}

void write_row_set(struct write_row *r, int code, const char *message)
{
    r->result->code = code;
    r->result->message = message;
    r->result->row = (struct wr_row){.key = {.count = 0}};
}

/* ---- groups ---- */

static void write_group_done(void *arg, int code);

/* Its partition was split, and nothing has changed: its rows are decided anew when it is known
 * where they lie now. */
static void group_rerouted(struct route_wait *w, int code)
{
    write_group_done(PORT_CONTAINER(w, struct group, wait), code ? code : E_GUARD);
}

/* The cell of an upload whose last step this is (cell_writer.c), or NULL. */
static const struct wr_cell *published(const struct write_op *op)
{
    const struct wr_row *row = &op->rows[0].change->row;

    return op->row_count == 1 && row->cell_count == 1 && row->cells[0].apart ? &row->cells[0]
                                                                             : NULL;
}

static bool group_park(struct group *g)
{
    const struct table *t = g->op->tables[g->op->rows[g->first].table_at].table;
    const struct write_batch *b = &g->batch;

    if (g->wait.run || !t->traffic->route || (!b->edit_count && !b->guard_count))
        return false;
    g->wait = (struct route_wait){.table = t,
                                  .key = b->edit_count ? b->edits[0].key : b->guards[0].key,
                                  .tried = g->batch.partition,
                                  .run = group_rerouted};
    route_wait(&g->wait);
    return true;
}

static void write_group_done(void *arg, int code)
{
    struct group *g = arg;
    struct write_op *op = g->op;

    invariant(code != E_LATER && g->first <= g->end);
    if (code == E_PARTITION && group_park(g))
        return;
    /* An upload finds out first whether it is its own record that was changed. */
    if (code == E_GUARD && db_is_shared(op->call->db) && op->round < ROUNDS_MAX && !published(op)) {
        atomic_store(&op->again, true); /* its rows stay to do */
    } else {
        /* Somebody was faster each time. */
        if (code == E_GUARD)
            code = E_CONFLICT;
        for (size_t i = g->first; i < g->end; i++) {
            struct write_row *r = &op->rows[i];

            if (r->state != WRITE_ROW_DECIDED)
                continue;
            if (code)
                write_row_set(r, code, err_info(code)->text);
            write_row_enter(r, WRITE_ROW_DONE);
        }
    }
    write_release(op);
}

/* What the rows of the pending group were decided on, one guard a row that is stored; the record of
 * a cell that is published; and what observers guard. */
static void add_guards(struct write_op *op, struct write_batch *b)
{
    struct arena *a = &op->call->c.arena;
    struct guard *guards =
        ARENA_ARRAY(a, struct guard, op->at - op->group_first + 1 + op->builder.guard_count);
    const struct wr_cell *cell = published(op);

    b->guard_count = 0;
    for (size_t i = op->group_first; i < op->at; i++) {
        const struct get *head = &op->rows[i].load.get;

        if (op->rows[i].state == WRITE_ROW_DECIDED && op->rows[i].loading && head->key.ptr &&
            !head->code)
            guards[b->guard_count++] = (struct guard){head->key, head->value, !head->found};
    }
    if (cell && b->edit_count)
        b->guard_count += upload_guard(
            a, op->call->db, &op->tables[op->rows[0].table_at].table->schema.location,
            op->rows[0].m.cols, load_u64(cell->value.bytes.ptr), &guards[b->guard_count]);
    for (size_t i = 0; i < op->builder.guard_count; i++)
        guards[b->guard_count++] = op->builder.guards[i];
    invariant(b->guard_count <= op->at - op->group_first + 1 + op->builder.guard_count);
    b->guards = guards;
}

/* What the pending group was decided by and the engine may still refuse. */
static uint64_t group_rests_on(const struct write_op *op)
{
    uint64_t least = 0;

    for (size_t i = op->group_first; i < op->at; i++) {
        const struct write_row *r = &op->rows[i];

        if (r->loading && r->load.get.depends_on && (!least || r->load.get.depends_on < least))
            least = r->load.get.depends_on;
    }
    return least;
}

/* Applies the pending group and passes its row locks on. */
void write_group_end(struct write_op *op, struct run_list *woken)
{
    struct ctx *c = &op->call->c;
    struct group *g;

    invariant(op->group_first <= op->at && op->at <= op->row_count);
    if (op->builder.count || op->needs_barrier) {
        g = ARENA_NEW(&c->arena, struct group);
        g->op = op;
        g->first = op->group_first;
        g->end = op->at;
        g->batch.edits = op->builder.items;
        g->batch.edit_count = op->builder.count;
        g->batch.partition = op->partition;
        g->batch.depends_on = group_rests_on(op);
        g->batch.frees = !op->builder.stores;
        g->batch.guards = op->builder.guards;
        g->batch.guard_count = op->builder.guard_count;
        if (db_is_shared(op->call->db))
            add_guards(op, &g->batch);
        g->batch.lease = op->call->db->lease;
        g->batch.lease_lost = op->call->lease_lost;
        atomic_fetch_add(&op->open, 1);
        engine_apply(c, op->call->db->engine, &g->batch, write_group_done, g);
    }
    for (size_t i = op->group_first; i < op->at; i++)
        if (op->rows[i].locked) {
            op->rows[i].locked = false;
            row_lock_pass(op->call->db->row_locks, &op->rows[i].lock, woken);
        }
    op->builder = (struct batch_builder){.arena = &c->arena};
    op->needs_barrier = false;
    op->group_first = op->at;
}

/* ---- one row ---- */

static void resume(void *arg)
{
    struct write_op *op = arg;
    struct run_list woken = {0};

    walk(op, &woken);
    row_lock_run(&woken);
}

/* From wherever it was woken, with a row locked. */
static void write_wake(struct write_op *op)
{
    if (!call_enter(op->call, true))
        resume(op);
}

static void write_load_done(struct load *l)
{
    write_wake(PORT_CONTAINER(l, struct write_row, load)->op);
}

static void write_mark_done(void *arg, int code)
{
    struct write_row *r = arg;

    if (code)
        fail(&r->op->call->c, code, "%s", err_info(code)->text);
    write_wake(r->op);
}

static void choose_columns(struct load *l)
{
    struct write_row *r = PORT_CONTAINER(l, struct write_row, load);

    l->columns = modify_columns(l->c, &r->m, &l->column_count);
}

/* What was read and decided in vain goes, else a request that others are faster than a hundred
 * times holds the row a hundred times. A batch keeps it: results of its other rows lie in between.
 */
static void forget_round(struct write_op *op)
{
    if (op->row_count == 1 && op->rows[0].begun_as)
        arena_rewind(&op->call->c.arena, &op->begun);
}

static void read_lock_go_on(struct route_wait *w, int code)
{
    (void)code;
    resume(PORT_CONTAINER(w, struct write_row, wait)->op);
}

/* A reader holds the row (load.h): the walk parks, and the row is loaded again. True: it has
 * parked. A change waits no longer than ROW_READ_LOCK_MS in all, whatever readers there are. */
static bool row_yields(struct write_op *op, struct write_row *r)
{
    int64_t now_ms;

    if (PORT_LIKELY(!r->load.row.read_locked))
        return false;
    now_ms = clock_mono_ms(&op->call->db->clock);
    if (!r->read_locked_ms)
        r->read_locked_ms = now_ms;
    if (now_ms - r->read_locked_ms >= ROW_READ_LOCK_MS)
        return false;
    r->load = (struct load){.c = NULL};
    r->loading = false;
    forget_round(op);
    r->wait = (struct route_wait){.table = r->m.table, .run = read_lock_go_on};
    route_pause(&r->wait, READ_LOCK_POLL_MS);
    return true;
}

/* Rows that were loaded stay in memory until their batch has ended, and what others hold grows
 * meanwhile: many batches that began when there was room may have none for all of their rows. */
static int write_check_room(struct write_op *op, const struct write_row *r)
{
    struct wr_db *db = op->call->db;

    if (r == op->rows || op->call->c.arena.used < ROOM_BYTES ||
        !memory_full(&db->memory, db->engine))
        return E_OK;
    return fail(&op->call->c, E_BUSY, "Server is busy: other requests fill its memory.");
}

static int row_load(struct write_op *op, struct write_row *r)
{
    if (!r->loading && !catalog_is_fresh(op->call->db->catalog))
        r->m.looks = true;
    if (!r->loading)
        change_point_prepare(&op->call->c, &r->m);
    if (!modify_needs_old(&r->m) && !r->loading)
        return E_OK;
    if (!r->loading) {
        TRY(write_check_room(op, r));
        r->loading = true;
        r->load = (struct load){.c = &op->call->c,
                                .table = r->m.table,
                                .cols = r->m.cols,
                                .view = VIEW_LATEST,
                                .read_pending = true,
                                .urgent = true,
                                .done = write_load_done,
                                .choose = choose_columns};
    }
    if (!r->before)
        TRY(load_run(&r->load));
    if (row_yields(op, r))
        return E_LATER;
    r->m.old = r->load.row;
    r->m.old.read_locked = false;
    r->m.old_known = true;
    write_row_enter(r, WRITE_ROW_DECIDED);
    return E_OK;
}

/* The time of the decision, not of the request: it may have waited for long, and others may have
 * changed the row meanwhile. */
static void row_time(struct wr_db *db, struct write_row *r)
{
    if (r->loading)
        r->m.now_ms = clock_watch_ms(db);
    if (db_is_shared(db) && r->m.old.there)
        db_clock_meet(db, r->m.old.stamp);
    r->m.time = db_clock_read(db);
}

/* Loads and decides; leaves the edits to the caller. E_LATER: parked. */
int write_row_decide(struct write_op *op, struct write_row *r)
{
    struct ctx *c = &op->call->c;

    invariant(r->state == WRITE_ROW_BEGUN || r->state == WRITE_ROW_DECIDED);
    invariant(r->locked || op->atomic); /* an atomic batch locks a row once, for its first change */
    if (c->code)                        /* the table's flag could not be stored */
        return c->code;
    TRY(call_check_deadline(op->call));
    TRY(row_load(op, r));
    row_time(op->call->db, r);
    TRY(modify_run(c, &r->m));
    TRY(change_point_check(c, &r->m));
    if (modify_detaches(&r->m) && !catalog_is_out_of_line(r->m.table)) {
        /* Stored edits must never be ahead of the flag: blind puts look at it. */
        catalog_mark_out_of_line(op->call->db, op->tables[r->table_at].table, write_mark_done, r);
        return E_LATER;
    }
    return modify_result(c, &r->m, r->result);
}

void write_row_accept(struct write_op *op, struct write_row *r)
{
    write_row_enter(r, WRITE_ROW_DECIDED);
    r->result->consumed.read = r->m.read_units;
    r->result->consumed.write = r->m.write_units;
    /* Also a change of nothing was decided on what may not be durable yet. */
    op->needs_barrier = true;
}

static int write_check_table(struct write_op *op, struct write_row *r)
{
    struct wr_db *db = op->call->db;
    const struct table *t = op->tables[r->table_at].table;
    enum wr_op asked = op->call->req->op;

    if (!t->schema.d.options.cell_bytes_max && db_limits(db) == &db->limits)
        return E_OK;
    return change_check_table(&op->call->c, &db->limits, t, r->change,
                              asked == WR_OP_BATCH_WRITE_ROW || asked == WR_OP_BULK_IMPORT);
}

/* Checks the row against its table, and asks its partition. */
static int row_check(struct write_op *op, struct write_row *r)
{
    struct call *call = op->call;
    struct table *t = op->tables[r->table_at].table;

    TRY(write_check_table(op, r));
    TRY(modify_begin(&call->c, &call->db->limits, t, r->change, call->now_ms,
                     catalog_next_number(call->db->catalog), &r->m));
    if (r->repeated)
        return fail(&call->c, E_PARAMETER,
                    "Repeated rows do not support atomic increment in BatchModify.");
    r->access = (struct access){.db = call->db,
                                .c = &call->c,
                                .table = t,
                                .bucket = layout_bucket(&t->schema.location, r->m.cols),
                                .cols = r->m.cols,
                                .writes = 1};
    return access_admit(&r->access, PARTITION_WRITE);
}

/* Its own failure, the others go on. */
bool write_row_begin(struct write_op *op, struct write_row *r)
{
    struct call *call = op->call;

    if (r->state != WRITE_ROW_NEW)
        return r->state != WRITE_ROW_DONE;
    if (row_check(op, r)) {
        write_row_fail(&call->c, r);
        write_row_enter(r, WRITE_ROW_DONE);
        return false;
    }
    write_row_enter(r, WRITE_ROW_BEGUN);
    if (db_is_shared(call->db)) {
        r->begun_as = ARENA_NEW(&call->c.arena, struct modify);
        *r->begun_as = r->m;
        write_row_lock_prepare(op, r);
        op->begun = arena_mark(&call->c.arena);
    }
    return true;
}

/* Another round for the rows that are still to do. */
static void write_again(struct write_op *op)
{
    for (size_t i = 0; i < op->row_count; i++) {
        struct write_row *r = &op->rows[i];

        if (r->state == WRITE_ROW_DONE || !r->begun_as)
            continue;
        write_row_enter(r, WRITE_ROW_BEGUN);
        r->m = *r->begun_as;
        *r->result = (struct wr_row_result){.code = 0};
        r->load = (struct load){.c = NULL};
        r->loading = false;
        r->before = NULL;
        r->superseded = r->any_changed = false;
    }
    forget_round(op);
    op->round++;
    op->at = op->group_first = 0;
    op->order = NULL;
    atomic_store(&op->again, false);
    atomic_store(&op->open, 1);
    if (!call_enter(op->call, false))
        resume(op);
}

static void row_lock_woken(struct row_lock *l, struct run_list *woken)
{
    struct write_row *r = PORT_CONTAINER(l, struct write_row, lock);

    invariant(!r->locked && r->state < WRITE_ROW_DONE);
    r->locked = true;
    if (!call_enter(r->op->call, true))
        walk(r->op, woken);
}

void write_row_lock_prepare(struct write_op *op, struct write_row *r)
{
    if (r->lock.key.ptr)
        return;
    r->lock.key = schema_lock_key(&op->call->c.arena, &r->m.table->schema, r->m.cols);
    r->lock.run = row_lock_woken;
}

/* What was decided on is durable already, and was all read at one point in time. */
static bool is_durable(const struct write_row *r)
{
    return r->loading && r->load.get.durable && !r->load.row.wide;
}

/* ---- the walk ---- */

/* True: locked. False: parked. */
static bool write_row_lock(struct write_op *op, struct write_row *r, struct run_list *woken)
{
    if (r->locked)
        return true;
    write_row_lock_prepare(op, r);
    r->locked = row_lock_try(op->call->db->row_locks, &r->lock);
    if (r->locked)
        return true;
    write_group_end(op, woken);
    invariant(op->group_first == op->at && !op->builder.count); /* it waits with no row lock held */
    if (!row_lock_take(op->call->db->row_locks, &r->lock))
        return false;
    r->locked = true;
    return true;
}

/* Whether an earlier change of its row is under way in this round. */
static bool row_waits(struct write_op *op, struct write_row *r)
{
    write_row_lock_prepare(op, r);
    r->walked = op->round + 1;
    for (struct write_row *b = op->rows; b < r; b++)
        if (b->walked == r->walked && b->table_at == r->table_at &&
            bytes_equal(b->lock.key, r->lock.key))
            return true;
    return false;
}

/* A batch is of one partition: the pending group ends before a row of another one. */
static void row_route(struct write_op *op, const struct write_row *r, struct run_list *woken)
{
    const struct table *t = op->tables[r->table_at].table;
    partition_id id = route_find_row(t, r->m.cols);

    if (id != op->partition && !engine_one_key_space(op->call->db->engine) &&
        (op->builder.count || op->needs_barrier))
        write_group_end(op, woken);
    if (!op->builder.count && !op->needs_barrier)
        op->partition = id;
}

static void walk_rows(struct write_op *op, struct run_list *woken)
{
    for (; op->at < op->row_count; op->at++) {
        struct write_row *r = &op->rows[op->at];
        int code;

        if (r->state == WRITE_ROW_DONE)
            continue;
        if (op->at > op->group_first && op->builder.bytes > GROUP_BYTES_MAX)
            write_group_end(op, woken);
        if (op->at % STEP_ROWS == STEP_ROWS - 1 && !r->locked && call_turn_over(op->call)) {
            write_group_end(op, woken); /* nobody waits for rows of one that waits itself */
            call_yield(op->call);
            return;
        }
        if (!write_row_begin(op, r))
            continue;
        if (db_is_shared(op->call->db) && row_waits(op, r)) {
            write_row_enter(r, WRITE_ROW_LATER);
            atomic_store(&op->again, true);
            continue;
        }
        row_route(op, r, woken);
        if (!write_row_lock(op, r, woken))
            return;
        code = write_row_decide(op, r);
        if (code == E_LATER)
            return;
        if (code) {
            write_row_fail(&op->call->c, r);
            if (r->state == WRITE_ROW_DECIDED && !is_durable(r))
                op->needs_barrier = true;
            else
                write_row_enter(r, WRITE_ROW_DONE);
        } else {
            write_row_accept(op, r);
            change_point_store(&r->m, &op->builder);
        }
    }
    write_group_end(op, woken);
    call_charge(op->call);
    write_release(op);
}

static void walk(struct write_op *op, struct run_list *woken)
{
    if (op->atomic)
        write_walk_atomic(op, woken);
    else
        walk_rows(op, woken);
}

/* ---- the beginning ---- */

void write_start(struct write_op *op)
{
    invariant(op->row_count && op->table_count);
    op->builder = (struct batch_builder){.arena = &op->call->c.arena};
    atomic_init(&op->open, 1);
    op->call->go_on = resume;
    op->call->op = op;
    resume(op);
}
