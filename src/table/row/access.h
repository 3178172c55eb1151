/* access.h: the one place where accesses to rows are admitted and accounted.
 *
 * A reader or writer fills in the first members, asks access_admit() before the work, and calls
 * access_count() with what it cost after each row's outcome, refused or not. A walk over a range
 * does so once for the rows of one partition. Both are cheap and take no lock. */
#ifndef TABLE_ROW_ACCESS_H
#define TABLE_ROW_ACCESS_H

#include "table/core/db.h"
#include "table/model/partition.h"

struct access {
    struct wr_db *db;
    struct ctx *c;
    const struct table *table;
    uint8_t bucket; /* of the key; 0 in tables without buckets */
    bytes cols;     /* the key columns, encoded: of the row, or of a range's first row */

    struct partition *partition; /* access_admit() looks it up, if it is not given */

    /* For access_count(). */
    uint32_t reads, writes; /* rows; a condition that was looked at is no read by itself */
    int32_t read_units, write_units;
    uint64_t read_bytes, write_bytes; /* as capacity counts them */
    bool refused;                     /* by access_admit() */
    bool walk;                        /* access_sample() is called for the rows as they come */
};

/* Sets a->partition. May this partition serve another access of the way (PARTITION_READ,
 * PARTITION_WRITE) now? Its cost need not be known yet: what an access takes above the allowance
 * the ones behind it wait for. E_CAPACITY, E_HOT_PARTITION (doc/data-model.md, "Capacity"), with
 * a->refused set, only if the setting enforce_throughput asks for it. */
int access_admit(struct access *a, int way);

/* Counts what became of it. */
void access_count(const struct access *a);

/* Tells the heat map and the size watch of one row, or of a few that stand together behind a->cols;
 * `weight` is what sampler_weight() said of them. access_count() does so itself, but for a walk
 * that was admitted. */
void access_sample(const struct access *a, uint32_t weight);

/* enforce_throughput. Where several servers share the data, each has its equal share of all that.
 */
enum access_rule {
    /* Everything is admitted, and counted against what is reserved. */
    ACCESS_OFF,
    /* Each partition serves its equal share of what its table reserves; a table that reserves
     * nothing is not held back. */
    ACCESS_RESERVED,
    /* Each partition serves partition_read_cu_max and partition_write_cu_max. */
    ACCESS_PARTITION,
};

/* Units a second that `rule` allows one of `partitions` partitions, times the count: so that
 * shares need no fractions. 0: any number. */
int64_t access_rate(const struct limits *limits, const struct schema *s, enum access_rule rule,
                    int way);

#endif
