/* catalog_own.h: what the files of the catalog share; for nobody else.
 *
 *   catalog_open.c     opening and closing, the way in for requests
 *   catalog_txn.c      how a table changes: one transaction after the other (catalog_txn.h)
 *   catalog_index.c    indexes, with their base tables (catalog_index.h)
 *   catalog_repartition.c    other partitions, also where that moves rows
 *   catalog_out_of_line.c the mark of data out of line
 *   catalog_sweep.c    dropped tables
 *   catalog_follow.c   what other processes change, for one that was not told (catalog_follow.h)
 *   catalog_lease.c    the same, for one that is; whether what is cached may be used
 *   catalog_load.c     tables from storage into the cache
 *   catalog_table.c    a table from its stored description, and back
 *   catalog_map.c      a table's map in storage, in two levels
 *   catalog_journal.c  what each change leaves for those who were not told (catalog_journal.h)
 *   catalog_number.c   numbers that are given out once
 *   catalog_cache.c    all tables in memory
 *   catalog_refused.c  tables that this program cannot read
 *
 * Each calls only those below it. */
#ifndef TABLE_CATALOG_CATALOG_OWN_H
#define TABLE_CATALOG_CATALOG_OWN_H

#include "base/workers.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"

#include <pthread.h>

#define CATALOG_BUCKETS 4096

/* What is done about changes by others:
 *
 *     CLOSED ──▶ RELOADING ◀──▶ OPEN ──▶ CLOSED
 *
 * One thread at a time is RELOADING: it listens anew and reads all. */
enum catalog_listening {
    CATALOG_CLOSED, /* before catalog_start(), after catalog_stop(), where there are no others */
    CATALOG_RELOADING,
    CATALOG_OPEN
};

struct catalog {
    struct wr_db *db;
    const struct catalog_listener *listener;
    pthread_rwlock_t lock; /* over buckets and their tables' links */
    struct table *buckets[CATALOG_BUCKETS];
    struct refused *refused;          /* under the lock */
    uint32_t next_id;                 /* under the catalog's change lock */
    _Atomic uint64_t number;          /* the last one given out */
    _Atomic uint64_t numbers_until;   /* all below it may be given out */
    _Atomic uint64_t number_met;      /* the greatest of other servers that was met; 0: none */
    _Atomic uint64_t number_ahead_us; /* so far is it ahead of our clock */
    uint64_t numbers_us, reserve_us;
    pthread_mutex_t live_lock;
    struct table *live;             /* every struct table that somebody holds, published or not */
    struct catalog_freeze *freezes; /* under the same lock */
    int64_t rate_second; /* under the catalog's change lock: table operations in this second */
    int64_t rate_count;

    /* Where other processes change tables, too. */
    _Atomic uint64_t changes; /* of the cache */
    struct lease
        lease; /* what is cached may be used; lost: how often notifications may have been missed */
    atomic_bool lapsed; /* it ran out: what listens may be dead, though it does not know */
    _Atomic int64_t fresh_until_ms; /* and it is fresh */
    _Atomic uint64_t made_up; /* and as of the last reading of all: equal, or nothing is served;
                                 0: all was not read in listening yet */
    struct job reload;
    _Atomic int listening; /* enum catalog_listening */
};

/* ---- the cache ---- */

/* Where pages of a map come from. */
struct map_source {
    const struct table *old;   /* has those that stayed; not with `read` */
    const struct schema *made; /* what was just stored: has the lists of those that are new */
    enum engine_view view;     /* of `read` */
    bool read;                 /* blocks: what is not cached is read */
};

/* Enters a new table among those that somebody holds. */
void catalog_live_add(struct catalog *cat, struct table *t);

/* A table of its own memory from stored bytes, with one reference. E_GUARD: a page of its map is
 * gone, so another description is stored by now. */
int catalog_table_new(struct ctx *c, struct catalog *cat, bytes stored,
                      const struct map_source *from, struct table **out);
int catalog_map_init(struct ctx *c, struct catalog *cat, const struct map_source *from,
                     const struct schema *s, struct partition_map *out);

/* The edits that store `s` in place of what `old` has (NULL: a new table), in the arena of e, and
 * the table to publish then. Does not block. `s` may list more partitions than a description
 * holds; its pages with lists are new. */
int catalog_store(struct ctx *c, struct catalog *cat, const struct table *old,
                  const struct schema *s, struct batch_builder *e, struct table **next);
/* Does a change of `old` (NULL: none) guard the description it was made from? Where others change
 * tables, too; and where it removes pages, for an earlier change whose answer stayed open
 * (E_UNSURE) may have landed. */
bool catalog_guards(const struct catalog *cat, const struct table *old);
/* `now` after that repartition: *s, in the arena of c. */
int catalog_repartition_schema(struct ctx *c, struct catalog *cat, const struct table *now,
                               const struct schema_repartition *change, struct schema *s);

/* How many partitions a page of a table with that many lists at most, and ids for pages. */
size_t catalog_page_max(const struct limits *limits, size_t partitions);
uint64_t catalog_page_id(void *cat);

/* Older versions of the table than `next`, which is about to be published, change no row from now
 * on. */
void catalog_overtake(struct catalog *cat, const struct table *next);

/* Puts `t` (may be NULL) in place of the table of that name, unless the cache changed since it was
 * `*expected` (NULL: no matter). Takes over the reference. */
bool catalog_swap(struct catalog *cat, bytes instance, bytes name, struct table *t,
                  const uint64_t *expected);
void catalog_publish(struct catalog *cat, bytes instance, bytes name, struct table *t);

/* ---- tables that this program cannot read ---- */

struct refused;

/* Is a description that cannot be read, with that code, its table's failure alone? Damage of a data
 * folder is everybody's. */
bool catalog_may_refuse(const struct catalog *cat, int code);
/* As catalog_swap(), but the table of that name is refused from now on with that code and text,
 * until another one is swapped in. */
bool catalog_refuse(struct catalog *cat, bytes instance, bytes name, int code, const char *text,
                    const uint64_t *expected);
/* How many there are, and the names of one instance's, in the arena: at most `max`. */
size_t catalog_refused_count(struct catalog *cat);
size_t catalog_refused_names(struct catalog *cat, struct arena *a, bytes instance, bytes *names,
                             size_t max);
/* What the key of a description names, in the arena of c. */
int catalog_key_names(struct ctx *c, bytes key, bytes *instance, bytes *name);

/* Under the lock for writing: `r` (taken over; NULL: nothing) in place of what there is under that
 * name. True if there was nothing. */
struct refused *refused_new(bytes instance, bytes name, int code, const char *text);
bool refused_set(struct catalog *cat, bytes instance, bytes name, struct refused *r);
void refused_free(struct catalog *cat);

/* Reads all tables, or the one of that name, from storage into the cache. Both block. */
int catalog_load(struct ctx *c, struct catalog *cat);
int catalog_reread(struct ctx *c, struct catalog *cat, bytes instance, bytes name);

/* ---- others ---- */

/* Tells the others, without waiting for them, that the table of that name has changed. They learn
 * of it from the journal if this does not reach them. */
void catalog_notify_soon(struct catalog *cat, bytes instance, bytes name);

/* Reserves numbers: the first ones; more where few are left; on a clean close only those that were
 * used. They block. */
int catalog_numbers_open(struct ctx *c, struct catalog *cat);
void catalog_numbers_sweep(struct ctx *c, struct catalog *cat);
void catalog_numbers_close(struct catalog *cat);
/* Are there numbers for another request? E_UNAVAILABLE. Only where processes share the data. */
int catalog_numbers_check(struct ctx *c, struct catalog *cat);

#endif
