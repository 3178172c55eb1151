/* catalog_index.h: what transactions on the catalog do to indexes (model/index.h). A base table and
 * its indexes change in one batch, so a kill leaves all of a change or nothing. */
#ifndef TABLE_CATALOG_CATALOG_INDEX_H
#define TABLE_CATALOG_CATALOG_INDEX_H

#include "table/catalog/catalog_txn.h"
#include "table/model/schema_index.h"

/* ---- for decide() ---- */

/* Puts the table of a new index, and lists it in `base`, the draft of x's table, which the caller
 * puts: rules were checked. `id` is from catalog_txn_ids(). E_EXIST: a table has the name. */
int catalog_index_add(struct catalog_txn *x, struct schema *base, const struct wr_index_meta *meta,
                      uint32_t id, enum index_start start);
/* Drops the index of that name, and takes it out of the draft. E_NOT_EXIST: it has none. */
int catalog_index_remove(struct catalog_txn *x, struct schema *base, bytes name);
/* Drops the tables of all indexes of x->now. */
void catalog_index_drop_all(struct catalog_txn *x);
/* The tables of base's indexes follow its options and the indexes' phases. */
int catalog_index_follow(struct catalog_txn *x, const struct schema *base);

/* ---- by itself ---- */

/* `index` of the base table `t` enters the phase behind the one that it has there: if it was being
 * built, the rows that there were have all been indexed, and it is read from now on. Durable and
 * published on return. E_NOT_EXIST: the table or the index is gone, or in another phase. Blocks. */
int catalog_index_advance(struct ctx *c, struct table *t, const struct index *index);

#endif
