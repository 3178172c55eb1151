/* clock_watch.h: what the wall clock is worth: its steps, its difference from other servers'
 * clocks, and what time has passed whatever it says.
 *
 * A wall clock that jumps ahead by more than an hour is not believed for the times to live of rows
 * until a day has passed or the server was started again: a row that looks expired because the
 * clock was wrong for a minute would be hidden, and removed by the next sweep or write. A step back
 * is followed at once. Steps are found by the monotonic clock, which counts the time that the
 * machine sleeps.
 *
 * Any thread; only clock_watch_look() is the sweeper's. */
#ifndef TABLE_CORE_CLOCK_WATCH_H
#define TABLE_CORE_CLOCK_WATCH_H

#include "base/clock.h"
#include "widerow.h"

#include <pthread.h>
#include <stdatomic.h>

#define CLOCK_WATCH_BACK_MS 600000 /* the longest grace period */
#define CLOCK_WATCH_SAMPLES 152

struct clock_watch {
    _Atomic int64_t believed_ms;    /* readings up to here are taken as they are */
    pthread_mutex_t lock;           /* over the rest */
    int64_t wall_us, mono_us;       /* two readings of one moment, before any step */
    int64_t step_us, step_since_us; /* how far it has jumped ahead; 0: not. Monotonic: since when */

    /* What the database clock said before, so that garbage can be told to be older than a grace
     * period that was measured by the monotonic clock. */
    struct clock_sample {
        int64_t mono_us, stamp_ms;
    } samples[CLOCK_WATCH_SAMPLES];
    size_t sampled; /* in all */

    int64_t skew_us; /* how far another server's wall clock is from ours, at least; 0: together */
    bool is_odd;     /* as many servers or more are apart from us as are with us */

    int64_t slowest_us, fastest_us; /* of all servers' wall clocks, ours included */
    int64_t own_us;                 /* what ours said then */
    int64_t compared_us;            /* monotonic: when that was; 0: they were not compared yet */
};

void clock_watch_open(struct wr_db *db);

/* The time by which rows expire: the wall clock in milliseconds, without a jump. */
int64_t clock_watch_ms(struct wr_db *db);

/* The time by which rows that have expired are removed, for all servers and for ever: by it they
 * have expired for each of them. Where several write it is that of the slowest clock, and 0 until
 * the clocks were compared. */
int64_t clock_watch_removal_ms(struct wr_db *db);

/* How far the servers' wall clocks are apart, ours included, as they were last compared, in
 * milliseconds; -1: they were not compared yet. */
int64_t clock_watch_spread_ms(struct wr_db *db);

/* Looks for a step, and takes a sample. Now and then. */
void clock_watch_look(struct wr_db *db);

/* What the database clock said so long ago, at most CLOCK_WATCH_BACK_MS, by the monotonic clock,
 * less what the slowest other server is behind: a record that any of them stamped so, or lower, is
 * at least as old. INT64_MIN: the process does not run for so long, or
 * the other servers' clocks were not compared yet. */
int64_t clock_watch_before(struct wr_db *db, int64_t grace_ms);
/* Lies `stamp_ms` so far ahead that no server's clock can have given it? It stands in a record of
 * before the database clock was set back, which has to be dated anew. */
bool clock_watch_ahead(struct wr_db *db, int64_t stamp_ms);

/* What other servers' wall clocks said between two readings of ours, in microseconds. `all`: every
 * other server has answered; what is known of one that did not goes on to count. */
void clock_watch_compare(struct wr_db *db, int64_t asked_us, int64_t answered_us,
                         const int64_t *others_us, size_t count, bool all);

/* One line for people about what is wrong, or an empty one. True: with this clock the server should
 * not be asked to serve. */
bool clock_watch_text(struct wr_db *db, char *out, size_t size);

#endif
