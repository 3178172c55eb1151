/* rocks.c: the engine on RocksDB; the only file that knows it.
 *
 * Writing. apply() appends to RocksDB's log without syncing (manual_wal_flush) and hands the
 * completion to the committer (committer.c), which syncs for many at a time and then publishes a
 * snapshot as the read view. Clients read through that view, so they never see what a power cut can
 * take back; VIEW_LATEST reads past it.
 *
 * The gate. Unguarded batches append holding it shared, guarded ones exclusively, so that between
 * checking guards and appending nothing changes. Nobody holds the gate while waiting for anything
 * but RocksDB's own short locks.
 *
 * The slow lane. A caller of apply() must not sleep, so appends say no_slowdown. When RocksDB
 * stalls (too many files to compact, say), the batch goes into a queue that the keeper thread works
 * off in order, waiting as long as it takes, at most 2 s a batch. The contract that a LATEST read
 * sees every earlier apply() must hold meanwhile, so as long as the lane is not empty all further
 * batches and all LATEST reads queue up in it too. Writers look at the lane's length inside the
 * gate; the keeper passes once through the exclusive gate before it begins, and from then on is the
 * only one that writes. It may thus wait inside RocksDB without holding the gate.
 *
 * Failure. After a failed append or sync nobody knows what the log holds, so nothing more is
 * acknowledged: the committer answers E_UNSURE to what is queued, apply() answers E_UNAVAILABLE (or
 * E_NO_SPACE), and the keeper mends: it waits until nobody uses the database, closes it, looks at
 * what the disk really holds, and opens it again, with a growing pause between tries. Reads go on
 * from the old handle as long as it is open; RocksDB keeps reading after a failed write. While the
 * disk is full no try is made, so that reads stay up.
 *
 * A disk that is nearly full. It is better not to come that far: with little space left, apply()
 * answers E_NO_SPACE beforehand to all but deletions and what the system partition needs (no
 * deletion goes without it, nor a start), so that what is there stays open, compaction has room to
 * make room, and nothing needs mending.
 *
 * Opening. RocksDB's recovery drops the tail of a damaged log without a word, and opens an empty
 * database when the log was deleted. So it is first opened read-only, which replays the log and
 * changes nothing; if the latest sequence number found is below the watermark (watermark.h), the
 * engine refuses. This needs all data in one column family: with several, the loss of one log can
 * hide behind another.
 *
 * Copies. A backup is RocksDB's checkpoint: table files linked (or copied, to another disk), the
 * log copied, as of one moment, without keeping writers out. VERSION and a WATERMARK that says how
 * far the copy goes are written behind it, so that a copy which is not whole is refused.
 *
 * Verifying. The database's own reads come from caches, so the scrub makes a checkpoint for itself
 * (links in scrub/) and reads all of it through a second, read-only handle without a block cache
 * and around the system's. Every ten minutes it takes a new one, so that files which compaction has
 * done with are not kept from being removed for longer. The checkpoint flushes the write buffer;
 * else the second handle would replay the log into memory.
 *
 * Bulk. Large values go into table files of their own in bulk/, which are then taken over into the
 * database with their place in the MANIFEST synced, and never see the log. A file is taken over
 * only without a sequence number of its own: its keys count as older than everything, which is
 * right for keys that never were there, and it may be seen through older views. The point of it is
 * the watermark. Were a sequence number given to the file, the MANIFEST would carry it, and after a
 * crash the database would claim to go so far although the log in front of it had lost acknowledged
 * writes; the check at opening would see nothing. (allow_global_seqno is off, so RocksDB refuses
 * rather than give one.) What a crash leaves in bulk/ is removed at opening.
 *
 * Handles and views are counted: a reader takes a reference under read_lock (a few nanoseconds) and
 * whoever drops the last one frees. The packaged library asserts that no iterator or snapshot
 * outlives its database. */
#include "engine/backends.h"

#include "base/buf.h"
#include "base/fault.h"
#include "base/thread.h"
#include "engine/committer.h"
#include "engine/files.h"
#include "engine/folder.h"
#include "engine/watermark.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

#define MEMORY_BYTES_DEFAULT (256 * MIB)
#define MEMORY_BYTES_MIN (16 * MIB)
#define UNSYNCED_BYTES_DEFAULT (128 * MIB)
#define STALL_US_MAX 2000000
#define STALL_POLL_US 2000
#define PIN_BYTES_MIN 4096 /* smaller values are copied, so that a page is not pinned for them */
#define READAHEAD_BYTES 262144 /* for pages at least this large */
#define MEND_PAUSE_MS_MIN 100
#define MEND_PAUSE_MS_MAX 30000
#define SPACE_CHECK_US 100000
#define DROP_KEYS_MAX 10000 /* deleted one by one; above, by a range tombstone and compaction */
#define DROP_BATCH_KEYS 1000
#define CLOSE_FLUSH_BYTES (8 * MIB)
#define SCRUB_SLICE_US (600 * (int64_t)1000000) /* one checkpoint's life */
#define SCRUB_OPEN_FILES 64
#define BULK_FILE_BYTES (128 * MIB)
#define BULK_PUSH_BYTES (4 * MIB)
#define ERASE_COMPACT_BYTES (4 * MIB) /* left behind in files shared with others */
#define SIZE_WALK_MAX 20000           /* unflushed keys counted before the rest is estimated */
/* Values of enums that RocksDB's C header takes but does not name. */
#define READ_TIER_MEMTABLE 3
#define INFO_LOG_OFF 6

/* An open database. */
struct handle {
    struct rocks *rocks;
    rocksdb_t *db;
    rocksdb_readoptions_t *latest;
    atomic_uint refs;
};

/* A point in time that readers share. */
struct view {
    struct handle *handle;
    const rocksdb_snapshot_t *snapshot;
    rocksdb_readoptions_t *options; /* at the snapshot */
    uint64_t sequence;              /* everything up to it is in the view */
    atomic_uint refs;
};

/* The block cache outlives a reopening, and every value that is pinned in it. */
struct cache {
    rocksdb_cache_t *lru;
    atomic_uint refs;
};

/* A batch on its way into the log. */
struct write {
    const struct guard *guards;
    size_t guard_count;
    rocksdb_writebatch_t *edits; /* NULL: a barrier */
    size_t size;                 /* bytes of edits */
    bool vital;                  /* is taken on a nearly full disk, too */
    apply_done done;
    void *arg;
};

/* What waits in the slow lane: a write, or a LATEST read. */
struct slow {
    struct slow *next;
    struct write write;
    struct ctx *c; /* of the read */
    struct get *get;
    struct scan *scan;
    int64_t since_us;
};

/* A second look at a database's files, past all caches. */
struct look {
    rocksdb_options_t *options;
    rocksdb_t *db;
    rocksdb_readoptions_t *read;
    rocksdb_iterator_t *it;
};

/* The scrub's place; its one thread's. */
struct scrub_state {
    struct look look; /* db NULL: none is open */
    char *dir;
    int64_t since_us;
    void *key; /* go on from here; NULL: from the first key */
    size_t key_len;
    bool cached; /* the file system does not do without its cache */
};

struct rocks {
    struct engine base;
    struct clock *clock;
    struct log *log;
    bool no_sync;
    uint64_t memory_bytes;
    uint64_t unsynced_bytes_max;
    struct folder folder;
    struct watermark watermark; /* the committer's, once that runs */
    struct cache *cache;
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *append_now, *append_waiting;
    struct committer *committer;
    pthread_rwlock_t gate;

    pthread_mutex_t read_lock; /* of the two pointers; each holds a reference */
    struct handle *handle;     /* NULL while the database is reopened */
    struct view *view;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;  /* the keeper has something to do */
    pthread_t keeper;
    bool keeper_runs;
    bool closing;
    struct slow *lane, **lane_end;
    atomic_uint lane_count; /* written under the lock, read without */
    atomic_int failed;      /* 0, or what apply() answers; likewise */
    char reason[160];
    uint64_t stalls;

    struct scrub_state scrub;
    atomic_ullong bulk_files; /* made so far: their names */

    atomic_ullong acked_at_once; /* barriers that found nothing to wait for */
    atomic_llong space_checked_us;
    atomic_bool space_short;
};

static uint64_t clamp(uint64_t n, uint64_t min, uint64_t max)
{
    return n < min ? min : n > max ? max : n;
}

/* ---- RocksDB's errors */

static bool text_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* The C API gives a status as text only. This is the one place that reads it. */
static int status_code(const char *text)
{
    if (strstr(text, "No space left on device") || strstr(text, "Space limit reached"))
        return E_NO_SPACE;
    if (text_starts(text, "Corruption"))
        return E_CORRUPT;
    if (text_starts(text, "IO error")) {
        if (strstr(text, "lock hold by") || strstr(text, "While lock file"))
            return E_LOCKED;
        /* RocksDB misses a file of its own. */
        return strstr(text, "No such file or directory") ? E_CORRUPT : E_UNAVAILABLE;
    }
    if (text_starts(text, "Result incomplete") || text_starts(text, "Resource busy") ||
        text_starts(text, "Operation timed out") || text_starts(text, "Operation failed"))
        return E_BUSY;
    if (text_starts(text, "Shutdown in progress"))
        return E_UNAVAILABLE;
    return E_INTERNAL;
}

/* Records RocksDB's error as the request's and frees its text. */
static int status_fail(struct ctx *c, char *err)
{
    int code = status_code(err);

    if (code == E_CORRUPT) {
        log_error(c->log, "storage: damaged data: %s", err);
        code = fail(c, code, "Stored data is damaged: %s", err);
    } else {
        code = fail(c, code, "Storage: %s", err);
    }
    rocksdb_free(err);
    return code;
}

/* ---- handles and views */

static void cache_unref(struct cache *cache)
{
    if (atomic_fetch_sub(&cache->refs, 1) != 1)
        return;
    rocksdb_cache_destroy(cache->lru);
    mem_free(cache);
}

static struct handle *handle_new(struct rocks *r, rocksdb_t *db)
{
    struct handle *h = mem_zalloc(sizeof(*h));

    h->rocks = r;
    h->db = db;
    h->latest = rocksdb_readoptions_create();
    atomic_init(&h->refs, 1);
    return h;
}

static void handle_unref(struct handle *h)
{
    if (!h || atomic_fetch_sub(&h->refs, 1) != 1)
        return;
    rocksdb_readoptions_destroy(h->latest);
    rocksdb_close(h->db);
    mem_free(h);
}

static uint64_t property(struct handle *h, const char *name)
{
    uint64_t n = 0;

    return rocksdb_property_int(h->db, name, &n) == 0 ? n : 0;
}

static struct view *view_new(struct handle *h)
{
    struct view *v = mem_zalloc(sizeof(*v));

