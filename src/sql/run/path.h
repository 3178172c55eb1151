/* path.h: the ways to a table's rows: by its own key, and by the key of each of its indexes. */
#ifndef SQL_RUN_PATH_H
#define SQL_RUN_PATH_H

#include "sql/run/table.h"

struct table_path {
    bytes name;             /* of what is read: the table, or an index of it */
    const size_t *columns;  /* of its key, as numbers of the table's columns, in the key's order */
    const bool *descending; /* for each of these */
    size_t key_count;
    size_t hashed;    /* the first so many are hashed in front; 0: none is */
    size_t given;     /* the first so many were named for the index; 0: this is the table */
    size_t *position; /* of each column of the table in the key; SIZE_MAX: it is not in it */
    bool *included;   /* for each column of the table: entries have it beside their key */
    bool building;    /* not to be read yet */
    bool partial;     /* rows from before it may be missing */
};

/* The part of a path's key that a plan leaves. A bound of all columns may belong to it or not. */
struct key_part {
    struct wr_key start, end;
    bool with_start, with_end;
};

/* The table itself, then its indexes; those of them that name a column which the statement does not
 * see, or sees as another type, are left out. Lives in the arena of the statement. */
const struct table_path *paths_of(struct run *r, const struct sql_table *t, size_t *count);

/* The index of that name; NULL: there is none. */
const struct table_path *path_find(const struct table_path *paths, size_t count, bytes index);

/* Are all columns of the mask in the path? Bit i is column i, the last bit all others. */
bool path_covers(const struct table_path *p, const struct sql_table *t, uint64_t used);

/* Is the column one that the mask names? */
static inline bool path_is_used(uint64_t used, size_t column)
{
    return used >> (column < 63 ? column : 63) & 1;
}

/* Does it name all columns of a row, those that are not declared, too? */
static inline bool table_reads_all(const struct sql_table *t, uint64_t used)
{
    return t->columns[t->column_count - 1].is_rest && path_is_used(used, t->column_count - 1);
}

/* May a row have no entry in the path for want of a value in the column? */
static inline bool path_is_sparse(const struct table_path *p, const struct sql_table *t, size_t i)
{
    return i < p->given && p->columns[i] >= t->key_count;
}

#endif
