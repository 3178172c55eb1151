#include "table/catalog/catalog_series.h"

#include "base/invariant.h"

#define STREAMS_MAX 16384 /* buckets of all periods of a series */
#include "table/model/series_place.h"

/* The table of a period of x->now; NULL: it is not there, or not the series'. */
static struct catalog_txn_other *period_table(struct catalog_txn *x, int64_t number)
{
    const struct schema *s = &x->now->schema;
    struct catalog_txn_other *other =
        catalog_txn_other(x, series_table_name(&x->c->arena, s, number));

    return other->now && other->now->schema.period.series == s->id ? other : NULL;
}

static int add_table(struct catalog_txn *x, struct schema *s, uint32_t id, int64_t number)
{
    bytes name = series_table_name(&x->c->arena, s, number);
    struct catalog_txn_other *other;

    TRY(catalog_refusal(x->c, x->db->catalog, x->instance, name));
    other = catalog_txn_other(x, name);
    if (other->now)
        return fail(x->c, E_CORRUPT,
                    "Period table '%.*s' is there, and its series does not name it.",
                    BYTES_FMT(name));
    TRY(catalog_txn_put_other(x, other, series_new_table(x->c, s, id, number)));
    series_add(&x->c->arena, &s->series, number);
    return E_OK;
}

/* How many of them are missing; they are written to `out`. */
static size_t missing(const struct series_growth *g, const struct schema_series *s, int64_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < g->count; i++)
        if (g->numbers[i] >= s->frozen && g->numbers[i] >= s->gone &&
            series_find(s, g->numbers[i]) == s->count)
            out[n++] = g->numbers[i];
    return n;
}

/* A range reads each bucket of each period by itself. */
static int check_streams(struct ctx *c, const struct schema *s, size_t periods)
{
    size_t buckets = s->location.layout.buckets;

    if (periods * buckets <= STREAMS_MAX)
        return E_OK;
    return fail(
        c, E_QUOTA,
        "Series '%.*s' has %zu buckets in each period, and no more than %d in all: it takes "
        "no further period.",
        BYTES_FMT(s->d.table), buckets, STREAMS_MAX);
}

static int grow_decide(struct catalog_txn *x)
{
    struct series_growth *g = PORT_CONTAINER(x, struct series_growth, txn);
    int64_t *numbers = ARENA_ARRAY(&x->c->arena, int64_t, g->count);
    int64_t most = x->db->limits.series_periods_max;
    struct schema s = catalog_txn_draft(x);
    size_t n = missing(g, &s.series, numbers);
    uint32_t id;

    if (!s.series.spec.by)
        return E_NOT_EXIST;
    if (!n)
        return E_OK;
    if (s.series.count + n > (size_t)most)
        return fail(x->c, E_QUOTA,
                    "Series '%.*s' has %zu periods, and with this request it would have more than "
                    "%lld (series_periods_max). Drop old ones, or see whether the times are right.",
                    BYTES_FMT(s.d.table), s.series.count, (long long)most);
    TRY(check_streams(x->c, &s, s.series.count + n));
    id = catalog_txn_ids(x, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        TRY(add_table(x, &s, id + (uint32_t)i, numbers[i]));
    return catalog_txn_put(x, &s);
}

void catalog_series_grow(struct series_growth *g)
{
    g->txn.decide = grow_decide;
    catalog_txn_begin(&g->txn);
}

static int put_period(struct catalog_txn *x, struct catalog_txn_other *other,
                      const struct schema *series, bool freezes)
{
    struct schema table = other->now->schema;

    table.version++;
    table.period.frozen |= freezes;
    series_follow(&table, series);
    return catalog_txn_put_other(x, other, &table);
}

int catalog_series_freeze(struct catalog_txn *x, struct schema *s, int64_t number)
{
    for (size_t i = 0; i < s->series.count && s->series.periods[i] < number; i++) {
        struct catalog_txn_other *other = period_table(x, s->series.periods[i]);

        if (other && !other->now->schema.period.frozen)
            TRY(put_period(x, other, s, true));
    }
    if (number > s->series.frozen)
        s->series.frozen = number;
    return E_OK;
}

int catalog_series_drop(struct catalog_txn *x, struct schema *s, int64_t number)
{
    const struct schema_series was = s->series;
    int64_t kept = series_kept(&was);
    char name[PERIOD_TEXT_BYTES];

    if (number > was.frozen) {
        period_name(was.spec.by, number - 1, name);
        return fail(
            x->c, E_PARAMETER,
            "Period %s of series '%.*s' still takes writes. Freeze it before it is dropped.", name,
            BYTES_FMT(s->d.table));
    }
    if (number > kept) {
        period_name(was.spec.by, kept, name);
        return fail(x->c, E_PARAMETER,
                    "Period %s of series '%.*s' is not in the archive yet (series status says "
                    "why). Take the archive off the series if its rows are to go for good.",
                    name, BYTES_FMT(s->d.table));
    }
    for (size_t i = 0; i < was.count && was.periods[i] < number; i++) {
        struct catalog_txn_other *other = period_table(x, was.periods[i]);

        series_remove(&x->c->arena, &s->series, was.periods[i]);
        if (!other)
            continue;
        catalog_txn_drop_other(x, other);
        catalog_drop_rows(&x->builder, x->db, &other->now->schema);
    }
    if (number > s->series.gone)
        s->series.gone = number;
    return E_OK;
}

int catalog_series_follow(struct catalog_txn *x, const struct schema *s)
{
    for (size_t i = 0; i < s->series.count; i++) {
        struct catalog_txn_other *other = period_table(x, s->series.periods[i]);

        if (other)
            TRY(put_period(x, other, s, false));
    }
    return E_OK;
}

void catalog_series_drop_all(struct catalog_txn *x)
{
    const struct schema_series *s = &x->now->schema.series;

    for (size_t i = 0; i < s->count; i++) {
        struct catalog_txn_other *other = period_table(x, s->periods[i]);

        if (!other)
            continue;
        catalog_txn_drop_other(x, other);
        catalog_drop_rows(&x->builder, x->db, &other->now->schema);
    }
}
