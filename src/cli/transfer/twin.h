/* twin.h: a table's twin at another server: made with the definition that the table has, filled,
 * and then given its options and indexes.
 *
 * While it is filled it takes any timestamp, updates and large cells, and has no indexes, since a
 * table with indexes takes no timestamps. */
#ifndef CLI_TRANSFER_TWIN_H
#define CLI_TRANSFER_TWIN_H

#include "client/client.h"

/* Makes the table `t` there, open. A server that keeps no streams is no failure, but told. */
int twin_create(struct ctx *c, struct client *to, const struct wr_table_description *t);

/* A table that is there already: opens it, and drops its indexes. */
int twin_open(struct ctx *c, struct client *to, const struct wr_table_description *t,
              const struct wr_table_description *there);

/* All rows are there: gives it the options of `t`. */
int twin_close(struct ctx *c, struct client *to, const struct wr_table_description *t);

/* Makes the secondary indexes of `t`, of the rows that the twin has now, and waits until they are
 * built. A server that does not make one is no failure, but told; *left_out counts them. */
int twin_create_indexes(struct ctx *c, struct client *to, const struct wr_table_description *t,
                        size_t *left_out);

/* Names, types and order of the key columns, and which one counts up by itself. */
bool twin_same_key(const struct wr_table_description *a, const struct wr_table_description *b);

#endif
