/* rocks_write.c: from apply() into the log. Small batches gather before (rocks_write_buffer.c).
 *
 * The gate. Unguarded batches append holding it shared, guarded ones exclusively, so that between
 * checking guards and appending nothing changes. Nobody holds the gate while waiting for anything
 * but RocksDB's own short locks.
 *
 * The stall queue. A caller of apply() must not sleep, so appends say no_slowdown. When RocksDB
 * stalls (too many files to compact, say), the batch goes into a queue that the recovery thread
 * works off in order, waiting as long as it takes, at most 2 s a batch. The contract that a LATEST
 * read sees every earlier apply() must hold meanwhile, so as long as the queue is not empty all
 * further batches and all LATEST reads queue up in it too. Writers look at the queue's length
 * inside the gate; the recovery thread passes once through the exclusive gate before it begins, and
 * from then on is the only one that writes. It may thus wait inside RocksDB without holding the
 * gate. */
#include "engine/rocks.h"

#include "base/fault.h"
#include "base/waiter.h"
#include "engine/committer.h"

#define STALL_US_MAX 2000000
#define STALL_POLL_US 2000
#define EDIT_BYTES 8 /* in the log, about, beside its key and value */

/* ---- appending */

static int guard_check(struct rocks *r, const struct guard *g)
{
    struct handle *h = r->handle;
    char *err = NULL;
    rocksdb_pinnableslice_t *p = rocksdb_get_pinned(h->db, h->latest, g->key.ptr, g->key.len, &err);
    int code = E_OK;

    if (err) {
        code = rocks_status_code(err);
        log_error(r->log, "storage: cannot read for a guard: %s", err);
        rocksdb_free(err);
        return code;
    }
    if (!p)
        return g->absent ? E_OK : E_GUARD;
    if (g->absent) {
        code = E_GUARD;
    } else {
        size_t len;
        const char *value = rocksdb_pinnableslice_value(p, &len);

        code = bytes_equal(bytes_of(value, len), g->value) ? E_OK : E_GUARD;
    }
    rocksdb_pinnableslice_destroy(p);
    return code;
}

/* E_BUSY: RocksDB stalls, nothing happened. */
static int log_append(struct rocks *r, const struct write *w, bool wait)
{
    char *err = NULL;
    int code;

    if (!wait && fault_hit(FAULT_rocks_stall))
        return E_BUSY;
    if (fault_hit(FAULT_rocks_before_append)) {
        rocks_fail(r, E_UNAVAILABLE, "cannot write the log", "a fault was asked for");
        return E_UNSURE;
    }
    rocksdb_write(r->handle->db, wait ? r->append_waiting : r->append_now, w->edits, &err);
    if (!err) {
        (void)fault_hit(FAULT_rocks_after_append);
        return E_OK;
    }
    code = rocks_status_code(err);
    if (code == E_UNAVAILABLE || code == E_CORRUPT || code == E_NO_SPACE) {
        committer_fail(r->committer);
        rocks_fail(r, code, "cannot write the log", err);
        /* RocksDB refuses by itself after an earlier error, in the background say; but a record
         * whose writing failed half way might be whole on disk, as far as we can know. A full disk
         * is the exception: what did not fit is not there. */
        code = code == E_NO_SPACE ? E_NO_SPACE : E_UNSURE;
    } else if (code != E_BUSY) {
        log_error(r->log, "storage: write refused: %s", err);
    }
    rocksdb_free(err);
    return code;
}

/* Appends a write and hands it to the committer. The caller is alone with the log as far as the
 * write needs it (see "The gate", "The stall queue"). E_BUSY: stalled, may be tried again; else an
 * error, and nothing changed unless it is E_UNSURE. */
static int append(struct rocks *r, const struct write *w, bool wait)
{
    int code;

    if ((code = atomic_load(&r->failed)) != E_OK)
        return code;
    for (size_t i = 0; i < w->guard_count; i++)
        if ((code = guard_check(r, &w->guards[i])) != E_OK)
            return code;
    if (w->edits && (code = log_append(r, w, wait)) != E_OK)
        return code;
    committer_add(r->committer, w->done, w->arg, w->size, w->count ? w->count : 1, w->announced);
    return E_OK;
}

