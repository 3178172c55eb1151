/* rocks.h: what the parts of the engine on RocksDB share. rocks.c tells the design. */
#ifndef ENGINE_ROCKS_H
#define ENGINE_ROCKS_H

#include "base/thread.h"
#include "engine/engine.h"
#include "engine/folder.h"
#include "engine/hit_rate.h"
#include "engine/kept_range.h"
#include "engine/watermark.h"

#include <rocksdb/c.h>
#include <stdatomic.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

#define READAHEAD_BYTES 262144 /* for pages at least this large */
#define WARM_EVERY 64          /* of so many gets of clients, one is noted */
#define INFO_LOG_OFF 6         /* of an enum that RocksDB's C header takes but does not name */

struct pool;
struct committer;
struct committer_ops;
struct warm_state;
struct write_buffers;

/* What is known about the database's range tombstones: rocks_tombstones.c. */
struct tombstones {
    atomic_uint doubt;   /* 0: it has none; else another number with each that is written */
    atomic_uint running; /* erasures that may write one at this moment */
    /* The room thread's. */
    unsigned looked_at; /* the doubt at its last look */
    int64_t pause_us, next_us;
};

/* An open database. */
struct handle {
    struct rocks *rocks;
    rocksdb_t *db;
    rocksdb_readoptions_t *latest;
    rocksdb_readoptions_t *cached; /* likewise, what is in memory */
    atomic_bool compaction_off;    /* RocksDB begins none by itself: rocks_space.c */
    struct tombstones tombstones;
    atomic_uint refs;
};

/* A point in time that readers share. */
struct view {
    struct handle *handle;
    const rocksdb_snapshot_t *snapshot;
    rocksdb_readoptions_t *cached; /* at the snapshot, what is in memory */
    rocksdb_readoptions_t *all;    /* at the snapshot */
    uint64_t sequence;             /* everything up to it is in the view */
    atomic_uint refs;
};

/* A view that one request keeps (engine.h), in the engine's list of them until it is revoked. */
struct rocks_snapshot {
    struct snapshot base;
    struct rocks *rocks;
    int64_t deadline_ms; /* monotonic */
    /* Under read_lock. */
    struct view *view; /* NULL: revoked */
    struct rocks_snapshot *next, **link;
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
    bool grows;                  /* is not taken on a nearly full disk (write_batch_grows()) */
    bool is_system;              /* to the system partition: it is always taken */
    size_t count;     /* it is a buffer (rocks_write_buffer.c) of so many batches; 0: it is none */
    size_t announced; /* so many of them the committer knows of */
    uint64_t depends_on; /* the buffer that it was decided by, or that it is; 0: none */
    apply_done done;
    void *arg;
};

/* What waits in the stall queue: a write, or a LATEST read. */
struct stalled {
    struct stalled *next;
    struct write write;
    struct ctx *c; /* of the read */
    struct get *get;
    struct scan *scan;
    int64_t since_us;
};

/* A second look at a database's files, past all caches. */
struct rocks_look {
    rocksdb_options_t *options;
    rocksdb_t *db;
    rocksdb_readoptions_t *read;
    rocksdb_iterator_t *it;
};

/* The scrub's place; its one thread's. */
struct scrub_state {
    struct rocks_look look; /* db NULL: none is open */
    char *dir;
    int64_t since_us;
    void *key; /* go on from here; NULL: from the first key */
    size_t key_len;
    bool cached; /* the file system does not do without its cache */
};

/* A table file that was found damaged, and why; then where, once that was looked for. */
struct damage {
    struct damage *next;
    char table[24]; /* "000012.sst" */
    char *text;
    struct kept_range gap; /* the keys between which it lies; none: not known yet */
    bool told;
};

/* Who wants to hear of damage (file_ops.watch_damage). */
struct damage_watch {
    void (*bell)(void *arg); /* NULL: nobody */
    void *arg;
};

/* A table file of the database. */
struct table_file {
    bytes first, last; /* its keys */
    int level;
};

