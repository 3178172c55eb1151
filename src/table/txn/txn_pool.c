/* txn_pool.c: transactions whose locks and changes are records in the pool.
 *
 *     start      one batch: no head is there, a head is put; behind a look, for a batch that is
 *                refused takes others of the same value in the engine's queue with it
 *     a request  the records are read; what it changed is put, and the head, guarded, replaced,
 *                before it is answered
 *     commit     the rows' batch guards the head, and removes all records (row/write_commit.c)
 *     abort      one batch: the same without rows
 *
 * So each request may come to another server, and a struct txn lives as long as a request. */
#include "table/txn/txn.h"
#include "table/txn/txn_own.h"

#include "base/invariant.h"
#include "table/catalog/catalog.h"

#define START_TRIES 10
#define STEP_TRIES 100

static uint64_t stamp_now(struct wr_db *db)
{
    struct stamp_time now = db_clock_read(db);

    return (uint64_t)now.us * now.unit + now.slot;
}

static void count_stat(struct txns *all, uint64_t *at)
{
    pthread_mutex_lock(&all->lock);
    ++*at;
    pthread_mutex_unlock(&all->lock);
}

static struct txn_lock_write write_of(struct call *call, struct table *table, bytes key)
{
    return (struct txn_lock_write){
        .c = &call->c,
        .table = table,
        .key = key,
        .batch = {.lease = call->db->lease, .lease_lost = call->lease_lost}};
}

/* ---- the beginning ---- */

struct start {
    struct call *call;
    struct table *table;
    struct txn_place place;
    struct guard guard;
    struct edit edit;
    struct txn_lock_write write;
    struct txn_meet meet;
    int tries;
};

static void start_end(struct start *s, int code)
{
    struct call *call = s->call;

    if (code && !call->c.code)
        fail(&call->c, code, "%s", err_info(code)->text);
    if (!code)
        call->reply.transaction.id = txn_place_write(&call->c.arena, &s->place);
    table_release(s->table);
    call_finish(call);
}

static void start_put(struct start *s);

static void start_met(struct txn_meet *m, int code)
{
    struct start *s = PORT_CONTAINER(m, struct start, meet);

    if (!code && ++s->tries < START_TRIES)
        start_put(s);
    else
        start_end(s, code ? code : txn_fail_conflict(&s->call->c));
}

static void start_meet(struct start *s)
{
    s->meet =
        (struct txn_meet){.all = s->call->db->txns->locks,
                          .lock = {.c = &s->call->c, .table = s->table, .value = s->place.value},
                          .done = start_met};
    txn_meet(&s->meet);
}

static void start_written(struct txn_lock_write *w, int code)
{
    struct start *s = PORT_CONTAINER(w, struct start, write);

    if (code == E_GUARD)
        start_meet(s);
    else
        start_end(s, code);
}

static void start_put(struct start *s)
{
    struct call *call = s->call;
    struct txn_head head = {.id = s->place.id,
                            .client = call->req->client,
                            .begun_ms = db_clock_peek(call->db) / 1000,
                            .stamp = stamp_now(call->db)};

    (void)txn_lock_is_over(call->db->txns->locks, &head); /* it is seen */
    s->edit = (struct edit){EDIT_PUT, s->guard.key, txn_head_encode(&call->c.arena, &head)};
    s->write = write_of(call, s->table, s->guard.key);
    s->write.batch.guards = &s->guard;
    s->write.batch.guard_count = 1;
    s->write.batch.edits = &s->edit;
    s->write.batch.edit_count = 1;
    s->write.done = start_written;
    txn_lock_write(&s->write);
}

static int txn_pool_begin(struct call *call, const struct table *table, bytes cols)
{
    struct arena *a = &call->c.arena;
    struct start *s = ARENA_NEW(a, struct start);
    struct txns *all = call->db->txns;
    struct txn *t;

    pthread_mutex_lock(&all->lock);
    t = txn_make(all, call, table, cols);
    if (t) {
        s->place.id = arena_copy(a, bytes_str(t->id));
        txn_free(t);
    }
    pthread_mutex_unlock(&all->lock);
    if (!t)
        return call->c.code;
    s->call = call;
    s->table = table_ref((struct table *)table);
    s->place.table = arena_copy(a, table->schema.d.table);
    s->place.value = arena_copy(a, cols);
    s->guard =
        (struct guard){txn_head_key(a, &table->schema.location, cols), BYTES_NONE, .absent = true};
    start_meet(s);
    return E_OK;
}

