#include "table/maint/series_age.h"

#include "base/scheduler.h"
#include "table/catalog/catalog_series.h"

#include <stdio.h>

#define LOOK_US (2 * 1000000)

struct aging {
    struct catalog_txn txn;
    int64_t now_ms;
    bool drops; /* what it did: dropped, or froze */
    bool done;
};

static int64_t before(int64_t number, int64_t count)
{
    return number - count < PERIOD_NONE + count ? PERIOD_NONE : number - count;
}

void series_age_due(const struct schema_series *s, int64_t now_ms, int64_t *frozen, int64_t *gone)
{
    int64_t day, number;

    *frozen = *gone = PERIOD_NONE;
    if (!s->spec.hot || !period_day_of_number(WR_SERIES_MILLISECONDS, now_ms, &day))
        return;
    number = period_of_day(s->spec.by, day);
    *frozen = before(number + 1, s->spec.hot);
    if (s->spec.warm)
        *gone = before(*frozen, s->spec.warm);
    if (*gone > series_kept(s))
        *gone = series_kept(s);
}

/* What is frozen goes only with the next change, when all know that it is. */
static int age_decide(struct catalog_txn *x)
{
    struct aging *a = PORT_CONTAINER(x, struct aging, txn);
    struct schema s = catalog_txn_draft(x);
    int64_t frozen, gone;

    a->done = false;
    series_age_due(&s.series, a->now_ms, &frozen, &gone);
    if (frozen > s.series.frozen) {
        TRY(catalog_series_freeze(x, &s, frozen));
        a->drops = false;
    } else if (gone > s.series.gone) {
        TRY(catalog_series_drop(x, &s, gone));
        a->drops = true;
    } else {
        return E_OK;
    }
    a->done = true;
    return catalog_txn_put(x, &s);
}

static bool is_due(const struct schema_series *s, int64_t now_ms)
{
    int64_t frozen, gone;

    series_age_due(s, now_ms, &frozen, &gone);
    return frozen > s->frozen || gone > s->gone;
}

static void log_aging(struct wr_db *db, const struct aging *a)
{
    const struct schema *s = &a->txn.next->schema;
    char name[PERIOD_TEXT_BYTES];

    period_name(s->series.spec.by, (a->drops ? s->series.gone : s->series.frozen) - 1, name);
    log_info(&db->log, "series: '%.*s' of '%.*s': periods up to %s are %s", BYTES_FMT(s->d.table),
             BYTES_FMT(s->instance), name, a->drops ? "dropped" : "read-only");
}

static int age_table(struct ctx *c, struct wr_db *db, struct table *t, int64_t now_ms, bool *more)
{
    struct aging a = {.txn = {.db = db,
                              .c = c,
                              .instance = t->schema.instance,
                              .name = t->schema.d.table,
                              .id = t->schema.id,
                              .decide = age_decide,
                              .notify_ms = ENGINE_PUBLISH_MS},
                      .now_ms = now_ms};
    int code = catalog_txn_wait(&a.txn);

    if (!code && a.done) {
        *more = true;
        log_aging(db, &a);
    }
    catalog_txn_release(&a.txn);
    if (code == E_NOT_EXIST) { /* it was dropped meanwhile */
        ctx_clear(c);
        code = E_OK;
    }
    return code;
}

int series_age_some(struct wr_db *db, bool *more)
{
    int64_t now_ms = clock_watch_removal_ms(db);
    struct table **tables;
    struct ctx c;
    size_t n;
    int code = E_OK;

    *more = false;
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    n = catalog_all(db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        const struct schema *s = &tables[i]->schema;

        if (s->series.spec.by && !code && !*more && is_due(&s->series, now_ms))
            code = age_table(&c, db, tables[i], now_ms, more);
        table_release(tables[i]);
    }
    if (code)
        log_warn(&db->log, "series: periods could not be changed yet: %s",
                 c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}

static int age_step(void *arg, struct task_step *step)
{
    int code = series_age_some(arg, &step->more);

    step->next_us = step->more ? 0 : LOOK_US;
    if (code)
        snprintf(step->text, sizeof(step->text), "%s", err_info(code)->text);
    return code;
}

bool series_age_start(struct wr_db *db)
{
    struct task_spec spec = {.name = "series",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_SWEEP,
                             .run = age_step,
                             .arg = db,
                             .first_us = LOOK_US};

    return scheduler_add(db->background, &spec) != NULL;
}