struct rocks {
    struct engine base;
    struct clock *clock;
    struct log *log;
    bool no_sync;
    uint64_t memory_bytes;
    uint64_t unsynced_bytes_max;
    struct folder folder;
    struct watermark watermark; /* the committer's, once that runs, like the next two */
    struct manifest doubtful;   /* how far it goes since an error was seen; number 0: none was */
    uint64_t errors_seen;       /* in the background, since it was opened */
    struct cache *cache;
    const struct rocks_profile *profile;
    rocksdb_options_t *options;
    rocksdb_writeoptions_t *append_now, *append_waiting;
    struct committer *committer;
    struct write_buffers *write_buffers;
    struct pool *point_readers, *scan_readers; /* rocks_readers.c */
    atomic_ullong disk_reads;                  /* that these were given */
    struct hit_rate hit_rate;                  /* of requests' gets */
    atomic_ullong aborted_to;                  /* write buffers up to this number are aborted */
    uint64_t number; /* the last one given to an edit; under the write buffers' lock */
    pthread_rwlock_t gate;

    pthread_mutex_t read_lock; /* of the two pointers; each holds a reference */
    struct handle *handle;     /* NULL while the database is reopened */
    struct view *view;
    struct rocks_snapshot *snapshots; /* under read_lock, too */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;  /* the recovery thread has something to do */
    pthread_t recovery, room;
    bool recovery_runs, room_runs;
    bool out_of_files;     /* the last try to open failed for that; the recovery thread's */
    atomic_bool squeezing; /* the room thread compacts, and uses the database */
    atomic_bool erased;    /* files may have been left behind (rocks_obsolete.c) */
    bool closing;
    struct stalled *stalled, **stalled_end;
    atomic_uint stall_count; /* written under the lock, read without */
    atomic_int failed;       /* 0, or what apply() answers; likewise */
    char reason[160];
    uint64_t stalls;
    struct damage *damages;
    atomic_uint damage_count; /* written under the lock, read without */
    struct damage_watch damage_watch;
    struct kept_range covered; /* by range tombstones, which are to be compacted away */

    struct scrub_state scrub;
    atomic_ullong bulk_files; /* made so far: their names */

    struct warm_state *warm;
    atomic_ullong gets; /* of clients, as far as they may be noted */

    atomic_ullong acked_at_once; /* barriers that found nothing to wait for */
    atomic_llong space_checked_us;
    atomic_bool space_short;
};

/* What a read goes through. */
struct entry {
    struct handle *handle;
    struct view *view; /* NULL: latest */
};

static inline uint64_t rocks_clamp(uint64_t n, uint64_t min, uint64_t max)
{
    return n < min ? min : n > max ? max : n;
}

/* What depends on this write buffer (0: on none) has come to nothing. */
static inline bool rocks_is_aborted(struct rocks *r, uint64_t depends_on)
{
    return depends_on && depends_on <= atomic_load(&r->aborted_to);
}

/* ---- rocks_status.c */

/* The E_* code that RocksDB's text stands for. */
int rocks_status_code(const char *text);
/* Records RocksDB's error as the request's and frees its text. */
int rocks_status_fail(struct ctx *c, char *err);
int rocks_request_fail(struct ctx *c, char *err);
/* The name of the table file that an error text of RocksDB is about ("000012.sst"), in the arena;
 * empty if it names none. */
bytes rocks_table_named(struct ctx *c, const char *text);
/* An error text with the folder's path in place of that of the copy that was looked at. */
const char *rocks_text_moved(struct ctx *c, const char *text, const char *copy, const char *folder);

/* ---- rocks_view.c */

void rocks_cache_unref(struct cache *cache);
/* Takes over the database, which is closed with the last reference. `flushed`: all that it had when
 * it was opened is in table files. */
