/* table_op.c: the operations of clients on tables, from CreateTable to RekeyTable: each a
 * transaction on the catalog (catalog_txn.h). */
#include "table/admin/table_op.h"

#include "base/invariant.h"
#include "table/catalog/catalog_index.h"
#include "table/catalog/catalog_series.h"
#include "table/catalog/route.h"
#include "table/core/jobs.h"
#include "table/maint/index_build.h"
#include "table/maint/rekey.h"
#include "table/model/index_rule.h"
#include "table/model/op_info.h"
#include "table/model/series_place.h"

#include <inttypes.h>

#define CLOSE_MAX 512 /* partitions of a dropped table that are closed while its client waits */

struct table_call {
    struct catalog_txn txn;
    struct call *call;
    const struct table_op *op;
    struct job job;         /* a dropped table's partitions are closed */
    struct table *coming;   /* with an index that is not followed everywhere yet */
    struct route_wait wait; /* until an index that was made is followed */
    int64_t coming_since_ms;
    struct catalog_freeze freeze;
};

int table_op_check_quota(struct catalog_txn *x, size_t more)
{
    int max = (int)x->db->limits.tables_per_instance_max;
    bytes *names;
    size_t count = catalog_list(x->db->catalog, &x->c->arena, x->instance, &names);

    return count + more <= (size_t)max
               ? E_OK
               : fail(x->c, E_QUOTA, "Number of tables exceeds the quota:%d.", max);
}

/* An index's table changes with its base table alone. */
static int check_not_index(struct catalog_txn *x, const char *instead)
{
    const struct schema *s = &x->now->schema;

    if (!s->base.table.len)
        return E_OK;
    return fail(x->c, E_PARAMETER, "Table '%.*s' is an index of table '%.*s': %s.",
                BYTES_FMT(s->d.table), BYTES_FMT(s->base.table), instead);
}

/* Do all rows with one value of the first key column lie in one bucket, so that a lock beside them
 * may be in each of their batches? */
static bool keeps_values_together(const struct schema *s)
{
    const struct layout *l = &s->location.layout;

    return l->partition_cols == 1 && l->form != LAYOUT_RANDOM;
}

static int table_op_create_table(struct catalog_txn *x, struct call *call)
{
    const struct wr_create_table *t = &call->req->create_table;
    bool stream = x->db->keeps_streams && t->stream.given && t->stream.enable;
    struct schema *s;
    uint32_t id;

    x->notify_ms = CATALOG_FRESH_NOTIFY_MS;
    if (x->now)
        return fail_code(x->c, E_EXIST);
    TRY(table_op_check_quota(x, 1 + t->index_count));
    id = catalog_txn_ids(x, 1 + (uint32_t)t->index_count + stream);
    s = schema_from_create(x->c, id, x->instance, t);
    if (stream)
        schema_stream_keep(s, id + 1 + (uint32_t)t->index_count,
                           !engine_one_key_space(x->db->engine));
    s->txn_records = s->d.local_transactions && db_is_shared(x->db) && keeps_values_together(s);
    s->d.index_count = 0; /* each is added with its table */
    for (size_t i = 0; i < t->index_count; i++)
        TRY(catalog_index_add(x, s, &t->indexes[i], id + 1 + (uint32_t)i, INDEX_OF_NEW_TABLE));
    return catalog_txn_put(x, s);
}

/* Is it the name of the table itself, or of an index that it has? */
static bool is_taken(const struct schema *s, bytes name)
{
    bool taken = bytes_equal(name, s->d.table);

    for (size_t i = 0; i < s->d.index_count; i++)
        taken |= bytes_equal(name, s->d.indexes[i].name);
    return taken;
}

static int create_index(struct catalog_txn *x, struct call *call)
{
    const struct wr_create_index *create = &call->req->create_index;
    struct schema s = catalog_txn_draft(x);

    TRY(check_not_index(x, "an index has no indexes"));
    if (is_taken(&s, create->index.name))
        return fail_code(x->c, E_EXIST);
    TRY(index_check_count(x->c, &x->db->limits, s.d.index_count + 1));
    TRY(index_check_options(x->c, &s.d.options));
    TRY(index_check(x->c, &x->db->limits, &s.d, &create->index, create->scalar_index_keys));
    TRY(table_op_check_quota(x, 1));
    TRY(catalog_index_add(x, &s, &create->index, catalog_txn_ids(x, 1),
                          create->include_base_data ? INDEX_BUILT : INDEX_OF_LATER_WRITES));
    return catalog_txn_put(x, &s);
}

