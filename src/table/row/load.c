/* load.c
 *
 * A wide row is read by ranges: one range for all cells, or one for each wanted column, up to
 * SCAN_RANGES of them in one scan. Each page holds a bounded number of cells, so memory grows only
 * with what the caller asked for. Big cells are put together behind that; their chunks never
 * change.
 *
 * Several scans are one moment by a snapshot. It is taken when the row record has shown a wide row,
 * and the row record is read again with it; rows that are not wide cost nothing more. When storage
 * is reopened under it, all is read once more from the row record on. An engine without snapshots
 * reads the row record in one operation with each page of cells: its id and stamp name a state of
 * the row. If the first page comes with another state, that one is loaded; if a later one does, the
 * load begins again. Under VIEW_LATEST the caller sees to it: it holds the row lock, or guards the
 * row record.
 *
 * A load that had to begin again RESTARTS_MAX times writes the row record once more, with a mark in
 * it. A writer that finds the mark waits for it to go, and no longer than ROW_READ_LOCK_MS; one
 * that had read the row record before fails its guard and then finds it. The load takes the mark
 * away at its end; if it cannot, because its server died, the next change of the row does, after
 * having waited. Nothing but the readers' turn hangs on the mark: what they show is decided by id
 * and stamp alone. */
#include "table/row/load.h"

#include "base/invariant.h"
#include "base/limit.h"
#include "base/waiter.h"
#include "table/catalog/route.h"
#include "table/core/db.h"
#include "table/index/outbox.h"
#include "table/model/key.h"

#define PAGE_CELLS 4096
#define PAGE_BYTES (1 << 20)
#define SCAN_RANGES 64 /* columns asked for at once: each may hold a large value */

#define RESTARTS_MAX 3
#define HOLDS_MAX 50 /* tries; without the mark it goes on as well, if it can */

enum {
    LOAD_START,
    LOAD_READ_LOCK,
    LOAD_RECORD,
    LOAD_WITH_OUTBOX,
    LOAD_CELLS,
    LOAD_CHUNK,
    LOAD_DONE
};

static bytes cell_bound(struct load *l, bytes column, bool with_column, bool past)
{
    struct buf b;

    buf_init(&b, &l->c->arena, KEY_PREFIX_BYTES + l->cols.len + column.len + 24);
    layout_put_key(&b, &l->table->schema.location, KIND_CELL, l->cols);
    if (with_column)
        cell_put_key_column(&b, l->row.id, column);
    else
        cell_put_key_id(&b, l->row.id);
    if (past)
        key_put_past(&b);
    return buf_bytes(&b);
}

static void make_ranges(struct load *l)
{
    if (l->choose)
        l->choose(l);
    if (l->columns) {
        l->ranges = ARENA_ARRAY(&l->c->arena, struct key_range, l->column_count);
        for (size_t i = 0; i < l->column_count; i++) {
            l->ranges[i].start = cell_bound(l, l->columns[i], true, false);
            l->ranges[i].end = cell_bound(l, l->columns[i], true, true);
        }
        return;
    }
    l->column_count = 1;
    l->ranges = ARENA_NEW(&l->c->arena, struct key_range);
    if (l->after.ptr)
        l->ranges->start = cell_bound(l, l->after, true, true);
    else
        l->ranges->start = cell_bound(l, l->start, l->start.ptr != NULL, false);
    l->ranges->end =
        l->end.ptr ? cell_bound(l, l->end, true, false) : cell_bound(l, BYTES_NONE, false, true);
    /* The client chose both bounds: there may be nothing between them. */
    if (bytes_compare(l->ranges->start, l->ranges->end) >= 0)
        l->column_count = 0;
}

