/* default.h: what a new row has in columns that its INSERT does not name. */
#ifndef SQL_RUN_DEFAULT_H
#define SQL_RUN_DEFAULT_H

#include "sql/run/table.h"

/* What CREATE TABLE or ADD COLUMN says of a column beyond its type: `length` and `type` are as
 * declared. A DEFAULT that is no value of the column is a fault. */
int default_declare(struct run *r, const struct column_definition *c, enum wr_type type,
                    uint32_t length, struct declared_column *out);

/* The value, of a column that has one. */
int default_value(struct run *r, const struct table_column *column, struct wr_value *out);

#endif
