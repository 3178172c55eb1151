/* table_op.c: the operations of clients on tables, from CreateTable to RekeyTable.
 *
 * Where others change tables, too, an operation guards the records that it was decided by. If
 * another process was faster, they are read again and it is decided anew. */
#include "table/catalog/catalog_own.h"

#include "base/fault.h"
#include "table/core/jobs.h"
#include "table/maint/rekey.h"
#include "table/model/edits.h"
#include "table/model/key.h"
#include "table/model/op_info.h"

#define CLOSE_MAX 512 /* partitions of a dropped table that are closed while its client waits */

/* One operation, from its turn at the latch to its answer. The latch is held until the change is
 * durable and published, so the next operation sees it; the other servers are told afterwards, and
 * one that does not answer keeps no other operation waiting. */
struct table_op {
    struct latch latch;
    struct call *call;
    bytes name;
    struct table *next;    /* to publish; NULL: the table goes, */
    struct table *dropped; /* this one, as it was */
    struct edits edits;
    struct guard guards[2];
    size_t guard_count; /* 0: there is no need of any (catalog_guards) */
    int tries;
    struct job job; /* what may block: a new partition is made, the table is read again */
};

static int check_rate(struct call *call)
{
    struct catalog *cat = call->db->catalog;
    int64_t second = call->now_ms / 1000, max = call->db->limits.table_ops_per_s_max;

    if (!max)
        return E_OK;
    if (cat->rate_second != second) {
        cat->rate_second = second;
        cat->rate_count = 0;
    }
    if (cat->rate_count >= max)
        return fail_code(&call->c, E_TOO_FREQUENT);
    cat->rate_count++;
    return E_OK;
}

static void op_edit(struct table_op *op, enum edit_type type, bytes key, bytes value)
{
    edits_add(&op->edits, type, key, value);
}

/* Stores `s` under its name, in place of `old`, and makes the table to publish. */
static int op_put(struct table_op *op, const struct table *old, const struct schema *s)
{
    return catalog_store(&op->call->c, op->call->db->catalog, old, s, &op->edits, &op->next);
}

static int create_table(struct table_op *op, struct table *old)
{
    struct call *call = op->call;
    struct catalog *cat = call->db->catalog;
    struct ctx *c = &call->c;
    bytes *names;
    uint32_t id = cat->next_id;

    if (old)
        return fail_code(c, E_EXIST);
    if (catalog_list(cat, &c->arena, call->req->instance, &names) >=
        (size_t)call->db->limits.tables_per_instance_max)
        return fail(c, E_QUOTA, "Number of tables exceeds the quota:%d.",
                    (int)call->db->limits.tables_per_instance_max);
    TRY(op_put(op, NULL, schema_from_create(c, id, call->req->instance, &call->req->create_table)));
    op_edit(op, EDIT_PUT, catalog_plain_key(&c->arena, CATALOG_NEXT_ID),
            catalog_number_value(&c->arena, id + 1ull));
    op->guards[op->guard_count++] = (struct guard){catalog_plain_key(&c->arena, CATALOG_NEXT_ID),
                                                   catalog_number_value(&c->arena, id), id == 1};
    cat->next_id = id + 1; /* an id lost to a failed write is only a gap */
    return E_OK;
}

/* When a table was dropped, and, where partitions are more than ranges, the partitions it had or
 * was about to have: those that stand in pages are named by a mark, for the pages stay. */
static bytes dropped_value(struct arena *a, const struct catalog *cat, const struct schema *s,
                           int64_t now_ms)
{
    size_t listed = s->page_count ? 0 : s->partition_count;
    struct buf b;

    buf_init(&b, a, 9 + 8 * (listed + s->cut.made_count));
    store_u64(buf_reserve(&b, 8), (uint64_t)now_ms);
    buf_commit(&b, 8);
    if (s->page_count)
        buf_put_u8(&b, CATALOG_DROPPED_PAGED);
    if (engine_one_key_space(cat->db->engine))
        return buf_bytes(&b);
    for (size_t i = 0; i < listed + s->cut.made_count; i++) {
        store_u64(buf_reserve(&b, 8),
                  i < listed ? s->partitions[i].id : s->cut.made[i - listed].id);
        buf_commit(&b, 8);
    }
    return buf_bytes(&b);
}