    atomic_fetch_add(&h->refs, 1);
    v->handle = h;
    /* First the number, then the snapshot: the view may show more than the number says, never
     * less. */
    v->sequence = rocksdb_get_latest_sequence_number(h->db);
    v->snapshot = rocksdb_create_snapshot(h->db);
    v->options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_snapshot(v->options, v->snapshot);
    atomic_init(&v->refs, 1);
    return v;
}

static void view_unref(struct view *v)
{
    if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
        return;
    rocksdb_readoptions_destroy(v->options);
    rocksdb_release_snapshot(v->handle->db, v->snapshot);
    handle_unref(v->handle);
    mem_free(v);
}

/* What a read goes through. */
struct entry {
    struct handle *handle;
    struct view *view; /* NULL: latest */
};

static int enter(struct ctx *c, struct rocks *r, enum engine_view view, struct entry *in)
{
    *in = (struct entry){0};
    pthread_mutex_lock(&r->read_lock);
    if (r->handle && view == VIEW_DURABLE) {
        in->view = r->view;
        in->handle = r->view->handle;
        atomic_fetch_add(&r->view->refs, 1);
    } else if (r->handle) {
        in->handle = r->handle;
        atomic_fetch_add(&r->handle->refs, 1);
    }
    pthread_mutex_unlock(&r->read_lock);
    if (!in->handle)
        return fail(c, E_UNAVAILABLE, "Storage is being reopened after a failure.");
    return E_OK;
}

static void leave(struct entry *in)
{
    if (in->view)
        view_unref(in->view);
    else
        handle_unref(in->handle);
}

static const rocksdb_readoptions_t *entry_options(const struct entry *in)
{
    return in->view ? in->view->options : in->handle->latest;
}

/* ---- failure */

/* From now on nothing is acknowledged; the keeper will mend. The first reason stays. */
static void rocks_fail(struct rocks *r, int code, const char *what, const char *text)
{
    int none = 0;

    pthread_mutex_lock(&r->lock);
    if (atomic_compare_exchange_strong(&r->failed, &none,
                                       code == E_NO_SPACE ? E_NO_SPACE : E_UNAVAILABLE)) {
        snprintf(r->reason, sizeof(r->reason), "%s%s: %s",
                 code == E_NO_SPACE ? "the disk is full (writes go on by themselves when it has "
                                      "space again): "
                                    : "",
                 what, text);
        log_error(r->log, "storage: %s: %s; no write is acknowledged until it is open again", what,
                  text);
        pthread_cond_broadcast(&r->wake);
    }
    pthread_mutex_unlock(&r->lock);
}

/* ---- the disk */

/* What must stay free: room for the write buffers of a moment and for a compaction to begin with.
 */
static bool space_is_short(struct rocks *r)
{
    uint64_t left, total;

    if (fault_hit(FAULT_rocks_disk_full))
        return true;
    return folder_space(&r->folder, &left, &total) && left < clamp(total / 50, 16 * MIB, 256 * MIB);
}

/* The same, asking the system only now and then. */
static bool space_short(struct rocks *r)
{
    long long now = clock_mono_us(r->clock), checked = atomic_load(&r->space_checked_us);
    bool is;

    if (now - checked < SPACE_CHECK_US ||
        !atomic_compare_exchange_strong(&r->space_checked_us, &checked, now))
        return atomic_load(&r->space_short);
    is = space_is_short(r);
    if (atomic_exchange(&r->space_short, is) != is)
        log_warn(r->log, is ? "storage: the disk is nearly full: only deletions are accepted"
                            : "storage: there is space again");
    return is;
}

/* ---- appending */

static int guard_check(struct rocks *r, const struct guard *g)
{
    struct handle *h = r->handle;
    char *err = NULL;
    rocksdb_pinnableslice_t *p = rocksdb_get_pinned(h->db, h->latest, g->key.ptr, g->key.len, &err);
    int code = E_OK;

    if (err) {
        code = status_code(err);
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
    code = status_code(err);
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
 * write needs it (see "The gate", "The slow lane"). E_BUSY: stalled, may be tried again; else an
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
    committer_add(r->committer, w->done, w->arg, w->size);
    return E_OK;
}

static void slow_add(struct rocks *r, struct slow slow)
{
    struct slow *s = mem_alloc(sizeof(*s));

    *s = slow;
    s->next = NULL;
    s->since_us = clock_mono_us(r->clock);
    pthread_mutex_lock(&r->lock);
    *r->lane_end = s;
    r->lane_end = &s->next;
    r->stalls += !s->get && !s->scan;
    atomic_fetch_add(&r->lane_count, 1);
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

/* Takes ownership of w->edits. */
static void submit(struct rocks *r, const struct write *w)
{
    bool slow = false, at_once = false;
    int code = E_OK;

    if (w->size) {
        uint64_t unsynced = committer_unsynced_bytes(r->committer);

        /* One batch alone may be larger than the cap. */
        if (unsynced && unsynced + w->size > r->unsynced_bytes_max)
            code = E_BUSY;
        else if (!w->vital && space_short(r))
            code = E_NO_SPACE;
    }
    if (code == E_OK) {
        if (w->guard_count)
            pthread_rwlock_wrlock(&r->gate);
        else
            pthread_rwlock_rdlock(&r->gate);
        slow = atomic_load(&r->lane_count) > 0 && !atomic_load(&r->failed);
        if (!slow && !w->edits && !w->guard_count && all_durable(r)) {
            at_once = true;
        } else if (!slow) {
            code = append(r, w, false);
            slow = code == E_BUSY;
        }
        /* Inside the gate, so that nobody who comes after overtakes. */
        if (slow)
            slow_add(r, (struct slow){.write = *w});
        pthread_rwlock_unlock(&r->gate);
    }
    if (slow)
        return;
    if (w->edits)
        rocksdb_writebatch_destroy(w->edits);
    if (at_once)
        atomic_fetch_add(&r->acked_at_once, 1);
    if (at_once || code != E_OK)
        w->done(w->arg, code);
}

/* ---- the slow lane */

static int get_now(struct ctx *c, struct rocks *r, struct get *g);
static int scan_now(struct ctx *c, struct rocks *r, struct scan *s);
static rocksdb_readoptions_t *range_options(const struct key_range *range,
                                            const rocksdb_snapshot_t *snapshot);

static bool write_stopped(struct rocks *r)
{
    return fault_hit(FAULT_rocks_stall) || property(r->handle, "rocksdb.is-write-stopped");
}

static void sleep_us(int64_t us)
{
    struct timespec ts = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&ts, NULL);
}

static int slow_write(struct rocks *r, struct slow *s)
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
        sleep_us(STALL_POLL_US);
    }
}

/* True: the lane was empty for a moment after it, so that writers may have gone past. */
static bool slow_run(struct rocks *r, struct slow *s)
{
    bool empty;

    if (s->get) {
        s->get->code = get_now(s->c, r, s->get);
        empty = atomic_fetch_sub(&r->lane_count, 1) == 1;
        s->get->done(s->get);
    } else if (s->scan) {
        s->scan->code = scan_now(s->c, r, s->scan);
        empty = atomic_fetch_sub(&r->lane_count, 1) == 1;
        s->scan->done(s->scan);
    } else {
        int code = slow_write(r, s);

        if (s->write.edits)
            rocksdb_writebatch_destroy(s->write.edits);
        empty = atomic_fetch_sub(&r->lane_count, 1) == 1;
        if (code != E_OK)
            s->write.done(s->write.arg, code);
    }
    return empty;
}

/* Works off the lane until it is empty. Only the keeper calls it. */
static void lane_run(struct rocks *r)
{
    struct slow *s;
    bool empty = false;

    /* Whoever still saw an empty lane has appended when this returns. */
    pthread_rwlock_wrlock(&r->gate);
    pthread_rwlock_unlock(&r->gate);
    while (!empty) {
        pthread_mutex_lock(&r->lock);
        s = r->lane;
        if (s) {
            r->lane = s->next;
            if (!r->lane)
                r->lane_end = &r->lane;
        }
        pthread_mutex_unlock(&r->lock);
        if (!s)
            return;
        empty = slow_run(r, s);
        mem_free(s);
    }
}

/* ---- what the committer asks for */

static void *commit_view_take(void *arg)
{
    struct rocks *r = arg;

    if (rocksdb_get_latest_sequence_number(r->handle->db) == r->view->sequence)
        return NULL;
    return view_new(r->handle);
}

