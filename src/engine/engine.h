/* engine.h: an ordered map of byte strings, cut into partitions.
 *
 * Nothing above this header can name an engine; nothing below it knows what a table is.
 *
 * Keys and values are any bytes, NUL included; keys sort as unsigned bytes, a prefix first, and are
 * never empty. An engine hides its own limits. A partition is the unit of atomicity: one batch
 * touches one partition and lands whole or not at all. On an engine with one key space a partition
 * is only a range of it, splitting moves no byte, and a batch may touch any keys.
 *
 * Every engine has the methods of `struct engine_ops`. What only some have stands in tables of its
 * own, and a table that is there is the capability: `partitions`, `bus`, `snapshots`, `files`. The
 * inlines behind `struct engine_ops` ask for them by name.
 *
 * Completion. Reads (get, scan) either answer at once and return E_OK or an error, or return
 * E_LATER and call `done` exactly once, later, from a thread of the engine. Writes (apply) always
 * call `done` exactly once, possibly before they return. A completion must not block; it may call
 * the engine again. The structs passed in and all they point to must stay as they are until the
 * answer is there. Results live in the arena of `c`; they may be pinned in a cache, so release the
 * arena soon (it may outlive the engine). No iterator outlives a call: scan() gives one bounded
 * page, and the caller goes on from its last key. Pages that must be of one moment share a
 * snapshot.
 *
 * Who has `c`. After E_LATER the context belongs to the engine until `done`, so there is at most
 * one read under way for a context; a call of get_many() is one, whatever it asks for. apply() uses
 * it only until it returns, so there may be many; what fails later comes as a code without a text.
 * open, close, create, drop, repartition, erase, discard, size, bulk and what it gives, checkpoint,
 * scrub and restore may block: they are never called from a loop thread or a completion.
 *
 * Order. After apply() returned, a read at VIEW_LATEST by the same process sees the batch (or, on
 * an engine that answers later, is ordered behind it), whether or not it is durable yet. A read at
 * VIEW_DURABLE sees only what no crash can take back, and sees everything whose `done` was called
 * with E_OK.
 *
 * Outcome of apply: E_OK, it is durable; E_GUARD, a guard failed and nothing changed; E_UNSURE, the
 * answer was lost and it may or may not have happened, or may happen yet; any other error, nothing
 * changed (never E_INTERNAL, which tells a client "maybe"). E_PARTITION, from reads too: this is no
 * longer the partition of those keys, look it up again. A
 * retryable "not now" is E_BUSY (stalled, or too much unsynced); E_NO_SPACE, the disk is (nearly)
 * full, when batches of deletions alone, and batches to the system partition, are still taken;
 * E_UNAVAILABLE, writes are refused until storage that failed is open again. After E_UNSURE storage
 * may go back to what the disk holds, and a batch that was seen at VIEW_LATEST may be gone.
 *
 * Any thread may call anything at any time between open and close, except create, drop and
 * repartition of one and the same partition, which the caller keeps apart. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/ctx.h"

#include <stdatomic.h>

typedef uint64_t
    partition_id; /* never used again after drop; 0 is the system partition and always exists */
#define PARTITION_SYSTEM ((partition_id)0)

enum engine_view {
    VIEW_DURABLE, /* what clients may see */
    VIEW_LATEST,  /* for deciding, under the row lock */
};

/* [start, end); end empty: to the end of the map. */
struct key_range {
    bytes start;
    bytes end;
};

/* A point in time that several reads share: what VIEW_DURABLE showed when it was taken. Whoever
 * took it owns it until snapshot_release(), which comes before engine_close() and before anything
 * slow; one thread at a time uses it. It ends by itself at the deadline of the context that it was
 * taken with, after SNAPSHOT_MS_MAX at the latest, and when the engine reopens its storage: reads
 * with it then answer E_BUSY. The engine embeds it in its own struct. */
struct snapshot {
    struct engine *engine;
    bool revoked; /* a read found that storage was reopened: a new snapshot may serve as well */
};

