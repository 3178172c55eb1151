/* series_call.h: a request that names a series.
 *
 * The operation that opens such a table has diverted its call (call_open_table()), and nothing has
 * begun. Here the tables of the periods are found that the request may need, those that a write
 * needs and that are not there yet are made by one change of the catalog, and the operation begins
 * anew with them (call->series). Operations that a series does not serve end as they were
 * refused. */
#ifndef TABLE_SERIES_SERIES_CALL_H
#define TABLE_SERIES_SERIES_CALL_H

#include "table/core/call.h"

/* The call was diverted; its context holds the refusal. again(call) begins it anew, perhaps on
 * another thread. Finishes the call otherwise. */
void series_call(struct call *call, void (*again)(struct call *call));

#endif
