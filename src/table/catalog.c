/* catalog.c
 *
 * Stored under table 0 of the system partition:
 *   kind 1, instance, name   a schema (schema.c)
 *   kind 2, table id         a dropped table whose rows are still to be removed: time of the drop
 *   kind 3                   the lease of numbers: none at or above it was ever given out
 *   kind 4                   the next table id
 *   kind 7, name             a text that all processes share (text.h)
 *
 * A table's id is never used again, so a write that is still under way when its
 * table is dropped lands where nobody looks and goes with the rest. */
#include "table/catalog.h"

#include "base/fault.h"
#include "table/call.h"
#include "table/hold.h"
#include "table/key.h"
#include "table/modify.h"
#include "table/name.h"
#include "table/peers.h"
#include "table/rekey.h"
#include "table/route.h"
#include "table/sweep.h"
#include "table/tally.h"
#include "table/wait.h"

#include <pthread.h>
#include <stdlib.h>
#include <xxhash.h>

#define BUCKETS 4096
/* Processes that may be open at a time where they share the data; the low part of their numbers. */
#define SLOTS 1024
#define TRIES_MAX 32 /* of a change that another process was faster with */
#define START_WAIT_MS 30000
#define LEASE_US (3600ll * 1000000) /* how far ahead numbers are reserved */
#define DROP_GRACE_MS 60000         /* no request lives longer */

enum catalog_kind {
    CATALOG_TABLE = 1,
    CATALOG_DROPPED = 2,
    CATALOG_LEASE = 3,
    CATALOG_NEXT_ID = 4,
    CATALOG_REKEY = 5,
    CATALOG_SLOT = 6, /* processes that were opened, counted; shared data only */
    CATALOG_TEXT = 7,
};

struct catalog {
    struct wr_db *db;
    pthread_rwlock_t lock; /* over buckets and their tables' links */
    struct table *buckets[BUCKETS];
    uint32_t next_id;        /* under the catalog's latch */
    _Atomic uint64_t number; /* the last one given out */
    _Atomic uint64_t lease;
    pthread_mutex_t live_lock;
    struct table *live;  /* every struct table that somebody holds, published or not */
    int64_t rate_second; /* under the catalog's latch: table operations in this second */
    int64_t rate_count;

    /* Where other processes change tables, too. */
    _Atomic uint64_t changes;      /* of the cache */
    _Atomic int64_t good_until_ms; /* monotonic: what is cached may be used */
    _Atomic uint64_t missed;       /* how often news may have been missed */
    _Atomic uint64_t made_up; /* and as of the last reading of all: equal, or nothing is served */
    struct job reload;
    atomic_bool reloading;
    uint64_t slot; /* tells our numbers from those of the others */
};

/* ---- keys ---- */

static struct buf catalog_key(struct arena *a, enum catalog_kind kind)
{
    struct buf b;

    buf_init(&b, a, 64);
    key_put_prefix(&b, 0, 0, (enum key_kind)kind);
    return b;
}

static bytes table_key(struct arena *a, bytes instance, bytes name)
{
    struct buf b = catalog_key(a, CATALOG_TABLE);

    key_put_text(&b, instance);
    key_put_text(&b, name);
    return buf_bytes(&b);
}

static bytes dropped_key(struct arena *a, uint32_t id)
{
    struct buf b = catalog_key(a, CATALOG_DROPPED);

    store_u32_be(buf_reserve(&b, 4), id);
    buf_commit(&b, 4);
    return buf_bytes(&b);
}

bytes catalog_rekey_key(struct arena *a, uint32_t table_id)
{
    struct buf b = catalog_key(a, CATALOG_REKEY);

    store_u32_be(buf_reserve(&b, 4), table_id);
    buf_commit(&b, 4);
    return buf_bytes(&b);
}

bytes catalog_text_key(struct arena *a, bytes name)
{
    struct buf b = catalog_key(a, CATALOG_TEXT);

    key_put_text(&b, name);
    return buf_bytes(&b);
}

static bytes plain_key(struct arena *a, enum catalog_kind kind)
{
    struct buf b = catalog_key(a, kind);

    return buf_bytes(&b);
}

static bytes number_value(struct arena *a, uint64_t v)
{
    uint8_t *p = arena_alloc(a, 8);

    store_u64(p, v);
    return bytes_of(p, 8);
}

/* ---- the cache ---- */

static uint64_t name_hash(bytes instance, bytes name)
{
    return XXH3_64bits_withSeed(name.ptr, name.len, XXH3_64bits(instance.ptr, instance.len));
}

static void live_add(struct catalog *cat, struct table *t)
{
    t->catalog = cat;
    pthread_mutex_lock(&cat->live_lock);
    t->live_next = cat->live;
    t->live_at = &cat->live;
    if (cat->live)
        cat->live->live_at = &t->live_next;
    cat->live = t;
    pthread_mutex_unlock(&cat->live_lock);
}

static void live_remove(struct table *t)
{
    if (!t->catalog)
        return;
    pthread_mutex_lock(&t->catalog->live_lock);
    *t->live_at = t->live_next;
    if (t->live_next)
        t->live_next->live_at = t->live_at;
    pthread_mutex_unlock(&t->catalog->live_lock);
}

bool catalog_settled(struct catalog *cat, const struct table *t)
{
    bool settled = true;

    pthread_mutex_lock(&cat->live_lock);
    for (const struct table *other = cat->live; other; other = other->live_next)
        settled &=
            other->schema.id != t->schema.id || (other->schema.rekey == t->schema.rekey &&
                                                 other->schema.place.id == t->schema.place.id &&
                                                 other->schema.mirror.id == t->schema.mirror.id);
    pthread_mutex_unlock(&cat->live_lock);
    return settled;
}

/* A table of its own memory from stored bytes, with one reference. */
static int table_new(struct ctx *c, struct catalog *cat, bytes stored, struct table **out)
{
    struct table *t = mem_zalloc(sizeof(*t));
    struct wr_db *db = cat->db;

    t->db = db;
    ctx_init(&t->ctx, &db->clock, &db->log, NULL, 0);
    atomic_init(&t->refs, 1);
    if (schema_decode(&t->ctx, stored, &t->schema)) {
        int code = fail(c, t->ctx.code, "%s", t->ctx.text);

        table_release(t);
        return code;
    }
    t->stored = arena_copy(&t->ctx.arena, stored);
    partition_map_init(&t->partitions, &t->ctx.arena, &t->schema);
    t->traffic = traffic_new();
    if (!(db->caps & ENGINE_ONE_MAP))
        traffic_reroute(t->traffic, &t->partitions);
    atomic_init(&t->has_detached, t->schema.has_detached);
    t->tally = tally_open(db->tally, t->schema.place.layout.buckets);
    t->hash = name_hash(t->schema.instance, t->schema.d.table);
    live_add(cat, t);
    *out = t;
    return E_OK;
}

