/* schema_index.h: descriptions that gain and lose indexes. All is in the arena of c; what an older
 * description has stays as it is. */
#ifndef TABLE_MODEL_SCHEMA_INDEX_H
#define TABLE_MODEL_SCHEMA_INDEX_H

#include "table/model/schema.h"

/* What an index begins with. */
enum index_start {
    INDEX_OF_NEW_TABLE,    /* there are no rows, so it has an entry of each from the start */
    INDEX_BUILT,           /* rows that are there are indexed later */
    INDEX_STAGED,          /* likewise, from table files that are taken over */
    INDEX_OF_LATER_WRITES, /* they are not */
};

/* `base`, a draft, gets a checked index (index_rule.h), whose table has that id; *table describes
 * the index's table. */
int schema_add_index(struct ctx *c, struct schema *base, const struct wr_index_meta *meta,
                     uint32_t id, enum index_start start, struct schema **table);
/* `base`, a draft, loses the index of that name. E_NOT_EXIST: it has none. */
int schema_remove_index(struct ctx *c, struct schema *base, bytes name);
/* The index of that id in `base`, a draft, enters the next phase: one that is built is complete,
 * one that was coming is built, or followed by later writes. False: none of that id is in that
 * phase. */
bool schema_advance_index(struct ctx *c, struct schema *base, uint32_t id, enum index_phase from);
/* In `base`, a draft, indexes whose keys are made of its key alone are built anew, for their
 * entries do not know when rows were written last (index/entry.h). */
void schema_refill_indexes(struct ctx *c, struct schema *base);
/* An index's table follows the options of its base table, and the index's phase there. */
void schema_follow_base(struct schema *table, const struct schema *base);

#endif