static int add_cell(struct load *l, const struct kv *kv)
{
    struct row *row = &l->row;
    struct wr_cell *cell;
    uint64_t id;
    bytes name;
    int64_t ts;

    if (row->cell_count == l->capacity) {
        size_t capacity = l->capacity ? l->capacity * 2 : 64;
        struct wr_cell *cells = arena_try_alloc(&l->c->arena, sizeof(*cells) * capacity);

        if (!cells)
            return fail_code(l->c, E_MEMORY);
        if (row->cell_count)
            memcpy(cells, row->cells, sizeof(*cells) * row->cell_count);
        row->cells = cells;
        l->capacity = capacity;
    }
    TRY(cell_read_key(l->c, bytes_skip(kv->key, KEY_PREFIX_BYTES + l->cols.len), &id, &name, &ts));
    cell = &row->cells[row->cell_count];
    *cell = (struct wr_cell){0};
    TRY(cell_decode(l->c, kv->value, cell));
    cell->name = name;
    cell->timestamp_ms = ts;
    /* A column is never cut: the limit counts when the next one begins. */
    if (l->bytes_max && l->loaded_bytes > l->bytes_max && row->cell_count &&
        !bytes_equal(name, row->cells[row->cell_count - 1].name)) {
        l->next = row->cells[row->cell_count - 1].name;
        return E_OK;
    }
    row->cell_count++;
    l->loaded_bytes +=
        kv->key.len + (l->whole_versions && cell->apart ? big_cell_size(cell) : kv->value.len);
    return E_OK;
}

/* Nothing of the row was read yet but its record. */
static void forget_cells(struct load *l)
{
    l->row.cells = NULL;
    l->row.cell_count = l->capacity = l->loaded_bytes = 0;
    l->next = BYTES_NONE;
    l->range_at = 0;
    l->begun = false;
    l->column_count = l->column_count_given;
}

/* Looks at the row record that came with the cells. *same: they belong to the row as it was begun;
 * else what was loaded is forgotten, and the row is the new record. */
static int take_record(struct load *l, const struct page *page, bool *same)
{
    struct row record = {0};

    if (page->count)
        TRY(row_decode(l->c, page->items[0].value, &record));
    l->record = page->count ? page->items[0].value : BYTES_NONE;
    *same = record.there && record.wide && record.id == l->row.id &&
            (record.stamp == l->row.stamp || !l->begun);
    if (!record.read_locked)
        l->read_locking = false; /* a writer went on */
    if (*same) {
        l->row.read_locked = record.read_locked;
        l->row.stamp = record.stamp;
        l->row.marker_ms = record.marker_ms;
        return E_OK;
    }
    l->restarts += l->begun;
    if (l->c->deadline_ms && clock_mono_ms(l->c->clock) > l->c->deadline_ms)
        return fail(l->c, E_BUSY, "The row changes faster than it can be read. Send it again.");
    forget_cells(l);
    l->row = record;
    if (record.wide)
        make_ranges(l);
    return E_OK;
}

/* Takes the pages of the scan, one a range, up to the first range that goes on. */
static int load_take_pages(struct load *l)
{
    bool whole = true;

    if (l->guarded) {
        TRY(take_record(l, &l->pages[0], &whole));
        if (!whole)
            return E_OK;
    }
    for (size_t p = l->guarded; p < l->scan.range_count && whole && !l->next.ptr; p++) {
        const struct page *page = &l->pages[p];

        for (size_t i = 0; i < page->count && !l->next.ptr; i++)
            TRY(add_cell(l, &page->items[i]));
        whole = !page->more || !page->count;
        if (whole)
            l->range_at++;
        else
            l->ranges[l->range_at].start =
                key_after(&l->c->arena, page->items[page->count - 1].key);
        l->begun = true;
    }
    if (l->c->arena.cap && l->c->arena.used > l->c->arena.cap)
        return fail_code(l->c, E_MEMORY);
    if (l->next.ptr)
        l->range_at = l->column_count;
    return E_OK;
}

static void load_get_done(struct get *g)
{
    struct load *l = PORT_CONTAINER(g, struct load, get);

    l->done(l);
}

static void load_scan_done(struct scan *s)
{
    struct load *l = PORT_CONTAINER(s, struct load, scan);

    l->done(l);
}

