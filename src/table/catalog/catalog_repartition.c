/* catalog_repartition.c: other partitions in place of some.
 *
 * Where partitions are more than ranges, a cut goes in three steps, each of which any process can
 * take up where another one left it:
 *
 *   1. What is to be made is written into the description: ids and bounds (schema.cut). From now on
 *      the cut can only be brought to its end.
 *   2. engine_repartition(), which may run any number of times, also in two processes at once.
 *      While it copies, the old partitions are read but not written; then they are gone for ever.
 *   3. The description with the new list and without the note.
 *
 * Requests that meet the old partitions are told E_PARTITION and wait for step 3 (route.h). No
 * lease is needed: a process that was paused anywhere in between finds at its next step that it has
 * been done. On an engine that is one map a cut moves nothing, and step 3 is all of it. */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "table/catalog/catalog_txn.h"

struct recut {
    struct catalog_txn txn;
    const struct table *seen; /* as who asks saw it */
    struct schema_cut cut;
    const bytes *bounds;
    size_t bound_count;
    int64_t start_us; /* when it had its turn */
};

/* Runs it for the table that was seen. */
static int recut_run(struct ctx *c, struct recut *r, int (*decide)(struct catalog_txn *x))
{
    const struct schema *s = &r->seen->schema;

    invariant(r->cut.count && r->cut.first + r->cut.count <= r->seen->partitions.count);
    r->txn = (struct catalog_txn){.db = r->seen->db,
                                  .c = c,
                                  .instance = s->instance,
                                  .name = s->d.table,
                                  .id = s->id,
                                  .decide = decide};
    return catalog_txn_wait(&r->txn);
}

static void recut_count(const struct recut *r)
{
    const struct table *now = r->txn.now;
    struct wr_db *db = r->txn.db;
    struct traffic *t = now->traffic;
    int64_t took_us = clock_mono_us(&db->clock) - r->start_us;

    atomic_fetch_add(r->cut.made_count > r->cut.count ? &t->splits : &t->merges, 1);
    if ((uint64_t)took_us > atomic_load(&t->cut_us_max))
        atomic_store(&t->cut_us_max, (uint64_t)took_us);
    log_info(&db->log, "partitions: table '%.*s': %zu became %zu in %lld us",
             BYTES_FMT(now->schema.d.table), r->cut.count, r->cut.made_count, (long long)took_us);
}

/* ---- the last step ---- */

/* The list with the cut in it, and the description without it. */
static int put_list(struct recut *r)
{
    struct catalog_txn *x = &r->txn;
    struct schema s;

    (void)fault_hit(FAULT_recut_before_store);
    TRY(catalog_recut_schema(x->c, x->db->catalog, x->now, &r->cut, &s));
    return catalog_txn_put(x, &s);
}

static int decide_end(struct catalog_txn *x)
{
    struct recut *r = PORT_CONTAINER(x, struct recut, txn);
    const struct schema_cut *noted = &x->now->schema.cut;

    if (!noted->made_count || noted->made[0].id != r->cut.made[0].id)
        return E_OK; /* somebody else has ended it */
    return put_list(r);
}

/* What the engine is told: the partitions that go, or those that are made. */
static struct partition_spec *recut_specs(struct arena *a, const struct table *now, bool made)
{
    const struct schema_cut *cut = &now->schema.cut;
    const struct partition_map *m = &now->partitions;
    size_t count = made ? cut->made_count : cut->count;
    bytes end = partition_end(m, cut->first + cut->count - 1);
    struct partition_spec *specs = ARENA_ARRAY(a, struct partition_spec, count);

    for (size_t i = count; i-- > 0;) {
        const struct partition_at *at = made ? NULL : partition_at(m, cut->first + i);
        bytes start = made ? cut->made[i].start : at->start;

        specs[i] = partition_spec(a, now->schema.place.id,
                                  made ? cut->made[i].id : at->partition->id, start, end);
        end = start;
    }
    return specs;
}

/* Steps 2 and 3 of the cut that `now` notes. */
static int end_cut(struct ctx *c, const struct table *now)
{
    struct wr_db *db = now->db;
    struct recut r = {.seen = now, .cut = now->schema.cut, .start_us = clock_mono_us(&db->clock)};
    int code;

    (void)fault_hit(FAULT_recut_before_engine);
    TRY(engine_repartition(c, db->engine, recut_specs(&c->arena, now, false), r.cut.count,
                           recut_specs(&c->arena, now, true), r.cut.made_count));
    code = recut_run(c, &r, decide_end);
    if (!code && r.txn.next) {
        (void)fault_hit(FAULT_recut_after_store);
        recut_count(&r);
    }
    catalog_txn_release(&r.txn);
    return code;
}

