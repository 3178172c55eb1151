/* catalog.h: the tables of every instance: stored under table 0, all of them in memory.
 *
 * A request takes a reference to the table it works on and so sees one unchanging schema; a change
 * publishes a new `struct table` under the same name. Table operations of the database run one
 * after the other (by a lock), row operations only look up. */
#ifndef TABLE_CATALOG_CATALOG_H
#define TABLE_CATALOG_CATALOG_H

#include "base/workers.h"
#include "table/core/catalog_key.h"
#include "table/model/table.h"

#define CATALOG_TRIES_MAX 32 /* of what another process was faster with */

struct catalog;
struct lease;
struct wr_db;

/* What the catalog tells others, who are above it. */
struct catalog_listener {
    /* Some table was published, or has gone. Any thread; it does not block. */
    void (*published)(struct wr_db *db);
    /* Another process has changed shared texts, or may have (text.h). Not 0: they could not be
     * learnt, and nothing is served until they are. It blocks. */
    int (*texts_changed)(struct wr_db *db);
    /* Another process has asked something, so long ago (peers.h). The answer, in the arena; empty:
     * none. It blocks. */
    bytes (*asked)(struct ctx *c, struct wr_db *db, bytes question, int64_t age_ms);
};

/* The cache, filled from storage. The listener stays until catalog_close(). */
int catalog_open(struct ctx *c, struct wr_db *db, const struct catalog_listener *listener,
                 struct catalog **out);
/* Once there is a sweeper: hears from now on what other processes change. */
int catalog_start(struct ctx *c, struct catalog *cat);
/* The opposite, while the sweeper still works and no request is under way. A process without its
 * lease stays so. NULL is allowed. Blocks. */
void catalog_stop(struct catalog *cat);
void catalog_close(struct catalog *cat);

/* A reference to the table, or E_NOT_EXIST. `name` was checked. */
int catalog_find(struct ctx *c, struct catalog *cat, bytes instance, bytes name,
                 struct table **out);
/* E_UNSUPPORTED, if the table is a series, which not all that is done with tables can be done with.
 */
int catalog_check_one(struct ctx *c, const struct table *t);
/* catalog_find() of a table that is no series. */
int catalog_find_one(struct ctx *c, struct catalog *cat, bytes instance, bytes name,
                     struct table **out);
/* The failure of a look for a table that is not cached: why it is refused, E_NOT_EXIST, or
 * E_UNAVAILABLE while another process may have made it without our knowledge. */
int catalog_missing(struct ctx *c, struct catalog *cat, bytes instance, bytes name);

/* The table as it is published, loaded or not, with a reference; NULL: there is none. */
struct table *catalog_get(struct catalog *cat, bytes instance, bytes name);

/* Why the table of that name is refused; E_OK: it is not. */
int catalog_refusal(struct ctx *c, struct catalog *cat, bytes instance, bytes name);
/* What clients see of a table. */
int catalog_describe(struct ctx *c, const struct table *t, struct wr_table_description *out);

struct table *table_ref(struct table *t);
void table_release(struct table *t);

/* Names of one instance's tables as clients know them, sorted, in the arena: those of a series'
 * periods are not among them. */
size_t catalog_list(struct catalog *cat, struct arena *a, bytes instance, bytes **names);

/* All tables, referenced, in the arena: for the sweeper. */
size_t catalog_all(struct catalog *cat, struct arena *a, struct table ***tables);

/* May rows of the table be read, or written? Those of an index are written with its base table's,
 * and read when all of them are there. E_PARAMETER. */
int catalog_check_use(struct ctx *c, const struct table *t, bool writes);

/* catalog_find() and catalog_check_use() for the request of a call, which named the table. */
struct call;
int call_open_table(struct call *call, bytes name, struct table **out);

/* Other partitions in place of t's `count` ones from `first` on: one that begins where they begin,
 * and one from each of `bounds` (partition.h), which lie inside, ascending. Durable and published
 * on return. Blocks; any number of threads at once. Nothing was done at E_PARTITION: the table has
 * changed meanwhile; E_NOT_EXIST: it is gone; E_INTERNAL: the bounds do not lie so. */
