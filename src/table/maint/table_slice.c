#include "table/maint/table_slice.h"

#include "base/log.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"

#include <stdio.h>

static void slice_failed(struct table_slicing *s, struct ctx *c, const struct table *t,
                         struct task_step *step, int code)
{
    bytes about = s->about(&c->arena, t);

    snprintf(step->text, sizeof(step->text), "%.*s: %s", BYTES_FMT(about),
             c->text ? c->text : err_info(code)->text);
    log_warn(&s->db->log, "%s: %s; it is tried again", s->log_as, step->text);
}

static int slice_of(struct table_slicing *s, struct table *t, struct task_step *step)
{
    int64_t next_us;
    struct ctx c;
    int code;

    ctx_init(&c, &s->db->clock, &s->db->log, NULL, 0);
    code = scheduler_stopping(s->db->background) ? E_OK : s->run(s, &c, t, step);
    next_us = code ? s->retry_us : 0;
    if (!step->more || next_us < step->next_us)
        step->next_us = next_us;
    step->more = true;
    if (code == E_BUSY)
        code = E_OK;
    else if (code)
        slice_failed(s, &c, t, step, code);
    ctx_release(&c);
    return code;
}

int table_slices(struct table_slicing *s, struct task_step *step)
{
    struct table **tables;
    struct ctx c;
    int first = E_OK;
    size_t n, wanting = 0;

    step->next_us = s->idle_us;
    ctx_init(&c, &s->db->clock, &s->db->log, NULL, 0);
    n = catalog_all(s->db->catalog, &c.arena, &tables);
    /* Who waits for others' references, in catalog_reconciled(), waits no longer for them than
     * this.
     */
    for (size_t i = 0; i < n; i++)
        if (s->wants(tables[i]))
            tables[wanting++] = tables[i];
        else
            table_release(tables[i]);
    for (size_t i = 0; i < wanting; i++) {
        int code = slice_of(s, tables[i], step);

        if (!first)
            first = code;
        table_release(tables[i]);
    }
    ctx_release(&c);
    return first;
}
