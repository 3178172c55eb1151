#include "table/changelog/change_log.h"

#include "base/invariant.h"
#include "table/catalog/catalog_txn.h"
#include "table/model/change_point.h"
#include "table/stream/stream_record.h"
#include "table/sync/wait.h"

#define SHARD_RECORDS 0
#define SHARD_GONE 1
#define TRIM_US 60000000u                   /* of changes, before they are removed */
#define HOUR_US 3600000000u                 /* between two times at which nothing is left of them */
#define LEFT_BYTES_MAX ((uint64_t)64 << 20) /* meanwhile, in table files that have others, too */
#define ROUNDS_MAX 40                       /* of halving a time: then nothing is left */

/* ---- writing ---- */

static void change_log_record(const struct row_observer *o, const struct row_change *change,
                              struct batch_builder *e)
{
    (void)o;
    batch_add(e, EDIT_PUT_NUMBERED,
              stream_record_prefix(e->arena, change->table->schema.change_log, SHARD_RECORDS),
              arena_copy(e->arena, change->cols));
}

void change_log_observe(struct wr_db *db, struct table *t)
{
    struct row_observer *o;

    if (!db->keeps_change_logs || !t->schema.change_log)
        return;
    o = ARENA_NEW(&t->ctx.arena, struct row_observer);
    *o = (struct row_observer){.needs = OLD_ROW_NEVER, .record = change_log_record};
    change_point_observe(t, o);
}

/* ---- on and off ---- */

struct switching {
    struct catalog_txn txn;
    bool on;
};

static int decide_switch(struct catalog_txn *x)
{
    const struct switching *w = PORT_CONTAINER(x, struct switching, txn);
    struct schema s;

    if (!x->now)
        return fail_code(x->c, E_NOT_EXIST);
    if (w->on == (x->now->schema.change_log != 0))
        return E_OK;
    s = catalog_txn_draft(x);
    if (!w->on)
        catalog_drop_edit(&x->builder, s.change_log, db_clock_ms(x->db));
    s.change_log = w->on ? catalog_txn_ids(x, 1) : 0;
    return catalog_txn_put(x, &s);
}

int change_log_switch(struct ctx *c, struct wr_db *db, bytes instance, bytes table, bool on)
{
    struct switching w = {
        .txn = {.db = db, .c = c, .instance = instance, .name = table, .decide = decide_switch},
        .on = on};
    int code;

    if (!db->keeps_change_logs)
        return fail(c, E_UNSUPPORTED, "This storage engine keeps no change log.");
    code = catalog_txn_wait(&w.txn);
    catalog_txn_release(&w.txn);
    return code;
}

/* ---- reading ---- */

static bytes record_at(struct ctx *c, const struct table *t, uint64_t number)
{
    return stream_record_key(&c->arena, t->schema.change_log, SHARD_RECORDS, number);
}

static int scan_records(struct ctx *c, const struct table *t, uint64_t from, bool backward,
                        size_t max, struct page *out)
{
    struct key_range range = {record_at(c, t, from), record_at(c, t, UINT64_MAX)};
    struct scan scan = {.partition = PARTITION_SYSTEM, /* one key space: it is not asked for */
                        .view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .backward = backward,
                        .items_max = max,
                        .bytes_max = 1 << 20,
                        .pages = out};

    return wait_scan(c, t->db->engine, &scan);
}

/* Records below *out are gone. */
static int read_gone(struct ctx *c, const struct table *t, uint64_t *out)
{
    struct get get = {.partition = PARTITION_SYSTEM,
                      .view = VIEW_DURABLE,
                      .key = stream_record_key(&c->arena, t->schema.change_log, SHARD_GONE, 0)};

    TRY(wait_get(c, t->db->engine, &get));
    *out = 0;
    if (!get.found)
        return E_OK;
    if (get.value.len != sizeof(uint64_t))
        return fail(c, E_CORRUPT, "The end of a change log that is gone has %zu bytes.",
                    get.value.len);
    *out = load_u64_be(bytes_u8(get.value));
    return E_OK;
}

int change_log_end(struct ctx *c, const struct table *t, uint64_t *position)
{
    struct page page;

    TRY(read_gone(c, t, position));
    TRY(scan_records(c, t, *position, true, 1, &page));
    if (page.count)
        *position = stream_record_number(page.items[0].key) + 1;
    return E_OK;
}

/* What is gone is asked for behind the records, so that none can go between the two. */
int change_log_read(struct ctx *c, const struct table *t, uint64_t position, size_t max,
                    struct change_log_page *out)
{
    struct page page;
    uint64_t gone;