static void go_on(struct pool_job *job)
{
    struct load *l = PORT_CONTAINER(job, struct load, job);

    turn_begin(l->c->turn, l->c);
    l->done(l);
}

/* Between two pages or chunks: E_LATER when others have their turn first. What was asked for has
 * been taken. */
static int load_step(struct load *l)
{
    l->job.run = go_on;
    l->state = LOAD_DONE;
    return turn_step(l->c, &l->job, l->urgent);
}

bytes load_head_key(struct arena *a, const struct table *t, bytes cols)
{
    struct buf key;

    buf_init(&key, a, KEY_PREFIX_BYTES + cols.len);
    layout_put_key(&key, &t->schema.location, KIND_RECORD, cols);
    return buf_bytes(&key);
}

static bytes record_key(struct load *l)
{
    return load_head_key(&l->c->arena, l->table, l->cols);
}

/* The row record and the outbox record, as of one moment. */
static int scan_with_outbox(struct load *l)
{
    struct arena *a = &l->c->arena;
    struct key_range *ranges = ARENA_ARRAY(a, struct key_range, 2);

    invariant(l->view == VIEW_LATEST && !l->snapshot);
    ranges[0].start = record_key(l);
    ranges[1].start = beside_key(a, &l->table->schema.location, l->cols, BESIDE_OUTBOX);
    for (size_t i = 0; i < 2; i++)
        ranges[i].end = key_after(a, ranges[i].start);
    l->pages = ARENA_ARRAY(a, struct page, 2);
    l->scan = (struct scan){.view = l->view,
                            .ranges = ranges,
                            .range_count = 2,
                            .items_max = 1,
                            .bytes_max = PAGE_BYTES,
                            .pages = l->pages,
                            .done = load_scan_done};
    l->state = LOAD_WITH_OUTBOX;
    return route_scan(l->c, l->table, &l->scan);
}

static bytes only_value(const struct page *page)
{
    return page->count ? page->items[0].value : BYTES_NONE;
}

/* As if the row record had been read by itself. */
static void take_outbox(struct load *l)
{
    l->get = (struct get){.key = l->scan.ranges[0].start,
                          .view = l->view,
                          .code = l->scan.code,
                          .found = !l->scan.code && l->pages[0].count,
                          .value = l->scan.code ? BYTES_NONE : only_value(&l->pages[0])};
    l->outbox = l->scan.code ? BYTES_NONE : only_value(&l->pages[1]);
}

static int get_record(struct load *l)
{
    if (l->with_outbox)
        return scan_with_outbox(l);
    l->get = (struct get){.key = record_key(l),
                          .view = l->view,
                          .snapshot = l->snapshot,
                          .read_pending = l->read_pending,
                          .done = load_get_done};
    l->state = LOAD_RECORD;
    return route_get(l->c, l->table, &l->get);
}

/* The ranges of the next scan: of the columns that are left, and in front of them the row record.
 */
static const struct key_range *scan_ranges(struct load *l, size_t *count)
{
    size_t left = l->column_count - l->range_at;
    struct key_range *ranges;

    *count = left < SCAN_RANGES ? left : SCAN_RANGES;
    if (!l->guarded)
        return &l->ranges[l->range_at];
    ranges = ARENA_ARRAY(&l->c->arena, struct key_range, *count + 1);
    ranges->start = record_key(l);
    ranges->end = key_after(&l->c->arena, ranges->start);
    memcpy(ranges + 1, &l->ranges[l->range_at], sizeof(*ranges) * *count);
    ++*count;
    return ranges;
}

/* The wanted columns in one scan, which is one point in time: an update of two columns is seen
 * whole or not at all. */
static int scan_cells(struct load *l)
{
    size_t count;
    const struct key_range *ranges = scan_ranges(l, &count);

    l->scan = (struct scan){.view = l->view,
                            .snapshot = l->snapshot,
                            .ranges = ranges,
                            .range_count = count,
                            .items_max = PAGE_CELLS,
                            .bytes_max = PAGE_BYTES,
                            .done = load_scan_done};
    l->pages = ARENA_ARRAY(&l->c->arena, struct page, count);
    l->scan.pages = l->pages;
    l->state = LOAD_CELLS;
    return route_scan(l->c, l->table, &l->scan);
}

