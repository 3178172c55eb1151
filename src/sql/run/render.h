/* render.h: a SELECT written out again for SQLite, over virtual tables (scan.h). Here the two
 * differ: what MySQL means by a sign or a name is said in SQLite's. */
#ifndef SQL_RUN_RENDER_H
#define SQL_RUN_RENDER_H

#include "base/buf.h"
#include "sql/run/path.h"

/* A table of FROM, and the name of its virtual table. */
struct rendered_table {
    struct rendered_table *next;
    struct sql_table *table;
    const struct table_path *paths;
    size_t path_count;
    bytes name;
};

struct rendered {
    bytes sql;
    struct rendered_table *tables;
    bool conditions;        /* there is a WHERE in it */
    struct column *columns; /* of the result; of type WR_NULL: as the values are */
    size_t column_count;
    bool has_rest; /* undeclared columns are dealt out (undeclared.h) */
    size_t window_count;
    size_t table_count; /* of uses that have a table of their own */
    int depth;          /* while it is written: of SELECTs within each other */
};

int render_select(struct run *r, const struct select *s, struct rendered *out);

/* A condition on rows that have these columns; where their type is WR_NULL, values are compared as
 * SQLite holds them. Names and texts do not mind case. */
int render_condition(struct run *r, const struct column *columns, size_t count,
                     const struct expr *e, bytes *out);

/* SELECT of one expression without a table, and what it gives; WR_NULL: as the value is. */
int render_value(struct run *r, const struct expr *e, bytes *out, enum wr_type *type);

#endif
