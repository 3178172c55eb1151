/* rocks.c: the engine on RocksDB, which the files rocks_*.c alone know: its life and its calls.
 *
 * Writing. apply() appends to RocksDB's log without syncing (manual_wal_flush) and hands the
 * completion to the committer (committer.c), which syncs for many at a time and then publishes a
 * snapshot as the read view. Clients read through that view, so they never see what a power cut can
 * take back; VIEW_LATEST reads past it.
 *
 *   rocks_write.c    from apply() to where a batch gathers or is appended
 *   rocks_append.c   one batch into the log, behind the gate
 *   rocks_stall.c    the stall queue; rocks_drain.c: the recovery thread works it off
 *   rocks_write_buffer.c  what has been applied and not yet appended
 *   rocks_number.c   numbers in the order of the log
 *   rocks_commit.c   what the committer asks for
 *   rocks_read.c     gets and scans; rocks_view.c: the view they go through
 *   rocks_readers.c  who reads: the caller from memory, or threads that wait for the disk
 *   rocks_fail.c     how a failure is told; rocks_recovery.c: the recovery thread
 *   rocks_space.c    a disk that is nearly full
 *   rocks_damage.c   damaged table files; rocks_replace.c: doing without one
 *   rocks_open.c     opening only what is whole; rocks_options.c: how RocksDB is set up
 *   rocks_profile.c  how table files are made, by the folder's age
 *   rocks_drop.c     erasing; rocks_tombstones.c: what it leaves behind for iterators
 *   rocks_bulk.c     large values past the log
 *   rocks_size.c     sizes and statistics
 *   rocks_look.c     a database's files past the caches, for two:
 *   rocks_copy.c     backups
 *   rocks_scrub.c    verifying
 *   rocks_warm.c     what was hot is read back after a start
 *   rocks_status.c   RocksDB's errors */
#include "engine/rocks.h"

#include "engine/backends.h"
#include "engine/committer.h"

#define MEMORY_BYTES_DEFAULT (256 * MIB)
#define MEMORY_BYTES_MIN (16 * MIB)
#define CLOSE_FLUSH_BYTES (8 * MIB)

static uint64_t cache_bytes(const struct rocks *r)
{
    return r->memory_bytes - rocks_buffer_bytes(r->memory_bytes);
}

static int rocks_start(struct ctx *c, struct rocks *r, const struct engine_conf *conf)
{
    TRY(folder_open(c, conf->dir, &r->folder));
    rocks_scrub_clear(c, r);
    rocks_bulk_clear(c, r);
    rocks_profile_read(c, r);
    TRY(rocks_options_make(c, r, true));
    if (!r->folder.made)
        TRY(rocks_make_new(c, r));
    if (conf->accept_data_loss)
        TRY(rocks_accept_loss(c, r));
    else
        TRY(rocks_load_watermark(c, r));
    TRY(rocks_db_open(c, r, &r->handle));
    r->view = rocks_view_new(r->handle);
    rocks_warm_open(c, r, cache_bytes(r));
    TRY(committer_new(c, &rocks_commit_ops, r, &r->committer));
    if (!thread_start(&r->recovery, "wr-recovery", rocks_recovery_main, r))
        return fail(c, E_UNAVAILABLE, "The system gives no thread to keep the database with.");
    r->recovery_runs = true;
    if (!thread_start(&r->room, "wr-space", rocks_room, r))
        return fail(c, E_UNAVAILABLE, "The system gives no thread to watch the disk with.");
    r->room_runs = true;
    return rocks_readers_start(c, r);
}

/* All that was appended becomes durable, and the watermark says so. */
static void close_log(struct rocks *r)
{
    char *err = NULL;

    rocksdb_flush_wal(r->handle->db, 1, &err);
    if (!err) {
        rocks_mark(r, rocksdb_get_latest_sequence_number(r->handle->db));
        /* A long log would be replayed twice at the next start. */
        if (rocks_property(r->handle, "rocksdb.cur-size-all-mem-tables") > CLOSE_FLUSH_BYTES) {
            rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();

            rocksdb_flush(r->handle->db, o, &err);
            rocksdb_flushoptions_destroy(o);
            rocks_mark(r, r->watermark.sequence);
        }
    }
    if (err)
        log_error(r->log, "storage: cannot bring the log to an end: %s", err);
    rocksdb_free(err);
}

/* Frees what rocks_start() got, as far as it came. */
static void rocks_free(struct rocks *r)
{
    rocks_readers_stop(r);
    if (r->recovery_runs) {
        rocks_write_buffer_append(r); /* while the stall queue is still worked off */
        pthread_mutex_lock(&r->lock);
        r->closing = true;
        pthread_cond_broadcast(&r->wake);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->recovery, NULL);
        if (r->room_runs)
            pthread_join(r->room, NULL);
    }
    if (r->committer)
        committer_close(r->committer);
    rocks_write_buffers_free(r->write_buffers);
    rocks_scrub_close(r);
    mem_free(r->scrub.key);
    rocks_warm_close(r);
    rocks_damage_free(r);
    kept_range_free(&r->covered);
    if (r->handle && !atomic_load(&r->failed))
        close_log(r);
    rocks_view_unref(r->view);
    rocks_handle_unref(r->handle);
    watermark_sync(&r->watermark);
    watermark_close(&r->watermark);
    folder_close(&r->folder);
    if (r->options)
        rocksdb_options_destroy(r->options);
    rocksdb_writeoptions_destroy(r->append_now);
    rocksdb_writeoptions_destroy(r->append_waiting);
    rocks_cache_unref(r->cache);
    pthread_rwlock_destroy(&r->gate);
    pthread_mutex_destroy(&r->read_lock);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->wake);
    mem_free(r);
}

static void rocks_spare(struct engine *e, uint64_t less)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    uint64_t all = cache_bytes(r);

    rocksdb_cache_set_capacity(r->cache->lru, all - rocks_clamp(less, 0, all / 5 * 3));
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
    r->memory_bytes = rocks_clamp(r->memory_bytes, MEMORY_BYTES_MIN, (uint64_t)1 << 40);
    r->unsynced_bytes_max = engine_unsynced_bytes_max(conf);
    r->folder.lock_fd = -1;
    r->watermark.fd = -1;
    r->write_buffers = rocks_write_buffers_new();
    r->stalled_end = &r->stalled;
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
    rocksdb_lru_cache_options_set_capacity(lru, cache_bytes(r));
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

static const struct file_ops rocks_file_ops = {.checkpoint = rocks_checkpoint,
                                               .scrub = rocks_scrub,
                                               .watch_damage = rocks_damage_watch,
                                               .warm = rocks_warm,
                                               .remember = rocks_remember,
                                               .restore = rocks_restore};

const struct engine_ops engine_rocks = {
    .name = "rocks",
    .snapshots = &rocks_snapshot_ops,
    .files = &rocks_file_ops,
    .numbers = true,
    .open = rocks_open,
    .close = rocks_close,
    .get = rocks_get,
    .get_many = rocks_get_many,
    .scan = rocks_scan,
    .visit = rocks_visit,
    .apply = rocks_apply,
    .bulk = rocks_bulk,
    .sort = rocks_sort,
    .erase = rocks_erase,
    .discard = rocks_discard,
    .size = rocks_size,
    .stat = rocks_stat,
    .spare = rocks_spare,
};
