/* load.c
 *
 * A wide row is read by ranges: one range for all cells, or one for each wanted column, up to
 * SCAN_RANGES of them in one scan. Each page holds a bounded number of cells, so memory grows only
 * with what the caller asked for. Big cells are put together behind that. What one scan reads is
 * one point in time; a row that takes several (many cells, large ones, many columns) may change
 * between them. */
#include "table/load.h"

#include "base/limit.h"
#include "table/key.h"
#include "table/route.h"

#define PAGE_CELLS 4096
#define PAGE_BYTES (1 << 20)
#define SCAN_RANGES 64 /* columns asked for at once: each may hold a large value */

enum { LOAD_START, LOAD_HEAD, LOAD_CELLS, LOAD_CHUNK, LOAD_DONE };

static bytes cell_bound(struct load *l, bytes column, bool with_column, bool past)
{
    struct buf b;

    buf_init(&b, &l->c->arena, KEY_PREFIX_BYTES + l->cols.len + column.len + 24);
    layout_put_key(&b, &l->table->schema.place, KIND_CELL, l->cols);
    if (with_column)
        cell_put_key_column(&b, l->row.id, column);
    else
        cell_put_key_id(&b, l->row.id);
    /* Every cell key goes on behind this prefix; no cell key's next byte is 0xFF repeated nine
     * times. */
    if (past)
        for (int i = 0; i < 9; i++)
            buf_put_u8(&b, 0xFF);
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

/* Takes the pages of the scan, one a range, up to the first range that goes on. */
static int take_pages(struct load *l)
{
    bool whole = true;

    for (size_t p = 0; p < l->scan.range_count && whole && !l->next.ptr; p++) {
        const struct page *page = &l->pages[p];

        for (size_t i = 0; i < page->count && !l->next.ptr; i++)
            TRY(add_cell(l, &page->items[i]));
        whole = !page->more || !page->count;
        if (whole)
            l->range_at++;
        else
            l->ranges[l->range_at].start =
                key_after(&l->c->arena, page->items[page->count - 1].key);
    }
    if (l->c->arena.cap && l->c->arena.used > l->c->arena.cap)
        return fail_code(l->c, E_MEMORY);
    if (l->next.ptr)
        l->range_at = l->column_count;
    return E_OK;
}

static void get_done(struct get *g)
{
    struct load *l = PORT_CONTAINER(g, struct load, get);

    l->done(l);
}

static void scan_done(struct scan *s)
{
    struct load *l = PORT_CONTAINER(s, struct load, scan);

    l->done(l);
}

static int ask_head(struct load *l)
{
    struct buf key;

    buf_init(&key, &l->c->arena, KEY_PREFIX_BYTES + l->cols.len);
    layout_put_key(&key, &l->table->schema.place, KIND_HEAD, l->cols);
    l->get =
        (struct get){.key = buf_bytes(&key), .view = l->view, .early = l->early, .done = get_done};
    l->state = LOAD_HEAD;
    return route_get(l->c, l->table, &l->get);
}

/* The wanted columns in one scan, which is one point in time: an update of two columns is seen
 * whole or not at all. */
static int ask_cells(struct load *l)
{
    size_t left = l->column_count - l->range_at;

    l->scan = (struct scan){.view = l->view,
                            .ranges = &l->ranges[l->range_at],
                            .range_count = left < SCAN_RANGES ? left : SCAN_RANGES,
                            .items_max = PAGE_CELLS,
                            .bytes_max = PAGE_BYTES,
                            .done = scan_done};
    l->pages = ARENA_ARRAY(&l->c->arena, struct page, l->scan.range_count);
    l->scan.pages = l->pages;
    l->state = LOAD_CELLS;
    return route_scan(l->c, l->table, &l->scan);
}

void load_from_head(struct load *l, const struct row *head)
{
    l->row = *head;
    make_ranges(l);
    l->state = LOAD_DONE; /* no page to take yet: load_run() asks for the first */
}

/* Takes what was asked for, if anything was; E_OK when the row is complete. */
static int load_take(struct load *l)
{
    switch (l->state) {
    case LOAD_HEAD:
        if (l->get.code)
            return fail(l->c, l->get.code, "%s", err_info(l->get.code)->text);
        if (!l->get.found)
            return E_OK;
        TRY(row_decode(l->c, l->get.value, &l->row));
        if (l->row.wide)
            make_ranges(l);
        break;
    case LOAD_CELLS:
        if (l->scan.code)
            return fail(l->c, l->scan.code, "%s", err_info(l->scan.code)->text);
        return take_pages(l);
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

static int ask_chunk(struct load *l)
{
    const struct place *p = &l->table->schema.place;
    int code;

    l->get = (struct get){
        .key = big_chunk_key(&l->chunk->arena, p, l->cols, l->whole.id, l->whole_number),
        .view = l->view,
        .once = true,
        .done = get_done};
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
            TRY(ask_chunk(l));
            TRY(take_chunk(l));
        }
        cell->value.bytes = bytes_of(l->whole_bytes, (size_t)l->whole.length);
        cell->apart = false;
        l->whole_bytes = NULL;
    }
    return E_OK;
}

int load_run(struct load *l)
{
    if (l->state == LOAD_START)
        TRY(ask_head(l));
    while (l->state != LOAD_CHUNK) {
        TRY(load_take(l));
        if (!l->row.wide || l->range_at >= l->column_count)
            break;
        TRY(ask_cells(l));
    }
    return l->whole_versions ? load_whole(l) : E_OK;
}
