/* catalog_change.c: changes of a table's description that no client asked for. */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "table/core/jobs.h"
#include "table/model/edits.h"
#include "table/sync/hold.h"
#include "table/sync/wait.h"

void catalog_drop_edit(struct edits *e, uint32_t place_id, int64_t now_ms)
{
    edits_add(e, EDIT_PUT, catalog_dropped_key(e->arena, place_id),
              catalog_number_value(e->arena, (uint64_t)now_ms));
}

static int change_held(struct ctx *c, struct wr_db *db, const struct table *t,
                       catalog_change_fn *change, void *arg)
{
    struct table *now = catalog_get(db->catalog, t->schema.instance, t->schema.d.table), *next;
    struct edits edits = {.arena = &c->arena};
    struct write_batch batch;
    struct guard guard;
    struct schema s;
    int code;

    if (!now || now->schema.id != t->schema.id) {
        table_release(now);
        return fail_code(c, E_NOT_EXIST);
    }
    s = now->schema;
    s.version++;
    s.has_detached = atomic_load(&now->has_detached);
    code = change(c, &s, &edits, arg);
    if (!code)
        code = catalog_store(c, db->catalog, now, &s, &edits, &next);
    batch = catalog_batch(db->catalog, now, &edits, &guard);
    table_release(now);
    TRY(code);
    code = wait_apply(c, db->engine, &batch);
    if (code)
        table_release(next);
    else
        catalog_publish(db->catalog, t->schema.instance, t->schema.d.table, next);
    return code;
}

int catalog_change(struct ctx *c, struct wr_db *db, const struct table *t,
                   catalog_change_fn *change, void *arg)
{
    struct held held;
    int code;

    hold(db->latches, &held, BYTES_LIT("catalog"));
    for (int tries = 0; (code = change_held(c, db, t, change, arg)) == E_GUARD;) {
        if (tries++ == CATALOG_TRIES_MAX)
            code = fail_code(c, E_CONFLICT);
        else
            code = catalog_reread(c, db->catalog, t->schema.instance, t->schema.d.table);
        if (code)
            break;
    }
    let_go(db->latches, &held);
    return code;
}

/* ---- detached data ---- */

/* A table operation of our own: it has no call, so it carries its context itself. */
struct mark_op {
    struct latch latch;
    struct ctx c;
    struct wr_db *db;
    struct table *table;
    struct table *next;
    struct edits edits;
    struct guard guard;
    int tries;
    struct job job;
    void (*done)(void *arg, int code);
    void *arg;
};

bool catalog_is_detached(const struct table *t)
{
    return atomic_load(&t->has_detached) &&
           (!db_is_shared(t->db) || atomic_load(&t->traffic->told_detached));
}

/* The latch is not held. */
static void mark_end(struct mark_op *op, int code)
{
    op->done(op->arg, code);
    table_release(op->table);
    ctx_release(&op->c);
    mem_free(op);
}

static void mark_fail(struct mark_op *op, int code, struct run_list *woken)
{
    latch_pass(op->db->latches, &op->latch, woken);
    mark_end(op, code);
}

static void mark_told(void *arg, int code)
{
    struct mark_op *op = arg;

    if (code == E_BUSY) /* the silent look before they put (catalog_is_fresh) */
        code = E_OK;
    if (!code)
        atomic_store(&op->table->traffic->told_detached, true);
    mark_end(op, code);
}

/* It is stored and published. Who comes behind finds that, and tells by himself. */
static void mark_tell(struct mark_op *op, struct run_list *woken)
{
    atomic_store(&op->table->has_detached, true);
    latch_pass(op->db->latches, &op->latch, woken);
    (void)fault_hit(FAULT_table_before_tell);
    if (db_is_shared(op->db) && !atomic_load(&op->table->traffic->told_detached))
        engine_publish(
            op->db->engine,
            catalog_news_text(&op->c.arena, op->table->schema.instance, op->table->schema.d.table),
            CATALOG_FRESH_TELL_MS, mark_told, op);
    else
        mark_end(op, E_OK);
}

static void mark_run(struct latch *l, struct run_list *woken);

static void mark_retry(struct job *self)
{
    struct mark_op *op = PORT_CONTAINER(self, struct mark_op, job);
    const struct schema *s = &op->table->schema;
    struct run_list woken = {0};
    int code = catalog_reread(&op->c, op->db->catalog, s->instance, s->d.table);

    if (code)
        mark_fail(op, code, &woken);
    else
        mark_run(&op->latch, &woken);
    latch_run(&woken);
}

static void mark_done(void *arg, int code)
{
    struct mark_op *op = arg;
    struct wr_db *db = op->db;
    struct run_list woken = {0};

    if (code) {
        table_release(op->next);
        if (code == E_GUARD && op->tries++ < CATALOG_TRIES_MAX) {
            op->job.run = mark_retry;
            jobs_submit(db->jobs, &op->job);
            return;
        }
        if (code == E_UNSURE && db_is_shared(db)) /* it may be stored */
            catalog_tell_soon(db->catalog, op->table->schema.instance, op->table->schema.d.table);
        mark_fail(op, code == E_GUARD ? E_CONFLICT : code, &woken);
    } else {
        (void)fault_hit(FAULT_table_stored);
        catalog_publish(db->catalog, op->next->schema.instance, op->next->schema.d.table, op->next);
        mark_tell(op, &woken);
    }
    latch_run(&woken);
}

static void mark_run(struct latch *l, struct run_list *woken)
{
    struct mark_op *op = PORT_CONTAINER(l, struct mark_op, latch);
    struct write_batch batch;
    const struct schema *mine = &op->table->schema;
    struct table *now = catalog_get(op->db->catalog, mine->instance, mine->d.table);
    struct schema s;
    int code;

    /* Dropped or replaced meanwhile: what is written to the old table goes with it. */
    if (!now || now->schema.id != mine->id) {
        table_release(now);
        mark_fail(op, E_OK, woken);
        return;
    }
    if (atomic_load(&now->has_detached)) {
        table_release(now);
        mark_tell(op, woken);
        return;
    }
    s = now->schema;
    s.version++;
    s.has_detached = true;
    op->edits = (struct edits){.arena = &op->c.arena};
    code = catalog_store(&op->c, op->db->catalog, now, &s, &op->edits, &op->next);
    batch = catalog_batch(op->db->catalog, now, &op->edits, &op->guard);
    table_release(now);
    if (code)
        mark_fail(op, code, woken);
    else
        engine_apply(&op->c, op->db->engine, &batch, mark_done, op);
}

void catalog_mark_detached(struct wr_db *db, struct table *t, void (*done)(void *arg, int code),
                           void *arg)
{
    struct run_list woken = {0};
    struct mark_op *op;

    if (catalog_is_detached(t)) {
        done(arg, E_OK);
        return;
    }
    op = mem_zalloc(sizeof(*op));
    ctx_init(&op->c, &db->clock, &db->log, NULL, 0);
    op->db = db;
    op->table = table_ref(t);
    op->done = done;
    op->arg = arg;
    op->latch.key = BYTES_LIT("catalog");
    op->latch.run = mark_run;
    if (latch_take(db->latches, &op->latch))
        mark_run(&op->latch, &woken);
    latch_run(&woken);
}
