#include "table/model/cost.h"

#include "base/bytes.h"

#define FILTERS_MAX 2048     /* that are looked at; a filter may have no end (wire/ots.h) */
#define RANGE_ROWS_SOME 1000 /* what a page may return without being long */
#define ATOMIC_ROWS_SOME 20  /* an atomic batch does not give way between its rows */
#define CELLS_SOME 128       /* of one change */

/* True also where there are too many filters to tell. */
static bool has_regex(const struct wr_filter *f, size_t *left)
{
    if (!f)
        return false;
    if (!*left)
        return true;
    --*left;
    if (f->type == WR_FILTER_COLUMN)
        return f->column.regex.ptr != NULL;
    if (f->type == WR_FILTER_COMPOSITE)
        for (size_t i = 0; i < f->composite.sub_count; i++)
            if (has_regex(&f->composite.subs[i], left))
                return true;
    return false;
}

static bool filter_is_dear(const struct wr_filter *f)
{
    size_t left = FILTERS_MAX;

    return has_regex(f, &left);
}

static enum cost cost_of_change(const struct wr_row_change *c)
{
    if (filter_is_dear(c->condition.column))
        return COST_MUCH;
    return c->row.cell_count > CELLS_SOME ? COST_SOME : COST_LITTLE;
}

static enum cost cost_of_writes(const struct wr_batch_write_row *b)
{
    for (size_t i = 0; i < b->table_count; i++) {
        const struct wr_table_write *t = &b->tables[i];

        if (b->atomic && t->change_count > ATOMIC_ROWS_SOME)
            return COST_MUCH;
        for (size_t k = 0; k < t->change_count; k++)
            if (cost_of_change(&t->changes[k]) == COST_MUCH)
                return COST_MUCH;
    }
    return COST_SOME;
}

static enum cost cost_of_reads(const struct wr_batch_get_row *b)
{
    for (size_t i = 0; i < b->table_count; i++)
        if (filter_is_dear(b->tables[i].read.filter))
            return COST_MUCH;
    return COST_SOME;
}

static enum cost cost_of_range(const struct wr_get_range *g)
{
    if (filter_is_dear(g->read.filter) || !g->has_limit || g->limit > RANGE_ROWS_SOME)
        return COST_MUCH;
    /* A filter leaves rows out, so the limit does not bound the walk. */
    return g->read.filter ? COST_MUCH : COST_SOME;
}

enum cost cost_of(const struct wr_request *req)
{
    switch (req->op) {
    case WR_OP_GET_ROW:
        return filter_is_dear(req->get_row.read.filter) ? COST_MUCH : COST_LITTLE;
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        return cost_of_change(&req->put_row); /* the three share their struct */
    case WR_OP_BATCH_GET_ROW:
        return cost_of_reads(&req->batch_get_row);
    case WR_OP_BATCH_WRITE_ROW:
        return cost_of_writes(&req->batch_write_row);
    case WR_OP_BULK_IMPORT:
        return COST_SOME;
    case WR_OP_GET_RANGE:
        return cost_of_range(&req->get_range);
    case WR_OP_BULK_EXPORT:
        return COST_MUCH;
    default:
        return COST_LITTLE;
    }
}
