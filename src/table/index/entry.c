#include "table/index/entry.h"

#include "base/invariant.h"
#include "table/model/index_note.h"
#include "table/model/value.h"

bool entry_takes(const struct wr_cell *cell, enum wr_type defined, bool in_key)
{
    if (cell->apart || cell->value.type != defined)
        return false;
    return !in_key || !value_is_bytes(defined) ||
           cell->value.bytes.len <= INDEX_KEY_VALUE_BYTES_MAX;
}

/* A key column of one table in another, where it may run the other way round. */
static void put_key_column(struct buf *b, const struct wr_key_schema *key, size_t at, bytes cols,
                           bool descending)
{
    bytes column = key_column_bytes(key, cols, at);
    uint8_t flip = key[at].descending == descending ? 0 : 0xFF, *to = buf_reserve(b, column.len);

    for (size_t i = 0; i < column.len; i++)
        to[i] = bytes_u8(column)[i] ^ flip;
    buf_commit(b, column.len);
}

/* The cell that an attribute column of the key is made of; NULL: the row has none that can be. */
static const struct wr_cell *key_cell(const struct schema *base, size_t at, const struct row *row)
{
    const struct wr_defined_column *defined = &base->d.defined[at];
    const struct wr_cell *cell = cells_find(row->cells, row->cell_count, defined->name);

    return cell && entry_takes(cell, defined->type, true) ? cell : NULL;
}

/* When the row was written last that a reader may see, as far as it is loaded; of a wide row its
 * marker says that. */
static int64_t last_written(const struct row *row)
{
    int64_t last = row->wide || !row->cell_count ? row->marker_ms : row->cells[0].timestamp_ms;

    for (size_t i = 0; !row->wide && i < row->cell_count; i++)
        if (row->cells[i].timestamp_ms > last)
            last = row->cells[i].timestamp_ms;
    return last;
}

/* Key and marker. */
static bool put_key(struct arena *a, const struct schema *base, const struct index *index,
                    bytes cols, const struct row *row, struct index_entry *out)
{
    const struct location *p = &index->location;
    bool has_cells = false;
    struct buf b;

    buf_init(&b, a, cols.len + 64);
    for (size_t i = 0; i < p->key_count; i++) {
        size_t at = index->from[i].at;
        const struct wr_cell *cell;

        if (index->from[i].is_key) {
            put_key_column(&b, base->d.key, at, cols, p->key[i].descending);
            continue;
        }
        cell = key_cell(base, at, row);
        if (!cell || !key_put_column(&b, &p->key[i], &cell->value))
            return false;
        if (!has_cells || cell->timestamp_ms < out->row.marker_ms)
            out->row.marker_ms = cell->timestamp_ms;
        has_cells = true;
    }
    if (!has_cells)
        out->row.marker_ms = last_written(row);
    out->cols = buf_bytes(&b);
    return true;
}

static void take_covered(struct arena *a, const struct index *index, const struct row *row,
                         struct row *out)
{
    out->cells = ARENA_ARRAY(a, struct wr_cell, index->covered_count);
    for (size_t i = 0; i < index->covered_count; i++) {
        const struct wr_cell *cell = cells_find(row->cells, row->cell_count, index->covered[i]);

        if (cell && !cell->apart)
            out->cells[out->cell_count++] = *cell;
    }
}

struct index_entry entry_of(struct arena *a, const struct schema *base, const struct index *index,
                            bytes cols, const struct row *row)
{
    struct index_entry out = {.there = false};

    if (!row->there || !put_key(a, base, index, cols, row, &out))
        return (struct index_entry){.there = false};
    out.there = out.row.there = true;
    out.row.stamp = row->stamp;
    take_covered(a, index, row, &out.row);
    return out;
}

/* Where a key column of the base stands in an entry's key. */
static size_t entry_column_of(const struct index *index, size_t base_column)
{
    for (size_t i = 0; i < index->location.key_count; i++)
        if (index->from[i].is_key && index->from[i].at == base_column)
            return i;
    invariant(!"an entry's key has all key columns of its table");
    return 0;
}

