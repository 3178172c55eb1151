/* row.c: rows as stored bytes (doc/format.md, "Rows").
 *
 * The value of a row record is
 *     version | flags | stamp (8) | marker (8) | [id (8)] | [count, cells]
 * and a cell in it
 *     name length, name | type | crc8 | timestamp | payload
 * where counts, lengths and timestamps are varints; a timestamp is kept as its difference to the
 * row's marker, which for most cells is 0 and hence one byte. A row is decoded in one pass without
 * copying: names and texts point into the stored value. The checksum of a cell is not verified
 * here. It was made where the cell came from and is handed out with it, so that whoever reads the
 * cell verifies the whole way; blocks on disk have the engine's own checksums. */
#include "table/model/row.h"

#include "base/invariant.h"
#include "table/model/key.h"
#include "table/model/value.h"

#include <assert.h>

enum {
    ROW_VERSION = 1,
    ROW_VERSION_READ_LOCKED = 2,
    CELL_VERSION = 1,
    CELL_VERSION_OUT_OF_LINE = 2
};

enum row_flag {
    ROW_WIDE = 1,   /* no cells here; they stand alone under the id */
    ROW_HAS_ID = 2, /* always set in a wide row */
};

#define RECORD_BYTES 18  /* up to and with the marker */
#define VARINT_BYTES 10  /* at most */
#define CELL_BYTES_MIN 5 /* name length, type, crc8, timestamp, and a payload of one byte */

/* ---- payloads */

static inline uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)v | 0x80;
    *p++ = (uint8_t)v;
    return p;
}

static inline uint8_t *row_put_text(uint8_t *p, bytes text)
{
    p = put_varint(p, text.len);
    if (text.len)
        memcpy(p, text.ptr, text.len);
    return p + text.len;
}

static inline uint8_t *put_payload(uint8_t *p, const struct wr_value *v)
{
    assert(value_is_stored(v->type));
    if (value_is_bytes(v->type))
        return row_put_text(p, v->bytes);
    store_u64(p, value_bits(v)); /* the caller has room for all eight */
    return p + value_width(v->type);
}

/* Most lengths and all small differences are one byte. Of the others a copy of the reader goes to
 * read_varint(), so that the reader itself can stay in registers. */
static inline uint64_t read_short_varint(struct reader *r)
{
    struct reader rest;
    uint64_t v;

    if (PORT_LIKELY(r->at < r->end && *r->at < 0x80))
        return *r->at++;
    rest = (struct reader){.at = r->at, .end = r->end};
    v = read_varint(&rest);
    r->at = rest.at;
    r->bad |= rest.bad;
    return v;
}

static inline bytes row_read_text(struct reader *r)
{
    uint64_t n = read_short_varint(r);

    if (PORT_UNLIKELY(n > reader_left(r))) {
        r->bad = true;
        n = 0;
    }
    return read_bytes(r, (size_t)n);
}

static inline void read_narrow(struct reader *r, enum wr_type type, struct wr_value *out)
{
    size_t width = value_width(type);
    bytes payload = read_bytes(r, width);
    uint64_t bits = 0;

    for (size_t i = 0; !r->bad && i < width; i++)
        bits |= (uint64_t)bytes_u8(payload)[i] << 8 * i;
    if (!value_from_bits(type, bits, out))
        r->bad = true;
}

static inline void read_payload(struct reader *r, uint8_t type, struct wr_value *out)
{
    uint64_t bits;

    out->type = type;
    if (value_is_bytes(type)) {
        out->bytes = row_read_text(r);
    } else if (type == WR_BIGINT) {
        out->integer = (int64_t)read_u64(r);
    } else if (type == WR_DOUBLE) {
        bits = read_u64(r);
        memcpy(&out->real, &bits, sizeof(bits));
    } else {
        read_narrow(r, type, out); /* a type of no width is none at all */
    }
}

/* ---- rows */

/* At least as many bytes as the row will take. */
static size_t encoded_size_max(const struct row *row)
{
    size_t size = RECORD_BYTES + 8 + VARINT_BYTES;

    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];

        size += cell->name.len + 3 * VARINT_BYTES + 2;
        if (value_is_bytes(cell->value.type))
            size += cell->value.bytes.len;
    }
    return size;
}

/* How far a timestamp is from the marker, around the ends of the range if need be. */
static uint64_t stamp_distance(int64_t timestamp_ms, int64_t marker_ms)
{
    return zigzag((int64_t)((uint64_t)timestamp_ms - (uint64_t)marker_ms));
}

