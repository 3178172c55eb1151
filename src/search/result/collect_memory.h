/* collect_memory.h: memory of aggregations and groups, bounded for a request. */
#ifndef SEARCH_RESULT_COLLECT_MEMORY_H
#define SEARCH_RESULT_COLLECT_MEMORY_H

#include "search/result/collect.h"

/* Memory for what grows, in the context's arena; counts. */
void *collect_alloc(struct collect *k, size_t size);
/* `old` with room for more; NULL at the first. */
void *collect_grow(struct collect *k, void *old, size_t old_bytes, size_t new_bytes);

/* Nothing more is collected, nor made of it, once it is too much (E_MEMORY) or takes too long
 * (E_BUSY). */
int collect_go_on(const struct collect *k);

#endif