static int delete_table(struct table_op *op, struct table *old)
{
    struct ctx *c = &op->call->c;
    int64_t now_ms = db_clock_ms(op->call->db);

    op_edit(op, EDIT_DELETE,
            catalog_table_key(&c->arena, old->schema.instance, old->schema.d.table), BYTES_NONE);
    journal_add(
        op->call->db, &op->edits,
        &(struct journal_entry){old->schema.instance, old->schema.d.table, old->schema.id, 0});
    op_edit(op, EDIT_PUT, catalog_dropped_key(&c->arena, old->schema.place.id),
            dropped_value(&c->arena, op->call->db->catalog, &old->schema, now_ms));
    if (old->schema.mirror.id)
        op_edit(op, EDIT_PUT, catalog_dropped_key(&c->arena, old->schema.mirror.id),
                catalog_number_value(&c->arena, (uint64_t)now_ms));
    if (old->schema.mirror.id)
        op_edit(op, EDIT_DELETE, catalog_rekey_key(&c->arena, old->schema.id), BYTES_NONE);
    return E_OK;
}

static int set_status(struct table_op *op, struct table *old, enum wr_table_status status)
{
    struct schema s = old->schema;

    s.version++;
    s.d.status = status;
    return op_put(op, old, &s);
}

/* Gives the table a mirror in another layout, which the rekeyer then fills. */
static int rekey_start(struct table_op *op, struct table *old)
{
    struct call *call = op->call;
    struct ctx *c = &call->c;
    struct schema s = old->schema;

    TRY(rekey_check_start(call, &s, &s.mirror.layout));
    s.version++;
    s.mirror.id = call->db->catalog->next_id;
    s.rekey = REKEY_COPYING;
    s.has_detached = atomic_load(&old->has_detached);
    TRY(op_put(op, old, &s));
    op_edit(op, EDIT_PUT, catalog_plain_key(&c->arena, CATALOG_NEXT_ID),
            catalog_number_value(&c->arena, s.mirror.id + 1ull));
    call->db->catalog->next_id++;
    return E_OK;
}

static int rekey_table(struct table_op *op, struct table *old)
{
    struct schema s = old->schema;

    if (op->call->req->rekey_table.action == WR_REKEY_START)
        return rekey_start(op, old);
    TRY(rekey_check_cancel(op->call, &s));
    s.version++;
    s.rekey = REKEY_CANCELLING;
    s.has_detached = atomic_load(&old->has_detached);
    return op_put(op, old, &s);
}

static int change_table(struct table_op *op, struct table *old)
{
    struct call *call = op->call;
    const struct wr_request *req = call->req;
    const struct limits *limits = &call->db->limits;
    struct schema *s;

    if (!old)
        return catalog_missing(&call->c, call->db->catalog, call->req->instance, op->name);
    switch (req->op) {
    case WR_OP_DELETE_TABLE:
        return delete_table(op, old);
    case WR_OP_LOAD_TABLE:
        return set_status(op, old, WR_TABLE_ACTIVE);
    case WR_OP_UNLOAD_TABLE:
        return set_status(op, old, WR_TABLE_INACTIVE);
    case WR_OP_REKEY_TABLE:
        /* Every write must go to both places, the other servers' too. */
        if (db_is_shared(call->db))
            return fail(&call->c, E_UNSUPPORTED,
                        "A table is not rekeyed where several servers share the data. Copy it to "
                        "a new table.");
        return rekey_table(op, old);
    case WR_OP_UPDATE_TABLE:
        TRY(schema_update(&call->c, limits, &old->schema, &req->update_table, &s));
        break;
    case WR_OP_ADD_DEFINED_COLUMN:
        TRY(schema_add_defined(&call->c, limits, &old->schema, &req->add_defined_column, &s));
        break;
    default:
        TRY(schema_delete_defined(&call->c, &old->schema, &req->delete_defined_column, &s));
        break;
    }
    s->has_detached = atomic_load(&old->has_detached);
    return op_put(op, old, s);
}

static void op_end(struct table_op *op, struct run_list *woken)
{
    struct call *call = op->call;

    latch_pass(call->db->latches, &op->latch, woken);
    call_finish(call);
}

static void op_run(struct latch *l, struct run_list *woken);
static void op_retry(struct job *self);

static void op_fail(struct table_op *op, int code)
{
    struct run_list woken = {0};

    fail_code(&op->call->c, code);
    op_end(op, &woken);
    latch_run(&woken);
}

static bytes op_news(struct table_op *op)
{
    return catalog_news_text(&op->call->c.arena, op->call->req->instance, op->name);
}

/* All the others know, or do not use what they knew. */
static void op_told(void *arg, int code)
{
    struct table_op *op = arg;

    table_release(op->dropped);
    if (code && code != E_BUSY)
        fail_code(&op->call->c, code);
    call_finish(op->call);
}

