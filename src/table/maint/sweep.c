/* Garbage where several processes share the data. Each of them sweeps, and any may be paused or die
 * between two steps. So the chunks of a big cell go like this: the others are asked whether they
 * read them; the record is turned into "erasing", guarded by what it was, after which nobody can
 * publish the cell or add to it (upload.h); the chunks are erased; the record is removed, guarded.
 * Whoever finds a record that says "erasing" goes on from there. Ids are never used again, so it
 * does no harm to erase twice or late. */
#include "table/maint/sweep.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "base/scheduler.h"
#include "table/blob/stream.h"
#include "table/blob/upload.h"
#include "table/catalog/catalog.h"
#include "table/catalog/peers.h"
#include "table/catalog/route.h"
#include "table/core/db.h"
#include "table/index/outbox_observer.h"
#include "table/model/big.h"
#include "table/index/outbox_queue.h"
#include "table/model/change_point.h"
#include "table/model/key.h"
#include "table/model/visible.h"
#include "table/row/load.h"
#include "table/sync/blocking_lock.h"
#include "table/sync/wait.h"

#include <stdio.h>
#include <stdlib.h>

#define SWEEP_EVERY_US 5000000
#define SILENT_GRACES 10 /* so long a server that gives no answer may be reading */
#define PAGE_ITEMS 512
#define PAGE_BYTES (1u << 20)
#define GARBAGE_PAGES 16 /* of records, for one table in one sweep */
#define TTL_PAGES 64     /* of row records, for one table in one sweep */

/* Of a round over all tables:
 *
 *     OVER ──▶ BETWEEN ──▶ GARBAGE ──▶ ROWS
 *       ▲        │  ▲        │        │
 *       └────────┘  └────────┴────────┘     the table's turn is over, or it failed, or it is gone
 */
enum sweep_phase {
    SWEEP_OVER,
    SWEEP_BETWEEN, /* done with `table` */
    SWEEP_GARBAGE, /* of `table`; then */
    SWEEP_ROWS     /* past their TTL */
};

/* How far a round has come. */
struct sweep_at {
    enum sweep_phase phase;
    uint32_t table;      /* an id */
    uint32_t location;   /* of its rows then: a rekeyed table begins anew */
    size_t bucket;       /* of garbage, */
    bytes key;           /* and where in it; on the heap, ptr NULL: at its beginning */
    size_t pages;        /* of that bucket, or of rows, in this round */
    uint64_t bytes;      /* read in this step */
    uint64_t lease_lost; /* of db->lease, before this step looked its tables up */
};

struct sweeper {
    struct wr_db *db;
    pthread_mutex_t lock; /* one sweep at a time: the task's, or a caller's of sweep_run() */
    struct sweep_at at;
};

/* One table's sweep; everything of it lives in its own context. */
struct sweep {
    struct ctx c;
    struct wr_db *db;
    struct table *table;
    int64_t now_ms;
    int64_t due_ms;    /* what was garbage by then has had its grace, */
    int64_t silent_ms; /* and by then the one of servers that give no answer */
    int64_t until_us;  /* monotonic: the step should end */
    struct sweep_at *at;
};

static void sweep_enter(struct sweep_at *at, enum sweep_phase next)
{
    static const unsigned may_follow[] = {
        [SWEEP_OVER] = 1u << SWEEP_BETWEEN,
        [SWEEP_BETWEEN] = 1u << SWEEP_GARBAGE | 1u << SWEEP_OVER,
        [SWEEP_GARBAGE] = 1u << SWEEP_ROWS | 1u << SWEEP_BETWEEN,
        [SWEEP_ROWS] = 1u << SWEEP_BETWEEN,
    };

    invariant(may_follow[at->phase] & 1u << next);
    at->phase = next;
}

static bool is_inside(const struct sweep_at *at)
{
    return at->phase == SWEEP_GARBAGE || at->phase == SWEEP_ROWS;
}