/* Hands the log's buffer to the system (sync 0) or also syncs it. */
static int log_flush(struct rocks *r, bool sync)
{
    char *err = NULL;
    int code;

    rocksdb_flush_wal(r->handle->db, sync, &err);
    if (!err)
        return E_OK;
    code = status_code(err);
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

/* Remembers how far acknowledgements go, and the MANIFEST that lists their
 * table files. */
static int mark(struct rocks *r, uint64_t sequence)
{
    int error = manifest_follow(r->folder.db, &r->watermark.manifest);

    return error ? error : watermark_write(&r->watermark, sequence);
}

static int commit_mark(void *arg, void *view)
{
    struct rocks *r = arg;
    int error;

    if (r->no_sync)
        return E_OK; /* nothing is promised, so nothing is remembered */
    error = mark(r, ((struct view *)view)->sequence);
    if (!error)
        return E_OK;
    rocks_fail(r, E_UNAVAILABLE, "cannot write WATERMARK", strerror(error));
    return E_UNAVAILABLE;
}

static void commit_publish(void *arg, void *view)
{
    struct rocks *r = arg;
    struct view *old;

    pthread_mutex_lock(&r->read_lock);
    old = r->view;
    r->view = view;
    pthread_mutex_unlock(&r->read_lock);
    view_unref(old);
}

static void commit_view_drop(void *arg, void *view)
{
    (void)arg;
    view_unref(view);
}

static void commit_failed(void *arg, int code)
{
    /* The reason is recorded where it was seen; this is for faults asked for by a test. */
    rocks_fail(arg, code, "cannot commit", err_info(code)->text);
}

static void commit_idle(void *arg)
{
    struct rocks *r = arg;
    struct manifest before, *manifest = &r->watermark.manifest;
    int error;

    before = *manifest;
    error = manifest_follow(r->folder.db, manifest);
    if (!error && (manifest->number != before.number || manifest->size != before.size))
        error = watermark_write(&r->watermark, r->watermark.sequence);
    if (!error)
        error = watermark_sync(&r->watermark);
    if (error) {
        committer_fail(r->committer);
        rocks_fail(r, E_UNAVAILABLE, "cannot sync WATERMARK", strerror(error));
    }
}

static const struct committer_ops commit_ops = {
    .view_take = commit_view_take,
    .sync = commit_sync,
    .mark = commit_mark,
    .publish = commit_publish,
    .view_drop = commit_view_drop,
    .failed = commit_failed,
    .idle = commit_idle,
};

/* ---- options */

static int open_files_max(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 4096;
    return (int)clamp(limit.rlim_cur / 2, 64, 4096);
}

static rocksdb_block_based_table_options_t *table_options(struct rocks *r)
{
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

    rocksdb_block_based_options_set_block_cache(t, r->cache->lru);
    rocksdb_block_based_options_set_block_size(t, 16384);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_whole_key_filtering(t, 1);
    rocksdb_block_based_options_set_format_version(t, 5);
    /* Indexes and filters count against the cache, so that memory stays inside memory_bytes. */
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(t, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(t, 1);
    return t;
}

static void set_memory(rocksdb_options_t *o, uint64_t memory_bytes)
{
    uint64_t buffers = memory_bytes / 4;

    rocksdb_options_set_db_write_buffer_size(o, buffers);
    rocksdb_options_set_write_buffer_size(o, clamp(buffers / 2, 2 * MIB, 64 * MIB));
    rocksdb_options_set_max_write_buffer_number(o, 6);
    /* Bounds how much log there is to replay, twice, when a database is opened. */
    rocksdb_options_set_max_total_wal_size(o, clamp(2 * buffers, 16 * MIB, 256 * MIB));
}

static void set_files(rocksdb_options_t *o)
{
    rocksdb_options_set_compression(o, rocksdb_lz4_compression);
    rocksdb_options_set_bottommost_compression(o, rocksdb_zstd_compression);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    rocksdb_options_set_level0_slowdown_writes_trigger(o, 24);
    rocksdb_options_set_level0_stop_writes_trigger(o, 40);
    rocksdb_options_set_max_background_jobs(o, 2);
    rocksdb_options_set_max_open_files(o, open_files_max());
    rocksdb_options_set_bytes_per_sync(o, MIB);
    rocksdb_options_set_avoid_unnecessary_blocking_io(o, 1);
    /* RocksDB's own diary would be the death of us: when the disk is full its first failed line is
     * followed by a failed assertion at the second. Nothing is at or above this level. */
    rocksdb_options_set_info_log_level(o, INFO_LOG_OFF);
    rocksdb_options_set_keep_log_file_num(o, 1);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
}

/* `verify_logs`: every synced log must be there and whole. */
static int options_make(struct ctx *c, struct rocks *r, bool verify_logs)
{
    rocksdb_options_t *plain = rocksdb_options_create(), *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t;
    char *err = NULL;

    /* What has no setter in C. */
    rocksdb_get_options_from_string(plain,
                                    verify_logs ? "track_and_verify_wals_in_manifest=true"
                                                : "track_and_verify_wals_in_manifest=false",
                                    o, &err);
    rocksdb_options_destroy(plain);
    if (err) {
        rocksdb_options_destroy(o);
        return status_fail(c, err);
    }
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_wal_recovery_mode(o, rocksdb_point_in_time_recovery);
    rocksdb_options_set_manual_wal_flush(o, 1);
    set_memory(o, r->memory_bytes);
    set_files(o);
    t = table_options(r);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
    if (r->options)
        rocksdb_options_destroy(r->options);
    r->options = o;
    return E_OK;
}

/* ---- opening */

/* The log files with their sizes, for a message. */
static bytes log_names(struct ctx *c, struct rocks *r)
{
    struct buf b;
    DIR *d = opendir(r->folder.db);
    struct dirent *entry;

    buf_init(&b, &c->arena, 64);
    while (d && (entry = readdir(d))) {
        size_t n = strlen(entry->d_name);
        struct stat st;

        if (n < 5 || strcmp(entry->d_name + n - 4, ".log") != 0 ||
            fstatat(dirfd(d), entry->d_name, &st, 0) != 0)
            continue;
        buf_put_bytes(&b, arena_printf(&c->arena, "%s%s/%s (%lld bytes)", b.len ? ", " : "",
                                       r->folder.db, entry->d_name, (long long)st.st_size));
    }
    if (d)
        closedir(d);
    return b.len ? buf_bytes(&b) : BYTES_LIT("no file at all");
}

/* A database that does not open, in words an operator can act on. Frees err. */
static int open_fail(struct ctx *c, struct rocks *r, char *err)
{
    int code = status_code(err);
    char *manifest = strstr(err, " in file "), *table = strstr(err, ".ldb");
    size_t len = strlen(err);

    while (len && err[len - 1] == '.') /* ours comes behind */
        err[--len] = 0;
    switch (code) {
    case E_CORRUPT:
        /* RocksDB adds the file that named the damaged one, which misleads. */
        if (table)
            memcpy(table, ".sst", 4); /* the name of old it tried last */
        if (manifest && strstr(err, ".sst"))
            *manifest = 0;
        code = fail(c, code,
                    "The data in %s is damaged: %s. Restore a backup, or start again with "
                    "--accept-data-loss to go on with what can be read (copy the folder first).",
                    r->folder.dir, err);
        break;
    case E_NO_SPACE:
        code = fail(c, code, "The disk that holds %s is full: %s. Free some space and start again.",
                    r->folder.dir, err);
        break;
    case E_LOCKED:
        code =
            fail(c, code, "The database in %s is open in another process: %s.", r->folder.dir, err);
        break;
    default:
        code =
            fail(c, E_UNAVAILABLE, "The database in %s cannot be opened: %s.", r->folder.dir, err);
        break;
    }
    rocksdb_free(err);
    return code;
}

/* Opens read-only, which replays the log without changing anything. */
static int look(struct ctx *c, struct rocks *r, rocksdb_t **out)
{
    char *err = NULL;

    *out = rocksdb_open_for_read_only(r->options, r->folder.db, 0, &err);
    if (err)
        return open_fail(c, r, err);
    return E_OK;
}

/* How far the log goes. */
static int look_sequence(struct ctx *c, struct rocks *r, uint64_t *sequence)
{
    rocksdb_t *db;
    const char *why;

    if (manifest_check(c, r->folder.db, &r->watermark.manifest) != E_OK) {
        why = c->text;
        ctx_clear(c);
        return fail(c, E_CORRUPT,
                    "The data in %s is damaged: %s. Restore a backup, or start again with "
                    "--accept-data-loss to go on with what can be read (copy the folder "
                    "first).",
                    r->folder.dir, why);
    }
    TRY(look(c, r, &db));
    *sequence = rocksdb_get_latest_sequence_number(db);
    rocksdb_close(db);
    return E_OK;
}

static int loss_fail(struct ctx *c, struct rocks *r, uint64_t sequence)
{
    uint64_t acked = r->watermark.sequence;

    return fail(c, E_DATA_LOSS,
                "Acknowledged writes are missing from %s: the log reaches sequence number %llu, "
                "but writes up to %llu were acknowledged (%llu missing). Log files found: %.*s. "
                "Restore a backup, or start again with --accept-data-loss to go on with what is "
                "there (copy the folder first).",
                r->folder.dir, (unsigned long long)sequence, (unsigned long long)acked,
                (unsigned long long)(acked - sequence), BYTES_FMT(log_names(c, r)));
}

/* Opens the database if it holds all that was acknowledged. */
static int db_open(struct ctx *c, struct rocks *r, struct handle **out)
{
    uint64_t seen, sequence;
    char *err = NULL;
    rocksdb_t *db;
    int error;

    if (fault_hit(FAULT_rocks_reopen))
        return fail(c, E_UNAVAILABLE, "A fault was asked for.");
    TRY(look_sequence(c, r, &seen));
    if (seen < r->watermark.sequence)
        return loss_fail(c, r, seen);
    db = rocksdb_open(r->options, r->folder.db, &err);
    if (err)
        return open_fail(c, r, err);
    sequence = rocksdb_get_latest_sequence_number(db);
    if (sequence < r->watermark.sequence) {
        /* The log was whole a moment ago: somebody else has been at it. */
        rocksdb_close(db);
        return loss_fail(c, r, sequence);
    }
    /* Each opening makes a new MANIFEST. */
    if ((error = mark(r, r->watermark.sequence)) != 0) {
        rocksdb_close(db);
        return fail(c, E_UNAVAILABLE, "Cannot write %s: %s.", r->folder.watermark, strerror(error));
    }
    *out = handle_new(r, db);
    return E_OK;
}

/* Makes what a new folder needs (folder.h has the order). */
static int make_new(struct ctx *c, struct rocks *r)
{
    char *err = NULL;
    rocksdb_t *db;

    TRY(folder_clear(c, &r->folder));
    rocksdb_destroy_db(r->options, r->folder.db_new, &err);
    if (err)
        return open_fail(c, r, err);
    rocksdb_options_set_create_if_missing(r->options, 1);
    db = rocksdb_open(r->options, r->folder.db_new, &err);
    rocksdb_options_set_create_if_missing(r->options, 0);
    if (err)
        return open_fail(c, r, err);
    rocksdb_close(db);
    TRY(folder_sync(c, r->folder.db_new));
    TRY(watermark_create(c, r->folder.watermark, 0));
    return folder_finish(c, &r->folder);
}

/* Opens and closes, to see how far the data go after recovery has dropped what it must. */
static int open_once(struct ctx *c, struct rocks *r, uint64_t *sequence)
{
    char *err = NULL;
    rocksdb_t *db = rocksdb_open(r->options, r->folder.db, &err);

    if (err)
        return open_fail(c, r, err);
    *sequence = rocksdb_get_latest_sequence_number(db);
    rocksdb_close(db);
    return E_OK;
}

/* Finds a way to open what is there, from the gentlest on. */
static int accept_damage(struct ctx *c, struct rocks *r, uint64_t *seen)
{
    struct stat st;
    char *err = NULL;

    if (look_sequence(c, r, seen) == E_OK)
        return E_OK;
    log_warn(r->log, "storage: told to go on in spite of this: %s", c->text);
    ctx_clear(c);
    if (stat(r->folder.db, &st) != 0)
        return fail(c, E_CORRUPT,
                    "%s is missing, and with it all data. Restore a backup, or begin with an empty "
                    "data folder.",
                    r->folder.db);
    /* A log that was synced may be gone, so do without looking for those. Not read-only: RocksDB
     * then forgets which logs there should be, which the packaged library asserts it can. */
    TRY(options_make(c, r, false));
    if (manifest_check(c, r->folder.db, &r->watermark.manifest) == E_OK &&
        open_once(c, r, seen) == E_OK)
        return options_make(c, r, true);
    ctx_clear(c);
    r->watermark.manifest = (struct manifest){0};
    /* Collects every table file and log that can be read. Rows whose deletion was already forgotten
     * come back if a file from before it still lies about, hence the last resort. */
    log_warn(r->log, "storage: collecting what can be read; deleted rows may come back");
    rocksdb_repair_db(r->options, r->folder.db, &err);
    if (err)
        return open_fail(c, r, err);
    TRY(open_once(c, r, seen));
    return options_make(c, r, true);
}

/* Opens what is there, and lets the watermark be what is really found. */
static int accept_loss(struct ctx *c, struct rocks *r)
{
    uint64_t seen, before = 0;
    bool known;

    known = watermark_open(c, r->folder.watermark, &r->watermark) == E_OK;
    ctx_clear(c);
    TRY(accept_damage(c, r, &seen));
    if (known) {
        before = r->watermark.sequence;
        if (before <= seen)
            return E_OK;
        watermark_close(&r->watermark);
    }
    TRY(folder_clear(c, &r->folder));
    TRY(watermark_create(c, r->folder.watermark, seen));
    TRY(folder_sync(c, r->folder.dir));
    if (known)
        log_warn(r->log,
                 "storage: accepted the loss of acknowledged writes: sequence numbers %llu to %llu "
                 "are gone",
                 (unsigned long long)seen + 1, (unsigned long long)before);
    else
        log_warn(r->log,
                 "storage: accepted that WATERMARK is unreadable: taking what was found, up to "
                 "sequence number %llu",
                 (unsigned long long)seen);
    return watermark_open(c, r->folder.watermark, &r->watermark);
}

static int load_watermark(struct ctx *c, struct rocks *r)
{
    int code = watermark_open(c, r->folder.watermark, &r->watermark);
    const char *why = c->text;

    if (code != E_NOT_EXIST && code != E_CORRUPT)
        return code;
    ctx_clear(c);
    return fail(c, E_CORRUPT,
                "%s, so nobody can tell whether acknowledged writes are missing. Restore a backup, "
                "or start again with --accept-data-loss to go on with what is there.",
                why);
}

static void *keeper_main(void *arg);
static void scrub_close(struct rocks *r);
static void scrub_clear(struct ctx *c, struct rocks *r);
static void bulk_clear(struct ctx *c, struct rocks *r);

static int rocks_start(struct ctx *c, struct rocks *r, const struct engine_conf *conf)
{
    TRY(folder_open(c, conf->dir, &r->folder));
    scrub_clear(c, r);
    bulk_clear(c, r);
    TRY(options_make(c, r, true));
    if (!r->folder.made)
        TRY(make_new(c, r));
    if (conf->accept_data_loss)
        TRY(accept_loss(c, r));
    else
        TRY(load_watermark(c, r));
    TRY(db_open(c, r, &r->handle));
    r->view = view_new(r->handle);
    TRY(committer_new(c, &commit_ops, r, &r->committer));
    if (!thread_start(&r->keeper, "wr-keeper", keeper_main, r))
        return fail(c, E_UNAVAILABLE, "The system gives no thread to keep the database with.");
    r->keeper_runs = true;
    return E_OK;
}

/* All that was appended becomes durable, and the watermark says so. */
static void close_log(struct rocks *r)
{
    char *err = NULL;

    rocksdb_flush_wal(r->handle->db, 1, &err);
    if (!err) {
        mark(r, rocksdb_get_latest_sequence_number(r->handle->db));
        /* A long log would be replayed twice at the next start. */
        if (property(r->handle, "rocksdb.cur-size-all-mem-tables") > CLOSE_FLUSH_BYTES) {
            rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();

            rocksdb_flush(r->handle->db, o, &err);
            rocksdb_flushoptions_destroy(o);
            mark(r, r->watermark.sequence);
        }
    }
    if (err)
        log_error(r->log, "storage: cannot bring the log to an end: %s", err);
    rocksdb_free(err);
}

/* Frees what rocks_start() got, as far as it came. */
static void rocks_free(struct rocks *r)
{
    if (r->keeper_runs) {
        pthread_mutex_lock(&r->lock);
        r->closing = true;
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->keeper, NULL);
    }
    if (r->committer)
        committer_close(r->committer);
    scrub_close(r);
    mem_free(r->scrub.key);
    if (r->handle && !atomic_load(&r->failed))
        close_log(r);
    view_unref(r->view);
    handle_unref(r->handle);
    watermark_sync(&r->watermark);
    watermark_close(&r->watermark);
    folder_close(&r->folder);
    if (r->options)
        rocksdb_options_destroy(r->options);
    rocksdb_writeoptions_destroy(r->append_now);
    rocksdb_writeoptions_destroy(r->append_waiting);
    cache_unref(r->cache);
    pthread_rwlock_destroy(&r->gate);
    pthread_mutex_destroy(&r->read_lock);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->wake);
    mem_free(r);
}

