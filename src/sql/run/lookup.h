/* lookup.h: the rows of a page of index entries, read again by their keys. */
#ifndef SQL_RUN_LOOKUP_H
#define SQL_RUN_LOOKUP_H

#include "sql/run/path.h"

#define LOOKUP_ROWS 100 /* in one page */

struct lookup {
    const struct wr_row *rows; /* in the order of their entries */
    size_t count;
    int64_t units; /* of capacity, that were read */
    struct wr_reply *reply;
    struct arena arena;
};

/* Rows that are gone, or are no longer as their entry says, are left out. `used` as in
 * path_covers(). The caller frees it; NULL: the fault is said. */
struct lookup *lookup_rows(struct run *r, const struct sql_table *t, const struct table_path *p,
                           uint64_t used, const struct wr_row *entries, size_t count);

/* NULL is allowed. */
void lookup_free(struct lookup *l);

#endif
