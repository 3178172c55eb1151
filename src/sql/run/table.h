/* table.h: a table as statements see it: its columns, those of the key first, in the key's order.
 */
#ifndef SQL_RUN_TABLE_H
#define SQL_RUN_TABLE_H

#include "sql/run/run.h"

struct table_column {
    bytes name;
    enum wr_type type;
    uint32_t length; /* as wr_key_schema.length; 0: not declared */
    bool descending;
};

struct sql_table {
    bytes database, name;
    struct table_column *columns;
    size_t column_count, key_count;
    const struct wr_table_description *description;
};

/* Asks for it; lives as long as the statement. */
int table_find(struct run *r, const struct table_name *name, struct sql_table **out);

/* The number of a column, or SIZE_MAX. Names mind case. */
size_t table_column(const struct sql_table *t, bytes name);

/* The same; a column that is not there is a fault. `where` is the part of the statement. */
int table_column_find(struct run *r, const struct sql_table *t, bytes name, const char *where,
                      size_t *out);

/* The instance that a name is of. */
int table_database(struct run *r, const struct table_name *name, bytes *out);

#endif