/* All keys of one kind in one bucket. */
static struct key_range kind_range(struct sweep *s, size_t bucket, enum key_kind kind)
{
    uint32_t id = s->table->schema.location.id;

    return (struct key_range){key_prefix(&s->c.arena, id, (uint8_t)bucket, kind),
                              key_prefix(&s->c.arena, id, (uint8_t)bucket, kind + 1)};
}

static int sweep_read_page(struct sweep *s, enum engine_view view, const struct key_range *range,
                           struct page *page)
{
    struct scan scan = {.view = view,
                        .ranges = range,
                        .range_count = 1,
                        .items_max = PAGE_ITEMS,
                        .bytes_max = PAGE_BYTES,
                        .pages = page};

    TRY(route_scan_now(&s->c, s->table, &scan));
    for (size_t i = 0; i < page->count; i++)
        s->at->bytes += page->items[i].key.len + page->items[i].value.len;
    return E_OK;
}

/* The step is over, or the database is about to close: what is left is of the next one, or of the
 * next opening. */
static bool must_end(const struct sweep *s)
{
    return scheduler_stopping(s->db->background) || clock_mono_us(&s->db->clock) >= s->until_us;
}

/* What was needed for the page goes, so that a sweep takes the memory of a page whatever it
 * removes; the range goes on behind it. */
static void page_over(struct sweep *s, const struct arena_mark *mark, const struct page *page,
                      struct key_range *range)
{
    void *kept = NULL;
    bytes next = BYTES_NONE;

    if (page->count) {
        next = key_after(&s->c.arena, page->items[page->count - 1].key);
        kept = memcpy(mem_alloc(next.len), next.ptr, next.len);
    }
    arena_rewind(&s->c.arena, mark);
    if (kept)
        range->start = arena_copy(&s->c.arena, bytes_of(kept, next.len));
    mem_free(kept);
}

/* ---- garbage ---- */

/* Nothing, if the batch is empty. */
static int apply_edits(struct sweep *s, const struct batch_builder *builder)
{
    struct write_batch batch = {.edits = builder->items, .edit_count = builder->count};

    return builder->count ? route_apply_now(&s->c, s->table, &batch) : E_OK;
}

/* The chunks of one big cell. `cols` are the key columns of its row. */
static int erase_chunks(struct sweep *s, bytes cols, uint64_t id)
{
    const struct location *p = &s->table->schema.location;
    struct key_range range = {big_chunk_bound(&s->c.arena, p, cols, id, false),
                              big_chunk_bound(&s->c.arena, p, cols, id, true)};

    return route_erase_now(&s->c, s->table, &range);
}

/* Does somebody read these chunks, here or through another server? Garbage since time_ms. */
static bool sweep_is_read(struct sweep *s, const struct stream_readers *others, uint64_t id,
                          int64_t time_ms)
{
    return streams_use(s->db->streams, id) ||
           (others->silent && time_ms && time_ms > s->silent_ms) || stream_readers_have(others, id);
}

/* The chunks that the cell of a row that goes refers to; 0: none. */
static int out_of_line_id(struct sweep *s, bytes value, uint64_t *id)
{
    struct wr_cell cell = {0};
    struct big_ref ref = {0};

    TRY(cell_decode(&s->c, value, &cell));
    if (cell.apart)
        TRY(big_read(&s->c, &cell, &ref));
    *id = ref.id;
    return E_OK;
}

/* The chunks that these cells of a row that goes refer to. E_BUSY: somebody reads some. */
static int erase_out_of_line(struct sweep *s, bytes cols, const struct page *page, int64_t time_ms)
{
    uint64_t *ids = ARENA_ARRAY(&s->c.arena, uint64_t, page->count + 1);
    struct stream_readers others;
    size_t n = 0;

    invariant(cols.len && s->at->phase == SWEEP_GARBAGE);

    for (size_t i = 0; i < page->count; i++) {
        TRY(out_of_line_id(s, page->items[i].value, &ids[n]));
        n += ids[n] != 0;
    }
    stream_readers_query(&s->c, s->table, ids, n, &others);
    for (size_t i = 0; i < n; i++)
        if (sweep_is_read(s, &others, ids[i], time_ms))
            return E_BUSY;
    for (size_t i = 0; i < n; i++)
        TRY(erase_chunks(s, cols, ids[i]));
    return E_OK;
}

