/* series_op.c: CreateSeries, DescribeSeries and ChangeSeries. */
#include "table/admin/table_op.h"
#include "table/catalog/catalog_series.h"
#include "table/maint/series_age.h"
#include "table/maint/series_archive.h"
#include "table/model/partition.h"
#include "table/model/series_place.h"

static bytes period_text(struct arena *a, const struct schema_series *s, int64_t number)
{
    char name[PERIOD_TEXT_BYTES];

    if (number == PERIOD_NONE)
        return BYTES_LIT("");
    period_name(s->spec.by, number, name);
    return arena_copy(a, bytes_str(name));
}

/* The last period before that number. */
static bytes last_before(struct arena *a, const struct schema_series *s, int64_t number)
{
    return period_text(a, s, number == PERIOD_NONE ? number : number - 1);
}

static void describe_period(struct call *call, const struct schema *s, int64_t number,
                            struct wr_series_period *out)
{
    struct arena *a = &call->c.arena;
    struct table *t = catalog_get(call->db->catalog, s->instance, series_table_name(a, s, number));

    *out = (struct wr_series_period){.name = period_text(a, &s->series, number)};
    if (!t)
        return;
    out->frozen = t->schema.period.frozen;
    out->creation_us = t->schema.d.creation_us;
    traffic_counts(t->traffic, &t->partitions, &out->stored_bytes);
    table_release(t);
}

static void series_describe(struct call *call, const struct table *t)
{
    const struct schema *s = &t->schema;
    struct arena *a = &call->c.arena;
    struct wr_series_period *periods = ARENA_ARRAY(a, struct wr_series_period, s->series.count);

    for (size_t i = 0; i < s->series.count; i++)
        describe_period(call, s, s->series.periods[i], &periods[i]);
    call->reply.series =
        (struct wr_series_result){.spec = s->series.spec,
                                  .frozen = last_before(a, &s->series, s->series.frozen),
                                  .dropped = last_before(a, &s->series, s->series.gone),
                                  .periods = periods,
                                  .count = s->series.count,
                                  .archive = arena_copy(a, s->series.archive)};
    if (s->series.archive.len)
        call->reply.series.archived = last_before(a, &s->series, s->series.archived);
    call->reply.series.archive_state = series_archive_state(call->db->archiver, a, s->id);
    call->reply.series.spec.column = arena_copy(a, s->series.spec.column);
}

static int not_series(struct ctx *c, bytes name)
{
    return fail(c, E_PARAMETER, "Table '%.*s' is no series.", BYTES_FMT(name));
}

int describe_series_start(struct call *call)
{
    struct table *t;

    TRY(catalog_check(&call->c, call->db->catalog));
    TRY(table_op_find(call, &t));
    if (t->schema.series.spec.by)
        series_describe(call, t);
    else
        not_series(&call->c, t->schema.d.table);
    table_release(t);
    call_finish(call);
    return E_OK;
}

/* ---- CreateSeries ---- */

static int make(struct catalog_txn *x, struct call *call)
{
    const struct wr_create_series *create = &call->req->create_series;
    struct schema *s;
    int64_t gone;

    if (x->now)
        return fail_code(x->c, E_EXIST);
    TRY(table_op_check_quota(x, 1));
    s = schema_from_create(x->c, catalog_txn_ids(x, 1), x->instance, &create->table);
    s->series = (struct schema_series){.spec = create->series,
                                       .frozen = PERIOD_NONE,
                                       .gone = PERIOD_NONE,
                                       .archive = create->archive,
                                       .archived = PERIOD_NONE};
    /* What is old already takes no writes from the first moment on. */
    series_age_due(&s->series, clock_watch_removal_ms(x->db), &s->series.frozen, &gone);
    return catalog_txn_put(x, s);
}

static const struct table_op op_create = {
    .decide = make, .describe = table_op_describe, .makes = true};

int create_series_start(struct call *call)
{
    const struct wr_create_series *create = &call->req->create_series;
    struct ctx *c = &call->c;

    TRY(catalog_check(c, call->db->catalog));
    if (!engine_one_key_space(call->db->engine))
        return fail(c, E_UNSUPPORTED,
                    "A series of tables is not served by a server over a pool. Make a table a "
                    "period there, as examples/month-tables does.");
    TRY(schema_check_create(c, &call->db->limits, table_op_key_columns(call), &create->table));
    TRY(series_check(c, &create->table, &create->series));
    TRY(series_check_archive(c, create->archive));
    return table_op_start(call, &op_create);
}

/* ---- ChangeSeries ---- */

static int set_ages(struct catalog_txn *x, struct schema *s, const struct wr_series_spec *spec)
{
    struct wr_series_spec *own = &s->series.spec;

    own->hot = spec->hot;
    own->warm = spec->warm;
    own->warm_reserved = spec->warm_reserved;
    TRY(series_check_ages(x->c, own));
    return catalog_series_follow(x, s);
}

/* Another place holds nothing yet; what has not been dropped goes there. */
static int set_archive(struct catalog_txn *x, struct schema *s, bytes archive)
{
    TRY(series_check_archive(x->c, archive));
    if (!bytes_equal(s->series.archive, archive))
        s->series.archived = PERIOD_NONE;
    s->series.archive = archive;
    return catalog_txn_put(x, s);
}

static int change(struct catalog_txn *x, struct call *call)
{
    const struct wr_change_series *ask = &call->req->change_series;
    struct schema s = catalog_txn_draft(x);
    int64_t number;

    if (!s.series.spec.by)
        return not_series(x->c, x->name);
    if (ask->action == WR_SERIES_AGE) {
        TRY(set_ages(x, &s, &ask->spec));
        return catalog_txn_put(x, &s);
    }
    if (ask->action == WR_SERIES_ARCHIVE)
        return set_archive(x, &s, ask->archive);
    if (!period_parse(s.series.spec.by, ask->period, &number))
        return fail(x->c, E_PARAMETER,
                    "'%.*s' is no period of series '%.*s': a month is written 2025-03, a week "
                    "2025-W11, a day 2025-03-14.",
                    BYTES_FMT(ask->period), BYTES_FMT(x->name));
    if (ask->action == WR_SERIES_FREEZE)
        TRY(catalog_series_freeze(x, &s, number + 1));
    else
        TRY(catalog_series_drop(x, &s, number + 1));
    return catalog_txn_put(x, &s);
}

/* Whoever gets the answer to a freeze may read the periods out whole. */
static bool freezes(const struct call *call)
{
    return call->req->change_series.action == WR_SERIES_FREEZE;
}

static const struct table_op op_change = {
    .decide = change, .describe = series_describe, .freezes = freezes, .serves_series = true};

int change_series_start(struct call *call)
{
    enum wr_series_action action = call->req->change_series.action;

    if (action < WR_SERIES_AGE || action > WR_SERIES_ARCHIVE)
        return fail(&call->c, E_PARAMETER, "ChangeSeries has no action %d.", (int)action);
    return table_op_start(call, &op_change);
}