/* The key columns of the row that an entry with these is of. */
static bytes entry_base_cols(struct arena *a, const struct schema *base, const struct index *index,
                             bytes cols)
{
    struct buf b;

    buf_init(&b, a, cols.len);
    for (size_t i = 0; i < base->d.key_count; i++)
        put_key_column(&b, index->location.key, entry_column_of(index, i), cols,
                       base->d.key[i].descending);
    return buf_bytes(&b);
}

struct kv entry_record(struct arena *a, const struct location *p, const struct index_entry *entry)
{
    struct buf key, value;

    invariant(entry->there && entry->row.stamp && !entry->row.wide);
    buf_init(&key, a, KEY_PREFIX_BYTES + entry->cols.len);
    layout_put_key(&key, p, KIND_RECORD, entry->cols);
    buf_init(&value, a, 64);
    row_encode(&value, &entry->row);
    return (struct kv){buf_bytes(&key), buf_bytes(&value)};
}

/* To the bit: 0.0 and -0.0 compare as equal, and so do "1.5" and "1.50" as DECIMAL. */
static bool stored_equal(const struct wr_value *a, const struct wr_value *b)
{
    return value_is_bytes(a->type) ? bytes_equal(a->bytes, b->bytes)
                                   : value_bits(a) == value_bits(b);
}

static bool cell_equal(const struct wr_cell *a, const struct wr_cell *b)
{
    return a->timestamp_ms == b->timestamp_ms && a->value.type == b->value.type &&
           bytes_equal(a->name, b->name) && stored_equal(&a->value, &b->value);
}

bool entry_equal(const struct index_entry *a, const struct index_entry *b)
{
    if (a->there != b->there || !a->there)
        return a->there == b->there;
    if (!bytes_equal(a->cols, b->cols) || a->row.marker_ms != b->row.marker_ms ||
        a->row.cell_count != b->row.cell_count)
        return false;
    for (size_t i = 0; i < a->row.cell_count; i++)
        if (!cell_equal(&a->row.cells[i], &b->row.cells[i]))
            return false;
    return true;
}

static void add_edit(struct batch_builder *e, const struct location *p, enum edit_type type,
                     bytes cols, bytes value)
{
    struct buf key;

    if (!p->id)
        return;
    buf_init(&key, e->arena, KEY_PREFIX_BYTES + cols.len);
    layout_put_key(&key, p, KIND_RECORD, cols);
    batch_add(e, type, buf_bytes(&key), value);
}

bool entry_moves(const struct index *index, const struct index_entry *old,
                 const struct index_entry *now)
{
    /* Of a row from before an index of later writes only, the entry may not be there. */
    return !entry_equal(old, now) || (!index->include_base_data && now->there);
}

bool entry_change(struct batch_builder *e, const struct index *index, const struct index_entry *old,
                  const struct index_entry *now)
{
    struct kv record;

    if (!entry_moves(index, old, now))
        return false;
    if (old->there && !(now->there && bytes_equal(old->cols, now->cols))) {
        add_edit(e, &index->location, EDIT_DELETE, old->cols, BYTES_NONE);
        add_edit(e, &index->shadow, EDIT_DELETE, old->cols, BYTES_NONE);
    }
    if (!now->there)
        return true;
    record = entry_record(e->arena, &index->location, now);
    batch_add(e, EDIT_PUT, record.key, record.value);
    add_edit(e, &index->shadow, EDIT_PUT, now->cols, record.value);
    return true;
}

void entry_mark(struct batch_builder *e, const struct index *index, bytes cols,
                const struct index_entry *old, const struct index_entry *now)
{
    struct kv mark;

    if (!entry_moves(index, old, now))
        return;
    mark = index_note_mark(e->arena, index->location.id, cols, old->cols);
    batch_add(e, EDIT_PUT, mark.key, mark.value);
}

struct entry_mark entry_mark_read(struct arena *a, const struct schema *base,
                                  const struct index *index, bytes mark_key)
{
    bool of_entry;
    bytes rest = index_note_cols(mark_key, &of_entry);
    size_t n = key_columns_length(base->d.key, rest, base->d.key_count);

    if (of_entry)
        return (struct entry_mark){entry_base_cols(a, base, index, rest), rest};
    return (struct entry_mark){bytes_of(rest.ptr, n), bytes_skip(rest, n)};
}
