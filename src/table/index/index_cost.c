#include "table/index/index_cost.h"

#include "table/index/entry.h"
#include "table/model/change_point.h"
#include "table/model/meter.h"
#include "table/model/value.h"
#include "table/stats/sampler.h"

/* Of the row's newest values in columns that the key of some index has. */
static size_t key_values_size(const struct schema *s, const struct row *row)
{
    size_t size = 0;

    for (size_t i = 0; i < s->d.defined_count; i++) {
        const struct wr_cell *cell;
        bool in_key = false;

        for (size_t j = 0; j < s->index_count && !in_key; j++)
            for (size_t k = 0; k < s->indexes[j].location.key_count && !in_key; k++)
                in_key = !s->indexes[j].from[k].is_key && s->indexes[j].from[k].at == i;
        cell = in_key ? cells_find(row->cells, row->cell_count, s->d.defined[i].name) : NULL;
        size += cell ? value_size(&cell->value) : 0;
    }
    return size;
}

static size_t entry_key_size(struct ctx *c, const struct location *p, const struct index_entry *e)
{
    struct wr_key_column columns[WR_KEY_COLUMNS_MAX];
    struct wr_key key = {columns, p->key_count};
    size_t used;

    if (key_view_columns(c, e->cols, p->key, p->key_count, columns, &used)) {
        ctx_clear(c); /* the cost is not worth a failure */
        return 0;
    }
    return key_size(&key);
}

/* Do clients see the same entry? Another moment of writing does not count. */
static bool same_values(const struct index_entry *a, const struct index_entry *b)
{
    if (!a->there || !b->there || !bytes_equal(a->cols, b->cols) ||
        a->row.cell_count != b->row.cell_count)
        return a->there == b->there && !a->there;
    for (size_t i = 0; i < a->row.cell_count; i++) {
        const struct wr_cell *x = &a->row.cells[i], *y = &b->row.cells[i];

        if (!bytes_equal(x->name, y->name) || x->value.type != y->value.type ||
            value_compare(&x->value, &y->value) != 0)
            return false;
    }
    return true;
}

/* For the heat map of the index: an entry that came, or that went. */
static int32_t count_entry(const struct modify *m, size_t at, const struct index_entry *e,
                           size_t size)
{
    const struct location *p = &m->table->schema.indexes[at].location;
    struct sampler_table *to = m->table->index_samplers ? m->table->index_samplers[at] : NULL;
    uint32_t weight = sampler_weight(to);
    int32_t units = meter_units(size);
    struct heat_figures f = {{0, 1, (uint64_t)units, 0, size}};

    if (weight)
        sampler_add(to, weight, layout_bucket(p, e->cols), e->cols,
                    key_columns_length(p->key, e->cols, p->layout.partition_cols), &f);
    return units;
}

static int32_t write_units(struct ctx *c, const struct modify *m, size_t at)
{
    const struct schema *s = &m->table->schema;
    const struct index *index = &s->indexes[at];
    const struct location *p = &index->location;
    struct index_entry old = entry_of(&c->arena, s, index, m->cols, &m->old);
    struct index_entry now = entry_of(&c->arena, s, index, m->cols, &m->row);
    const struct wr_key none = {.count = 0};
    int32_t units = 0;

    if (same_values(&old, &now))
        return 0;
    if (now.there)
        units = count_entry(m, at, &now,
                            entry_key_size(c, p, &now) + meter_row_size(&s->d.options, &none,
                                                                        now.row.cells,
                                                                        now.row.cell_count));
    if (old.there && !(now.there && bytes_equal(old.cols, now.cols)))
        units += count_entry(m, at, &old, entry_key_size(c, p, &old));
    return units;
}

void index_cost(struct ctx *c, const struct modify *m, struct wr_capacity *cost)
{
    const struct schema *s = &m->table->schema;
    bool touched = false;

    for (size_t i = 0; i < s->index_count; i++) {
        bool named = change_touches(m, s->indexes[i].columns, s->indexes[i].column_count);
        int32_t units = named || !m->old.there ? write_units(c, m, i) : 0;

        touched |= named || units;
        cost->write += units;
    }
    if (!touched || m->generated || (!m->old.there && m->change->type == WR_DELETE))
        return;
    cost->read += m->old.there ? meter_units(key_values_size(s, &m->old)) : 1;
}