/* ---- a request goes in ---- */

static void txn_gone(struct txn *t)
{
    struct txns *all = t->all;

    table_release(t->open);
    pthread_mutex_lock(&all->lock);
    txn_free(t);
    pthread_mutex_unlock(&all->lock);
}

static int take_row(struct txn *t, const struct kv *stored)
{
    struct ctx *c = &t->call->c;
    struct txn_row *row = ARENA_NEW(&c->arena, struct txn_row);

    TRY(txn_row_decode(c, &t->open->schema.location, stored, row));
    txn_rows_load(&t->rows, row);
    return E_OK;
}

/* Is the lock that was found that of the id, and the caller's? */
static bool is_own(const struct txn *t)
{
    const struct txn_lock *l = &t->lock;

    return l->held && memcmp(l->head.id.ptr, t->id, TXN_ID_BYTES) == 0 &&
           l->head.client == t->call->req->client;
}

static int enter_take(struct txn *t)
{
    struct call *call = t->call;
    const struct txn_lock *l = &t->lock;

    if (!is_own(t))
        return fail_code(&call->c, E_SESSION);
    TRY(txn_check_tables(call, t));
    for (size_t i = 0; i < l->row_count; i++)
        TRY(take_row(t, &l->rows[i]));
    t->written = (struct txn_written){l->head.bytes, l->head.changes};
    db_clock_meet(call->db, l->head.stamp);
    return E_OK;
}

static void pool_left(void *arg, struct wr_reply *reply);

static void enter_fail(struct txn *t)
{
    struct call *call = t->call;

    txn_gone(t);
    call_finish(call);
}

static void removal_write(struct txn *t, void (*stepped)(struct txn *t, int code));

/* E_SESSION: somebody else has removed it. */
static void enter_expired(struct txn *t, int code)
{
    struct ctx *c = &t->call->c;

    if (!code)
        atomic_fetch_add(&t->all->locks->expired, 1);
    if (code && code != E_SESSION)
        fail(c, code, "%s", err_info(code)->text);
    else
        fail_code(c, E_SESSION);
    enter_fail(t);
}

/* Who is told that his transaction has ended is told it for good. So one whose time is over goes
 * first: another server, which has not known it for as long, would go on in it. */
static void enter_looked(struct txn_lock *l, int code)
{
    struct txn *t = PORT_CONTAINER(l, struct txn, lock);
    struct call *call = t->call;

    if (!code && is_own(t) && txn_lock_is_over(t->all->locks, &l->head)) {
        removal_write(t, enter_expired);
        return;
    }
    if (code && !call->c.code)
        fail(&call->c, code, "%s", err_info(code)->text);
    if (code || enter_take(t)) {
        enter_fail(t);
        return;
    }
    txn_run_in(t, call, pool_left);
    call->go_on = t->go_on;
    call->go_on_arg = call;
    if (!call_enter(call, false))
        call->go_on(call->go_on_arg);
}

/* Is it a value of the table's first key column, as a start would write it? Ids come from clients.
 */
static bool is_value(struct call *call, const struct table *t, bytes value)
{
    const struct location *p = &t->schema.location;
    struct wr_key_column column;
    struct wr_key key = {&column, 1};
    struct buf again;
    size_t used;
    bool is = false;

    buf_init(&again, &call->c.arena, value.len);
    if (key_starts_with_value(value) &&
        !key_read_columns(&call->c, value, p->key, 1, &column, &used))
        is = used == value.len &&
             !key_check(&call->c, &call->db->limits, p->key, 1, &key, KEY_READ) &&
             !key_put_columns(&call->c, &again, p->key, &column, 1) &&
             bytes_equal(buf_bytes(&again), value);
    ctx_clear(&call->c);
    return is;
}

