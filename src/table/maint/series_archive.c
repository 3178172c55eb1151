#include "table/maint/series_archive.h"

#include "base/scheduler.h"
#include "table/catalog/catalog_series.h"
#include "table/model/series_place.h"

#include <pthread.h>
#include <stdio.h>

#define LOOK_US (2 * 1000000)
#define BUSY_US 100000

struct series_archiver {
    struct wr_db *db;
    struct task *task;
    pthread_mutex_t lock; /* over what follows */
    wr_archive_fn *fn;
    void *arg;
    uint32_t series; /* of which `state` tells */
    char state[PERIOD_TEXT_BYTES + TASK_TEXT_BYTES + 4];
    uint32_t last; /* the series whose turn it was; the task's own */
};

struct archiving {
    struct series_archiver *a;
    struct ctx *c;
    struct table *series, *table; /* the period's */
    int64_t number;
    char period[PERIOD_TEXT_BYTES];
};

bytes series_archive_state(struct series_archiver *a, struct arena *arena, uint32_t series)
{
    bytes text = BYTES_LIT("");

    if (!a)
        return text;
    pthread_mutex_lock(&a->lock);
    if (a->series == series)
        text = arena_copy(arena, bytes_str(a->state));
    pthread_mutex_unlock(&a->lock);
    return text;
}

static void set_state(struct series_archiver *a, uint32_t series, const char *period,
                      const char *text)
{
    pthread_mutex_lock(&a->lock);
    a->series = series;
    snprintf(a->state, sizeof(a->state), "%s%s%s", period, *period ? ": " : "", text);
    pthread_mutex_unlock(&a->lock);
}

/* ---- what is next ---- */

/* The oldest period that is frozen and not in the archive; false: none is. */
static bool next_period(const struct schema_series *s, int64_t *number)
{
    *number = series_kept(s);
    return *number < s->frozen;
}

/* The series whose turn it is: the first behind the last one, by their ids, and round again. A
 * reference; NULL: none has anything to do. */
static struct table *next_series(struct series_archiver *a, struct ctx *c)
{
    struct table **tables, *behind = NULL, *first = NULL;
    size_t n = catalog_all(a->db->catalog, &c->arena, &tables);
    int64_t number;

    for (size_t i = 0; i < n; i++) {
        const struct schema *s = &tables[i]->schema;

        if (!s->series.spec.by || !next_period(&s->series, &number))
            continue;
        if (!first || s->id < first->schema.id)
            first = tables[i];
        if (s->id >= a->last && (!behind || s->id < behind->schema.id))
            behind = tables[i];
    }
    if (behind || first)
        table_ref(behind ? behind : first);
    for (size_t i = 0; i < n; i++)
        table_release(tables[i]);
    return behind ? behind : first;
}

/* ---- done ---- */

struct archived {
    struct catalog_txn txn;
    uint32_t table; /* the id of the period's */
    int64_t number;
    bytes archive;
};

/* Only if it is still the table that was written, and it was written where it is to be. */
static int archived_decide(struct catalog_txn *x)
{
    struct archived *a = PORT_CONTAINER(x, struct archived, txn);
    struct schema s = catalog_txn_draft(x);
    struct catalog_txn_other *other =
        catalog_txn_other(x, series_table_name(&x->c->arena, &s, a->number));

    if (!s.series.spec.by || series_kept(&s.series) != a->number || !other->now ||
        other->now->schema.id != a->table || !other->now->schema.period.frozen ||
        !bytes_equal(s.series.archive, a->archive))
        return E_OK;
    s.series.archived = a->number + 1;
    return catalog_txn_put(x, &s);
}

static int note_archived(const struct archiving *g)
{
    const struct schema *s = &g->series->schema;
    struct archived a = {.txn = {.db = g->a->db,
                                 .c = g->c,
                                 .instance = s->instance,
                                 .name = s->d.table,
                                 .id = s->id,
                                 .decide = archived_decide,
                                 .notify_ms = ENGINE_PUBLISH_MS},
                         .table = g->table->schema.id,
                         .number = g->number,
                         .archive = s->series.archive};
    int code = catalog_txn_wait(&a.txn);

    catalog_txn_release(&a.txn);
    if (code == E_NOT_EXIST) { /* it was dropped meanwhile */
        ctx_clear(g->c);
        return E_OK;
    }
    if (!code)
        log_info(&g->a->db->log, "archive: period %s of '%.*s' of '%.*s' is in %.*s", g->period,
                 BYTES_FMT(s->d.table), BYTES_FMT(s->instance), BYTES_FMT(s->series.archive));
    return code;
}

/* ---- a turn ---- */

