/* route.h: the way from a key to the partition that holds it now.
 *
 * Where a partition is more than a range of one key space, it may be split under a request, by
 * this process or another one. So nobody keeps a partition's id: each call here looks it up, and
 * when the engine answers E_PARTITION it parks, has the table's description read again, and goes on
 * in the new partition. E_PARTITION comes back only when that did not help for ROUTE_WAIT_MS;
 * nothing has changed then. With one key space all of it is the engine's own call. */
#ifndef TABLE_CATALOG_ROUTE_H
#define TABLE_CATALOG_ROUTE_H

#include "table/model/table.h"

#define ROUTE_WAIT_MS 20000

struct router;
struct wr_db;

/* NULL: the system gives no thread, or (*needed false) none is needed. */
struct router *router_start(struct wr_db *db, bool *needed);
/* Whoever waits is told E_PARTITION. NULL is allowed. */
void router_stop(struct router *r);
/* Some map has changed. NULL is allowed. */
void router_wake(struct router *r);

/* The partition of a stored key of t, as far as this process knows. */
partition_id route_find(const struct table *t, bytes key);
/* The same, and its lower bound (partition.h), in the arena. */
partition_id route_bound(struct arena *a, const struct table *t, bytes key, bytes *start);
/* And of the row with these encoded key columns. */
partition_id route_find_row(const struct table *t, bytes cols);
/* The partition that holds all of these rows, by one map for all; false: there is none. */
bool route_find_rows(const struct table *t, const bytes *cols, size_t count, partition_id *out);

/* As engine_get() and engine_scan(), but for `partition`, which need not be set. The ranges of a
 * scan each lie in one bucket and one kind of key of t; where they go over several partitions, each
 * of these is seen at a point in time of its own. t stays referenced until the answer. */
int route_get(struct ctx *c, const struct table *t, struct get *g);
int route_scan(struct ctx *c, const struct table *t, struct scan *s);

/* Parked until `key` of `table` lies in another partition than `tried`, which said E_PARTITION; or
 * for ROUTE_WAIT_MS (E_PARTITION), or the table is gone (E_NOT_EXIST). The owner keeps all of it
 * until run(). */
struct route_wait {
    const struct table *table;
    bytes key;
    partition_id tried;
    void (*run)(struct route_wait *w, int code); /* on the router's thread: does not block */

    /* The router's. */
    int64_t since_ms;
    int64_t pause_ms; /* route_pause(); 0: it waits for the map */
    int code;         /* the table is gone */
    struct route_wait *next;
};
void route_wait(struct route_wait *w);
/* Parked for so long, at least 1 ms; only `table` and `run` of w are set. Not with
 * one key space. */
void route_pause(struct route_wait *w, int64_t ms);

/* These block. The keys of a batch are of one row, its guards' too: one that spans partitions is
 * E_INTERNAL. */
int route_get_now(struct ctx *c, const struct table *t, struct get *g);
int route_scan_now(struct ctx *c, const struct table *t, struct scan *s);
int route_apply_now(struct ctx *c, const struct table *t, const struct write_batch *b);
/* `range` holds keys of one row. */
int route_erase_now(struct ctx *c, const struct table *t, const struct key_range *range);
/* What is stored in the ranges, each as for a scan. */
int route_size_now(struct ctx *c, const struct table *t, const struct key_range *ranges,
                   size_t count, uint64_t *out);

#endif