void load_from_record(struct load *l, const struct row *record)
{
    invariant(record->there && record->wide && record->id);
    l->row = *record;
    l->column_count_given = l->column_count;
    l->guarded = l->view == VIEW_DURABLE && !l->snapshot;
    make_ranges(l);
    l->state = LOAD_DONE; /* no page to take yet: load_run() asks for the first */
}

void load_from_get(struct load *l, const struct get *record)
{
    invariant(l->state == LOAD_START && !record->code && record->view == l->view);
    l->get = *record;
    l->column_count_given = l->column_count;
    l->state = LOAD_RECORD;
}

/* ---- writers asked to wait ---- */

static void read_lock_done(void *arg, int code)
{
    struct load *l = arg;
    struct load_read_lock *h = l->read_lock;

    h->code = code;
    if (atomic_exchange(&h->met, true))
        l->done(l);
}

/* The row record as it was seen, with the mark. */
static int put_read_lock(struct load *l)
{
    struct load_read_lock *h = ARENA_NEW(&l->c->arena, struct load_read_lock);
    struct write_batch batch = {.partition = route_find_row(l->table, l->cols),
                                .guards = &h->guard,
                                .guard_count = 1,
                                .edits = &h->edit,
                                .edit_count = 1};
    struct row marked = {.there = true,
                         .wide = true,
                         .read_locked = true,
                         .id = l->row.id,
                         .stamp = l->row.stamp,
                         .marker_ms = l->row.marker_ms};
    struct buf value;

    buf_init(&value, &l->c->arena, 40);
    row_encode(&value, &marked);
    h->guard = (struct guard){record_key(l), l->record, false};
    h->edit = (struct edit){EDIT_PUT, h->guard.key, buf_bytes(&value)};
    atomic_init(&h->met, false);
    l->read_lock = h;
    l->read_locks++;
    l->state = LOAD_READ_LOCK;
    engine_apply(l->c, l->table->db->engine, &batch, read_lock_done, l);
    return atomic_exchange(&h->met, true) ? E_OK : E_LATER;
}

/* If somebody was faster, the row record is read again, and then another try follows. */
static void take_read_lock(struct load *l)
{
    struct load_read_lock *h = l->read_lock;

    l->read_lock = NULL;
    if (h->code != E_OK && h->code != E_GUARD && h->code != E_PARTITION)
        l->read_locks = HOLDS_MAX;
    l->read_locking = h->code == E_OK;
    if (l->read_locking) {
        l->record = h->edit.value;
        return;
    }
    forget_cells(l);
    l->row = (struct row){0};
    l->state = LOAD_START;
}

static bool wants_read_lock(const struct load *l)
{
    return l->guarded && !l->begun && l->restarts >= RESTARTS_MAX && l->read_locks < HOLDS_MAX &&
           !l->row.read_locked && !l->read_locking && l->record.len;
}

/* What takes the mark away, for itself. */
struct read_unlock {
    struct arena arena;
    struct guard guard;
    struct edit edit;
};

static void unhold_done(void *arg, int code)
{
    struct read_unlock *u = arg;

    (void)code; /* then writers wait, or one of them was there already */
    arena_release(&u->arena);
    mem_free(u);
}

static void read_lock_end(struct load *l)
{
    struct read_unlock *u;
    struct write_batch batch = {.guard_count = 1, .edit_count = 1};
    struct row plain;
    struct buf value;

    if (!l->read_locking)
        return;
    l->read_locking = false;
    if (!l->row.there || !l->row.wide)
        return; /* it is not there any more */
    plain = (struct row){.there = true,
                         .wide = true,
                         .id = l->row.id,
                         .stamp = l->row.stamp,
                         .marker_ms = l->row.marker_ms};
    u = mem_zalloc(sizeof(*u));
    arena_init(&u->arena, NULL, 0);
    buf_init(&value, &u->arena, 40);
    row_encode(&value, &plain);
    u->guard = (struct guard){arena_copy(&u->arena, record_key(l)),
                              arena_copy(&u->arena, l->record), false};
    u->edit = (struct edit){EDIT_PUT, u->guard.key, buf_bytes(&value)};
    batch.partition = route_find_row(l->table, l->cols);
    batch.guards = &u->guard;
    batch.edits = &u->edit;
    engine_apply(l->c, l->table->db->engine, &batch, unhold_done, u);
}