static int txn_pool_enter(struct call *call, bytes id, void (*go_on)(void *arg))
{
    struct txns *all = call->db->txns;
    struct txn_place place;
    struct table *table;
    struct txn *t = NULL;

    if (!txn_place_read(&call->c.arena, id, &place))
        return fail_code(&call->c, E_SESSION);
    TRY(call_open_table(call, place.table, &table));
    if (!table->schema.txn_records || !is_value(call, table, place.value)) {
        table_release(table);
        return fail_code(&call->c, E_SESSION);
    }
    pthread_mutex_lock(&all->lock);
    t = txn_make(all, call, table, place.value);
    pthread_mutex_unlock(&all->lock);
    if (!t) {
        table_release(table);
        return call->c.code;
    }
    memcpy(t->id, place.id.ptr, TXN_ID_BYTES);
    t->call = call;
    t->open = table;
    t->go_on = go_on;
    t->lock = (struct txn_lock){
        .c = &call->c, .table = table, .value = t->value, .whole = true, .done = enter_looked};
    txn_lock_look(&t->lock);
    return E_LATER;
}

/* ---- and comes out ---- */

/* All is over; the reply goes where it was to go. */
static void left_end(struct txn *t, int code)
{
    struct call *call = t->call;
    struct wr_db *db = call->db;
    wr_done_fn *done = t->done;
    void *arg = t->arg;

    if (code) {
        call->reply.code = code;
        call->reply.message = call->c.code == code ? call->c.text : err_info(code)->text;
    }
    txn_gone(t);
    done(arg, &call->reply);
    atomic_fetch_sub(&db->requests, 1);
}

static void step_looked(struct txn_lock *l, int code)
{
    struct txn *t = PORT_CONTAINER(l, struct txn, lock);
    bool ours = !code && l->held && memcmp(l->head.id.ptr, t->id, TXN_ID_BYTES) == 0;

    if (ours && bytes_equal(l->stored, t->was) && ++t->tries < STEP_TRIES) {
        txn_lock_write(&t->write);
        return;
    }
    if (!code)
        code = !ours ? E_SESSION : bytes_equal(l->stored, t->was) ? E_BUSY : E_SESSION_BUSY;
    t->stepped(t, code);
}

static void step_written(struct txn_lock_write *w, int code)
{
    struct txn *t = PORT_CONTAINER(w, struct txn, write);

    if (code != E_GUARD) {
        t->stepped(t, code);
        return;
    }
    t->lock.whole = false;
    t->lock.done = step_looked;
    txn_lock_look(&t->lock);
}

/* The batch in t->write, which guards the head as it was read, goes out. A guard that failed need
 * not mean that the head is another one: the engine may have refused the batch with others that it
 * took to be under it. */
static void step_write(struct txn *t, void (*stepped)(struct txn *t, int code))
{
    t->was = t->lock.stored;
    t->tries = 0;
    t->stepped = stepped;
    t->write.done = step_written;
    txn_lock_write(&t->write);
}

/* What the request has changed, and the next head, in one batch. */
static void left_store(struct txn *t, size_t dirty)
{
    struct call *call = t->call;
    struct arena *a = &call->c.arena;
    const struct location *p = &t->open->schema.location;
    struct guard *guard = ARENA_NEW(a, struct guard);
    struct edit *edits = ARENA_ARRAY(a, struct edit, dirty + 1);
    struct txn_head head = t->lock.head;
    size_t n = 0;

    head.steps++;
    head.stamp = stamp_now(call->db);
    head.bytes = t->written.bytes;
    head.changes = t->written.changes;
    *guard = (struct guard){txn_head_key(a, p, t->value), t->lock.stored, false};
    edits[n++] = (struct edit){EDIT_PUT, guard->key, txn_head_encode(a, &head)};
    for (size_t i = 0; i < t->rows.count; i++)
        if (t->rows.list[i]->dirty)
            edits[n++] = (struct edit){EDIT_PUT, txn_row_key(a, p, t->value, t->rows.list[i]->cols),
                                       txn_row_encode(a, t->rows.list[i])};
    invariant(n == dirty + 1);
    t->write = write_of(call, t->open, guard->key);
    t->write.batch.guards = guard;
    t->write.batch.guard_count = 1;
    t->write.batch.edits = edits;
    t->write.batch.edit_count = n;
    step_write(t, left_end);
}

