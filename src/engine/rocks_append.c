/* rocks_append.c: one batch into the log, behind the gate.
 *
 * The gate. Unguarded batches append holding it shared, guarded ones exclusively, so that between
 * checking guards and appending nothing changes. Nobody holds the gate while waiting for anything
 * but RocksDB's own short locks.
 *
 * Writers look at the stall queue's length (rocks_stall.c) inside the gate. */
#include "engine/rocks.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "engine/committer.h"

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

int rocks_append_now(struct rocks *r, const struct write *w, bool wait)
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

void rocks_edit(rocksdb_writebatch_t *edits, enum edit_type type, bytes key, bytes value)
{
    if (type == EDIT_PUT)
        rocksdb_writebatch_put(edits, key.ptr, key.len, value.len ? value.ptr : "", value.len);
    else
        rocksdb_writebatch_delete(edits, key.ptr, key.len);
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

int rocks_append(struct rocks *r, const struct write *w)
{
    bool slow, at_once = false;
    int code = E_OK;

    invariant(w->done);
    /* Only a buffer was announced, whole; and guards would hold up the others in it. */
    invariant(!w->announced || (w->announced == w->count && !w->guard_count));
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
        code = rocks_append_now(r, w, false);
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
