/* db.h: an open database from inside, and the requests under way in it. */
#ifndef TABLE_DB_H
#define TABLE_DB_H

#include "base/ctx.h"
#include "base/limit.h"
#include "engine/engine.h"
#include "table/catalog.h"
#include "table/latch.h"
#include "widerow.h"

#include <stdatomic.h>

struct scrubber;
struct sweeper;

struct wr_db {
    struct clock clock;
    struct log log;
    struct limits limits;
    struct engine *engine;
    uint32_t caps; /* the engine's */
    struct latch_table *latches;
    struct catalog *catalog;
    struct sweeper *sweeper;
    struct scrubber *scrubber; /* NULL: no scrub */
    wr_log_fn *log_fn;
    void *log_arg;
    _Atomic int64_t requests; /* under way; wr_close() waits for none */
};

/* A request under way. Its context owns the reply and everything behind it. */
struct call {
    struct wr_reply reply; /* what the caller sees; wr_reply_free() finds the call around it */
    struct ctx c;
    struct wr_db *db;
    const struct wr_request *req;
    wr_done_fn *done;
    void *arg;
    int64_t now_ms; /* wall clock at the start: all rules about time use this one reading */
    _Alignas(16) uint8_t first[4096]; /* the arena's first bytes */
};

/* Sends the reply: the code and text in call->c if that failed, else what stands in call->reply.
 * Nothing of the call may be touched afterwards. */
void call_finish(struct call *call);

/* E_BUSY when the request's deadline has passed. */
int call_check_deadline(struct call *call);

/* Each runs one family of operations and finishes the call, now or later. */
void write_exec(struct call *call); /* PutRow, UpdateRow, DeleteRow, BatchWriteRow, BulkImport */
void read_exec(struct call *call);  /* GetRow, BatchGetRow */
void range_exec(struct call *call); /* GetRange, BulkExport */
void split_exec(struct call *call); /* ComputeSplitPointsBySize */

#endif
