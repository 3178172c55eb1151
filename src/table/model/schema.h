/* schema.h: a table's description: what is checked when it is made or changed, and its stored
 * bytes. */
#ifndef TABLE_MODEL_SCHEMA_H
#define TABLE_MODEL_SCHEMA_H

#include "base/buf.h"
#include "base/ctx.h"
#include "base/limit.h"
#include "table/model/index.h"
#include "table/model/layout.h"
#include "table/model/series.h"
#include "widerow.h"

/* One of the ranges a table is split into (partition.h). */
struct schema_partition {
    uint64_t id;
    bytes start; /* bucket and encoded key columns (partition.h); empty: the first partition */
    int64_t created_us;
    uint64_t bytes; /* stored when it was made, about */
};

/* Partitions that follow one another, in a record of their own (catalog_map.c), which never
 * changes: another list is another page. */
struct schema_page {
    uint64_t id;
    bytes start; /* of its first partition */
    size_t count;
    const struct schema_partition *list; /* NULL: it is stored already */
};

/* A repartition that is under way where a partition is more than a range (catalog_repartition.c):
 * `count` partitions from `first` on are about to become `made`, whose ids are theirs for ever. */
struct schema_repartition {
    size_t first, count;
    const struct schema_partition *made;
    size_t made_count; /* 0: no repartition is under way */
};

/* A table that gets another key layout (rekey.h).
 *
 *     NONE ──▶ COPYING ──▶ SWITCHED ──▶ NONE
 *                 └─────▶ CANCELLING ──▶ NONE */
enum rekey_phase {
    REKEY_NONE = 0,
    REKEY_COPYING = 1, /* `shadow` is being filled; reads go to `location` */
    REKEY_SWITCHED =
        2, /* `shadow` is the old location; requests may still decide by what it holds */
    REKEY_CANCELLING = 3, /* `shadow` is given up */
};

/* Where the records of a table's stream are kept (table/stream). */
struct schema_stream {
    uint32_t location; /* a storage id of its own; 0: no records are kept */
    uint16_t shards;   /* 1 or more; which one a row belongs to stays the same */
};
#define SCHEMA_SHARDS_MAX 16

/* A tunnel of the table, as it was made. What its clients do stands in a record of its own
 * (catalog_key.h, CATALOG_TUNNEL). */
struct schema_tunnel {
    uint64_t number; /* no tunnel of the database ever had it; never 0 */
    bytes name;
    enum wr_tunnel_type type;
    struct wr_tunnel_config config;
    int64_t creation_us;
};

/* A search index of the table (table/search). */
struct schema_search {
    uint64_t number; /* no index of the database ever had it; never 0 */
    bytes name;
    int64_t creation_us;
    int32_t ttl_s; /* -1: for ever */
    struct wr_search_schema d;
};

struct schema;
/* Has it all that a stored description has? Its partitions' order is seen when it is read. */
bool schema_is_whole(const struct schema *s);
/* Into the next phase. */
void schema_rekey(struct schema *s, enum rekey_phase next);

/* A table as the catalog keeps it. Immutable once published; a change makes a new one. */
struct schema {
    uint32_t id; /* of the table, for ever; names its rows' locks */
    struct location
        location; /* where its rows are stored; location.id is `id` until the table is rekeyed */
    struct location shadow; /* id not 0: every write goes there, too, in the same batch */
    enum rekey_phase rekey;
    uint64_t version; /* grows with every change */
    bytes instance;
    struct wr_table_description d; /* all a client can ask for; `status` is ACTIVE or INACTIVE */
    bool has_out_of_line;          /* sticky: some row once had data out of line */
    int64_t throughput_us; /* wall clock of the last change of the reserved throughput; 0: never */
    /* Sorted by start, at least one. d.splits are their first columns, each once. NULL: they stand
     * in pages, and d.splits is empty. */
    const struct schema_partition *partitions;
    size_t partition_count; /* in either */
    const struct schema_page *pages;
    size_t page_count;
    uint32_t partition_location; /* the location.id they are of: at another location a table is
                                    whole again */
    struct schema_repartition repartition;
    bool value_split; /* sticky: some bound was once inside of a partition-key value */
    /* Those with a table of their own, in the order of d.indexes, which has besides what older
     * builds stored for clients to see and nobody keeps (index.h). */
    const struct index *indexes;
    size_t index_count;
    /* Sticky: changes of rows leave outbox records, by which entries follow (table/index/outbox.h),
     * for they lie in other partitions. Of an index's own table: it is kept so. */
    bool outbox;
    struct index_base base; /* of an index's own table */
    struct schema_stream stream;
    /* Sticky: records of a stream stand beside rows until they are carried into its log
     * (table/stream/stream_beside.h), or did. */
    bool stream_beside;
    /* Of a table with local transactions: others write too, so their locks are records beside rows
     * (table/txn/txn_lock.h). */
    bool txn_records;
    uint32_t change_log; /* the storage id of its change log (table/changelog); 0: it has none */
    const struct schema_tunnel *tunnels; /* in the order in which they were made */
    size_t tunnel_count;
    const struct schema_search *searches; /* in the order in which they were made */
    size_t search_count;
    struct schema_series series; /* of a series' own table */
    struct schema_period period; /* of the table of one of its periods */
};

