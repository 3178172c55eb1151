/* index.h: secondary indexes as statements name them. */
#ifndef SQL_RUN_INDEX_H
#define SQL_RUN_INDEX_H

#include "sql/run/run.h"

/* The table of an index: its name, its key, and its columns outside of that. */
struct index_of {
    bytes table;
    const struct wr_key_schema *key;
    size_t key_count;
    const struct wr_defined_column *columns;
    size_t column_count;
};

/* The index of a definition, in the arena. */
int index_make(struct run *r, const struct index_definition *i, const struct index_of *of,
               struct wr_index_meta *out);

/* How many columns hash8, hash32 or hash64 in front of a key names, of the table or of an index;
 * they have to be its first ones. */
int index_hashed(struct run *r, const struct key_definition *key, size_t *count);

/* Does its key column `i` descend? */
bool index_descends(const struct wr_table_description *d, const struct wr_index_meta *ix, size_t i);

int run_create_index(struct run *r, const struct statement *s);
int run_drop_index(struct run *r, const struct statement *s);
int run_alter_index(struct run *r, const struct statement *s);
int run_show_index(struct run *r, const struct statement *s);

#endif
