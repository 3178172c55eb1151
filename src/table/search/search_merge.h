/* search_merge.h: brings segments of an index together, so that a search looks at few. */
#ifndef TABLE_SEARCH_SEARCH_MERGE_H
#define TABLE_SEARCH_SEARCH_MERGE_H

#include "table/search/searches.h"

/* Merges what has come together in the index; true: it did. */
bool search_merge_step(struct search_index *x);

/* How many bytes a merged segment has at most: a merge is done in memory, and takes about three
 * times as many beside what it merges. */
uint64_t search_merged_max(struct wr_db *db);

#endif
