/* walks.h: what EXPLAIN tells: which walks a statement took, each as far as its first page. */
#ifndef SQL_RUN_WALKS_H
#define SQL_RUN_WALKS_H

#include "sql/run/path.h"

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
};

struct walks {
    struct walk *first;
    size_t pages; /* that were read */
};

#define WALKS_PAGES_MAX 100 /* of one statement that is explained */

/* A walk begins: `like` has what is known of it. Lives in the arena of the statement. */
struct walk *walks_begin(struct run *r, struct walks *w, const struct walk *like);

/* As rows of an answer; with what the statement would be refused with, empty: it would not. */
int walks_send(struct run *r, const struct walks *w, bytes refusal);

#endif
