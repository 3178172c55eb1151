#include "table/stream/stream_record.h"

#include "base/invariant.h"
#include "table/model/big.h"
#include "table/model/modify.h"
#include "table/model/name.h"
#include "table/model/visible.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#define RECORD_VERSION 1
#define HAS_ORIGINAL 1
#define CELL_LARGE 16 /* as an operation: a put whose value is not in the record */
#define PREFIX_BYTES (STREAM_KEY_BYTES - NUMBER_BYTES)

/* ---- keys ---- */

uint16_t stream_shard(const struct schema *s, bytes cols)
{
    bytes first;

    if (s->stream.shards == 1)
        return 0;
    first = key_column_bytes(s->d.key, cols, 0);
    return (uint16_t)(XXH3_64bits(first.ptr, first.len) % s->stream.shards);
}

static void put_prefix(struct buf *b, uint32_t location, uint16_t shard)
{
    key_put_prefix(b, location, 0, KIND_CHANGE);
    buf_put_u8(b, (uint8_t)(shard >> 8));
    buf_put_u8(b, (uint8_t)shard);
    invariant(b->len == PREFIX_BYTES);
}

bytes stream_record_prefix(struct arena *a, uint32_t location, uint16_t shard)
{
    struct buf b;

    buf_init(&b, a, PREFIX_BYTES);
    put_prefix(&b, location, shard);
    return buf_bytes(&b);
}

bytes stream_record_key(struct arena *a, uint32_t location, uint16_t shard, uint64_t number)
{
    struct buf b;

    buf_init(&b, a, STREAM_KEY_BYTES);
    put_prefix(&b, location, shard);
    store_u64_be(buf_reserve(&b, NUMBER_BYTES), number);
    buf_commit(&b, NUMBER_BYTES);
    return buf_bytes(&b);
}

uint64_t stream_record_number(bytes key)
{
    return load_u64_be(bytes_u8(key) + PREFIX_BYTES);
}

/* ---- writing ---- */

static void put_stamp(struct buf *b, int64_t timestamp_ms)
{
    buf_put_varint(b, zigzag(timestamp_ms));
}

/* A value out of line is named by size and hash: its chunks go with the row. */
static void put_large(struct buf *b, const struct wr_cell *cell)
{
    struct big_ref ref = big_peek(cell);

    buf_put_u8(b, CELL_LARGE);
    put_stamp(b, cell->timestamp_ms);
    buf_put_varint(b, ref.length);
    buf_put(b, ref.sha256, sizeof(ref.sha256));
}

/* A cell as it is stored. */
static void put_cell(struct buf *b, const struct wr_cell *cell)
{
    struct buf value;

    buf_put_counted(b, cell->name);
    if (cell->apart) {
        put_large(b, cell);
        return;
    }
    buf_put_u8(b, WR_CELL_PUT);
    put_stamp(b, cell->timestamp_ms);
    buf_init(&value, b->arena, 32);
    cell_encode(&value, cell);
    buf_put_counted(b, buf_bytes(&value));
}

static void put_deletion(struct buf *b, const struct wr_cell *asked)
{
    buf_put_counted(b, asked->name);
    buf_put_u8(b, (uint8_t)asked->op);
    if (asked->op == WR_CELL_DELETE_ONE)
        put_stamp(b, asked->timestamp_ms);
}

/* False: an increment whose result is hidden as soon as it is written. */
static bool put_asked(struct buf *b, const struct row_change *change, const struct wr_cell *asked)
{
    int64_t stamp_ms =
        asked->timestamp_ms == WR_TIMESTAMP_NONE ? change->stamp_ms : asked->timestamp_ms;
    const struct wr_cell *result;
    struct wr_cell cell;

    if (asked->op == WR_CELL_DELETE_ONE || asked->op == WR_CELL_DELETE_ALL) {
        put_deletion(b, asked);
        return true;
    }
    if (asked->op == WR_CELL_PUT) {
        cell = modify_stored_cell(asked, &asked->value, stamp_ms);
        put_cell(b, &cell);
        return true;
    }
    result = cells_find(change->now->cells, change->now->cell_count, asked->name);
    if (result)
        put_cell(b, result);
    return result != NULL;
}