/* Less than the grace after which the table layer erases garbage, past all snapshots. */
#define SNAPSHOT_MS_MAX 30000

struct get {
    partition_id partition;
    bytes key;
    enum engine_view view;
    struct snapshot *snapshot;   /* VIEW_DURABLE: as of then; NULL: as of now */
    bool once;                   /* a large value that is not soon read again: past the cache */
    bool read_pending;           /* VIEW_LATEST: the caller minds depends_on */
    void (*done)(struct get *g); /* used only after E_LATER */
    int code;                    /* set before done() */
    bool found;
    bytes value;
    bool durable; /* VIEW_LATEST: it is known that this cannot be lost; else it may come to nothing
                   */
    /* With `read_pending`: not 0 if what was found, or not found, may still come to nothing: the
     * engine may refuse the batch it is of, or lose it in a failure. It then goes into the batch
     * that is decided by it. */
    uint64_t depends_on;
};

/* Several gets in one call, of any partitions, each of its own moment. Where the engine answers
 * later, all of them are under way at the same time. */
struct get_many {
    struct get *gets; /* each with a code of its own; the `done` of each is not used */
    size_t count;
    /* A context for each get, which takes its value and the text of its failure. NULL: the call's
     * context is for all of them, and holds the text of one that failed. */
    struct ctx *const *contexts;
    void (*done)(struct get_many *m); /* used only after E_LATER; every get is answered then */

    struct engine *engine; /* the rest belongs to the engine */
    struct ctx *c;
    size_t at;
    struct get one;
};

struct kv {
    bytes key;
    bytes value;
};

/* One range's share of a scan: items in the order of the walk. `more` tells that the range goes on
 * behind the last item (there may be nothing left all the same). A page holds at least one item if
 * the range has any. */
struct page {
    struct kv *items;
    size_t count;
    size_t bytes; /* of keys and values in items */
    bool more;
};

/* Walks each range on its own, from start upwards or, backward, from end downwards, all at one
 * point in time as far as the engine can (with one key space: exactly). */
struct scan {
    partition_id partition;
    enum engine_view view;
    struct snapshot *snapshot; /* as of a get */
    const struct key_range *ranges;
    size_t range_count;
    bool backward;
    size_t items_max;   /* of each range; at least 1 */
    size_t bytes_max;   /* of each range; the item that passes it is the last */
    struct page *pages; /* out: one a range */
    void (*done)(struct scan *s);
    int code;
};

/* A walk through one range at VIEW_DURABLE, at one point in time, that copies nothing: each item is
 * handed over where the engine has it. It never answers later: decision 27 says why. A request's
 * thread must not wait for a disk, so its visit ends where that would have to be asked. */
struct visit {
    partition_id partition;
    struct key_range range;
    bool backward;
    /* Key and value are valid only during the call, which may read from the engine. False: enough.
     */
    bool (*take)(struct visit *v, bytes key, bytes value);
    /* Called instead when the next item is not in memory, or the engine cannot tell (RocksDB,
     * decision 31), and the visit ends: what is left can be scanned, as of this moment by a
     * snapshot (snapshot_ops.take). NULL: it is read from the disk meanwhile. */
    void (*cold)(struct visit *v);
    void *inside; /* the engine's, during the call */
};

/* What an engine has that gives snapshots. */
struct snapshot_ops {
    /* `during` NULL: as of now. Else it is called from take() of that visit: as of its moment. */
    int (*take)(struct ctx *c, struct engine *e, const struct visit *during, struct snapshot **out);
    void (*release)(struct snapshot *s);
};

/* "key still has this value" or, with absent set, "key is not there". */
struct guard {
    bytes key;
    bytes value;
    bool absent;
};

