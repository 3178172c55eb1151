/* catalog_repartition.c: other partitions in place of some.
 *
 * Where partitions are more than ranges, a repartition goes in three steps, each of which any
 * process can take up where another one left it:
 *
 *   1. What is to be made is written into the description: ids and bounds (schema.repartition).
 * From now on the repartition can only be brought to its end.
 *   2. engine_repartition(), which may run any number of times, also in two processes at once.
 *      While it copies, the old partitions are read but not written; then they are gone for ever.
 *   3. The description with the new list and without the repartition.
 *
 * Requests that meet the old partitions are told E_PARTITION and wait for step 3 (route.h). No
 * lease is needed: a process that was paused anywhere in between finds at its next step that it has
 * been done. On an engine that is one map a repartition moves nothing, and step 3 is all of it. */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "table/catalog/catalog_txn.h"

struct repartition {
    struct catalog_txn txn;
    const struct table *seen; /* as who asks saw it */
    struct schema_repartition change;
    const bytes *bounds;
    size_t bound_count;
    int64_t start_us; /* when it had its turn */
};

/* Runs it for the table that was seen. */
static int repartition_commit(struct ctx *c, struct repartition *r,
                              int (*decide)(struct catalog_txn *x))
{
    const struct schema *s = &r->seen->schema;

    invariant(r->change.count && r->change.first + r->change.count <= r->seen->partitions.count);
    r->txn = (struct catalog_txn){.db = r->seen->db,
                                  .c = c,
                                  .instance = s->instance,
                                  .name = s->d.table,
                                  .id = s->id,
                                  .decide = decide};
    return catalog_txn_wait(&r->txn);
}

static void repartition_count(const struct repartition *r)
{
    const struct table *now = r->txn.now;
    struct wr_db *db = r->txn.db;
    struct traffic *t = now->traffic;
    int64_t took_us = clock_mono_us(&db->clock) - r->start_us;

    atomic_fetch_add(r->change.made_count > r->change.count ? &t->splits : &t->merges, 1);
    if ((uint64_t)took_us > atomic_load(&t->repartition_us_max))
        atomic_store(&t->repartition_us_max, (uint64_t)took_us);
    log_info(&db->log, "partitions: table '%.*s': %zu became %zu in %lld us",
             BYTES_FMT(now->schema.d.table), r->change.count, r->change.made_count,
             (long long)took_us);
}

/* ---- the last step ---- */

/* The list with the repartition in it, and the description without it. */
static int put_list(struct repartition *r)
{
    struct catalog_txn *x = &r->txn;
    struct schema s;

    (void)fault_hit(FAULT_repartition_before_store);
    TRY(catalog_repartition_schema(x->c, x->db->catalog, x->now, &r->change, &s));
    return catalog_txn_put(x, &s);
}

static int catalog_repartition_decide_end(struct catalog_txn *x)
{
    struct repartition *r = PORT_CONTAINER(x, struct repartition, txn);
    const struct schema_repartition *under_way = &x->now->schema.repartition;

    if (!under_way->made_count || under_way->made[0].id != r->change.made[0].id)
        return E_OK; /* somebody else has ended it */
    return put_list(r);
}

/* What the engine is told: the partitions that go, or those that are made. */
static struct partition_spec *repartition_specs(struct arena *a, const struct table *now, bool made)
{
    const struct schema_repartition *change = &now->schema.repartition;
    const struct partition_map *m = &now->partitions;
    size_t count = made ? change->made_count : change->count;
    bytes end = partition_end(m, change->first + change->count - 1);
    struct partition_spec *specs = ARENA_ARRAY(a, struct partition_spec, count);

    for (size_t i = count; i-- > 0;) {
        const struct partition_at *at = made ? NULL : partition_at(m, change->first + i);
        bytes start = made ? change->made[i].start : at->start;

        specs[i] = partition_spec(a, now->schema.location.id,
                                  made ? change->made[i].id : at->partition->id, start, end);
        end = start;
    }
    return specs;
}

/* Steps 2 and 3 of the repartition that `now` has under way. */
static int repartition_finish(struct ctx *c, const struct table *now)
{
    struct wr_db *db = now->db;
    struct repartition r = {
        .seen = now, .change = now->schema.repartition, .start_us = clock_mono_us(&db->clock)};
    int code;

    (void)fault_hit(FAULT_repartition_before_engine);
    TRY(engine_repartition(c, db->engine, repartition_specs(&c->arena, now, false), r.change.count,
                           repartition_specs(&c->arena, now, true), r.change.made_count));
    code = repartition_commit(c, &r, catalog_repartition_decide_end);
    if (!code && r.txn.next) {
        (void)fault_hit(FAULT_repartition_after_store);
        repartition_count(&r);
    }
    catalog_txn_release(&r.txn);
    return code;
}

