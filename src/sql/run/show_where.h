/* show_where.h: SHOW ... WHERE: of the rows that SHOW makes, those of which the condition holds. */
#ifndef SQL_RUN_SHOW_WHERE_H
#define SQL_RUN_SHOW_WHERE_H

#include "sql/run/run.h"

struct show_where {
    struct sink sink; /* stands before `to`, and is the run's from now on */
    struct sink *to;
    struct run *r;
    const struct expr *where;
    bytes *names; /* of the columns */
    size_t count;
};

/* Comparisons, IN, LIKE, BETWEEN, IS NULL, AND, OR and NOT of columns and constants, where texts do
 * not mind case, as MySQL's SHOW does not. Others are a fault. */
void show_where_init(struct show_where *w, struct run *r, const struct expr *where);

#endif
