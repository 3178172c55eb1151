/* rocks_commit.c: what the committer asks for: syncs of the log, the watermark, and the read view
 * that follows them. */
#include "engine/rocks.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "engine/committer.h"

#include <errno.h>

static void *commit_view_take(void *arg)
{
    struct rocks *r = arg;
    uint64_t latest;

    invariant(r->handle && r->view && r->view->handle == r->handle);
    latest = rocksdb_get_latest_sequence_number(r->handle->db);
    invariant(latest >= r->view->sequence);
    if (latest == r->view->sequence)
        return NULL;
    return rocks_view_new(r->handle);
}

/* Hands the log's buffer to the system (sync 0) or also syncs it. */
static int log_flush(struct rocks *r, bool sync)
{
    char *err = NULL;
    int code;

    rocksdb_flush_wal(r->handle->db, sync, &err);
    if (!err)
        return E_OK;
    code = rocks_status_code(err);
    rocks_fail(r, code, "cannot sync the log", err);
    rocksdb_free(err);
    return code;
}

/* In two steps. A writer that waits inside RocksDB while the log's buffer is being written out, and
 * that fails, runs into an assertion of the packaged library. So that is done with all writers kept
 * out, who would have had to wait for it anyway; if it fails they are told at the gate. What is
 * left to write in the second step is next to nothing, and the sync proper keeps nobody out. */
static int commit_sync(void *arg)
{
    struct rocks *r = arg;
    int code;

    pthread_rwlock_wrlock(&r->gate);
    code = log_flush(r, false);
    pthread_rwlock_unlock(&r->gate);
    return code == E_OK && !r->no_sync ? log_flush(r, true) : code;
}

/* Follows the MANIFEST, but not into bytes whose sync has failed: RocksDB was told of that, and our
 * own sync of them after it says that all is well, whatever became of them. They would be missed
 * when the database is opened again, although nothing depends on them. A file that grows after that
 * is sound, for RocksDB never writes again to one whose sync failed. */
static int follow(struct rocks *r)
{
    struct manifest known = r->doubtful.number ? r->doubtful : r->watermark.manifest, now = known;
    int error = manifest_follow(r->folder.db, &now);
    uint64_t errors;

    if (error || (now.number == known.number && now.size == known.size))
        return error;
    errors = r->handle ? rocks_property(r->handle, "rocksdb.background-errors") : 0;
    if (errors > r->errors_seen) {
        r->doubtful = now;
    } else {
        r->watermark.manifest = now;
        r->doubtful = (struct manifest){.number = 0};
    }
    r->errors_seen = errors;
    return 0;
}

/* Remembers how far acknowledgements go, and the MANIFEST that lists their table files. */
int rocks_mark(struct rocks *r, uint64_t sequence)
{
    int error = follow(r);

    return error ? error : watermark_write(&r->watermark, sequence);
}

static int commit_mark(void *arg, void *view)
{
    struct rocks *r = arg;
    int error;

    if (r->no_sync)
        return E_OK; /* nothing is promised, so nothing is remembered */
    error = rocks_mark(r, ((struct view *)view)->sequence);
    if (!error)
        return E_OK;
    rocks_fail(r, E_UNAVAILABLE, "cannot write WATERMARK", strerror(error));
    return E_UNAVAILABLE;
}

static void commit_publish(void *arg, void *view)
{
    struct rocks *r = arg;
    struct view *old;
    bool kept;

    pthread_mutex_lock(&r->read_lock);
    old = r->view;
    invariant(old && ((struct view *)view)->sequence >= old->sequence);
    r->view = view;
    kept = r->snapshots != NULL;
    pthread_mutex_unlock(&r->read_lock);
    rocks_view_unref(old);
    if (kept)
        rocks_snapshots_revoke(r, false);
}

static void commit_view_drop(void *arg, void *view)
{
    (void)arg;
    rocks_view_unref(view);
}

static void commit_failed(void *arg, int code)
{
    /* The reason is recorded where it was seen; this is for faults asked for by a test. */
    rocks_fail(arg, code, "cannot commit", err_info(code)->text);
}

/* A power cut may take the newest mark of what was answered: so nothing else is, until it is
 * synced.
 */
static void mark_sync_failed(struct rocks *r, int error)
{
    committer_fail(r->committer);
    rocks_fail(r, E_UNAVAILABLE, "cannot sync WATERMARK", strerror(error));
}

static void commit_answered(void *arg)
{
    struct rocks *r = arg;
    int error;

    if (fault_hit(FAULT_commit_before_watermark_sync))
        error = EIO;
    else
        error = watermark_sync_paced(&r->watermark);
    if (error)
        mark_sync_failed(r, error);
}

static void commit_idle(void *arg)
{
    struct rocks *r = arg;
    struct manifest before, *manifest = &r->watermark.manifest;
    int error;

    before = *manifest;
    error = follow(r);
    if (!error && (manifest->number != before.number || manifest->size != before.size))
        error = watermark_write(&r->watermark, r->watermark.sequence);
    if (!error)
        error = watermark_sync(&r->watermark);
    if (error)
        mark_sync_failed(r, error);
}

static void commit_append(void *arg)
{
    rocks_write_buffer_append(arg);
}

const struct committer_ops rocks_commit_ops = {
    .append = commit_append,
    .view_take = commit_view_take,
    .sync = commit_sync,
    .mark = commit_mark,
    .publish = commit_publish,
    .answered = commit_answered,
    .view_drop = commit_view_drop,
    .failed = commit_failed,
    .idle = commit_idle,
};
