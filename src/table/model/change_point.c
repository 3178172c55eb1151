#include "table/model/change_point.h"

#include "base/invariant.h"
#include "table/model/name.h"

bool change_touches(const struct modify *m, const bytes *columns, size_t count)
{
    const struct wr_row *asked;

    if (!columns || !m->change || m->change->type != WR_UPDATE ||
        m->table->schema.d.options.update_full_row)
        return true;
    asked = &m->change->row;
    for (size_t i = 0; i < asked->cell_count; i++)
        if (names_find(columns, count, asked->cells[i].name))
            return true;
    return false;
}

static bool touches_observed(const struct row_observer *o, const struct modify *m)
{
    return change_touches(m, o->columns, o->column_count);
}

static bool needs_old(const struct row_observer *o, const struct modify *m)
{
    switch (o->needs) {
    case OLD_ROW_NEVER:
        return false;
    case OLD_ROW_ALWAYS:
        return true;
    case OLD_ROW_TOUCHED:
        break;
    }
    /* An update of a row that has expired meanwhile drops cells that it does not name. */
    return m->table->schema.d.options.ttl_s != -1 || touches_observed(o, m);
}

/* `columns` are added to those that the observers before need. */
static void add_columns(struct ctx *c, struct modify *m, const bytes *columns, size_t count)
{
    bytes *names = ARENA_ARRAY(&c->arena, bytes, m->observed_count + count);
    size_t n = m->observed_count + count;

    if (m->observed_count)
        memcpy(names, m->observed, sizeof(*names) * m->observed_count);
    if (count)
        memcpy(names + m->observed_count, columns, sizeof(*names) * count);
    m->observed = names;
    m->observed_count = names_sort_unique(names, n);
}

void change_point_observe(struct table *t, const struct row_observer *o)
{
    const struct row_observer **list =
        ARENA_ARRAY(&t->ctx.arena, const struct row_observer *, t->observer_count + 1);

    if (t->observer_count)
        memcpy(list, t->observers, sizeof(*list) * t->observer_count);
    list[t->observer_count++] = o;
    t->observers = list;
}

void change_point_prepare(struct ctx *c, struct modify *m)
{
    for (size_t i = 0; PORT_UNLIKELY(i < m->table->observer_count); i++) {
        const struct row_observer *o = m->table->observers[i];

        if (o->beside && !m->beside)
            m->beside = ARENA_NEW(&c->arena, struct row_beside);
        m->looks |= o->beside;
        if (!needs_old(o, m))
            continue;
        m->looks = true;
        if (o->columns)
            add_columns(c, m, o->columns, o->column_count);
        else
            m->whole = true;
    }
}

static bool same_newest(const struct row *a, const struct row *b, bytes name)
{
    const struct wr_cell *x = cells_find(a->cells, a->cell_count, name);
    const struct wr_cell *y = cells_find(b->cells, b->cell_count, name);

    return !x == !y && (!x || (x->timestamp_ms == y->timestamp_ms && x->crc8 == y->crc8));
}

/* Does the change concern it? An update may drop cells of other columns, which the table's options
 * hid already, and make the row that it is about. */
static bool concerns(const struct row_observer *o, const struct modify *m)
{
    if (o->needs != OLD_ROW_TOUCHED || touches_observed(o, m))
        return true;
    if ((m->old_known || m->generated) && m->old.there != m->row.there)
        return true;
    for (size_t i = 0; m->old_known && i < o->column_count; i++)
        if (!same_newest(&m->old, &m->row, o->columns[i]))
            return true;
    return false;
}

static enum row_change_kind kind_of(const struct modify *m)
{
    if (!m->change)
        return ROW_EXPIRE;
    return m->change->type == WR_PUT      ? ROW_PUT
           : m->change->type == WR_UPDATE ? ROW_UPDATE
                                          : ROW_DELETE;
}

static struct row_change change_of(const struct modify *m)
{
    bool known = m->old_known || m->generated;

    return (struct row_change){.kind = kind_of(m),
                               .table = m->table,
                               .cols = m->cols,
                               .asked = m->change,
                               .now_ms = m->now_ms,
                               .stamp_ms = m->stamp_ms,
                               .stamp = modify_row_stamp(m),
                               .old = known ? &m->old : NULL,
                               .now = &m->row,
                               .beside = m->beside};
}

int change_point_check(struct ctx *c, const struct modify *m)
{
    struct row_change change;

    if (PORT_UNLIKELY(atomic_load_explicit(&m->table->is_overtaken, memory_order_relaxed)))
        return fail(c, E_BUSY, "Server is busy: the table has just changed; try again.");
    if (PORT_LIKELY(!m->table->observer_count) || !m->changed)
        return E_OK;
    change = change_of(m);
    for (size_t i = 0; i < m->table->observer_count; i++) {
        const struct row_observer *o = m->table->observers[i];

        if (o->check && concerns(o, m))
            TRY(o->check(c, o, &change));
    }
    return E_OK;
}

void change_point_record(const struct modify *m, struct batch_builder *e)
{
    struct row_change change;

    if (PORT_LIKELY(!m->table->observer_count) || !m->changed)
        return;
    change = change_of(m);
    for (size_t i = 0; i < m->table->observer_count; i++) {
        const struct row_observer *o = m->table->observers[i];

        if (!concerns(o, m))
            continue;
        invariant(change.old || !needs_old(o, m));
        o->record(o, &change, e);
    }
}

void change_point_store(const struct modify *m, struct batch_builder *e)
{
    change_point_record(m, e);
    modify_batch(m, e);
}
