/* span.h: which cells of a row a SELECT sees: how many versions of each column, and of which time.
 * Without hints that is the newest of each. */
#ifndef SQL_RUN_SPAN_H
#define SQL_RUN_SPAN_H

#include "sql/run/hint.h"

struct span {
    int32_t versions;       /* of each column; more than 1: a row for each, the newest first */
    bool timed;             /* only cells from ... */
    int64_t from_ms, to_ms; /* ... to in front of that are seen, and rows that have any of them */
};

/* Of the hints _l_versions_, _l_ts_, _l_ts_min_ and _l_ts_max_. */
int span_read(struct run *r, const struct hints *hints, struct span *out);

/* Is it all that a statement without such hints sees, and no less? */
bool span_is_plain(const struct span *s);

/* Bounds a read of the columns that are set in it. A read of a time asks for all columns, so that
 * span_sees() can tell. */
void span_apply(const struct span *s, struct wr_read_options *read);

/* Is the row that such a read gave one that the statement sees? */
bool span_sees(const struct span *s, const struct wr_row *row);

#endif
