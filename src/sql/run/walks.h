/* walks.h: what EXPLAIN tells: which walks a statement took, each as far as its first page. */
#ifndef SQL_RUN_WALKS_H
#define SQL_RUN_WALKS_H

#include "sql/run/reach.h"

/* Walks of one kind: those of an inner SELECT, or of an IN list, are many. */
struct walk {
    struct walk *next;
    const struct sql_table *table;
    const struct table_path *path;
    bytes signs, bounds; /* of the first: plan.signs, and as a text */
    bool looks_up;       /* rows are read by their keys behind the index */
    bool more;           /* some went on behind their first page */
    uint64_t count, rows;
    int64_t units; /* of read capacity that was consumed */
    const struct reach *reach;
    struct reached reached;
};

struct walks {
    struct walk *first;
    size_t pages; /* that were read */
};

#define WALKS_PAGES_MAX 100 /* of one statement that is explained */

/* A walk begins: `like` has what is known of it. Lives in the arena of the statement; NULL: the
 * fault is said. */
struct walk *walks_begin(struct run *r, struct walks *w, const struct walk *like);

/* It goes to this part of its path's key, of which the first `equal` columns have one value. */
void walk_reaches(struct run *r, struct walk *w, const struct key_part *part, size_t equal);

int walks_columns(struct run *r);

/* As rows of an answer. */
int walks_send(struct run *r, const struct walks *w);

/* The same of a statement that is refused, and with what: it would read all of the table. */
int walks_refuse(struct run *r, const struct sql_table *t, bytes refusal);

#endif