struct handle *rocks_handle_new(struct rocks *r, rocksdb_t *db, bool flushed);
/* What reads are made with that end at a block which is not in memory. */
void rocks_options_cached(rocksdb_readoptions_t *o);
void rocks_handle_unref(struct handle *h);
/* One of RocksDB's numbers; 0 if it does not give it. */
uint64_t rocks_property(struct handle *h, const char *name);
struct view *rocks_view_new(struct handle *h);
void rocks_view_unref(struct view *v);
/* Takes a reference to what a read goes through; E_UNAVAILABLE while the database is reopened. */
int rocks_enter(struct ctx *c, struct rocks *r, enum engine_view view, struct entry *in);
/* The same at the snapshot, if that is not NULL; E_BUSY: it was revoked, or is past its end. */
int rocks_enter_at(struct ctx *c, struct rocks *r, struct snapshot *snapshot, enum engine_view view,
                   struct entry *in);
void rocks_leave(struct entry *in);

/* ---- rocks_snapshot.c */

extern const struct snapshot_ops rocks_snapshot_ops;
/* Revokes the snapshots that are past their end, or all. */
void rocks_snapshots_revoke(struct rocks *r, bool all);

/* ---- rocks_space.c */

/* Little is left: only deletions are to be taken. Asks the system only now and then. */
bool rocks_space_short(struct rocks *r);
/* There is room for what opening writes. */
bool rocks_space_to_open(struct rocks *r);
/* There is room for compacting all that is due. */
bool rocks_space_to_compact(struct rocks *r, uint64_t due);
/* The bytes that RocksDB thinks it has to compact. */
uint64_t rocks_compaction_due(rocksdb_t *db);
/* A range tombstone may lie there, which keeps bulks out: the room thread compacts it away. */
void rocks_covered_add(struct rocks *r, const struct key_range *range);
/* The room thread: lets RocksDB compact by itself, or does it under watch. */
void *rocks_room(void *arg);

/* ---- rocks_tombstones.c */

/* `buffered`: write buffers may have range tombstones, too. */
void rocks_tombstones_init(struct tombstones *t, bool buffered);
/* Around the writing of a range tombstone, and the compaction that is to take it away. */
void rocks_tombstones_begin(struct handle *h);
void rocks_tombstones_end(struct handle *h);
/* There is none that a view could see which was taken before this is asked. */
static inline bool rocks_tombstones_none(struct handle *h)
{
    return atomic_load(&h->tombstones.doubt) == 0;
}
/* Now and then, by the room thread: are they gone? */
void rocks_tombstones_look(struct rocks *r, struct handle *h);

/* rocks_obsolete.c: now and then, by the room thread: after keys were erased, sees to it that no
 * table file stays in the folder which nobody refers to any more. */
void rocks_obsolete_look(struct rocks *r, struct handle *h);

/* ---- rocks_stall.c */

/* Queues a write, or a read that must see all earlier ones, in the stall queue. */
void rocks_stalled_add(struct rocks *r, struct stalled slow);
/* Takes the first out of the queue, which is then the caller's to free; NULL: it is empty. */
struct stalled *rocks_stalled_take(struct rocks *r);

/* ---- rocks_append.c */

/* Adds an edit, copying it. */
void rocks_edit(rocksdb_writebatch_t *edits, enum edit_type type, bytes key, bytes value);
/* Appends a write and hands it to the committer. The caller is alone with the log as far as the
 * write needs it (see "The gate", and rocks_drain.c). E_BUSY: stalled, may be tried again; else an
 * error, and nothing changed unless it is E_UNSURE. */
int rocks_append_now(struct rocks *r, const struct write *w, bool wait);
/* Appends a write, or queues it in the stall queue. E_OK: it belongs to others now. Else nothing
 * has changed, unless it is E_UNSURE, and its completion is the caller's to call; its edits are
 * freed either way. Takes the gate. */
int rocks_append(struct rocks *r, const struct write *w);

/* ---- rocks_write.c */

/* Submits and sleeps until it is durable. Takes ownership of edits (NULL: a barrier). */
int rocks_write_and_wait(struct rocks *r, rocksdb_writebatch_t *edits);
void rocks_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                 void *arg);

