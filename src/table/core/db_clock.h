/* db_clock.h: the database clock, which gives every stamp that the server makes itself.
 *
 * It follows the system's wall clock but never runs backwards, not over a restart either: how far
 * it may have come is stored ahead of it (its lease), in the system partition. When the wall clock
 * is set back, the database clock goes on from where it was, an eighth slower than time passes,
 * until the wall clock has caught up. A wall clock that once ran wildly ahead leaves it ahead:
 * doc/operations.md, "The clock", has the way back.
 *
 * Where several servers write (db_is_shared()), a stored row's stamp tells the time of the server
 * that wrote it. A server that meets such a time ahead of its own clock by less than
 * DB_CLOCK_SKEW_US takes it over, as in a hybrid logical clock. modify.c stamps a change above its
 * row's last one in any case, however far apart the clocks are.
 *
 * What asks another clock: TTL takes the wall clock without its jumps (clock_watch.h); the
 * deviation of client stamps, times in descriptions, the log and the heat maps take the wall clock
 * as it is; grace periods, deadlines and leases take the monotonic clock, which goes on while the
 * machine sleeps.
 *
 * All but opening and closing: any thread, never waits for storage. */
#ifndef TABLE_CORE_DB_CLOCK_H
#define TABLE_CORE_DB_CLOCK_H

#include "base/ctx.h"
#include "table/model/stamp.h"
#include "widerow.h"

#include <pthread.h>
#include <stdatomic.h>

#define DB_CLOCK_SKEW_US 1000000 /* between the clocks of two servers, at most */

struct db_clock {
    struct wr_db *db;
    _Atomic int64_t own_us; /* the latest reading of this server's own clock */
    _Atomic int64_t met_us; /* the latest time that was taken over from another server */
    int64_t opened_us;      /* the reading at the opening: on one machine above all before */

    _Atomic int64_t stored_us; /* the lease: a restart begins there at the earliest */
    _Atomic int64_t lease_us;  /* the latest that is appended: stored before what comes behind it */
    _Atomic int64_t retry_us;  /* monotonic: not renewed early before */
    atomic_uint lease_failures;
    pthread_mutex_t lease_lock; /* over appending the lease; its holder may take it again */
    int64_t requested_us;       /* the latest lease that was to be appended */

    atomic_bool is_ahead;             /* of the wall clock, which was set back */
    pthread_mutex_t lock;             /* over the rest */
    int64_t ahead_us, ahead_since_us; /* where it was then; monotonic: when */
};

/* Before and after all else. */
void db_clock_init(struct db_clock *k, struct wr_db *db);
void db_clock_destroy(struct db_clock *k);

/* The engine and the catalog are open. `reset`: goes on from the wall clock though later stamps
 * were given. Blocks. */
int db_clock_open(struct ctx *c, struct wr_db *db, bool reset);
/* Stores where it stands, so that the next opening goes on from there. Blocks. */
void db_clock_close(struct ctx *c, struct wr_db *db);

struct stamp_time db_clock_read(struct wr_db *db);
/* The same in whole milliseconds: since when something is garbage, say. */
int64_t db_clock_ms(struct wr_db *db);
/* Where it stands, in microseconds, for whoever gives no stamp: nothing is stored for that. */
int64_t db_clock_peek(struct wr_db *db);

/* Is a stamp of this server's clock from before the opening, and nobody else writes? Then whoever
 * could look at what it dates has ended. */
bool db_clock_is_before(struct wr_db *db, int64_t stamp_ms);

/* A row has this stamp: takes its time over, if another server gave it that is not too far ahead.
 */
void db_clock_meet(struct wr_db *db, uint64_t row_stamp);

#endif
