/* rocks_recovery.c: failure, and the recovery thread.
 *
 * After a failed append or sync nobody knows what the log holds, so nothing more is acknowledged:
 * the committer answers E_UNSURE to what is queued, apply() answers E_UNAVAILABLE (or E_NO_SPACE),
 * and the recovery thread takes over: it waits until nobody uses the database, closes it, looks at
 * what the disk really holds, and opens it again, with a growing pause between tries. Reads go on
 * from the old handle as long as it is open; RocksDB keeps reading after a failed write. While the
 * disk has no room for what opening writes no try is made, so that reads stay up; with that little
 * room the database is opened, so that deletions are taken, long before other writes are
 * (rocks_space.c). */
#include "engine/rocks.h"

#include "base/invariant.h"
#include "engine/committer.h"

#include <errno.h>
#include <stdio.h>

#define PAUSE_MS_MIN 100
#define PAUSE_MS_MAX 30000
#define PAUSE_FULL_MS_MAX 4000 /* so that writes go on soon after there is space */
#define PAUSE_FILES_MS_MAX 500 /* and files can be opened again as soon as some are closed */

/* Takes the database away from readers and closes it. False: somebody reads on and on; they have it
 * back. */
static bool recovery_close(struct rocks *r)
{
    struct handle *h;
    struct view *v;
    bool alone = false;

    pthread_mutex_lock(&r->read_lock);
    h = r->handle;
    v = r->view;
    r->handle = NULL;
    r->view = NULL;
    pthread_mutex_unlock(&r->read_lock);
    if (!h)
        return true;
    invariant(v && v->handle == h);
    rocks_snapshots_revoke(r, true);
    /* Ours, and the view's reference to the handle. */
    for (int ms = 0; ms < 2000 && !alone; ms++) {
        alone = atomic_load(&v->refs) == 1 && atomic_load(&h->refs) == 2;
        if (!alone)
            rocks_sleep_us(1000);
    }
    if (alone) {
        rocks_view_unref(v);
        rocks_handle_unref(h);
        return true;
    }
    pthread_mutex_lock(&r->read_lock);
    r->handle = h;
    r->view = v;
    pthread_mutex_unlock(&r->read_lock);
    return false;
}

static void recovery_give(struct rocks *r, struct handle *h)
{
    struct view *v = rocks_view_new(h);

    pthread_mutex_lock(&r->read_lock);
    invariant(!r->handle && !r->view);
    r->handle = h;
    r->view = v;
    pthread_mutex_unlock(&r->read_lock);
}

/* When the database does not open for writing (the disk is full, say), it may still for reading. */
static void recovery_open_for_reads(struct rocks *r)
{
    struct ctx c;
    rocksdb_t *db;

    ctx_init(&c, r->clock, r->log, NULL, 0);
    if (rocks_open_to_read(&c, r, &db) == E_OK) {
        if (rocksdb_get_latest_sequence_number(db) >= r->watermark.sequence)
            recovery_give(r, rocks_handle_new(r, db, false));
        else
            rocksdb_close(db);
    }
    ctx_release(&c);
}

static int recovery_open(struct ctx *c, struct rocks *r)
{
    struct handle *h;
    int code;

    watermark_close(&r->watermark);
    TRY(rocks_load_watermark(c, r));
    code = rocks_db_open(c, r, &h);
    if (code == E_OK)
        recovery_give(r, h);
    else
        recovery_open_for_reads(r);
    return code;
}

/* One try. */
static bool recovery_try(struct rocks *r)
{
    struct ctx c;
    int code;

    r->out_of_files = false;
    if (!recovery_close(r))
        return false;
    ctx_init(&c, r->clock, r->log, NULL, 0);
    code = recovery_open(&c, r);
    if (code != E_OK) {
        log_error(r->log, "storage: cannot be opened again yet: %s", c.text);
        pthread_mutex_lock(&r->lock);
        snprintf(r->reason, sizeof(r->reason), "%s", c.text);
        pthread_mutex_unlock(&r->lock);
        r->out_of_files = strstr(c.text, strerror(EMFILE)) || strstr(c.text, strerror(ENFILE));
    }
    ctx_release(&c);
    return code == E_OK;
}

static void recover(struct rocks *r)
{
    int pause_ms = PAUSE_MS_MIN, pause_ms_max;

    committer_fail(r->committer);
    /* All get the failure's code, and what was decided by them is refused for good. */
    rocks_write_buffer_hold(r);
    rocks_write_buffer_release(r);
    rocks_write_buffer_abort(r);
    rocks_stalled_drain(r);
    committer_settle(r->committer);
    for (;;) {
        bool full = atomic_load(&r->failed) == E_NO_SPACE;

        if (!rocks_pause(r, pause_ms))
            return;
        rocks_stalled_drain(r); /* a read may have come late */
        /* Readers have the database as long as it cannot be closed anyway. */
        if (atomic_load(&r->squeezing) || (full && !rocks_space_to_open(r))) {
            pause_ms = PAUSE_MS_MIN; /* looking costs nothing */
            continue;
        }
        if (recovery_try(r))
            break;
        pause_ms_max = r->out_of_files ? PAUSE_FILES_MS_MAX
                       : full          ? PAUSE_FULL_MS_MAX
                                       : PAUSE_MS_MAX;
        pause_ms = pause_ms * 2 > pause_ms_max ? pause_ms_max : pause_ms * 2;
    }
    committer_reset(r->committer);
    rocks_write_buffer_abort(r); /* once more: what was read meanwhile of what is lost */
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->failed, 0);
    r->reason[0] = 0;
    pthread_mutex_unlock(&r->lock);
    log_info(r->log, "storage: open again, writes go on");
}

void *rocks_recovery_main(void *arg)
{
    struct rocks *r = arg;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        bool failed = atomic_load(&r->failed) && !r->closing;

        if (!failed && !r->stalled && r->closing)
            break;
        if (!failed && !r->stalled) {
            pthread_cond_wait(&r->wake, &r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        if (failed)
            recover(r);
        else
            rocks_stalled_drain(r);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}
