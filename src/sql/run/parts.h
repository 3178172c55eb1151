/* parts.h: a walk through a range of a table's key, page by page, whose rows are handed over and
 * not kept; in two parts side by side where there are threads for it (session_conf.walkers).
 *
 * Where a part begins is guessed: between two keys as numbers or as texts of ASCII. So one part may
 * be much the shorter; when it has come to its end, what the other has left is cut again. */
#ifndef SQL_RUN_PARTS_H
#define SQL_RUN_PARTS_H

#include "base/pool.h"
#include "sql/run/table.h"

#define PARTS_MAX 2

struct parts;

/* All of it is that of parts.c. */
struct part {
    struct parts *all;
    struct pool_job job;
    struct wr_request page;  /* the next one, or that under way */
    struct wr_key last;      /* rows are expected up to here, about; count 0: none is known of */
    struct wr_reply *before; /* the page at whose next key that begins */
    size_t rows;             /* of the page */
    bool busy, refused;
    void *arg;
};

struct parts {
    struct run *r;
    const struct sql_table *t;
    const struct wr_request *range; /* GetRange, but for limit and on_row */
    int count;                      /* at most, of args: 1 to PARTS_MAX */
    void *args[PARTS_MAX];          /* one for each part, which one thread at a time uses */
    int (*on_row)(void *arg, const struct wr_row *row); /* not 0: enough, for this reason: */
    enum fault_name refusal;
    /* The rest is that of parts.c. */
    struct part list[PARTS_MAX];
    int cuts;
    pthread_mutex_t lock; /* over all of it between pages, and over the run */
    pthread_cond_t done;  /* a part has ended */
    int code;
};

/* Not 0: the fault is said. Holds a permit while it computes on the session's own thread. */
int parts_walk(struct parts *p);

#endif