void rocks_stalled_add(struct rocks *r, struct stalled slow)
{
    struct stalled *s = mem_alloc(sizeof(*s));

    *s = slow;
    s->next = NULL;
    s->write.announced = 0;
    s->since_us = clock_mono_us(r->clock);
    pthread_mutex_lock(&r->lock);
    *r->stalled_end = s;
    r->stalled_end = &s->next;
    r->stalls += !s->get && !s->scan;
    atomic_fetch_add(&r->stall_count, 1);
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

/* True if readers already see all that was appended: a barrier need not wait for anything. */
static bool all_durable(struct rocks *r)
{
    bool all;

    pthread_mutex_lock(&r->read_lock);
    all = !atomic_load(&r->failed) && r->view &&
          r->view->sequence == rocksdb_get_latest_sequence_number(r->handle->db);
    pthread_mutex_unlock(&r->read_lock);
    return all;
}

/* Whether there is room for the write. What the database keeps for itself finds it always: it is
 * small, and others rest on it. A lease of the clock that was refused would let times past it into
 * batches that come a moment later, when there is room. */
static int admit(struct rocks *r, const struct write *w)
{
    uint64_t unsynced;

    if (w->is_system)
        return E_OK;
    unsynced = committer_unsynced_bytes(r->committer) + rocks_write_buffer_bytes(r);
    /* One batch alone may be larger than the cap. */
    if (unsynced && unsynced + w->size > r->unsynced_bytes_max)
        return E_BUSY;
    return w->grows && rocks_space_short(r) ? E_NO_SPACE : E_OK;
}

int rocks_append(struct rocks *r, const struct write *w)
{
    bool slow, at_once = false;
    int code = E_OK;

    if (w->guard_count)
        pthread_rwlock_wrlock(&r->gate);
    else
        pthread_rwlock_rdlock(&r->gate);
    slow = atomic_load(&r->stall_count) > 0 && !atomic_load(&r->failed);
    if (!slow && rocks_is_aborted(r, w->depends_on)) {
        code = E_BUSY;
    } else if (!slow && !w->edits && !w->guard_count && all_durable(r)) {
        at_once = true;
    } else if (!slow) {
        code = append(r, w, false);
        slow = code == E_BUSY;
    }
    /* Inside the gate, so that nobody who comes after overtakes. */
    if (slow)
        rocks_stalled_add(r, (struct stalled){.write = *w});
    pthread_rwlock_unlock(&r->gate);
    if (w->announced && (slow || code))
        committer_withdraw(r->committer, w->announced);
    if (slow)
        return E_OK;
    if (w->edits)
        rocksdb_writebatch_destroy(w->edits);
    if (at_once) {
        atomic_fetch_add(&r->acked_at_once, 1);
        w->done(w->arg, E_OK);
    }
    return code;
}

/* Takes ownership of w->edits. */
void rocks_submit(struct rocks *r, const struct write *w)
{
    int code = w->size ? admit(r, w) : E_OK;

    if (code) {
        rocksdb_writebatch_destroy(w->edits);
    } else if (w->guard_count) {
        /* What is applied while the guards are checked counts as later, so nobody may have seen
         * it. */
        rocks_write_buffer_hold(r);
        code = rocks_append(r, w);
        rocks_write_buffer_release(r);
    } else {
        rocks_write_buffer_append(r);
        code = rocks_append(r, w);
    }
    if (code)
        w->done(w->arg, code);
}

void rocks_edit(rocksdb_writebatch_t *edits, enum edit_type type, bytes key, bytes value)
{
    if (type == EDIT_PUT)
        rocksdb_writebatch_put(edits, key.ptr, key.len, value.len ? value.ptr : "", value.len);
    else
        rocksdb_writebatch_delete(edits, key.ptr, key.len);
}

static rocksdb_writebatch_t *batch_edits(const struct write_batch *b)
{
    rocksdb_writebatch_t *edits = rocksdb_writebatch_create();

    for (size_t i = 0; i < b->edit_count; i++)
        rocks_edit(edits, b->edits[i].type, b->edits[i].key, b->edits[i].value);
    return edits;
}

void rocks_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                 void *arg)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct write w = {.guards = b->guards,
                      .guard_count = b->guard_count,
                      .grows = write_batch_grows(b),
                      .is_system = b->partition == PARTITION_SYSTEM,
                      .depends_on = b->depends_on,
                      .done = done,
                      .arg = arg};
    int code;

    (void)c;
    for (size_t i = 0; i < b->edit_count; i++)
        w.size += EDIT_BYTES + b->edits[i].key.len + b->edits[i].value.len;
    if (rocks_write_buffer_takes(b, w.size)) {
        code = admit(r, &w);
        if (!code)
            code = rocks_write_buffer_add(r, b, w.size, done, arg);
        if (code)
            done(arg, code);
        return;
    }
    if (b->edit_count)
        w.edits = batch_edits(b);
    rocks_submit(r, &w);
}