int catalog_repartition(struct ctx *c, struct table *t, size_t first, size_t count,
                        const bytes *bounds, size_t bound_count);

/* Brings a repartition to its end that the description of t has under way, whoever began it: for
 * engines where a repartition moves rows. E_OK also if there is none. Blocks; any number of
 * processes and threads at once.
 */
int catalog_end_repartition(struct ctx *c, const struct table *t);

/* Reads every name that is stored or cached from storage into the cache. Blocks. */
int catalog_load_all(struct ctx *c, struct catalog *cat);

/* Reads the description of t from storage into the cache. E_NOT_EXIST: the table is gone;
 * E_NOT_READY: and another one has its name. Blocks.
 */
int catalog_refresh(struct ctx *c, const struct table *t);

/* Does every process know that the table may have data out of line? */
bool catalog_is_out_of_line(const struct table *t);

/* Makes "this table has data out of line" durable and known to every process, then calls done(arg,
 * code). At once if it is already. */
void catalog_mark_out_of_line(struct wr_db *db, struct table *t, void (*done)(void *arg, int code),
                              void *arg);

/* True if no request that is under way holds a state of the table in which it had another shadow
 * copy than in `t`. */
bool catalog_reconciled(struct catalog *cat, const struct table *t);

/* True if no request that is under way holds a description of the table in which it does not have
 * the index. */
bool catalog_keeps_index(struct catalog *cat, const struct table *t, uint32_t index_id);

/* Nor one in which it is only coming (index.h). */
bool catalog_fills_index(struct catalog *cat, const struct table *t, uint32_t index_id);

/* The same of the stream that it has in `t`. */
bool catalog_keeps_stream(struct catalog *cat, const struct table *t);

/* True if no request that is under way holds a description of a table of that series' periods below
 * `number` in which it takes writes: nothing of these changes any more, but rows that expire. */
bool catalog_keeps_frozen(struct catalog *cat, uint32_t series, int64_t number);

/* Somebody who waits for that. */
struct catalog_freeze {
    uint32_t series;
    int64_t number;
    struct job job; /* submitted when it is so (jobs.h) */
    struct catalog_freeze *next;
};

/* False: it is so already, and the job is not submitted. */
bool catalog_await_frozen(struct catalog *cat, struct catalog_freeze *f);

/* The same of the table's change log. */
bool catalog_keeps_change_log(struct catalog *cat, const struct table *t);

/* The record that the rows stored under `place_id` are to be removed, as of db_clock_ms(). */
struct batch_builder;
void catalog_drop_edit(struct batch_builder *e, uint32_t location_id, int64_t now_ms);
/* The same for the records of a stream. */
void catalog_drop_stream(struct batch_builder *e, struct wr_db *db, const struct schema_stream *s,
                         int64_t now_ms);
/* The same for all that a dropped table has: its rows, those of a shadow copy, and the records of
 * its stream; its tunnels go at once. */
void catalog_drop_rows(struct batch_builder *e, struct wr_db *db, const struct schema *s);

/* May what is cached be used? If not, E_UNAVAILABLE, and it is read again. */
int catalog_check(struct ctx *c, struct catalog *cat);
/* Is what is cached at most CATALOG_FRESH_MS old? What is done only by a process that is fresh (to
 * say that a table does not exist, to put a row without looking what stands there) need not wait
 * for ENGINE_PUBLISH_MS until the silent have lost their leases, but for CATALOG_FRESH_NOTIFY_MS.
 * True where nobody else changes tables. */
#define CATALOG_FRESH_MS 2500
#define CATALOG_FRESH_NOTIFY_MS (CATALOG_FRESH_MS + 1500)
bool catalog_is_fresh(struct catalog *cat);

/* Numbers that grow and are never used again, also not by a later process: ids of data out of line,
 * auto-increment keys. Near the microseconds of the wall clock, as far as that did not jump. */
uint64_t catalog_next_number(struct catalog *cat);
/* The same for a batch that puts some into keys, but for which (engine.h). */
struct rising;
void catalog_rising(struct catalog *cat, struct rising *out);
/* Keeps the lease of catalog_next_number() ahead, and removes dropped tables; called by the
 * sweeper. */
void catalog_sweep(struct wr_db *db);

#endif
