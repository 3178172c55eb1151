/* rados.h: what the parts of the engine on a Ceph pool share. rados.c tells the design.
 *
 * A partition is one object of the pool, named by its id; its keys and values are the object's
 * omap (rados_omap.h). Two attributes of the object say what is allowed: RADOS_READS and
 * RADOS_WRITES. Every operation compares the one that concerns it with RADOS_YES, so that a server
 * whose map is old is refused. The object of a partition that was dropped or cut stays behind,
 * empty and RADOS_GONE: its id can never come to life again. */
#ifndef ENGINE_RADOS_H
#define ENGINE_RADOS_H

#include "base/service.h"
#include "engine/engine.h"

#include <pthread.h>
#include <rados/librados.h>
#include <stdatomic.h>

#define RADOS_READS "reads"
#define RADOS_WRITES "writes"
#define RADOS_YES "y"
#define RADOS_MAKING "m" /* reads and writes come when all is copied (rados_partition.c) */
#define RADOS_NO "n"     /* writes only: being copied to where it goes on */
#define RADOS_GONE "x"
#define RADOS_WRITE_QUEUES 1024 /* hash chains; a power of two */
/* The OSD's own default of osd_max_omap_entries_per_request is 1024; more is cut there. */
#define RADOS_LISTING_MAX 10000

struct write_queue;
struct rados_gather;
struct rados_hints;
struct rados_survey;

struct rados {
    struct engine base;
    struct clock *clock;
    struct log *log;
    rados_t cluster;
    rados_ioctx_t pool;
    uint64_t pending_bytes_max;
    struct rados_gather *gather;
    struct rados_hints *hints;
    struct rados_survey *survey;

    pthread_mutex_t lock; /* of write_queues and of all below that is not atomic */
    pthread_cond_t idle;  /* under_way came to 0 */
    struct write_queue *write_queues[RADOS_WRITE_QUEUES];
    uint64_t pending_bytes;           /* of batches whose done() is to come */
    uint64_t under_way;               /* calls whose completion is to come, and operations */
    struct publication *publications; /* notifications of ours that the library has not completed */
    bool leaving;                     /* nobody waits for those any more */

    void (*on_notification)(
        void *arg, struct notification *n); /* set by rados_subscribe() alone, as the next */
    void *notification_arg;
    atomic_bool watch_lost;
    pthread_mutex_t watch_lock; /* of what is below */
    uint64_t watch;             /* an address of the client library's; 0: there is none */
    struct rados_notification *first_notification,
        *last_notification;       /* that are not done; in the order they came */
    uint64_t notification_count;  /* that came: the number of the last one */
    uint64_t oldest_notification; /* that is not done; 0: none */
    struct rados_lease *lease;    /* NULL: none, and no watch */

    atomic_bool full;              /* the pool; as far as we know (rados_room.c) */
    atomic_bool room_asking;       /* whether it is */
    _Atomic int64_t room_asked_ms; /* monotonic */
    atomic_bool tight;             /* some OSD has little room for rows (rados_osds.c) */
    struct rados_osds *osds;

    _Atomic uint64_t read_ops, write_ops; /* operations sent */
    _Atomic uint64_t read_bytes;          /* of keys and values that came with answers */
    _Atomic uint64_t written_bytes;       /* of those that were sent */
    _Atomic uint64_t acked, refused_busy;
    _Atomic uint64_t item_bytes;    /* mean bytes of a key and value that was listed */
    _Atomic uint64_t value_bytes;   /* mean bytes of a value that a get found */
    _Atomic uint64_t asked;         /* operations whose answer is to come */
    _Atomic int64_t asked_since_ms; /* when the oldest possible of them was sent; monotonic */
    _Atomic int64_t answered_ms;    /* the last answer of the cluster */
    _Atomic int64_t logged_ms;      /* the last line about a strange answer */
    _Atomic int last_error;         /* of the last operation, a negative errno; 0: none */
};

/* The object of a partition. */
struct rados_name {
    char text[24];
};

/* ---- rados_io.c */

struct rados_name rados_name(partition_id id);

/* What is under way keeps the engine open. */
void rados_hold(struct rados *r);
void rados_release(struct rados *r);

/* Around every operation that is sent: `sent` before it, `answered` with its result. They keep
 * what stat() tells. */
void rados_sent(struct rados *r);
void rados_answered(struct rados *r, int result);

/* The outcome of an operation by its result (negative errno). */
int rados_read_code(struct rados *r, int result);
int rados_write_code(struct rados *r, int result);
/* The failure of a write, with a text: "Partition <id> cannot be <what>". */
int rados_refuse(struct ctx *c, struct rados *r, int result, partition_id id, const char *what);
/* Notes that the pool was found full, or not full. */
void rados_room_learn(struct rados *r, bool full);

/* Parts of a write operation: it does nothing unless `attribute` is `state`; it sets both. */
void rados_expect(rados_write_op_t op, const char *attribute, const char *state);
void rados_set_state(rados_write_op_t op, const char *reads, const char *writes);

/* The mark of an object: the greatest of the rising numbers that were put into it (engine.h), or 0.
 * Its key lies below all keys, where no listing begins. */
#define RADOS_MARK "a"
/* Beside it, likewise: the greatest number of an EDIT_PUT_NUMBERED. */
#define RADOS_NUMBER "b"
bytes rados_mark_value(struct arena *a, uint64_t number);
/* Adds to a read operation what rados_mark_of() looks at, if that came to an end well. `key`:
 * RADOS_MARK or RADOS_NUMBER. */
