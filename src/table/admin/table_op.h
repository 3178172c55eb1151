/* table_op.h: what operations on tables share: each is one transaction on the catalog, decided by
 * the operation's own function. */
#ifndef TABLE_ADMIN_TABLE_OP_H
#define TABLE_ADMIN_TABLE_OP_H

#include "table/catalog/catalog_txn.h"
#include "table/core/call.h"

struct table_op {
    /* What it makes of the table that there is, x->now: the decision of its transaction. */
    int (*decide)(struct catalog_txn *x, struct call *call);
    /* Fills in the reply, by the table as it is published now. */
    void (*describe)(struct call *call, const struct table *t);
    /* NULL, or: is the answer to wait until no write of those under way can come to lie in the
     * periods that a series has frozen? */
    bool (*freezes)(const struct call *call);
    bool makes;            /* there need not be a table */
    bool makes_partitions; /* of a new table */
    bool serves_series;    /* the table may be a series */
};

/* Begins it for the table that the request names; it finishes the call. */
int table_op_start(struct call *call, const struct table_op *what);

/* May the instance have so many tables more? */
int table_op_check_quota(struct catalog_txn *x, size_t more);

/* The table that the request names, also one that is unloaded, with a reference. */
int table_op_find(struct call *call, struct table **t);

/* How many key columns a table may have that the request makes. */
size_t table_op_key_columns(const struct call *call);

/* Describes it as DescribeTable does. */
void table_op_describe(struct call *call, const struct table *t);

#endif
