/* stat.h: what the HTTP front counts. Any thread may count at any time; a reader sees numbers that
 * are each right but not all of one moment. */
#ifndef SERVER_STAT_H
#define SERVER_STAT_H

#include "base/buf.h"
#include "base/err.h"
#include "widerow.h"

#include <stdatomic.h>

#define STAT_BUCKETS 18 /* of the latency histogram, the one without an upper end included */

/* Rows of `ops`: the operations of widerow.h, then one for everything else (unknown and empty
 * operations, refusals before the operation was known). */
#define STAT_OP_OTHER WR_OP_COUNT
#define STAT_OPS (WR_OP_COUNT + 1)

struct stat_op {
    _Alignas(64) atomic_ullong requests; /* operations do not share a cache line */
    atomic_ullong errors;
    atomic_ullong latency_us; /* sum */
    atomic_ullong buckets[STAT_BUCKETS];
};

struct server_stat {
    struct stat_op ops[STAT_OPS];
    atomic_ullong errors[E_COUNT]; /* by code, whatever the operation */
#define STAT(name, text) atomic_ullong name;
#include "server/stat.def"
#undef STAT
};

static inline void stat_add(atomic_ullong *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* One request that ended with `code` (0: well) after `us` microseconds. `op`: a row of ops. */
void stat_request(struct server_stat *s, size_t op, int code, int64_t us);

/* All of it in the Prometheus text format. */
void stat_format(struct server_stat *s, struct buf *out);

/* The figures of some tables, with labels instance and table. */
void stat_format_tables(struct buf *out, const struct wr_table_traffic *tables, size_t count);

/* Adds the metrics of tasks in the background, with a label `task`. */
void stat_format_tasks(struct buf *out, const struct wr_task *tasks, size_t count);

/* One metric without labels in that format; type is "counter" or "gauge". */
void stat_format_one(struct buf *out, const char *name, const char *type, const char *help,
                     uint64_t value);
void stat_format_real(struct buf *out, const char *name, const char *type, const char *help,
                      double value);

/* widerow_build_info, which is always 1: the version is its label. */
void stat_format_build(struct buf *out);

#endif
