/* db.h: an open database from inside. */
#ifndef TABLE_CORE_DB_H
#define TABLE_CORE_DB_H

#include "base/ctx.h"
#include "base/limit.h"
#include "engine/engine.h"
#include "table/core/clock_watch.h"
#include "table/core/db_clock.h"
#include "table/model/table.h"
#include "table/sync/row_lock.h"
#include "table/sync/memory.h"
#include "widerow.h"

#include <stdatomic.h>

struct catalog;
struct change_log_watch;
struct index_builder;
struct jobs;
struct journal;
struct peers_answers;
struct pool;
struct rekeyer;
struct router;
struct scheduler;
struct scrubber;
struct searches;
struct series_archiver;
struct warmer;
struct size_watch;
struct stream_carrier;
struct stream_settle;
struct stream_retention;
struct streams;
struct sweeper;
struct sampler;
struct texts;
struct txns;
struct uploads;

struct wr_db {
    /* wr_submit(), for what lies below it: a cell that has come whole is published by an operation
     * of its own. */
    void (*submit)(struct wr_db *db, const struct wr_request *request, wr_done_fn *done, void *arg);
    struct clock clock;
    struct log log;
    struct limits limits;
    struct limits given;      /* as they were set, before one rose with another */
    struct limits lifted;     /* the same with cells as large as the largest that a table allows */
    atomic_bool has_lifted;   /* some table allows larger cells than `limits` */
    int64_t table_cell_bytes; /* that largest */
    pthread_mutex_t limits_lock; /* of those who change the limits (db_limits.c) */
    atomic_bool limits_known;    /* `limits` are those that count (wr_options.settings_follow) */
    struct memory memory;
    struct engine *engine;
    struct row_locks *row_locks;
    struct catalog *catalog;
    struct journal *journal;             /* NULL: no others change tables */
    const struct peers_answers *answers; /* to what other servers ask */
    struct db_clock stamps;
    struct clock_watch watch;
    uint64_t slot;             /* tells our numbers from other servers'; 0: there are none */
    const struct lease *lease; /* by which the catalog may be used; NULL: no others change tables */
    struct jobs *jobs;
    struct scheduler *background; /* tasks: what is to be done some time */
    struct sweeper *sweeper;
    struct pool *pool; /* workers for requests that are more than a loop should do */
    struct streams *streams;
    struct uploads *uploads;
    struct rekeyer *rekeyer;
    struct index_builder *index_builder;
    struct outbox_queue *outboxes;       /* NULL: entries land with their rows */
    struct index_drainer *index_drainer; /* likewise */
    struct local_indexes *local_indexes; /* likewise */
    struct router *router;               /* NULL: the engine is one map */
    struct scrubber *scrubber;           /* NULL: the engine keeps no files */
    struct warmer *warmer;               /* NULL: the engine keeps no files */
    struct sampler *sampler;             /* NULL: no heat maps */
    struct size_watch *sizes;
    struct searches *searches; /* NULL: no search indexes, for the engine numbers no changes */
    struct series_archiver *archiver;   /* NULL: no series, or before they are served */
    struct stream_retention *retention; /* NULL: the engine keeps no streams */
    struct txns *txns;
    struct texts *texts;
    /* Gives a version of a table the observers of its rows (change_point.h), before anybody sees
     * it. NULL: no table has any. */
    void (*observe)(struct wr_db *db, struct table *t);
    /* Drops the logs of a stream that is no more; blocks. NULL: they go with what is stored under
     * their location. */
    int (*drop_stream)(struct ctx *c, struct wr_db *db, uint32_t location, uint16_t shards);
    /* Damage was found among keys of that range: who can make anew what lies there does. Any
     * thread. */
    void (*damaged)(struct wr_db *db, const struct key_range *range);
    /* An entry lands with its row, for there is one key space. Else entries follow by outbox
     * records (decision 35). */
    bool keeps_indexes;
    struct stream_carrier *carrier; /* NULL: records of changes land in their logs */
    struct stream_settle *settle;   /* there as the carrier is */
    /* Records of changes, which the engine numbers: in their logs, for there is one key space, or
     * beside their rows (decision 42). */
    bool keeps_streams;
    bool keeps_change_logs;           /* of tables (table/changelog) */
    struct change_log_watch *changes; /* NULL: there are none */
    wr_log_fn *log_fn;
    void *log_arg;
    int64_t opened_ms;        /* clock_watch_ms() then */
    _Atomic uint32_t servers; /* over the same data, this one included (peers.h) */
    int64_t counted_ms;       /* the sweeper's, monotonic: when they were counted last */
    _Atomic int64_t requests; /* under way; wr_close() waits for none */
};

/* Priorities of tasks: what gives room and what others wait for first, what only looks last. */
enum db_priority {
    PRIORITY_BALANCE,
    PRIORITY_SWEEP,
    PRIORITY_REKEY,
    PRIORITY_ARCHIVE,
    PRIORITY_SIZES,
    PRIORITY_SCRUB,
    PRIORITY_WARM,
};

/* The limits on what comes in, as long as its table is not known: the largest that any table
 * allows. The table's own are checked when it is (modify_begin). */
static inline const struct limits *db_limits(const struct wr_db *db)
{
    return atomic_load_explicit(&db->has_lifted, memory_order_relaxed) ? &db->lifted : &db->limits;
}

/* May other processes have the same data open? */
static inline bool db_is_shared(const struct wr_db *db)
{
    return engine_is_shared(db->engine);
}

/* wr_exec() for a request of the database's own, which the fronts' limit on key columns does not
 * bind: a table may have WR_KEY_COLUMNS_MAX. Clients read and write its rows as any table's. */
struct wr_reply *db_exec_internal(struct wr_db *db, const struct wr_request *request);

#endif
