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
 * changes of one row there is one a round, for the first may have to be decided again; and rows
 * that get numbers wait likewise for those in front of them (write_number.c).
 *   - Once an old row had to be waited for, the records of those behind it are read ahead, side by
 * side and with no row lock held (write_ahead.c).
 *   - A walk runs on one thread at a time but may move: it parks in a row lock's queue, in the
 * engine (E_LATER), or while the table's flag is made durable, and goes on where it is woken.
 * Whoever parks returns at once and touches nothing of the walk again. */
#include "base/invariant.h"
#include "table/index/index_cost.h"
#include "table/index/outbox_observer.h"
#include "table/index/outbox_queue.h"
#include "table/blob/upload.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/model/change.h"
#include "table/model/change_point.h"
#include "table/model/meter.h"
#include "table/row/write_own.h"
#include "table/txn/txn.h"

#define GROUP_BYTES_MAX (8u << 20)
#define ROOM_BYTES (1 << 20) /* what a batch may take in a full memory */
#define STEP_ROWS 4          /* after so many the walk asks whether its turn is over */
#define ROUNDS_MAX 1000      /* the deadline comes before */
#define READ_LOCK_POLL_MS 10

/* Rows [first, end) of one engine batch. */
struct group {
    struct write_call *write;
    struct write_batch batch;
    size_t first, end;
    struct route_wait wait; /* for another partition, when its own was split */
};

static void walk(struct write_call *w, struct run_list *woken);

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
static void count_bulk(struct write_call *w)
{
    for (size_t i = 0; i < w->row_count; i++) {
        struct write_row *r = &w->rows[i];

        r->result->consumed = (struct wr_capacity){0};
        if (!r->result->code)
            r->result->consumed.write_size =
                (int64_t)meter_row_size(&bulk_options, &r->change->row.key, r->change->row.cells,
                                        r->change->row.cell_count);
    }
}