/* ---- rocks_drain.c */

/* Works off the stall queue until it is empty. Only the recovery thread calls it. */
void rocks_stalled_drain(struct rocks *r);

/* ---- rocks_write_buffer.c */

struct write_buffers *rocks_write_buffers_new(void);
void rocks_write_buffers_free(struct write_buffers *x);
/* Batches that have not been appended: their bytes; whether there are any. */
size_t rocks_write_buffer_bytes(struct rocks *r);
bool rocks_write_buffer_is_empty(struct rocks *r);
/* True: such a batch of `size` bytes may gather. */
bool rocks_write_buffer_takes(const struct write_batch *b, size_t size);
/* Takes over a batch, copying it; done() follows. On an error it does not, and nothing changed. */
int rocks_write_buffer_add(struct rocks *r, const struct write_batch *b, size_t size,
                           apply_done done, void *arg);
/* Appends what has gathered: when it returns, all that was added before is in the log, in the
 * stall queue, or refused. Any thread, but not within rocks_write_buffer_hold(). */
void rocks_write_buffer_append(struct rocks *r);
/* The buffers are empty, and stay so until rocks_write_buffer_release(). For a moment. */
void rocks_write_buffer_hold(struct rocks *r);
void rocks_write_buffer_release(struct rocks *r);
/* True: the key's newest edit is in a buffer; *code and g are the answer. */
bool rocks_write_buffer_get(struct ctx *c, struct rocks *r, struct get *g, int *code);
/* A buffer has come to nothing: so does what may rest on it. Before it is out of sight. */
void rocks_write_buffer_abort(struct rocks *r);

/* ---- rocks_number.c */

/* The database is about to be used: numbers go on above all that can be in it. Within
 * rocks_write_buffer_hold(): nobody draws meanwhile. */
int rocks_numbers_open(struct ctx *c, struct rocks *r, rocksdb_t *db);
/* The next number. Under the write buffers' lock, from which on nobody overtakes. */
uint64_t rocks_number_draw(struct rocks *r);
/* Adds that `number` was drawn, the last one of the batch. */
void rocks_number_mark(rocksdb_writebatch_t *edits, uint64_t number);
/* Adds the batch's numbered edits, of which there are some, to its others. Within
 * rocks_write_buffer_hold(), which lasts until they are appended. */
void rocks_number_edits(struct rocks *r, const struct write_batch *b, rocksdb_writebatch_t *edits);

/* ---- rocks_commit.c */

extern const struct committer_ops rocks_commit_ops;
/* Remembers how far acknowledgements go, and the MANIFEST that lists their table files. */
int rocks_mark(struct rocks *r, uint64_t sequence);

/* ---- rocks_profile.c */

/* How table files are made. */
struct rocks_profile {
    size_t block_bytes;
    int bottom; /* compression of the last level, which has nearly all; the others have LZ4 */
};

/* The folder's own; the newest one if it is still to be made. */
void rocks_profile_read(struct ctx *c, struct rocks *r);
/* Writes its number into a database's folder that is being made. */
int rocks_profile_write(struct ctx *c, const struct rocks *r, const char *db);

/* ---- rocks_options.c */

/* What of memory_bytes is for write buffers; the block cache has the rest. */
uint64_t rocks_buffer_bytes(uint64_t memory_bytes);
/* How much one compaction of RocksDB's choice reads at most, if level 0 does not grow past where
 * writes begin to wait. */
uint64_t rocks_compaction_bytes(uint64_t memory_bytes);
/* `verify_logs`: every synced log must be there and whole. */
int rocks_options_make(struct ctx *c, struct rocks *r, bool verify_logs);
/* Removes what RocksDB leaves each time it fails to write its options file: it has no name for our
 * level of its diary, gives up, and we need no such file. */
void rocks_options_tidy(struct rocks *r);

/* ---- rocks_open.c */