/* Their count stands in front, which is known at the end. */
static void put_cells(struct buf *b, const struct row_change *change)
{
    const struct wr_row *asked = &change->asked->row;
    size_t count = 0;
    struct buf cells;

    buf_init(&cells, b->arena, 128);
    for (size_t i = 0; i < asked->cell_count; i++)
        count += put_asked(&cells, change, &asked->cells[i]);
    buf_put_varint(b, count);
    buf_put_bytes(b, buf_bytes(&cells));
}

/* The newest cell that could be seen of each column asked for. A wide row may be of any size: its
 * columns are only named. */
static void put_original(struct buf *b, const struct row_change *change, const bytes *columns,
                         size_t column_count)
{
    const struct row *old = change->old;
    struct wr_cell *seen = ARENA_ARRAY(b->arena, struct wr_cell, old->cell_count);
    size_t n = visible_cells(&change->table->schema.d.options, change->now_ms, old->cells,
                             old->cell_count, seen);
    size_t count = 0;
    struct buf list;

    buf_init(&list, b->arena, 64);
    for (size_t i = 0; i < column_count; i++) {
        const struct wr_cell *cell = cells_find(seen, n, columns[i]);

        if (!cell)
            continue;
        count++;
        if (old->wide)
            buf_put_counted(&list, cell->name);
        else
            put_cell(&list, cell);
    }
    buf_put_varint(b, old->wide ? 0 : count);
    if (!old->wide)
        buf_put_bytes(b, buf_bytes(&list));
    buf_put_varint(b, old->wide ? count : 0);
    if (old->wide)
        buf_put_bytes(b, buf_bytes(&list));
}

static uint8_t type_of(enum row_change_kind kind)
{
    invariant(kind != ROW_EXPIRE);
    return kind == ROW_PUT ? WR_PUT : kind == ROW_UPDATE ? WR_UPDATE : WR_DELETE;
}

bytes stream_record_encode(struct arena *a, const struct row_change *change, const bytes *columns,
                           size_t column_count)
{
    bool original = column_count && change->old &&
                    visible_row(&change->table->schema.d.options, change->now_ms, change->old);
    struct buf b;

    invariant(change->old || !column_count);
    buf_init(&b, a, change->cols.len + 128);
    buf_put_u8(&b, RECORD_VERSION);
    buf_put_u8(&b, type_of(change->kind));
    buf_put_u8(&b, original ? HAS_ORIGINAL : 0);
    buf_put_counted(&b, change->cols);
    put_cells(&b, change);
    if (original)
        put_original(&b, change, columns, column_count);
    return buf_bytes(&b);
}

/* ---- reading ---- */

/* A record on its way out of its bytes. */
struct record_reader {
    struct ctx *c;
    struct reader from;
    struct wr_stream_large_cell *large;
    size_t large_count, large_room;
};

static bytes large_text(struct arena *a, const struct wr_stream_large_cell *large)
{
    char hex[2 * sizeof(large->sha256) + 1];

    for (size_t i = 0; i < sizeof(large->sha256); i++)
        snprintf(hex + 2 * i, 3, "%02x", large->sha256[i]);
    return arena_printf(a, "{\"not_in_record\":true,\"bytes\":%" PRIu64 ",\"sha256\":\"%s\"}",
                        large->size, hex);
}

static void read_large(struct record_reader *r, size_t at, struct wr_cell *out)
{
    struct wr_stream_large_cell large = {.at = at, .size = read_varint(&r->from)};
    bytes hash = read_bytes(&r->from, sizeof(large.sha256));

    if (r->from.bad)
        return;
    memcpy(large.sha256, hash.ptr, hash.len);
    if (r->large_count == r->large_room) {
        struct wr_stream_large_cell *more =
            ARENA_ARRAY(&r->c->arena, struct wr_stream_large_cell, 2 * r->large_room + 1);

        if (r->large_count)
            memcpy(more, r->large, sizeof(*more) * r->large_count);
        r->large = more;
        r->large_room = 2 * r->large_room + 1;
    }
    r->large[r->large_count++] = large;
    out->value = (struct wr_value){.type = WR_VARBINARY, .bytes = large_text(&r->c->arena, &large)};
    out->crc8 = value_crc8(out->name, &out->value, out->timestamp_ms);
    out->crc8_known = true;
}

