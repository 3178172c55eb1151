#include "table/txn/txn_row.h"

#include "base/invariant.h"
#include "table/model/key.h"
#include "table/model/name.h"
#include "table/model/value.h"
#include "table/model/visible.h"

#include <stdlib.h>

#define ROWS_MIN 8
#define COMMIT_ROW_BYTES 3072 /* of a row of a write and its lock, without what it holds */
#define COMMIT_CELL_BYTES (3 * sizeof(struct wr_cell)) /* as read, as decided, as asked for */

/* A row as it was before a batch; one that is new has no cells, and goes. */
struct txn_saved {
    struct txn_row *row, before;
    bool is_new;
    struct txn_saved *next;
};

/* ---- the list ---- */

/* Where the row is, or would be. */
static size_t row_at(const struct txn_rows *rows, bytes cols)
{
    size_t low = 0, high = rows->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (bytes_compare(rows->list[middle]->cols, cols) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct txn_row *txn_rows_find(const struct txn_rows *rows, bytes cols)
{
    size_t at = row_at(rows, cols);

    return at < rows->count && bytes_equal(rows->list[at]->cols, cols) ? rows->list[at] : NULL;
}

static void row_save(struct txn_rows *rows, struct txn_row *row, bool is_new)
{
    struct txn_saved *saved;

    if (!rows->saves || row->is_saved)
        return;
    saved = mem_alloc(sizeof(*saved));
    *saved = (struct txn_saved){row, *row, is_new, rows->saved};
    saved->before.cells = NULL;
    if (row->cell_count) {
        saved->before.cells = mem_alloc(row->cell_count * sizeof(*row->cells));
        memcpy(saved->before.cells, row->cells, row->cell_count * sizeof(*row->cells));
    }
    rows->bytes += sizeof(*saved) + row->cell_count * sizeof(*row->cells);
    rows->saved = saved;
    row->is_saved = true;
}

static void list_insert(struct txn_rows *rows, struct txn_row *row, size_t at)
{
    if (rows->count == rows->capacity) {
        rows->bytes -= rows->capacity * sizeof(void *);
        rows->capacity = rows->capacity ? 2 * rows->capacity : ROWS_MIN;
        rows->list = mem_realloc(rows->list, rows->capacity * sizeof(void *));
        rows->bytes += rows->capacity * sizeof(void *);
    }
    memmove(&rows->list[at + 1], &rows->list[at], (rows->count++ - at) * sizeof(void *));
    rows->list[at] = row;
}

static struct txn_row *row_insert(struct txn_rows *rows, const struct modify *m, size_t at)
{
    struct txn_row *row = ARENA_NEW(rows->arena, struct txn_row);

    list_insert(rows, row, at);
    row->cols = arena_copy(rows->arena, m->cols);
    row->key = key_copy(rows->arena, &m->key);
    row_save(rows, row, true);
    return row;
}

static struct txn_row *row_get(struct txn_rows *rows, const struct modify *m)
{
    size_t at = row_at(rows, m->cols);
    struct txn_row *row;

    if (at == rows->count || !bytes_equal(rows->list[at]->cols, m->cols))
        return row_insert(rows, m, at);
    row = rows->list[at];
    row_save(rows, row, false);
    return row;
}

/* ---- undo ---- */

static void saved_pop(struct txn_rows *rows)
{
    struct txn_saved *saved = rows->saved;

    rows->saved = saved->next;
    rows->bytes -= sizeof(*saved) + saved->before.cell_count * sizeof(struct wr_cell);
    mem_free(saved);
}

static size_t cells_bytes(const struct wr_cell *cells, size_t count)
{
    size_t n = count * COMMIT_CELL_BYTES;

    for (size_t i = 0; i < count; i++)
        n += cells[i].op == WR_CELL_PUT ? 2 * value_size(&cells[i].value) : 0;
    return n;
}

static void set_cells(struct txn_rows *rows, struct txn_row *row, struct wr_cell *cells,
                      size_t count)
{
    rows->bytes += (count - row->cell_count) * sizeof(*cells);
    mem_free(row->cells);
    row->cells = cells;
    row->cell_count = count;
}

/* Read and written again: twice. */
static void count_commit(struct txn_rows *rows, struct txn_row *row)
{
    size_t n = COMMIT_ROW_BYTES + row->cols.len + cells_bytes(row->cells, row->cell_count);

    n += row->replaces ? 0 : 2 * row->stored_bytes;
    rows->commit_bytes += n - row->commit_bytes;
    row->commit_bytes = n;
}

void txn_rows_load(struct txn_rows *rows, struct txn_row *row)
{
    size_t count = row->cell_count;
    struct wr_cell *cells = count ? mem_alloc(count * sizeof(*cells)) : NULL;

    invariant(!rows->count || bytes_compare(rows->list[rows->count - 1]->cols, row->cols) < 0);
    if (count)
        memcpy(cells, row->cells, count * sizeof(*cells));
    row->cells = NULL;
    row->cell_count = row->commit_bytes = 0;
    list_insert(rows, row, rows->count);
    set_cells(rows, row, cells, count);
    count_commit(rows, row);
}

static void row_remove(struct txn_rows *rows, struct txn_row *row)
{
    size_t at = row_at(rows, row->cols);

    invariant(rows->list[at] == row);
    set_cells(rows, row, NULL, 0);
    rows->commit_bytes -= row->commit_bytes;
    memmove(&rows->list[at], &rows->list[at + 1], (--rows->count - at) * sizeof(void *));
}

void txn_rows_save(struct txn_rows *rows)
{
    txn_rows_keep(rows);
    rows->saves = true;
}

void txn_rows_undo(struct txn_rows *rows)
{
    while (rows->saved) {
        struct txn_saved *saved = rows->saved;
        struct txn_row *row = saved->row;

        if (saved->is_new) {
            row_remove(rows, row);
        } else {
            set_cells(rows, row, saved->before.cells, saved->before.cell_count);
            row->replaces = saved->before.replaces;
            row->there = saved->before.there;
            row->creates = saved->before.creates;
            row->dirty = saved->before.dirty;
            row->is_saved = false;
            count_commit(rows, row);
        }
        saved_pop(rows);
    }
    rows->saves = false;
}

void txn_rows_keep(struct txn_rows *rows)
{
    while (rows->saved) {
        rows->saved->row->is_saved = false;
        mem_free(rows->saved->before.cells);
        saved_pop(rows);
    }
    rows->saves = false;
}

void txn_rows_release(struct txn_rows *rows)
{
    txn_rows_keep(rows);
    for (size_t i = 0; i < rows->count; i++)
        mem_free(rows->list[i]->cells);
    mem_free(rows->list);
}

/* ---- one column ---- */

/* Cells of one column among sorted ones. */
struct column {
    const struct wr_cell *cells;
    size_t count;
};

static struct column column_of(const struct wr_cell *cells, size_t count, bytes name)
{
    size_t low = 0, high = count, end;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (bytes_compare(cells[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < count && bytes_equal(cells[end].name, name); end++)
        ;
    return (struct column){cells ? &cells[low] : NULL, end - low};
}

/* The version, among those that are there, of which the newest come first; NULL: it is not. */
static const struct wr_cell *find_version(const struct column *c, int64_t timestamp_ms)
{
    size_t low = 0, high = c->count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (c->cells[middle].timestamp_ms > timestamp_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->count && c->cells[low].timestamp_ms == timestamp_ms ? &c->cells[low] : NULL;
}

/* What becomes of a column. */
struct merge_column {
    struct txn_rows *rows;
    bytes name;
    struct column own;     /* what the transaction has kept of it so far */
    struct column deleted; /* by the change */
    struct column stored;
    struct column now; /* versions after the change */
    struct wr_cell *out;
    size_t count;
    bool cleared; /* nothing stored stays */
};

static bool has_deleted(const struct merge_column *x, int64_t timestamp_ms)
{
    for (size_t i = 0; i < x->count; i++)
        if (x->out[i].op == WR_CELL_DELETE_ONE && x->out[i].timestamp_ms == timestamp_ms)
            return true;
    return false;
}

static void add_deleted(struct merge_column *x, int64_t timestamp_ms)
{
    if (!has_deleted(x, timestamp_ms))
        x->out[x->count++] = (struct wr_cell){
            .name = x->name, .op = WR_CELL_DELETE_ONE, .timestamp_ms = timestamp_ms};
}

static void clear_column(struct merge_column *x)
{
    x->cleared = true;
    x->count = 0;
    x->out[x->count++] = (struct wr_cell){
        .name = x->name, .op = WR_CELL_DELETE_ALL, .timestamp_ms = WR_TIMESTAMP_NONE};
}

static bool same_value(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type)
        return false;
    return value_width(a->type) ? value_bits(a) == value_bits(b) : bytes_equal(a->bytes, b->bytes);
}

/* Is it a stored version that stays? One of the transaction that is quite the same may count as
 * that. */
static bool is_stored(const struct merge_column *x, const struct wr_cell *cell)
{
    const struct wr_cell *stored = find_version(&x->stored, cell->timestamp_ms);

    return !x->cleared && stored && same_value(&stored->value, &cell->value) &&
           !has_deleted(x, cell->timestamp_ms);
}

/* What was deleted before, and what the change deletes. */
static void take_deletions(struct merge_column *x)
{
    for (size_t i = 0; i < x->own.count && x->own.cells[i].op != WR_CELL_PUT; i++) {
        x->out[x->count++] = x->own.cells[i];
        x->cleared |= x->own.cells[i].op == WR_CELL_DELETE_ALL;
    }
    for (size_t i = 0; i < x->deleted.count && !x->cleared; i++) {
        if (x->deleted.cells[i].op == WR_CELL_DELETE_ALL)
            clear_column(x);
        else
            add_deleted(x, x->deleted.cells[i].timestamp_ms);
    }
}

/* Without a version that is deleted, others that MaxVersions dropped for its sake would come back.
 */
static void drop_hidden(struct merge_column *x)
{
    size_t stay = 0, hidden = 0;

    for (size_t i = 0; i < x->now.count; i++)
        stay += is_stored(x, &x->now.cells[i]);
    for (size_t i = 0; i < x->stored.count; i++) {
        int64_t ms = x->stored.cells[i].timestamp_ms;

        hidden += !find_version(&x->now, ms) && !has_deleted(x, ms);
    }
    if (hidden && !stay) {
        clear_column(x);
        return;
    }
    for (size_t i = 0; i < x->stored.count && hidden; i++)
        if (!find_version(&x->now, x->stored.cells[i].timestamp_ms))
            add_deleted(x, x->stored.cells[i].timestamp_ms);
}

/* A version as it is kept. A value that the transaction has already is not copied again. */
static struct wr_cell kept_cell(const struct merge_column *x, const struct wr_cell *cell)
{
    struct wr_cell out = *cell;
    bool is_bytes = !value_width(cell->value.type);

    out.name = x->name;
    out.op = WR_CELL_PUT;
    for (size_t i = 0; i < x->own.count && is_bytes; i++) {
        const struct wr_cell *own = &x->own.cells[i];

        if (own->op == WR_CELL_PUT && own->value.type == cell->value.type &&
            own->value.bytes.ptr == cell->value.bytes.ptr &&
            own->value.bytes.len == cell->value.bytes.len)
            return out;
    }
    out.value = value_copy(x->rows->arena, &cell->value);
    return out;
}

/* Sets x->out. */
static void merge_column(struct merge_column *x, struct arena *scratch, bool replaces)
{
    x->out = ARENA_ARRAY(scratch, struct wr_cell,
                         x->own.count + x->deleted.count + x->stored.count + x->now.count + 1);
    x->name = x->own.count ? x->own.cells[0].name : arena_copy(x->rows->arena, x->name);
    if (!replaces) {
        take_deletions(x);
        if (x->deleted.count && !x->cleared)
            drop_hidden(x);
    }
    for (size_t i = 0; i < x->now.count; i++)
        if (replaces || !is_stored(x, &x->now.cells[i]))
            x->out[x->count++] = kept_cell(x, &x->now.cells[i]);
}

/* ---- one row ---- */

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(((const struct wr_cell *)a)->name, ((const struct wr_cell *)b)->name);
}

/* The deletions of a change, by column. */
static struct column sorted_deletions(struct arena *scratch, const struct wr_row *asked)
{
    struct wr_cell *cells = ARENA_ARRAY(scratch, struct wr_cell, asked->cell_count + 1);
    size_t n = 0;

    for (size_t i = 0; i < asked->cell_count; i++)
        if (asked->cells[i].op == WR_CELL_DELETE_ONE || asked->cells[i].op == WR_CELL_DELETE_ALL)
            cells[n++] = asked->cells[i];
    qsort(cells, n, sizeof(*cells), compare_names);
    return (struct column){cells, n};
}

/* The columns that a change may have changed: those that it names and, where each update writes all
 * of them again, those that the transaction has. */
static const bytes *touched_columns(struct arena *scratch, const struct txn_row *row,
                                    const struct modify *m, size_t *count)
{
    const struct wr_row *asked = &m->change->row;
    size_t own = m->table->schema.d.options.update_full_row ? row->cell_count : 0;
    bytes *names = ARENA_ARRAY(scratch, bytes, asked->cell_count + own + 1);

    for (size_t i = 0; i < asked->cell_count; i++)
        names[i] = asked->cells[i].name;
    for (size_t i = 0; i < own; i++)
        names[asked->cell_count + i] = row->cells[i].name;
    *count = names_sort_unique(names, asked->cell_count + own);
    return names;
}

/* A row without cells has no array of them. */
static void copy_cells(struct wr_cell *to, const struct wr_cell *cells, size_t at, size_t count)
{
    if (count)
        memcpy(to, &cells[at], count * sizeof(*to));
}

/* Puts each of the columns, which are sorted, in the place of the row's own. */
static void splice_columns(struct txn_rows *rows, struct txn_row *row,
                           const struct merge_column *columns, size_t count)
{
    size_t most = row->cell_count, n = 0, at = 0;
    struct wr_cell *cells;

    for (size_t i = 0; i < count; i++)
        most += columns[i].count - columns[i].own.count;
    cells = mem_alloc((most + 1) * sizeof(*cells));
    for (size_t i = 0; i < count; i++) {
        size_t own = (size_t)(columns[i].own.cells - row->cells);

        copy_cells(&cells[n], row->cells, at, own - at);
        n += own - at;
        copy_cells(&cells[n], columns[i].out, 0, columns[i].count);
        n += columns[i].count;
        at = own + columns[i].own.count;
    }
    copy_cells(&cells[n], row->cells, at, row->cell_count - at);
    invariant(n + row->cell_count - at == most);
    set_cells(rows, row, cells, most);
}

static void merge_update(struct txn_rows *rows, struct arena *scratch, struct txn_row *row,
                         const struct modify *m, const struct row *stored)
{
    struct column deleted = sorted_deletions(scratch, &m->change->row);
    size_t count;
    const bytes *names = touched_columns(scratch, row, m, &count);
    struct merge_column *columns = ARENA_ARRAY(scratch, struct merge_column, count + 1);

    for (size_t i = 0; i < count; i++) {
        struct merge_column *x = &columns[i];

        x->rows = rows;
        x->name = names[i];
        x->own = column_of(row->cells, row->cell_count, names[i]);
        x->deleted = column_of(deleted.cells, deleted.count, names[i]);
        x->now = column_of(m->row.cells, m->row.cell_count, names[i]);
        if (stored)
            x->stored = column_of(stored->cells, stored->cell_count, names[i]);
        merge_column(x, scratch, row->replaces);
    }
    splice_columns(rows, row, columns, count);
}

/* The row is what it has become, whatever is stored. */
static void replace_row(struct txn_rows *rows, struct txn_row *row, const struct row *now)
{
    struct wr_cell *cells = now->there ? mem_alloc((now->cell_count + 1) * sizeof(*cells)) : NULL;
    size_t count = now->there ? now->cell_count : 0;

    for (size_t i = 0; i < count; i++) {
        cells[i] = now->cells[i];
        cells[i].op = WR_CELL_PUT;
        cells[i].name = arena_copy(rows->arena, now->cells[i].name);
        cells[i].value = value_copy(rows->arena, &now->cells[i].value);
    }
    set_cells(rows, row, cells, count);
    row->replaces = true;
    row->there = now->there;
}

/* A row in one piece is written again as a whole; of a wide one only what the change touches. */
static size_t stored_bytes(const struct row *stored)
{
    size_t n = 0;

    for (size_t i = 0; stored && !stored->wide && i < stored->cell_count; i++)
        n += sizeof(struct wr_cell) + stored->cells[i].name.len +
             value_size(&stored->cells[i].value);
    return n;
}

size_t txn_rows_cost(const struct txn_rows *rows, const struct modify *m, const struct row *stored)
{
    const struct wr_row *asked = &m->change->row;
    size_t n = cells_bytes(asked->cells, asked->cell_count);

    if (txn_rows_find(rows, m->cols))
        return n;
    return n + COMMIT_ROW_BYTES + m->cols.len +
           (m->change->type == WR_UPDATE ? 2 * stored_bytes(stored) : 0);
}

void txn_rows_add(struct txn_rows *rows, struct arena *scratch, const struct modify *m,
                  const struct row *stored)
{
    struct txn_row *row = row_get(rows, m);

    invariant(m->changed);
    row->dirty = true;
    if (m->change->type != WR_UPDATE || !m->row.there) {
        replace_row(rows, row, &m->row);
    } else {
        if (!row->commit_bytes)
            row->stored_bytes = stored_bytes(stored);
        row->there = true;
        row->creates |= !visible_row(&m->table->schema.d.options, m->now_ms, &m->old);
        merge_update(rows, scratch, row, m, stored);
    }
    count_commit(rows, row);
}

static bool has_puts(const struct txn_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].op == WR_CELL_PUT)
            return true;
    return false;
}

/* A row that an update has made stays when it has lost all that was put. */
static enum wr_change_type change_type(const struct txn_row *row)
{
    if (!row->replaces)
        return row->creates && !has_puts(row) ? WR_PUT : WR_UPDATE;
    return row->there ? WR_PUT : WR_DELETE;
}

void txn_row_change(const struct txn_row *row, struct wr_row_change *out)
{
    enum wr_change_type type = change_type(row);
    bool empty = type == WR_PUT && !row->replaces;

    *out = (struct wr_row_change){
        .type = type,
        .row = {.key = row->key, .cells = row->cells, .cell_count = empty ? 0 : row->cell_count},
        .condition = {.existence = WR_IGNORE},
        .keeps_number = true};
}

/* ---- a row as the transaction sees it ---- */

/* Versions of a column: those that are stored and not deleted, and those that were put, newest
 * first. */
static size_t apply_column(const struct column *own, const struct column *stored,
                           struct wr_cell *out)
{
    size_t deletions = 0, n = 0, at = 0;
    struct merge_column x = {.out = (struct wr_cell *)own->cells};
    struct column puts;

    while (deletions < own->count && own->cells[deletions].op != WR_CELL_PUT)
        deletions++;
    x.count = deletions;
    puts = (struct column){own->cells + deletions, own->count - deletions};
    if (deletions && own->cells[0].op == WR_CELL_DELETE_ALL)
        at = stored->count;
    for (size_t i = 0; i < puts.count || at < stored->count;) {
        const struct wr_cell *old = at < stored->count ? &stored->cells[at] : NULL;

        if (old && (has_deleted(&x, old->timestamp_ms) || find_version(&puts, old->timestamp_ms)))
            at++;
        else if (old && (i == puts.count || old->timestamp_ms > puts.cells[i].timestamp_ms))
            out[n++] = stored->cells[at++];
        else
            out[n++] = puts.cells[i++];
    }
    return n;
}

static size_t name_end(const struct wr_cell *cells, size_t count, size_t at)
{
    size_t end = at + 1;

    while (end < count && bytes_equal(cells[end].name, cells[at].name))
        end++;
    return end;
}

/* Both are sorted by column. */
static size_t apply_update(const struct txn_row *row, const struct wr_cell *stored, size_t count,
                           struct wr_cell *out)
{
    size_t n = 0, i = 0, k = 0;

    while (i < row->cell_count || k < count) {
        int order = i == row->cell_count ? 1
                    : k == count         ? -1
                                         : bytes_compare(row->cells[i].name, stored[k].name);
        size_t own_end = order <= 0 ? name_end(row->cells, row->cell_count, i) : i;

        if (order > 0) {
            out[n++] = stored[k++];
        } else {
            size_t end = order == 0 ? name_end(stored, count, k) : k;
            struct column own = {&row->cells[i], own_end - i}, old = {&stored[k], end - k};

            n += apply_column(&own, &old, &out[n]);
            i = own_end;
            k = end;
        }
    }
    return n;
}

void txn_row_apply(const struct txn_row *row, struct arena *a, const struct wr_table_options *o,
                   int64_t now_ms, const struct row *stored, struct row *now)
{
    bool exists = !row->replaces && visible_row(o, now_ms, stored);
    size_t count = exists ? stored->cell_count : 0;
    struct wr_cell *seen = ARENA_ARRAY(a, struct wr_cell, count + 1);
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, count + row->cell_count + 1);

    *now = exists ? *stored : (struct row){.there = row->there, .marker_ms = now_ms};
    if (!exists && change_type(row) == WR_UPDATE)
        now->there = has_puts(row);
    if (!now->there)
        return;
    count = visible_cells(o, now_ms, stored->cells, count, seen);
    count = apply_update(row, seen, count, cells);
    now->cells = cells;
    now->cell_count = visible_cells(o, now_ms, cells, count, cells);
    /* All that was put has expired, by a time to live that has become shorter: see modify_trim().
     */
    if (count && !now->cell_count && !now->wide)
        now->there = false;
}
