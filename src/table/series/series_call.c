#include "table/series/series_call.h"

#include "base/invariant.h"
#include "table/catalog/catalog_series.h"
#include "table/core/call_series.h"
#include "table/model/series_place.h"

#include <stdlib.h>

#define PERIODS_FEW 32
#define TRIES_MAX 8 /* of what a change of the series was faster with */

struct series_begin {
    struct call *call;
    void (*again)(struct call *call);
    size_t tries;
    struct series_growth growth; /* what is missing of one series */
};

static void series_go(void *arg);

static void series_release(struct call *call)
{
    for (struct call_series *s = call->series; s; s = s->next) {
        for (size_t i = 0; i < s->count; i++)
            table_release(s->periods[i].table);
        table_release(s->series);
    }
    call->series = NULL;
}

/* ---- which periods ---- */

/* Numbers, each once, in any order. */
struct numbers {
    int64_t *list;
    size_t count, room;
    bool all; /* of those that the series has */
};

static void numbers_append(struct arena *a, struct numbers *n, int64_t number)
{
    if (n->count == n->room) {
        int64_t *more = ARENA_ARRAY(a, int64_t, 2 * n->room + 8);

        if (n->count)
            memcpy(more, n->list, n->count * sizeof(*more));
        n->list = more;
        n->room = 2 * n->room + 8;
    }
    n->list[n->count++] = number;
}

static void numbers_add(struct arena *a, struct numbers *n, int64_t number)
{
    for (size_t i = n->count; i > 0; i--) /* rows come with neighbouring times, as a rule */
        if (n->list[i - 1] == number)
            return;
    numbers_append(a, n, number);
}

/* What fails here fails by itself later, with its row. */
static void add_place(struct call *call, const struct schema *s, const struct wr_key *key,
                      const struct wr_row_change *change, struct numbers *out)
{
    enum series_place place;
    int64_t number;

    if (series_place(&call->c, s, key, change, &place, &number))
        ctx_clear(&call->c);
    else if (place == SERIES_UNKNOWN)
        out->all = true;
    else if (place == SERIES_PERIOD)
        numbers_add(&call->c.arena, out, number);
}

static void add_changes(struct call *call, const struct schema *s,
                        const struct wr_row_change *changes, size_t count, struct numbers *out)
{
    for (size_t i = 0; i < count; i++)
        add_place(call, s, &changes[i].row.key, &changes[i], out);
}

static void add_keys(struct call *call, const struct schema *s, const struct wr_key *keys,
                     size_t count, struct numbers *out)
{
    for (size_t i = 0; i < count; i++)
        add_place(call, s, &keys[i], NULL, out);
}

static void add_range(struct call *call, const struct schema *s, const struct wr_key *low,
                      const struct wr_key *high, struct numbers *out)
{
    int64_t first, last;

    series_bounds(s, low, high, &first, &last);
    for (size_t i = 0; i < s->series.count; i++)
        if (s->series.periods[i] >= first && s->series.periods[i] <= last)
            numbers_append(&call->c.arena, out, s->series.periods[i]);
}