    invariant(max > 0);
    *out = (struct change_log_page){.next = position};
    TRY(scan_records(c, t, position, false, max, &page));
    TRY(read_gone(c, t, &gone));
    if (gone > position) {
        out->gone = true;
        return E_OK;
    }
    out->keys = ARENA_ARRAY(&c->arena, bytes, page.count);
    for (size_t i = 0; i < page.count; i++)
        out->keys[i] = arena_copy(&c->arena, page.items[i].value);
    out->count = page.count;
    out->more = page.more;
    if (page.count)
        out->next = stream_record_number(page.items[page.count - 1].key) + 1;
    return E_OK;
}

/* ---- removing ---- */

/* Said durably before it is done, in place of what was read (0: nothing was there): who trims and
 * who keeps the log small may both be at it, and it never goes back. */
static int note_gone(struct ctx *c, const struct table *t, uint64_t was, uint64_t below)
{
    bytes key = stream_record_key(&c->arena, t->schema.change_log, SHARD_GONE, 0);
    uint8_t before[sizeof(uint64_t)], value[sizeof(uint64_t)];
    struct guard guard = {
        .key = key, .value = bytes_of(before, sizeof(before)), .absent = was == 0};
    struct edit edit = {EDIT_PUT, key, bytes_of(value, sizeof(value))};
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = &guard,
                                .guard_count = 1,
                                .edits = &edit,
                                .edit_count = 1};

    store_u64_be(before, was);
    store_u64_be(value, below);
    return wait_apply(c, t->db->engine, &batch);
}

/* Whole table files go at once, since that costs nothing. What is gone and shares a file with
 * others is taken out once an hour, or when it is much, or when the disk needs it: by a tombstone,
 * and all that lies about it is written anew. Until then it is there and nobody reads it, also what
 * somebody left there who was killed. */
static int erase_gone(struct ctx *c, const struct table *t, uint64_t was, uint64_t below, bool all)
{
    struct key_range range = {record_at(c, t, 0), record_at(c, t, below)};
    struct partition_spec spec = {.id = t->schema.change_log, .ranges = &range, .range_count = 1};
    uint64_t left;

    TRY(engine_discard(c, t->db->engine, &spec, &left));
    if (!all && was / HOUR_US == below / HOUR_US && left <= LEFT_BYTES_MAX)
        return E_OK;
    return engine_erase(c, t->db->engine, &spec);
}

/* Another who was at it meanwhile has done as well. */
static int remove_below(struct ctx *c, const struct table *t, uint64_t from, uint64_t below,
                        bool all)
{
    int code = note_gone(c, t, from, below);

    if (code == E_GUARD) {
        ctx_clear(c);
        return E_OK;
    }
    TRY(code);
    return erase_gone(c, t, from, below, all);
}

int change_log_trim(struct ctx *c, const struct table *t, uint64_t position)
{
    uint64_t gone, first;
    struct page page;

    TRY(read_gone(c, t, &gone));
    TRY(scan_records(c, t, gone, false, 1, &page));
    if (!page.count)
        return E_OK;
    first = stream_record_number(page.items[0].key);
    return position > first && position - first >= TRIM_US
               ? remove_below(c, t, gone, position, false)
               : E_OK;
}

static int log_bytes(struct ctx *c, const struct table *t, uint64_t from, uint64_t *out)
{
    struct key_range range = {record_at(c, t, from), record_at(c, t, UINT64_MAX)};
    struct partition_spec spec = {.id = t->schema.change_log, .ranges = &range, .range_count = 1};

    return engine_size(c, t->db->engine, &spec, out);
}

int change_log_bound(struct ctx *c, const struct table *t, uint64_t bytes_max,
                     struct change_log_bounded *out)
{
    uint64_t gone, first, from, end;
    struct page page;

    *out = (struct change_log_bounded){0};
    TRY(read_gone(c, t, &gone));
    TRY(scan_records(c, t, gone, false, 1, &page));
    if (!page.count)
        return E_OK;
    first = from = stream_record_number(page.items[0].key);
    TRY(log_bytes(c, t, from, &out->bytes));
    if (out->bytes <= bytes_max)
        return E_OK;
    TRY(change_log_end(c, t, &end));
    for (int i = 0; i < ROUNDS_MAX && out->bytes > bytes_max; i++) {
        from += (end - from + 1) / 2;
        TRY(log_bytes(c, t, from, &out->bytes));
    }
    out->removed = from > first;
    return out->removed ? remove_below(c, t, gone, from, true) : E_OK;
}