/* What the dropped table had goes at once, instead of with the next sweep, so that nobody reads or
 * writes there any more, whatever he knows. */
static void op_close(struct job *self)
{
    struct table_op *op = PORT_CONTAINER(self, struct table_op, job);
    struct call *call = op->call;
    const struct partition_map *m = &op->dropped->partitions;
    int code = E_OK;

    for (size_t i = 0; i < m->count && !code; i++) {
        struct partition_spec spec = {.id = partition_at(m, i)->partition->id};

        code = engine_drop(&call->c, call->db->engine, &spec);
    }
    ctx_clear(&call->c);
    if (code)
        engine_publish(call->db->engine, op_news(op), ENGINE_PUBLISH_MS, op_told, op);
    else
        op_told(op, E_OK);
}

/* Some server is silent, maybe dead. */
static void op_drop_told(void *arg, int code)
{
    struct table_op *op = arg;

    if (code == E_BUSY) {
        op->job.run = op_close;
        jobs_submit(op->call->db->jobs, &op->job);
    } else {
        op_told(op, code);
    }
}

/* How long the silent are waited for depends on what they may do by what they know: table
 * operations need a fresh cache, and so does the answer that a table does not exist; the partitions
 * of a dropped table can be closed to everybody; but rows are read and written by an older
 * description until the touch is lost. */
static void op_tell_all(struct table_op *op)
{
    struct engine *e = op->call->db->engine;

    if (op->dropped && op->dropped->partitions.count <= CLOSE_MAX)
        engine_publish(e, op_news(op), CATALOG_FRESH_TELL_MS, op_drop_told, op);
    else
        engine_publish(e, op_news(op),
                       op->call->req->op == WR_OP_CREATE_TABLE ? CATALOG_FRESH_TELL_MS
                                                               : ENGINE_PUBLISH_MS,
                       op_told, op);
}

/* The change is published: the next operation may run. */
static void op_tell(struct table_op *op)
{
    struct wr_db *db = op->call->db;
    struct run_list woken = {0};

    latch_pass(db->latches, &op->latch, &woken);
    latch_run(&woken);
    (void)fault_hit(FAULT_table_before_tell);
    if (db_is_shared(db))
        op_tell_all(op);
    else
        op_told(op, E_OK);
}

static void op_done(void *arg, int code)
{
    struct table_op *op = arg;
    struct call *call = op->call;
    struct catalog *cat = call->db->catalog;

    if (code) {
        table_release(op->next);
        op->next = NULL;
        if (code == E_GUARD && op->tries++ < CATALOG_TRIES_MAX) {
            op->job.run = op_retry;
            jobs_submit(call->db->jobs, &op->job);
            return;
        }
        if (code == E_UNSURE && db_is_shared(cat->db)) /* it may be stored */
            catalog_tell_soon(cat, call->req->instance, op->name);
        op_fail(op, code == E_GUARD ? E_CONFLICT : code);
        return;
    }
    (void)fault_hit(FAULT_table_stored);
    if (call->req->op == WR_OP_REKEY_TABLE)
        rekey_describe(call, &op->next->schema);
    else if (op->next)
        catalog_describe(&call->c, op->next, &call->reply.description);
    if (call->req->op == WR_OP_DELETE_TABLE)
        op->dropped = catalog_get(cat, call->req->instance, op->name);
    catalog_publish(cat, call->req->instance, op->name, op->next);
    op_tell(op);
}

static void op_apply(struct table_op *op)
{
    struct call *call = op->call;
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = op->guards,
                                .guard_count = op->guard_count,
                                .edits = op->edits.items,
                                .edit_count = op->edits.count};

    (void)fault_hit(FAULT_table_before_store);
    engine_apply(&call->c, call->db->engine, &batch, op_done, op);
}

/* Where partitions are more than ranges, they are made before anybody can know of them. What a
 * crash or a failure leaves in between is empty, and found there if its id comes again. */
static void op_create(struct job *self)
{
    struct table_op *op = PORT_CONTAINER(self, struct table_op, job);
    struct call *call = op->call;
    const struct partition_map *m = &op->next->partitions;
    struct partition_spec *specs = ARENA_ARRAY(&call->c.arena, struct partition_spec, m->count);
    int code;

    for (size_t i = 0; i < m->count; i++)
        specs[i] = (struct partition_spec){.id = partition_at(m, i)->partition->id};
    code = engine_create(&call->c, call->db->engine, specs, m->count);
    if (code)
        op_done(op, code);
    else
        op_apply(op);
}