/* Removes the cells under `id`, the chunks they refer to before them, and then the record. */
static int empty_row(struct sweep *s, bytes record_key, int64_t time_ms)
{
    bytes rest = bytes_skip(record_key, KEY_PREFIX_BYTES);
    bytes cols = bytes_of(rest.ptr, rest.len - 8);
    struct buf start, end;
    struct key_range range;
    struct page page = {.more = true};
    size_t pages = 0;

    buf_init(&start, &s->c.arena, record_key.len);
    /* Key columns and id, as in the cells' keys; the id takes no part in choosing the bucket. */
    layout_put_key(&start, &s->table->schema.location, KIND_CELL, rest);
    buf_init(&end, &s->c.arena, record_key.len + KEY_PAST_BYTES);
    buf_put_bytes(&end, buf_bytes(&start));
    key_put_past(&end);
    range = (struct key_range){buf_bytes(&start), buf_bytes(&end)};
    while (page.more) {
        struct arena_mark mark = arena_mark(&s->c.arena);
        struct batch_builder builder = {.arena = &s->c.arena};

        if (pages++ && must_end(s))
            return E_BUSY;
        TRY(sweep_read_page(s, VIEW_LATEST, &range, &page));
        TRY(erase_out_of_line(s, cols, &page, time_ms));
        for (size_t i = 0; i < page.count; i++)
            batch_add(&builder, EDIT_DELETE, page.items[i].key, BYTES_NONE);
        if (!page.more)
            batch_add(&builder, EDIT_DELETE, record_key, BYTES_NONE);
        TRY(apply_edits(s, &builder));
        page_over(s, &mark, &page, &range);
    }
    return E_OK;
}

static uint64_t record_id(bytes key)
{
    invariant(key.len >= KEY_PREFIX_BYTES + 8);
    return load_u64_be(bytes_u8(key) + key.len - 8);
}

/* Gives the record the value `to` (ptr NULL: removes it), unless it is not what we saw. */
static int change_record(struct sweep *s, const struct kv *seen, bytes to)
{
    struct edit edit = {to.ptr ? EDIT_PUT : EDIT_DELETE, seen->key, to};
    struct guard guard = {seen->key, seen->value, false};
    struct write_batch batch = {.guards = &guard,
                                .guard_count = db_is_shared(s->db),
                                .edits = &edit,
                                .edit_count = 1,
                                .frees = true};

    return route_apply_now(&s->c, s->table, &batch);
}

/* Removes the chunks of a big cell that is replaced, or was never finished, and then the record. */
static int empty_cell(struct sweep *s, const struct kv *kv, enum garbage_kind kind)
{
    bytes rest = bytes_skip(kv->key, KEY_PREFIX_BYTES);
    struct kv now = *kv;

    if (db_is_shared(s->db) && kind != GARBAGE_ERASING) {
        now.value = big_garbage_value(&s->c.arena, GARBAGE_ERASING, db_clock_ms(s->db));
        TRY(change_record(s, kv, now.value));
    }
    (void)fault_hit(FAULT_garbage_taken);
    TRY(erase_chunks(s, bytes_of(rest.ptr, rest.len - 8), record_id(kv->key)));
    (void)fault_hit(FAULT_garbage_erased);
    return change_record(s, &now, BYTES_NONE);
}

/* Whoever could look at the data has finished: by time, or because the process that had them open
 * has ended and nobody else is there. */
static bool garbage_is_due(const struct sweep *s, enum garbage_kind kind, int64_t time_ms)
{
    return kind == GARBAGE_ERASING || !time_ms || time_ms <= s->due_ms ||
           db_clock_is_before(s->db, time_ms);
}