enum edit_type {
    EDIT_PUT,
    EDIT_DELETE,
    /* Only where engine_numbers(): the engine adds NUMBER_BYTES bytes to the key, a big-endian
     * number that it draws when the batch is appended. Numbers ascend strictly in the order in
     * which batches become visible, and in a batch in the order of its edits: who has seen n at
     * VIEW_DURABLE never finds a smaller one later, also after a crash. Gaps are allowed. A number
     * is the time when it was drawn, in microseconds of the wall clock, unless that was set back,
     * or stood: then it is above the one before. */
    EDIT_PUT_NUMBERED,
};

#define NUMBER_BYTES 8
/* The next number behind `last`. */
static inline uint64_t number_after(uint64_t last, struct clock *clock)
{
    uint64_t now = (uint64_t)clock_wall_us(clock);

    return now > last ? now : last + 1;
}
/* Keys that begin with so many zero bytes are the engine's own; walks through all keys meet them.
 */
#define ENGINE_OWN_BYTES 6

struct edit {
    enum edit_type type;
    bytes key;
    bytes value;
};

/* Guards and edits that land together or not at all. Edits count in order: the last one to a key
 * wins. A batch without edits is a barrier, which may carry guards on what was read: done() is
 * called when all that was applied before is durable. Guards, edits and their bytes stay where they
 * are until done() is called; the batch itself is used during the call only. */
/* Numbers that a batch puts into its partition, of a sequence in which whoever begins after another
 * has ended shall have a greater one, whatever the processes' clocks say. The engine keeps the
 * greatest of a partition with it. A batch that is behind what another process put there is refused
 * (E_GUARD), and draws anew above *met; not one that is behind a number above `reach`, which its
 * process could not draw. */
struct rising {
    uint64_t least, most; /* of the batch */
    uint64_t reach;
    _Atomic uint64_t *met; /* raised to the greatest number that was found */
};

struct write_batch {
    partition_id partition;
    const struct guard *guards;
    size_t guard_count;
    const struct edit *edits;
    size_t edit_count;
    uint64_t depends_on; /* the least of those of the gets that minded, but 0; if what they read
                          * came to nothing, this does too (E_BUSY) */
    /* On an engine with a bus: it was made by what this lease covers, when that had been lost
     * `lease_lost` times. If the lease is lost before the batch is sent, the batch comes to nothing
     * (E_BUSY). NULL: no matter. */
    const struct lease *lease;
    uint64_t lease_lost;
    bool frees;                  /* puts a few bytes, in order to remove more soon */
    bool grows;                  /* no removing needs it, though it is the system partition's */
    const struct rising *rising; /* on an engine with a bus; NULL: none */
};

/* It writes more than the catalog needs for removing; batches that do not are still taken where
 * space is short. */
static inline bool write_batch_grows(const struct write_batch *b)
{
    bool puts = false;

    for (size_t i = 0; i < b->edit_count; i++)
        puts |= b->edits[i].type != EDIT_DELETE;
    return puts && !b->frees && (b->grows || b->partition != PARTITION_SYSTEM);
}

/* What a process knows by notifications, it knows for a time only: see ENGINE_LEASE_MS. The owner
 * of a lease counts how often it ran out, and moves its end while notifications come. */
struct lease {
    _Atomic uint64_t lost;
    _Atomic int64_t until_ms; /* monotonic */
};

typedef void (*apply_done)(void *arg, int code);

/* A partition: the key ranges its rows live in (one for each kind of key). */
struct partition_spec {
    partition_id id;
    const struct key_range *ranges;
    size_t range_count;
};

/* What only some engines ask for; engine_ops.options names them. */
struct engine_option {
    const char *name;
    const char *value; /* "": as if it were not given */
};

struct engine_conf {
    const char *dir;             /* "" for engines without a folder */
    uint64_t memory_bytes;       /* caches and write buffers together; 0: 256 MiB */
    bool no_sync;                /* complete writes without syncing */
    bool accept_data_loss;       /* open what is left though acknowledged writes are missing */
    uint64_t unsynced_bytes_max; /* apply answers E_BUSY past it; 0: by memory_bytes */
    const struct engine_option *options;
    size_t option_count;
    struct clock *clock;
    struct log *log;
};

