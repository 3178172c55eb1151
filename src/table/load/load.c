/* load.c: rows into a table that has none, past the log (widerow_load.h).
 *
 * A row becomes the record that a put makes of it, by the same functions, for a row that is not
 * there. Records are sorted by their stored keys, and go to the engine in bulk, whose files it
 * takes over all at once. The engine refuses files that overlap what is stored: so a table in which
 * somebody wrote meanwhile stays as it is. */
#include "widerow_load.h"

#include "base/fault.h"
#include "engine/sorter.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/call.h"
#include "table/core/db_clock.h"
#include "table/model/change.h"
#include "table/model/key.h"
#include "table/model/modify.h"
#include "table/model/name.h"

#include <stdio.h>

#define SORT_FILE "load.sort" /* in the caller's folder; it loses that name at once */

struct wr_load {
    struct wr_db *db;
    struct table *table;
    struct sorter *sorter;
    struct ctx c; /* of a row */
    int code;     /* it cannot go on */
    /* While they are stored: the last record that was taken, which the next one may replace. */
    struct kv last; /* key.ptr NULL: there is none */
    uint8_t *last_data;
    size_t last_size;
};

/* What follows the table's changes, which do not happen here. NULL: nothing does. */
static const char *follower(const struct table *t)
{
    const struct schema *s = &t->schema;

    if (s->index_count || s->d.index_count)
        return "secondary indexes";
    if (s->stream.location)
        return "a stream";
    if (s->search_count || s->change_log)
        return "search indexes";
    if (s->d.local_transactions)
        return "local transactions";
    if (s->tunnel_count)
        return "tunnels";
    if (s->shadow.id)
        return "a change of its layout under way";
    return t->observer_count ? "something that follows its changes" : NULL;
}

static int check_table(struct ctx *c, const struct table *t)
{
    const struct schema *s = &t->schema;

    if (follower(t))
        return fail(c, E_PARAMETER,
                    "Table %.*s has %s, which a load past the log would leave behind: write its "
                    "rows in batches.",
                    BYTES_FMT(s->d.table), follower(t));
    if (s->series.spec.by || s->period.series || s->base.table.len)
        return fail(c, E_PARAMETER,
                    "Table %.*s is a series, or belongs to another table: write its rows in "
                    "batches.",
                    BYTES_FMT(s->d.table));
    for (size_t i = 0; i < s->d.key_count; i++)
        if (s->d.key[i].auto_increment)
            return fail(c, E_PARAMETER,
                        "Column %.*s of table %.*s is an auto-increment one: write its rows in "
                        "batches.",
                        BYTES_FMT(s->d.key[i].name), BYTES_FMT(s->d.table));
    return E_OK;
}

static int check_empty(struct ctx *c, const struct table *t)
{
    const struct location *at = &t->schema.location;

    for (size_t i = 0; i < at->layout.buckets; i++) {
        struct key_range range = {key_prefix(&c->arena, at->id, (uint8_t)i, KIND_RECORD),
                                  key_prefix(&c->arena, at->id, (uint8_t)i, KIND_RECORD + 1)};
        struct page page = {0};
        struct scan scan = {.view = VIEW_DURABLE,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = 1,
                            .bytes_max = 1,
                            .pages = &page};

        TRY(route_scan_now(c, t, &scan));
        if (page.count)
            return fail(c, E_PARAMETER,
                        "Table %.*s has rows; a load past the log is for one that has none: write "
                        "the rows in batches.",
                        BYTES_FMT(t->schema.d.table));
    }
    return E_OK;
}

static int open_table(struct ctx *c, struct wr_load *l, bytes instance, bytes table)
{
    if (!engine_has_files(l->db->engine) || db_is_shared(l->db))
        return fail(c, E_UNSUPPORTED,
                    "Rows are loaded past the log into a data folder, not into a pool or memory.");
    TRY(name_check_table(c, table));
    TRY(catalog_find_one(c, l->db->catalog, instance, table, &l->table));
    TRY(catalog_check_use(c, l->table, true));
    TRY(check_table(c, l->table));
    return check_empty(c, l->table);
}

static int give_text(const struct ctx *c, int code, char *message, size_t size)
{
    if (code && message && size)
        snprintf(message, size, "%s", c->text ? c->text : err_info(code)->text);
    return code;
}

int wr_load_open(struct wr_db *db, struct wr_bytes instance, struct wr_bytes table,
                 const char *spill_dir, size_t memory_bytes, struct wr_load **out, char *message,
                 size_t message_size)
{
    struct wr_load *l = mem_zalloc(sizeof(*l));
    int code;

    *out = NULL;
    l->db = db;
    atomic_fetch_add(&db->requests, 1);
    ctx_init(&l->c, &db->clock, &db->log, NULL, 0);
    code = open_table(&l->c, l, instance, table);
    give_text(&l->c, code, message, message_size);
    if (code) {
        wr_load_free(l);
        return code;
    }
    memory_bytes = memory_bytes < SORTER_BYTES_MIN ? SORTER_BYTES_MIN : memory_bytes;
    memory_bytes = memory_bytes > SORTER_BYTES_MAX ? SORTER_BYTES_MAX : memory_bytes;
    l->sorter = sorter_new(arena_printf(&l->c.arena, "%s/" SORT_FILE, spill_dir).ptr, memory_bytes);
    *out = l;
    return E_OK;
}