/* Opens read-only, which replays the log without changing anything. */
int rocks_open_to_read(struct ctx *c, struct rocks *r, rocksdb_t **out);
/* Opens the database if it holds all that was acknowledged. */
int rocks_db_open(struct ctx *c, struct rocks *r, struct handle **out);
/* Makes what a new folder needs (folder.h has the order). */
int rocks_make_new(struct ctx *c, struct rocks *r);
/* Opens what is there, and lets the watermark be what is really found. */
int rocks_accept_loss(struct ctx *c, struct rocks *r);
/* Opens the watermark; without one nobody can tell whether anything is missing. */
int rocks_load_watermark(struct ctx *c, struct rocks *r);

/* ---- rocks_fail.c */

/* From now on nothing is acknowledged; the recovery thread reopens. The first reason stays. */
void rocks_fail(struct rocks *r, int code, const char *what, const char *text);
void rocks_sleep_us(int64_t us);
/* Sleeps. False: the engine is being closed. */
bool rocks_pause(struct rocks *r, int ms);
bool rocks_closing(struct rocks *r);

/* ---- rocks_damage.c */

/* An error text of RocksDB in the background; the table file that it names, if any, is damaged. */
void rocks_damage_note(struct rocks *r, const char *text);
/* It is no more. */
void rocks_damage_forget(struct rocks *r, const char *table);
void rocks_damage_free(struct rocks *r);
/* Is there any damaged file? Then nothing may be compacted. */
static inline bool rocks_damage_is(struct rocks *r)
{
    return atomic_load(&r->damage_count) != 0;
}
/* The damaged files' names, in the arena. */
const char **rocks_damage_names(struct ctx *c, struct rocks *r, size_t *count);
/* Forgets those that the database does not have any more. */
void rocks_damage_look(struct rocks *r, struct handle *h);
/* False: the database has no such file. `out` is in the arena. */
bool rocks_table_find(struct ctx *c, rocksdb_t *db, const char *table, struct table_file *out);
/* Reading fails from a key on: up to the first that can be read again, or to `end`, in the
 * arena. */
void rocks_damage_gap(struct ctx *c, rocksdb_t *db, const rocksdb_readoptions_t *o, bytes from,
                      bytes end, struct key_range *gap);
/* It cannot be done without: what rocks_damage_tell() is to say, unless the gap is empty. */
void rocks_damage_stays(struct rocks *r, const char *table, const struct key_range *gap);
/* Tells of one damaged file that was not told of. False: there is none. */
bool rocks_damage_tell(struct ctx *c, struct rocks *r, struct scrub *s);
void rocks_damage_watch(struct engine *e, void (*bell)(void *arg), void *arg);
/* The least key behind another. */
bytes rocks_key_behind(struct arena *a, bytes key);

/* ---- rocks_replace.c */

/* Does without damaged files where nothing is lost by it. Nobody else has the database, which is
 * opened again for it; on an error it is closed. */
int rocks_replace(struct ctx *c, struct rocks *r, rocksdb_t **db);

/* ---- rocks_recovery.c */

/* The recovery thread: works off the stall queue, and reopens storage after a failure. */
void *rocks_recovery_main(void *arg);

/* ---- rocks_read.c */

/* At once, past the stall queue, and from the disk where it must be; a scan from that range on. */
int rocks_get_now(struct ctx *c, struct rocks *r, struct get *g);
int rocks_scan_now(struct ctx *c, struct rocks *r, struct scan *s, size_t from);
/* Of what is in memory alone, of a scan at most a page of each range; E_LATER: the disk has to be
 * asked, or a range tombstone heeded; for the ranges from *from on, those before have their
 * pages. A scan without a view is always E_LATER. */
int rocks_get_cached(struct ctx *c, struct rocks *r, struct get *g);
int rocks_scan_cached(struct ctx *c, struct rocks *r, struct scan *s, size_t *from);
/* Options for one range. The bounds are not copied: the range must outlive the iterator. */
rocksdb_readoptions_t *rocks_range_options(const struct key_range *range,
                                           const rocksdb_snapshot_t *snapshot);