static void count_rows(struct write_call *w)
{
    for (size_t i = 0; i < w->row_count; i++) {
        struct write_row *r = &w->rows[i];

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

/* All that the request wrote is durable, or has come to nothing. */
static void leave_gates(struct write_call *w)
{
    for (size_t i = 0; i < w->row_count; i++)
        if (PORT_UNLIKELY(w->rows[i].gate != NULL))
            txn_gate_leave(w->call->db, w->rows[i].gate);
}

static void write_finish(struct write_call *w)
{
    struct call *call = w->call;
    bool single = call->req->op == WR_OP_PUT_ROW || call->req->op == WR_OP_UPDATE_ROW ||
                  call->req->op == WR_OP_DELETE_ROW;

    count_rows(w);
    leave_gates(w);
    for (size_t i = 0; i < w->table_count; i++)
        table_release(w->tables[i].table);
    if (call->req->op == WR_OP_BULK_IMPORT)
        count_bulk(w);
    if (w->commits && w->rows[0].result->code) /* all of them failed like the first that did */
        fail(&call->c, w->rows[0].result->code, "%s", w->rows[0].result->message);
    if (single) {
        struct wr_row_result *r = w->rows[0].result;

        if (r->code)
            fail(&call->c, r->code, "%s", r->message);
        call->reply.row = *r;
    }
    call_finish(call);
}

static void lock_met(struct write_call *w, size_t at);
static void locks_looked(struct write_call *w);

void write_release(struct write_call *w)
{
    static const struct write_lock_calls lock_calls = {lock_met, locks_looked};
    size_t open = atomic_fetch_sub(&w->open, 1);

    invariant(open > 0);
    if (open != 1)
        return;
    if (atomic_load(&w->again))
        write_lock_look(w, &lock_calls);
    else
        write_finish(w);
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
static const struct wr_cell *published(const struct write_call *w)
{
    const struct wr_row *row = &w->rows[0].change->row;

    return w->row_count == 1 && row->cell_count == 1 && row->cells[0].apart ? &row->cells[0] : NULL;
}

static bool group_park(struct group *g)
{
    const struct table *t = g->write->tables[g->write->rows[g->first].table_at].table;
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

/* The row's outbox record is stored, or (E_UNSURE) perhaps. */
static void drain_later(const struct write_row *r, int code)
{
    if ((!code || code == E_UNSURE) && r->m.beside->recorded)
        outbox_queue_add(r->m.table->db->outboxes, r->m.table, r->m.cols);
}

static void write_group_done(void *arg, int code)
{
    struct group *g = arg;
    struct write_call *w = g->write;

    invariant(code != E_LATER && g->first <= g->end);
    if (code == E_PARTITION && group_park(g))
        return;
    /* An upload finds out first whether it is its own record that was changed. */
    if (code == E_GUARD && db_is_shared(w->call->db) && w->round < ROUNDS_MAX && !published(w)) {
        atomic_store(&w->again, true); /* its rows stay to do */
    } else {
        /* Somebody was faster each time. */
        if (code == E_GUARD)
            code = E_CONFLICT;
        for (size_t i = g->first; i < g->end; i++) {
            struct write_row *r = &w->rows[i];

            if (r->state != WRITE_ROW_DECIDED)
                continue;
            if (PORT_UNLIKELY(r->m.beside))
                drain_later(r, code);
            if (code)
                write_row_set(r, code, err_info(code)->text);
            write_row_enter(r, WRITE_ROW_DONE);
        }
    }
    write_release(w);
}

/* What the rows of the pending group were decided on, one guard a row that is stored; the record of
 * a cell that is published; and what observers guard. */
static void add_guards(struct write_call *w, struct write_batch *b)
{
    struct arena *a = &w->call->c.arena;
    struct guard *guards =
        ARENA_ARRAY(a, struct guard, w->at - w->group_first + 1 + w->builder.guard_count);
    const struct wr_cell *cell = published(w);

    b->guard_count = 0;
    for (size_t i = w->group_first; i < w->at; i++) {
        const struct get *head = &w->rows[i].load.get;

        if (w->rows[i].state == WRITE_ROW_DECIDED && w->rows[i].loading && head->key.ptr &&
            !head->code)
            guards[b->guard_count++] = (struct guard){head->key, head->value, !head->found};
    }
    if (cell && b->edit_count)
        b->guard_count += upload_guard(
            a, w->call->db, &w->tables[w->rows[0].table_at].table->schema.location,
            w->rows[0].m.cols, load_u64(cell->value.bytes.ptr), &guards[b->guard_count]);
    for (size_t i = 0; i < w->builder.guard_count; i++)
        guards[b->guard_count++] = w->builder.guards[i];
    invariant(b->guard_count <= w->at - w->group_first + 1 + w->builder.guard_count);
    b->guards = guards;
}

/* What the pending group was decided by and the engine may still refuse. */
static uint64_t group_rests_on(const struct write_call *w)
{
    uint64_t least = 0;

    for (size_t i = w->group_first; i < w->at; i++) {
        const struct write_row *r = &w->rows[i];

        if (r->loading && r->load.get.depends_on && (!least || r->load.get.depends_on < least))
            least = r->load.get.depends_on;
    }
    return least;
}

/* The numbers of keys that were generated, for the engine to hold against those of other servers;
 * NULL: there are none. */
static const struct rising *group_rising(struct write_call *w)
{
    struct rising *rising = NULL;

    for (size_t i = w->group_first; i < w->at; i++) {
        const struct write_row *r = &w->rows[i];

        if (r->state != WRITE_ROW_DECIDED || !r->m.generated)
            continue;
        if (!rising) {
            rising = ARENA_NEW(&w->call->c.arena, struct rising);
            catalog_rising(w->call->db->catalog, rising);
            rising->least = rising->most = r->m.number;
        }
        if (r->m.number < rising->least)
            rising->least = r->m.number;
        if (r->m.number > rising->most)
            rising->most = r->m.number;
    }
    return rising;
}

/* Applies the pending group and passes its row locks on. */
void write_group_end(struct write_call *w, struct run_list *woken)
{
    struct ctx *c = &w->call->c;
    struct group *g;

    invariant(w->group_first <= w->at && w->at <= w->row_count);
    if (w->builder.count || w->needs_barrier) {
        g = ARENA_NEW(&c->arena, struct group);
        g->write = w;
        g->first = w->group_first;
        g->end = w->at;
        g->batch.edits = w->builder.items;
        g->batch.edit_count = w->builder.count;
        g->batch.partition = w->partition;
        g->batch.depends_on = group_rests_on(w);
        g->batch.frees = !w->builder.stores;
        g->batch.guards = w->builder.guards;
        g->batch.guard_count = w->builder.guard_count;
        if (db_is_shared(w->call->db)) {
            add_guards(w, &g->batch);
            g->batch.rising = group_rising(w);
        }
        g->batch.lease = w->call->db->lease;
        g->batch.lease_lost = w->call->lease_lost;
        atomic_fetch_add(&w->open, 1);
        engine_apply(c, w->call->db->engine, &g->batch, write_group_done, g);
    }
    for (size_t i = w->group_first; i < w->at; i++)
        if (w->rows[i].locked) {
            w->rows[i].locked = false;
            row_lock_pass(w->call->db->row_locks, &w->rows[i].lock, woken);
        }
    w->builder = (struct batch_builder){.arena = &c->arena};
    w->needs_barrier = false;
    w->group_first = w->at;
}

/* ---- one row ---- */

static void resume(void *arg)
{
    struct write_call *w = arg;
    struct run_list woken = {0};

    walk(w, &woken);
    row_lock_run(&woken);
}

void write_wake(struct write_call *w, bool locks)
{
    if (!call_enter(w->call, locks))
        resume(w);
}

static void write_load_done(struct load *l)
{
    struct write_call *w = PORT_CONTAINER(l, struct write_row, load)->write;

    w->cold = true;
    write_wake(w, true);
}

static void write_mark_done(void *arg, int code)
{
    struct write_row *r = arg;

    if (code)
        fail(&r->write->call->c, code, "%s", err_info(code)->text);
    write_wake(r->write, true);
}

static void choose_columns(struct load *l)
{
    struct write_row *r = PORT_CONTAINER(l, struct write_row, load);

    l->columns = modify_columns(l->c, &r->m, &l->column_count);
}

/* What was read and decided in vain goes, else a request that others are faster than a hundred
 * times holds the row a hundred times. A batch keeps it: results of its other rows lie in between.
 */
static void forget_round(struct write_call *w)
{
    if (w->row_count == 1 && w->rows[0].begun_as)
        arena_rewind(&w->call->c.arena, &w->begun);
}

static void read_lock_go_on(struct route_wait *w, int code)
{
    (void)code;
    resume(PORT_CONTAINER(w, struct write_row, wait)->write);
}

/* A reader holds the row (load.h): the walk parks, and the row is loaded again. True: it has
 * parked. A change waits no longer than ROW_READ_LOCK_MS in all, whatever readers there are. */
static bool row_yields(struct write_call *w, struct write_row *r)
{
    int64_t now_ms;

    if (PORT_LIKELY(!r->load.row.read_locked))
        return false;
    now_ms = clock_mono_ms(&w->call->db->clock);
    if (!r->read_locked_ms)
        r->read_locked_ms = now_ms;
    if (now_ms - r->read_locked_ms >= ROW_READ_LOCK_MS)
        return false;
    r->load = (struct load){.c = NULL};
    r->loading = false;
    forget_round(w);
    r->wait = (struct route_wait){.table = r->m.table, .run = read_lock_go_on};
    route_pause(&r->wait, READ_LOCK_POLL_MS);
    return true;
}

/* Rows that were loaded stay in memory until their batch has ended, and what others hold grows
 * meanwhile: many batches that began when there was room may have none for all of their rows. */
static int write_check_room(struct write_call *w, const struct write_row *r)
{
    struct wr_db *db = w->call->db;

    if (r == w->rows || w->call->c.arena.used < ROOM_BYTES || !memory_full(&db->memory, db->engine))
        return E_OK;
    return fail(&w->call->c, E_BUSY, "Server is busy: other requests fill its memory.");
}

int write_row_load(struct write_call *w, struct write_row *r, enum engine_view view)
{
    if (!modify_needs_old(&r->m) && !r->loading)
        return E_OK;
    if (!r->loading) {
        TRY(write_check_room(w, r));
        r->loading = true;
        r->load = (struct load){.c = &w->call->c,
                                .table = r->m.table,
                                .cols = r->m.cols,
                                .view = view,
                                .read_pending = view == VIEW_LATEST,
                                .with_outbox = r->m.beside && view == VIEW_LATEST,
                                .urgent = view == VIEW_LATEST,
                                .done = write_load_done,
                                .choose = choose_columns};
    }
    return r->before ? E_OK : load_run(&r->load);
}

static int row_load(struct write_call *w, struct write_row *r)
{
    if (!r->loading && !catalog_is_fresh(w->call->db->catalog))
        r->m.looks = true;
    if (!r->loading)
        change_point_prepare(&w->call->c, &r->m);
    TRY(write_row_load(w, r, VIEW_LATEST));
    if (!r->loading)
        return E_OK;
    if (row_yields(w, r))
        return E_LATER;
    r->m.old = r->load.row;
    r->m.old.read_locked = false;
    r->m.old_known = true;
    if (PORT_UNLIKELY(r->m.beside) && !r->before)
        TRY(outbox_take(&w->call->c, &r->m, r->load.outbox));
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
int write_row_decide(struct write_call *w, struct write_row *r)
{
    struct ctx *c = &w->call->c;

    invariant(r->state == WRITE_ROW_BEGUN || r->state == WRITE_ROW_DECIDED);
    invariant(r->locked || w->atomic); /* an atomic batch locks a row once, for its first change */
    if (c->code)                       /* the table's flag could not be stored */
        return c->code;
    TRY(call_check_deadline(w->call));
    TRY(row_load(w, r));
    row_time(w->call->db, r);
    TRY(modify_run(c, &r->m));
    TRY(change_point_check(c, &r->m));
    if (modify_detaches(&r->m) && !catalog_is_out_of_line(r->m.table)) {
        /* Stored edits must never be ahead of the flag: blind puts look at it. */
        catalog_mark_out_of_line(w->call->db, w->tables[r->table_at].table, write_mark_done, r);
        return E_LATER;
    }
    return modify_result(c, &r->m, r->result);
}

void write_row_accept(struct write_call *w, struct write_row *r)
{
    write_row_enter(r, WRITE_ROW_DECIDED);
    r->result->consumed.read = r->m.read_units;
    r->result->consumed.write = r->m.write_units;
    if (PORT_UNLIKELY(r->m.table->schema.index_count) && r->m.changed)
        index_cost(&w->call->c, &r->m, &r->result->consumed);
    /* Also a change of nothing was decided on what may not be durable yet. */
    w->needs_barrier = true;
}

static int write_check_table(struct write_call *w, struct write_row *r)
{
    struct wr_db *db = w->call->db;
    const struct table *t = w->tables[r->table_at].table;
    enum wr_op asked = w->call->req->op;

    if (PORT_UNLIKELY(w->commits))
        return E_OK;
    if (PORT_UNLIKELY(t->schema.index_count))
        TRY(change_check_indexed(&w->call->c, r->change));
    if (!t->schema.d.options.cell_bytes_max && db_limits(db) == &db->limits)
        return E_OK;
    return change_check_table(&w->call->c, &db->limits, t, r->change,
                              asked == WR_OP_BATCH_WRITE_ROW || asked == WR_OP_BULK_IMPORT);
}

/* Of a table whose rows may be in transactions: the write is of one, or enters. */
static int row_enter(struct write_call *w, struct write_row *r)
{
    if (w->call->txn || db_is_shared(w->call->db))
        return E_OK;
    return txn_gate_enter(w->call, r->m.table, r->m.cols, &r->gate);
}

/* Checks the row against its table, and asks its partition. */
static int row_check(struct write_call *w, struct write_row *r)
{
    struct call *call = w->call;
    struct table *t = w->tables[r->table_at].table;

    TRY(write_check_table(w, r));
    TRY(modify_begin(&call->c, &call->db->limits, t, r->change, call->now_ms,
                     catalog_next_number(call->db->catalog), &r->m));
    if (PORT_UNLIKELY(t->schema.d.local_transactions))
        TRY(row_enter(w, r));
    if (PORT_UNLIKELY(w->commits)) /* its rows were checked and let in when they were written */
        return E_OK;
    TRY(modify_check_deviation(&call->c, &r->m));
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
bool write_row_begin(struct write_call *w, struct write_row *r)
{
    struct call *call = w->call;

    if (r->state != WRITE_ROW_NEW)
        return r->state != WRITE_ROW_DONE;
    if (row_check(w, r)) {
        write_row_fail(&call->c, r);
        write_row_enter(r, WRITE_ROW_DONE);
        return false;
    }
    write_row_enter(r, WRITE_ROW_BEGUN);
    if (db_is_shared(call->db)) {
        r->begun_as = ARENA_NEW(&call->c.arena, struct modify);
        *r->begun_as = r->m;
        write_row_lock_prepare(w, r);
        w->begun = arena_mark(&call->c.arena);
    }
    return true;
}

/* A generated key was refused, or what landed with it: the next round has a later number. */
static void row_draw(struct write_call *w, struct write_row *r)
{
    struct call *call = w->call;
    struct table *t = w->tables[r->table_at].table;

    if (modify_begin(&call->c, &call->db->limits, t, r->change, call->now_ms,
                     catalog_next_number(call->db->catalog), &r->m)) {
        write_row_fail(&call->c, r);
        write_row_enter(r, WRITE_ROW_DONE);
        return;
    }
    r->access.cols = r->m.cols;
    r->access.bucket = layout_bucket(&t->schema.location, r->m.cols);
    r->lock.key = BYTES_NONE;
    write_row_lock_prepare(w, r);
    *r->begun_as = r->m;
    w->begun = arena_mark(&call->c.arena);
}

/* Another round for the rows that are still to do. */
static void write_again(struct write_call *w)
{
    forget_round(w);
    for (size_t i = 0; i < w->row_count; i++) {
        struct write_row *r = &w->rows[i];

        if (r->state == WRITE_ROW_DONE || !r->begun_as)
            continue;
        write_row_enter(r, WRITE_ROW_BEGUN);
        r->m = *r->begun_as;
        *r->result = (struct wr_row_result){.code = 0};
        r->load = (struct load){.c = NULL};
        r->loading = false;
        r->before = NULL;
        r->superseded = r->any_changed = false;
        if (r->m.generated)
            row_draw(w, r);
    }
    w->round++;
    w->at = w->group_first = 0;
    w->order = NULL;
    atomic_store(&w->again, false);
    atomic_store(&w->open, 1);
    write_wake(w, false);
}

/* The failure in the call's context becomes the row's; of an atomic batch all rows fail with it. */
static void lock_met(struct write_call *w, size_t at)
{
    const struct write_table *t = &w->tables[w->rows[at].table_at];
    size_t end = w->atomic ? t->end : at + 1;

    for (size_t i = w->atomic ? t->first : at; i < end; i++) {
        struct write_row *r = &w->rows[i];

        if (r->state == WRITE_ROW_DONE)
            continue;
        write_row_set(r, w->call->c.code, w->call->c.text);
        r->result->consumed = (struct wr_capacity){0};
        if (r->state == WRITE_ROW_LATER)
            write_row_enter(r, WRITE_ROW_BEGUN);
        write_row_enter(r, WRITE_ROW_DONE);
    }
    ctx_clear(&w->call->c);
}

/* Where nothing is left to do the request ends, with the texts of its failures, which another round
 * would not keep. */
static void locks_looked(struct write_call *w)
{
    for (size_t i = 0; i < w->row_count; i++)
        if (w->rows[i].state != WRITE_ROW_DONE) {
            write_again(w);
            return;
        }
    atomic_store(&w->again, false);
    atomic_store(&w->open, 1);
    write_release(w);
}

static void row_lock_woken(struct row_lock *l, struct run_list *woken)
{
    struct write_row *r = PORT_CONTAINER(l, struct write_row, lock);

    invariant(!r->locked && r->state < WRITE_ROW_DONE);
    r->locked = true;
    if (!call_enter(r->write->call, true))
        walk(r->write, woken);
}

void write_row_lock_prepare(struct write_call *w, struct write_row *r)
{
    if (r->lock.key.ptr)
        return;
    r->lock.key = schema_lock_key(&w->call->c.arena, &r->m.table->schema, r->m.cols);
    r->lock.run = row_lock_woken;
}

/* What was decided on is durable already, and was all read at one point in time. */
static bool is_durable(const struct write_row *r)
{
    return r->loading && r->load.get.durable && !r->load.row.wide;
}

/* ---- the walk ---- */

/* True: locked. False: parked. */
static bool write_row_lock(struct write_call *w, struct write_row *r, struct run_list *woken)
{
    if (r->locked)
        return true;
    write_row_lock_prepare(w, r);
    r->locked = row_lock_try(w->call->db->row_locks, &r->lock);
    if (r->locked)
        return true;
    write_group_end(w, woken);
    invariant(w->group_first == w->at && !w->builder.count); /* it waits with no row lock held */
    if (!row_lock_take(w->call->db->row_locks, &r->lock))
        return false;
    r->locked = true;
    return true;
}

/* True: an earlier change of its row is under way in this round. */
static bool row_waits(struct write_call *w, struct write_row *r)
{
    write_row_lock_prepare(w, r);
    r->walked = w->round + 1;
    for (struct write_row *b = w->rows; b < r; b++)
        if (b->walked == r->walked && b->table_at == r->table_at &&
            bytes_equal(b->lock.key, r->lock.key))
            return true;
    return false;
}

static void row_later(struct write_call *w, struct write_row *r)
{
    write_row_enter(r, WRITE_ROW_LATER);
    atomic_store(&w->again, true);
}

/* A batch is of one partition: the pending group ends before a row of another one. */
static void row_route(struct write_call *w, const struct write_row *r, struct run_list *woken)
{
    const struct table *t = w->tables[r->table_at].table;
    partition_id id = route_find_row(t, r->m.cols);

    if (id != w->partition && !engine_one_key_space(w->call->db->engine) &&
        (w->builder.count || w->needs_barrier))
        write_group_end(w, woken);
    if (!w->builder.count && !w->needs_barrier)
        w->partition = id;
}

static void walk_rows(struct write_call *w, struct run_list *woken)
{
    for (; w->at < w->row_count; w->at++) {
        struct write_row *r = &w->rows[w->at];
        int code;

        if (r->state == WRITE_ROW_DONE)
            continue;
        if (w->at > w->group_first && w->builder.bytes > GROUP_BYTES_MAX)
            write_group_end(w, woken);
        if (w->at % STEP_ROWS == STEP_ROWS - 1 && !r->locked && call_turn_over(w->call)) {
            write_group_end(w, woken); /* nobody waits for rows of one that waits itself */
            call_yield(w->call);
            return;
        }
        if (PORT_UNLIKELY(write_ahead_is_due(w)) && !r->locked) {
            write_group_end(w, woken);
            if (write_ahead(w, w->row_count) == E_LATER)
                return;
        }
        if (!write_row_begin(w, r))
            continue;
        if (db_is_shared(w->call->db) && row_waits(w, r)) {
            row_later(w, r);
            continue;
        }
        row_route(w, r, woken);
        if (r->state == WRITE_ROW_BEGUN && write_number_waits(w, r)) {
            row_later(w, r);
            continue;
        }
        if (!write_row_lock(w, r, woken))
            return;
        code = write_row_decide(w, r);
        if (code == E_LATER)
            return;
        if (code) {
            write_row_fail(&w->call->c, r);
            if (r->state == WRITE_ROW_DECIDED && !is_durable(r))
                w->needs_barrier = true;
            else
                write_row_enter(r, WRITE_ROW_DONE);
        } else {
            write_row_accept(w, r);
            change_point_store(&r->m, &w->builder);
            if (PORT_UNLIKELY(r->m.table->schema.txn_records))
                write_lock_batch(w, r);
        }
    }
    write_group_end(w, woken);
    call_charge(w->call);
    write_release(w);
}

static void walk(struct write_call *w, struct run_list *woken)
{
    if (PORT_UNLIKELY(w->call->txn && !w->commits))
        write_walk_inside(w);
    else if (w->atomic)
        write_walk_atomic(w, woken);
    else
        walk_rows(w, woken);
}

/* ---- the beginning ---- */

void write_start(struct write_call *w)
{
    invariant(w->row_count && w->table_count);
    w->builder = (struct batch_builder){.arena = &w->call->c.arena};
    atomic_init(&w->open, 1);
    w->call->go_on = resume;
    w->call->go_on_arg = w;
    resume(w);
}
