/* drain_io.h: what a drainer of outbox records (index_drain.h) reads and writes, many keys at once.
 *
 * All of it is read as it is durable. Everything blocks; memory is the context's. */
#ifndef TABLE_MAINT_DRAIN_IO_H
#define TABLE_MAINT_DRAIN_IO_H

#include "table/model/batch_builder.h"
#include "table/model/table.h"

struct drain_read {
    const struct table *table; /* the key's */
    bytes key;
    bytes value; /* out; ptr NULL: there is nothing */
};

/* All of them, each in the partition that it lies in now. */
int drain_read_all(struct ctx *c, struct drain_read *reads, size_t count);

/* A batch for one partition, and how it ended. */
struct drain_batch {
    size_t owner; /* what it is a part of: the caller's number */
    partition_id partition;
    struct batch_builder edits;
    int code;
};

struct drain_batches {
    struct arena *arena;
    struct drain_batch *items; /* of one owner they stand behind each other */
    size_t count, room;
};

/* The owner's batch for that partition, among those at the end of the list. */
struct batch_builder *drain_batch_of(struct drain_batches *all, size_t owner,
                                     partition_id partition);

/* Sends all of them; each to its own partition and no other, so that after a split it fails there
 * (E_PARTITION). Those without edits are E_OK. */
void drain_apply_all(struct ctx *c, struct engine *e, struct drain_batches *all);

#endif
