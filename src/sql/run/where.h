/* where.h: what a condition says of a table's key. */
#ifndef SQL_RUN_WHERE_H
#define SQL_RUN_WHERE_H

#include "sql/run/table.h"

/* True: `where` is nothing but each key column, once, equal to a constant; *key has them in the
 * key's order, as values of the columns. `empty`: one of the constants is a value that the column
 * cannot have, so there is no such row. */
bool where_is_key(struct run *r, const struct sql_table *t, const struct expr *where,
                  struct wr_key *key, bool *empty);

/* True: `where` says, among other things that hold with it, which one value the first key column
 * has. */
bool where_first_value(struct run *r, const struct sql_table *t, const struct expr *where,
                       struct wr_value *out);

#endif