static bool read_record(const struct sweep *s, const struct kv *kv, enum garbage_kind *kind,
                        int64_t *time_ms)
{
    return big_garbage_read(kv->value, kind, time_ms) && kv->key.len >= KEY_PREFIX_BYTES + 8 &&
           garbage_is_due(s, *kind, *time_ms);
}

/* Is somebody at work with the chunks? What was never published nobody reads, and what is on its
 * way through another server guards its record. */
static bool is_used(struct sweep *s, const struct stream_readers *others, enum garbage_kind kind,
                    uint64_t id, int64_t time_ms)
{
    return kind == GARBAGE_CELL     ? sweep_is_read(s, others, id, time_ms)
           : kind == GARBAGE_UPLOAD ? streams_use(s->db->streams, id)
                                    : false;
}

/* A record whose time will not come for long, for the clock was set back: as of now. True: it was
 * one. */
static bool sweep_date_anew(struct sweep *s, const struct kv *kv)
{
    struct edit edit = {EDIT_PUT, kv->key, BYTES_NONE};
    struct guard guard = {kv->key, kv->value, false};
    struct write_batch batch = {
        .guards = &guard, .guard_count = 1, .edits = &edit, .edit_count = 1};
    enum garbage_kind kind;
    int64_t time_ms;

    if (!big_garbage_read(kv->value, &kind, &time_ms) || kind == GARBAGE_ERASING ||
        !clock_watch_ahead(s->db, time_ms))
        return false;
    edit.value = big_garbage_value(&s->c.arena, kind, db_clock_ms(s->db));
    if (route_apply_now(&s->c, s->table, &batch))
        ctx_clear(&s->c); /* the next sweep */
    return true;
}

static int sweep_record(struct sweep *s, const struct stream_readers *others, const struct kv *kv)
{
    struct arena_mark mark = arena_mark(&s->c.arena);
    enum garbage_kind kind;
    int64_t time_ms;
    int code;

    if (sweep_date_anew(s, kv) || !read_record(s, kv, &kind, &time_ms))
        return E_OK;
    if (kind == GARBAGE_ROW)
        code = empty_row(s, kv->key, time_ms);
    else if (is_used(s, others, kind, record_id(kv->key), time_ms))
        code = E_BUSY;
    else
        code = empty_cell(s, kv, kind);
    if (code && code != E_BUSY && code != E_GUARD)
        return code;
    ctx_clear(&s->c); /* the next sweep */
    arena_rewind(&s->c.arena, &mark);
    return E_OK;
}

/* Asks the others once for all replaced cells of a page. */
static void query_page(struct sweep *s, const struct page *page, struct stream_readers *others)
{
    uint64_t *ids = ARENA_ARRAY(&s->c.arena, uint64_t, page->count + 1);
    enum garbage_kind kind;
    int64_t time_ms;
    size_t n = 0;

    for (size_t i = 0; i < page->count; i++)
        if (read_record(s, &page->items[i], &kind, &time_ms) && kind == GARBAGE_CELL)
            ids[n++] = record_id(page->items[i].key);
    stream_readers_query(&s->c, s->table, ids, n, others);
}

/* A copy on the heap in place of what was there; `key` ptr NULL: nothing. */
static void key_replace(bytes *at, bytes key)
{
    void *copy = key.ptr ? memcpy(mem_alloc(key.len), key.ptr, key.len) : NULL;

    mem_free((void *)at->ptr);
    *at = bytes_of(copy, copy ? key.len : 0);
}

