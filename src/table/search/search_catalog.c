/* search_catalog.c: operations that make, change, drop, list and describe search indexes: each is a
 * transaction on the catalog, or a look at it. */
#include "base/invariant.h"
#include "table/catalog/catalog_txn.h"
#include "table/core/call.h"
#include "table/model/schema_search.h"
#include "table/search/search_table.h"

#define VECTOR_FLOAT_32 2 /* of wr_vector_options.data_type */

int search_missing(struct ctx *c, bytes index)
{
    return fail(c, E_SEARCH_INDEX, "search index [%.*s] does not exist", BYTES_FMT(index));
}

/* ---- transactions ---- */

struct search_txn {
    struct catalog_txn txn;
    struct call *call;
    int (*decide)(struct search_txn *x);
};

static int txn_decide(struct catalog_txn *x)
{
    struct search_txn *op = PORT_CONTAINER(x, struct search_txn, txn);

    TRY(catalog_refusal(x->c, x->db->catalog, x->instance, x->name));
    if (!x->now)
        return fail(x->c, E_PARAMETER, "table [%.*s] does not exist", BYTES_FMT(x->name));
    TRY(catalog_check_one(x->c, x->now));
    return op->decide(op);
}

static void txn_done(struct catalog_txn *x, int code)
{
    struct call *call = PORT_CONTAINER(x, struct search_txn, txn)->call;

    if (code)
        fail_code(&call->c, code);
    else
        searches_wake(call->db->searches);
    catalog_txn_release(x);
    call_finish(call);
}

static void txn_begin(struct call *call, bytes table, int (*decide)(struct search_txn *x))
{
    struct search_txn *op = ARENA_NEW(&call->c.arena, struct search_txn);

    op->call = call;
    op->decide = decide;
    op->txn = (struct catalog_txn){.db = call->db,
                                   .c = &call->c,
                                   .instance = call->req->instance,
                                   .name = table,
                                   .decide = txn_decide,
                                   .done = txn_done};
    catalog_txn_begin(&op->txn);
}

/* ---- CreateSearchIndex ---- */

#define NAME_BYTES 255

static int check_name(struct ctx *c, bytes name)
{
    bool ok = name.len > 0 && name.len <= NAME_BYTES;

    for (size_t i = 0; i < name.len && ok; i++) {
        uint8_t ch = bytes_u8(name)[i];

        ok = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
             ch == '_' || ch == '-';
    }
    return ok ? E_OK
              : fail(c, E_PARAMETER,
                     "Invalid name of a search index: it has 1 to %d letters, digits, '_' and '-'.",
                     NAME_BYTES);
}

static int check_ttl(struct ctx *c, const struct schema *s, int32_t ttl_s)
{
    if (ttl_s == -1)
        return E_OK;
    if (ttl_s <= 0)
        return fail(
            c, E_PARAMETER,
            "The time to live of a search index is -1, for ever, or seconds above 0, not %d.",
            ttl_s);
    if (s->d.options.allow_update)
        return fail(c, E_PARAMETER,
                    "A search index has a time to live only if its table allows no updates "
                    "(allow_update false).");
    if (s->d.options.ttl_s != -1 && ttl_s > s->d.options.ttl_s)
        return fail(c, E_PARAMETER,
                    "The time to live of a search index, %d s, is longer than its table's, %d s.",
                    ttl_s, s->d.options.ttl_s);
    return E_OK;
}

static int check_routing(struct ctx *c, const struct schema *s, const struct wr_search_schema *d)
{
    for (size_t i = 0; i < d->routing_field_count; i++) {
        bool found = false;

        for (size_t k = 0; k < s->d.key_count; k++)
            found |= bytes_equal(s->d.key[k].name, d->routing_fields[i]);
        if (!found)
            return fail(c, E_PARAMETER, "The routing field '%.*s' is no primary key column.",
                        BYTES_FMT(d->routing_fields[i]));
    }
    return E_OK;
}

