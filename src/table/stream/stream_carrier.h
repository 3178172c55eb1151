/* stream_carrier.h: who carries change records into the logs of their shards on this server
 * (stream_carry.h), and the threads on which logs are read, for that blocks.
 *
 * A task carries what nobody reads, of each table in turn. Whoever has read a log to its end asks
 * for a round: all that stood beside rows when he asked is in the logs when it has ended. Rounds of
 * a table come one after the other, and one serves all who asked before it began. */
#ifndef TABLE_STREAM_STREAM_CARRIER_H
#define TABLE_STREAM_STREAM_CARRIER_H

#include "base/workers.h"
#include "table/core/db.h"
#include "table/model/table.h"

struct stream_carrier;

/* NULL: the system gives no threads. The task is added to db->background. */
struct stream_carrier *stream_carrier_start(struct wr_db *db);
/* No request is under way, and the scheduler was stopped. NULL is allowed. */
void stream_carrier_free(struct stream_carrier *s);

/* Runs the job on a thread where engine calls may block. False: too many wait there. */
bool stream_carrier_run(struct stream_carrier *s, struct job *job);

/* Waits for a round. */
struct stream_round {
    struct table *table; /* the owner's reference, until `then` runs */
    struct job *then;    /* runs as those of stream_carrier_run() do */
    int code;            /* of the round. E_BUSY: others are at it, or a split is under way, all the
                            time */
    uint64_t wanted;     /* the carrier's own, as below */
    struct stream_round *next;
};

/* Runs `then` when a round of the table has ended that began after the call; it may do so before
 * the call returns. Who waits holds no thread, and the rounds of tables of many partitions, which
 * all have to be asked, have one of their own: so they keep up no others. */
void stream_carrier_round(struct stream_carrier *s, struct stream_round *round);

#endif