static int drop_index(struct catalog_txn *x, struct call *call)
{
    struct schema s = catalog_txn_draft(x);

    TRY(catalog_index_remove(x, &s, call->req->drop_index.index));
    return catalog_txn_put(x, &s);
}

static size_t dropped_partitions(const struct catalog_txn *x)
{
    size_t count = x->now->partitions.count;

    for (const struct catalog_txn_other *o = x->others; o; o = o->before)
        count += o->drops ? o->now->partitions.count : 0;
    return count;
}

static int delete_table(struct catalog_txn *x, struct call *call)
{
    (void)call;
    TRY(check_not_index(x, "DropIndex drops it"));
    if (x->now->schema.search_count)
        return fail(x->c, E_PARAMETER,
                    "Table[%.*s] who has at least one search index cannot be deleted",
                    BYTES_FMT(x->name));
    catalog_txn_drop(x);
    catalog_drop_rows(&x->builder, x->db, &x->now->schema);
    catalog_index_drop_all(x);
    catalog_series_drop_all(x);
    if (dropped_partitions(x) <= CLOSE_MAX)
        x->notify_ms = CATALOG_FRESH_NOTIFY_MS;
    return E_OK;
}

/* Gives the table a shadow copy in another layout, which the rekeyer then fills; or takes it away.
 */
static int rekey_table(struct catalog_txn *x, struct call *call)
{
    struct schema s = catalog_txn_draft(x);

    /* Every write must go to both places, the other servers' too. */
    if (db_is_shared(x->db))
        return fail(x->c, E_UNSUPPORTED,
                    "A table is not rekeyed where several servers share the data. Copy it to "
                    "a new table.");
    TRY(check_not_index(x, "it cannot be rekeyed; drop it and create it anew"));
    if (call->req->rekey_table.action == WR_REKEY_START) {
        TRY(rekey_check_start(call, &s, &s.shadow.layout));
        s.shadow.id = catalog_txn_ids(x, 1);
        schema_rekey(&s, REKEY_COPYING);
    } else {
        TRY(rekey_check_cancel(call, &s));
        schema_rekey(&s, REKEY_CANCELLING);
    }
    return catalog_txn_put(x, &s);
}

static int set_status(struct catalog_txn *x, enum wr_table_status status)
{
    struct schema s = catalog_txn_draft(x);

    s.d.status = status;
    return catalog_txn_put(x, &s);
}

static int load_table(struct catalog_txn *x, struct call *call)
{
    (void)call;
    return set_status(x, WR_TABLE_ACTIVE);
}

static int unload_table(struct catalog_txn *x, struct call *call)
{
    (void)call;
    return set_status(x, WR_TABLE_INACTIVE);
}

/* One that an older build has only described has no records of before. */
static void stream_begin(struct catalog_txn *x, struct wr_table_description *d)
{
    d->stream_enable_us = clock_wall_us(x->c->clock);
    d->stream_id =
        arena_printf(&x->c->arena, "%.*s_%" PRId64, BYTES_FMT(d->table), d->stream_enable_us);
}

/* A stream that is switched on keeps records from now on, those of one that is switched off are
 * swept. */
static void stream_follow(struct catalog_txn *x, struct schema *s)
{
    if (!x->db->keeps_streams || s->d.stream.enable == (s->stream.location != 0))
        return;
    if (s->d.stream.enable) {
        stream_begin(x, &s->d);
        schema_stream_keep(s, catalog_txn_ids(x, 1), !engine_one_key_space(x->db->engine));
        return;
    }
    catalog_drop_stream(&x->builder, x->db, &s->stream, db_clock_ms(x->db));
    s->stream = (struct schema_stream){0};
}

/* A stream of which no records are kept would be noticed only when they are missed. */
static int check_stream_kept(struct call *call, const struct wr_stream_spec *s)
{
    return s->given && s->enable ? call_check_streams(call) : E_OK;
}

