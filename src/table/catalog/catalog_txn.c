#include "table/catalog/catalog_txn.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "base/waiter.h"
#include "table/catalog/catalog_journal.h"
#include "table/catalog/catalog_own.h"
#include "table/core/jobs.h"

static void txn_enter(struct catalog_txn *x, enum catalog_txn_state next)
{
    enum {
        DECIDING = 1u << CATALOG_TXN_DECIDING,
        MAKING = 1u << CATALOG_TXN_MAKING,
        STORING = 1u << CATALOG_TXN_STORING,
        REREADING = 1u << CATALOG_TXN_REREADING,
        TELLING = 1u << CATALOG_TXN_TELLING,
        ENDED = 1u << CATALOG_TXN_ENDED
    };
    static const unsigned may_follow[] = {
        [CATALOG_TXN_QUEUED] = DECIDING,
        [CATALOG_TXN_DECIDING] = MAKING | STORING | REREADING | TELLING | ENDED,
        [CATALOG_TXN_MAKING] = STORING | ENDED,
        [CATALOG_TXN_STORING] = REREADING | TELLING | ENDED,
        [CATALOG_TXN_REREADING] = DECIDING | ENDED,
        [CATALOG_TXN_TELLING] = ENDED,
        [CATALOG_TXN_ENDED] = 0,
    };

    invariant(may_follow[x->state] & 1u << next);
    x->state = next;
}

/* ---- the end ---- */

void catalog_txn_release(struct catalog_txn *x)
{
    table_release(x->now);
    table_release(x->next);
    x->now = x->next = NULL;
    for (struct catalog_txn_other *o = x->others; o; o = o->before) {
        table_release(o->now);
        table_release(o->next);
    }
    x->others = NULL;
}

/* The lock is passed on. x may be gone on return. */
static void txn_end(struct catalog_txn *x, int code)
{
    txn_enter(x, CATALOG_TXN_ENDED);
    if (code)
        fail_code(x->c, code);
    if (x->waiter)
        waiter_wake(x->waiter, code);
    else
        x->done(x, code);
}

/* It has changed nothing. */
static void txn_leave(struct catalog_txn *x, int code, struct run_list *woken)
{
    row_lock_pass(x->db->row_locks, &x->row_lock, woken);
    txn_end(x, code);
}

/* All the others know, or do not use what they knew. */
static void txn_notified(void *arg, int code)
{
    struct catalog_txn *x = arg;

    x->silent = code == E_BUSY;
    txn_end(x, x->silent ? E_OK : code);
}

/* The change is published: the next transaction may run. */
static void txn_notify(struct catalog_txn *x, struct run_list *woken)
{
    struct wr_db *db = x->db;

    for (struct catalog_txn_other *o = x->others; o && db_is_shared(db); o = o->before)
        catalog_notify_soon(db->catalog, x->instance, o->name);

    txn_enter(x, CATALOG_TXN_TELLING);
    row_lock_pass(db->row_locks, &x->row_lock, woken);
    (void)fault_hit(FAULT_table_before_notify);
    if (db_is_shared(db) && x->notify_ms) {
        engine_publish(db->engine, catalog_notification_text(&x->c->arena, x->instance, x->name),
                       x->notify_ms, txn_notified, x);
        return;
    }
    if (db_is_shared(db))
        catalog_notify_soon(db->catalog, x->instance, x->name);
    txn_end(x, E_OK);
}

/* ---- the batch ---- */

/* Runs `step`, which may block: on the thread that waits for the end, or on the one for jobs. */
static void txn_defer(struct catalog_txn *x, enum catalog_txn_state state,
                      void (*step)(struct job *self))
{
    txn_enter(x, state);
    x->job.run = step;
    if (x->waiter)
        waiter_wake(x->waiter, E_LATER);
    else
        jobs_submit(x->db->jobs, &x->job);
}

static void txn_try(struct row_lock *l, struct run_list *woken);

/* What decide() goes by. */
static int txn_read(struct catalog_txn *x)
{
    struct catalog *cat = x->db->catalog;
    uint64_t id = 0;

    if (x->reads_all)
        TRY(catalog_load_all(x->c, cat));
    TRY(catalog_reread(x->c, cat, x->instance, x->name));
    for (struct catalog_txn_other *o = x->others; o; o = o->before)
        TRY(catalog_reread(x->c, cat, x->instance, o->name));
    TRY(catalog_load_number(x->c, x->db->engine, CATALOG_NEXT_ID, &id));
    cat->next_id = id ? (uint32_t)id : 1;
    return E_OK;
}

/* Another process was faster, or may have been: what the batch was decided by is read again. */
static void txn_reread(struct job *self)
{
    struct catalog_txn *x = PORT_CONTAINER(self, struct catalog_txn, job);
    struct run_list woken = {0};
    int code = txn_read(x);

    x->is_current = !code;
    if (code)
        txn_leave(x, code, &woken);
    else
        txn_try(&x->row_lock, &woken);
    row_lock_run(&woken);
}