/* What conf.unsynced_bytes_max stands for: if it is 0, as much as write buffers may take (2/7 of
 * memory_bytes), from 8 to 128 MiB, so that writes behind a disk that hangs stay within --memory.
 */
uint64_t engine_unsynced_bytes_max(const struct engine_conf *conf);

struct engine_stat {
    bool writable; /* false: reads only; `reason` says why */
    char reason[160];
    uint64_t syncs; /* of the log */
    uint64_t acked; /* batches whose done() was called with E_OK */
    uint64_t unsynced_bytes;
    uint64_t bytes_stored; /* approximate, on disk and in write buffers */
    uint64_t stalls;       /* applies that had to wait for the engine */
    uint64_t disk_reads;   /* of requests: of what was not in memory, or was taken for such */
    uint64_t remote_reads; /* operations sent to a cluster, where that is where things are stored */
    uint64_t remote_writes;
    uint64_t remote_read_bytes;    /* of keys and values that came with their answers */
    uint64_t remote_written_bytes; /* and of those that were sent */
};

/* One step of a pass over everything that is stored. */
struct scrub {
    uint64_t bytes_max;     /* in: stop after about so many; 0: only tell what came up otherwise */
    uint64_t bytes;         /* of keys and values that were verified */
    bool ended;             /* the pass came to its end; the next step begins another one */
    const char *damage;     /* NULL, or one line: which file, what is wrong with it */
    struct key_range range; /* with damage: the keys it may affect, which were skipped */
};

/* One step of reading back what was hot when the engine was closed. */
struct warm {
    uint64_t bytes_max; /* in: stop after about so many */
    uint64_t bytes;     /* read, about */
    bool gave_way;      /* it stopped because clients' reads wait for the disk */
    bool ended;         /* there is no more */
};

/* Many large values on their way into the map, past the log where the engine can. One thread at a
 * time; each call may block. Embedded in the engine's own struct. */
struct bulk {
    const struct bulk_ops *ops;
};

struct bulk_ops {
    /* Keys ascend, and none of them was ever in the map or will be written by anybody else. Readers
     * may see them from now on, or only after finish(). E_NO_SPACE, E_UNAVAILABLE: give it up. */
    int (*put)(struct ctx *c, struct bulk *b, bytes key, bytes value);
    /* All of it is durable and seen by every view on E_OK, also by those that are older. After an
     * error any part of it may be there. */
    int (*finish)(struct ctx *c, struct bulk *b);
    /* Frees. What was not finished may stay in the map until erase() removes it. */
    void (*close)(struct bulk *b);
    /* Of one that takes keys in any order: some milliseconds of what has to be done, once all were
     * put, before finish(). *written grows by what was written; *ended: that is all. NULL: there is
     * nothing. */
    int (*merge)(struct ctx *c, struct bulk *b, uint64_t *written, bool *ended);
};

/* What another process that shares the data published. The engine embeds it in its own. */
struct notification {
    bytes text; /* valid until engine_notification_done() */
};

/* What others answered to a query, valid during the call that hands them over. */
struct answers {
    const bytes *each; /* of those that gave one */
    size_t count;
    size_t silent; /* how many others subscribed and gave none, or not in time */
};

/* What a process knows of the data by notifications alone it may use for so long after
 * engine_lease_age_ms() was 0. */
#define ENGINE_LEASE_MS 15000
/* How long publish() waits at most for processes that are silent: by then what they know has run
 * out, and what they had begun with it has ended. */
#define ENGINE_PUBLISH_MS (ENGINE_LEASE_MS + 3000)

struct engine {
    const struct engine_ops *ops; /* first member of every engine's own struct */
};

/* What an engine has whose partitions are stored apart. Without it there is one key space: any
 * batch is atomic, and creating or splitting a partition changes nothing that is stored. */