static struct rocks *rocks_new(const struct engine_conf *conf)
{
    struct rocks *r = mem_zalloc(sizeof(*r));
    rocksdb_lru_cache_options_t *lru = rocksdb_lru_cache_options_create();
    pthread_rwlockattr_t gate;

    r->base.ops = &engine_rocks;
    r->clock = conf->clock;
    r->log = conf->log;
    r->no_sync = conf->no_sync;
    r->memory_bytes = conf->memory_bytes ? conf->memory_bytes : MEMORY_BYTES_DEFAULT;
    r->memory_bytes = clamp(r->memory_bytes, MEMORY_BYTES_MIN, (uint64_t)1 << 40);
    r->unsynced_bytes_max =
        conf->unsynced_bytes_max ? conf->unsynced_bytes_max : UNSYNCED_BYTES_DEFAULT;
    r->folder.lock_fd = -1;
    r->watermark.fd = -1;
    r->lane_end = &r->lane;
    /* Else a stream of unguarded batches could keep a guarded one out for ever. */
    pthread_rwlockattr_init(&gate);
    pthread_rwlockattr_setkind_np(&gate, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&r->gate, &gate);
    pthread_rwlockattr_destroy(&gate);
    pthread_mutex_init(&r->read_lock, NULL);
    pthread_mutex_init(&r->lock, NULL);
    thread_cond_init(&r->wake);
    r->append_now = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_no_slowdown(r->append_now, 1);
    r->append_waiting = rocksdb_writeoptions_create();
    r->cache = mem_zalloc(sizeof(*r->cache));
    atomic_init(&r->cache->refs, 1);
    rocksdb_lru_cache_options_set_capacity(lru, r->memory_bytes / 2);
    r->cache->lru = rocksdb_cache_create_lru_opts(lru);
    rocksdb_lru_cache_options_destroy(lru);
    return r;
}

static int rocks_open(struct ctx *c, const struct engine_conf *conf, struct engine **out)
{
    struct rocks *r = rocks_new(conf);
    int code = rocks_start(c, r, conf);

    if (code != E_OK) {
        rocks_free(r);
        return code;
    }
    *out = &r->base;
    return E_OK;
}

static void rocks_close(struct engine *e)
{
    rocks_free(PORT_CONTAINER(e, struct rocks, base));
}

/* ---- the keeper: the slow lane, and mending after a failure */

/* Under the lock. False: the engine is being closed. */
static bool keeper_pause(struct rocks *r, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!r->closing && pthread_cond_timedwait(&r->wake, &r->lock, &until) == 0)
        ;
    return !r->closing;
}

/* Takes the database away from readers and closes it. False: somebody reads on and on; they have it
 * back. */
static bool mend_close(struct rocks *r)
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
    /* Ours, and the view's reference to the handle. */
    for (int ms = 0; ms < 2000 && !alone; ms++) {
        alone = atomic_load(&v->refs) == 1 && atomic_load(&h->refs) == 2;
        if (!alone)
            sleep_us(1000);
    }
    if (alone) {
        view_unref(v);
        handle_unref(h);
        return true;
    }
    pthread_mutex_lock(&r->read_lock);
    r->handle = h;
    r->view = v;
    pthread_mutex_unlock(&r->read_lock);
    return false;
}

static void mend_give(struct rocks *r, struct handle *h)
{
    struct view *v = view_new(h);

    pthread_mutex_lock(&r->read_lock);
    r->handle = h;
    r->view = v;
    pthread_mutex_unlock(&r->read_lock);
}

/* When the database does not open for writing (the disk is full, say), it may still for reading. */
static void mend_open_for_reads(struct rocks *r)
{
    struct ctx c;
    rocksdb_t *db;

    ctx_init(&c, r->clock, r->log, NULL, 0);
    if (look(&c, r, &db) == E_OK) {
        if (rocksdb_get_latest_sequence_number(db) >= r->watermark.sequence)
            mend_give(r, handle_new(r, db));
        else
            rocksdb_close(db);
    }
    ctx_release(&c);
}

static int mend_open(struct ctx *c, struct rocks *r)
{
    struct handle *h;
    int code;

    watermark_close(&r->watermark);
    TRY(load_watermark(c, r));
    code = db_open(c, r, &h);
    if (code == E_OK)
        mend_give(r, h);
    else
        mend_open_for_reads(r);
    return code;
}

/* One try. */
static bool mend_try(struct rocks *r)
{
    struct ctx c;
    int code;

    if (atomic_load(&r->failed) == E_NO_SPACE && space_is_short(r))
        return false;
    if (!mend_close(r))
        return false;
    ctx_init(&c, r->clock, r->log, NULL, 0);
    code = mend_open(&c, r);
    if (code != E_OK) {
        log_error(r->log, "storage: cannot be opened again yet: %s", c.text);
        pthread_mutex_lock(&r->lock);
        snprintf(r->reason, sizeof(r->reason), "%s", c.text);
        pthread_mutex_unlock(&r->lock);
    }
    ctx_release(&c);
    return code == E_OK;
}

static void mend(struct rocks *r)
{
    int pause_ms = MEND_PAUSE_MS_MIN;
    bool closing;

    committer_fail(r->committer);
    lane_run(r); /* all get the failure's code */
    committer_settle(r->committer);
    for (;;) {
        pthread_mutex_lock(&r->lock);
        closing = !keeper_pause(r, pause_ms);
        pthread_mutex_unlock(&r->lock);
        if (closing)
            return;
        if (mend_try(r))
            break;
        pause_ms = pause_ms * 2 > MEND_PAUSE_MS_MAX ? MEND_PAUSE_MS_MAX : pause_ms * 2;
    }
    committer_reset(r->committer);
    pthread_mutex_lock(&r->lock);
    atomic_store(&r->failed, 0);
    r->reason[0] = 0;
    pthread_mutex_unlock(&r->lock);
    log_info(r->log, "storage: open again, writes go on");
}