/* Those with changes would be left without them. */
static int check_no_tunnel(struct catalog_txn *x)
{
    const struct schema *s = &x->now->schema;

    for (size_t i = 0; i < s->tunnel_count; i++)
        if (s->tunnels[i].type != WR_TUNNEL_BASE_DATA)
            return fail(x->c, E_PARAMETER,
                        "The stream cannot be switched off: tunnel '%.*s' reads it. Delete the "
                        "tunnel first.",
                        BYTES_FMT(s->tunnels[i].name));
    return E_OK;
}

/* What a series is made without it does not get later. */
static int check_series_stays(struct catalog_txn *x, const struct schema *s)
{
    if (s->d.stream.enable)
        return fail(x->c, E_UNSUPPORTED, "Series '%.*s' has no stream.", BYTES_FMT(x->name));
    if (s->d.options.allow_update && series_by_attribute(s))
        return fail(x->c, E_PARAMETER,
                    "Series '%.*s' has its time in an attribute, and so no updates.",
                    BYTES_FMT(x->name));
    return E_OK;
}

/* A table keeps to what its search indexes need of it (search_catalog.c). */
static int check_search_stays(struct catalog_txn *x, const struct schema *s)
{
    const struct wr_table_options *o = &s->d.options;

    if (s->search_count && o->max_versions != 1)
        return fail(
            x->c, E_PARAMETER,
            "A table with a search index keeps one version of a cell: its max_versions is %d.",
            o->max_versions);
    for (size_t i = 0; i < s->search_count; i++) {
        const struct schema_search *search = &s->searches[i];

        if (search->ttl_s == -1)
            continue;
        if (o->allow_update)
            return fail(x->c, E_PARAMETER,
                        "The search index [%.*s] has a time to live, and so its table allows no "
                        "updates (allow_update false).",
                        BYTES_FMT(search->name));
        if (o->ttl_s != -1 && search->ttl_s > o->ttl_s)
            return fail(x->c, E_PARAMETER,
                        "The time to live of the search index [%.*s], %d s, is longer than its "
                        "table's, %d s.",
                        BYTES_FMT(search->name), search->ttl_s, o->ttl_s);
    }
    return E_OK;
}

static int update_table(struct catalog_txn *x, struct call *call)
{
    struct schema *s;

    if (call->req->update_table.has_options || call->req->update_table.stream.given)
        TRY(check_not_index(x, "its options are those of that table, and it has no stream"));
    TRY(schema_update(x->c, &x->db->limits, &x->now->schema, &call->req->update_table, &s));
    TRY(check_stream_kept(call, &call->req->update_table.stream));
    if (call->req->update_table.stream.given && !call->req->update_table.stream.enable)
        TRY(check_no_tunnel(x));
    if (call->req->update_table.stream.given)
        stream_follow(x, s);
    if (x->now->schema.d.options.ttl_s == -1 && s->d.options.ttl_s != -1 && x->db->keeps_indexes)
        schema_refill_indexes(x->c, s);
    if (call->req->update_table.has_options) {
        TRY(check_search_stays(x, s));
        TRY(catalog_index_follow(x, s));
    }
    if (s->series.spec.by) {
        TRY(check_series_stays(x, s));
        TRY(catalog_series_follow(x, s));
    }
    return catalog_txn_put(x, s);
}

static int add_defined_column(struct catalog_txn *x, struct call *call)
{
    struct schema *s;

    TRY(check_not_index(x, "its columns were given when it was created"));
    TRY(schema_add_defined(x->c, &x->db->limits, &x->now->schema, &call->req->add_defined_column,
                           &s));
    TRY(catalog_series_follow(x, s));
    return catalog_txn_put(x, s);
}

static int delete_defined_column(struct catalog_txn *x, struct call *call)
{
    struct schema *s;

    TRY(check_not_index(x, "its columns were given when it was created"));
    TRY(schema_delete_defined(x->c, &x->now->schema, &call->req->delete_defined_column, &s));
    TRY(catalog_series_follow(x, s));
    return catalog_txn_put(x, s);
}

/* How long the silent are waited for depends on what they may do by what they know: table
 * operations go by a fresh cache, or by what is stored; the answer to a request for rows that its
 * table does not exist needs a fresh one; the partitions of a dropped table can be closed to
 * everybody; but rows are read and written by an older description until the lease is lost. */
