/* search_feed.h: what brings indexes up to their tables, step by step. */
#ifndef TABLE_SEARCH_SEARCH_FEED_H
#define TABLE_SEARCH_SEARCH_FEED_H

#include "table/search/searches.h"

/* The database is open: indexes that it has are looked after from now on. */
void search_feed_begin(struct wr_db *db);
/* One round over all tables; true: there is more to do at once. `sweep`: what is stored of indexes
 * that are gone is removed. */
bool search_feed_round(struct wr_db *db, bool sweep);
/* The feed ends: what the index is now is stored. */
void search_feed_end(struct search_index *x);

#endif
