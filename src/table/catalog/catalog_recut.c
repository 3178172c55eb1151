/* catalog_recut.c: other partitions in place of some.
 *
 * Where partitions are more than ranges, a cut goes in three steps, each of which any process can
 * take up where another one left it:
 *
 *   1. What is to be made is written into the description: ids and bounds (schema.cut). From now on
 *      the cut can only be brought to its end.
 *   2. engine_repartition(), which may run any number of times, also in two processes at once.
 * While it copies, the old partitions are read but not written; then they are gone for ever.
 *   3. The description with the new list and without the note.
 *
 * Requests that meet the old partitions are told E_PARTITION and wait for step 3 (route.h). No
 * lease is needed: a process that was paused anywhere in between finds at its next step that it has
 * been done. */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "table/sync/hold.h"
#include "table/model/edits.h"
#include "table/sync/wait.h"

/* A recut while it is prepared; `now` is the table as it is published. */
struct recut {
    struct ctx *c;
    struct wr_db *db;
    const struct table *now;
    struct schema_cut cut;
};

/* What the engine is told: the partitions that go, or those that are made. */
static struct partition_spec *recut_specs(struct recut *r, bool made)
{
    struct arena *a = &r->c->arena;
    const struct schema_cut *cut = &r->cut;
    const struct partition_map *m = &r->now->partitions;
    size_t count = made ? cut->made_count : cut->count;
    bytes end = partition_end(m, cut->first + cut->count - 1);
    struct partition_spec *specs = ARENA_ARRAY(a, struct partition_spec, count);

    for (size_t i = count; i-- > 0;) {
        const struct partition_at *at = made ? NULL : partition_at(m, cut->first + i);
        bytes start = made ? cut->made[i].start : at->start;

        specs[i] = partition_spec(a, r->now->schema.place.id,
                                  made ? cut->made[i].id : at->partition->id, start, end);
        end = start;
    }
    return specs;
}

static void recut_made(struct recut *r, const bytes *bounds, size_t bound_count)
{
    struct schema_cut *cut = &r->cut;
    const struct partition_map *m = &r->now->partitions;
    struct schema_partition *made =
        ARENA_ARRAY(&r->c->arena, struct schema_partition, bound_count + 1);
    uint64_t stored = 0;

    for (size_t i = cut->first; i < cut->first + cut->count; i++)
        stored += atomic_load(&partition_at(m, i)->partition->bytes);
    cut->made_count = bound_count + 1;
    for (size_t i = 0; i < cut->made_count; i++)
        made[i] = (struct schema_partition){
            .id = catalog_next_number(r->db->catalog),
            .start = i ? bounds[i - 1] : partition_at(m, cut->first)->start,
            .created_us = clock_wall_us(&r->db->clock),
            .bytes = stored / cut->made_count,
        };
    cut->made = made;
}

/* The description `s` in place of r->now's, durable and published. E_GUARD: another process was
 * faster. The catalog's latch is held. */
static int recut_put(struct recut *r, struct schema *s)
{
    struct ctx *c = r->c;
    struct catalog *cat = r->db->catalog;
    struct edits edits = {.arena = &c->arena};
    struct guard guard;
    struct write_batch batch;
    struct table *next;
    int code;

    s->has_detached = atomic_load(&r->now->has_detached);
    TRY(catalog_store(c, cat, r->now, s, &edits, &next));
    batch = catalog_batch(cat, r->now, &edits, &guard);
    code = wait_apply(c, r->db->engine, &batch);
    if (code) {
        table_release(next);
        return code == E_GUARD ? code : fail(c, code, "%s", err_info(code)->text);
    }
    if (!s->cut.made_count)
        (void)fault_hit(FAULT_recut_after_store);
    catalog_publish(cat, s->instance, s->d.table, next);
    return E_OK;
}

/* On an engine that is one map a cut moves nothing. The engine first: a process that dies before
 * the list is stored finds the old one, and makes the cut again. */
static int recut_range(struct recut *r)
{
    const struct schema_cut *cut = &r->cut;
    struct schema s;

    (void)fault_hit(FAULT_recut_before_engine);
    TRY(engine_repartition(r->c, r->db->engine, recut_specs(r, false), cut->count,
                           recut_specs(r, true), cut->made_count));
    (void)fault_hit(FAULT_recut_before_store);
    TRY(catalog_recut_schema(r->c, r->db->catalog, r->now, cut, &s));
    return recut_put(r, &s);
}

static void recut_count(struct recut *r, int64_t took_us)
{
    struct traffic *t = r->now->traffic;

    atomic_fetch_add(r->cut.made_count > r->cut.count ? &t->splits : &t->merges, 1);
    if ((uint64_t)took_us > atomic_load(&t->cut_us_max))
        atomic_store(&t->cut_us_max, (uint64_t)took_us);
    log_info(&r->db->log, "partitions: table '%.*s': %zu became %zu in %lld us",
             BYTES_FMT(r->now->schema.d.table), r->cut.count, r->cut.made_count,
             (long long)took_us);
}

/* Is the table still the one that was looked at, as far as it matters? */
static bool recut_fits(const struct table *now, const struct table *t, size_t first, size_t count)
{
    return now && now->schema.id == t->schema.id && !now->schema.cut.made_count &&
           now->partitions.count == t->partitions.count &&
           partition_at(&now->partitions, first)->partition ==
               partition_at(&t->partitions, first)->partition &&
           partition_at(&now->partitions, first + count - 1)->partition ==
               partition_at(&t->partitions, first + count - 1)->partition;
}

/* Bounds ascend within what is replaced. Others would leave a list of partitions that nobody can
 * read again, and with it no table of the database. */
