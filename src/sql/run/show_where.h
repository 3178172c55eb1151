/* show_where.h: SHOW ... WHERE: of the rows that SHOW makes, those of which the condition holds.
 * The rows are held in the statement's arena until the last one has come. */
#ifndef SQL_RUN_SHOW_WHERE_H
#define SQL_RUN_SHOW_WHERE_H

#include "sql/run/run.h"

struct shown_row;

struct show_where {
    struct sink sink; /* takes the rows in place of `to` */
    struct sink *to;
    struct run *r;
    struct column *columns; /* of which the names are known, and no types */
    size_t column_count;
    struct shown_row *first, **last;
};

/* From now on the run's rows are held here. `w` stays where it is until show_where_send(). */
void show_where_begin(struct show_where *w, struct run *r);

/* The run's sink is what it was before, and is sent the rows of which the condition holds: any
 * expression that names columns of the answer, in which texts do not mind case, as in MySQL's SHOW,
 * and numbers in texts are compared as numbers. Not 0: the fault is said. */
int show_where_send(struct show_where *w, const struct expr *where);

/* The run's sink is what it was before, and is sent nothing more. */
void show_where_drop(struct show_where *w);

#endif