/* The row record is of a wide row. At VIEW_DURABLE it is read again at the moment of the cells. */
static int begin_cells(struct load *l)
{
    if (l->view == VIEW_DURABLE && !l->snapshot) {
        TRY(engine_snapshot(l->c, l->table->db->engine, NULL, &l->own));
        l->snapshot = l->own;
        if (l->own) {
            l->row = (struct row){0};
            l->state = LOAD_START;
            return E_OK;
        }
        l->guarded = true;
    }
    make_ranges(l);
    return E_OK;
}

/* Takes what was asked for, if anything was; E_OK when the row is complete. */
static int load_take(struct load *l)
{
    switch (l->state) {
    case LOAD_WITH_OUTBOX:
        take_outbox(l);
        /* fall through */
    case LOAD_RECORD:
        if (l->get.code)
            return fail(l->c, l->get.code, "%s", err_info(l->get.code)->text);
        if (!l->get.found)
            return E_OK;
        TRY(row_decode(l->c, l->get.value, &l->row));
        l->record = l->get.value;
        return l->row.wide ? begin_cells(l) : E_OK;
    case LOAD_READ_LOCK:
        take_read_lock(l);
        break;
    case LOAD_CELLS:
        if (l->scan.code)
            return fail(l->c, l->scan.code, "%s", err_info(l->scan.code)->text);
        return load_take_pages(l);
    default:
        break;
    }
    return E_OK;
}

/* ---- big cells ---- */

static bool is_wanted(const struct load *l, size_t at)
{
    const struct wr_cell *cells = l->row.cells;
    size_t version = 1;

    for (size_t i = at; i > 0 && bytes_equal(cells[i - 1].name, cells[at].name); i--)
        version++;
    return cells[at].apart && version <= l->whole_versions;
}

static void chunk_release(void *arg)
{
    ctx_release(arg);
}

static int whole_begin(struct load *l)
{
    const struct wr_cell *cell = &l->row.cells[l->whole_at];

    TRY(big_read(l->c, cell, &l->whole));
    if (l->whole.length > (uint64_t)LIMIT_CELL_MOST)
        return fail(
            l->c, E_PARAMETER,
            "Column '%.*s' holds %llu bytes, more than the %lld that an answer carries: read "
            "it as a stream (GetCell), or name the columns that are wanted.",
            BYTES_FMT(cell->name), (unsigned long long)l->whole.length, (long long)LIMIT_CELL_MOST);
    l->whole_bytes = arena_try_alloc(&l->c->arena, (size_t)l->whole.length + 1);
    if (!l->whole_bytes)
        return fail_code(l->c, E_MEMORY);
    l->whole_number = 0;
    if (!l->chunk) {
        l->chunk = ARENA_NEW(&l->c->arena, struct ctx);
        ctx_init_part(l->chunk, l->c, NULL, 0);
        arena_on_release(&l->c->arena, chunk_release, l->chunk);
    }
    return E_OK;
}

static int chunk_fail(struct load *l, int code)
{
    return l->chunk->code ? ctx_fail_part(l->c, l->chunk) : fail_code(l->c, code);
}

static int get_chunk(struct load *l)
{
    const struct location *p = &l->table->schema.location;
    int code;

    l->get = (struct get){
        .key = big_chunk_key(&l->chunk->arena, p, l->cols, l->whole.id, l->whole_number),
        .view = l->view,
        .snapshot = l->snapshot,
        .once = true,
        .done = load_get_done};
    l->state = LOAD_CHUNK;
    code = route_get(l->chunk, l->table, &l->get);
    return code && code != E_LATER ? chunk_fail(l, code) : code;
}

