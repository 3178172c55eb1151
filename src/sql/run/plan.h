/* plan.h: which path (path.h) a part of a statement takes to a table's rows, and how it is bounded:
 * what SQLite asks for with xBestIndex. */
#ifndef SQL_RUN_PLAN_H
#define SQL_RUN_PLAN_H

#include "sql/run/path.h"

struct sqlite3_index_info;

/* For each of the path's first key columns an equality, then perhaps bounds of the next. */
enum { PLAN_EQUAL = '=', PLAN_ABOVE = '>', PLAN_FROM = 'g', PLAN_BELOW = '<', PLAN_TO = 'l' };

/* What a statement says of paths. */
struct plan_wishes {
    bool conditions;      /* there is a WHERE in it */
    bool allow_filtering; /* it may read whole tables all the same */
    bool ignore_indexes;
    bytes force_index; /* ptr NULL: none. Rows without an entry are passed over then */
    bool versions;     /* a row may come several times, or as it was at a time: never of an index */
};

struct plan {
    char signs[2 * WR_KEY_COLUMNS_MAX + 3]; /* of the bounds, in the order of their values */
    size_t length, equal;
    size_t path; /* its number */
    bool covers; /* all that is asked for is in the path */
    int order;   /* 1: rows come as ORDER BY says, -1: backward they do, 0: neither */
    double rows, cost;
};

/* The cheapest. False: there is none that does not read the whole table although the statement has
 * conditions. */
bool plan_choose(const struct sql_table *t, const struct table_path *paths, size_t path_count,
                 const struct plan_wishes *wishes, const struct sqlite3_index_info *info,
                 struct plan *out);

/* Are rows read by key behind the path's entries? `used` as in path_covers(). */
bool plan_looks_up(const struct sql_table *t, const struct table_path *path,
                   const struct plan_wishes *w, uint64_t used);

/* Tells SQLite which constraints the plan uses, and in which order it is to give their values. */
void plan_use(const struct table_path *path, const struct plan *p, const struct plan_wishes *w,
              struct sqlite3_index_info *info);

/* What would let a refused one be served, behind "Add a bound on the first key column 'k', ": an
 * index that there is, or one to create. Empty: nothing else would. */
bytes plan_advice(struct arena *a, const struct sql_table *t, const struct table_path *paths,
                  size_t path_count, const struct sqlite3_index_info *info);

#endif
