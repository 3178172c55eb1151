/* db.h: an open database from inside. */
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

struct call;

/* Each runs one family of operations and finishes the call (call.h), now or later. */
void write_exec(struct call *call); /* PutRow, UpdateRow, DeleteRow, BatchWriteRow, BulkImport */
void read_exec(struct call *call);  /* GetRow, BatchGetRow */
void range_exec(struct call *call); /* GetRange, BulkExport */
void split_exec(struct call *call); /* ComputeSplitPointsBySize */

#endif