struct table *table_ref(struct table *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void table_release(struct table *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    live_remove(t);
    partition_map_release(&t->partitions);
    traffic_release(t->traffic);
    tally_close(t->tally);
    mem_free((void *)t->swept_key.ptr);
    ctx_release(&t->ctx);
    mem_free(t);
}

static struct table **cache_at(struct catalog *cat, bytes instance, bytes name)
{
    uint64_t hash = name_hash(instance, name);
    struct table **at = &cat->buckets[hash % BUCKETS];

    while (*at && !((*at)->hash == hash && bytes_equal((*at)->schema.d.table, name) &&
                    bytes_equal((*at)->schema.instance, instance)))
        at = &(*at)->next;
    return at;
}

/* `t` follows `old`: what requests count goes on where it was. */
static void table_follow(struct table *t, struct table *old)
{
    if (atomic_load(&old->has_detached))
        atomic_store(&t->has_detached, true);
    if (old->schema.place.id == t->schema.place.id) {
        tally_close(t->tally);
        t->tally = tally_ref(old->tally);
    }
    if (old->schema.id != t->schema.id)
        return;
    traffic_release(t->traffic);
    t->traffic = traffic_ref(old->traffic);
    partition_map_adopt(&t->partitions, &old->partitions, t->traffic);
    if (t->traffic->route)
        traffic_reroute(t->traffic, &t->partitions);
}

/* Puts `t` (may be NULL) in place of the table of that name, unless the cache changed since it was
 * `*expected` (NULL: no matter). Takes over the reference. */
static bool cache_swap(struct catalog *cat, bytes instance, bytes name, struct table *t,
                       const uint64_t *expected)
{
    struct table **at, *old;

    if (t && t->schema.d.options.cell_bytes_max > cat->db->limits.cell_bytes_max)
        atomic_store(&cat->db->has_lifted, true);
    pthread_rwlock_wrlock(&cat->lock);
    if (expected && atomic_load(&cat->changes) != *expected) {
        pthread_rwlock_unlock(&cat->lock);
        table_release(t);
        return false;
    }
    atomic_fetch_add(&cat->changes, 1);
    at = cache_at(cat, instance, name);
    old = *at;
    if (t) {
        t->next = old ? old->next : NULL;
        if (old)
            table_follow(t, old);
        *at = t;
    } else if (old) {
        *at = old->next;
    }
    pthread_rwlock_unlock(&cat->lock);
    table_release(old);
    router_wake(cat->db->router);
    return true;
}

static void cache_publish(struct catalog *cat, bytes instance, bytes name, struct table *t)
{
    cache_swap(cat, instance, name, t, NULL);
}

static struct table *cache_get(struct catalog *cat, bytes instance, bytes name)
{
    struct table *t;

    pthread_rwlock_rdlock(&cat->lock);
    t = *cache_at(cat, instance, name);
    if (t)
        table_ref(t);
    pthread_rwlock_unlock(&cat->lock);
    return t;
}

int catalog_find(struct ctx *c, struct catalog *cat, bytes instance, bytes name, struct table **out)
{
    struct table *t;

    TRY(catalog_check(c, cat));
    t = cache_get(cat, instance, name);
    if (!t)
        return fail_code(c, E_NOT_EXIST);
    if (t->schema.d.status != WR_TABLE_ACTIVE) {
        table_release(t);
        return fail(c, E_NOT_READY, "The table is unloaded. Load it with LoadTable.");
    }
    *out = t;
    return E_OK;
}

size_t catalog_all(struct catalog *cat, struct arena *a, struct table ***tables)
{
    size_t n = 0, i = 0;

    pthread_rwlock_rdlock(&cat->lock);
    for (int b = 0; b < BUCKETS; b++)
        for (struct table *t = cat->buckets[b]; t; t = t->next)
            n++;
    *tables = ARENA_ARRAY(a, struct table *, n);
    for (int b = 0; b < BUCKETS; b++)
        for (struct table *t = cat->buckets[b]; t; t = t->next)
            (*tables)[i++] = table_ref(t);
    pthread_rwlock_unlock(&cat->lock);
    return n;
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

size_t catalog_list(struct catalog *cat, struct arena *a, bytes instance, bytes **names)
{
    struct table **tables;
    size_t all = catalog_all(cat, a, &tables), n = 0;

    *names = ARENA_ARRAY(a, bytes, all);
    for (size_t i = 0; i < all; i++) {
        if (bytes_equal(tables[i]->schema.instance, instance))
            (*names)[n++] = arena_copy(a, tables[i]->schema.d.table);
        table_release(tables[i]);
    }
    if (n)
        qsort(*names, n, sizeof(bytes), compare_names);
    return n;
}

/* ---- numbers ---- */

static bool is_shared(const struct catalog *cat)
{
    return !(cat->db->caps & ENGINE_SOLE_WRITER);
}

uint64_t catalog_next_number(struct catalog *cat)
{
    uint64_t now = (uint64_t)clock_wall_us(&cat->db->clock);
    uint64_t last = atomic_load_explicit(&cat->number, memory_order_relaxed), next;

    do
        next = last + 1 > now ? last + 1 : now;
    while (!atomic_compare_exchange_weak(&cat->number, &last, next));
    return is_shared(cat) ? next * SLOTS + cat->slot : next;
}

/* Reserves numbers up to an hour ahead; on a clean close exactly what was used. */
static int lease_store(struct ctx *c, struct catalog *cat, uint64_t until)
{
    struct edit edit = {EDIT_PUT, plain_key(&c->arena, CATALOG_LEASE),
                        number_value(&c->arena, until)};
    struct batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};
    int code = wait_apply(c, cat->db->engine, &batch);

    if (code)
        return fail(c, code, "The lease of row stamps could not be stored: %s",
                    err_info(code)->text);
    atomic_store(&cat->lease, until);
    return E_OK;
}

/* At the start. Storage that has files to merge first, after many crashes say, is waited for: an
 * engine takes its time before it says E_BUSY. */
static int lease_first(struct ctx *c, struct catalog *cat)
{
    int64_t until_ms = clock_mono_ms(&cat->db->clock) + START_WAIT_MS;
    int code;

    while ((code = lease_store(c, cat, atomic_load(&cat->number) + LEASE_US)) == E_BUSY &&
           clock_mono_ms(&cat->db->clock) < until_ms)
        ctx_clear(c);
    return code;
}

/* ---- open and close ---- */

static int load_number(struct ctx *c, struct engine *e, enum catalog_kind kind, uint64_t *out)
{
    struct get get = {
        .partition = PARTITION_SYSTEM, .key = plain_key(&c->arena, kind), .view = VIEW_LATEST};

    TRY(wait_get(c, e, &get));
    if (get.found && get.value.len != 8)
        return fail(c, E_CORRUPT, "A number of the catalog is damaged.");
    *out = get.found ? load_u64(get.value.ptr) : 0;
    return E_OK;
}

static int load_tables(struct ctx *c, struct catalog *cat)
{
    struct key_range range = {plain_key(&c->arena, CATALOG_TABLE),
                              plain_key(&c->arena, CATALOG_DROPPED)};
    struct page page = {.more = true};

    while (page.more) {
        struct scan scan = {.partition = PARTITION_SYSTEM,
                            .view = VIEW_LATEST,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = 256,
                            .bytes_max = 1 << 20,
                            .pages = &page};
        uint64_t before = atomic_load(&cat->changes);
        bool changed = false;

        TRY(wait_scan(c, cat->db->engine, &scan));
        for (size_t i = 0; i < page.count && !changed; i++) {
            struct table *t;

            TRY(table_new(c, cat, page.items[i].value, &t));
            changed = !cache_swap(cat, t->schema.instance, t->schema.d.table, t, &before);
            before++;
        }
        if (changed) { /* what was read may be older: once more */
            page.more = true;
            continue;
        }
        if (page.count)
            range.start = key_after(&c->arena, page.items[page.count - 1].key);
        else
            page.more = false;
    }
    return E_OK;
}

/* Ours among those that are open. It comes round again after SLOTS openings. */
static int slot_take(struct ctx *c, struct catalog *cat)
{
    int code = E_GUARD;

    for (int i = 0; code == E_GUARD && i < TRIES_MAX; i++) {
        bytes key = plain_key(&c->arena, CATALOG_SLOT);
        struct edit edit = {EDIT_PUT, key, BYTES_NONE};
        struct guard guard = {key, BYTES_NONE, true};
        struct batch batch = {.partition = PARTITION_SYSTEM,
                              .guards = &guard,
                              .guard_count = 1,
                              .edits = &edit,
                              .edit_count = 1};

        TRY(load_number(c, cat->db->engine, CATALOG_SLOT, &cat->slot));
        guard.absent = !cat->slot;
        guard.value = number_value(&c->arena, cat->slot);
        edit.value = number_value(&c->arena, cat->slot + 1);
        code = wait_apply(c, cat->db->engine, &batch);
    }
    cat->slot %= SLOTS;
    return code ? fail(c, code, "No number among the processes that share the data was to be had.")
                : E_OK;
}

int catalog_open(struct ctx *c, struct wr_db *db, struct catalog **out)
{
    struct catalog *cat = mem_zalloc(sizeof(*cat));
    uint64_t lease = 0, next_id = 0, now = (uint64_t)clock_wall_us(&db->clock);
    int code;

    cat->db = db;
    pthread_rwlock_init(&cat->lock, NULL);
    pthread_mutex_init(&cat->live_lock, NULL);
    code = load_number(c, db->engine, CATALOG_LEASE, &lease);
    if (!code)
        code = load_number(c, db->engine, CATALOG_NEXT_ID, &next_id);
    if (!code)
        code = load_tables(c, cat);
    cat->next_id = next_id ? (uint32_t)next_id : 1;
    /* The lease is the others', too; the slot keeps our numbers apart from theirs. */
    atomic_store(&cat->number, lease > now && !is_shared(cat) ? lease : now);
    if (!code && is_shared(cat))
        code = slot_take(c, cat);
    if (!code)
        code = lease_first(c, cat);
    if (code) {
        pthread_rwlock_destroy(&cat->lock);
        for (int b = 0; b < BUCKETS; b++)
            for (struct table *t = cat->buckets[b], *next; t; t = next) {
                next = t->next;
                table_release(t);
            }
        mem_free(cat);
        return code;
    }
    *out = cat;
    return E_OK;
}

void catalog_close(struct catalog *cat)
{
    struct ctx c;

    if (!cat)
        return;
    ctx_init(&c, &cat->db->clock, &cat->db->log, NULL, 0);
    if (!is_shared(cat)) /* others may be ahead of us */
        lease_store(&c, cat, atomic_load(&cat->number) + 1);
    ctx_release(&c);
    for (int b = 0; b < BUCKETS; b++)
        for (struct table *t = cat->buckets[b], *next; t; t = next) {
            next = t->next;
            table_release(t);
        }
    pthread_rwlock_destroy(&cat->lock);
    mem_free(cat);
}

/* ---- table operations ---- */

/* One operation, from its turn at the latch to its answer. The latch is held until the change is
 * durable and published, so the next operation sees it. */
struct table_op {
    struct latch latch;
    struct call *call;
    bytes name;
    struct table *next; /* to publish; NULL: the table goes */
    struct edit edits[4];
    size_t edit_count;
    struct guard guards[2]; /* where others change tables, too */
    size_t guard_count;
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

static void op_edit(struct batch *b, struct table_op *op, enum edit_type type, bytes key,
                    bytes value)
{
    op->edits[b->edit_count++] = (struct edit){type, key, value};
    b->edits = op->edits;
}

/* Stores `s` under its name and makes the table to publish. */
static int op_put(struct table_op *op, struct batch *b, const struct schema *s)
{
    struct ctx *c = &op->call->c;
    struct buf stored;

    buf_init(&stored, &c->arena, 512);
    schema_encode(&stored, s);
    TRY(table_new(c, op->call->db->catalog, buf_bytes(&stored), &op->next));
    op_edit(b, op, EDIT_PUT, table_key(&c->arena, s->instance, s->d.table), buf_bytes(&stored));
    return E_OK;
}

static int create_table(struct table_op *op, struct batch *b, struct table *old)
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
    TRY(op_put(op, b, schema_from_create(c, id, call->req->instance, &call->req->create_table)));
    op_edit(b, op, EDIT_PUT, plain_key(&c->arena, CATALOG_NEXT_ID),
            number_value(&c->arena, id + 1ull));
    op->guards[op->guard_count++] =
        (struct guard){plain_key(&c->arena, CATALOG_NEXT_ID), number_value(&c->arena, id), id == 1};
    cat->next_id = id + 1; /* an id lost to a failed write is only a gap */
    return E_OK;
}

/* When a table was dropped, and, where partitions are more than ranges, the partitions it had or
 * was about to have. */
static bytes dropped_value(struct arena *a, const struct catalog *cat, const struct schema *s,
                           int64_t now_ms)
{
    struct buf b;

    buf_init(&b, a, 8 + 8 * (s->partition_count + s->cut.made_count));
    store_u64(buf_reserve(&b, 8), (uint64_t)now_ms);
    buf_commit(&b, 8);
    if (cat->db->caps & ENGINE_ONE_MAP)
        return buf_bytes(&b);
    for (size_t i = 0; i < s->partition_count + s->cut.made_count; i++) {
        store_u64(buf_reserve(&b, 8), i < s->partition_count
                                          ? s->partitions[i].id
                                          : s->cut.made[i - s->partition_count].id);
        buf_commit(&b, 8);
    }
    return buf_bytes(&b);
}

static int delete_table(struct table_op *op, struct batch *b, struct table *old)
{
    struct ctx *c = &op->call->c;

    op_edit(b, op, EDIT_DELETE, table_key(&c->arena, old->schema.instance, old->schema.d.table),
            BYTES_NONE);
    op_edit(b, op, EDIT_PUT, dropped_key(&c->arena, old->schema.place.id),
            dropped_value(&c->arena, op->call->db->catalog, &old->schema, op->call->now_ms));
    if (old->schema.mirror.id)
        op_edit(b, op, EDIT_PUT, dropped_key(&c->arena, old->schema.mirror.id),
                number_value(&c->arena, (uint64_t)op->call->now_ms));
    if (old->schema.mirror.id)
        op_edit(b, op, EDIT_DELETE, catalog_rekey_key(&c->arena, old->schema.id), BYTES_NONE);
    return E_OK;
}

static int set_status(struct table_op *op, struct batch *b, struct table *old,
                      enum wr_table_status status)
{
    struct schema s = old->schema;

    s.version++;
    s.d.status = status;
    return op_put(op, b, &s);
}

/* Gives the table a mirror in another layout, which the rekeyer then fills. */
static int rekey_start(struct table_op *op, struct batch *b, struct table *old)
{
    struct call *call = op->call;
    struct ctx *c = &call->c;
    struct schema s = old->schema;

    TRY(rekey_check_start(call, &s, &s.mirror.layout));
    s.version++;
    s.mirror.id = call->db->catalog->next_id;
    s.rekey = REKEY_COPYING;
    s.has_detached = atomic_load(&old->has_detached);
    TRY(op_put(op, b, &s));
    op_edit(b, op, EDIT_PUT, plain_key(&c->arena, CATALOG_NEXT_ID),
            number_value(&c->arena, s.mirror.id + 1ull));
    call->db->catalog->next_id++;
    return E_OK;
}

static int rekey_table(struct table_op *op, struct batch *b, struct table *old)
{
    struct schema s = old->schema;

    if (op->call->req->rekey_table.action == WR_REKEY_START)
        return rekey_start(op, b, old);
    TRY(rekey_check_cancel(op->call, &s));
    s.version++;
    s.rekey = REKEY_CANCELLING;
    s.has_detached = atomic_load(&old->has_detached);
    return op_put(op, b, &s);
}

static int change_table(struct table_op *op, struct batch *b, struct table *old)
{
    struct call *call = op->call;
    const struct wr_request *req = call->req;
    const struct limits *limits = &call->db->limits;
    struct schema *s;

    if (!old)
        return fail_code(&call->c, E_NOT_EXIST);
    switch (req->op) {
    case WR_OP_DELETE_TABLE:
        return delete_table(op, b, old);
    case WR_OP_LOAD_TABLE:
        return set_status(op, b, old, WR_TABLE_ACTIVE);
    case WR_OP_UNLOAD_TABLE:
        return set_status(op, b, old, WR_TABLE_INACTIVE);
    case WR_OP_REKEY_TABLE:
        /* Every write must go to both places, the other servers' too. */
        if (is_shared(call->db->catalog))
            return fail(&call->c, E_UNSUPPORTED,
                        "A table is not rekeyed where several servers share the data. Copy it to "
                        "a new table.");
        return rekey_table(op, b, old);
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
    return op_put(op, b, s);
}

static bytes news_text(struct arena *a, bytes instance, bytes name);
static int refresh(struct ctx *c, struct catalog *cat, bytes instance, bytes name);

static void op_end(struct table_op *op, struct run_list *woken)
{
    struct call *call = op->call;

    latch_pass(call->db->latches, &op->latch, woken);
    call_finish(call);
}

static void op_run(struct latch *l, struct run_list *woken);
static void op_retry(struct job *self);

/* All the others know. */
static void op_told(void *arg, int code)
{
    struct table_op *op = arg;
    struct run_list woken = {0};

    if (code)
        fail_code(&op->call->c, code);
    op_end(op, &woken);
    latch_run(&woken);
}

static void op_done(void *arg, int code)
{
    struct table_op *op = arg;
    struct call *call = op->call;
    struct catalog *cat = call->db->catalog;

    if (code) {
        table_release(op->next);
        op->next = NULL;
        if (code == E_GUARD && op->tries++ < TRIES_MAX) {
            op->job.run = op_retry;
            sweeper_submit(call->db->sweeper, &op->job);
            return;
        }
        op_told(op, code == E_GUARD ? E_CONFLICT : code);
        return;
    }
    if (call->req->op == WR_OP_REKEY_TABLE)
        rekey_describe(call, &op->next->schema);
    else if (op->next)
        schema_describe(&call->c.arena, &op->next->schema, &call->reply.description);
    cache_publish(cat, call->req->instance, op->name, op->next);
    if (is_shared(cat))
        engine_tell(call->db->engine, news_text(&call->c.arena, call->req->instance, op->name),
                    op_told, op);
    else
        op_told(op, E_OK);
}

static void op_apply(struct table_op *op)
{
    struct call *call = op->call;
    struct batch batch = {
        .partition = PARTITION_SYSTEM, .edits = op->edits, .edit_count = op->edit_count};

    if (is_shared(call->db->catalog)) {
        batch.guards = op->guards;
        batch.guard_count = op->guard_count;
    }
    engine_apply(&call->c, call->db->engine, &batch, op_done, op);
}

/* Where a partition is more than a range, it is made before anybody can know of it. What a crash
 * leaves in between is empty and its id never comes again. */
static void op_create(struct job *self)
{
    struct table_op *op = PORT_CONTAINER(self, struct table_op, job);
    struct call *call = op->call;
    const struct schema *s = &op->next->schema;
    int code = E_OK;

    for (size_t i = 0; i < s->partition_count && !code; i++) {
        struct partition_spec spec = {.id = s->partitions[i].id};

        code = engine_create(&call->c, call->db->engine, &spec);
    }
    if (code)
        op_done(op, code);
    else
        op_apply(op);
}

static void op_run(struct latch *l, struct run_list *woken)
{
    struct table_op *op = PORT_CONTAINER(l, struct table_op, latch);
    struct call *call = op->call;
    struct batch batch = {.partition = PARTITION_SYSTEM};
    struct table *old = cache_get(call->db->catalog, call->req->instance, op->name);
    int code = op->tries ? E_OK : check_rate(call);

    op->guards[0] =
        (struct guard){table_key(&call->c.arena, call->req->instance, op->name),
                       old ? arena_copy(&call->c.arena, old->stored) : BYTES_NONE, old == NULL};
    op->guard_count = 1;
    if (!code)
        code = call->req->op == WR_OP_CREATE_TABLE ? create_table(op, &batch, old)
                                                   : change_table(op, &batch, old);
    table_release(old);
    if (code) {
        op_end(op, woken);
        return;
    }
    op->edit_count = batch.edit_count;
    if (call->req->op == WR_OP_CREATE_TABLE && !(call->db->caps & ENGINE_ONE_MAP)) {
        op->job.run = op_create;
        sweeper_submit(call->db->sweeper, &op->job);
    } else {
        op_apply(op);
    }
}

static bytes request_table(const struct wr_request *req)
{
    switch (req->op) {
    case WR_OP_CREATE_TABLE:
        return req->create_table.table;
    case WR_OP_REKEY_TABLE:
        return req->rekey_table.table;
    case WR_OP_UPDATE_TABLE:
        return req->update_table.table;
    case WR_OP_ADD_DEFINED_COLUMN:
        return req->add_defined_column.table;
    case WR_OP_DELETE_DEFINED_COLUMN:
        return req->delete_defined_column.table;
    default:
        return req->describe_table.table; /* those that take only a name share its struct */
    }
}

static void describe_table(struct call *call)
{
    struct table *t =
        cache_get(call->db->catalog, call->req->instance, call->req->describe_table.table);

    if (t) {
        schema_describe(&call->c.arena, &t->schema, &call->reply.description);
        table_release(t);
    } else {
        fail_code(&call->c, E_NOT_EXIST);
    }
    call_finish(call);
}

static void rekey_status(struct call *call)
{
    struct table *t =
        cache_get(call->db->catalog, call->req->instance, call->req->rekey_table.table);

    if (t) {
        rekey_describe(call, &t->schema);
        table_release(t);
    } else {
        fail_code(&call->c, E_NOT_EXIST);
    }
    call_finish(call);
}

static void list_table(struct call *call)
{
    bytes *names;

    call->reply.table_list.count =
        catalog_list(call->db->catalog, &call->c.arena, call->req->instance, &names);
    call->reply.table_list.tables = names;
    call_finish(call);
}

void catalog_exec(struct call *call)
{
    const struct wr_request *req = call->req;
    struct run_list woken = {0};
    struct table_op *op;
    int code;

    if (catalog_check(&call->c, call->db->catalog)) {
        call_finish(call);
        return;
    }
    if (req->op == WR_OP_LIST_TABLE) {
        list_table(call);
        return;
    }
    code = name_check_table(&call->c, request_table(req));
    if (!code && req->op == WR_OP_CREATE_TABLE)
        code = schema_check_create(&call->c, &call->db->limits, &req->create_table);
    if (code) {
        call_finish(call);
        return;
    }
    if (req->op == WR_OP_DESCRIBE_TABLE) {
        describe_table(call);
        return;
    }
    if (req->op == WR_OP_REKEY_TABLE && req->rekey_table.action == WR_REKEY_STATUS) {
        rekey_status(call);
        return;
    }
    op = ARENA_NEW(&call->c.arena, struct table_op);
    op->call = call;
    op->name = request_table(req);
    op->latch.key = BYTES_LIT("catalog");
    op->latch.run = op_run;
    if (latch_take(call->db->latches, &op->latch))
        op_run(&op->latch, &woken);
    latch_run(&woken);
}

/* ---- changes of our own ---- */

void catalog_drop_edit(struct edits *e, uint32_t place_id, int64_t now_ms)
{
    edits_add(e, EDIT_PUT, dropped_key(e->arena, place_id),
              number_value(e->arena, (uint64_t)now_ms));
}

static int change_held(struct ctx *c, struct wr_db *db, const struct table *t,
                       catalog_change_fn *change, void *arg)
{
    struct table *now = cache_get(db->catalog, t->schema.instance, t->schema.d.table), *next;
    struct edits edits = {.arena = &c->arena};
    struct batch batch = {.partition = PARTITION_SYSTEM};
    struct schema s;
    struct buf stored;
    int code;

    if (!now || now->schema.id != t->schema.id) {
        table_release(now);
        return fail_code(c, E_NOT_EXIST);
    }
    s = now->schema;
    s.version++;
    s.has_detached = atomic_load(&now->has_detached);
    code = change(c, &s, &edits, arg);
    buf_init(&stored, &c->arena, 512);
    schema_encode(&stored, &s);
    if (!code)
        code = table_new(c, db->catalog, buf_bytes(&stored), &next);
    table_release(now);
    TRY(code);
    edits_add(&edits, EDIT_PUT, table_key(&c->arena, t->schema.instance, t->schema.d.table),
              buf_bytes(&stored));
    batch.edits = edits.items;
    batch.edit_count = edits.count;
    code = wait_apply(c, db->engine, &batch);
    if (code)
        table_release(next);
    else
        cache_publish(db->catalog, t->schema.instance, t->schema.d.table, next);
    return code;
}

int catalog_change(struct ctx *c, struct wr_db *db, const struct table *t,
                   catalog_change_fn *change, void *arg)
{
    struct held held;
    int code;

    hold(db->latches, &held, BYTES_LIT("catalog"));
    code = change_held(c, db, t, change, arg);
    let_go(db->latches, &held);
    return code;
}

/* ---- detached data ---- */

/* A table operation of our own: it has no call, so it carries its context itself. */
struct mark_op {
    struct latch latch;
    struct ctx c;
    struct wr_db *db;
    struct table *table;
    struct table *next;
    struct edit edit;
    struct guard guard;
    int tries;
    struct job job;
    void (*done)(void *arg, int code);
    void *arg;
};

static void mark_end(struct mark_op *op, int code, struct run_list *woken)
{
    if (!code)
        atomic_store(&op->table->has_detached, true);
    latch_pass(op->db->latches, &op->latch, woken);
    op->done(op->arg, code);
    table_release(op->table);
    ctx_release(&op->c);
    mem_free(op);
}

static void mark_run(struct latch *l, struct run_list *woken);

static void mark_retry(struct job *self)
{
    struct mark_op *op = PORT_CONTAINER(self, struct mark_op, job);
    const struct schema *s = &op->table->schema;
    struct run_list woken = {0};
    int code = refresh(&op->c, op->db->catalog, s->instance, s->d.table);

    if (code)
        mark_end(op, code, &woken);
    else
        mark_run(&op->latch, &woken);
    latch_run(&woken);
}

static void mark_told(void *arg, int code)
{
    struct mark_op *op = arg;
    struct run_list woken = {0};

    mark_end(op, code, &woken);
    latch_run(&woken);
}

static void mark_done(void *arg, int code)
{
    struct mark_op *op = arg;
    struct wr_db *db = op->db;

    if (code) {
        table_release(op->next);
        if (code == E_GUARD && op->tries++ < TRIES_MAX) {
            op->job.run = mark_retry;
            sweeper_submit(db->sweeper, &op->job);
            return;
        }
        mark_told(op, code == E_GUARD ? E_CONFLICT : code);
        return;
    }
    cache_publish(db->catalog, op->next->schema.instance, op->next->schema.d.table, op->next);
    if (is_shared(db->catalog))
        engine_tell(db->engine,
                    news_text(&op->c.arena, op->table->schema.instance, op->table->schema.d.table),
                    mark_told, op);
    else
        mark_told(op, E_OK);
}

static void mark_run(struct latch *l, struct run_list *woken)
{
    struct mark_op *op = PORT_CONTAINER(l, struct mark_op, latch);
    struct batch batch = {.partition = PARTITION_SYSTEM, .edits = &op->edit, .edit_count = 1};
    const struct schema *mine = &op->table->schema;
    struct table *now = cache_get(op->db->catalog, mine->instance, mine->d.table);
    struct schema s;
    struct buf stored;
    int code;

    /* Dropped or replaced meanwhile: what is written to the old table goes with it. */
    if (!now || now->schema.id != mine->id || atomic_load(&now->has_detached)) {
        table_release(now);
        mark_end(op, E_OK, woken);
        return;
    }
    s = now->schema;
    s.version++;
    s.has_detached = true;
    buf_init(&stored, &op->c.arena, 512);
    schema_encode(&stored, &s);
    code = table_new(&op->c, op->db->catalog, buf_bytes(&stored), &op->next);
    op->edit =
        (struct edit){EDIT_PUT, table_key(&op->c.arena, s.instance, s.d.table), buf_bytes(&stored)};
    op->guard = (struct guard){op->edit.key, arena_copy(&op->c.arena, now->stored), false};
    if (is_shared(op->db->catalog)) {
        batch.guards = &op->guard;
        batch.guard_count = 1;
    }
    table_release(now);
    if (code)
        mark_end(op, code, woken);
    else
        engine_apply(&op->c, op->db->engine, &batch, mark_done, op);
}

void catalog_mark_detached(struct wr_db *db, struct table *t, void (*done)(void *arg, int code),
                           void *arg)
{
    struct run_list woken = {0};
    struct mark_op *op;

    if (atomic_load(&t->has_detached)) {
        done(arg, E_OK);
        return;
    }
    op = mem_zalloc(sizeof(*op));
    ctx_init(&op->c, &db->clock, &db->log, NULL, 0);
    op->db = db;
    op->table = table_ref(t);
    op->done = done;
    op->arg = arg;
    op->latch.key = BYTES_LIT("catalog");
    op->latch.run = mark_run;
    if (latch_take(db->latches, &op->latch))
        mark_run(&op->latch, &woken);
    latch_run(&woken);
}

/* ---- other partitions ---- */

/* A recut while it is prepared; `now` is the table as it is published. */
struct recut {
    struct ctx *c;
    struct wr_db *db;
    const struct table *now;
    size_t first, count; /* of its partitions, to go */
    struct schema_partition *list;
    size_t list_count;
    size_t made; /* of list, from `first` on: new */
};

/* What the engine is told: partitions of either side. */
static struct partition_spec *recut_specs(struct recut *r, const struct schema_partition *list,
                                          size_t list_count, size_t count)
{
    struct arena *a = &r->c->arena;
    struct partition_spec *specs = ARENA_ARRAY(a, struct partition_spec, count);

    for (size_t i = 0; i < count; i++) {
        const struct schema_partition *p = &list[r->first + i];
        bool last = r->first + i + 1 == list_count;

        specs[i] = partition_spec(a, r->now->schema.place.id, p->id, p->start,
                                  last ? BYTES_NONE : p[1].start);
    }
    return specs;
}

static void recut_list(struct recut *r, const bytes *bounds, size_t bound_count)
{
    const struct schema *s = &r->now->schema;
    uint64_t stored = 0;

    for (size_t i = r->first; i < r->first + r->count; i++)
        stored += atomic_load(&r->now->partitions.at[i].partition->bytes);
    r->made = bound_count + 1;
    r->list = ARENA_ARRAY(&r->c->arena, struct schema_partition, s->partition_count + r->made);
    for (size_t i = 0; i < r->first; i++)
        r->list[r->list_count++] = s->partitions[i];
    for (size_t i = 0; i < r->made; i++)
        r->list[r->list_count++] = (struct schema_partition){
            .id = catalog_next_number(r->db->catalog),
            .start = i ? bounds[i - 1] : s->partitions[r->first].start,
            .created_us = clock_wall_us(&r->db->clock),
            .bytes = stored / r->made,
        };
    for (size_t i = r->first + r->count; i < s->partition_count; i++)
        r->list[r->list_count++] = s->partitions[i];
}

/* The description `s` in place of r->now's, durable and published. E_GUARD: another process was
 * faster. The catalog's latch is held. */
static int recut_put(struct recut *r, struct schema *s)
{
    struct ctx *c = r->c;
    struct catalog *cat = r->db->catalog;
    bytes key = table_key(&c->arena, s->instance, s->d.table);
    struct edit edit = {EDIT_PUT, key, BYTES_NONE};
    struct guard guard = {key, r->now->stored, false};
    struct batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};
    struct table *next;
    struct buf stored;
    int code;

    s->has_detached = atomic_load(&r->now->has_detached);
    buf_init(&stored, &c->arena, 1024);
    schema_encode(&stored, s);
    TRY(table_new(c, cat, buf_bytes(&stored), &next));
    edit.value = buf_bytes(&stored);
    if (is_shared(cat)) {
        batch.guards = &guard;
        batch.guard_count = 1;
    }
    code = wait_apply(c, r->db->engine, &batch);
    if (code) {
        table_release(next);
        return code == E_GUARD ? code : fail(c, code, "%s", err_info(code)->text);
    }
    if (!s->cut.made_count)
        (void)fault_hit(FAULT_recut_after_store);
    cache_publish(cat, s->instance, s->d.table, next);
    return E_OK;
}

/* On an engine that is one map a cut moves nothing. The engine first: a process that dies before
 * the list is stored finds the old one, and makes the cut again. */
static int recut_range(struct recut *r)
{
    const struct schema *old = &r->now->schema;
    struct partition_spec *from = recut_specs(r, old->partitions, old->partition_count, r->count);
    struct partition_spec *to = recut_specs(r, r->list, r->list_count, r->made);
    struct schema *s;

    (void)fault_hit(FAULT_recut_before_engine);
    TRY(engine_recut(r->c, r->db->engine, from, r->count, to, r->made));
    (void)fault_hit(FAULT_recut_before_store);
    TRY(schema_recut(r->c, old, r->list, r->list_count, &s));
    return recut_put(r, s);
}

static void recut_count(struct recut *r, int64_t took_us)
{
    struct traffic *t = r->now->traffic;

    atomic_fetch_add(r->made > r->count ? &t->splits : &t->merges, 1);
    if ((uint64_t)took_us > atomic_load(&t->cut_us_max))
        atomic_store(&t->cut_us_max, (uint64_t)took_us);
    log_info(&r->db->log, "partitions: table '%.*s': %zu became %zu in %lld us",
             BYTES_FMT(r->now->schema.d.table), r->count, r->made, (long long)took_us);
}

/* Is the table still the one that was looked at, as far as it matters? */
static bool recut_fits(const struct table *now, const struct table *t, size_t first, size_t count)
{
    return now && now->schema.id == t->schema.id && !now->schema.cut.made_count &&
           now->partitions.count == t->partitions.count &&
           now->partitions.at[first].partition == t->partitions.at[first].partition &&
           now->partitions.at[first + count - 1].partition ==
               t->partitions.at[first + count - 1].partition;
}

/* ---- cuts that move rows ----
 *
 * Where partitions are more than ranges, a cut goes in three steps, each of which any process can
 * take up where another one left it:
 *
 *   1. What is to be made is written into the description: ids and bounds (schema.cut). From now on
 *      the cut can only be brought to its end.
 *   2. engine_recut(), which may run any number of times, also in two processes at once. While it
 *      copies, the old partitions are read but not written; then they are gone for ever.
 *   3. The description with the new list and without the note.
 *
 * Requests that meet the old partitions are told E_PARTITION and wait for step 3 (route.h). No
 * lease is needed: a process that was paused anywhere in between finds at its next step that it has
 * been done. */

static void cut_told(void *arg, int code)
{
    struct ctx *c = arg;

    (void)code; /* who does not know will be told by the engine: E_PARTITION */
    ctx_release(c);
    mem_free(c);
}

/* The others learn of it soon; nobody waits for that. */
static void cut_tell(struct wr_db *db, const struct schema *s)
{
    struct ctx *c = mem_zalloc(sizeof(*c));

    ctx_init(c, &db->clock, &db->log, NULL, 0);
    engine_tell(db->engine, news_text(&c->arena, s->instance, s->d.table), cut_told, c);
}

/* Step 1. */
static int cut_note(struct recut *r)
{
    struct schema s = r->now->schema;
    int code;

    s.version++;
    s.cut = (struct schema_cut){r->first, r->count, &r->list[r->first], r->made};
    code = recut_put(r, &s);
    if (!code) {
        (void)fault_hit(FAULT_recut_noted);
        cut_tell(r->db, &s); /* so that others end it if we do not */
    }
    if (code != E_GUARD)
        return code;
    TRY(refresh(r->c, r->db->catalog, s.instance, s.d.table));
    return fail_code(r->c, E_PARTITION);
}

/* r->list: the partitions of a table whose cut is done. */
static void cut_list(struct recut *r)
{
    const struct schema *s = &r->now->schema;
    size_t n = 0;

    r->first = s->cut.first;
    r->count = s->cut.count;
    r->made = s->cut.made_count;
    r->list_count = s->partition_count - r->count + r->made;
    r->list = ARENA_ARRAY(&r->c->arena, struct schema_partition, r->list_count);
    for (size_t i = 0; i < r->first; i++)
        r->list[n++] = s->partitions[i];
    for (size_t i = 0; i < r->made; i++)
        r->list[n++] = s->cut.made[i];
    for (size_t i = r->first + r->count; i < s->partition_count; i++)
        r->list[n++] = s->partitions[i];
}

/* Is that cut (named by the first partition that it makes) still under way in `now`? */
static bool cut_goes_on(const struct table *now, const struct table *t, uint64_t id)
{
    return now && now->schema.id == t->schema.id && now->schema.cut.made_count &&
           now->schema.cut.made[0].id == id;
}

/* Step 3, once. */
static int cut_store(struct ctx *c, struct wr_db *db, const struct table *t, uint64_t id,
                     int64_t start_us)
{
    struct recut r = {.c = c, .db = db};
    struct schema *s;
    struct held held;
    struct table *now;
    int code = E_OK;

    hold(db->latches, &held, BYTES_LIT("catalog"));
    r.now = now = cache_get(db->catalog, t->schema.instance, t->schema.d.table);
    if (cut_goes_on(now, t, id)) {
        cut_list(&r);
        code = schema_recut(c, &now->schema, r.list, r.list_count, &s);
        if (!code)
            code = recut_put(&r, s);
        if (!code) {
            recut_count(&r, clock_mono_us(&db->clock) - start_us);
            cut_tell(db, s);
        }
    }
    let_go(db->latches, &held);
    table_release(now);
    return code;
}

/* Steps 2 and 3 of the cut that `now` notes. */
static int cut_run(struct ctx *c, struct wr_db *db, const struct table *now)
{
    struct recut r = {.c = c, .db = db, .now = now};
    const struct schema *s = &now->schema;
    uint64_t id = s->cut.made[0].id;
    int64_t start_us = clock_mono_us(&db->clock);
    struct partition_spec *from, *to;
    int code;

    cut_list(&r);
    from = recut_specs(&r, s->partitions, s->partition_count, r.count);
    to = recut_specs(&r, r.list, r.list_count, r.made);
    (void)fault_hit(FAULT_recut_before_engine);
    TRY(engine_recut(c, db->engine, from, r.count, to, r.made));
    (void)fault_hit(FAULT_recut_before_store);
    while ((code = cut_store(c, db, now, id, start_us)) == E_GUARD)
        TRY(refresh(c, db->catalog, s->instance, s->d.table));
    return code;
}

int catalog_end_cut(struct ctx *c, const struct table *t)
{
    struct wr_db *db = t->db;
    struct table *now = cache_get(db->catalog, t->schema.instance, t->schema.d.table);
    int code = E_OK;

    if (now && now->schema.id == t->schema.id && now->schema.cut.made_count)
        code = cut_run(c, db, now);
    table_release(now);
    return code;
}

int catalog_refresh(struct ctx *c, const struct table *t)
{
    struct catalog *cat = t->db->catalog;
    struct table *now;
    bool same;

    TRY(refresh(c, cat, t->schema.instance, t->schema.d.table));
    now = cache_get(cat, t->schema.instance, t->schema.d.table);
    same = now && now->schema.id == t->schema.id;
    table_release(now);
    return same ? E_OK : fail_code(c, E_NOT_EXIST);
}

int catalog_recut(struct ctx *c, struct wr_db *db, struct table *t, size_t first, size_t count,
                  const bytes *bounds, size_t bound_count)
{
    bool moves = !(db->caps & ENGINE_ONE_MAP);
    struct recut r = {.c = c, .db = db, .first = first, .count = count};
    struct table *now;
    struct held held;
    int64_t start_us;
    int code;

    hold(db->latches, &held, BYTES_LIT("catalog"));
    start_us = clock_mono_us(&db->clock);
    r.now = now = cache_get(db->catalog, t->schema.instance, t->schema.d.table);
    if (recut_fits(now, t, first, count)) {
        recut_list(&r, bounds, bound_count);
        code = moves ? cut_note(&r) : recut_range(&r);
    } else {
        code = fail_code(c, E_PARTITION);
    }
    if (!code && !moves)
        recut_count(&r, clock_mono_us(&db->clock) - start_us);
    let_go(db->latches, &held);
    table_release(now);
    if (!code && moves)
        code = catalog_end_cut(c, t);
    return code;
}

/* ---- other processes ----
 *
 * Where others change tables, too, each change guards the stored record that it was made from, and
 * is told to all before it is answered; who is told reads the record again. A process that may
 * have missed news serves nothing until it has read all of them. */

static bytes news_text(struct arena *a, bytes instance, bytes name)
{
    struct buf b;

    buf_init(&b, a, 16 + instance.len + name.len);
    buf_put_varint(&b, instance.len);
    buf_put_bytes(&b, instance);
    buf_put_bytes(&b, name);
    return buf_bytes(&b);
}

/* No instance has an empty name. */
bytes catalog_text_news(struct arena *a)
{
    return news_text(a, BYTES_NONE, BYTES_NONE);
}

/* Reads the table of that name from storage into the cache. Blocks. */
static int refresh(struct ctx *c, struct catalog *cat, bytes instance, bytes name)
{
    for (;;) {
        uint64_t before = atomic_load(&cat->changes);
        struct get get = {.partition = PARTITION_SYSTEM,
                          .key = table_key(&c->arena, instance, name),
                          .view = VIEW_DURABLE};
        struct table *t = NULL;

        TRY(wait_get(c, cat->db->engine, &get));
        if (get.found)
            TRY(table_new(c, cat, get.value, &t));
        if (cache_swap(cat, instance, name, t, &before))
            return E_OK;
    }
}

static void op_retry(struct job *self)
{
    struct table_op *op = PORT_CONTAINER(self, struct table_op, job);
    struct call *call = op->call;
    struct catalog *cat = call->db->catalog;
    struct run_list woken = {0};
    uint64_t id = 0;
    int code = refresh(&call->c, cat, call->req->instance, op->name);

    if (!code)
        code = load_number(&call->c, call->db->engine, CATALOG_NEXT_ID, &id);
    if (id)
        cat->next_id = (uint32_t)id;
    if (code)
        op_end(op, &woken);
    else
        op_run(&op->latch, &woken);
    latch_run(&woken);
}

struct heard {
    struct job job;
    struct catalog *cat;
    struct news *news;
};

static void heard_run(struct job *self)
{
    struct heard *h = PORT_CONTAINER(self, struct heard, job);
    struct catalog *cat = h->cat;
    struct reader r = reader_of(h->news->text);
    bytes instance = read_bytes(&r, (size_t)read_varint(&r)), answer = BYTES_NONE;
    struct ctx c;
    int code;

    ctx_init(&c, &cat->db->clock, &cat->db->log, NULL, 0);
    if (peers_is_question(h->news->text)) {
        code = E_OK;
        answer = peers_answer(&c, cat->db, h->news->text);
    } else if (r.bad)
        code = E_CORRUPT;
    else if (!instance.len)
        code = texts_changed(&cat->db->texts);
    else
        code = refresh(&c, cat, instance, read_bytes(&r, reader_left(&r)));
    if (code) /* without the record we know less than we say we do */
        atomic_fetch_add(&cat->missed, 1);
    engine_news_done(cat->db->engine, h->news, answer);
    ctx_release(&c);
    mem_free(h);
}

static void on_news(void *arg, struct news *n)
{
    struct catalog *cat = arg;
    struct heard *h = mem_zalloc(sizeof(*h));

    h->cat = cat;
    h->news = n;
    h->job.run = heard_run;
    sweeper_submit(cat->db->sweeper, &h->job);
}

static int listen_begin(struct ctx *c, struct catalog *cat)
{
    int64_t now = clock_mono_ms(&cat->db->clock);

    TRY(engine_listen(c, cat->db->engine, on_news, cat));
    atomic_store(&cat->good_until_ms, now + ENGINE_TOUCH_MS);
    return E_OK;
}

/* Every name that is stored or cached is read again, in listening. */
static int reload_all(struct ctx *c, struct catalog *cat)
{
    struct table **cached;
    size_t n = catalog_all(cat, &c->arena, &cached);
    int code = E_OK;

    for (size_t i = 0; i < n; i++) {
        if (!code)
            code = refresh(c, cat, cached[i]->schema.instance, cached[i]->schema.d.table);
        table_release(cached[i]);
    }
    TRY(code);
    TRY(load_tables(c, cat));
    return texts_changed(&cat->db->texts);
}

static void reload_run(struct job *self)
{
    struct catalog *cat = PORT_CONTAINER(self, struct catalog, reload);
    struct engine *e = cat->db->engine;
    uint64_t missed = atomic_load(&cat->missed);
    struct ctx c;
    int code = E_OK;

    ctx_init(&c, &cat->db->clock, &cat->db->log, NULL, 0);
    if (engine_touch_ms(e) == INT64_MAX)
        code = listen_begin(&c, cat);
    if (!code && engine_touch_ms(e) < ENGINE_TOUCH_MS && !reload_all(&c, cat)) {
        atomic_store(&cat->made_up, missed); /* what was missed since counts anew */
        log_info(&cat->db->log, "catalog: in touch with the other servers again");
    }
    ctx_release(&c);
    atomic_store(&cat->reloading, false);
}

int catalog_start(struct ctx *c, struct catalog *cat)
{
    if (!is_shared(cat))
        return E_OK;
    TRY(listen_begin(c, cat));
    return reload_all(c, cat);
}

static bool is_stale(const struct catalog *cat)
{
    return atomic_load(&cat->missed) != atomic_load(&cat->made_up);
}

int catalog_check(struct ctx *c, struct catalog *cat)
{
    int64_t now, age;

    if (!is_shared(cat))
        return E_OK;
    now = clock_mono_ms(&cat->db->clock);
    if (!is_stale(cat) && now < atomic_load(&cat->good_until_ms) - ENGINE_TOUCH_MS / 2)
        return E_OK;
    age = engine_touch_ms(cat->db->engine);
    if (age < ENGINE_TOUCH_MS)
        atomic_store(&cat->good_until_ms, now - age + ENGINE_TOUCH_MS);
    else
        atomic_fetch_add(&cat->missed, 1);
    if (!is_stale(cat))
        return E_OK;
    if (!atomic_exchange(&cat->reloading, true)) {
        cat->reload.run = reload_run;
        sweeper_submit(cat->db->sweeper, &cat->reload);
    }
    return fail(c, E_UNAVAILABLE,
                "This server is out of touch with the others; it reads its tables again.");
}

/* ---- sweeping ---- */

/* `ids`: eight bytes each; none: the one that all of the table is in. */
static int drop_table(struct ctx *c, struct wr_db *db, bytes record_key, bytes ids)
{
    uint32_t id = load_u32_be(bytes_u8(record_key) + KEY_PREFIX_BYTES);
    struct buf from, to;
    struct key_range range;
    struct partition_spec spec = {.id = id, .ranges = &range, .range_count = 1};
    struct edit edit = {EDIT_DELETE, record_key, BYTES_NONE};
    struct batch batch = {.partition = PARTITION_SYSTEM, .edits = &edit, .edit_count = 1};

    buf_init(&from, &c->arena, 8);
    buf_init(&to, &c->arena, 8);
    store_u32_be(buf_reserve(&from, 4), id);
    buf_commit(&from, 4);
    store_u32_be(buf_reserve(&to, 4), id + 1);
    buf_commit(&to, 4);
    range = (struct key_range){buf_bytes(&from), buf_bytes(&to)};
    for (size_t i = 0; i == 0 || i < ids.len / 8; i++) {
        if (ids.len)
            spec.id = load_u64(bytes_u8(ids) + 8 * i);
        TRY(engine_drop(c, db->engine, &spec));
    }
    return wait_apply(c, db->engine, &batch);
}

/* A drop whose answer stayed open (E_UNSURE) may be stored although the table is served. Then it is
 * read again, long before its rows go. */
static void forget_dropped(struct ctx *c, struct catalog *cat, const struct page *page)
{
    struct table **cached;
    size_t n = page->count ? catalog_all(cat, &c->arena, &cached) : 0;

    for (size_t i = 0; i < n; i++) {
        const struct schema *s = &cached[i]->schema;
        bool stale = false;

        for (size_t j = 0; j < page->count && !stale; j++) {
            bytes key = page->items[j].key;
            uint32_t id =
                key.len == KEY_PREFIX_BYTES + 4 ? load_u32_be(bytes_u8(key) + KEY_PREFIX_BYTES) : 0;

            stale = id && (id == s->place.id || id == s->mirror.id);
        }
        if (stale && refresh(c, cat, s->instance, s->d.table))
            log_warn(&cat->db->log, "sweep: a dropped table cannot be read again yet: %s",
                     c->text ? c->text : "storage error");
        table_release(cached[i]);
    }
}

void catalog_sweep(struct wr_db *db, int64_t now_ms)
{
    struct catalog *cat = db->catalog;
    struct ctx c;
    struct key_range range;
    struct page page = {0};
    struct scan scan = {.partition = PARTITION_SYSTEM,
                        .view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 64,
                        .bytes_max = 1 << 16,
                        .pages = &page};

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    /* So that one who was paused catches up though nobody asks him for a table. */
    if (catalog_check(&c, cat))
        ctx_clear(&c);
    if (atomic_load(&cat->lease) < atomic_load(&cat->number) + LEASE_US / 2)
        lease_store(&c, cat, atomic_load(&cat->number) + LEASE_US);
    range = (struct key_range){plain_key(&c.arena, CATALOG_DROPPED),
                               plain_key(&c.arena, CATALOG_LEASE)};
    if (!wait_scan(&c, db->engine, &scan)) {
        forget_dropped(&c, cat, &page);
        for (size_t i = 0; i < page.count; i++) {
            struct kv *kv = &page.items[i];

            if (kv->value.len >= 8 && kv->value.len % 8 == 0 &&
                kv->key.len == KEY_PREFIX_BYTES + 4 &&
                (int64_t)load_u64(kv->value.ptr) + DROP_GRACE_MS <= now_ms &&
                drop_table(&c, db, kv->key, bytes_skip(kv->value, 8)))
                log_warn(&db->log, "sweep: a dropped table could not be removed yet: %s",
                         c.text ? c.text : "storage error");
        }
    }
    ctx_release(&c);
}