/* Of one bucket, from where the step before has ended. *ended: no more in this round. */
static int sweep_garbage(struct sweep *s, bool *ended)
{
    struct sweep_at *at = s->at;
    struct key_range range = kind_range(s, at->bucket, KIND_GARBAGE);
    struct page page = {.more = true};
    struct stream_readers others;

    if (at->key.ptr) {
        invariant(bytes_compare(at->key, range.start) >= 0);
        range.start = arena_copy(&s->c.arena, at->key);
    }
    for (bool stop = false; page.more && at->pages < GARBAGE_PAGES && !stop;) {
        struct arena_mark mark = arena_mark(&s->c.arena);

        TRY(sweep_read_page(s, VIEW_DURABLE, &range, &page));
        query_page(s, &page, &others);
        for (size_t i = 0; i < page.count && !stop; i++) {
            TRY(sweep_record(s, &others, &page.items[i]));
            stop = must_end(s);
        }
        if (stop) { /* what was removed of the page is not read again */
            key_replace(&at->key, range.start);
            return E_OK;
        }
        page_over(s, &mark, &page, &range);
        at->pages++;
    }
    *ended = true;
    return E_OK;
}

/* ---- rows past their TTL ---- */

/* Under the row lock: still hidden? Then it goes. */
static int remove_row(struct sweep *s, bytes record_key)
{
    struct modify m = {.table = s->table,
                       .cols = bytes_skip(record_key, KEY_PREFIX_BYTES),
                       .now_ms = s->now_ms,
                       .time = db_clock_read(s->db),
                       .changed = true,
                       .old_known = true};
    struct batch_builder builder = {.arena = &s->c.arena};
    struct write_batch batch = {.edit_count = 0};
    struct load load;
    int code;

    change_point_prepare(&s->c, &m);
    load = (struct load){.c = &s->c,
                         .table = s->table,
                         .cols = m.cols,
                         .view = VIEW_LATEST,
                         .with_outbox = m.beside,
                         .columns = m.whole            ? NULL
                                    : m.observed_count ? m.observed
                                                       : &m.cols,
                         .column_count = m.observed_count};
    TRY(wait_load(&load));
    m.old = load.row;
    if (!m.old.there || visible_row(&s->table->schema.d.options, s->now_ms, &m.old) ||
        atomic_load(&s->table->is_overtaken))
        return E_OK;
    if (m.beside)
        TRY(outbox_take(&s->c, &m, load.outbox));
    if (db_is_shared(s->db))
        batch_add_guard(&builder, (struct guard){record_key, load.get.value, false});
    change_point_store(&m, &builder);
    batch.edits = builder.items;
    batch.edit_count = builder.count;
    batch.guards = builder.guards;
    batch.guard_count = builder.guard_count;
    batch.lease = s->db->lease; /* the time to live that it goes by may be an old one */
    batch.lease_lost = s->at->lease_lost;
    (void)fault_hit(FAULT_sweep_row);
    code = batch.edit_count ? route_apply_now(&s->c, s->table, &batch) : E_OK;
    if (!code && m.beside && m.beside->recorded)
        outbox_queue_add(s->db->outboxes, s->table, m.cols);
    return code == E_GUARD ? E_OK : code; /* somebody wrote it anew: it stays */
}

/* Where the walk goes on; it ends when it has seen every bucket. */
static bool ttl_next(struct sweep *s, const struct page *page)
{
    struct table *t = s->table;
    bool more = page->more && page->count;

    key_replace(&t->swept_key, more ? page->items[page->count - 1].key : BYTES_NONE);
    if (more)
        return true;
    t->swept_bucket = (t->swept_bucket + 1) % t->schema.location.layout.buckets;
    return t->swept_bucket != 0;
}

/* A page that the step does not come to the end of is cut where it ends. */
static int ttl_page(struct sweep *s, struct page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        struct arena_mark mark = arena_mark(&s->c.arena);
        struct row row;
        struct blocking_lock lock;
        int code;

        TRY(row_decode(&s->c, page->items[i].value, &row));
        /* Another second of patience keeps the sweeper behind every reader's clock. */
        if (visible_row(&s->table->schema.d.options, s->now_ms - 1000, &row))
            continue;
        blocking_lock(s->db->row_locks, &lock,
                      schema_lock_key(&s->c.arena, &s->table->schema,
                                      bytes_skip(page->items[i].key, KEY_PREFIX_BYTES)));
        assert(row_lock_is_held(s->db->row_locks, &lock.row_lock));
        code = remove_row(s, page->items[i].key);
        blocking_unlock(s->db->row_locks, &lock);
        TRY(code);
        arena_rewind(&s->c.arena, &mark);
        if (must_end(s) && i + 1 < page->count) {
            page->count = i + 1;
            page->more = true;
        }
    }
    return E_OK;
}