void row_encode(struct buf *b, const struct row *row)
{
    uint8_t *start, *p;

    assert(row->there && (!row->wide || row->id) && (!row->read_locked || row->wide));
    start = p = buf_reserve(b, encoded_size_max(row));
    p[0] = row->read_locked ? ROW_VERSION_READ_LOCKED : ROW_VERSION;
    p[1] = (uint8_t)((row->wide ? ROW_WIDE : 0) | (row->id ? ROW_HAS_ID : 0));
    store_u64(p + 2, row->stamp);
    store_u64(p + 10, (uint64_t)row->marker_ms);
    p += RECORD_BYTES;
    if (row->id) {
        store_u64(p, row->id);
        p += 8;
    }
    if (!row->wide) {
        p = put_varint(p, row->cell_count);
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct wr_cell *cell = &row->cells[i];

            p = row_put_text(p, cell->name);
            *p++ = (uint8_t)cell->value.type;
            *p++ = cell->crc8;
            p = put_varint(p, stamp_distance(cell->timestamp_ms, row->marker_ms));
            p = put_payload(p, &cell->value);
        }
    }
    buf_commit(b, (size_t)(p - start));
}

static inline void row_read_cell(struct reader *r, int64_t marker_ms, struct wr_cell *out)
{
    bytes kind;

    out->name = row_read_text(r);
    kind = read_bytes(r, 2);
    if (PORT_UNLIKELY(r->bad))
        return;
    out->crc8 = bytes_u8(kind)[1];
    out->timestamp_ms = (int64_t)((uint64_t)marker_ms + (uint64_t)unzigzag(read_short_varint(r)));
    read_payload(r, bytes_u8(kind)[0], &out->value);
    out->op = WR_CELL_PUT;
    out->crc8_known = true;
    out->apart = false;
}

static int read_cells(struct ctx *c, struct reader *r, struct row *out)
{
    uint64_t count = read_short_varint(r);

    if (PORT_UNLIKELY(r->bad || count > reader_left(r) / CELL_BYTES_MIN))
        return fail(c, E_CORRUPT, "damaged row: the number of cells is wrong");
    if (count) {
        out->cells = arena_try_quick(&c->arena, (size_t)count * sizeof(*out->cells));
        if (PORT_UNLIKELY(!out->cells))
            return fail_code(c, E_MEMORY);
    }
    for (size_t i = 0; i < count; i++) {
        row_read_cell(r, out->marker_ms, &out->cells[i]);
        if (PORT_UNLIKELY(r->bad))
            return fail(c, E_CORRUPT, "damaged row: cell %zu of %zu is truncated or of no type",
                        i + 1, (size_t)count);
    }
    out->cell_count = (size_t)count;
    return 0;
}

/* What stands in front of the cells. */
static int read_head(struct ctx *c, struct reader *r, struct row *out)
{
    uint8_t version = read_u8(r), flags = read_u8(r);
    bytes numbers;

    if (PORT_UNLIKELY(version != ROW_VERSION && version != ROW_VERSION_READ_LOCKED && !r->bad))
        return fail(c, E_FORMAT, "row of format %u; this version of Widerow reads formats %d to %d",
                    version, ROW_VERSION, ROW_VERSION_READ_LOCKED);
    numbers = read_bytes(r, 16);
    if (flags & ROW_HAS_ID)
        out->id = read_u64(r);
    if (PORT_UNLIKELY(r->bad))
        return fail(c, E_CORRUPT, "damaged row: the row record is truncated");
    out->stamp = load_u64(numbers.ptr);
    out->marker_ms = (int64_t)load_u64(bytes_u8(numbers) + 8);
    out->there = true;
    if (PORT_LIKELY(version == ROW_VERSION && !flags)) /* a small row without data out of line */
        return 0;
    out->wide = flags & ROW_WIDE;
    out->read_locked = version == ROW_VERSION_READ_LOCKED;
    if (PORT_UNLIKELY((flags & ~(ROW_WIDE | ROW_HAS_ID)) || !out->id != !(flags & ROW_HAS_ID) ||
                      (out->wide && !out->id) || (out->read_locked && !out->wide)))
        return fail(c, E_CORRUPT, "damaged row: flags %02x do not fit the id", flags);
    return 0;
}

static int read_row(struct ctx *c, struct reader *r, struct row *out)
{
    TRY(read_head(c, r, out));
    if (!out->wide)
        TRY(read_cells(c, r, out));
    if (PORT_UNLIKELY(reader_left(r)))
        return fail(c, E_CORRUPT, "damaged row: %zu bytes behind its end", reader_left(r));
    return 0;
}