static void *keeper_main(void *arg)
{
    struct rocks *r = arg;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        bool failed = atomic_load(&r->failed) && !r->closing;

        if (!failed && !r->lane && r->closing)
            break;
        if (!failed && !r->lane) {
            pthread_cond_wait(&r->wake, &r->lock);
            continue;
        }
        pthread_mutex_unlock(&r->lock);
        if (failed)
            mend(r);
        else
            lane_run(r);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

/* ---- the calls */

static int rocks_create(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    (void)c;
    (void)e;
    (void)p;
    return E_OK; /* partitions are ranges of the one map */
}

static int rocks_recut(struct ctx *c, struct engine *e, const struct partition_spec *from,
                       size_t from_count, const struct partition_spec *to, size_t to_count)
{
    (void)c;
    (void)e;
    (void)from;
    (void)from_count;
    (void)to;
    (void)to_count;
    return E_OK; /* partitions are ranges of the one map */
}

/* A value that stays in the block cache until the request's arena goes. */
struct pin {
    rocksdb_pinnableslice_t *slice;
    struct cache *cache;
};

static void pin_release(void *arg)
{
    struct pin *pin = arg;

    rocksdb_pinnableslice_destroy(pin->slice);
    cache_unref(pin->cache);
}

static int give_value(struct ctx *c, struct rocks *r, rocksdb_pinnableslice_t *slice, bytes *out)
{
    size_t len;
    const char *value = rocksdb_pinnableslice_value(slice, &len);

    if (len >= PIN_BYTES_MIN) {
        struct pin *pin;

        if (c->arena.cap && (len > c->arena.cap || c->arena.used > c->arena.cap - len)) {
            rocksdb_pinnableslice_destroy(slice);
            return fail_code(c, E_MEMORY);
        }
        pin = ARENA_NEW(&c->arena, struct pin);
        pin->slice = slice;
        pin->cache = r->cache;
        atomic_fetch_add(&r->cache->refs, 1);
        arena_on_release(&c->arena, pin_release, pin);
        c->arena.used += len;
        *out = bytes_of(value, len);
        return E_OK;
    }
    *out = arena_copy(&c->arena, bytes_of(value, len));
    rocksdb_pinnableslice_destroy(slice);
    return E_OK;
}

static int get_now(struct ctx *c, struct rocks *r, struct get *g)
{
    rocksdb_pinnableslice_t *slice;
    struct entry in;
    char *err = NULL;
    int code = E_OK;

    TRY(enter(c, r, g->view, &in));
    if (g->once) {
        rocksdb_readoptions_t *o = range_options(&(struct key_range){BYTES_NONE, BYTES_NONE},
                                                 in.view ? in.view->snapshot : NULL);

        rocksdb_readoptions_set_fill_cache(o, 0);
        slice = rocksdb_get_pinned(in.handle->db, o, g->key.ptr, g->key.len, &err);
        rocksdb_readoptions_destroy(o);
    } else {
        slice = rocksdb_get_pinned(in.handle->db, entry_options(&in), g->key.ptr, g->key.len, &err);
    }
    if (err) {
        code = status_fail(c, err);
    } else if (slice) {
        code = give_value(c, r, slice, &g->value);
        g->found = code == E_OK;
    }
    leave(&in);
    return code;
}

static int rocks_get(struct ctx *c, struct engine *e, struct get *g)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);

    if (g->view == VIEW_LATEST && atomic_load(&r->lane_count) > 0) {
        slow_add(r, (struct slow){.c = c, .get = g});
        return E_LATER;
    }
    return get_now(c, r, g);
}

static int page_add(struct ctx *c, struct page *page, size_t *capacity, bytes key, bytes value)
{
    uint8_t *copy;

    if (page->count == *capacity) {
        size_t more = *capacity ? *capacity * 2 : 16;
        struct kv *items = arena_try_alloc(&c->arena, more * sizeof(*items));

        if (!items)
            return fail_code(c, E_MEMORY);
        if (page->count)
            memcpy(items, page->items, page->count * sizeof(*items));
        page->items = items;
        *capacity = more;
    }
    copy = arena_try_alloc(&c->arena, key.len + value.len);
    if (!copy)
        return fail_code(c, E_MEMORY);
    memcpy(copy, key.ptr, key.len);
    if (value.len)
        memcpy(copy + key.len, value.ptr, value.len);
    page->items[page->count++] =
        (struct kv){bytes_of(copy, key.len), bytes_of(copy + key.len, value.len)};
    page->bytes += key.len + value.len;
    return E_OK;
}

static int scan_walk(struct ctx *c, const struct scan *s, rocksdb_iterator_t *it, struct page *page)
{
    size_t capacity = 0;

    while (rocksdb_iter_valid(it)) {
        bytes key, value;

        if (page->count == s->items_max || (page->count && page->bytes > s->bytes_max)) {
            page->more = true;
            break;
        }
        key.ptr = rocksdb_iter_key(it, &key.len);
        value.ptr = rocksdb_iter_value(it, &value.len);
        TRY(page_add(c, page, &capacity, key, value));
        if (s->backward)
            rocksdb_iter_prev(it);
        else
            rocksdb_iter_next(it);
    }
    return E_OK;
}

/* Options for one range. The bounds are not copied: the range must outlive the iterator. */
static rocksdb_readoptions_t *range_options(const struct key_range *range,
                                            const rocksdb_snapshot_t *snapshot)
{
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();

    rocksdb_readoptions_set_total_order_seek(o, 1);
    if (snapshot)
        rocksdb_readoptions_set_snapshot(o, snapshot);
    if (range->start.len)
        rocksdb_readoptions_set_iterate_lower_bound(o, range->start.ptr, range->start.len);
    if (range->end.len)
        rocksdb_readoptions_set_iterate_upper_bound(o, range->end.ptr, range->end.len);
    return o;
}

static void seek_start(rocksdb_iterator_t *it, const struct key_range *range)
{
    if (range->start.len)
        rocksdb_iter_seek(it, range->start.ptr, range->start.len);
    else
        rocksdb_iter_seek_to_first(it);
}

/* Records what stopped an iterator, if it was not the end. */
static int iterator_end(struct ctx *c, rocksdb_iterator_t *it)
{
    char *err = NULL;

    rocksdb_iter_get_error(it, &err);
    return err ? status_fail(c, err) : E_OK;
}

static int scan_range(struct ctx *c, struct handle *h, const rocksdb_snapshot_t *snapshot,
                      const struct scan *s, const struct key_range *range, struct page *page)
{
    rocksdb_readoptions_t *o = range_options(range, snapshot);
    rocksdb_iterator_t *it;
    int code;

    if (s->bytes_max >= READAHEAD_BYTES && s->items_max > 1000)
        rocksdb_readoptions_set_readahead_size(o, READAHEAD_BYTES);
    it = rocksdb_create_iterator(h->db, o);
    if (s->backward)
        rocksdb_iter_seek_to_last(it); /* heeds the upper bound */
    else
        seek_start(it, range);
    code = scan_walk(c, s, it, page);
    if (code == E_OK)
        code = iterator_end(c, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return code;
}

static int scan_now(struct ctx *c, struct rocks *r, struct scan *s)
{
    const rocksdb_snapshot_t *snapshot, *own = NULL;
    struct entry in;
    int code = E_OK;

    TRY(enter(c, r, s->view, &in));
    /* One iterator is one point in time by itself; several need a snapshot. */
    if (!in.view && s->range_count > 1)
        own = rocksdb_create_snapshot(in.handle->db);
    snapshot = in.view ? in.view->snapshot : own;
    for (size_t i = 0; i < s->range_count && code == E_OK; i++)
        code = scan_range(c, in.handle, snapshot, s, &s->ranges[i], &s->pages[i]);
    if (own)
        rocksdb_release_snapshot(in.handle->db, own);
    leave(&in);
    return code;
}

static int rocks_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);

    if (s->view == VIEW_LATEST && atomic_load(&r->lane_count) > 0) {
        slow_add(r, (struct slow){.c = c, .scan = s});
        return E_LATER;
    }
    return scan_now(c, r, s);
}

static void rocks_apply(struct ctx *c, struct engine *e, const struct batch *b, apply_done done,
                        void *arg)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct write w = {.guards = b->guards, .guard_count = b->guard_count, .done = done, .arg = arg};

    (void)c;
    if (b->edit_count) {
        w.edits = rocksdb_writebatch_create();
        w.vital = true;
        for (size_t i = 0; i < b->edit_count; i++) {
            const struct edit *edit = &b->edits[i];

            w.vital &= edit->type == EDIT_DELETE || b->partition == PARTITION_SYSTEM;
            if (edit->type == EDIT_PUT)
                rocksdb_writebatch_put(w.edits, edit->key.ptr, edit->key.len,
                                       edit->value.len ? edit->value.ptr : "", edit->value.len);
            else
                rocksdb_writebatch_delete(w.edits, edit->key.ptr, edit->key.len);
        }
        rocksdb_writebatch_data(w.edits, &w.size);
    }
    submit(r, &w);
}

/* ---- dropping */

struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool called;
    int code;
};

static void waiter_done(void *arg, int code)
{
    struct waiter *w = arg;

    pthread_mutex_lock(&w->lock);
    w->called = true;
    w->code = code;
    pthread_cond_signal(&w->done);
    pthread_mutex_unlock(&w->lock);
}

/* Submits and sleeps until it is durable. Takes ownership of edits (NULL: a barrier). */
static int write_and_wait(struct rocks *r, rocksdb_writebatch_t *edits)
{
    struct waiter waiter = {.code = E_OK};
    struct write w = {.edits = edits, .vital = true, .done = waiter_done, .arg = &waiter};

    pthread_mutex_init(&waiter.lock, NULL);
    pthread_cond_init(&waiter.done, NULL);
    if (edits)
        rocksdb_writebatch_data(edits, &w.size);
    submit(r, &w);
    pthread_mutex_lock(&waiter.lock);
    while (!waiter.called)
        pthread_cond_wait(&waiter.done, &waiter.lock);
    pthread_mutex_unlock(&waiter.lock);
    pthread_mutex_destroy(&waiter.lock);
    pthread_cond_destroy(&waiter.done);
    return waiter.code;
}

