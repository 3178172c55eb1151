/* life.h: a database that processes open one after the other, each of which is killed: a table with
 * a search index, what is written to it, and whether the index finds what the rows say. */
#ifndef HITS_LIFE_H
#define HITS_LIFE_H

#include "base/port.h"
#include "widerow.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LIFE_ROWS 6000 /* that come and go; those in front of them are there from the beginning */
#define LIFE_KEYWORDS 12

/* Shared by all processes. */
struct life_counts {
    atomic_ullong writes, searches, refused, compared, problems, points, flips, made_again;
    atomic_llong ready_us; /* the longest from the opening to the first answer */
};

struct life {
    const char *dir;
    uint64_t seed;
    int64_t rows;     /* in front of those that come and go */
    uint64_t memory;  /* bytes */
    bool no_sync;     /* a kill takes nothing that was written, so far more comes to be */
    bool comes_again; /* the index may be made again from the rows: something of it is damaged */
    struct life_counts *counts;
};

/* Says what is wrong, and counts it. */
void life_problem(struct life *l, const char *format, ...) PORT_PRINTF(2, 3);

/* NULL: it cannot be opened, which is a problem. */
struct wr_db *life_open(struct life *l);

/* Makes the table with its first rows, and the index. */
void life_create(struct life *l, struct wr_db *db);

/* Writers, and one who searches, until the process is killed. */
void life_work(struct life *l, struct wr_db *db);

/* Nobody writes: waits until the index has caught up, and compares what it finds with the rows. */
void life_compare(struct life *l, struct wr_db *db);

/* The same, and before that waits a while for the index to be made again. */
void life_find_damage(struct life *l, struct wr_db *db);

/* Runs a request of the table's instance; its code, or that of its first row that failed. */
int life_run(struct wr_db *db, struct wr_request *req);

extern const struct wr_bytes life_table, life_index;

#endif
