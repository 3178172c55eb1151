/* search_feed.h: what brings indexes up to their tables, step by step. */
#ifndef TABLE_SEARCH_SEARCH_FEED_H
#define TABLE_SEARCH_SEARCH_FEED_H

#include "table/search/searches.h"

/* One round over all tables; true: there is more to do at once. */
bool search_feed_round(struct wr_db *db);
/* Merges what has come together in the index; true: it did. */
bool search_merge_step(struct search_index *x);

#endif