static bool txn_may_retry(struct catalog_txn *x)
{
    int64_t deadline_ms = x->c->deadline_ms;

    return x->tries++ < CATALOG_TRIES_MAX &&
           !(deadline_ms && clock_mono_ms(&x->db->clock) > deadline_ms);
}

static void txn_publish_others(const struct catalog_txn *x, bool drops)
{
    for (struct catalog_txn_other *o = x->others; o; o = o->before)
        if (o->drops == drops && (drops || o->next))
            catalog_publish(x->db->catalog, x->instance, o->name,
                            drops ? NULL : table_ref(o->next));
}

/* Changes that go by the older description would leave something out. */
static bool keeps_more(const struct schema *next, const struct schema *now)
{
    return next->index_count > now->index_count ||
           (next->stream.location && next->stream.location != now->stream.location) ||
           (next->change_log && next->change_log != now->change_log);
}

/* The table of a period takes no writes any more: those under way are refused. */
static void overtake_others(const struct catalog_txn *x)
{
    for (struct catalog_txn_other *o = x->others; o; o = o->before)
        if (o->now && o->next && o->next->schema.period.frozen && !o->now->schema.period.frozen)
            catalog_overtake(x->db->catalog, o->next);
}

/* An index is there before its table says so, and longer. */
static void txn_publish(const struct catalog_txn *x)
{
    overtake_others(x);
    txn_publish_others(x, false);
    if (x->now && x->next && keeps_more(&x->next->schema, &x->now->schema))
        catalog_overtake(x->db->catalog, x->next);
    catalog_publish(x->db->catalog, x->instance, x->name, x->next ? table_ref(x->next) : NULL);
    txn_publish_others(x, true);
}

static void txn_stored(void *arg, int code)
{
    struct catalog_txn *x = arg;
    struct catalog *cat = x->db->catalog;
    struct run_list woken = {0};

    if (code == E_GUARD && txn_may_retry(x)) {
        txn_defer(x, CATALOG_TXN_REREADING, txn_reread);
        return;
    }
    if (!code) {
        (void)fault_hit(FAULT_table_stored);
        txn_publish(x);
        txn_notify(x, &woken);
    } else {
        if (code == E_UNSURE && db_is_shared(x->db)) { /* it may be stored */
            catalog_notify_soon(cat, x->instance, x->name);
            for (struct catalog_txn_other *o = x->others; o; o = o->before)
                catalog_notify_soon(cat, x->instance, o->name);
        }
        txn_leave(x, code == E_GUARD ? E_CONFLICT : code, &woken);
    }
    row_lock_run(&woken);
}

static void txn_store(struct catalog_txn *x)
{
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = x->guards,
                                .edits = x->builder.items,
                                .edit_count = x->builder.count};

    txn_enter(x, CATALOG_TXN_STORING);
    invariant((x->next != NULL) != x->drops);
    if (catalog_guards(x->db->catalog, x->now))
        batch.guard_count = x->guard_count;
    (void)fault_hit(FAULT_table_before_store);
    engine_apply(x->c, x->db->engine, &batch, txn_stored, x);
}

static void txn_make(struct job *self)
{
    struct catalog_txn *x = PORT_CONTAINER(self, struct catalog_txn, job);
    struct run_list woken = {0};
    int code = x->make(x);

    if (code)
        txn_leave(x, code, &woken);
    else
        txn_store(x);
    row_lock_run(&woken);
}

/* ---- deciding ---- */

static void guard_table(struct catalog_txn *x, bytes name, const struct table *now);

/* Is what decide() went by to be read before its client is told so? Others may have changed it. */
static bool must_confirm(const struct catalog_txn *x, int code)
{
    if (!x->confirms || x->is_current || !db_is_shared(x->db) || code == E_TOO_FREQUENT)
        return false;
    return code || !catalog_is_fresh(x->db->catalog);
}

/* Under the lock. */
static void txn_try(struct row_lock *l, struct run_list *woken)
{
    struct catalog_txn *x = PORT_CONTAINER(l, struct catalog_txn, row_lock);
    struct catalog *cat = x->db->catalog;
    int code;

    assert(row_lock_is_held(x->db->row_locks, l));
    txn_enter(x, CATALOG_TXN_DECIDING);
    catalog_txn_release(x); /* of the try before */
    x->now = catalog_get(cat, x->instance, x->name);
    x->builder = (struct batch_builder){.arena = &x->c->arena};
    x->guard_count = 0;
    x->drops = false;
    guard_table(x, x->name, x->now);
    if (x->id && !(x->now && x->now->schema.id == x->id))
        code = E_NOT_EXIST;
    else
        code = x->decide(x);
    if (must_confirm(x, code)) {
        x->reads_all = code == E_QUOTA;
        x->tries++;
        ctx_clear(x->c);
        txn_defer(x, CATALOG_TXN_REREADING, txn_reread);
        return;
    }
    if (code || (!x->builder.count && !x->notify_ms))
        txn_leave(x, code, woken);
    else if (!x->builder.count)
        txn_notify(x, woken);
    else if (x->make)
        txn_defer(x, CATALOG_TXN_MAKING, txn_make);
    else
        txn_store(x);
}