/* A table begins with at most so many partitions: the buckets of its layout times its pre-splits
 * (schema_partition.c numbers them in 16 bits). */
#define SCHEMA_FIRST_PARTITIONS_MAX 65536

/* The checks of CreateTable, in the order clients see them (doc/data-model.md, "Tables"). A
 * client's table has up to limits->key_columns_max key columns, the database's own up to
 * WR_KEY_COLUMNS_MAX.
 */
int schema_check_create(struct ctx *c, const struct limits *limits, size_t key_columns_max,
                        const struct wr_create_table *t);

/* A schema from a checked request, in the arena of c: defaults filled in, first version. */
struct schema *schema_from_create(struct ctx *c, uint32_t id, bytes instance,
                                  const struct wr_create_table *t);

/* Makes s->partitions as a new table has them, one for each bucket and each piece between
 * s->d.splits; and s->d.splits out of the partitions. (schema_partition.c) */
int schema_partitions_init(struct ctx *c, struct schema *s);
/* Makes these the partitions of s->location, with new ids; each has `start` and `bytes`. */
int schema_partitions_set(struct ctx *c, struct schema *s, struct schema_partition *list,
                          size_t count);
int schema_splits_init(struct ctx *c, struct schema *s);

/* Is the bound inside of a partition-key value, rather than between two? */
bool schema_bound_inside(const struct schema *s, bytes bound);

/* Applies UpdateTable to `old`; *out lives in the arena of c and shares texts with it. */
int schema_update(struct ctx *c, const struct limits *limits, const struct schema *old,
                  const struct wr_update_table *u, struct schema **out);

/* Records of the stream are kept from now on, under that storage id: as many shards as the table
 * has partitions now, up to SCHEMA_SHARDS_MAX. */
void schema_stream_keep(struct schema *s, uint32_t location_id, bool beside);

/* Adds or removes defined columns. */
int schema_add_defined(struct ctx *c, const struct limits *limits, const struct schema *old,
                       const struct wr_defined_columns *columns, struct schema **out);
int schema_delete_defined(struct ctx *c, const struct schema *old,
                          const struct wr_defined_columns *columns, struct schema **out);

/* What names a row lock, whatever location the row is stored at. `cols`: its key columns, encoded.
 */
bytes schema_lock_key(struct arena *a, const struct schema *s, bytes cols);

/* The list is too long for a description: pages of at most page_max, still to be stored, under ids
 * from next_id(arg). */
void schema_paginate(struct arena *a, struct schema *s, size_t page_max,
                     uint64_t (*next_id)(void *arg), void *arg);
/* Divides a list into pages that hold about the same, and appends them. */
size_t schema_pages_make(const struct schema_partition *list, size_t count, size_t page_max,
                         uint64_t (*next_id)(void *arg), void *arg, struct schema_page *out);
/* True if pages are stored with the description: partitions of another location mean nothing. */
static inline bool schema_is_paged(const struct schema *s)
{
    return s->page_count && s->partition_location == s->location.id;
}

/* A page's stored bytes and back, in the arena. E_CORRUPT, E_FORMAT. (schema_page.c) */
bytes schema_page_encode(struct arena *a, const struct schema_page *p);
int schema_page_decode(struct ctx *c, bytes stored, const struct schema_page *p,
                       struct schema_partition **list);
/* The ids alone of a page that no description names any more. */
int schema_page_ids(struct ctx *c, bytes stored, uint64_t **ids, size_t *count);
/* A partition in a list, as in field 40 of a description. */
void schema_put_partition(struct buf *b, const struct schema_partition *p);
struct schema_partition schema_read_partition(struct reader *r);

/* Stored bytes and back; texts of a decoded schema live in the arena of c. E_CORRUPT, E_FORMAT. */
void schema_encode(struct buf *b, const struct schema *s);
int schema_decode(struct ctx *c, bytes stored, struct schema *out);

/* The key columns, with names that outlive the schema. */
const struct wr_key_schema *schema_keys_copy(struct arena *a, const struct schema *s);

/* A deep copy of what a client may see. */
void schema_describe(struct arena *a, const struct schema *s, struct wr_table_description *out);

#endif