static int record_read_cell(struct record_reader *r, size_t at, struct wr_cell *out)
{
    uint8_t op;

    *out = (struct wr_cell){.name = read_counted(&r->from), .timestamp_ms = WR_TIMESTAMP_NONE};
    op = read_u8(&r->from);
    out->op = op == CELL_LARGE ? WR_CELL_PUT : (enum wr_cell_op)op;
    if (op != WR_CELL_DELETE_ALL)
        out->timestamp_ms = unzigzag(read_varint(&r->from));
    if (op == CELL_LARGE)
        read_large(r, at, out);
    else if (op == WR_CELL_PUT)
        TRY(cell_decode(r->c, read_counted(&r->from), out));
    else
        r->from.bad |= op != WR_CELL_DELETE_ONE && op != WR_CELL_DELETE_ALL;
    return E_OK;
}

static int record_read_cells(struct record_reader *r, const struct wr_cell **out, size_t *count)
{
    uint64_t n = read_varint(&r->from);
    struct wr_cell *cells;

    *count = 0;
    *out = NULL;
    r->from.bad |= n > reader_left(&r->from);
    if (r->from.bad)
        return E_OK;
    cells = ARENA_ARRAY(&r->c->arena, struct wr_cell, n);
    for (size_t i = 0; i < n && !r->from.bad; i++)
        TRY(record_read_cell(r, i, &cells[i]));
    *out = cells;
    *count = n;
    return E_OK;
}

static int read_original(struct record_reader *r, struct wr_stream_record *out)
{
    uint64_t n;
    bytes *names;

    TRY(record_read_cells(r, &out->original, &out->original_count));
    n = read_varint(&r->from);
    r->from.bad |= n > reader_left(&r->from);
    if (r->from.bad)
        return E_OK;
    names = ARENA_ARRAY(&r->c->arena, bytes, n);
    for (size_t i = 0; i < n; i++)
        names[i] = read_counted(&r->from);
    out->original_missing = names;
    out->original_missing_count = n;
    return E_OK;
}

static int read_key(struct ctx *c, bytes cols, const struct wr_key_schema *keys, size_t key_count,
                    struct wr_key *out)
{
    struct wr_key_column *columns = ARENA_ARRAY(&c->arena, struct wr_key_column, key_count);
    size_t used;

    TRY(key_view_columns(c, cols, keys, key_count, columns, &used));
    *out = (struct wr_key){columns, key_count};
    return used == cols.len ? E_OK : fail(c, E_CORRUPT, "A change record has a damaged key.");
}

int stream_record_decode(struct ctx *c, bytes key, bytes value, const struct wr_key_schema *keys,
                         size_t key_count, struct wr_stream_record *out)
{
    struct record_reader r = {.c = c, .from = reader_of(value)};
    uint8_t version = read_u8(&r.from), type, flags;

    if (version != RECORD_VERSION && !r.from.bad)
        return fail(c, E_FORMAT, "A change record has version %d; this server knows version %d.",
                    version, RECORD_VERSION);
    type = read_u8(&r.from);
    flags = read_u8(&r.from);
    *out = (struct wr_stream_record){.type = (enum wr_change_type)type,
                                     .has_original = flags & HAS_ORIGINAL};
    r.from.bad |=
        key.len != STREAM_KEY_BYTES || type < WR_PUT || type > WR_DELETE || flags & ~HAS_ORIGINAL;
    if (!r.from.bad) {
        out->timestamp_us = (int64_t)stream_record_number(key);
        TRY(read_key(c, read_counted(&r.from), keys, key_count, &out->row.key));
        TRY(record_read_cells(&r, &out->row.cells, &out->row.cell_count));
    }
    out->large = r.large;
    out->large_count = r.large_count;
    if (out->has_original && !r.from.bad)
        TRY(read_original(&r, out));
    if (r.from.bad || reader_left(&r.from))
        return fail(c, E_CORRUPT, "A change record is damaged.");
    return E_OK;
}