static int take_chunk(struct load *l)
{
    bytes data;
    int code = l->get.code;

    l->state = LOAD_DONE;
    if (!code)
        code = big_chunk_open(l->chunk, l->get.found ? l->get.value : BYTES_NONE, &l->whole,
                              l->whole_number, &data);
    if (code)
        return chunk_fail(l, code);
    memcpy(l->whole_bytes + (size_t)l->whole_number * l->whole.chunk_bytes, data.ptr, data.len);
    l->whole_number++;
    /* Its memory, which is in the processor's cache, is the next one's. */
    arena_restart(&l->chunk->arena, NULL, 0);
    return E_OK;
}

/* Puts the big cells together that were loaded, one chunk after the other. */
static int load_whole(struct load *l)
{
    if (l->state == LOAD_CHUNK)
        TRY(take_chunk(l));
    for (; l->whole_at < l->row.cell_count; l->whole_at++) {
        struct wr_cell *cell = &l->row.cells[l->whole_at];

        if (!is_wanted(l, l->whole_at))
            continue;
        if (!l->whole_bytes)
            TRY(whole_begin(l));
        while (l->whole_number < big_chunk_count(&l->whole)) {
            if (l->whole_number)
                TRY(load_step(l));
            TRY(get_chunk(l));
            TRY(take_chunk(l));
        }
        invariant(l->whole_number == big_chunk_count(&l->whole));
        cell->value.bytes = bytes_of(l->whole_bytes, (size_t)l->whole.length);
        cell->apart = false;
        l->whole_bytes = NULL;
    }
    return E_OK;
}

static int load_steps(struct load *l)
{
    while (l->state != LOAD_CHUNK) {
        if (l->state == LOAD_START)
            TRY(get_record(l));
        TRY(load_take(l));
        if (l->state == LOAD_START)
            continue;
        if (!l->row.wide || l->range_at >= l->column_count)
            break;
        if (l->state == LOAD_CELLS)
            TRY(load_step(l));
        TRY(wants_read_lock(l) ? put_read_lock(l) : scan_cells(l));
    }
    return l->whole_versions ? load_whole(l) : E_OK;
}

static void own_release(struct load *l)
{
    if (!l->own)
        return;
    snapshot_release(l->own);
    l->own = l->snapshot = NULL;
}

/* Its snapshot was revoked: once more from the row record on. */
static void begin_again(struct load *l)
{
    invariant(!l->again && l->own);
    own_release(l);
    ctx_clear(l->c);
    if (l->chunk)
        ctx_clear(l->chunk);
    forget_cells(l);
    l->row = (struct row){0};
    l->whole_at = 0;
    l->whole_bytes = NULL;
    l->state = LOAD_START;
    l->again = true;
}

int load_run(struct load *l)
{
    int code;

    invariant(!l->row.read_locked || l->row.wide);
    if (l->state == LOAD_START)
        l->column_count_given = l->column_count;
    code = load_steps(l);
    if (code == E_BUSY && l->own && l->own->revoked && !l->again) {
        begin_again(l);
        code = load_steps(l);
    }
    if (code == E_LATER)
        return code;
    own_release(l);
    read_lock_end(l);
    return code;
}

/* ---- for threads that may sleep ---- */

struct wait_load {
    struct load load;
    struct waiter w;
};

static void load_done(struct load *l)
{
    waiter_wake(&PORT_CONTAINER(l, struct wait_load, load)->w, E_OK);
}

int wait_load(struct load *l)
{
    struct wait_load wl = {.load = *l};
    int code;

    wl.load.done = load_done;
    do {
        waiter_init(&wl.w);
        code = load_run(&wl.load);
        if (code == E_LATER)
            waiter_wait(&wl.w);
    } while (code == E_LATER);
    *l = wl.load;
    return code;
}
