/* index_drain.h: brings what outbox records say to the indexes (decision 35).
 *
 * Any number of threads and processes may drain the same records, be paused or die at any moment,
 * and do so again: the rules of settle.h see to it that an index becomes what the table's rows are.
 * Records of rows that are written meanwhile are drained again later. */
#ifndef TABLE_MAINT_INDEX_DRAIN_H
#define TABLE_MAINT_INDEX_DRAIN_H

#include "table/model/table.h"

/* A walk over the outbox records of a table; the owner sets the first three. */
struct index_drain {
    struct table *table; /* the base table */
    struct ctx *c;       /* for the whole walk */
    /* Marks of records whose last change has a lower stamp go, with their records. Those of records
     * that are half full go in any case. */
    uint64_t due;

    size_t bucket; /* how far it has come, */
    bytes after;   /* and behind which key there; ptr NULL: at the beginning */
    bool ended;
    size_t left; /* records that remain: marks are not due yet, or it was busy */
};

/* Drains a page of records; durable on return. A failure leaves records that are drained again. It
 * blocks. */
int index_drain_page(struct index_drain *d);

#endif
