/* table.h: a table as statements see it: its columns, those of the key first, in the key's order.
 */
#ifndef SQL_RUN_TABLE_H
#define SQL_RUN_TABLE_H

#include "sql/run/declared.h"

#define TABLE_VERSION " version" /* SQLite's column of a row's versions (scan.h) */

struct table_column {
    bytes name;
    enum wr_type type; /* WR_NULL: not declared; as each value is */
    uint32_t length;   /* as wr_key_schema.length; of VARCHAR in characters; 0: not declared */
    bool descending;
    const struct declared_column *declared; /* NULL: nothing more was said of it */
    bytes label;                            /* for SQLite, to which a and A are one name */
    bool is_rest;                           /* undeclared.h */
    bytes stamp_of; /* it is the timestamp of that column's cell; ptr NULL: it is none */
};

struct sql_table {
    bytes database, name;
    struct table_column *columns;
    size_t column_count, key_count;
    size_t hidden_count; /* the last columns, which * leaves out: timestamps, undeclared ones */
    const size_t *shown; /* which ones * is, in which order; NULL: all, as they stand */
    size_t shown_count;
    struct declared declared;
    bool any_case;           /* names do not mind case */
    const void *information; /* which one of information_schema; NULL: none of it */
    const struct wr_table_description *description;
};

/* Which column * has at that place, of table_shown_count(). */
size_t table_shown(const struct sql_table *t, size_t i);
size_t table_shown_count(const struct sql_table *t);

/* A row's value in a column, as one of the column's type. A cell of another type, which who writes
 * without SQL may have put there, is NULL. Texts are views of the row. */
struct wr_value table_value(const struct sql_table *t, size_t column, const struct wr_row *row);
/* The same of a column outside of the key: its so many-th newest version, from 0. */
struct wr_value table_cell(const struct sql_table *t, size_t column, const struct wr_row *row,
                           size_t version);
/* How many versions of the column the row has. */
size_t table_versions(const struct sql_table *t, size_t column, const struct wr_row *row);

/* The name of the cell that a column is read from. */
static inline bytes table_cell_name(const struct table_column *c)
{
    return c->stamp_of.ptr ? c->stamp_of : c->name;
}

/* Asks for it; lives as long as the arena of `r`. */
int table_ask(struct run *r, const struct table_name *name, struct sql_table **out);

/* The same, unless the session remembers it (described.h); lives as long as the statement. */
int table_find(struct run *r, const struct table_name *name, struct sql_table **out);

/* The same for a SELECT, which may name the timestamps of columns, too: c_l_ts is that of c. */
int table_find_stamped(struct run *r, const struct table_name *name, struct sql_table **out);

/* Gives the columns the names that SQLite knows them by. */
void table_label(struct run *r, struct sql_table *t);

/* The same without columns. */
int table_find_bare(struct run *r, const struct table_name *name, struct sql_table **out);

/* The number of a column, or SIZE_MAX. Names mind case, but in Tablestore's. */
size_t table_column(const struct sql_table *t, bytes name);

/* The same; a column that is not there is a fault. `where` is the part of the statement. */
int table_column_find(struct run *r, const struct sql_table *t, bytes name, const char *where,
                      size_t *out);

/* The CREATE TABLE that would make it. */
bytes show_create_text(struct run *r, const struct sql_table *t);

/* The instance that a name is of. */
int table_database(struct run *r, const struct table_name *name, bytes *out);

#endif