void rados_mark_ask(rados_read_op_t op, const char *key, rados_omap_iter_t *read, int *result);
uint64_t rados_mark_of(struct rados *r, rados_omap_iter_t read);

/* A blocking write operation on a partition's object: operates and releases `op`. */
int rados_write_now(struct rados *r, rados_write_op_t op, partition_id id);

/* rados_gather.c: a read of an object, on its way out. Embedded in what asks. */
struct rados_read {
    partition_id id;
    bytes key;   /* of a get, in stored form; valid until done() */
    size_t size; /* about so many bytes will the answer take */
    bool alone;  /* goes out at once and in an operation of its own */
    /* Adds the steps of anything but a get; NULL: it is a get. */
    void (*add)(struct rados_read *read, rados_read_op_t op);
    /* `result` of the operation: 0 or a negative errno. `stored`: what a get found, valid during
     * the call; ptr NULL: nothing. Iterators that add() made are filled. On a thread of the client
     * library. */
    void (*done)(struct rados_read *read, int result, bytes stored);
    struct rados_read *next; /* in its operation, or among those that wait */
};

struct rados_gather *rados_gather_new(void);
void rados_gather_free(struct rados_gather *g); /* NULL is allowed; nothing is under way */
/* 0: done() is called, possibly before this returns. Else a negative errno, and it is not. */
int rados_read_ask(struct rados *r, struct rados_read *read);
/* Many at once: those of one object go out together. done() of each is called, also when the
 * library did not take its operation, and possibly before this returns; until then all stay where
 * they are. */
void rados_read_ask_many(struct rados *r, struct rados_read *const *reads, size_t count);

/* rados_get.c */
int rados_get(struct ctx *c, struct engine *e, struct get *g);
int rados_get_many(struct ctx *c, struct engine *e, struct get_many *m);
/* Fails: something stored cannot be read. */
int rados_damaged(struct ctx *c, partition_id id);
/* Moves the mean at *at towards that of `count` things of `total` bytes. */
void rados_note_mean(_Atomic uint64_t *at, uint64_t total, uint64_t count);

/* rados_read.c */
int rados_scan(struct ctx *c, struct engine *e, struct scan *s);

/* rados_write.c */
void rados_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                 void *arg);
/* What a read at VIEW_LATEST must know of the batches of this process that are under way in its
 * partition. */
enum pending_state {
    PENDING_NONE,  /* nothing; ask the pool */
    PENDING_EDIT,  /* *found, *value (in c's arena) or *code answer it */
    PENDING_WAITS, /* run(arg) is called later; then ask again */
};
enum pending_state rados_pending_get(struct rados *r, struct ctx *c, struct get *g, int *code);
enum pending_state rados_pending_scan(struct rados *r, const struct scan *s, void (*run)(void *arg),
                                      void *arg);

/* rados_make.c: new partitions, many at a time. */
int rados_create_partitions(struct ctx *c, struct engine *e, const struct partition_spec *p,
                            size_t count);
/* Their objects, which allow `state` (RADOS_YES, RADOS_MAKING); those that are there stay as they
 * are. After an error any of them may have been made. Blocks. */
int rados_make(struct ctx *c, struct rados *r, const struct partition_spec *p, size_t count,
               const char *state);

/* rados_partition.c: whole partitions. */
int rados_drop(struct ctx *c, struct engine *e, const struct partition_spec *p);
int rados_repartition(struct ctx *c, struct engine *e, const struct partition_spec *from,
                      size_t from_count, const struct partition_spec *to, size_t to_count);
int rados_erase(struct ctx *c, struct engine *e, const struct partition_spec *p);
/* What rados_size() knows of the partition that it was asked about last. */
struct rados_survey *rados_survey_new(void);
void rados_survey_free(struct rados_survey *s);
int rados_size(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out);

/* rados_bus.c */
int rados_subscribe(struct ctx *c, struct engine *e,
                    void (*on_each)(void *arg, struct notification *n), void *arg);
void rados_unsubscribe(struct rados *r);
void rados_notification_done(struct engine *e, struct notification *base, bytes answer);
void rados_publish(struct engine *e, bytes text, int64_t wait_ms, void (*done)(void *arg, int code),
                   void *arg);
void rados_query(struct engine *e, bytes text, int64_t wait_ms,
                 void (*done)(void *arg, const struct answers *a), void *arg);
void rados_leave(struct engine *e);
/* Once the client library is shut down: what it will not complete any more. */
void rados_publications_free(struct rados *r);

/* rados_lease.c: the thread that follows the watch. NULL: the system gives none. Its memory is
 * freed by mem_free() when nothing is under way any more. */
struct rados_lease *rados_lease_start(struct rados *r);
void rados_lease_stop(struct rados_lease *l);
/* Under watch_lock: the watch is new, of that time (monotonic); a notification was done. */
void rados_lease_begin(struct rados *r, int64_t at_ms);
void rados_lease_advance(struct rados *r);
int64_t rados_lease_age_ms(struct engine *e);

/* rados_room.c: finds out soon whether the pool is full (r->full), if that was not done lately.
 * Never waits. */
void rados_room_look(struct rados *r);

/* rados_osds.c: the thread that watches how much room OSDs have (r->tight). NULL: the system gives
 * none, and nothing is watched. Stopping may wait for an OSD that gives no answer. */
struct rados_osds *rados_osds_start(struct rados *r);
void rados_osds_stop(struct rados_osds *o);

/* Is nothing to be written but what removes? */
static inline bool rados_is_full(struct rados *r)
{
    return atomic_load(&r->full) || atomic_load(&r->tight);
}

/* rados_bulk.c */
int rados_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out);

#endif