void wr_load_free(struct wr_load *l)
{
    if (!l)
        return;
    sorter_free(l->sorter);
    if (l->table)
        table_release(l->table);
    mem_free(l->last_data);
    ctx_release(&l->c);
    atomic_fetch_sub(&l->db->requests, 1);
    mem_free(l);
}

/* ---- rows */

/* The record that a put stores where there is no such row. */
static int make_record(struct ctx *c, struct wr_load *l, const struct wr_row *row,
                       struct batch_builder *builder)
{
    struct wr_db *db = l->db;
    struct wr_row_change change = {.type = WR_PUT, .row = *row};
    struct modify m = {0};

    TRY(change_check_alone(c, db_limits(db), &change, false));
    TRY(change_check_table(c, &db->limits, l->table, &change, false));
    TRY(modify_begin(c, &db->limits, l->table, &change, clock_watch_ms(db),
                     catalog_next_number(db->catalog), &m));
    TRY(modify_check_deviation(c, &m));
    m.time = db_clock_read(db);
    TRY(modify_run(c, &m));
    if (modify_detaches(&m))
        return fail(c, E_PARAMETER,
                    "The row is so large that it would lie in several pieces, which a load past "
                    "the log does not make: write it in a batch.");
    modify_batch(&m, builder);
    return E_OK;
}

int wr_load_put(struct wr_load *l, const struct wr_row *row, char *message, size_t message_size)
{
    struct ctx *c = &l->c;
    struct batch_builder builder = {.arena = &c->arena};
    int code = l->code;

    ctx_release(c);
    ctx_init(c, &l->db->clock, &l->db->log, NULL, 0);
    if (code)
        return give_text(c, code, message, message_size);
    code = make_record(c, l, row, &builder);
    if (code)
        return give_text(c, code, message, message_size);
    for (size_t i = 0; i < builder.count && !l->code; i++)
        l->code = sorter_put(c, l->sorter, builder.items[i].key, builder.items[i].value);
    return give_text(c, l->code, message, message_size);
}

/* A copy: what the sorter gives goes with the next. */
static void keep(struct wr_load *l, const struct kv *pair)
{
    size_t n = pair->key.len + pair->value.len;

    if (l->last_size < n) {
        mem_free(l->last_data);
        l->last_size = n * 2;
        l->last_data = mem_alloc(l->last_size);
    }
    memcpy(l->last_data, pair->key.ptr, pair->key.len);
    memcpy(l->last_data + pair->key.len, pair->value.ptr, pair->value.len);
    l->last = (struct kv){bytes_of(l->last_data, pair->key.len),
                          bytes_of(l->last_data + pair->key.len, pair->value.len)};
}

/* The last record, now that no other one replaces it. */
static int put_last(struct ctx *c, struct wr_load *l, struct bulk **bulk, uint64_t *rows)
{
    if (!l->last.key.ptr)
        return E_OK;
    ++*rows;
    if (!*bulk)
        TRY(engine_bulk(c, l->db->engine, l->table->schema.location.id, bulk));
    return bulk_put(c, *bulk, l->last.key, l->last.value);
}

static int put_records(struct ctx *c, struct wr_load *l, struct bulk **bulk, uint64_t *rows)
{
    bool ended = false;
    struct kv pair;

    for (;;) {
        TRY(sorter_take(c, l->sorter, &pair, &ended));
        if (ended)
            return put_last(c, l, bulk, rows);
        if (!l->last.key.ptr || !bytes_equal(l->last.key, pair.key))
            TRY(put_last(c, l, bulk, rows));
        keep(l, &pair);
    }
}

static int store(struct ctx *c, struct wr_load *l, uint64_t *rows)
{
    struct bulk *bulk = NULL;
    int code = put_records(c, l, &bulk, rows);

    if (!code)
        code = check_empty(c, l->table);
    if (!code && bulk)
        code = bulk_finish(c, bulk);
    bulk_close(bulk);
    return code;
}

int wr_load_finish(struct wr_load *l, uint64_t *rows, char *message, size_t message_size)
{
    struct ctx *c = &l->c;

    ctx_release(c);
    ctx_init(c, &l->db->clock, &l->db->log, NULL, 0);
    *rows = 0;
    if (!l->code)
        l->code = store(c, l, rows);
    return give_text(c, l->code, message, message_size);
}
