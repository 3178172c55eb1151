/* index_rule.h: which indexes a table may have (doc/data-model.md, "Indexes"). The checks fail with
 * E_PARAMETER and clients' texts. */
#ifndef TABLE_MODEL_INDEX_RULE_H
#define TABLE_MODEL_INDEX_RULE_H

#include "base/ctx.h"
#include "base/limit.h"
#include "widerow.h"

/* May a table have so many? */
int index_check_count(struct ctx *c, const struct limits *limits, size_t count);

/* Has a table of these options what every index needs: one version, and rows that expire as a
 * whole? */
int index_check_options(struct ctx *c, const struct wr_table_options *options);

/* May a table that is described so (name, key, defined columns, indexes) have this index as well?
 * `scalar`: with a key of all types that keys can have, not only of those that Tablestore's have.
 * Whether the name is free in the instance is for the catalog to say. */
int index_check(struct ctx *c, const struct limits *limits, const struct wr_table_description *base,
                const struct wr_index_meta *meta, bool scalar);

#endif