/* Passes over a cell behind its name. */
static inline void skip_cell(struct reader *r)
{
    bytes kind = read_bytes(r, 2);
    uint8_t type;

    if (PORT_UNLIKELY(r->bad))
        return;
    type = bytes_u8(kind)[0];
    read_short_varint(r);
    if (value_is_bytes(type))
        row_read_text(r);
    else if (PORT_LIKELY(value_width(type)))
        read_bytes(r, value_width(type));
    else
        r->bad = true;
}

/* Both lists are sorted, so one walk finds them. */
static int pick_cells(struct ctx *c, struct reader *r, const bytes *names, size_t count,
                      struct row *out)
{
    uint64_t all = read_short_varint(r);

    if (PORT_UNLIKELY(r->bad || all > reader_left(r) / CELL_BYTES_MIN))
        return fail(c, E_CORRUPT, "damaged row: the number of cells is wrong");
    for (size_t i = 0, at = 0; i < all && at < count; i++) {
        struct reader cell = *r;
        bytes name = row_read_text(r);
        int order = -1;

        while (at < count && (order = bytes_compare(name, names[at])) > 0)
            at++;
        if (at == count)
            break;
        if (order < 0) {
            skip_cell(r);
        } else {
            if (!out->cells)
                out->cells = arena_try_alloc(&c->arena, (size_t)(all - i) * sizeof(*out->cells));
            if (PORT_UNLIKELY(!out->cells))
                return fail_code(c, E_MEMORY);
            *r = cell;
            row_read_cell(r, out->marker_ms, &out->cells[out->cell_count++]);
        }
        if (PORT_UNLIKELY(r->bad))
            return fail(c, E_CORRUPT, "damaged row: cell %zu of %zu is truncated or of no type",
                        i + 1, (size_t)all);
    }
    return 0;
}

int row_decode(struct ctx *c, bytes value, struct row *out)
{
    struct reader r = reader_of(value);
    int code;

    *out = (struct row){0};
    code = read_row(c, &r, out);
    if (PORT_UNLIKELY(code != 0))
        *out = (struct row){0};
    return code;
}

int row_decode_some(struct ctx *c, bytes value, const bytes *names, size_t count, struct row *out)
{
    struct reader r = reader_of(value);
    int code;

    *out = (struct row){0};
    code = read_head(c, &r, out);
    if (PORT_LIKELY(!code && !out->wide)) {
        out->picked = true;
        code = count ? pick_cells(c, &r, names, count, out) : 0;
    }
    if (PORT_UNLIKELY(code != 0))
        *out = (struct row){0};
    return code;
}

/* ---- cells of wide rows */

/* The newest version first: the order of the timestamps, the other way round. */
static uint64_t version_bits(int64_t timestamp_ms)
{
    return ~((uint64_t)timestamp_ms ^ 1ull << 63);
}

void cell_put_key_id(struct buf *b, uint64_t id)
{
    invariant(id);
    store_u64_be(buf_reserve(b, 8), id);
    buf_commit(b, 8);
}

void cell_put_key_column(struct buf *b, uint64_t id, bytes name)
{
    cell_put_key_id(b, id);
    key_put_text(b, name);
}

void cell_put_key(struct buf *b, uint64_t id, bytes name, int64_t timestamp_ms)
{
    cell_put_key_column(b, id, name);
    store_u64_be(buf_reserve(b, 8), version_bits(timestamp_ms));
    buf_commit(b, 8);
}

int cell_read_key(struct ctx *c, bytes suffix, uint64_t *id, bytes *name, int64_t *timestamp_ms)
{
    struct reader r = reader_of(suffix);
    bytes part = read_bytes(&r, 8);

    if (r.bad)
        return fail(c, E_CORRUPT, "damaged cell key: no id");
    *id = load_u64_be(part.ptr);
    if (!*id)
        return fail(c, E_CORRUPT, "damaged cell key: no row has the id 0");
    TRY(key_read_text(c, &r, name));
    part = read_bytes(&r, 8);
    if (r.bad || reader_left(&r))
        return fail(c, E_CORRUPT, "damaged cell key: no version at its end");
    *timestamp_ms = (int64_t)(version_bits((int64_t)load_u64_be(part.ptr)));
    return 0;
}

void cell_encode(struct buf *b, const struct wr_cell *cell)
{
    size_t text_len = value_is_bytes(cell->value.type) ? cell->value.bytes.len : 0;
    uint8_t *start = buf_reserve(b, 3 + VARINT_BYTES + text_len), *p = start;

    *p++ = cell->apart ? CELL_VERSION_OUT_OF_LINE : CELL_VERSION;
    *p++ = (uint8_t)cell->value.type;
    *p++ = cell->crc8;
    p = put_payload(p, &cell->value);
    buf_commit(b, (size_t)(p - start));
}