static int op_decide(struct catalog_txn *x)
{
    struct table_call *op = PORT_CONTAINER(x, struct table_call, txn);

    TRY(catalog_refusal(x->c, x->db->catalog, x->instance, x->name));
    if (!x->now && !op->op->makes)
        return fail_code(x->c, E_NOT_EXIST);
    /* Behind these: what does nothing counts for nothing, as DROP TABLE IF EXISTS often does. */
    if (!x->tries)
        TRY(catalog_txn_check_rate(x, op->call->now_ms));
    if (x->now && !op->op->serves_series && !op->op->makes)
        TRY(catalog_check_one(x->c, x->now));
    x->notify_ms = ENGINE_PUBLISH_MS;
    return op->op->decide(x, op->call);
}

/* Where partitions are more than ranges, they are made before anybody can know of them. What a
 * crash or a failure leaves in between is empty, and found there if its id comes again. */
static int make_partitions(struct catalog_txn *x, const struct table *t)
{
    const struct partition_map *m = &t->partitions;
    struct partition_spec *specs = ARENA_ARRAY(&x->c->arena, struct partition_spec, m->count);

    invariant(m->count);
    for (size_t i = 0; i < m->count; i++)
        specs[i] = (struct partition_spec){.id = partition_at(m, i)->partition->id};
    return engine_create(x->c, x->db->engine, specs, m->count);
}

/* Of the table, and of its indexes. */
static int op_make(struct catalog_txn *x)
{
    if (!x->now)
        TRY(make_partitions(x, x->next));
    for (const struct catalog_txn_other *o = x->others; o; o = o->before)
        if (!o->now && o->next)
            TRY(make_partitions(x, o->next));
    return E_OK;
}

void table_op_describe(struct call *call, const struct table *t)
{
    catalog_describe(&call->c, t, &call->reply.description);
}

static void describe_rekey(struct call *call, const struct table *t)
{
    rekey_describe(call, &t->schema);
}

static void op_end(struct table_call *op, int code)
{
    struct call *call = op->call;
    const struct table *next = op->txn.next;

    invariant(op->txn.state == CATALOG_TXN_ENDED);
    if (code)
        fail_code(&call->c, code);
    else if (next)
        op->op->describe(call, next);
    if (call->req->op == WR_OP_CREATE_INDEX || call->req->op == WR_OP_DROP_INDEX ||
        call->req->op == WR_OP_UPDATE_TABLE)
        index_builder_wake(call->db->index_builder);
    catalog_txn_release(&op->txn);
    call_finish(call);
}

/* ---- an index that comes ---- */

#define COMING_LOOK_MS 20
#define COMING_WAIT_MS 90000 /* more than both phases take where a server is silent */

/* The table as it is now, if the index that was made is one that some server's changes may not
 * follow yet; referenced. */
static struct table *index_comes(const struct table_call *op)
{
    const struct wr_create_index *create = &op->call->req->create_index;
    struct table *t = catalog_get(op->call->db->catalog, op->call->req->instance, create->table);
    const struct index *index;

    if (!t)
        return NULL;
    index = index_find(t->schema.indexes, t->schema.index_count, create->index.name);
    if (index && !index->include_base_data && index->phase != INDEX_INCR)
        return t;
    table_release(t);
    return NULL;
}

static void coming_pause(struct table_call *op, struct table *t);

static void coming_look(struct route_wait *w, int code)
{
    struct table_call *op = PORT_CONTAINER(w, struct table_call, wait);
    struct table *t = index_comes(op);

    (void)code;
    table_release(op->coming);
    if (t && clock_mono_ms(&op->call->db->clock) - op->coming_since_ms < COMING_WAIT_MS) {
        coming_pause(op, t);
        return;
    }
    table_release(t);
    op_end(op, E_OK);
}

/* No older description is held meanwhile: when nobody has one, the index comes. */
static void coming_pause(struct table_call *op, struct table *t)
{
    op->coming = t;
    op->wait = (struct route_wait){.table = t, .run = coming_look};
    route_pause(&op->wait, COMING_LOOK_MS);
}

/* Of an index of later writes alone: what is written behind the answer is later. False: it follows
 * already. */
