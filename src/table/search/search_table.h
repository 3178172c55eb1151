/* search_table.h: what the operations on search indexes share. */
#ifndef TABLE_SEARCH_SEARCH_TABLE_H
#define TABLE_SEARCH_SEARCH_TABLE_H

#include "table/core/call.h"
#include "table/search/searches.h"

/* E_SEARCH_INDEX: there is no such index. */
int search_missing(struct ctx *c, bytes index);

/* The table, with a reference, and its index of that name, a view of it. Where the engine numbers
 * no changes, no table has any. */
int search_open(struct call *call, bytes table, bytes index, struct table **out,
                const struct schema_search **search);

#endif