/* ---- writing and waiting */

/* Submits and sleeps until it is durable. Takes ownership of edits (NULL: a barrier). */
int rocks_write_and_wait(struct rocks *r, rocksdb_writebatch_t *edits)
{
    struct waiter waiter;
    struct write w = {.edits = edits, .done = waiter_done, .arg = &waiter};

    waiter_init(&waiter);
    if (edits)
        rocksdb_writebatch_data(edits, &w.size);
    rocks_submit(r, &w);
    return waiter_wait(&waiter);
}

/* ---- the stall queue */

static bool write_stopped(struct rocks *r)
{
    return fault_hit(FAULT_rocks_stall) || rocks_property(r->handle, "rocksdb.is-write-stopped");
}

static int stalled_write(struct rocks *r, struct stalled *s)
{
    for (;;) {
        int code = append(r, &s->write, false);

        if (code != E_BUSY)
            return code;
        if (clock_mono_us(r->clock) - s->since_us > STALL_US_MAX)
            return E_BUSY;
        /* A slowed-down RocksDB refuses no_slowdown for as long as the slowdown lasts, but takes a
         * waiting write after a moment. A stopped one would not come back, so that is waited for
         * here, where the time can be watched. */
        if (!write_stopped(r))
            return append(r, &s->write, true);
        rocks_sleep_us(STALL_POLL_US);
    }
}

/* True: the queue was empty for a moment after it, so that writers may have gone past. */
static bool stalled_run(struct rocks *r, struct stalled *s)
{
    bool empty;

    if (s->get) {
        s->get->code = rocks_get_now(s->c, r, s->get);
        empty = atomic_fetch_sub(&r->stall_count, 1) == 1;
        s->get->done(s->get);
    } else if (s->scan) {
        s->scan->code = rocks_scan_now(s->c, r, s->scan);
        empty = atomic_fetch_sub(&r->stall_count, 1) == 1;
        s->scan->done(s->scan);
    } else {
        bool is_aborted = rocks_is_aborted(r, s->write.depends_on);
        int code = is_aborted ? E_BUSY : stalled_write(r, s);

        if (code != E_OK && s->write.count && !is_aborted)
            rocks_write_buffer_abort(r);
        if (s->write.edits)
            rocksdb_writebatch_destroy(s->write.edits);
        empty = atomic_fetch_sub(&r->stall_count, 1) == 1;
        if (code != E_OK)
            s->write.done(s->write.arg, code);
    }
    return empty;
}

/* Works off the queue until it is empty. Only the recovery thread calls it. */
void rocks_stalled_run(struct rocks *r)
{
    struct stalled *s;
    bool empty = false;

    /* Whoever still saw an empty queue has appended when this returns. */
    pthread_rwlock_wrlock(&r->gate);
    pthread_rwlock_unlock(&r->gate);
    while (!empty) {
        pthread_mutex_lock(&r->lock);
        s = r->stalled;
        if (s) {
            r->stalled = s->next;
            if (!r->stalled)
                r->stalled_end = &r->stalled;
        }
        pthread_mutex_unlock(&r->lock);
        if (!s)
            return;
        empty = stalled_run(r, s);
        mem_free(s);
    }
}
