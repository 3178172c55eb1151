#include "client/walk.h"

#define PAGE_ROWS 5000

struct wr_key walk_copy_key(struct arena *a, const struct wr_key *key)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, key->count);

    for (size_t i = 0; i < key->count; i++) {
        columns[i] = key->columns[i];
        columns[i].name = arena_copy(a, columns[i].name);
        if (columns[i].value.type == WR_VARCHAR || columns[i].value.type == WR_VARBINARY)
            columns[i].value.bytes = arena_copy(a, columns[i].value.bytes);
    }
    return (struct wr_key){columns, key->count};
}

int walk_compare_keys(const void *a, const void *b)
{
    const struct wr_key *x = a, *y = b;

    for (size_t i = 0; i < x->count && i < y->count; i++) {
        const struct wr_value *v = &x->columns[i].value, *w = &y->columns[i].value;
        int order = v->type == WR_BIGINT ? (v->integer > w->integer) - (v->integer < w->integer)
                                         : bytes_compare(v->bytes, w->bytes);

        if (order)
            return order;
    }
    return 0;
}

struct wr_key walk_bound(struct arena *a, const struct wr_table_description *t, enum wr_type type)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, t->key_count);

    for (size_t i = 0; i < t->key_count; i++)
        columns[i] = (struct wr_key_column){.name = t->key[i].name, .value = {.type = type}};
    return (struct wr_key){columns, t->key_count};
}

/* True if a try ended for want of an answer, and its caller would like another one. */
static bool waits_on(const struct client *cl)
{
    return cl->timed_out && cl->retry_ms && !(cl->stop && atomic_load(cl->stop));
}

/* client_exec(), for a read that may wait for as long as WALK_TIMEOUTS requests take. */
static int read_patiently(struct ctx *c, struct client *cl, const struct wr_request *request,
                          struct wr_reply *out)
{
    for (unsigned tries = 1;; tries++) {
        int code = client_exec(c, cl, request, out);
        const char *text = c->text;

        if (!code || !waits_on(cl))
            return code;
        ctx_clear(c);
        if (tries == WALK_TIMEOUTS)
            return fail(c, code,
                        "%s (asked %d times for the same rows); see that the server runs and "
                        "answers, then begin again",
                        text, WALK_TIMEOUTS);
    }
}

/* The row that a page begins with, without cells, and where the next one is. */
static int first_key(struct ctx *c, struct client *cl, const struct wr_request *page,
                     struct wr_reply *out)
{
    const struct wr_get_range *g = &page->get_range;
    bytes name = g->start.columns[0].name;
    struct wr_request request = {.op = WR_OP_GET_RANGE,
                                 .get_range = {.table = g->table,
                                               .start = g->start,
                                               .end = g->end,
                                               .backward = g->backward,
                                               .has_limit = true,
                                               .limit = 1,
                                               .read = {.columns = &name,
                                                        .column_count = 1,
                                                        .max_versions = 1,
                                                        .has_max_versions = true}}};

    return read_patiently(c, cl, &request, out);
}

int walk_row(struct ctx *c, struct client *cl, const struct wr_get_row *get, struct wr_row *out)
{
    struct wr_request request = {.op = WR_OP_GET_ROW, .get_row = *get};
    struct wr_cell *cells = NULL;
    size_t capacity = 0;

    *out = (struct wr_row){.key = {.count = 0}};
    do {
        struct wr_reply reply;
        const struct wr_row *piece = &reply.row.row;

        TRY(read_patiently(c, cl, &request, &reply));
        if (piece->key.count)
            out->key = get->key;
        if (out->cell_count + piece->cell_count > capacity) {
            capacity = 2 * (out->cell_count + piece->cell_count);
            cells = ARENA_ARRAY(&c->arena, struct wr_cell, capacity);
            if (out->cell_count)
                memcpy(cells, out->cells, out->cell_count * sizeof(*cells));
            out->cells = cells;
        }
        if (piece->cell_count)
            memcpy(cells + out->cell_count, piece->cells, piece->cell_count * sizeof(*cells));
        out->cell_count += piece->cell_count;
        request.get_row.token = reply.row.next_token;
    } while (request.get_row.token.len);
    return 0;
}

/* The first row of the page by pieces; what it fails with is for the caller to forget. Where there
 * is no row, none was too large, and the page failed for another reason. */
static int read_first(struct ctx *c, struct client *cl, const struct wr_request *page,
                      struct wr_reply *out)
{
    struct wr_row *row = ARENA_NEW(&c->arena, struct wr_row);
    struct wr_get_row get = {.table = page->get_range.table, .read = page->get_range.read};

    TRY(first_key(c, cl, page, out));
    if (!out->range.row_count)
        return fail(c, E_PARAMETER, "there is no row");
    get.key = out->range.rows[0].key;
    TRY(walk_row(c, cl, &get, row));
    out->range.rows = row;
    out->range.row_count = row->key.count != 0;
    return 0;
}

int walk_page(struct ctx *c, struct client *cl, const struct wr_request *request,
              struct wr_reply *out)
{
    int code = read_patiently(c, cl, request, out);
    const char *text = c->text;

    /* Over HTTP the two have one name. */
    if (code != WR_E_MEMORY && code != WR_E_PARAMETER)
        return code;
    ctx_clear(c);
    if (read_first(c, cl, request, out) == 0)
        return 0;
    ctx_clear(c);
    return fail(c, code, "%s", text);
}

void walk_begin(struct walk *w, const struct wr_get_range *range)
{
    *w = (struct walk){.request = {.op = WR_OP_GET_RANGE, .get_range = *range}};
    w->request.get_range.has_limit = true;
    w->request.get_range.limit = PAGE_ROWS;
    arena_init(&w->start, NULL, 0);
}

int walk_next(struct ctx *c, struct walk *w, struct client *cl, walk_fn *fn, void *arg, bool *more)
{
    struct arena last_start = w->start;
    struct wr_reply reply;
    struct ctx page;
    int code;

    *more = w->request.get_range.start.count != 0;
    if (!*more)
        return 0;
    ctx_init(&page, c->clock, NULL, NULL, 0);
    arena_init(&w->start, NULL, 0);
    code = walk_page(&page, cl, &w->request, &reply);
    if (code == 0) {
        w->request.get_range.start = walk_copy_key(&w->start, &reply.range.next);
        code = fn(&page, arg, reply.range.rows, reply.range.row_count);
    }
    if (code && code != WALK_ENOUGH)
        fail(c, code, "%s", page.text ? page.text : "ended");
    arena_release(&last_start);
    ctx_release(&page);
    *more = w->request.get_range.start.count != 0;
    return code;
}

void walk_end(struct walk *w)
{
    arena_release(&w->start);
}

int walk_range(struct ctx *c, struct client *cl, const struct wr_get_range *range, walk_fn *fn,
               void *arg)
{
    struct walk w;
    bool more = true;
    int code = 0;

    walk_begin(&w, range);
    while (code == 0 && more)
        code = walk_next(c, &w, cl, fn, arg, &more);
    walk_end(&w);
    return code == WALK_ENOUGH ? 0 : code;
}

int walk_table(struct ctx *c, struct client *cl, const struct wr_table_description *table,
               int32_t versions, walk_fn *fn, void *arg)
{
    struct wr_get_range range = {.table = table->table,
                                 .start = walk_bound(&c->arena, table, WR_INF_MIN),
                                 .end = walk_bound(&c->arena, table, WR_INF_MAX),
                                 .read = {.max_versions = versions, .has_max_versions = true}};

    return walk_range(c, cl, &range, fn, arg);
}