static wr_archive_fn *program_of(struct series_archiver *a, void **arg)
{
    wr_archive_fn *fn;

    pthread_mutex_lock(&a->lock);
    fn = a->fn;
    *arg = a->arg;
    pthread_mutex_unlock(&a->lock);
    return fn;
}

static int run_program(struct archiving *g, struct task_step *step, bool *ended)
{
    const struct schema *s = &g->series->schema;
    struct wr_archive_period period = {.instance = s->instance,
                                       .series = s->d.table,
                                       .period = bytes_str(g->period),
                                       .table = g->table->schema.d.table,
                                       .archive = s->series.archive,
                                       .creation_us = s->d.creation_us};
    struct wr_archive_step done = {.percent = -1};
    char text[TASK_TEXT_BYTES];
    void *arg;
    wr_archive_fn *fn = program_of(g->a, &arg);
    int code;

    if (!fn)
        return fail(g->c, E_UNSUPPORTED, "this program writes no archives; widerowd does");
    code = fn(arg, &period, &done);
    step->bytes = done.bytes;
    step->percent = done.percent;
    *ended = done.ended;
    if (code)
        return fail(g->c, code, "%s", done.text);
    snprintf(text, sizeof(text), "%d %%", done.percent < 0 ? 0 : (int)done.percent);
    set_state(g->a, s->id, g->period, text);
    return E_OK;
}

static int archive_period(struct archiving *g, struct task_step *step)
{
    struct series_archiver *a = g->a;
    bool ended = false;

    if (!catalog_keeps_frozen(a->db->catalog, g->series->schema.id, g->number + 1)) {
        step->next_us = BUSY_US;
        return E_OK;
    }
    TRY(run_program(g, step, &ended));
    step->more = true;
    step->next_us = 0;
    if (!ended)
        return E_OK;
    TRY(note_archived(g));
    set_state(a, g->series->schema.id, "", "");
    a->last = g->series->schema.id + 1;
    return E_OK;
}

static int failed(struct archiving *g, struct task_step *step, int code)
{
    const struct schema *s = &g->series->schema;
    const char *why = g->c->text ? g->c->text : err_info(code)->text;

    set_state(g->a, s->id, g->period, why);
    g->a->last = s->id + 1;
    snprintf(step->text, sizeof(step->text), "%.*s@%s: %s", BYTES_FMT(s->d.table), g->period, why);
    log_warn(&g->a->db->log, "archive: period %s of '%.*s' of '%.*s': %s; it is tried again",
             g->period, BYTES_FMT(s->d.table), BYTES_FMT(s->instance), why);
    return code;
}

static int archive_series(struct series_archiver *a, struct ctx *c, struct table *t,
                          struct task_step *step)
{
    const struct schema *s = &t->schema;
    struct archiving g = {.a = a, .c = c, .series = t};
    int code;

    if (!next_period(&s->series, &g.number))
        return E_OK;
    period_name(s->series.spec.by, g.number, g.period);
    g.table = catalog_get(a->db->catalog, s->instance, series_table_name(&c->arena, s, g.number));
    if (!g.table) { /* the series has changed */
        step->next_us = BUSY_US;
        return E_OK;
    }
    code = archive_period(&g, step);
    if (code)
        failed(&g, step, code);
    table_release(g.table);
    return code;
}

static int archive_step(void *arg, struct task_step *step)
{
    struct series_archiver *a = arg;
    struct table *t;
    struct ctx c;
    int code = E_OK;

    step->next_us = LOOK_US;
    step->percent = -1;
    ctx_init(&c, &a->db->clock, &a->db->log, NULL, 0);
    t = next_series(a, &c);
    if (t)
        code = archive_series(a, &c, t, step);
    table_release(t);
    ctx_release(&c);
    return code;
}

/* ---- the task ---- */

struct series_archiver *series_archive_start(struct wr_db *db)
{
    struct series_archiver *a = mem_zalloc(sizeof(*a));
    struct task_spec spec = {.name = "archive",
                             .thread = TASK_AWAY,
                             .priority = PRIORITY_ARCHIVE,
                             .run = archive_step,
                             .arg = a,
                             .first_us = LOOK_US};

    a->db = db;
    pthread_mutex_init(&a->lock, NULL);
    a->task = scheduler_add(db->background, &spec);
    if (a->task)
        return a;
    series_archive_free(a);
    return NULL;
}

void series_archive_free(struct series_archiver *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    mem_free(a);
}

void wr_archive_with(struct wr_db *db, wr_archive_fn *fn, void *arg)
{
    struct series_archiver *a = db->archiver;

    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->arg = arg;
    a->fn = fn;
    pthread_mutex_unlock(&a->lock);
    task_wake(a->task);
}
