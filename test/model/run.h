/* run.h: a database and an oracle side by side, request by request. */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include "by_sql.h"
#include "oracle.h"

#include <stdio.h>

/* How often which code came, by operation: row results of batches count under the batch. */
struct run_mix {
    uint64_t count[WR_OP_COUNT][40];
    uint64_t by_sql; /* requests that SQL said, or said too */
};

struct run_conf {
    const char *engine; /* "mem", "rocks" or "rados" (WIDEROW_CEPH_CONF, WIDEROW_POOL) */
    bool no_sync;
    bool wide;    /* rows of more than 4 cells or 1 KiB are stored cell by cell */
    bool clock;   /* the wall clock is set forth and back all the time */
    bool layouts; /* tables have key layouts, and are rekeyed all the time */
    bool indexes; /* tables have indexes, which come and go */
    bool txns;    /* local transactions */
    int sql;      /* so many of a hundred requests go by SQL, where it can say them */
    bool tight;   /* small limits, so that requests reach them */
};

/* One database and one oracle; one thread at a time. */
struct run {
    struct run_conf conf;
    struct limits limits;
    char dir[256]; /* of all engines but mem; "" there */
    struct wr_db *db;
    bool shared;              /* db belongs to another run */
    struct by_sql *sql;       /* NULL: nothing goes by it */
    struct wr_reply sql_said; /* the answer of a write by SQL alone */
    struct oracle *o;
    char **txn_ids;    /* of transactions, by the number of their start; NULL: none */
    int64_t latest_ms; /* with `clock`: the latest that it ever said */
    uint64_t passed;   /* answers that were compared and equal, probes not counted */
    struct run_mix mix;
    char why[1024]; /* the first difference */
};

/* A fresh database; ends the process with a message if it cannot be had. */
void run_open(struct run *r, const struct run_conf *conf);
/* A further oracle on the same database, for another thread. */
void run_share(struct run *r, const struct run *owner);
void run_close(struct run *r);

/* Closes and opens the database again. False: `why` says what went wrong. */
bool run_reopen(struct run *r);

/* Sends the request, compares the answer, looks at what the answer left open. False at a
 * difference; then the request, both answers and `why` go to `report` unless that is NULL. */
bool run_exchange(struct run *r, const struct wr_request *req, FILE *report);

/* Reads every table from end to end. Only sound when no other thread writes. */
bool run_check_all(struct run *r, FILE *report);

int64_t run_now_ms(void);

#endif