int catalog_end_cut(struct ctx *c, const struct table *t)
{
    struct table *now = catalog_get(t->db->catalog, t->schema.instance, t->schema.d.table);
    int code = E_OK;

    if (now && now->schema.id == t->schema.id && now->schema.cut.made_count)
        code = end_cut(c, now);
    table_release(now);
    if (code != E_NOT_EXIST)
        return code;
    ctx_clear(c); /* dropped meanwhile, and the cut with it */
    return E_OK;
}

/* ---- a new cut ---- */

/* Is the table still the one that was looked at, as far as it matters? */
static bool recut_fits(const struct table *now, const struct recut *r)
{
    const struct table *t = r->seen;
    size_t first = r->cut.first, last = first + r->cut.count - 1;

    return !now->schema.cut.made_count && now->partitions.count == t->partitions.count &&
           partition_at(&now->partitions, first)->partition ==
               partition_at(&t->partitions, first)->partition &&
           partition_at(&now->partitions, last)->partition ==
               partition_at(&t->partitions, last)->partition;
}

/* Bounds ascend within what is replaced. Others would leave a list of partitions that nobody can
 * read again, and with it no table of the database. */
static bool bounds_fit(const struct partition_map *m, const struct recut *r)
{
    bytes last = partition_at(m, r->cut.first)->start;
    bytes end = partition_end(m, r->cut.first + r->cut.count - 1);

    for (size_t i = 0; i < r->bound_count; i++) {
        if (bytes_compare(r->bounds[i], last) <= 0 ||
            (end.len && bytes_compare(r->bounds[i], end) >= 0))
            return false;
        last = r->bounds[i];
    }
    return true;
}

static void recut_made(struct recut *r)
{
    struct schema_cut *cut = &r->cut;
    struct wr_db *db = r->txn.db;
    const struct partition_map *m = &r->txn.now->partitions;
    struct schema_partition *made =
        ARENA_ARRAY(&r->txn.c->arena, struct schema_partition, r->bound_count + 1);
    uint64_t stored = 0;

    for (size_t i = cut->first; i < cut->first + cut->count; i++)
        stored += atomic_load(&partition_at(m, i)->partition->bytes);
    cut->made_count = r->bound_count + 1;
    for (size_t i = 0; i < cut->made_count; i++)
        made[i] = (struct schema_partition){
            .id = catalog_next_number(db->catalog),
            .start = i ? r->bounds[i - 1] : partition_at(m, cut->first)->start,
            .created_us = clock_wall_us(&db->clock),
            .bytes = stored / cut->made_count,
        };
    cut->made = made;
}

/* Step 1. */
static int put_note(struct recut *r)
{
    struct catalog_txn *x = &r->txn;
    struct schema s = catalog_txn_draft(x);

    if (fault_hit(FAULT_recut_begin))
        return fail_code(x->c, E_BUSY);
    s.cut = r->cut;
    /* The first bound was there before. */
    for (size_t i = 1; i < s.cut.made_count; i++)
        s.value_cut |= schema_bound_inside(&s, s.cut.made[i].start);
    return catalog_txn_put(x, &s);
}

static int decide_recut(struct catalog_txn *x)
{
    struct recut *r = PORT_CONTAINER(x, struct recut, txn);

    r->start_us = clock_mono_us(&x->db->clock);
    if (!recut_fits(x->now, r))
        return fail_code(x->c, E_PARTITION);
    if (!bounds_fit(&x->now->partitions, r))
        return fail(x->c, E_INTERNAL,
                    "A split key lies outside of its partition; it was not split.");
    recut_made(r);
    return engine_one_key_space(x->db->engine) ? put_list(r) : put_note(r);
}

int catalog_recut(struct ctx *c, struct table *t, size_t first, size_t count, const bytes *bounds,
                  size_t bound_count)
{
    struct recut r = {.seen = t,
                      .cut = {.first = first, .count = count},
                      .bounds = bounds,
                      .bound_count = bound_count};
    int code = recut_run(c, &r, decide_recut);

    if (!code && engine_one_key_space(t->db->engine)) {
        (void)fault_hit(FAULT_recut_after_store);
        recut_count(&r);
    } else if (!code) {
        (void)fault_hit(FAULT_recut_noted);
        code = end_cut(c, r.txn.next);
    }
    catalog_txn_release(&r.txn);
    return code;
}