static bool wait_for_coming(struct table_call *op)
{
    struct table *t;

    if (op->op->decide != create_index || op->call->req->create_index.include_base_data)
        return false;
    t = index_comes(op);
    if (!t)
        return false;
    index_builder_wake(op->call->db->index_builder);
    op->coming_since_ms = clock_mono_ms(&op->call->db->clock);
    catalog_describe(&op->call->c, t, &op->call->reply.description);
    catalog_txn_release(&op->txn);
    coming_pause(op, t);
    return true;
}

/* ---- what was frozen ---- */

static void freeze_ended(struct job *self)
{
    op_end(PORT_CONTAINER(self, struct table_call, freeze.job), E_OK);
}

/* False: the answer need not wait. */
static bool wait_for_freeze(struct table_call *op)
{
    struct call *call = op->call;
    const struct schema *s;

    if (!op->op->freezes || !op->txn.next || !op->op->freezes(call))
        return false;
    s = &op->txn.next->schema;
    op->freeze = (struct catalog_freeze){
        .series = s->id, .number = s->series.frozen, .job = {.run = freeze_ended}};
    op->op->describe(call, op->txn.next);
    catalog_txn_release(&op->txn); /* with the descriptions that were before */
    if (!catalog_await_frozen(call->db->catalog, &op->freeze))
        op_end(op, E_OK);
    return true;
}

static void op_told(void *arg, int code)
{
    op_end(arg, code == E_BUSY ? E_OK : code);
}

static int close_partitions(struct catalog_txn *x, const struct table *t)
{
    const struct partition_map *m = &t->partitions;

    for (size_t i = 0; i < m->count; i++) {
        struct partition_spec spec = {.id = partition_at(m, i)->partition->id};

        TRY(engine_drop(x->c, x->db->engine, &spec));
    }
    return E_OK;
}

/* What the dropped table and its indexes had goes at once, instead of with the next sweep, so that
 * nobody reads or writes there any more, whatever he knows. */
static void op_close(struct job *self)
{
    struct table_call *op = PORT_CONTAINER(self, struct table_call, job);
    struct catalog_txn *x = &op->txn;
    int code = close_partitions(x, x->now);

    invariant(x->drops && x->state == CATALOG_TXN_ENDED);
    for (const struct catalog_txn_other *o = x->others; o && !code; o = o->before)
        if (o->drops)
            code = close_partitions(x, o->now);
    ctx_clear(x->c);
    if (code)
        engine_publish(x->db->engine, catalog_notification_text(&x->c->arena, x->instance, x->name),
                       ENGINE_PUBLISH_MS, op_told, op);
    else
        op_end(op, E_OK);
}

static void table_op_done(struct catalog_txn *x, int code)
{
    struct table_call *op = PORT_CONTAINER(x, struct table_call, txn);

    if (!code && x->silent && x->drops && x->notify_ms == CATALOG_FRESH_NOTIFY_MS) {
        op->job.run = op_close;
        jobs_submit(x->db->jobs, &op->job);
    } else if (code || (!wait_for_coming(op) && !wait_for_freeze(op))) {
        op_end(op, code);
    }
}

int table_op_find(struct call *call, struct table **t)
{
    bytes name = request_table(call->req);

    *t = catalog_get(call->db->catalog, call->req->instance, name);
    return *t ? E_OK : catalog_missing(&call->c, call->db->catalog, call->req->instance, name);
}

int describe_table_start(struct call *call)
{
    struct table *t;

    TRY(catalog_check(&call->c, call->db->catalog));
    TRY(table_op_find(call, &t));
    catalog_describe(&call->c, t, &call->reply.description);
    table_release(t);
    call_finish(call);
    return E_OK;
}

static void list_tables(struct call *call)
{
    bytes *names;

    call->reply.table_list.count =
        catalog_list(call->db->catalog, &call->c.arena, call->req->instance, &names);
    call->reply.table_list.tables = names;
    call_finish(call);
}

struct list_call {
    struct job job;
    struct call *call;
};

static void list_run(struct job *self)
{
    struct call *call = PORT_CONTAINER(self, struct list_call, job)->call;
    struct catalog *cat = call->db->catalog;

    if (call_check_deadline(call) || catalog_check(&call->c, cat) ||
        catalog_load_all(&call->c, cat))
        call_finish(call);
    else
        list_tables(call);
}

/* What tables there are is not told by a cache that may be seconds old. What a table is like may
 * be, until the lease has run out: clients ask that before they read and write rows. */
