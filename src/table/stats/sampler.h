/* sampler.h: what is read and written, as it happens: feeds the heat maps (heat.h), the sketches of
 * hot partition keys (sketch.h) and the counts of large ones (sizes.h).
 *
 * Whoever serves a row leaves a sample: a short copy of its key and figures, in a queue, without a
 * lock. A thread of its own takes the samples out, ten times a second, and does the work. When
 * there are very many, only one in 2, 4, 8... samples is left, by chance, and stands for as many:
 * so the cost is bounded, and figures of tables that are asked more than about 10,000 times a
 * second are estimates, good to a fraction of a percent for anything that is hot.
 *
 * All memory together stays below the setting heat_bytes_max: older minutes are joined, then
 * forgotten, in the table that takes most. */
#ifndef TABLE_STATS_SAMPLER_H
#define TABLE_STATS_SAMPLER_H

#include "base/ctx.h"
#include "table/stats/heat.h"
#include "table/stats/sketch.h"

#define SAMPLER_BYTES_MIN (4 << 20)

struct sampler;
struct sampler_table; /* of one table, as long as its rows stay where they are */

/* NULL if bytes_max is 0. sampler_start() starts the thread; without it the owner drains. */
struct sampler *sampler_new(struct clock *clock, size_t bytes_max);
void sampler_start(struct sampler *t); /* NULL is allowed */
void sampler_stop(struct sampler *t);  /* NULL is allowed; sampler_add() may go on */
void sampler_free(struct sampler *t);  /* NULL is allowed; after all tables are closed */

/* One reference; `ranges` as of heat_new(). `id` not 0: who opens the same id while it is open gets
 * the same. `t` NULL: NULL. All others take NULL, too. */
struct sampler_table *sampler_open(struct sampler *t, uint32_t id, unsigned ranges);
struct sampler_table *sampler_ref(struct sampler_table *tt);
void sampler_close(struct sampler_table *tt);

/* How many accesses a sample of this one stands for. 0: it is one of those that go without, because
 * there are so many. Asked once an access. */
uint32_t sampler_weight(struct sampler_table *tt);

/* What was drawn for the next accesses of a walk, so that not each of them has to ask. All zero to
 * begin with; it belongs to the walk. */
struct sampler_draw {
    uint32_t skip;   /* accesses that go without a sample */
    uint32_t weight; /* of the access behind those; 0: that is not drawn yet */
    uint32_t rest;   /* behind it, more that go without */
    uint32_t count;  /* of accesses that were drawn last */
};

/* When draw->skip is 0: as sampler_weight(), and it draws on. What is drawn for accesses that never
 * come counts as seen, which is few: a walk draws for one access, then for two, four, up to 32. */
uint32_t sampler_draw(struct sampler_table *tt, struct sampler_draw *draw);

/* Leaves a sample. `cols`: the row's key columns, encoded; the first `partition_len` bytes of them
 * are the partition key. Any thread. */
void sampler_add(struct sampler_table *tt, uint32_t weight, uint8_t bucket, bytes cols,
                 size_t partition_len, const struct heat_figures *f);

/* Takes all samples out, now. Any thread but one that serves requests. */
void sampler_drain(struct sampler *t);

size_t sampler_bytes(struct sampler *t); /* of memory, as of the last drain */

/* The heat map as of now, and the hottest partition keys of the current hour and the one before. */
struct sampler_report {
    struct heat_grid grid;
    struct sketch_entry *hot; /* keys begin with the bucket byte */
    size_t hot_count;
    int64_t hot_minutes; /* that the hot keys are about */
    size_t buckets;      /* that the map has now */
    uint64_t dropped;    /* samples of any table that found no room, since the start */
};

/* Adds what others have given (sampler_export); what of it makes no sense is passed over. Returns
 * how many made sense. Blocks for a while. */
size_t sampler_report(struct sampler *t, struct sampler_table *tt, struct arena *a,
                      const struct heat_query *query, size_t hot_max, const bytes *exported,
                      size_t exported_count, struct sampler_report *out);

/* What a process with the same table needs for its report from this minute on, behind what b has,
 * in about bytes_max. Blocks for a while. */
void sampler_export(struct sampler *t, struct sampler_table *tt, struct buf *b, int64_t first,
                    size_t bytes_max);

/* ---- the keys that are counted exactly (sizes.h) ---- */

struct sampler_watch {
    uint64_t hash; /* sampler_hash() of the partition key */
    struct heat_figures figures;
    uint64_t bytes_written;
};

uint64_t sampler_hash(bytes partition_key);

/* From now on these partition keys are counted one by one, in place of those before. */
void sampler_watch(struct sampler *t, struct sampler_table *tt, const uint64_t *hashes, size_t n);

/* Fills in what was counted of items[i].hash since; 0 of those that are not watched. */
void sampler_watched(struct sampler *t, struct sampler_table *tt, struct sampler_watch *items,
                     size_t n);

/* Rows written to the table since it was opened, as of the last drain. */
uint64_t sampler_writes(struct sampler *t, struct sampler_table *tt);

#endif
