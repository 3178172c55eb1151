/* follow.h: the changes of a table, read from its stream shard by shard, for as long as one likes.
 *
 * A shard whose parents are there is read after they have ended, so that the changes of one row
 * come in their order whatever the server does with its shards. One thread. */
#ifndef CLI_TRANSFER_FOLLOW_H
#define CLI_TRANSFER_FOLLOW_H

#include "client/client.h"

struct follow_shard {
    bytes id, parent, parent_sibling; /* in the arena */
    bool ended;
    char *next; /* the iterator to go on with; NULL: reading has not begun */
    size_t next_len;
};

struct follow {
    struct client *client;
    bytes stream, table; /* in the arena */
    int64_t from_us;     /* of the shards that follow_open() finds; 0: the oldest records kept */
    struct follow_shard *shards;
    size_t count;
    bool changed; /* a shard has ended, so there may be new ones */
    bool active;  /* no change is under way that will have no record */
    struct arena arena;
};

/* The stream of `table`, from its oldest record (`from_us` 0) or from the first one that is not
 * older than `from_us`, UTC microseconds. `cl` stays the caller's. Release it in any case.
 * E_NOT_EXIST: the table has no stream. */
int follow_open(struct ctx *c, struct client *cl, bytes table, int64_t from_us, struct follow *f);
void follow_release(struct follow *f);

/* Returns when every change that is not done yet will have a record. */
int follow_settle(struct ctx *c, struct follow *f);

/* Gets what one shard has next, at least one record; they live as long as the arena of c. Not 0
 * ends the round with that code, and the same records come again in the next one. */
typedef int follow_fn(struct ctx *c, void *arg, size_t shard,
                      const struct wr_stream_records *records);

/* Reads each shard once. *more: some have records that are not read yet. */
int follow_round(struct ctx *c, struct follow *f, follow_fn *fn, void *arg, bool *more);

#endif