struct partition_ops {
    uint64_t bytes_max; /* what a partition should not grow past; 0: it does not matter */
    /* Makes `count` partitions. May be called again with the same ones, also after an error, when
     * any of them may have been made: what is there stays as it is. */
    int (*create)(struct ctx *c, struct engine *e, const struct partition_spec *p, size_t count);
    /* Removes the partition and every key in its ranges, durably; may take long, may be called
     * again after a crash. Sleeps: not for a loop thread or a completion. Nobody else may write
     * there. E_BUSY, E_UNAVAILABLE, E_UNSURE: call again. */
    int (*drop)(struct ctx *c, struct engine *e, const struct partition_spec *p);
    /* Makes the partitions `to` out of the partitions `from`, which are retired: a split (1 to n)
     * or a merge (n to 1). The ranges of both sides together are the same; no key changes. May be
     * called again with the same arguments after a crash, by any process. */
    int (*repartition)(struct ctx *c, struct engine *e, const struct partition_spec *from,
                       size_t from_count, const struct partition_spec *to, size_t to_count);
};

/* What an engine has whose data other processes write too: how these hear of each other. Without it
 * this process is the sole writer: row locks suffice, and guards may be left out. */
struct bus_ops {
    /* From now on on_notification(arg, n) is called, on a thread of the engine that it must not
     * block, for everything that other processes publish or query; each notification ends with
     * done(), soon, whose `answer` goes to the process that queried (empty: none). Blocks. May be
     * called again when the lease is lost; what was published meanwhile is not delivered.
     * on_notification NULL: no more calls once this returns. */
    int (*subscribe)(struct ctx *c, struct engine *e,
                     void (*on_notification)(void *arg, struct notification *n), void *arg);
    void (*done)(struct engine *e, struct notification *n, bytes answer);
    /* Notifies all subscribers; done(arg, E_OK) when every one of them has called done() for it.
     * E_BUSY: wait_ms (at most ENGINE_PUBLISH_MS) have passed, and some have not; after
     * ENGINE_PUBLISH_MS these have lost their lease. E_UNSURE: perhaps no subscriber was notified.
     */
    void (*publish)(struct engine *e, bytes text, int64_t wait_ms,
                    void (*done)(void *arg, int code), void *arg);
    /* As publish(), but it ends with what was answered until then. done(arg, NULL): no subscriber
     * could be notified. */
    void (*query)(struct engine *e, bytes text, int64_t wait_ms,
                  void (*done)(void *arg, const struct answers *a), void *arg);
    /* How long ago it was sure that no notification was missed, and all of them were done.
     * INT64_MAX: the lease is lost. */
    int64_t (*lease_age_ms)(struct engine *e);
    /* This process is about to close the engine: each publish() and query() that is under way, and
     * each that comes, is done at once (E_UNSURE, NULL). Subscribers may be notified all the same.
     */
    void (*leave)(struct engine *e);
};

/* What an engine has that keeps a folder of files. */
struct file_ops {
    /* Makes `dir` (missing or empty; its parent exists) a folder that open() takes, with all data
     * as of one moment between call and return: whole batches, among them all whose done() was
     * called before. Durable on return; after a failure nothing is left, and what a crash leaves is
     * refused by open(). E_PARAMETER: not a folder to write into. */
    int (*checkpoint)(struct ctx *c, struct engine *e, const char *dir);
    /* Verifies a piece of what is stored against its checksums, from the medium as far as the
     * system allows it. One thread at a time. Damage that is found is no failure of the call; any
     * error ends the pass. E_BUSY: not now. */
    int (*scrub)(struct ctx *c, struct engine *e, struct scrub *s);
    /* From now on bell(arg) is called, on a thread of the engine that it must not block and from
     * which it must not call the engine, when scrub() has damage to tell that came up otherwise.
     * bell NULL: no more calls once this returns. */
    void (*watch_damage)(struct engine *e, void (*bell)(void *arg), void *arg);
    /* Reads a piece of what was read often before the engine was closed last, so that it is in the
     * cache; nothing above counts it as a read. One thread at a time. An error ends it. */
    int (*warm)(struct ctx *c, struct engine *e, struct warm *w);
    /* Writes down what was read lately, for the next start; close() does that, too. */
    int (*remember)(struct ctx *c, struct engine *e);
    /* Makes conf->dir (as for checkpoint) a copy of the folder `from`, which is not open anywhere,
     * once every block of the copy has been verified. conf->dir "": only verifies `from`.
     * E_CORRUPT, E_DATA_LOSS: damaged, or not complete. */
    int (*restore)(struct ctx *c, const struct engine_conf *conf, const char *from);
};

