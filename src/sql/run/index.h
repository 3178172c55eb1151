/* index.h: secondary indexes as statements name them. */
#ifndef SQL_RUN_INDEX_H
#define SQL_RUN_INDEX_H

#include "sql/run/run.h"

/* The index of a definition, in the arena. `table` is its table's name, `columns` those that there
 * are outside of the key, for an index that is to have all of them. */
int index_make(struct run *r, const struct index_definition *i, bytes table,
               const struct wr_defined_column *columns, size_t column_count,
               struct wr_index_meta *out);

int run_create_index(struct run *r, const struct statement *s);
int run_drop_index(struct run *r, const struct statement *s);
int run_alter_index(struct run *r, const struct statement *s);
int run_show_index(struct run *r, const struct statement *s);

#endif
