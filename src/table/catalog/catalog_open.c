/* catalog_open.c: opening and closing, and the way in for requests. core/catalog_key.h says where
 * the catalog is stored. */
#include "table/catalog/catalog_own.h"

#include "table/core/call.h"
#include "table/core/call_series.h"

static void catalog_free(struct catalog *cat)
{
    for (int b = 0; b < CATALOG_BUCKETS; b++)
        for (struct table *t = cat->buckets[b], *next; t; t = next) {
            next = t->next;
            table_release(t);
        }
    refused_free(cat);
    pthread_rwlock_destroy(&cat->lock);
    pthread_mutex_destroy(&cat->live_lock);
    mem_free(cat);
}

int catalog_open(struct ctx *c, struct wr_db *db, const struct catalog_listener *listener,
                 struct catalog **out)
{
    struct catalog *cat = mem_zalloc(sizeof(*cat));
    uint64_t next_id = 0;
    int code;

    cat->db = db;
    cat->listener = listener;
    if (db_is_shared(db)) {
        db->lease = &cat->lease;
        atomic_store(&cat->lease.lost, 1); /* until catalog_start() has read all in listening */
    }
    pthread_rwlock_init(&cat->lock, NULL);
    pthread_mutex_init(&cat->live_lock, NULL);
    code = catalog_load_number(c, db->engine, CATALOG_NEXT_ID, &next_id);
    if (!code)
        code = catalog_load(c, cat);
    cat->next_id = next_id ? (uint32_t)next_id : 1;
    if (!code)
        code = catalog_numbers_open(c, cat);
    if (code) {
        catalog_free(cat);
        return code;
    }
    *out = cat;
    return E_OK;
}

void catalog_close(struct catalog *cat)
{
    if (!cat)
        return;
    catalog_numbers_close(cat);
    catalog_free(cat);
}

int catalog_missing(struct ctx *c, struct catalog *cat, bytes instance, bytes name)
{
    TRY(catalog_refusal(c, cat, instance, name));
    if (catalog_is_fresh(cat))
        return fail_code(c, E_NOT_EXIST);
    return fail(c, E_UNAVAILABLE,
                "This server has not heard of the others for some seconds; the table may be new.");
}

int catalog_find(struct ctx *c, struct catalog *cat, bytes instance, bytes name, struct table **out)
{
    struct table *t;

    TRY(catalog_check(c, cat));
    t = catalog_get(cat, instance, name);
    if (!t)
        return catalog_missing(c, cat, instance, name);
    if (t->schema.d.status != WR_TABLE_ACTIVE) {
        table_release(t);
        return fail(c, E_NOT_READY, "The table is unloaded. Load it with LoadTable.");
    }
    *out = t;
    return E_OK;
}

int catalog_check_one(struct ctx *c, const struct table *t)
{
    if (PORT_LIKELY(!t->schema.series.spec.by))
        return E_OK;
    return fail(c, E_UNSUPPORTED, "Table '%.*s' is a series, which this operation does not serve.",
                BYTES_FMT(t->schema.d.table));
}

int catalog_find_one(struct ctx *c, struct catalog *cat, bytes instance, bytes name,
                     struct table **out)
{
    TRY(catalog_find(c, cat, instance, name, out));
    if (!catalog_check_one(c, *out))
        return E_OK;
    table_release(*out);
    *out = NULL;
    return c->code;
}

int catalog_check_use(struct ctx *c, const struct table *t, bool writes)
{
    const struct index_base *base = &t->schema.base;

    if (PORT_LIKELY(!base->table.len))
        return E_OK;
    if (writes)
        return fail(c, E_PARAMETER, "Can't write index table directly");
    if (base->phase != INDEX_INCR)
        return fail(c, E_PARAMETER, "Disallow read index table in building base state");
    return E_OK;
}

/* The operation begins anew when it is known which of the series' tables it needs. */
static int call_divert(struct call *call, struct table **series)
{
    catalog_check_one(&call->c, *series);
    table_release(*series);
    *series = NULL;
    call->diverted = true;
    return call->c.code;
}

int call_open_table(struct call *call, bytes name, struct table **out)
{
    enum wr_op_class class = wr_op_class(call->req->op);
    struct call_series *series;

    if (PORT_UNLIKELY(call->series != NULL)) {
        series = call_series_named(call->series, name);
        if (series) {
            *out = table_ref(series->series);
            return E_OK;
        }
    }
    TRY(catalog_find(&call->c, call->db->catalog, call->req->instance, name, out));
    if (PORT_UNLIKELY((*out)->schema.series.spec.by))
        return call_divert(call, out);
    if (class != WR_CLASS_READ && class != WR_CLASS_WRITE)
        return E_OK;
    if (catalog_check_use(&call->c, *out, class == WR_CLASS_WRITE)) {
        table_release(*out);
        *out = NULL;
        return call->c.code;
    }
    return E_OK;
}