static bool bounds_fit(const struct partition_map *m, size_t first, size_t count,
                       const bytes *bounds, size_t bound_count)
{
    bytes last = partition_at(m, first)->start, end = partition_end(m, first + count - 1);

    for (size_t i = 0; i < bound_count; i++) {
        if (bytes_compare(bounds[i], last) <= 0 || (end.len && bytes_compare(bounds[i], end) >= 0))
            return false;
        last = bounds[i];
    }
    return true;
}

/* ---- cuts that move rows ---- */

/* Step 1. */
static int cut_note(struct recut *r)
{
    struct schema s = r->now->schema;
    int code;

    if (fault_hit(FAULT_recut_begin))
        return fail_code(r->c, E_BUSY);
    s.version++;
    s.cut = r->cut;
    /* The first bound was there before. */
    for (size_t i = 1; i < s.cut.made_count; i++)
        s.value_cut |= schema_bound_inside(&s, s.cut.made[i].start);
    code = recut_put(r, &s);
    if (!code) {
        (void)fault_hit(FAULT_recut_noted);
        catalog_tell_soon(r->db->catalog, s.instance,
                          s.d.table); /* so that others end it if we do not */
    }
    return code;
}

/* Is that cut (named by the first partition that it makes) still under way in `now`? */
static bool cut_goes_on(const struct table *now, const struct table *t, uint64_t id)
{
    return now && now->schema.id == t->schema.id && now->schema.cut.made_count &&
           now->schema.cut.made[0].id == id;
}

/* Step 3, once. */
static int cut_store(struct ctx *c, struct wr_db *db, const struct table *t, uint64_t id,
                     int64_t start_us)
{
    struct recut r = {.c = c, .db = db};
    struct schema s;
    struct held held;
    struct table *now;
    int code = E_OK;

    hold(db->latches, &held, BYTES_LIT("catalog"));
    r.now = now = catalog_get(db->catalog, t->schema.instance, t->schema.d.table);
    if (cut_goes_on(now, t, id)) {
        r.cut = now->schema.cut;
        code = catalog_recut_schema(c, db->catalog, now, &r.cut, &s);
        if (!code)
            code = recut_put(&r, &s);
        if (!code) {
            recut_count(&r, clock_mono_us(&db->clock) - start_us);
            catalog_tell_soon(db->catalog, s.instance, s.d.table);
        }
    }
    let_go(db->latches, &held);
    table_release(now);
    return code;
}

/* Steps 2 and 3 of the cut that `now` notes. */
static int cut_run(struct ctx *c, struct wr_db *db, const struct table *now)
{
    const struct schema *s = &now->schema;
    struct recut r = {.c = c, .db = db, .now = now, .cut = s->cut};
    uint64_t id = s->cut.made[0].id;
    int64_t start_us = clock_mono_us(&db->clock);
    int code;

    (void)fault_hit(FAULT_recut_before_engine);
    TRY(engine_repartition(c, db->engine, recut_specs(&r, false), r.cut.count,
                           recut_specs(&r, true), r.cut.made_count));
    (void)fault_hit(FAULT_recut_before_store);
    while ((code = cut_store(c, db, now, id, start_us)) == E_GUARD)
        TRY(catalog_reread(c, db->catalog, s->instance, s->d.table));
    return code;
}

int catalog_end_cut(struct ctx *c, const struct table *t)
{
    struct wr_db *db = t->db;
    struct table *now = catalog_get(db->catalog, t->schema.instance, t->schema.d.table);
    int code = E_OK;

    if (now && now->schema.id == t->schema.id && now->schema.cut.made_count)
        code = cut_run(c, db, now);
    table_release(now);
    return code;
}

int catalog_refresh(struct ctx *c, const struct table *t)
{
    struct catalog *cat = t->db->catalog;
    struct table *now;
    bool same;

    TRY(catalog_reread(c, cat, t->schema.instance, t->schema.d.table));
    now = catalog_get(cat, t->schema.instance, t->schema.d.table);
    same = now && now->schema.id == t->schema.id;
    table_release(now);
    return same ? E_OK : fail_code(c, E_NOT_EXIST);
}

int catalog_recut(struct ctx *c, struct wr_db *db, struct table *t, size_t first, size_t count,
                  const bytes *bounds, size_t bound_count)
{
    bool moves = !engine_one_key_space(db->engine);
    struct recut r = {.c = c, .db = db, .cut = {.first = first, .count = count}};
    struct table *now;
    struct held held;
    int64_t start_us;
    int code;

    hold(db->latches, &held, BYTES_LIT("catalog"));
    start_us = clock_mono_us(&db->clock);
    r.now = now = catalog_get(db->catalog, t->schema.instance, t->schema.d.table);
    if (!recut_fits(now, t, first, count)) {
        code = fail_code(c, E_PARTITION);
    } else if (!bounds_fit(&now->partitions, first, count, bounds, bound_count)) {
        code = fail(c, E_INTERNAL, "A split key lies outside of its partition; it was not split.");
    } else {
        recut_made(&r, bounds, bound_count);
        code = moves ? cut_note(&r) : recut_range(&r);
    }
    if (!code && !moves)
        recut_count(&r, clock_mono_us(&db->clock) - start_us);
    let_go(db->latches, &held);
    table_release(now);
    if (code == E_GUARD) {
        TRY(catalog_reread(c, db->catalog, t->schema.instance, t->schema.d.table));
        return fail_code(c, E_PARTITION);
    }
    if (!code && moves)
        code = catalog_end_cut(c, t);
    return code;
}
