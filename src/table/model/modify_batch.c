/* modify_batch.c: what stores a row in place of the one before. A wide row keeps its id as long as
 * it is there, and so do its cells that have not changed; data out of line that nothing points to
 * any more becomes garbage in the same batch. */
#include "base/invariant.h"
#include "table/model/big.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/model/modify.h"
#include "table/model/value.h"

#define DELETION_BYTES 4096 /* of a row that is stored again without some columns */

static bytes row_key(const struct modify *m, struct arena *a, enum key_kind kind, uint64_t id)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + m->cols.len + 8);
    layout_put_key(&b, &m->table->schema.location, kind, m->cols);
    if (id)
        cell_put_key_id(&b, id);
    return buf_bytes(&b);
}

static void batch_put_cell(const struct modify *m, struct batch_builder *e, enum edit_type type,
                           uint64_t id, const struct wr_cell *cell)
{
    struct buf key, value;

    buf_init(&key, e->arena, KEY_PREFIX_BYTES + m->cols.len + cell->name.len + 24);
    layout_put_key(&key, &m->table->schema.location, KIND_CELL, m->cols);
    cell_put_key(&key, id, cell->name, cell->timestamp_ms);
    buf_init(&value, e->arena, 0);
    if (type == EDIT_PUT)
        cell_encode(&value, cell);
    batch_add(e, type, buf_bytes(&key), buf_bytes(&value));
}

static int batch_compare_cells(const struct wr_cell *a, const struct wr_cell *b)
{
    int r = bytes_compare(a->name, b->name);

    if (r)
        return r;
    return a->timestamp_ms > b->timestamp_ms ? -1 : a->timestamp_ms < b->timestamp_ms;
}

static bool cells_sorted(const struct wr_cell *cells, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (batch_compare_cells(&cells[i - 1], &cells[i]) >= 0)
            return false;
    return true;
}

static bool same_cell(const struct wr_cell *a, const struct wr_cell *b)
{
    return a->crc8 == b->crc8 && a->apart == b->apart && a->value.type == b->value.type &&
           value_compare(&a->value, &b->value) == 0;
}

/* Data out of line that nothing points to any more is noted in the same batch and swept later. */
static void batch_put_garbage(const struct modify *m, struct batch_builder *e,
                              enum garbage_kind kind, uint64_t id)
{
    batch_add(e, EDIT_PUT, big_garbage_key(e->arena, &m->table->schema.location, m->cols, id),
              big_garbage_value(e->arena, kind, m->time.us / 1000));
}

static uint64_t out_of_line_id(const struct wr_cell *cell)
{
    return load_u64(cell->value.bytes.ptr); /* big_read() was asked when it came in */
}

/* The cells of a wide row that differ between `old` (those stored) and `now`. Both sorted. */
static void batch_put_wide(const struct modify *m, struct batch_builder *e,
                           const struct wr_cell *old, size_t old_count)
{
    const struct row *now = &m->row;
    size_t i = 0, j = 0;

    assert(cells_sorted(old, old_count) && cells_sorted(now->cells, now->cell_count));
    while (i < old_count || j < now->cell_count) {
        int r = i == old_count         ? 1
                : j == now->cell_count ? -1
                                       : batch_compare_cells(&old[i], &now->cells[j]);

        if (r < 0) {
            if (old[i].apart)
                batch_put_garbage(m, e, GARBAGE_CELL, out_of_line_id(&old[i]));
            batch_put_cell(m, e, EDIT_DELETE, now->id, &old[i++]);
        } else if (r > 0) {
            batch_put_cell(m, e, EDIT_PUT, now->id, &now->cells[j++]);
        } else {
            if (!same_cell(&old[i], &now->cells[j])) {
                if (old[i].apart)
                    batch_put_garbage(m, e, GARBAGE_CELL, out_of_line_id(&old[i]));
                batch_put_cell(m, e, EDIT_PUT, now->id, &now->cells[j]);
            }
            i++;
            j++;
        }
    }
}

static bool refers_to(const struct row *row, uint64_t id)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].apart && out_of_line_id(&row->cells[i]) == id)
            return true;
    return false;
}

/* The change removes columns, and what it stores of the row is no more than a key may take, or than
 * what it removes: it is a deletion, which a nearly full disk takes too. */
static bool is_deletion(const struct modify *m, size_t record_bytes)
{
    const struct wr_table_options *options = &m->table->schema.d.options;
    const struct row *old = &m->old, *now = &m->row;

    if (!m->removes || now->wide != old->wide || now->cell_count >= old->cell_count)
        return false;
    return record_bytes <= DELETION_BYTES ||
           record_bytes <= meter_row_size(options, &m->key, old->cells, old->cell_count) -
                               meter_row_size(options, &m->key, now->cells, now->cell_count);
}

static void batch_put_row(const struct modify *m, struct batch_builder *e)
{
    const struct row *old = &m->old, *now = &m->row;
    struct buf record;
    bool keeps;

    if (!m->changed)
        return;
    invariant(!old->wide || (old->there && old->id));
    invariant(!now->wide || (now->there && now->id));
    keeps = now->there && now->wide && old->wide && old->id == now->id;
    if (old->there && old->wide && !keeps)
        batch_put_garbage(m, e, GARBAGE_ROW, old->id);
    if (!now->there) {
        batch_add(e, EDIT_DELETE, row_key(m, e->arena, KIND_RECORD, 0), BYTES_NONE);
        return;
    }
    buf_init(&record, e->arena, now->wide ? 40 : 256);
    row_encode(&record, now);
    e->stores |= !is_deletion(m, record.len);
    batch_add(e, EDIT_PUT, row_key(m, e->arena, KIND_RECORD, 0), buf_bytes(&record));
    if (now->wide)
        batch_put_wide(m, e, old->cells, keeps ? old->cell_count : 0);
    /* What was on its way has come to its place, unless the row has no use for it (an old version,
     * say): then it stays garbage. */
    for (size_t i = 0; i < m->change->row.cell_count; i++)
        if (m->change->row.cells[i].apart &&
            refers_to(now, out_of_line_id(&m->change->row.cells[i])))
            batch_add(e, EDIT_DELETE,
                      big_garbage_key(e->arena, &m->table->schema.location, m->cols,
                                      out_of_line_id(&m->change->row.cells[i])),
                      BYTES_NONE);
}

void modify_batch(const struct modify *m, struct batch_builder *e)
{
    size_t from = e->count;

    batch_put_row(m, e);
    batch_add_shadow(e, from, &m->table->schema);
}
