#include "table/changelog/change_log_watch.h"

#include "base/scheduler.h"
#include "table/catalog/catalog.h"
#include "table/changelog/change_log.h"

#include <stdio.h>

#define LOOK_US 10000000 /* between two looks at all logs */

struct change_log_watch {
    struct wr_db *db;
    _Atomic uint64_t bytes, cut;
};

static int keep_log(struct ctx *c, struct change_log_watch *w, const struct table *t,
                    uint64_t *held)
{
    uint64_t max = (uint64_t)w->db->limits.change_log_bytes_max;
    struct change_log_bounded done;

    TRY(change_log_bound(c, t, max, &done));
    *held += done.bytes;
    if (!done.removed)
        return E_OK;
    atomic_fetch_add(&w->cut, 1);
    log_warn(&w->db->log,
             "change log: that of table '%.*s' was larger than change_log_bytes_max (%llu bytes), "
             "and its oldest changes are gone: a search index that has not seen them is made "
             "again from the rows",
             BYTES_FMT(t->schema.d.table), (unsigned long long)max);
    return E_OK;
}

int change_log_watch_look(struct change_log_watch *w)
{
    struct table **tables;
    uint64_t held = 0;
    int code = E_OK;
    struct ctx c;
    size_t n;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    n = catalog_all(w->db->catalog, &c.arena, &tables);
    for (size_t i = 0; i < n; i++) {
        if (tables[i]->schema.change_log && !code)
            code = keep_log(&c, w, tables[i], &held);
        table_release(tables[i]);
    }
    if (!code)
        atomic_store(&w->bytes, held);
    ctx_release(&c);
    return code;
}

static int watch_step(void *arg, struct task_step *step)
{
    int code = change_log_watch_look(arg);

    step->next_us = LOOK_US;
    if (code)
        snprintf(step->text, sizeof(step->text), "%s", err_info(code)->text);
    return code;
}

struct change_log_watch *change_log_watch_start(struct wr_db *db)
{
    struct change_log_watch *w = mem_zalloc(sizeof(*w));
    struct task_spec spec = {.name = "changelog",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_SWEEP,
                             .run = watch_step,
                             .arg = w,
                             .first_us = LOOK_US};

    w->db = db;
    if (scheduler_add(db->background, &spec))
        return w;
    mem_free(w);
    return NULL;
}

void change_log_watch_free(struct change_log_watch *w)
{
    mem_free(w);
}

void change_log_watch_stat(const struct change_log_watch *w, struct change_log_stat *out)
{
    *out = (struct change_log_stat){0};
    if (w)
        *out = (struct change_log_stat){atomic_load(&w->bytes), atomic_load(&w->cut)};
}
