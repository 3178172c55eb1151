/* life.h: a database that processes open one after the other, each of which is killed: its tables,
 * what is written to them, and whether their indexes are what the rows make of them. */
#ifndef INDEX_LIFE_H
#define INDEX_LIFE_H

#include "base/port.h"
#include "widerow.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LIFE_INSTANCE "index"
#define LIFE_TABLE "rows"

/* The rows: in groups of four that share a partition key. */
#define LIFE_ROWS 12000
#define LIFE_CELLS 5
#define LIFE_NAMES "abcxy"

/* How far somebody has read the table's stream. */
#define LIFE_SHARDS 4
struct life_place {
    uint64_t count, number, hash; /* of records, of the last, over all */
};
struct life_seen {
    struct life_place shards[LIFE_SHARDS];
};

/* Shared by all processes. */
struct life_counts {
    atomic_ullong writes, busy, committed, created, completed, dropped, rekeyed, compared, problems,
        replayed, splits, merges, points;
    struct life_seen seen[2]; /* by the one who follows, whoever is killed */
    atomic_uint seen_at;      /* which of them counts */
};

struct life {
    const char *dir;
    uint64_t seed;
    bool wide;    /* rows of more than three cells are stored cell by cell */
    bool no_sync; /* a kill takes nothing that was written, so far more comes to be */
    bool clock;   /* the wall clock is set forth and back by up to 50 minutes */
    /* Not NULL: on a Ceph pool `data`, where several processes work at once; then there is neither
     * stream, transaction nor rekeying, and indexes follow. */
    const char *ceph_conf, *namespace;
    int64_t skew_ms; /* this process's wall clock is so far ahead; below 0: behind */
    bool builds;     /* all indexes are dropped at first, and then built to the end */
    /* So many writes, and then the work ends by itself; 0: a kill ends it. On mem, where nothing
     * outlives a process, all is done in one. */
    uint64_t ops;
    bool plant; /* on mem: a number is drawn before its record is appended */
    struct life_counts *counts;
};

/* Says what is wrong, and counts it. */
void life_problem(struct life *l, const char *format, ...) PORT_PRINTF(2, 3);

/* NULL: it cannot be opened, which is a problem. */
struct wr_db *life_open(struct life *l);

/* Makes the table, unless it is there. */
void life_create(struct life *l, struct wr_db *db);

/* Writers, some of them in transactions, and one that creates and drops indexes and rekeys the
 * table: until the process is killed, or for `ops` writes. */
void life_work(struct life *l, struct wr_db *db);

/* Nobody writes: waits until all indexes are complete, and compares each of them, as clients read
 * it, with the rows; then looks for stored keys that belong to no table. */
void life_compare(struct life *l, struct wr_db *db);

/* Follows the stream from where it was left, until the process is killed or it is ended: then it
 * reads what there is, and has seen all if nobody writes any more. */
struct life_follower;
struct life_follower *life_follow_start(struct life *l, struct wr_db *db);
void life_follow_end(struct life_follower *f);
/* Nobody writes: the stream makes the rows that are there, and begins as it was followed. */
void life_replay(struct life *l, struct wr_db *db);

/* Puts a planted bug in the place of the engine's apply(): the numbers of a batch are drawn when it
 * is begun, and what was begun later may be appended before it. For the rest of the process. */
void life_plant(struct wr_db *db);

/* Index `at` of those that come and go. */
#define LIFE_INDEXES 5
const struct wr_index_meta *life_index(size_t at);
extern const struct wr_key_schema life_key[2];

#endif
