/* workload.h: writers that keep book of what they were promised, and the comparison of the book
 * with what a server serves after it was killed.
 *
 * Each writer is a thread with a connection and keys of its own, so it always knows what its rows
 * must be: every answer is checked as it comes, a failed condition too. A request that got no
 * answer stays in the book as "maybe": its rows may be as before or as after it, all alike if it
 * was atomic. Comparing settles what it was.
 *
 * Counters are rows that all writers increment: after a kill they must stand between what was
 * acknowledged and what was asked for, and never below what anybody has read.
 *
 * Chains are the second, independent witness: every insert names the key of the writer's last
 * acknowledged insert, under random keys, so whoever follows the pointers from the newest one must
 * come through all. */
#ifndef CRASH_WORKLOAD_H
#define CRASH_WORKLOAD_H

#include "content.h"
#include "door.h"

#include <pthread.h>
#include <stdatomic.h>

#define OWNERS 8
#define KEYS 400
#define COUNTERS 4
#define COUNTER_OWNER 1000 /* the owner column of the counters' rows */
#define BATCH_ROWS_MAX 10
#define MAYBE_MAX 64

struct maybe {
    bool atomic;
    int count;
    int ids[BATCH_ROWS_MAX];
    struct state after[BATCH_ROWS_MAX];
};

/* A key of the chain table. */
struct link {
    int64_t epoch, key; /* epoch 0: the end */
};

/* One acknowledged change of one row; `op` is the same for the rows of one batch. */
struct change {
    int op, id;
    struct state after;
    int64_t position; /* of w->record_fd when the answer had come */
};

/* Something that was learned about a counter. */
struct counter_news {
    int which;
    int64_t position;
    int64_t seen; /* read so; 0: one more increment was acknowledged */
};

struct writer {
    struct workload *w;
    int owner;
    pthread_t thread;
    struct door door;
    struct rng rng;
    uint64_t tags; /* given out so far */
    struct state states[KEYS];
    bool in_doubt[KEYS]; /* a maybe is about it: not touched until that is settled */
    struct maybe maybes[MAYBE_MAX];
    int maybe_count;
    int64_t counter_acked[COUNTERS], counter_maybe[COUNTERS]; /* since the last comparison */
    int64_t counter_seen[COUNTERS];                           /* the most ever read */
    struct link head;                                         /* the last acknowledged insert */
    int64_t chain_acked;                                      /* in this epoch */
    int64_t chain_total;                                      /* in all */
    struct link chain_maybe; /* epoch 0: none; a writer ends after one */
    int64_t chain_maybes;    /* in all */
    struct change *changes;  /* if w->keep_history */
    int change_count, change_capacity, op_count;
    struct counter_news *news; /* likewise */
    int news_count, news_capacity;
    uint64_t acked, unsure, refused; /* requests */
};

struct workload {
    struct crash *run;
    int64_t epoch; /* counts lives of the server, from 1 */
    bool keep_history;
    int record_fd; /* a file that grows with what the server does (power.c); -1: none */
    atomic_bool stop;
    int64_t counter_base[COUNTERS];
    struct writer writers[OWNERS];
};

/* What is served. */
struct picture {
    struct state states[OWNERS][KEYS];
    bool unknown[OWNERS][KEYS]; /* reading it gave an error */
    int64_t counters[COUNTERS];
    bool counter_unknown[COUNTERS];
    bool no_table; /* a row's table does not exist */
    int unknown_count;
    int torn, foreign; /* rows that are wrong in themselves */
    struct crash *run;
};

struct workload *workload_new(struct crash *run);
void workload_free(struct workload *w);

/* Makes the tables. False: it cannot, because the server died, say. */
bool workload_create(struct workload *w);

/* Begins an epoch: lets the writers run against the server that is ready. */
void workload_start(struct workload *w);

/* Waits for them. Kill the server first, or they finish what they have begun. */
void workload_stop(struct workload *w);

/* Reads everything. Returns the code of a scan that failed; the picture then comes from single
 * reads, and rows that could not be read are `unknown`. */
int workload_look(struct workload *w, struct picture *p);

/* Compares book and picture; reports every difference as a problem of `where`. With `settle` the
 * book takes over what the picture shows of maybes; only for pictures without unknown rows. Returns
 * the number of differences. */
int workload_compare(struct workload *w, const struct picture *p, const char *where, bool settle);

/* True if for each writer the rows are as they were at some moment of the past (w->keep_history). A
 * report of how many acknowledged changes that takes back goes into *lost. */
bool workload_is_prefix(struct workload *w, const struct picture *p, int *lost);

/* True if for each writer the rows are as they were at some moment after all that was answered when
 * w->record_fd stood at `position`, and the counters fit, too. */
bool workload_is_prefix_from(struct workload *w, const struct picture *p, int64_t position);

/* True if each row is as it was at some moment of the past. */
bool workload_is_past(struct workload *w, const struct picture *p);

/* Follows the chains of the epoch that was killed, or, whole, of all. Returns a code if they cannot
 * be read; reports problems of what is missing. */
int workload_follow(struct workload *w, const char *where, bool whole);

/* Writes a change into the book. */
void workload_keep(struct writer *me, int id, const struct state *after);

uint64_t workload_acked(const struct workload *w);
uint64_t workload_unsure(const struct workload *w);

extern const char *const workload_row_keys[2];
extern const char *const workload_chain_keys[3];

/* What the column `check` of a link holds: a function of all the rest. */
int64_t workload_link_check(int owner, struct link at, struct link before);

#endif