/* The periods that the request is about in the series of that name. */
static void numbers_of(struct call *call, const struct schema *s, struct numbers *out)
{
    const struct wr_request *r = call->req;
    bytes name = s->d.table;

    switch (r->op) {
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
        add_changes(call, s, &r->put_row, 1, out);
        break;
    case WR_OP_BULK_IMPORT:
        add_changes(call, s, r->bulk_import.table.changes, r->bulk_import.table.change_count, out);
        break;
    case WR_OP_BATCH_WRITE_ROW:
        for (size_t i = 0; i < r->batch_write_row.table_count; i++)
            if (bytes_equal(r->batch_write_row.tables[i].table, name))
                add_changes(call, s, r->batch_write_row.tables[i].changes,
                            r->batch_write_row.tables[i].change_count, out);
        break;
    case WR_OP_GET_ROW:
        add_keys(call, s, &r->get_row.key, 1, out);
        break;
    case WR_OP_BATCH_GET_ROW:
        for (size_t i = 0; i < r->batch_get_row.table_count; i++)
            if (bytes_equal(r->batch_get_row.tables[i].table, name))
                add_keys(call, s, r->batch_get_row.tables[i].keys,
                         r->batch_get_row.tables[i].key_count, out);
        break;
    case WR_OP_GET_RANGE:
        add_range(call, s, r->get_range.backward ? &r->get_range.end : &r->get_range.start,
                  r->get_range.backward ? &r->get_range.start : &r->get_range.end, out);
        break;
    case WR_OP_BULK_EXPORT:
        add_range(call, s, &r->bulk_export.start, &r->bulk_export.end, out);
        break;
    default: /* about the series' own table */
        break;
    }
    for (size_t i = 0; out->all && i < s->series.count; i++)
        numbers_append(&call->c.arena, out, s->series.periods[i]);
}

/* ---- what a series serves ---- */

static int refuse(struct call *call, const char *what)
{
    ctx_clear(&call->c);
    return fail(&call->c, E_UNSUPPORTED, "A series of tables does not serve %s.", what);
}

/* E_OK, or the refusal that is recorded. */
static int check_served(struct call *call)
{
    enum wr_op op = call->req->op;

    if (call->txn || op == WR_OP_START_LOCAL_TRANSACTION)
        return refuse(call, "local transactions");
    if (op == WR_OP_BATCH_WRITE_ROW && call->req->batch_write_row.atomic)
        return refuse(call, "atomic batches");
    switch (op) {
    case WR_OP_PUT_ROW:
    case WR_OP_UPDATE_ROW:
    case WR_OP_DELETE_ROW:
    case WR_OP_BULK_IMPORT:
    case WR_OP_BATCH_WRITE_ROW:
    case WR_OP_GET_ROW:
    case WR_OP_BATCH_GET_ROW:
    case WR_OP_GET_RANGE:
    case WR_OP_BULK_EXPORT:
    case WR_OP_COMPUTE_SPLIT_POINTS:
    case WR_OP_DESCRIBE_HEAT:
    case WR_OP_DESCRIBE_PARTITIONS:
    case WR_OP_DESCRIBE_SIZES:
        ctx_clear(&call->c);
        return E_OK;
    default:
        return call->c.code;
    }
}

/* ---- opening ---- */

static int compare_newest(const void *a, const void *b)
{
    const struct call_period *x = a, *y = b;

    return (x->number < y->number) - (x->number > y->number);
}

/* Opens the tables of those periods that there are. E_PARTITION: the series has changed
 * meanwhile. */
static int open_periods(struct call *call, struct call_series *out, const struct numbers *n)
{
    const struct schema *s = &out->series->schema;

    out->periods = ARENA_ARRAY(&call->c.arena, struct call_period, n->count);
    for (size_t i = 0; i < n->count; i++) {
        struct table *t;

        if (series_find(&s->series, n->list[i]) == s->series.count)
            continue;
        t = catalog_get(call->db->catalog, s->instance,
                        series_table_name(&call->c.arena, s, n->list[i]));
        if (!t)
            return fail_code(&call->c, E_PARTITION);
        out->periods[out->count++] = (struct call_period){n->list[i], t};
    }
    if (out->count)
        qsort(out->periods, out->count, sizeof(*out->periods), compare_newest);
    return E_OK;
}

/* What has no table and is to be written. A row that is deleted needs none, and what may not be
 * written fails by itself. */
static void find_missing(const struct call *call, const struct schema *s, struct numbers *n)
{
    size_t kept = 0;

    if (wr_op_class(call->req->op) != WR_CLASS_WRITE || call->req->op == WR_OP_DELETE_ROW) {
        n->count = 0;
        return;
    }
    for (size_t i = 0; i < n->count; i++)
        if (series_find(&s->series, n->list[i]) == s->series.count &&
            n->list[i] >= s->series.frozen && n->list[i] >= s->series.gone)
            n->list[kept++] = n->list[i];
    n->count = kept;
}