int list_table_start(struct call *call)
{
    struct list_call *list;

    TRY(catalog_check(&call->c, call->db->catalog));
    if (catalog_is_fresh(call->db->catalog)) {
        list_tables(call);
        return E_OK;
    }
    list = ARENA_NEW(&call->c.arena, struct list_call);
    *list = (struct list_call){{.run = list_run}, call};
    jobs_submit(call->db->jobs, &list->job);
    return E_OK;
}

int table_op_start(struct call *call, const struct table_op *what)
{
    struct table_call *op;

    TRY(catalog_check(&call->c, call->db->catalog));
    op = ARENA_NEW(&call->c.arena, struct table_call);
    op->call = call;
    op->op = what;
    op->txn = (struct catalog_txn){.db = call->db,
                                   .c = &call->c,
                                   .instance = call->req->instance,
                                   .name = request_table(call->req),
                                   .decide = op_decide,
                                   .confirms = true,
                                   .done = table_op_done};
    if (what->makes_partitions && !engine_one_key_space(call->db->engine))
        op->txn.make = op_make;
    catalog_txn_begin(&op->txn);
    return E_OK;
}

size_t table_op_key_columns(const struct call *call)
{
    return call->internal ? WR_KEY_COLUMNS_MAX : (size_t)call->db->limits.key_columns_max;
}

static const struct table_op op_of_create_table = {.decide = table_op_create_table,
                                                   .describe = table_op_describe,
                                                   .makes = true,
                                                   .makes_partitions = true};

int create_table_start(struct call *call)
{
    const struct wr_create_table *t = &call->req->create_table;

    TRY(catalog_check(&call->c, call->db->catalog));
    TRY(schema_check_create(&call->c, &call->db->limits, table_op_key_columns(call), t));
    TRY(check_stream_kept(call, &t->stream));
    return table_op_start(call, &op_of_create_table);
}

static const struct table_op op_of_create_index = {
    .decide = create_index, .describe = table_op_describe, .makes_partitions = true};

int create_index_start(struct call *call)
{
    return table_op_start(call, &op_of_create_index);
}

static const struct table_op op_of_drop_index = {.decide = drop_index,
                                                 .describe = table_op_describe};

int drop_index_start(struct call *call)
{
    return table_op_start(call, &op_of_drop_index);
}

static const struct table_op op_of_update_table = {
    .decide = update_table, .describe = table_op_describe, .serves_series = true};

int update_table_start(struct call *call)
{
    return table_op_start(call, &op_of_update_table);
}

static const struct table_op op_of_delete_table = {
    .decide = delete_table, .describe = table_op_describe, .serves_series = true};

int delete_table_start(struct call *call)
{
    return table_op_start(call, &op_of_delete_table);
}

static const struct table_op op_of_load_table = {
    .decide = load_table, .describe = table_op_describe, .serves_series = true};

int load_table_start(struct call *call)
{
    return table_op_start(call, &op_of_load_table);
}

static const struct table_op op_of_unload_table = {
    .decide = unload_table, .describe = table_op_describe, .serves_series = true};

int unload_table_start(struct call *call)
{
    return table_op_start(call, &op_of_unload_table);
}

static const struct table_op op_of_add_defined_column = {
    .decide = add_defined_column, .describe = table_op_describe, .serves_series = true};

int add_defined_column_start(struct call *call)
{
    return table_op_start(call, &op_of_add_defined_column);
}

static const struct table_op op_of_delete_defined_column = {
    .decide = delete_defined_column, .describe = table_op_describe, .serves_series = true};

int delete_defined_column_start(struct call *call)
{
    return table_op_start(call, &op_of_delete_defined_column);
}

static int rekey_status(struct call *call)
{
    struct table *t;

    TRY(catalog_check(&call->c, call->db->catalog));
    TRY(table_op_find(call, &t));
    rekey_describe(call, &t->schema);
    table_release(t);
    call_finish(call);
    return E_OK;
}

static const struct table_op op_of_rekey_table = {.decide = rekey_table,
                                                  .describe = describe_rekey};

int rekey_table_start(struct call *call)
{
    return call->req->rekey_table.action == WR_REKEY_STATUS
               ? rekey_status(call)
               : table_op_start(call, &op_of_rekey_table);
}