struct engine_ops {
    const char *name;
    const char *const *options; /* names; a NULL ends them. NULL: none */

    const struct partition_ops *partitions; /* NULL: one key space */
    const struct bus_ops *bus;              /* NULL: this process is the sole writer */
    const struct snapshot_ops *snapshots;   /* NULL: it gives none */
    const struct file_ops *files;           /* NULL: it keeps none */
    bool numbers;                           /* EDIT_PUT_NUMBERED is taken */

    int (*open)(struct ctx *c, const struct engine_conf *conf, struct engine **out);
    /* Waits for writes under way, makes them durable, calls their completions, frees. */
    void (*close)(struct engine *e);
    int (*get)(struct ctx *c, struct engine *e, struct get *g);
    /* E_OK: every get is answered, well or not. E_LATER. NULL: one get after the other is asked. */
    int (*get_many)(struct ctx *c, struct engine *e, struct get_many *m);
    int (*scan)(struct ctx *c, struct engine *e, struct scan *s);
    /* NULL: it cannot. Where it can, reads at VIEW_DURABLE answer at once. */
    int (*visit)(struct ctx *c, struct engine *e, struct visit *v);
    void (*apply)(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                  void *arg);
    int (*bulk)(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out);
    /* One whose keys come in any order, none twice, and are of values of any size; and which lands
     * whole or not at all, whatever happens. In its first key and its last, and between them, there
     * is nothing else, and was nothing since the last key there was erased. put() may answer
     * E_UNSUPPORTED: there are too many for the memory that it has. NULL: the engine cannot. */
    int (*sort)(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out);
    /* Removes every key in the ranges of `p`, which are parts of the partition's, durably, and
     * frees their space soon. Nobody reads or writes there any more. Takes long, may be called
     * again, and answers like drop(). */
    int (*erase)(struct ctx *c, struct engine *e, const struct partition_spec *p);
    /* As erase(), but only what costs next to nothing. *left: about how many bytes remain. What was
     * put over other values or deleted there may show again: for keys that are put once and that
     * nobody asks for any more. NULL: erase() costs as little. */
    int (*discard)(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *left);
    /* Approximate stored bytes in the ranges of `p`, write buffers included; they may be parts of
     * the partition's. */
    int (*size)(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out);
    void (*stat)(struct engine *e, struct engine_stat *out);
    /* From now on caches do with `less` bytes less than memory_bytes gives them, but keep two
     * fifths. Never waits. NULL: there are none. */
    void (*spare)(struct engine *e, uint64_t less);
};

/* Is there one key space, in which any batch is atomic and a partition is a range only? */
static inline bool engine_one_key_space(const struct engine *e)
{
    return !e->ops->partitions;
}

/* True: many gets in one call take less than one call each. */
static inline bool engine_gets_many(const struct engine *e)
{
    return e->ops->get_many != NULL;
}

/* Do other processes write too? A row lock then keeps out our own alone, and guards decide. */
static inline bool engine_is_shared(const struct engine *e)
{
    return e->ops->bus != NULL;
}

/* Do checkpoint, scrub and restore work? */
static inline bool engine_has_files(const struct engine *e)
{
    return e->ops->files != NULL;
}

/* Does engine_sort() work? */
static inline bool engine_sorts(const struct engine *e)
{
    return e->ops->sort != NULL;
}

/* Does it take EDIT_PUT_NUMBERED? */
static inline bool engine_numbers(const struct engine *e)
{
    return e->ops->numbers;
}

/* Does visit() work, and do reads at VIEW_DURABLE answer at once? */
static inline bool engine_can_visit(const struct engine *e)
{
    return e->ops->visit != NULL;
}

