/* entry_load.h: the entry of a row as it is at the moment, for builds of indexes. */
#ifndef TABLE_MAINT_ENTRY_LOAD_H
#define TABLE_MAINT_ENTRY_LOAD_H

#include "table/index/entry.h"
#include "table/model/table.h"

/* Of the row with these key columns (encoded), at VIEW_LATEST, in the arena of c. The caller holds
 * the row's lock. Blocks. */
int entry_load(struct ctx *c, const struct table *t, const struct index *index, bytes cols,
               struct index_entry *out);

#endif
