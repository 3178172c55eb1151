#include "table/maint/index_local.h"

#include "base/service.h"
#include "table/catalog/catalog.h"
#include "table/maint/index_drain.h"
#include "table/model/key.h"

#define INDEX_LOCAL 1 /* wr_index_meta.type */
#define TRIES_MAX 5

struct local_read {
    struct local_read *next;
    struct call *call;
    void (*run)(void *arg);
};

struct local_indexes {
    struct wr_db *db;
    struct service service;
    struct local_read *first, **end; /* under the service's lock */
};

/* The base table of a local index that follows, referenced; NULL: it is none. */
static struct table *base_of_local(struct wr_db *db, bytes instance, bytes name)
{
    struct table *index = catalog_get(db->catalog, instance, name), *base = NULL;
    bool local = false;

    if (!index)
        return NULL;
    if (index->schema.outbox && index->schema.base.table.len)
        base = catalog_get(db->catalog, instance, index->schema.base.table);
    for (size_t i = 0; base && i < base->schema.index_count; i++)
        local |= base->schema.indexes[i].id == index->schema.id &&
                 base->schema.indexes[i].meta->type == INDEX_LOCAL;
    table_release(index);
    if (local)
        return base;
    table_release(base);
    return NULL;
}

/* ---- the thread ---- */

/* Drains the records of rows whose first column is from one value to the other. */
static int settle_values(struct ctx *c, struct table *t, const struct wr_value *from,
                         const struct wr_value *to)
{
    const struct wr_key_schema *key = &t->schema.d.key[0];
    struct wr_key_column first = {.name = key->name, .value = *from},
                         last = {.name = key->name, .value = *to};
    struct buf low, high;
    bool upside_down;

    buf_init(&low, &c->arena, 64);
    buf_init(&high, &c->arena, 64);
    if (key_put_columns(c, &low, key, &first, 1) || key_put_columns(c, &high, key, &last, 1)) {
        ctx_clear(c);
        return E_OK; /* the read will say what is wrong with it */
    }
    upside_down = bytes_compare(buf_bytes(&low), buf_bytes(&high)) > 0;
    key_put_past(upside_down ? &low : &high);
    for (int i = 0; i < TRIES_MAX; i++) {
        struct index_drain d = {.table = t,
                                .c = c,
                                .from = buf_bytes(upside_down ? &high : &low),
                                .to = buf_bytes(upside_down ? &low : &high)};

        while (!d.ended)
            TRY(index_drain_page(&d));
        if (!d.unsettled)
            return E_OK;
    }
    return fail(c, E_BUSY, "Server is busy: the rows of the index change too fast; try again.");
}

static int settle_key(struct ctx *c, struct table *t, const struct wr_key *key)
{
    return key->count ? settle_values(c, t, &key->columns[0].value, &key->columns[0].value) : E_OK;
}

static int settle_rows(struct ctx *c, struct table *t, const struct wr_table_get *read)
{
    for (size_t i = 0; i < read->key_count; i++)
        TRY(settle_key(c, t, &read->keys[i]));
    return E_OK;
}

static int settle_whole(struct ctx *c, struct table *t)
{
    struct wr_value min = {.type = WR_INF_MIN}, max = {.type = WR_INF_MAX};

    return settle_values(c, t, &min, &max);
}

/* What the request reads of its table `at`, an index of t. */
static int settle_for(struct ctx *c, struct table *t, const struct wr_request *req, size_t at)
{
    const struct wr_get_range *range = &req->get_range;

    if (req->op == WR_OP_GET_ROW)
        return settle_key(c, t, &req->get_row.key);
    if (req->op == WR_OP_BATCH_GET_ROW)
        return settle_rows(c, t, &req->batch_get_row.tables[at]);
    if (req->op == WR_OP_GET_RANGE && range->start.count && range->end.count)
        return settle_values(c, t, &range->start.columns[0].value, &range->end.columns[0].value);
    return settle_whole(c, t);
}

static int settle_call(struct wr_db *db, struct ctx *c, const struct wr_request *req)
{
    bytes name;

    for (size_t i = 0; wr_request_table(req, i, &name); i++) {
        struct table *t = base_of_local(db, req->instance, name);
        int code = t ? settle_for(c, t, req, i) : E_OK;

        table_release(t);
        TRY(code);
    }
    return E_OK;
}

static void serve(struct local_indexes *all, struct local_read *r)
{
    struct call *call = r->call;
    struct ctx c;
    int code;

    ctx_init(&c, &all->db->clock, &all->db->log, NULL, 0);
    code = call_check_deadline(call);
    if (!code) {
        code = settle_call(all->db, &c, call->req);
        if (code)
            fail(&call->c, code, "%s", c.text ? c.text : err_info(code)->text);
    }
    ctx_release(&c);
    if (code) {
        call_finish(call);
        return;
    }
    call->go_on = r->run;
    call->go_on_arg = call;
    pool_submit(all->db->pool, call->req->client, &call->job, false);
}

static struct local_read *take_read(struct local_indexes *all)
{
    struct local_read *r;

    pthread_mutex_lock(&all->service.lock);
    while (!all->first && !all->service.stop)
        service_wait(&all->service, NULL);
    r = all->first;
    if (r) {
        all->first = r->next;
        if (!all->first)
            all->end = &all->first;
    }
    pthread_mutex_unlock(&all->service.lock);
    return r;
}

static void *local_indexes_main(void *arg)
{
    struct local_indexes *all = arg;
    struct local_read *r;

    while ((r = take_read(all)))
        serve(all, r);
    return NULL;
}

struct local_indexes *local_indexes_start(struct wr_db *db, bool *needed)
{
    struct local_indexes *all;

    *needed = !engine_one_key_space(db->engine);
    if (!*needed)
        return NULL;
    all = mem_zalloc(sizeof(*all));
    all->db = db;
    all->end = &all->first;
    if (service_start(&all->service, "wr-local-index", local_indexes_main, all))
        return all;
    mem_free(all);
    return NULL;
}

void local_indexes_stop(struct local_indexes *all)
{
    if (!all)
        return;
    service_stop(&all->service);
    mem_free(all);
}

/* ---- requests ---- */

bool local_index_waits(struct local_indexes *all, struct call *call, void (*run)(void *arg))
{
    struct table *t = NULL;
    struct local_read *r;
    bytes name;

    if (wr_op_class(call->req->op) != WR_CLASS_READ)
        return false;
    for (size_t i = 0; !t && wr_request_table(call->req, i, &name); i++)
        t = base_of_local(all->db, call->req->instance, name);
    if (!t)
        return false;
    table_release(t);
    r = ARENA_NEW(&call->c.arena, struct local_read);
    *r = (struct local_read){.call = call, .run = run};
    pthread_mutex_lock(&all->service.lock);
    *all->end = r;
    all->end = &r->next;
    pthread_cond_signal(&all->service.woken);
    pthread_mutex_unlock(&all->service.lock);
    return true;
}
