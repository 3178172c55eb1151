/* search_save.h: a search index in storage, and back. The feed's thread alone stores, loads and
 * removes, so that nobody puts segments where it sweeps. */
#ifndef TABLE_SEARCH_SEARCH_SAVE_H
#define TABLE_SEARCH_SEARCH_SAVE_H

#include "table/model/table.h"
#include "table/search/searches.h"

/* Of segments that are not stored yet. */
uint64_t search_unsaved_bytes(struct search_index *x);

/* Is it time to store what the index is now? */
bool search_save_due(struct search_index *x);

/* Stores it: segments that are not yet, then in one batch its state and the bitmaps that have
 * changed; then what nobody needs any more goes. After a failure the state is the one before. */
int search_save(struct ctx *c, struct search_index *x);

/* Makes the index what its stored state says; none is stored: it is new. E_CORRUPT: something of it
 * is damaged. */
int search_load(struct ctx *c, struct search_index *x);

/* Removes what is stored of indexes that the table has no more. */
int search_sweep(struct ctx *c, const struct table *t);

#endif