/* A part of the table in each round, so that a large one keeps nothing else waiting. */
static int sweep_ttl(struct sweep *s, bool *ended)
{
    struct table *t = s->table;
    size_t pages = TTL_PAGES + t->schema.location.layout.buckets;
    struct page page;

    do {
        struct arena_mark mark = arena_mark(&s->c.arena);
        struct key_range range = kind_range(s, t->swept_bucket, KIND_RECORD);

        if (t->swept_key.ptr)
            range.start = key_after(&s->c.arena, t->swept_key);
        TRY(sweep_read_page(s, VIEW_DURABLE, &range, &page));
        TRY(ttl_page(s, &page));
        *ended = !ttl_next(s, &page) || ++s->at->pages >= pages;
        arena_rewind(&s->c.arena, &mark);
    } while (!*ended && !must_end(s));
    return E_OK;
}

static void part_over(struct sweep_at *at, size_t bucket)
{
    key_replace(&at->key, BYTES_NONE);
    at->bucket = bucket;
    at->pages = 0;
}

/* Until the table has had its part of the round, or the step is over. */
static int sweep_parts(struct sweep *s)
{
    const struct schema *schema = &s->table->schema;
    struct sweep_at *at = s->at;
    bool ended = false;

    while (at->phase == SWEEP_GARBAGE && at->bucket < schema->location.layout.buckets) {
        ended = !atomic_load(&s->table->has_out_of_line);
        if (!ended)
            TRY(sweep_garbage(s, &ended));
        if (!ended)
            return E_OK;
        part_over(at, at->bucket + 1);
    }
    /* Entries of an index go with their rows. */
    ended = schema->d.options.ttl_s == -1 || schema->base.table.len;
    if (at->phase == SWEEP_GARBAGE) {
        part_over(at, 0);
        sweep_enter(at, SWEEP_ROWS);
    }
    if (!ended)
        TRY(sweep_ttl(s, &ended));
    if (ended)
        sweep_enter(at, SWEEP_BETWEEN);
    return E_OK;
}

/* `failed` gets the text of a failure, after which the table's turn in this round is over. */
static int sweep_table(struct wr_db *db, struct sweep_at *at, struct table *t, int64_t until_us,
                       char failed[TASK_TEXT_BYTES])
{
    struct sweep s = {.db = db,
                      .table = t,
                      .now_ms = clock_watch_removal_ms(db),
                      .due_ms = clock_watch_before(db, upload_grace_ms()),
                      .silent_ms = clock_watch_before(db, SILENT_GRACES * upload_grace_ms()),
                      .until_us = until_us,
                      .at = at};
    int code;

    if (is_inside(at) && (at->table != t->schema.id || at->location != t->schema.location.id))
        /* What it was in is gone, and so is what its key means. */
        sweep_enter(at, SWEEP_BETWEEN);
    if (!is_inside(at)) {
        part_over(at, 0);
        sweep_enter(at, SWEEP_GARBAGE);
    }
    at->table = t->schema.id;
    at->location = t->schema.location.id;
    ctx_init(&s.c, &db->clock, &db->log, NULL, 0);
    code = sweep_parts(&s);
    if (code) {
        sweep_enter(at, SWEEP_BETWEEN);
        snprintf(failed, TASK_TEXT_BYTES, "table '%.*s': %s", BYTES_FMT(t->schema.d.table),
                 s.c.text ? s.c.text : err_info(code)->text);
        log_warn(&db->log, "sweep: %s", failed);
    }
    ctx_release(&s.c);
    return code;
}

static int by_id(const void *a, const void *b)
{
    const struct table *const *x = a, *const *y = b;

    return ((*x)->schema.id > (*y)->schema.id) - ((*x)->schema.id < (*y)->schema.id);
}