/* Opens the engine of that name. Unknown, or an option that is not the engine's: E_PARAMETER with a
 * text that lists the known ones. */
int engine_open(struct ctx *c, const char *name, const struct engine_conf *conf,
                struct engine **out);
void engine_close(struct engine *e);
/* What a partition should not grow past on the engine of that name; 0: it does not matter. */
uint64_t engine_partition_bytes(const char *name);
/* Has the engine of that name the option? */
bool engine_has_option(const char *name, const char *option);
/* With one key space there is nothing to create: E_OK. */
int engine_create(struct ctx *c, struct engine *e, const struct partition_spec *p, size_t count);
/* With one key space it is engine_erase(). */
int engine_drop(struct ctx *c, struct engine *e, const struct partition_spec *p);
/* With one key space there is nothing to do: E_OK. */
int engine_repartition(struct ctx *c, struct engine *e, const struct partition_spec *from,
                       size_t from_count, const struct partition_spec *to, size_t to_count);
int engine_erase(struct ctx *c, struct engine *e, const struct partition_spec *p);
int engine_discard(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *left);
int engine_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out);
/* Only where engine_sorts(). */
int engine_sort(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out);
int bulk_put(struct ctx *c, struct bulk *b, bytes key, bytes value);
int bulk_merge(struct ctx *c, struct bulk *b, uint64_t *written, bool *ended);
int bulk_finish(struct ctx *c, struct bulk *b);
void bulk_close(struct bulk *b); /* NULL is allowed */
int engine_get(struct ctx *c, struct engine *e, struct get *g);
/* E_OK: every get is answered, each with its own code. E_LATER: m->done() is called. Nothing else.
 */
int engine_get_many(struct ctx *c, struct engine *e, struct get_many *m);
/* Where the result of gets[i] goes. */
static inline struct ctx *get_many_ctx(const struct get_many *m, size_t i)
{
    return m->contexts ? m->contexts[i] : m->c;
}
int engine_scan(struct ctx *c, struct engine *e, struct scan *s);
/* Only where engine_can_visit(). */
int engine_visit(struct ctx *c, struct engine *e, struct visit *v);
/* As snapshot_ops.take; E_OK with *out NULL: the engine gives no snapshots. E_UNAVAILABLE: not
 * while storage is being reopened. */
int engine_snapshot(struct ctx *c, struct engine *e, const struct visit *during,
                    struct snapshot **out);
void snapshot_release(struct snapshot *s); /* NULL is allowed */
void engine_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                  void *arg);
int engine_size(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out);
void engine_stat(struct engine *e, struct engine_stat *out);
void engine_spare(struct engine *e, uint64_t less);
/* The next six only where engine_is_shared(); leave() is nothing elsewhere. */
int engine_subscribe(struct ctx *c, struct engine *e,
                     void (*on_notification)(void *arg, struct notification *n), void *arg);
void engine_notification_done(struct engine *e, struct notification *n, bytes answer);
void engine_publish(struct engine *e, bytes text, int64_t wait_ms,
                    void (*done)(void *arg, int code), void *arg);
void engine_query(struct engine *e, bytes text, int64_t wait_ms,
                  void (*done)(void *arg, const struct answers *a), void *arg);
int64_t engine_lease_age_ms(struct engine *e);
void engine_leave(struct engine *e);
/* E_UNSUPPORTED where the engine keeps no files. */
int engine_checkpoint(struct ctx *c, struct engine *e, const char *dir);
int engine_scrub(struct ctx *c, struct engine *e, struct scrub *s);
/* Only where engine_has_files(). */
void engine_watch_damage(struct engine *e, void (*bell)(void *arg), void *arg);
int engine_warm(struct ctx *c, struct engine *e, struct warm *w);
int engine_remember(struct ctx *c, struct engine *e);
int engine_restore(struct ctx *c, const char *name, const struct engine_conf *conf,
                   const char *from);

#endif