static int create(struct search_txn *op)
{
    struct catalog_txn *x = &op->txn;
    const struct wr_create_search_index *req = &op->call->req->create_search_index;
    struct schema s = catalog_txn_draft(x);
    struct schema_search *list;

    if (schema_search_find(&s, req->index))
        return fail(x->c, E_EXIST, "search index [%.*s] already exists", BYTES_FMT(req->index));
    if (s.search_count >= SEARCH_INDEXES_OF_TABLE_MAX)
        return fail(x->c, E_PARAMETER, "A table has at most %d search indexes.",
                    SEARCH_INDEXES_OF_TABLE_MAX);
    if (s.base.id)
        return fail(x->c, E_PARAMETER, "A secondary index can't have a search index.");
    if (s.d.options.max_versions != 1)
        return fail(
            x->c, E_PARAMETER,
            "A table with a search index keeps one version of a cell: its max_versions is %d.",
            s.d.options.max_versions);
    TRY(check_ttl(x->c, &s, req->has_ttl ? req->ttl_s : -1));
    TRY(check_routing(x->c, &s, &req->schema));
    list = ARENA_ARRAY(&x->c->arena, struct schema_search, s.search_count + 1);
    if (s.search_count)
        memcpy(list, s.searches, s.search_count * sizeof(list[0]));
    list[s.search_count] = (struct schema_search){
        .number = catalog_next_number(x->db->catalog),
        .name = req->index,
        .creation_us = clock_watch_ms(x->db) * 1000,
        .ttl_s = req->has_ttl ? req->ttl_s : -1,
        .d = req->schema,
    };
    s.searches = list;
    s.search_count++;
    if (!s.change_log)
        s.change_log = catalog_txn_ids(x, 1);
    return catalog_txn_put(x, &s);
}

/* Of a new index alone: one that is there stays as it is. */
static int check_vectors(struct ctx *c, const struct wr_search_schema *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->field_count; i++) {
        const struct wr_field_schema *f = &d->fields[i];

        if (f->type != WR_FIELD_VECTOR)
            continue;
        if (++n > SEARCH_VECTORS_MAX)
            return fail(c, E_PARAMETER, "A search index has at most %d VECTOR fields.",
                        SEARCH_VECTORS_MAX);
        if (f->vector.data_type && f->vector.data_type != VECTOR_FLOAT_32)
            return fail(c, E_PARAMETER,
                        "The VECTOR field '%.*s' has data type %d, which is not known; %d, 32-bit "
                        "floats, is.",
                        BYTES_FMT(f->name), f->vector.data_type, VECTOR_FLOAT_32);
    }
    return E_OK;
}

int create_search_index_start(struct call *call)
{
    const struct wr_create_search_index *req = &call->req->create_search_index;
    struct search_schema *checked;

    if (!call->db->searches)
        return fail(&call->c, E_UNSUPPORTED,
                    "Unsupported operation: 'CreateSearchIndex' (there are no search indexes over "
                    "this storage).");
    TRY(check_name(&call->c, req->index));
    if (req->source_index.ptr)
        return fail(&call->c, E_PARAMETER,
                    "A search index that replaces another (source_index_name) is not supported by "
                    "this server yet.");
    TRY(search_schema_make(&call->c, &req->schema, &checked));
    TRY(check_vectors(&call->c, &req->schema));
    txn_begin(call, req->table, create);
    return E_OK;
}

/* ---- UpdateSearchIndex, DeleteSearchIndex ---- */

static int find_place(struct search_txn *op, bytes index, struct schema *s, size_t *at)
{
    *s = catalog_txn_draft(&op->txn);
    for (*at = 0; *at < s->search_count; ++*at)
        if (bytes_equal(s->searches[*at].name, index))
            return E_OK;
    return search_missing(op->txn.c, index);
}

static struct schema_search *copy_list(struct search_txn *op, const struct schema *s)
{
    struct schema_search *list =
        ARENA_ARRAY(&op->txn.c->arena, struct schema_search, s->search_count);

    memcpy(list, s->searches, s->search_count * sizeof(list[0]));
    return list;
}

static int update(struct search_txn *op)
{
    const struct wr_update_search_index *req = &op->call->req->update_search_index;
    struct schema_search *list;
    struct schema s;
    size_t at;

    TRY(find_place(op, req->index, &s, &at));
    if (!req->has_ttl)
        return E_OK;
    TRY(check_ttl(op->txn.c, &s, req->ttl_s));
    list = copy_list(op, &s);
    list[at].ttl_s = req->ttl_s;
    s.searches = list;
    return catalog_txn_put(&op->txn, &s);
}

int update_search_index_start(struct call *call)
{
    const struct wr_update_search_index *req = &call->req->update_search_index;

    if (req->switch_index.ptr || req->weight_count || req->added_field_count)
        return fail(&call->c, E_PARAMETER,
                    "Of a search index only the time to live can be changed by this server yet: "
                    "switching, weights and added fields are not supported.");
    txn_begin(call, req->table, update);
    return E_OK;
}

static int drop(struct search_txn *op)
{
    struct schema_search *list;
    struct schema s;
    size_t at;

    TRY(find_place(op, op->call->req->delete_search_index.index, &s, &at));
    list = copy_list(op, &s);
    s.search_count--;
    memmove(list + at, list + at + 1, (s.search_count - at) * sizeof(list[0]));
    s.searches = list;
    if (!s.search_count) {
        catalog_drop_edit(&op->txn.builder, s.change_log, db_clock_ms(op->txn.db));
        s.change_log = 0;
    }
    return catalog_txn_put(&op->txn, &s);
}