/* The last key of the range; empty if there is none. */
static int range_last(struct ctx *c, struct handle *h, const struct key_range *range, bytes *out)
{
    rocksdb_readoptions_t *o = range_options(range, NULL);
    rocksdb_iterator_t *it = rocksdb_create_iterator(h->db, o);
    int code;

    *out = BYTES_NONE;
    rocksdb_iter_seek_to_last(it);
    if (rocksdb_iter_valid(it)) {
        bytes key;

        key.ptr = rocksdb_iter_key(it, &key.len);
        *out = arena_copy(&c->arena, key);
    }
    code = iterator_end(c, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return code;
}

/* Deletes for the range's first DROP_BATCH_KEYS keys; *count tells how many there were. */
static int range_deletes(struct ctx *c, struct handle *h, const struct key_range *range,
                         rocksdb_writebatch_t *edits, size_t *count)
{
    rocksdb_readoptions_t *o = range_options(range, NULL);
    rocksdb_iterator_t *it = rocksdb_create_iterator(h->db, o);
    int code;

    *count = 0;
    for (seek_start(it, range); rocksdb_iter_valid(it) && *count < DROP_BATCH_KEYS;
         rocksdb_iter_next(it)) {
        bytes key;

        key.ptr = rocksdb_iter_key(it, &key.len);
        rocksdb_writebatch_delete(edits, key.ptr, key.len);
        ++*count;
    }
    code = iterator_end(c, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return code;
}

/* A range of many keys: one tombstone, and a compaction that takes both away, since reads slow down
 * with every range tombstone that lies about. */
static int drop_many(struct ctx *c, struct rocks *r, struct handle *h,
                     const struct key_range *range, bytes last)
{
    rocksdb_writebatch_t *edits = rocksdb_writebatch_create();
    rocksdb_compactoptions_t *how;
    uint8_t *end = arena_alloc(&c->arena, last.len + 1);
    int code;

    memcpy(end, last.ptr, last.len);
    end[last.len] = 0; /* the least key behind the last */
    rocksdb_writebatch_delete_range(edits, range->start.len ? range->start.ptr : "",
                                    range->start.len, (const char *)end, last.len + 1);
    /* Also moves the read view on, which would keep the keys alive. */
    code = write_and_wait(r, edits);
    if (code != E_OK)
        return fail_code(c, code);
    how = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_exclusive_manual_compaction(how, 0);
    rocksdb_compact_range_opt(h->db, how, range->start.ptr, range->start.len, (const char *)end,
                              last.len + 1);
    rocksdb_compactoptions_destroy(how);
    return E_OK;
}

static int drop_range(struct ctx *c, struct rocks *r, struct handle *h,
                      const struct key_range *range)
{
    size_t count, total = 0;
    char *err = NULL;
    bytes last;
    int code;

    TRY(range_last(c, h, range, &last));
    if (!last.len)
        return E_OK;
    /* Whole files go first. The end is inclusive in this call, hence the last key. */
    rocksdb_delete_file_in_range(h->db, range->start.ptr, range->start.len, last.ptr, last.len,
                                 &err);
    if (err)
        return status_fail(c, err);
    do {
        rocksdb_writebatch_t *edits = rocksdb_writebatch_create();

        code = range_deletes(c, h, range, edits, &count);
        if (code != E_OK || !count) {
            rocksdb_writebatch_destroy(edits);
            return code;
        }
        code = write_and_wait(r, edits);
        if (code != E_OK)
            return fail_code(c, code);
        if (fault_hit(FAULT_drop_half))
            return fail(c, E_UNAVAILABLE, "A fault was asked for.");
        total += count;
    } while (count == DROP_BATCH_KEYS && total < DROP_KEYS_MAX);
    if (count < DROP_BATCH_KEYS)
        return E_OK;
    return drop_many(c, r, h, range, last);
}

static int rocks_size(struct ctx *c, struct engine *e, const struct partition_spec *p,
                      uint64_t *out);

static int rocks_drop(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct entry in;
    int code = E_OK;

    TRY(enter(c, r, VIEW_LATEST, &in));
    for (size_t i = 0; i < p->range_count && code == E_OK; i++)
        code = drop_range(c, r, in.handle, &p->ranges[i]);
    leave(&in);
    return code;
}

/* Like drop, and the space of large values that stood in shared files comes back too. */
static int rocks_erase(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    uint64_t before, after;

    TRY(rocks_size(c, e, p, &before));
    TRY(rocks_drop(c, e, p));
    TRY(rocks_size(c, e, p, &after));
    if (after < ERASE_COMPACT_BYTES || after > before)
        return E_OK;
    for (size_t i = 0; i < p->range_count; i++) {
        rocksdb_compactoptions_t *how = rocksdb_compactoptions_create();
        struct entry in;
        int code = enter(c, r, VIEW_LATEST, &in);

        rocksdb_compactoptions_set_exclusive_manual_compaction(how, 0);
        if (code == E_OK) {
            rocksdb_compact_range_opt(in.handle->db, how, p->ranges[i].start.ptr,
                                      p->ranges[i].start.len, p->ranges[i].end.ptr,
                                      p->ranges[i].end.len);
            leave(&in);
        }
        rocksdb_compactoptions_destroy(how);
        TRY(code);
    }
    return E_OK;
}

/* ---- bulk */

struct bulk_file {
    struct bulk_file *next;
    char *path;
};

struct rocks_bulk {
    struct bulk base;
    struct rocks *rocks;
    rocksdb_options_t *options;
    rocksdb_envoptions_t *env;
    rocksdb_sstfilewriter_t *writer; /* NULL: no file is open */
    struct bulk_file *files;         /* the newest, which may be open, first */
    int fd;                          /* of the open file, to push it to the disk */
    uint64_t size, pushed;           /* of the open file */
};

static char *bulk_dir(struct arena *a, struct rocks *r)
{
    return (char *)arena_printf(a, "%s/bulk", r->folder.dir).ptr;
}

/* What a crash has left. */
static void bulk_clear(struct ctx *c, struct rocks *r)
{
    files_remove(bulk_dir(&c->arena, r));
}

static int bulk_status(struct ctx *c, const char *what, char *err)
{
    int code = status_code(err);

    code = fail(c, code == E_NO_SPACE ? E_NO_SPACE : E_UNAVAILABLE, "Storage cannot %s: %s", what,
                err);
    rocksdb_free(err);
    return code;
}

static int bulk_file_open(struct ctx *c, struct rocks_bulk *b)
{
    struct rocks *r = b->rocks;
    struct bulk_file *file;
    char *err = NULL;

    if (mkdir(bulk_dir(&c->arena, r), 0700) != 0 && errno != EEXIST)
        return fail(c, errno == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "Cannot make %s: %s.",
                    bulk_dir(&c->arena, r), strerror(errno));
    file = mem_zalloc(sizeof(*file));
    file->path = mem_strdup(arena_printf(&c->arena, "%s/%06llu.sst", bulk_dir(&c->arena, r),
                                         (unsigned long long)atomic_fetch_add(&r->bulk_files, 1))
                                .ptr);
    file->next = b->files;
    b->files = file;
    b->size = b->pushed = 0;
    b->writer = rocksdb_sstfilewriter_create(b->env, b->options);
    rocksdb_sstfilewriter_open(b->writer, file->path, &err);
    if (err)
        return bulk_status(c, "begin a file", err);
    b->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    return E_OK;
}

static void bulk_writer_free(struct rocks_bulk *b)
{
    if (b->writer)
        rocksdb_sstfilewriter_destroy(b->writer);
    b->writer = NULL;
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

/* The file is whole and on the medium. */
static int bulk_file_end(struct ctx *c, struct rocks_bulk *b)
{
    char *err = NULL;

    rocksdb_sstfilewriter_finish(b->writer, &err);
    bulk_writer_free(b);
    return err ? bulk_status(c, "end a file", err) : E_OK;
}

static int rocks_bulk_put(struct ctx *c, struct bulk *bulk, bytes key, bytes value)
{
    struct rocks_bulk *b = PORT_CONTAINER(bulk, struct rocks_bulk, base);
    char *err = NULL;
    int code = atomic_load(&b->rocks->failed);

    if (code)
        return fail_code(c, code);
    if (space_short(b->rocks))
        return fail_code(c, E_NO_SPACE);
    if (b->writer && b->size >= BULK_FILE_BYTES)
        TRY(bulk_file_end(c, b));
    if (!b->writer)
        TRY(bulk_file_open(c, b));
    rocksdb_sstfilewriter_put(b->writer, key.ptr, key.len, value.len ? value.ptr : "", value.len,
                              &err);
    if (err)
        return bulk_status(c, "write a file", err);
    b->size += key.len + value.len;
    /* The disk is to be busy while more comes in, and not only when the file ends. */
    if (b->fd >= 0 && b->size - b->pushed >= BULK_PUSH_BYTES) {
        sync_file_range(b->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
        b->pushed = b->size;
    }
    return E_OK;
}

static int bulk_take_over(struct ctx *c, struct rocks_bulk *b, const char *const *paths, size_t n)
{
    rocksdb_ingestexternalfileoptions_t *how = rocksdb_ingestexternalfileoptions_create();
    struct entry in;
    char *err = NULL;
    int code = enter(c, b->rocks, VIEW_LATEST, &in);

    if (code == E_OK) {
        rocksdb_ingestexternalfileoptions_set_move_files(how, 1);
        rocksdb_ingestexternalfileoptions_set_snapshot_consistency(how, 0);
        rocksdb_ingestexternalfileoptions_set_allow_global_seqno(how, 0);
        rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(how, 0);
        rocksdb_ingest_external_file(in.handle->db, paths, n, how, &err);
        leave(&in);
    }
    rocksdb_ingestexternalfileoptions_destroy(how);
    return err ? bulk_status(c, "take over a file", err) : code;
}

static int rocks_bulk_finish(struct ctx *c, struct bulk *bulk)
{
    struct rocks_bulk *b = PORT_CONTAINER(bulk, struct rocks_bulk, base);
    const char **paths;
    size_t n = 0;
    int code = atomic_load(&b->rocks->failed);

    if (code)
        return fail_code(c, code);
    if (b->writer)
        TRY(bulk_file_end(c, b));
    for (struct bulk_file *file = b->files; file; file = file->next)
        n++;
    if (!n)
        return E_OK;
    paths = ARENA_ARRAY(&c->arena, const char *, n);
    for (struct bulk_file *file = b->files; file; file = file->next)
        paths[--n] = file->path;
    for (struct bulk_file *file = b->files; file; file = file->next)
        n++;
    if (fault_hit(FAULT_bulk_before_ingest))
        return fail(c, E_UNAVAILABLE, "A fault was asked for.");
    TRY(bulk_take_over(c, b, paths, n));
    (void)fault_hit(FAULT_bulk_after_ingest);
    return E_OK;
}

static void rocks_bulk_close(struct bulk *bulk)
{
    struct rocks_bulk *b = PORT_CONTAINER(bulk, struct rocks_bulk, base);
    struct bulk_file *next;

    bulk_writer_free(b);
    for (struct bulk_file *file = b->files; file; file = next) {
        next = file->next;
        unlink(file->path); /* gone already if it was taken over */
        mem_free(file->path);
        mem_free(file);
    }
    rocksdb_envoptions_destroy(b->env);
    rocksdb_options_destroy(b->options);
    mem_free(b);
}

static const struct bulk_ops rocks_bulk_ops = {
    .put = rocks_bulk_put, .finish = rocks_bulk_finish, .close = rocks_bulk_close};

static int rocks_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct rocks_bulk *b;
    int code = atomic_load(&r->failed);

    (void)partition;
    if (code)
        return fail_code(c, code);
    b = mem_zalloc(sizeof(*b));
    b->base.ops = &rocks_bulk_ops;
    b->rocks = r;
    b->fd = -1;
    b->env = rocksdb_envoptions_create();
    b->options = rocksdb_options_create_copy(r->options);
    /* Large values are mostly packed already; compaction packs them if it pays. */
    rocksdb_options_set_compression(b->options, rocksdb_no_compression);
    rocksdb_options_set_bottommost_compression(b->options, rocksdb_no_compression);
    *out = &b->base;
    return E_OK;
}

/* ---- sizes and statistics */

/* Where a key stands between first and last, 0 to 1, by its eight bytes behind what they share. */
static double key_place(bytes key, bytes first, bytes last)
{
    size_t same = 0;
    double place[3];
    const bytes *const keys[3] = {&first, &key, &last};

    while (same < first.len && same < last.len && bytes_u8(first)[same] == bytes_u8(last)[same])
        same++;
    for (int i = 0; i < 3; i++) {
        uint64_t n = 0;

        for (size_t j = same; j < same + 8; j++)
            n = n << 8 | (j < keys[i]->len ? bytes_u8(*keys[i])[j] : 0);
        place[i] = (double)n;
    }
    return place[2] > place[0] ? (place[1] - place[0]) / (place[2] - place[0]) : 1;
}

/* Bytes of the range that are only in write buffers: counted, and if there are very many, estimated
 * from how far in the range the counting came. */
static int size_unflushed(struct ctx *c, struct handle *h, const struct key_range *range,
                          uint64_t *out)
{
    rocksdb_readoptions_t *o = range_options(range, NULL);
    rocksdb_iterator_t *it;
    bytes key = BYTES_NONE, first = BYTES_NONE, last;
    size_t count = 0;
    int code;

    rocksdb_readoptions_set_read_tier(o, READ_TIER_MEMTABLE);
    it = rocksdb_create_iterator(h->db, o);
    *out = 0;
    for (seek_start(it, range); rocksdb_iter_valid(it) && count < SIZE_WALK_MAX;
         rocksdb_iter_next(it), count++) {
        size_t value_len;

        key.ptr = rocksdb_iter_key(it, &key.len);
        if (!first.len)
            first = arena_copy(&c->arena, key);
        rocksdb_iter_value(it, &value_len);
        *out += key.len + value_len;
    }
    if (rocksdb_iter_valid(it)) {
        double place;

        key.ptr = rocksdb_iter_key(it, &key.len);
        key = arena_copy(&c->arena, key);
        rocksdb_iter_seek_to_last(it);
        if (rocksdb_iter_valid(it)) {
            last.ptr = rocksdb_iter_key(it, &last.len);
            place = key_place(key, first, last);
            *out = (uint64_t)((double)*out / (place < 0.001 ? 0.001 : place));
        }
    }
    code = iterator_end(c, it);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(o);
    return code;
}

static int size_range(struct ctx *c, struct handle *h, const struct key_range *range, uint64_t *out)
{
    uint64_t flushed = 0, unflushed, buffers = property(h, "rocksdb.cur-size-all-mem-tables");
    const char *start = range->start.ptr, *end;
    size_t end_len;
    char *err = NULL;
    bytes last = range->end;

    if (!last.len)
        TRY(range_last(c, h, range, &last)); /* its own bytes do not matter much */
    end = last.ptr;
    end_len = last.len;
    if (last.len)
        rocksdb_approximate_sizes(h->db, 1, &start, &range->start.len, &end, &end_len, &flushed,
                                  &err);
    if (err)
        return status_fail(c, err);
    TRY(size_unflushed(c, h, range, &unflushed));
    *out = flushed + (unflushed < buffers ? unflushed : buffers);
    return E_OK;
}

static int rocks_size(struct ctx *c, struct engine *e, const struct partition_spec *p,
                      uint64_t *out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct entry in;
    int code = E_OK;

    *out = 0;
    TRY(enter(c, r, VIEW_LATEST, &in));
    for (size_t i = 0; i < p->range_count && code == E_OK; i++) {
        uint64_t in_range = 0;

        code = size_range(c, in.handle, &p->ranges[i], &in_range);
        *out += in_range;
    }
    leave(&in);
    return code;
}

static void rocks_stat(struct engine *e, struct engine_stat *out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct committer_stat commits;
    struct entry in;
    struct ctx c;

    committer_stat(r->committer, &commits);
    out->syncs = commits.rounds;
    out->acked = commits.acked + atomic_load(&r->acked_at_once);
    out->unsynced_bytes = commits.unsynced_bytes;
    pthread_mutex_lock(&r->lock);
    out->writable = !atomic_load(&r->failed);
    memcpy(out->reason, r->reason, sizeof(out->reason));
    out->stalls = r->stalls;
    pthread_mutex_unlock(&r->lock);
    if (out->writable && space_short(r)) {
        out->writable = false;
        snprintf(out->reason, sizeof(out->reason),
                 "the disk is nearly full: only deletions are accepted until it has space again");
    }
    ctx_init(&c, r->clock, NULL, NULL, 0);
    if (enter(&c, r, VIEW_LATEST, &in) == E_OK) {
        out->bytes_stored = property(in.handle, "rocksdb.live-sst-files-size") +
                            property(in.handle, "rocksdb.cur-size-all-mem-tables");
        leave(&in);
    }
    ctx_release(&c);
}

/* ---- looking at files past the caches */

/* A look that was not opened, or only half, is fine. */
static void look_close(struct look *l)
{
    if (l->it)
        rocksdb_iter_destroy(l->it);
    if (l->read)
        rocksdb_readoptions_destroy(l->read);
    if (l->db)
        rocksdb_close(l->db);
    if (l->options)
        rocksdb_options_destroy(l->options);
    *l = (struct look){0};
}

static rocksdb_options_t *look_options(bool cached, char **err)
{
    rocksdb_options_t *plain = rocksdb_options_create(), *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

    rocksdb_get_options_from_string(plain, "track_and_verify_wals_in_manifest=true", o, err);
    rocksdb_options_destroy(plain);
    rocksdb_block_based_options_set_no_block_cache(t, 1);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_wal_recovery_mode(o, rocksdb_point_in_time_recovery);
    rocksdb_options_set_use_direct_reads(o, !cached);
    rocksdb_options_set_max_open_files(o, SCRUB_OPEN_FILES);
    rocksdb_options_set_info_log_level(o, INFO_LOG_OFF);
    rocksdb_options_set_keep_log_file_num(o, 1);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
    return o;
}

/* Opens the database in `dir` read-only. False with *err set; the look is then closed. */
static bool look_open(const char *dir, bool cached, struct look *l, char **err)
{
    *err = NULL;
    *l = (struct look){.options = look_options(cached, err)};
    if (!*err)
        l->db = rocksdb_open_for_read_only(l->options, dir, 0, err);
    if (*err) {
        look_close(l);
        return false;
    }
    l->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(l->read, 1);
    rocksdb_readoptions_set_fill_cache(l->read, 0);
    rocksdb_readoptions_set_total_order_seek(l->read, 1);
    rocksdb_readoptions_set_readahead_size(l->read, READAHEAD_BYTES);
    l->it = rocksdb_create_iterator(l->db, l->read);
    return true;
}

static bytes look_key(const struct look *l)
{
    bytes key;

    key.ptr = rocksdb_iter_key(l->it, &key.len);
    return key;
}

static void look_seek(struct look *l, bytes key)
{
    if (key.len)
        rocksdb_iter_seek(l->it, key.ptr, key.len);
    else
        rocksdb_iter_seek_to_first(l->it);
}

/* Reads on until about bytes_max, the end, or an error in *err. */
static void look_read(struct look *l, uint64_t bytes_max, uint64_t *done, char **err)
{
    uint64_t n = 0;

    for (; rocksdb_iter_valid(l->it) && n < bytes_max; rocksdb_iter_next(l->it)) {
        size_t value_len;

        (void)rocksdb_iter_value(l->it, &value_len);
        n += look_key(l).len + value_len;
    }
    *done = n;
    *err = NULL;
    if (!rocksdb_iter_valid(l->it))
        rocksdb_iter_get_error(l->it, err);
}

/* The name of the table file that an error text of RocksDB is about ("000012.sst"), in the arena;
 * empty if it names none. */
static bytes table_named(struct ctx *c, const char *text)
{
    const char *end = strstr(text, ".sst"), *start;

    if (!end)
        end = strstr(text, ".ldb"); /* the name of old, which it tries last */
    if (!end)
        return BYTES_NONE;
    start = end;
    while (start > text && start[-1] >= '0' && start[-1] <= '9')
        start--;
    if (start == end)
        return BYTES_NONE;
    return arena_printf(&c->arena, "%.*s.sst", (int)(end - start), start);
}

/* An error text with the folder's path in place of that of the copy that was looked at. */
static const char *text_moved(struct ctx *c, const char *text, const char *copy, const char *folder)
{
    struct buf b;
    const char *at;

    buf_init(&b, &c->arena, 256);
    while ((at = strstr(text, copy))) {
        buf_put(&b, text, (size_t)(at - text));
        buf_put_bytes(&b, bytes_str(folder));
        text = at + strlen(copy);
    }
    buf_put(&b, text, strlen(text) + 1);
    return buf_bytes(&b).ptr;
}

/* ---- copies */

/* RocksDB's own copy of the database as of now. */
static int checkpoint_make(struct ctx *c, struct rocks *r, const char *dir, uint64_t *durable)
{
    rocksdb_checkpoint_t *checkpoint;
    struct entry in;
    char *err = NULL;

    TRY(enter(c, r, VIEW_DURABLE, &in));
    *durable = in.view->sequence;
    checkpoint = rocksdb_checkpoint_object_create(in.handle->db, &err);
    if (!err) {
        rocksdb_checkpoint_create(checkpoint, dir, 0, &err);
        rocksdb_checkpoint_object_destroy(checkpoint);
    }
    leave(&in);
    return err ? status_fail(c, err) : E_OK;
}

/* How far the copy in `dir` goes: at least as far as what was acknowledged when it was begun. */
static int checkpoint_check(struct ctx *c, const char *dir, uint64_t durable, uint64_t *sequence)
{
    struct look l;
    char *err;

    if (!look_open(dir, true, &l, &err))
        return status_fail(c, err);
    *sequence = rocksdb_get_latest_sequence_number(l.db);
    look_close(&l);
    if (*sequence < durable)
        return fail(c, E_INTERNAL,
                    "The copy in %s goes to sequence number %llu, but %llu were acknowledged.", dir,
                    (unsigned long long)*sequence, (unsigned long long)durable);
    return E_OK;
}

/* The copy's own watermark: how far it goes, and its MANIFEST. */
static int checkpoint_mark(struct ctx *c, const struct folder *f, uint64_t sequence)
{
    struct watermark w;
    int error;

    TRY(watermark_create(c, f->watermark, sequence));
    TRY(watermark_open(c, f->watermark, &w));
    error = manifest_follow(f->db, &w.manifest);
    if (!error)
        error = watermark_write(&w, sequence);
    if (!error)
        error = watermark_sync(&w);
    watermark_close(&w);
    if (error)
        return fail(c, error == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "Cannot write %s: %s.",
                    f->watermark, strerror(error));
    return E_OK;
}

static int checkpoint_fill(struct ctx *c, struct rocks *r, struct folder *f)
{
    uint64_t durable, sequence = 0;

    TRY(checkpoint_make(c, r, f->db, &durable));
    TRY(checkpoint_check(c, f->db, durable, &sequence));
    TRY(files_sync(c, f->db));
    TRY(checkpoint_mark(c, f, sequence));
    return folder_stamp(c, f);
}

static int rocks_checkpoint(struct ctx *c, struct engine *e, const char *dir)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct folder f;
    bool made_dir;
    int code = atomic_load(&r->failed);

    if (code)
        return fail(c, code, "Storage is not writable now: try again when it is.");
    TRY(folder_open_target(c, dir, &f, &made_dir));
    code = checkpoint_fill(c, r, &f);
    if (code) {
        files_remove(
            arena_printf(&c->arena, "%s.tmp", f.db).ptr); /* RocksDB's, before it is done */
        files_remove(f.db);
        folder_abandon(&f, made_dir);
    } else {
        folder_close(&f);
    }
    return code;
}

/* Verifies the database in `db`, which is the folder's or a copy of it, up to the watermark. */
static int folder_verify(struct ctx *c, const struct folder *f, const char *db)
{
    struct watermark w;
    struct look l;
    uint64_t sequence = 0, done;
    char *err;
    bytes table;

    if (watermark_open(c, f->watermark, &w) != E_OK) {
        const char *why = c->text;

        ctx_clear(c);
        return fail(c, E_CORRUPT, "The backup %s is damaged: %s.", f->dir, why);
    }
    watermark_close(&w);
    if (manifest_check(c, db, &w.manifest) != E_OK) {
        const char *why = text_moved(c, c->text, db, f->db);

        ctx_clear(c);
        return fail(c, E_CORRUPT, "The backup %s is damaged: %s.", f->dir, why);
    }
    if (look_open(db, true, &l, &err)) {
        sequence = rocksdb_get_latest_sequence_number(l.db);
        look_seek(&l, BYTES_NONE);
        look_read(&l, UINT64_MAX, &done, &err);
        look_close(&l);
    }
    if (err) {
        int code = status_code(err);

        table = table_named(c, err);
        fail(c, code == E_BUSY || code == E_NO_SPACE ? code : E_CORRUPT,
             "The backup %s is damaged%s%.*s: %s", f->dir, table.len ? ", in db/" : "",
             BYTES_FMT(table), text_moved(c, err, db, f->db));
        rocksdb_free(err);
        return c->code;
    }
    if (sequence < w.sequence)
        return fail(c, E_DATA_LOSS,
                    "The backup %s is not complete: it reaches sequence number %llu of %llu.",
                    f->dir, (unsigned long long)sequence, (unsigned long long)w.sequence);
    return E_OK;
}

/* RocksDB's lock and diary are of no use in a copy. */
static bool copy_wanted(const char *name)
{
    return strcmp(name, "LOCK") != 0 && !text_starts(name, "LOG");
}

static int restore_fill(struct ctx *c, const struct folder *from, struct folder *to,
                        const char *db_copy)
{
    struct watermark w;
    int code = watermark_open(c, from->watermark, &w);

    if (code) {
        const char *why = c->text;

        ctx_clear(c);
        return fail(c, E_CORRUPT, "The backup %s is damaged: %s.", from->dir, why);
    }
    watermark_close(&w);
    TRY(files_copy(c, from->db, db_copy, copy_wanted));
    TRY(folder_verify(c, from, db_copy));
    if (rename(db_copy, to->db) != 0)
        return fail(c, E_UNAVAILABLE, "Cannot rename %s: %s.", db_copy, strerror(errno));
    TRY(checkpoint_mark(c, to, w.sequence));
    return folder_stamp(c, to);
}

static int rocks_restore(struct ctx *c, const struct engine_conf *conf, const char *dir)
{
    struct folder from, to;
    const char *db_copy;
    bool made_dir;
    int code;

    TRY(folder_open_source(c, dir, &from));
    if (!*conf->dir) {
        code = folder_verify(c, &from, from.db);
    } else {
        code = folder_open_target(c, conf->dir, &to, &made_dir);
        if (code == E_OK) {
            /* A name that folder_open() does not know, so that half a copy is refused. */
            db_copy = arena_printf(&c->arena, "%s.copy", to.db).ptr;
            code = restore_fill(c, &from, &to, db_copy);
            if (code) {
                files_remove(db_copy);
                files_remove(to.db);
                folder_abandon(&to, made_dir);
            } else {
                folder_close(&to);
            }
        }
    }
    folder_close(&from);
    return code;
}

/* ---- the scrub */

/* What a crash has left of the links. */
static void scrub_clear(struct ctx *c, struct rocks *r)
{
    files_remove(arena_printf(&c->arena, "%s/scrub.tmp", r->folder.dir).ptr);
    files_remove(arena_printf(&c->arena, "%s/scrub", r->folder.dir).ptr);
}

static void scrub_close(struct rocks *r)
{
    look_close(&r->scrub.look);
    if (r->scrub.dir)
        files_remove(r->scrub.dir);
    mem_free(r->scrub.dir);
    r->scrub.dir = NULL;
}

static void scrub_key_set(struct scrub_state *s, bytes key)
{
    mem_free(s->key);
    s->key = NULL;
    s->key_len = key.len;
    if (key.len) {
        s->key = mem_alloc(key.len);
        memcpy(s->key, key.ptr, key.len);
    }
}

static bytes scrub_key(const struct scrub_state *s)
{
    return bytes_of(s->key, s->key_len);
}

/* The keys of a table file, the end exclusive; all from `at` on if it is not known. */
static struct key_range table_range(struct ctx *c, const struct look *l, bytes table, bytes at)
{
    struct key_range range = {arena_copy(&c->arena, at), BYTES_NONE};
    const rocksdb_livefiles_t *files = l->db && table.len ? rocksdb_livefiles(l->db) : NULL;
    int n = files ? rocksdb_livefiles_count(files) : 0;

    for (int i = 0; i < n; i++) {
        const char *name = rocksdb_livefiles_name(files, i);
        bytes key;
        char *end;

        if (!strstr(name, table.ptr))
            continue;
        key.ptr = rocksdb_livefiles_smallestkey(files, i, &key.len);
        range.start = arena_copy(&c->arena, key);
        key.ptr = rocksdb_livefiles_largestkey(files, i, &key.len);
        end = arena_zalloc(&c->arena, key.len + 1); /* the least key behind the largest */
        memcpy(end, key.ptr, key.len);
        range.end = bytes_of(end, key.len + 1);
    }
    if (files)
        rocksdb_livefiles_destroy(files);
    return range;
}

/* An error while reading files: damage to report, or a failure of another kind. Frees err. */
static int scrub_error(struct ctx *c, struct rocks *r, struct scrub *s, char *err)
{
    int code = status_code(err);
    bytes table = table_named(c, err);

    /* What the medium refuses to give counts as damage too. */
    if (code != E_CORRUPT && !(code == E_UNAVAILABLE && table.len))
        return status_fail(c, err);
    s->damage = arena_printf(&c->arena, "%s/%.*s: %s", r->folder.db, BYTES_FMT(table),
                             text_moved(c, err, r->scrub.dir, r->folder.db))
                    .ptr;
    rocksdb_free(err);
    s->range = table_range(c, &r->scrub.look, table, scrub_key(&r->scrub));
    s->ended = !s->range.end.len || bytes_compare(s->range.end, scrub_key(&r->scrub)) <= 0;
    scrub_key_set(&r->scrub, s->range.end);
    if (r->scrub.look.it)
        look_seek(&r->scrub.look, s->range.end);
    return E_OK;
}

/* Takes links to the files as they are now. */
static int scrub_open(struct ctx *c, struct rocks *r, struct scrub *s)
{
    struct scrub_state *state = &r->scrub;
    uint64_t durable;
    char *err;

    if (atomic_load(&r->failed) || space_short(r))
        return fail(c, E_BUSY, "Storage is not writable now.");
    state->dir = mem_strdup(arena_printf(&c->arena, "%s/scrub", r->folder.dir).ptr);
    scrub_clear(c, r);
    TRY(checkpoint_make(c, r, state->dir, &durable));
    state->since_us = clock_mono_us(r->clock);
    if (!look_open(state->dir, state->cached, &state->look, &err)) {
        if (!state->cached && (strstr(err, "Invalid argument") || strstr(err, "Direct I/O"))) {
            rocksdb_free(err);
            state->cached = true;
            scrub_close(r);
            return scrub_open(c, r, s);
        }
        return scrub_error(c, r, s, err);
    }
    look_seek(&state->look, scrub_key(state));
    return E_OK;
}

static int scrub_step(struct ctx *c, struct rocks *r, struct scrub *s)
{
    struct scrub_state *state = &r->scrub;
    char *err;

    if (!state->look.db) {
        TRY(scrub_open(c, r, s));
        if (s->damage)
            return E_OK;
    }
    look_read(&state->look, s->bytes_max, &s->bytes, &err);
    if (err)
        return scrub_error(c, r, s, err);
    s->ended = !rocksdb_iter_valid(state->look.it);
    if (!s->ended)
        scrub_key_set(state, look_key(&state->look));
    return E_OK;
}

static int rocks_scrub(struct ctx *c, struct engine *e, struct scrub *s)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    int code = scrub_step(c, r, s);

    if (code || s->ended)
        scrub_key_set(&r->scrub, BYTES_NONE);
    if (code || s->ended || clock_mono_us(r->clock) - r->scrub.since_us > SCRUB_SLICE_US)
        scrub_close(r);
    return code;
}

const struct engine_ops engine_rocks = {
    .name = "rocks",
    .caps = ENGINE_ONE_MAP | ENGINE_SOLE_WRITER | ENGINE_FILES,
    .open = rocks_open,
    .close = rocks_close,
    .create = rocks_create,
    .drop = rocks_drop,
    .recut = rocks_recut,
    .erase = rocks_erase,
    .bulk = rocks_bulk,
    .get = rocks_get,
    .scan = rocks_scan,
    .apply = rocks_apply,
    .size = rocks_size,
    .stat = rocks_stat,
    .checkpoint = rocks_checkpoint,
    .scrub = rocks_scrub,
    .restore = rocks_restore,
};
