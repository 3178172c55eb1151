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

static enum cost cost_of_batch_write_row(const struct wr_request *req)
{
    const struct wr_batch_write_row *b = &req->batch_write_row;

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

static enum cost cost_of_batch_get_row(const struct wr_request *req)
{
    const struct wr_batch_get_row *b = &req->batch_get_row;

    for (size_t i = 0; i < b->table_count; i++)
        if (filter_is_dear(b->tables[i].read.filter))
            return COST_MUCH;
    return COST_SOME;
}

static enum cost cost_of_get_range(const struct wr_request *req)
{
    const struct wr_get_range *g = &req->get_range;

    if (filter_is_dear(g->read.filter) || !g->has_limit || g->limit > RANGE_ROWS_SOME)
        return COST_MUCH;
    /* A filter leaves rows out, so the limit does not bound the walk. */
    return g->read.filter ? COST_MUCH : COST_SOME;
}

static enum cost cost_of_get_row(const struct wr_request *req)
{
    return filter_is_dear(req->get_row.read.filter) ? COST_MUCH : COST_LITTLE;
}

static enum cost cost_of_row_change(const struct wr_request *req)
{
    return cost_of_change(&req->put_row); /* the three share their struct */
}

static enum cost cost_little(const struct wr_request *req)
{
    (void)req;
    return COST_LITTLE;
}

static enum cost cost_some(const struct wr_request *req)
{
    (void)req;
    return COST_SOME;
}

static enum cost cost_much(const struct wr_request *req)
{
    (void)req;
    return COST_MUCH;
}

enum cost cost_of(const struct wr_request *req)
{
    static enum cost (*const costs[WR_OP_COUNT])(const struct wr_request *) = {
#define OP(constant, member, wire, class, request, request_type, reply, reply_member, reply_type,  \
           cost, ...)                                                                              \
    [WR_OP_##constant] = cost,
#include "op.def"
    };

    return (unsigned)req->op < WR_OP_COUNT ? costs[req->op](req) : COST_LITTLE;
}