static bool is_next(const struct sweep_at *at, const struct table *t)
{
    return is_inside(at) ? t->schema.id >= at->table : t->schema.id > at->table;
}

/* From where the round is until until_us; *ended: to its end. The first failure. */
static int sweep_on(struct wr_db *db, struct sweep_at *at, int64_t until_us, bool *ended,
                    char failed[TASK_TEXT_BYTES])
{
    struct sweep s = {.db = db, .until_us = until_us};
    struct table **tables;
    int first = E_OK, code;
    struct ctx c;
    size_t n;

    if (at->phase == SWEEP_OVER) {
        sweep_enter(at, SWEEP_BETWEEN);
        clock_watch_look(db);
        catalog_sweep(db);
        peers_sweep(db);
    }
    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    at->lease_lost = db->lease ? atomic_load(&db->lease->lost) : 0;
    n = catalog_all(db->catalog, &c.arena, &tables);
    if (n)
        qsort(tables, n, sizeof(*tables), by_id);
    *ended = true;
    for (size_t i = 0; i < n; i++) {
        if (is_next(at, tables[i]) && *ended) {
            code = sweep_table(db, at, tables[i], until_us, failed);
            first = first ? first : code;
            *ended = !is_inside(at) && (i + 1 == n || !must_end(&s));
        }
        table_release(tables[i]);
    }
    ctx_release(&c);
    if (*ended && is_inside(at)) /* of a table that is gone */
        sweep_enter(at, SWEEP_BETWEEN);
    if (*ended) {
        sweep_enter(at, SWEEP_OVER);
        key_replace(&at->key, BYTES_NONE);
        *at = (struct sweep_at){.bytes = at->bytes};
    }
    return first;
}

void sweep_run(struct wr_db *db)
{
    struct sweep_at at = {.phase = SWEEP_OVER};
    char failed[TASK_TEXT_BYTES];
    bool ended;

    pthread_mutex_lock(&db->sweeper->lock);
    (void)sweep_on(db, &at, INT64_MAX, &ended, failed);
    pthread_mutex_unlock(&db->sweeper->lock);
    key_replace(&at.key, BYTES_NONE);
}

/* ---- the task ---- */

static int sweep_for(struct sweeper *s, int64_t us, bool *ended, char failed[TASK_TEXT_BYTES])
{
    int code;

    pthread_mutex_lock(&s->lock);
    code = sweep_on(s->db, &s->at, clock_mono_us(&s->db->clock) + us, ended, failed);
    pthread_mutex_unlock(&s->lock);
    return code;
}

bool sweep_some(struct wr_db *db, int64_t us)
{
    char failed[TASK_TEXT_BYTES];
    bool ended;

    (void)sweep_for(db->sweeper, us, &ended, failed);
    return ended;
}

static int sweep_step(void *arg, struct task_step *step)
{
    struct sweeper *s = arg;
    bool ended;
    int code = sweep_for(s, SCHEDULER_STEP_US, &ended, step->text);

    step->bytes = s->at.bytes;
    s->at.bytes = 0;
    step->more = !ended;
    step->next_us = ended ? SWEEP_EVERY_US : 0;
    return code;
}

struct sweeper *sweeper_start(struct wr_db *db)
{
    struct sweeper *s = mem_zalloc(sizeof(*s));
    struct task_spec spec = {.name = "sweep",
                             .thread = db_is_shared(db) ? TASK_LONG : TASK_SHORT,
                             .priority = PRIORITY_SWEEP,
                             .run = sweep_step,
                             .arg = s,
                             .first_us = SWEEP_EVERY_US,
                             .retry_us_max = SWEEP_EVERY_US};

    s->db = db;
    pthread_mutex_init(&s->lock, NULL);
    if (scheduler_add(db->background, &spec))
        return s;
    sweeper_free(s);
    return NULL;
}

void sweeper_free(struct sweeper *s)
{
    if (!s)
        return;
    key_replace(&s->at.key, BYTES_NONE);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}
