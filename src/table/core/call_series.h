/* call_series.h: a series that a call works on, opened: its own table, and those of the periods
 * that the request may need. They are there until the call ends. */
#ifndef TABLE_CORE_CALL_SERIES_H
#define TABLE_CORE_CALL_SERIES_H

#include "table/model/table.h"

struct call_period {
    int64_t number;
    struct table *table;
};

struct call_series {
    struct table *series;
    struct call_period *periods; /* the newest first */
    size_t count;
    struct call_series *next; /* another one of the same request */
};

/* The one whose own table this is, by its name; NULL: it is none of them. */
struct call_series *call_series_named(struct call_series *list, bytes name);

/* The period's table, without a reference; NULL: it is not among them. */
struct table *call_series_table(const struct call_series *s, int64_t number);

#endif
