/* walk.h: all rows of a table in key order, page by page. */
#ifndef CLIENT_WALK_H
#define CLIENT_WALK_H

#include "client/client.h"

#define WALK_ENOUGH (-1) /* ends a walk that has seen enough; no failure */
#define WALK_TIMEOUTS 5  /* that a read of a walk may meet one after the other */

/* Gets the rows of a page, which live until it returns. Not 0 ends the walk with that code; the
 * reason is recorded in c. */
typedef int walk_fn(struct ctx *c, void *arg, const struct wr_row *rows, size_t count);

/* A whole row, though the server may give it in pieces, each of which is one moment of its own.
 * out->key.count 0: there is none. */
int walk_row(struct ctx *c, struct client *cl, const struct wr_get_row *get, struct wr_row *out);

/* One GetRange request. It changes nothing, so that one which got no answer in time is made again,
 * WALK_TIMEOUTS times in all, unless the client's retry_ms is 0: a server that stood still for some
 * minutes ends no walk of hours. A row that the server cannot hold in one answer comes alone in its
 * page, put together from GetRow requests, each of which is one moment of its own. Key names stand
 * in the request's start. */
int walk_page(struct ctx *c, struct client *cl, const struct wr_request *request,
              struct wr_reply *out);

/* A range, a page at a time. */
struct walk {
    struct wr_request request;
    struct arena start; /* where the next page begins, but of the first */
};

void walk_begin(struct walk *w, const struct wr_get_range *range);
/* The next page, if there is one: what `fn` returns for its rows; *more: perhaps another one
 * follows. */
int walk_next(struct ctx *c, struct walk *w, struct client *cl, walk_fn *fn, void *arg, bool *more);
void walk_end(struct walk *w);

/* Reads the rows of a range, forward or backward; its limit is no matter. The request is repeated
 * while the server is busy. Memory is that of one page. */
int walk_range(struct ctx *c, struct client *cl, const struct wr_get_range *range, walk_fn *fn,
               void *arg);

/* Reads the newest `versions` of every cell. The request is repeated while the server is busy.
 * Memory is that of one page. */
int walk_table(struct ctx *c, struct client *cl, const struct wr_table_description *table,
               int32_t versions, walk_fn *fn, void *arg);

#define WALK_ALL_VERSIONS INT32_MAX

/* A bound in front of all rows (WR_INF_MIN) or behind them (WR_INF_MAX), in the arena. */
struct wr_key walk_bound(struct arena *a, const struct wr_table_description *t, enum wr_type type);

/* A copy in the arena; a page's keys die with the page. */
struct wr_key walk_copy_key(struct arena *a, const struct wr_key *key);

/* Of two struct wr_key of one table, for qsort() and bsearch(): any order in which equal keys are
 * neighbours. */
int walk_compare_keys(const void *a, const void *b);

#endif