void rocks_seek_start(rocksdb_iterator_t *it, const struct key_range *range);
/* Records what stopped an iterator, if it was not the end. */
int rocks_iterator_end(struct ctx *c, rocksdb_iterator_t *it);
/* The last key of the range; empty if there is none. */
int rocks_range_last(struct ctx *c, struct handle *h, const struct key_range *range, bytes *out);
int rocks_visit(struct ctx *c, struct engine *e, struct visit *w);

/* ---- rocks_readers.c */

int rocks_readers_start(struct ctx *c, struct rocks *r);
/* Once nobody asks any more. What is queued is read. */
void rocks_readers_stop(struct rocks *r);
int rocks_get(struct ctx *c, struct engine *e, struct get *g);
int rocks_get_many(struct ctx *c, struct engine *e, struct get_many *m);
int rocks_scan(struct ctx *c, struct engine *e, struct scan *s);

/* ---- rocks_drop.c */

/* Like drop, and the space of large values that stood in shared files comes back too. */
int rocks_erase(struct ctx *c, struct engine *e, const struct partition_spec *p);
int rocks_discard(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *left);

/* ---- rocks_bulk.c */

/* What a crash has left. */
void rocks_bulk_clear(struct ctx *c, struct rocks *r);
int rocks_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out);
int rocks_sort(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out);
/* The path of a new file in bulk/, which is made if it is not there. */
int rocks_bulk_path(struct ctx *c, struct rocks *r, const char *ending, const char **out);

/* ---- rocks_size.c */

int rocks_size(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out);
void rocks_stat(struct engine *e, struct engine_stat *out);

/* ---- rocks_look.c */

/* Opens the database in `dir` read-only. False with *err set; the look is then closed. */
bool rocks_look_open(const char *dir, bool cached, struct rocks_look *l, char **err);
/* A look that was not opened, or only half, is fine. */
void rocks_look_close(struct rocks_look *l);
bytes rocks_look_key(const struct rocks_look *l);
/* Goes to the first key that is not below `key`, or to the very first if `key` is empty, with
 * another iterator. */
void rocks_look_seek(struct rocks_look *l, bytes key);
/* Reads on until about bytes_max, the end, or an error in *err. */
void rocks_look_read(struct rocks_look *l, uint64_t bytes_max, uint64_t *done, char **err);

/* ---- rocks_copy.c */

/* RocksDB's own copy of the database as of now. */
int rocks_checkpoint_make(struct ctx *c, struct rocks *r, const char *dir, uint64_t *durable);
int rocks_checkpoint(struct ctx *c, struct engine *e, const char *dir);
int rocks_restore(struct ctx *c, const struct engine_conf *conf, const char *dir);

/* ---- rocks_scrub.c */

/* What a crash has left of the links. */
void rocks_scrub_clear(struct ctx *c, struct rocks *r);
void rocks_scrub_close(struct rocks *r);
int rocks_scrub(struct ctx *c, struct engine *e, struct scrub *s);

/* ---- rocks_warm.c */

/* Reads what was remembered; `cache_bytes` bounds how much is. */
void rocks_warm_open(struct ctx *c, struct rocks *r, uint64_t cache_bytes);
void rocks_warm_close(struct rocks *r); /* remembers; if it was not opened, nothing */
/* True as long as there is room for every key. */
bool rocks_warm_notes_all(const struct rocks *r);
void rocks_warm_note(struct rocks *r, bytes key);
/* A client gets this key: one of WARM_EVERY is noted. */
static inline void rocks_warm_got(struct rocks *r, bytes key)
{
    if (atomic_fetch_add_explicit(&r->gets, 1, memory_order_relaxed) % WARM_EVERY == 0 ||
        PORT_UNLIKELY(rocks_warm_notes_all(r)))
        rocks_warm_note(r, key);
}
int rocks_remember(struct ctx *c, struct engine *e);
int rocks_warm(struct ctx *c, struct engine *e, struct warm *step);

#endif
