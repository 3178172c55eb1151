/* base_tables.h: the tables of an instance but for those of indexes, whose rows come from others.
 */
#ifndef CLI_TRANSFER_BASE_TABLES_H
#define CLI_TRANSFER_BASE_TABLES_H

#include "client/client.h"

/* Their names, in the order of ListTable, in the arena of c. */
int base_tables(struct ctx *c, struct client *cl, const bytes **names, size_t *count);

#endif
