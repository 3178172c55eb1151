#include "table/index/index_observer.h"

#include "table/index/entry.h"
#include "table/index/index_check.h"
#include "table/index/outbox_observer.h"
#include "table/model/change_point.h"

/* Lives as long as the version of the table. */
struct index_observer {
    struct row_observer o;
    const struct schema *base;
    const struct index *index;
};

static int index_check_change(struct ctx *c, const struct row_observer *o,
                              const struct row_change *change)
{
    const struct index_observer *x = PORT_CONTAINER(o, struct index_observer, o);

    return index_check_cells(c, x->base, x->index, change);
}

static void index_record_change(const struct row_observer *o, const struct row_change *change,
                                struct batch_builder *e)
{
    const struct index_observer *x = PORT_CONTAINER(o, struct index_observer, o);
    struct index_entry old = {.there = false}, now;

    if (change->old)
        old = entry_of(e->arena, x->base, x->index, change->cols, change->old);
    now = entry_of(e->arena, x->base, x->index, change->cols, change->now);
    if (x->index->phase == INDEX_COMING)
        entry_mark(e, x->index, change->cols, &old, &now);
    else
        entry_change(e, x->index, &old, &now);
}

void index_observe(struct wr_db *db, struct table *t)
{
    const struct schema *s = &t->schema;
    struct index_observer *all;

    if (!s->index_count)
        return;
    if (!engine_one_key_space(db->engine)) {
        outbox_observe(t);
        return;
    }
    all = ARENA_ARRAY(&t->ctx.arena, struct index_observer, s->index_count);
    for (size_t i = 0; i < s->index_count; i++) {
        all[i] = (struct index_observer){.o = {.needs = OLD_ROW_TOUCHED,
                                               .columns = s->indexes[i].columns,
                                               .column_count = s->indexes[i].column_count,
                                               .check = index_check_change,
                                               .record = index_record_change},
                                         .base = s,
                                         .index = &s->indexes[i]};
        change_point_observe(t, &all[i].o);
    }
}