static void removal_write(struct txn *t, void (*stepped)(struct txn *t, int code))
{
    struct call *call = t->call;
    struct guard *guard = ARENA_NEW(&call->c.arena, struct guard);
    struct write_batch removal;

    txn_lock_remove(&t->lock, &removal, guard);
    t->write = write_of(call, t->open, guard->key);
    removal.lease = t->write.batch.lease;
    removal.lease_lost = t->write.batch.lease_lost;
    t->write.batch = removal;
    step_write(t, stepped);
}

/* What its client is told is why the commit failed; a lock that stays ends by time. */
static void left_refused(struct txn *t, int code)
{
    if (!code)
        count_stat(t->all, &t->all->stat.aborted);
    left_end(t, E_OK);
}

/* Will no commit of it ever succeed, and does its lock still stand? */
static bool is_refused(const struct txn *t, int code)
{
    return t->state == TXN_COMMITTING && code && code != E_SESSION && code != E_NOT_EXIST &&
           err_info(code)->applied == APPLIED_NO && !txn_may_try_again(code);
}

/* The request that ends it is finished. */
static void left_ended(struct txn *t, int code)
{
    struct txn_stat *stat = &t->all->stat;

    if (is_refused(t, code)) {
        removal_write(t, left_refused);
        return;
    }
    if (!code)
        count_stat(t->all, t->state == TXN_COMMITTING ? &stat->committed : &stat->aborted);
    left_end(t, E_OK);
}

/* The request that was in it is finished, but for what it changed. */
static void pool_left(void *arg, struct wr_reply *reply)
{
    struct txn *t = arg;
    size_t dirty = 0;

    invariant(&t->call->reply == reply);
    atomic_fetch_add(&t->call->db->requests, 1); /* call_finish() takes one off */
    if (t->ends) {
        left_ended(t, reply->code);
        return;
    }
    for (size_t i = 0; i < t->rows.count && !reply->code; i++)
        dirty += t->rows.list[i]->dirty;
    if (dirty)
        left_store(t, dirty);
    else
        left_end(t, E_OK);
}

/* ---- the end ---- */

static void end_stepped(struct txn *t, int code)
{
    struct call *call = t->call;

    if (code)
        fail(&call->c, code, "%s", err_info(code)->text);
    call_finish(call);
}

static void txn_pool_end(struct call *call)
{
    removal_write(call->txn, end_stepped);
}

const struct txn_apart txn_pool = {txn_pool_begin, txn_pool_enter, txn_pool_end};

void txn_commit_batch(struct call *call, struct batch_builder *e)
{
    struct txn *t = call->txn;
    struct write_batch removal;
    struct guard guard;

    if (!t->all->apart)
        return;
    txn_lock_remove(&t->lock, &removal, &guard);
    batch_add_guard(e, guard);
    for (size_t i = 0; i < removal.edit_count; i++)
        batch_add(e, EDIT_DELETE, removal.edits[i].key, BYTES_NONE);
}

void txn_guard(const struct table *t, bytes cols, struct batch_builder *e)
{
    const struct location *p = &t->schema.location;
    bytes value = {cols.ptr, key_columns_length(p->key, cols, TXN_KEY_COLUMNS)};
    bytes key = txn_head_key(e->arena, p, value);

    if (!e->guard_count || !bytes_equal(e->guards[e->guard_count - 1].key, key))
        batch_add_guard(e, (struct guard){key, BYTES_NONE, .absent = true});
}

void txn_lock_met(struct call *call, const struct table *t, bytes cols, struct txn_meet *m)
{
    const struct location *p = &t->schema.location;

    m->all = call->db->txns->locks;
    m->own = call->txn ? call->txn->lock.stored : BYTES_NONE;
    m->lock =
        (struct txn_lock){.c = &call->c,
                          .table = t,
                          .value = {cols.ptr, key_columns_length(p->key, cols, TXN_KEY_COLUMNS)}};
    txn_meet(m);
}