int cell_decode(struct ctx *c, bytes value, struct wr_cell *out)
{
    struct reader r = reader_of(value);
    uint8_t version = read_u8(&r), type = read_u8(&r);

    if (PORT_UNLIKELY(version != CELL_VERSION && version != CELL_VERSION_OUT_OF_LINE && !r.bad))
        return fail(c, E_FORMAT, "cell of format %u; this version of Widerow reads format %d",
                    version, CELL_VERSION_OUT_OF_LINE);
    out->crc8 = read_u8(&r);
    read_payload(&r, type, &out->value);
    if (PORT_UNLIKELY(r.bad || reader_left(&r)))
        return fail(c, E_CORRUPT, "damaged cell: %zu bytes are not a value of type %u", value.len,
                    type);
    out->apart = version == CELL_VERSION_OUT_OF_LINE;
    if (PORT_UNLIKELY(out->apart && type != WR_VARBINARY))
        return fail(c, E_CORRUPT, "damaged cell: a reference of type %u", type);
    out->op = WR_CELL_PUT;
    out->crc8_known = true;
    return 0;
}

/* ---- sorting
 *
 * A stable merge sort in place: cells are few and mostly in order, and there is no memory at hand
 * here. Two neighbouring runs are merged by cutting both at a cell, rotating the middle parts past
 * one another, and going on with either half. */

#define SORT_RUN 16 /* cells that are sorted by insertion */

static int cell_compare(const struct wr_cell *a, const struct wr_cell *b)
{
    int r = bytes_compare(a->name, b->name);

    if (r)
        return r;
    return a->timestamp_ms > b->timestamp_ms ? -1 : a->timestamp_ms < b->timestamp_ms;
}

static void sort_run(struct wr_cell *cells, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct wr_cell cell = cells[i];
        size_t at = i;

        for (; at > 0 && cell_compare(&cells[at - 1], &cell) > 0; at--)
            cells[at] = cells[at - 1];
        cells[at] = cell;
    }
}

/* The first of `count` sorted cells that is above `cell` or, unless `after`, as it. */
static size_t sort_find(const struct wr_cell *cells, size_t count, const struct wr_cell *cell,
                        bool after)
{
    size_t low = 0;

    while (low < count) {
        size_t mid = low + (count - low) / 2;

        if (cell_compare(&cells[mid], cell) < (after ? 1 : 0))
            low = mid + 1;
        else
            count = mid;
    }
    return low;
}

static void reverse(struct wr_cell *cells, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        struct wr_cell cell = cells[i];

        cells[i] = cells[count - 1 - i];
        cells[count - 1 - i] = cell;
    }
}

/* Merges the sorted runs [0, mid) and [mid, count). */
static void sort_merge(struct wr_cell *cells, size_t mid, size_t count)
{
    size_t left, right, half;

    if (mid == 0 || mid == count || cell_compare(&cells[mid - 1], &cells[mid]) <= 0)
        return;
    if (mid >= count - mid) {
        left = mid / 2;
        right = mid + sort_find(cells + mid, count - mid, &cells[left], false);
    } else {
        right = mid + (count - mid) / 2;
        left = sort_find(cells, mid, &cells[right], true);
    }
    /* Three reversals let [left, mid) and [mid, right) change places. */
    half = left + (right - mid);
    reverse(cells + left, mid - left);
    reverse(cells + mid, right - mid);
    reverse(cells + left, right - left);
    sort_merge(cells, left, half);
    sort_merge(cells + half, mid - left, count - half);
}

size_t cells_sort(struct wr_cell *cells, size_t count)
{
    size_t kept = 1;

    while (kept < count && cell_compare(&cells[kept - 1], &cells[kept]) < 0)
        kept++;
    if (PORT_LIKELY(kept >= count))
        return count;
    for (size_t at = 0; at < count; at += SORT_RUN)
        sort_run(cells + at, count - at < SORT_RUN ? count - at : SORT_RUN);
    for (size_t run = SORT_RUN; run < count; run *= 2)
        for (size_t at = 0; at + run < count; at += 2 * run)
            sort_merge(cells + at, run, count - at < 2 * run ? count - at : 2 * run);
    kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && cell_compare(&cells[kept - 1], &cells[i]) == 0)
            kept--;
        if (kept != i)
            cells[kept] = cells[i];
        kept++;
    }
    return kept;
}

const struct wr_cell *cells_find(const struct wr_cell *cells, size_t count, bytes name)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (bytes_compare(cells[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && bytes_equal(cells[low].name, name) ? &cells[low] : NULL;
}
