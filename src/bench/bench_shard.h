/* bench_shard.h: where a benchmark reads a stream. */
#ifndef BENCH_BENCH_SHARD_H
#define BENCH_BENCH_SHARD_H

#include "client/client.h"

#define BENCH_SHARD_PAGES 64 /* iterators at most */

/* Iterators of the first shard of the table's stream, of as many full answers from its oldest
 * record on; they live in the arena of `c`. Fails if the table has no stream, or the shard no
 * record. */
int bench_shard_read(struct ctx *c, struct client *cl, bytes table, const bytes **iterators,
                     size_t *count);

#endif
