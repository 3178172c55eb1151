/* walkers.h: the rows of a range, read over several connections at a time.
 *
 * The range is cut into pieces of about the same stored size, where the server says. Each thread
 * takes the next piece and reads it page by page, so what is under way is always the pieces in
 * front. */
#ifndef CLI_TRANSFER_WALKERS_H
#define CLI_TRANSFER_WALKERS_H

#include "client/client.h"

struct walkers_pieces {
    struct wr_key *bounds; /* where all but the first begin, ascending */
    size_t count;          /* of them; pieces are one more */
};

/* Cuts a forward range of a table. A server that cannot say where gives one piece. Memory is that
 * of c. */
void walkers_cut(struct ctx *c, struct client *cl, const struct wr_table_description *table,
                 const struct wr_get_range *range, uint64_t piece_bytes,
                 struct walkers_pieces *out);

struct walkers {
    struct target *target;
    struct wr_get_range range; /* forward */
    const struct walkers_pieces *pieces;
    size_t count; /* threads */
    void *arg;
    /* Called from one of `count` threads, whose number is `worker`: a page of rows of a piece,
     * which live until it returns, and that it has no more. Not 0 ends the walk with that code, the
     * reason recorded in c; WALK_ENOUGH is no failure. */
    int (*rows)(struct ctx *c, void *arg, size_t worker, size_t piece, const struct wr_row *rows,
                size_t count);
    int (*end)(struct ctx *c, void *arg, size_t worker, size_t piece); /* or NULL */
    void (*stop)(void *arg); /* or NULL: the walk ends early, nobody shall wait; any thread */
};

/* Requests are repeated while the server is busy. Memory is that of a page for each thread. */
int walkers_run(struct ctx *c, const struct walkers *w);

#endif
