/* table.h: one table as requests see it: its description and its partitions, in memory. */
#ifndef TABLE_MODEL_TABLE_H
#define TABLE_MODEL_TABLE_H

#include "table/model/partition.h"
#include "table/model/schema.h"

#include <stdatomic.h>

struct catalog;
struct row_observer;
struct sampler_table;
struct wr_db;

/* A published table. Everything but the counters is constant while a reference is held. */
struct table {
    _Atomic int refs;
    struct wr_db *db;
    struct ctx ctx; /* owns the schema's memory */
    struct schema schema;
    bytes stored; /* what the schema was decoded from */
    struct partition_map partitions;
    struct traffic *traffic;
    const struct row_observer *const *observers; /* of its rows' changes (change_point.h) */
    size_t observer_count;
    /* Sticky, and of the table, not of this description: once one with the mark is published it is
     * set in all of the same table that anybody holds, and only then data out of line is written.
     * So a write that goes by an older one knows of it, too. */
    atomic_bool has_out_of_line;
    /* Another version of the table keeps more indexes: a change that goes by this one would leave
     * entries wrong. Set before that version is published, and looked at under a row's lock. */
    atomic_bool is_overtaken;
    struct sampler_table *sampler; /* shared while rows stay at their place; NULL: no heat maps */
    struct sampler_table **index_samplers; /* of each index's own table; NULL: no heat maps */
    struct table *next;                    /* in its hash bucket */
    /* The sweeper's own: where its walk for rows past their time goes on. */
    size_t swept_bucket;
    bytes swept_key; /* the last it has seen there; ptr NULL: none */
    struct catalog *catalog;
    struct table *live_next, **live_at; /* among all that are still referenced by anybody */
    uint64_t hash;
};

#endif
