/* reach.h: which partitions the walks of EXPLAIN go to. */
#ifndef SQL_RUN_REACH_H
#define SQL_RUN_REACH_H

#include "sql/run/path.h"

/* The partitions of a table or an index as they are now. Lives in the arena of the statement. */
struct reach {
    const struct wr_partition *list; /* ascending */
    size_t count;
    uint64_t stored_bytes;
    const struct sql_table *table;
    const struct table_path *path;
    bool buckets;        /* bounds are of (bucket, key) pairs */
    bool values_are_cut; /* one of the first key column may lie in several partitions */
    size_t together; /* rows lie in one bucket that have so many first key columns equal; 0: none */
};

/* Those that walks of one kind go to. */
struct reached {
    bool *marks;      /* of each partition */
    size_t somewhere; /* walks that go to one of them: which one, the bucket tells alone */
};

/* Asks for the partitions, after the access key was asked whether it may read the table. Not 0: the
 * fault is said. */
int reach_find(struct run *r, const struct sql_table *t, const struct table_path *path,
               struct reach **out);

struct reached reached_none(struct run *r, const struct reach *reach);

/* A walk goes to them: its part of the key, in which the first `equal` columns have one value. */
void reach_mark(struct run *r, const struct reach *reach, const struct key_part *part, size_t equal,
                struct reached *to);

/* How many, as a text. */
bytes reached_text(struct arena *a, const struct reach *reach, const struct reached *to);

#endif