int catalog_end_repartition(struct ctx *c, const struct table *t)
{
    struct table *now = catalog_get(t->db->catalog, t->schema.instance, t->schema.d.table);
    int code = E_OK;

    if (now && now->schema.id == t->schema.id && now->schema.repartition.made_count)
        code = repartition_finish(c, now);
    table_release(now);
    if (code != E_NOT_EXIST)
        return code;
    ctx_clear(c); /* dropped meanwhile, and the repartition with it */
    return E_OK;
}

/* ---- a new repartition ---- */

/* Is the table still the one that was looked at, as far as it matters? */
static bool repartition_fits(const struct table *now, const struct repartition *r)
{
    const struct table *t = r->seen;
    size_t first = r->change.first, last = first + r->change.count - 1;

    return !now->schema.repartition.made_count && now->partitions.count == t->partitions.count &&
           partition_at(&now->partitions, first)->partition ==
               partition_at(&t->partitions, first)->partition &&
           partition_at(&now->partitions, last)->partition ==
               partition_at(&t->partitions, last)->partition;
}

/* Bounds ascend within what is replaced. Others would leave a list of partitions that nobody can
 * read again, and with it no table of the database. */
static bool bounds_fit(const struct partition_map *m, const struct repartition *r)
{
    bytes last = partition_at(m, r->change.first)->start;
    bytes end = partition_end(m, r->change.first + r->change.count - 1);

    for (size_t i = 0; i < r->bound_count; i++) {
        if (bytes_compare(r->bounds[i], last) <= 0 ||
            (end.len && bytes_compare(r->bounds[i], end) >= 0))
            return false;
        last = r->bounds[i];
    }
    return true;
}

static void repartition_fill(struct repartition *r)
{
    struct schema_repartition *change = &r->change;
    struct wr_db *db = r->txn.db;
    const struct partition_map *m = &r->txn.now->partitions;
    struct schema_partition *made =
        ARENA_ARRAY(&r->txn.c->arena, struct schema_partition, r->bound_count + 1);
    uint64_t stored = 0;

    for (size_t i = change->first; i < change->first + change->count; i++)
        stored += atomic_load(&partition_at(m, i)->partition->bytes);
    change->made_count = r->bound_count + 1;
    for (size_t i = 0; i < change->made_count; i++)
        made[i] = (struct schema_partition){
            .id = catalog_next_number(db->catalog),
            .start = i ? r->bounds[i - 1] : partition_at(m, change->first)->start,
            .created_us = clock_wall_us(&db->clock),
            .bytes = stored / change->made_count,
        };
    change->made = made;
}

/* Step 1. */
static int repartition_begin(struct repartition *r)
{
    struct catalog_txn *x = &r->txn;
    struct schema s = catalog_txn_draft(x);

    if (fault_hit(FAULT_repartition_begin))
        return fail_code(x->c, E_BUSY);
    s.repartition = r->change;
    /* The first bound was there before. */
    for (size_t i = 1; i < s.repartition.made_count; i++)
        s.value_split |= schema_bound_inside(&s, s.repartition.made[i].start);
    return catalog_txn_put(x, &s);
}

static int repartition_decide(struct catalog_txn *x)
{
    struct repartition *r = PORT_CONTAINER(x, struct repartition, txn);

    r->start_us = clock_mono_us(&x->db->clock);
    if (!repartition_fits(x->now, r))
        return fail_code(x->c, E_PARTITION);
    if (!bounds_fit(&x->now->partitions, r))
        return fail(x->c, E_INTERNAL,
                    "A split key lies outside of its partition; it was not split.");
    repartition_fill(r);
    return engine_one_key_space(x->db->engine) ? put_list(r) : repartition_begin(r);
}

int catalog_repartition(struct ctx *c, struct table *t, size_t first, size_t count,
                        const bytes *bounds, size_t bound_count)
{
    struct repartition r = {.seen = t,
                            .change = {.first = first, .count = count},
                            .bounds = bounds,
                            .bound_count = bound_count};
    int code = repartition_commit(c, &r, repartition_decide);

    if (!code && engine_one_key_space(t->db->engine)) {
        (void)fault_hit(FAULT_repartition_after_store);
        repartition_count(&r);
    } else if (!code) {
        (void)fault_hit(FAULT_repartition_noted);
        code = repartition_finish(c, r.txn.next);
    }
    catalog_txn_release(&r.txn);
    return code;
}
