#include "table/index/index_observer.h"

#include "base/invariant.h"
#include "table/index/entry.h"
#include "table/model/big.h"
#include "table/model/change_point.h"
#include "table/model/name.h"
#include "table/model/value.h"

/* Lives as long as the version of the table. */
struct index_observer {
    struct row_observer o;
    const struct schema *base;
    const struct index *index;
};

/* ---- what is refused ---- */

static const struct wr_defined_column *defined_of(const struct schema *s, bytes name)
{
    for (size_t i = 0; i < s->d.defined_count; i++)
        if (bytes_equal(s->d.defined[i].name, name))
            return &s->d.defined[i];
    return NULL;
}

static bool stands_in_key(const struct index_observer *x, const struct wr_defined_column *defined)
{
    for (size_t i = 0; i < x->index->location.key_count; i++)
        if (!x->index->from[i].is_key && &x->base->d.defined[x->index->from[i].at] == defined)
            return true;
    return false;
}

static int refuse(struct ctx *c, const struct index_observer *x, const struct wr_cell *cell,
                  enum wr_type defined)
{
    bytes index = x->index->meta->name;

    if (cell->apart)
        return fail(c, E_PARAMETER,
                    "Column '%.*s' of index '%.*s' cannot hold a value of %zu bytes, which is kept "
                    "apart from its row.",
                    BYTES_FMT(cell->name), BYTES_FMT(index), big_cell_size(cell));
    if (cell->value.type != defined)
        return fail(c, E_PARAMETER,
                    "Column '%.*s' of index '%.*s' is defined as %s. Value type: %s.",
                    BYTES_FMT(cell->name), BYTES_FMT(index), value_type_name(defined),
                    value_type_name(cell->value.type));
    return fail(c, E_PARAMETER,
                "The length of primary key column: '%.*s' exceeds the MaxLength:%d with "
                "CurrentLength:%zu in index '%.*s'.",
                BYTES_FMT(cell->name), INDEX_KEY_VALUE_BYTES_MAX, cell->value.bytes.len,
                BYTES_FMT(index));
}

/* Only what the change itself writes can be refused. */
static int index_check_change(struct ctx *c, const struct row_observer *o,
                              const struct row_change *change)
{
    const struct index_observer *x = PORT_CONTAINER(o, struct index_observer, o);
    const struct wr_row *asked = &change->asked->row;

    for (size_t i = 0; i < asked->cell_count; i++) {
        struct wr_cell cell = asked->cells[i];
        const struct wr_defined_column *defined;

        if ((cell.op != WR_CELL_PUT && cell.op != WR_CELL_INCREMENT) ||
            !names_find(o->columns, o->column_count, cell.name))
            continue;
        defined = defined_of(x->base, cell.name);
        invariant(defined); /* or the index would not have been resolved */
        if (!entry_takes(&cell, defined->type, stands_in_key(x, defined)))
            return refuse(c, x, &cell, defined->type);
    }
    return E_OK;
}

/* ---- what is recorded ---- */

static void index_record_change(const struct row_observer *o, const struct row_change *change,
                                struct batch_builder *e)
{
    const struct index_observer *x = PORT_CONTAINER(o, struct index_observer, o);
    struct index_entry old = {.there = false}, now;

    if (change->old)
        old = entry_of(e->arena, x->base, x->index, change->cols, change->old);
    now = entry_of(e->arena, x->base, x->index, change->cols, change->now);
    entry_change(e, x->index, &old, &now);
}

void index_observe(struct wr_db *db, struct table *t)
{
    const struct schema *s = &t->schema;
    struct index_observer *all;

    if (!s->index_count || !engine_one_key_space(db->engine))
        return;
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
