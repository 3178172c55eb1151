/* lookup.h: the rows of a page of index entries, read again by their keys. */
#ifndef SQL_RUN_LOOKUP_H
#define SQL_RUN_LOOKUP_H

#include "sql/run/path.h"
#include "sql/run/span.h"

#define LOOKUP_ROWS 100 /* in one page */

struct lookup {
    const struct wr_row *rows; /* in the order of their entries */
    size_t count;
    int64_t units; /* of capacity, that were read */
    struct wr_reply *reply;
    struct arena arena;
};

/* Which rows, and what of them. */
struct lookup_part {
    const struct sql_table *table;
    const struct table_path *path;
    const struct span *span;
    uint64_t used; /* as in path_covers() */
};

/* Rows that are gone, or are no longer as their entry says, are left out. The caller frees it;
 * NULL: the fault is said. */
struct lookup *lookup_rows(struct run *r, const struct lookup_part *p, const struct wr_row *entries,
                           size_t count);

/* NULL is allowed. */
void lookup_free(struct lookup *l);

#endif