int delete_search_index_start(struct call *call)
{
    txn_begin(call, call->req->delete_search_index.table, drop);
    return E_OK;
}

/* ---- looks ---- */

int search_open(struct call *call, bytes table, bytes index, struct table **out,
                const struct schema_search **search)
{
    struct ctx *c = &call->c;

    TRY(catalog_check(c, call->db->catalog));
    *out = catalog_get(call->db->catalog, call->req->instance, table);
    if (!*out)
        return fail(c, E_PARAMETER, "table [%.*s] does not exist", BYTES_FMT(table));
    *search = schema_search_find(&(*out)->schema, index);
    if (*search)
        return E_OK;
    table_release(*out);
    return search_missing(c, index);
}

static size_t add_names(struct call *call, const struct table *t, struct wr_search_index_name *out)
{
    for (size_t i = 0; out && i < t->schema.search_count; i++)
        out[i] =
            (struct wr_search_index_name){arena_copy(&call->c.arena, t->schema.d.table),
                                          arena_copy(&call->c.arena, t->schema.searches[i].name)};
    return t->schema.search_count;
}

int list_search_index_start(struct call *call)
{
    const struct wr_search_index_name *req = &call->req->list_search_index;
    struct arena *a = &call->c.arena;
    struct wr_search_index_name *list;
    bytes *names = (bytes *)&req->table;
    size_t count = 1, n = 0;
    struct table **tables;

    TRY(catalog_check(&call->c, call->db->catalog));
    if (!req->table.len)
        count = catalog_list(call->db->catalog, a, call->req->instance, &names);
    tables = ARENA_ARRAY(a, struct table *, count);
    for (size_t i = 0; i < count; i++) {
        tables[i] = catalog_get(call->db->catalog, call->req->instance, names[i]);
        n += tables[i] ? tables[i]->schema.search_count : 0;
    }
    list = ARENA_ARRAY(a, struct wr_search_index_name, n);
    call->reply.search_indexes = (struct wr_search_index_list){list, n};
    for (size_t i = 0; i < count; i++) {
        if (!tables[i])
            continue;
        list += add_names(call, tables[i], list);
        table_release(tables[i]);
    }
    call_finish(call);
    return E_OK;
}

static bytes full_text(struct wr_db *db)
{
    if (search_stores(db))
        return BYTES_LIT("An eighth of the server's memory is taken by what cannot be stored: rows "
                         "are indexed again once it is. Look whether the disk is full.");
    return BYTES_LIT("Half of the server's memory is taken by search indexes: rows are indexed "
                     "again once there is room. Give it more (--memory), or delete an index.");
}

static void describe_state(struct call *call, struct search_index *x,
                           struct wr_search_index_description *d)
{
    struct view *v = search_index_view(x);

    pthread_mutex_lock(&x->lock);
    d->phase = x->phase == SEARCH_FOLLOWING ? WR_SEARCH_INCR : WR_SEARCH_FULL;
    d->synced_us = x->synced_us;
    d->status = x->full || x->stuck || x->damaged ? WR_SEARCH_FAILED : WR_SEARCH_RUNNING;
    d->status_text = x->full                  ? full_text(call->db)
                     : x->stuck || x->damaged ? arena_copy(&call->c.arena, bytes_str(x->text))
                                              : BYTES_LIT("");
    pthread_mutex_unlock(&x->lock);
    d->row_count = (int64_t)v->documents;
    d->storage_bytes = (int64_t)v->bytes;
    view_release(v);
}

int describe_search_index_start(struct call *call)
{
    const struct wr_describe_search_index *req = &call->req->describe_search_index;
    struct wr_search_index_description *d = &call->reply.search_index;
    const struct schema_search *s;
    struct search_index *x;
    struct table *t;
    int rc;

    TRY(search_open(call, req->table, req->index, &t, &s));
    *d = (struct wr_search_index_description){
        .schema = search_schema_copy(&call->c.arena, &s->d),
        .has_sync_stat = !req->no_sync_stat,
        .creation_us = s->creation_us,
        .ttl_s = s->ttl_s,
        .metered_s = clock_watch_ms(call->db) / 1000,
    };
    rc = searches_find(&call->c, call->db, s, &x);
    table_release(t);
    TRY(rc);
    describe_state(call, x, d);
    search_index_release(x);
    call_finish(call);
    return E_OK;
}
