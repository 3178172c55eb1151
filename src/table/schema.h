/* schema.h: a table's description: what is checked when it is made or changed, and its stored
 * bytes. */
#ifndef TABLE_SCHEMA_H
#define TABLE_SCHEMA_H

#include "base/buf.h"
#include "base/ctx.h"
#include "base/limit.h"
#include "table/layout.h"
#include "widerow.h"

/* One of the ranges a table is cut into (partition.h). */
struct schema_partition {
    uint64_t id;
    bytes start; /* bucket and encoded key columns (partition.h); empty: the first partition */
    int64_t created_us;
    uint64_t bytes; /* stored when it was made, about */
};

/* A cut that is under way where a partition is more than a range (catalog_recut.c): `count`
 * partitions from `first` on are about to become `made`, whose ids are theirs for ever. */
struct schema_cut {
    size_t first, count;
    const struct schema_partition *made;
    size_t made_count; /* 0: no cut is under way */
};

/* A table that gets another key layout (rekey.h). */
enum rekey_phase {
    REKEY_NONE = 0,
    REKEY_COPYING = 1,  /* `mirror` is being filled; reads go to `place` */
    REKEY_SWITCHED = 2, /* `mirror` is the old place; requests may still decide by what it holds */
    REKEY_CANCELLING = 3, /* `mirror` is given up */
};

/* A table as the catalog keeps it. Immutable once published; a change makes a new one. */
struct schema {
    uint32_t id;        /* of the table, for ever; names its rows' latches */
    struct place place; /* where its rows are stored; place.id is `id` until the table is rekeyed */
    struct place mirror; /* id not 0: every write goes there, too, in the same batch */
    enum rekey_phase rekey;
    uint64_t version; /* grows with every change */
    bytes instance;
    struct wr_table_description d; /* all a client can ask for; `status` is ACTIVE or INACTIVE */
    bool has_detached;             /* sticky: some row was once stored apart from its head */
    int64_t throughput_us; /* wall clock of the last change of the reserved throughput; 0: never */
    /* Sorted by start, at least one. d.splits are their first columns, each once. */
    const struct schema_partition *partitions;
    size_t partition_count;
    uint32_t
        partition_place; /* the place.id they are of: at another place a table is whole again */
    struct schema_cut cut;
    bool value_cut; /* sticky: some bound was once inside of a partition-key value */
};

/* The checks of CreateTable, in the order clients see them (semantics, sections 2 to 4). */
int schema_check_create(struct ctx *c, const struct limits *limits,
                        const struct wr_create_table *t);

/* A schema from a checked request, in the arena of c: defaults filled in, first version. */
struct schema *schema_from_create(struct ctx *c, uint32_t id, bytes instance,
                                  const struct wr_create_table *t);

/* The table cut at other places: `partitions` (sorted, the first one's start empty) are the new
 * ones. *out lives in the arena of c and shares texts with `old`. */
int schema_recut(struct ctx *c, const struct schema *old, const struct schema_partition *partitions,
                 size_t count, struct schema **out);

/* Makes s->partitions as a new table has them, one for each bucket and each piece between
 * s->d.splits; and s->d.splits out of the partitions. (schema_partition.c) */
int schema_partitions_init(struct ctx *c, struct schema *s);
/* Makes these the partitions of s->place, with new ids; each has `start` and `bytes`. */
int schema_partitions_set(struct ctx *c, struct schema *s, struct schema_partition *list,
                          size_t count);
int schema_splits_init(struct ctx *c, struct schema *s);

/* Is the bound inside of a partition-key value, rather than between two? */
bool schema_bound_inside(const struct schema *s, bytes bound);

/* Applies UpdateTable to `old`; *out lives in the arena of c and shares texts with it. */
int schema_update(struct ctx *c, const struct limits *limits, const struct schema *old,
                  const struct wr_update_table *u, struct schema **out);

/* Adds or removes defined columns. */
int schema_add_defined(struct ctx *c, const struct limits *limits, const struct schema *old,
                       const struct wr_defined_columns *columns, struct schema **out);
int schema_delete_defined(struct ctx *c, const struct schema *old,
                          const struct wr_defined_columns *columns, struct schema **out);

/* What names a row's latch, whatever place the row is stored at. `cols`: its key columns, encoded.
 */
bytes schema_latch_key(struct arena *a, const struct schema *s, bytes cols);

/* Stored bytes and back; texts of a decoded schema live in the arena of c. E_CORRUPT, E_FORMAT. */
void schema_encode(struct buf *b, const struct schema *s);
int schema_decode(struct ctx *c, bytes stored, struct schema *out);

/* A deep copy of what a client may see. */
void schema_describe(struct arena *a, const struct schema *s, struct wr_table_description *out);

#endif
