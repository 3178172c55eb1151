/* bounds.h: what a query may take. */
#ifndef SEARCH_QUERY_BOUNDS_H
#define SEARCH_QUERY_BOUNDS_H

#include "search/query/node.h"

/* E_BUSY: the search's time is over. What may take long asks now and then. */
int query_in_time(struct query *q);

/* E_MEMORY, said of the query. */
int query_too_large(struct query *q);

#endif
