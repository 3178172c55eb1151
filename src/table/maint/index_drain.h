/* index_drain.h: brings what outbox records say to the indexes (decision 35).
 *
 * Any number of threads and processes may drain the same records, be paused or die at any moment,
 * and do so again: the rules of settle.h see to it that an index becomes what the table's rows are.
 * Records of rows that are written meanwhile are drained again later. */
#ifndef TABLE_MAINT_INDEX_DRAIN_H
#define TABLE_MAINT_INDEX_DRAIN_H

#include "table/model/table.h"

/* What became of a record. */
enum drained {
    DRAINED_NOT,     /* it may say what its indexes do not have yet: it was busy */
    DRAINED_SETTLED, /* it stays for its marks, which are not due yet */
    DRAINED_GONE,    /* there is none, or none any more */
};

struct drain_key {
    bytes key; /* of the record (outbox.h) */
    enum drained end;
};

/* Drains these records of a table, together; none of them stands there twice. Marks of records
 * whose last change has a stamp below `due` go, with the records; those of records that are half
 * full in any case. Durable on return. A failure leaves records that are drained again. It blocks.
 */
int index_drain_keys(struct ctx *c, struct table *t, struct drain_key *keys, size_t count,
                     uint64_t due);

/* A walk over the outbox records of a table; the owner sets the first ones. */
struct index_drain {
    struct table *table; /* the base table */
    struct ctx *c;       /* for the whole walk */
    uint64_t due;        /* as above; 0: records without anything unsettled are passed over */
    bytes from, to;      /* encoded key columns: rows from, and before; empty: no bound */

    size_t bucket; /* how far it has come, */
    bytes after;   /* and behind which key there; ptr NULL: at the beginning */
    bool ended;
    size_t left;      /* records that remain: marks are not due yet, or it was busy */
    size_t unsettled; /* of these, such as were busy */
};

/* Drains a page of records, like index_drain_keys(). */
int index_drain_page(struct index_drain *d);

#endif