static void op_run(struct latch *l, struct run_list *woken)
{
    struct table_op *op = PORT_CONTAINER(l, struct table_op, latch);
    struct call *call = op->call;
    struct table *old = catalog_get(call->db->catalog, call->req->instance, op->name);
    int code = op->tries ? E_OK : check_rate(call);

    op->guards[0] =
        (struct guard){catalog_table_key(&call->c.arena, call->req->instance, op->name),
                       old ? arena_copy(&call->c.arena, old->stored) : BYTES_NONE, old == NULL};
    op->guard_count = 1;
    op->edits = (struct edits){.arena = &call->c.arena};
    if (!code)
        code = catalog_refusal(&call->c, call->db->catalog, call->req->instance, op->name);
    if (!code)
        code = call->req->op == WR_OP_CREATE_TABLE ? create_table(op, old) : change_table(op, old);
    if (!catalog_guards(call->db->catalog, old))
        op->guard_count = 0;
    table_release(old);
    if (code) {
        op_end(op, woken);
        return;
    }
    if (call->req->op == WR_OP_CREATE_TABLE && !engine_one_key_space(call->db->engine)) {
        op->job.run = op_create;
        jobs_submit(call->db->jobs, &op->job);
    } else {
        op_apply(op);
    }
}

/* Another process was faster: the table is read again. */
static void op_retry(struct job *self)
{
    struct table_op *op = PORT_CONTAINER(self, struct table_op, job);
    struct call *call = op->call;
    struct catalog *cat = call->db->catalog;
    struct run_list woken = {0};
    uint64_t id = 0;
    int code = catalog_reread(&call->c, cat, call->req->instance, op->name);

    if (!code)
        code = catalog_load_number(&call->c, call->db->engine, CATALOG_NEXT_ID, &id);
    if (id)
        cat->next_id = (uint32_t)id;
    if (code)
        op_end(op, &woken);
    else
        op_run(&op->latch, &woken);
    latch_run(&woken);
}

/* The table that the request names, also one that is unloaded. */
static int find_table(struct call *call, struct table **t)
{
    bytes name = request_table(call->req);

    *t = catalog_get(call->db->catalog, call->req->instance, name);
    return *t ? E_OK : catalog_missing(&call->c, call->db->catalog, call->req->instance, name);
}

/* What tables there are is not told by a cache that may be seconds old, nor is a table changed by
 * one. What a table is like may be, until the lease has run out: clients ask that before they read
 * and write rows. */
static int check_fresh(struct call *call)
{
    TRY(catalog_check(&call->c, call->db->catalog));
    if (catalog_is_fresh(call->db->catalog))
        return E_OK;
    return fail(&call->c, E_UNAVAILABLE,
                "This server has not heard of the others for some seconds; try again.");
}

int describe_table_start(struct call *call)
{
    struct table *t;

    TRY(catalog_check(&call->c, call->db->catalog));
    TRY(find_table(call, &t));
    catalog_describe(&call->c, t, &call->reply.description);
    table_release(t);
    call_finish(call);
    return E_OK;
}

int list_table_start(struct call *call)
{
    bytes *names;

    TRY(check_fresh(call));
    call->reply.table_list.count =
        catalog_list(call->db->catalog, &call->c.arena, call->req->instance, &names);
    call->reply.table_list.tables = names;
    call_finish(call);
    return E_OK;
}

int table_change_start(struct call *call)
{
    struct run_list woken = {0};
    struct table_op *op;

    TRY(check_fresh(call));
    op = ARENA_NEW(&call->c.arena, struct table_op);
    op->call = call;
    op->name = request_table(call->req);
    op->latch.key = BYTES_LIT("catalog");
    op->latch.run = op_run;
    if (latch_take(call->db->latches, &op->latch))
        op_run(&op->latch, &woken);
    latch_run(&woken);
    return E_OK;
}

static size_t key_columns_max(const struct call *call)
{
    return call->internal ? WR_KEY_COLUMNS_MAX : (size_t)call->db->limits.key_columns_max;
}

int create_table_start(struct call *call)
{
    TRY(check_fresh(call));
    TRY(schema_check_create(&call->c, &call->db->limits, key_columns_max(call),
                            &call->req->create_table));
    return table_change_start(call);
}

static int rekey_status(struct call *call)
{
    struct table *t;

    TRY(check_fresh(call));
    TRY(find_table(call, &t));
    rekey_describe(call, &t->schema);
    table_release(t);
    call_finish(call);
    return E_OK;
}

int rekey_table_start(struct call *call)
{
    return call->req->rekey_table.action == WR_REKEY_STATUS ? rekey_status(call)
                                                            : table_change_start(call);
}