static void growth_done(struct catalog_txn *x, int code)
{
    struct series_begin *b = PORT_CONTAINER(x, struct series_begin, growth.txn);
    struct call *call = b->call;

    catalog_txn_release(x);
    if (code) {
        call_finish(call);
        return;
    }
    call->go_on = series_go;
    call->go_on_arg = b;
    call_yield(call);
}

/* Makes tables for these periods, and then begins anew. */
static int series_grow(struct series_begin *b, const struct table *t, const struct numbers *n)
{
    struct call *call = b->call;

    b->growth =
        (struct series_growth){.txn = {.db = call->db,
                                       .c = &call->c,
                                       .instance = call->req->instance,
                                       .name = arena_copy(&call->c.arena, t->schema.d.table),
                                       .id = t->schema.id,
                                       .done = growth_done},
                               .numbers = n->list,
                               .count = n->count};
    series_release(call);
    catalog_series_grow(&b->growth);
    return E_LATER;
}

/* Opens one series. E_LATER: all begins anew by itself. */
static int series_open(struct series_begin *b, struct table *t)
{
    struct call *call = b->call;
    struct call_series *s = ARENA_NEW(&call->c.arena, struct call_series);
    struct numbers n = {0}, lacking;

    s->series = t;
    s->next = call->series;
    call->series = s;
    numbers_of(call, &t->schema, &n);
    TRY(open_periods(call, s, &n));
    lacking = n;
    find_missing(call, &t->schema, &lacking);
    return lacking.count ? series_grow(b, t, &lacking) : E_OK;
}

/* All series that the request names. */
static int open_all(struct series_begin *b)
{
    struct call *call = b->call;
    bytes name;

    invariant(!call->series);
    for (size_t i = 0; wr_request_table(call->req, i, &name); i++) {
        struct table *t = catalog_get(call->db->catalog, call->req->instance, name);

        if (t && t->schema.series.spec.by)
            TRY(series_open(b, t));
        else
            table_release(t);
    }
    return E_OK;
}

static void go_again(void *arg)
{
    struct series_begin *b = arg;

    b->again(b->call);
}

/* A request over many periods is more than a loop should do. */
static void series_begin_again(struct series_begin *b)
{
    struct call *call = b->call;
    size_t periods = 0;

    for (const struct call_series *s = call->series; s; s = s->next)
        periods += s->count;
    if (periods <= PERIODS_FEW || pool_here()) {
        b->again(call);
        return;
    }
    call->cost = COST_MUCH;
    call->go_on = go_again;
    call->go_on_arg = b;
    call_yield(call);
}

static void series_go(void *arg)
{
    struct series_begin *b = arg;
    struct call *call = b->call;
    int code;

    do {
        code = b->tries++ < TRIES_MAX ? open_all(b) : E_BUSY;
        if (code == E_PARTITION) {
            ctx_clear(&call->c);
            series_release(call);
        }
    } while (code == E_PARTITION);
    if (code == E_LATER)
        return;
    if (!code) {
        series_begin_again(b);
        return;
    }
    if (!call->c.code)
        fail(&call->c, code, "The series is changing; try again.");
    call_finish(call);
}

void series_call(struct call *call, void (*again)(struct call *call))
{
    struct series_begin *b;

    invariant(call->diverted && call->c.code);
    call->diverted = false;
    call->at_end = series_release;
    if (check_served(call)) {
        call_finish(call);
        return;
    }
    series_release(call); /* one more of its tables is a series now */
    b = ARENA_NEW(&call->c.arena, struct series_begin);
    b->call = call;
    b->again = again;
    series_go(b);
}