void catalog_txn_begin(struct catalog_txn *x)
{
    struct run_list woken = {0};

    invariant(x->state == CATALOG_TXN_QUEUED && !x->now && (x->done || x->waiter));
    x->row_lock = (struct row_lock){.key = BYTES_LIT("catalog"), .run = txn_try};
    if (row_lock_take(x->db->row_locks, &x->row_lock))
        txn_try(&x->row_lock, &woken);
    row_lock_run(&woken);
}

int catalog_txn_wait(struct catalog_txn *x)
{
    struct waiter w;
    int code;

    x->waiter = &w;
    waiter_init(&w);
    catalog_txn_begin(x);
    while ((code = waiter_wait(&w)) == E_LATER) {
        waiter_init(&w);
        x->job.run(&x->job);
    }
    return code;
}

/* ---- for decide() ---- */

struct schema catalog_txn_draft(const struct catalog_txn *x)
{
    struct schema s = x->now->schema;

    s.version++;
    return s;
}

int catalog_txn_put(struct catalog_txn *x, const struct schema *s)
{
    invariant(x->state == CATALOG_TXN_DECIDING && !x->next);
    return catalog_store(x->c, x->db->catalog, x->now, s, &x->builder, &x->next);
}

/* The edits that remove a description. */
static void txn_remove(struct catalog_txn *x, bytes name, const struct table *now)
{
    struct batch_builder *e = &x->builder;

    batch_add(e, EDIT_DELETE, catalog_table_key(e->arena, x->instance, name), BYTES_NONE);
    journal_add(x->db, e, &(struct journal_entry){x->instance, name, now->schema.id, 0});
}

void catalog_txn_drop(struct catalog_txn *x)
{
    invariant(x->state == CATALOG_TXN_DECIDING && !x->next);
    x->drops = true;
    txn_remove(x, x->name, x->now);
}

static void guard_table(struct catalog_txn *x, bytes name, const struct table *now)
{
    catalog_txn_guard(x, (struct guard){catalog_table_key(&x->c->arena, x->instance, name),
                                        now ? now->stored : BYTES_NONE, !now});
}

struct catalog_txn_other *catalog_txn_other(struct catalog_txn *x, bytes name)
{
    struct catalog_txn_other *o = ARENA_NEW(&x->c->arena, struct catalog_txn_other);

    invariant(x->state == CATALOG_TXN_DECIDING && !bytes_equal(name, x->name));
    o->name = name;
    o->now = catalog_get(x->db->catalog, x->instance, name);
    o->before = x->others;
    x->others = o;
    guard_table(x, name, o->now);
    return o;
}

int catalog_txn_put_other(struct catalog_txn *x, struct catalog_txn_other *other,
                          const struct schema *s)
{
    invariant(x->state == CATALOG_TXN_DECIDING && !other->next && !other->drops);
    return catalog_store(x->c, x->db->catalog, other->now, s, &x->builder, &other->next);
}

void catalog_txn_drop_other(struct catalog_txn *x, struct catalog_txn_other *other)
{
    invariant(x->state == CATALOG_TXN_DECIDING && other->now && !other->next);
    other->drops = true;
    txn_remove(x, other->name, other->now);
}

void catalog_txn_guard(struct catalog_txn *x, struct guard guard)
{
    invariant(x->state == CATALOG_TXN_DECIDING);
    if (x->guard_count == x->guard_room) {
        struct guard *more = ARENA_ARRAY(&x->c->arena, struct guard, 2 * x->guard_room + 4);

        if (x->guard_count)
            memcpy(more, x->guards, x->guard_count * sizeof(*more));
        x->guards = more;
        x->guard_room = 2 * x->guard_room + 4;
    }
    x->guards[x->guard_count++] = guard;
}

uint32_t catalog_txn_ids(struct catalog_txn *x, uint32_t count)
{
    struct catalog *cat = x->db->catalog;
    struct arena *a = &x->c->arena;
    bytes key = catalog_plain_key(a, CATALOG_NEXT_ID);
    uint32_t id = cat->next_id;

    catalog_txn_guard(x, (struct guard){key, catalog_number_value(a, id), id == 1});
    batch_add(&x->builder, EDIT_PUT, key, catalog_number_value(a, id + (uint64_t)count));
    cat->next_id = id + count; /* an id lost to a failed write is only a gap */
    return id;
}

int catalog_txn_check_rate(struct catalog_txn *x, int64_t now_ms)
{
    struct catalog *cat = x->db->catalog;
    int64_t max = x->db->limits.table_ops_per_s_max;

    if (!max)
        return E_OK;
    if (cat->rate_second != now_ms / 1000) {
        cat->rate_second = now_ms / 1000;
        cat->rate_count = 0;
    }
    if (cat->rate_count >= max)
        return fail_code(x->c, E_TOO_FREQUENT);
    cat->rate_count++;
    return E_OK;
}
