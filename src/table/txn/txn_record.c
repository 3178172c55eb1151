#include "table/txn/txn_record.h"

#include "base/invariant.h"
#include "table/model/lock_key.h"
#include "table/model/row.h"

#define RECORD_VERSION 1
#define REPLACES 1
#define THERE 2
#define CREATES 4
#define CRC_UNKNOWN 0x80 /* of a cell, beside its operation */

/* ---- keys ---- */

static void put_head_key(struct buf *b, const struct location *p, bytes value)
{
    layout_put_key(b, p, KIND_CHANGE, value);
    buf_put_u8(b, LOCK_KEY_BYTE);
}

bytes txn_head_key(struct arena *a, const struct location *p, bytes value)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + value.len + 1);
    put_head_key(&b, p, value);
    return buf_bytes(&b);
}

bytes txn_row_key(struct arena *a, const struct location *p, bytes value, bytes cols)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + value.len + 1 + cols.len);
    put_head_key(&b, p, value);
    buf_put_bytes(&b, cols);
    return buf_bytes(&b);
}

struct key_range txn_records(struct arena *a, const struct location *p, bytes value)
{
    bytes start = txn_head_key(a, p, value), end = arena_copy(a, start);

    ((uint8_t *)end.ptr)[end.len - 1] = LOCK_KEY_BYTE + 1;
    return (struct key_range){start, end};
}

/* ---- the head ---- */

bytes txn_head_encode(struct arena *a, const struct txn_head *head)
{
    struct buf b;

    invariant(head->id.len == TXN_ID_BYTES);
    buf_init(&b, a, 96);
    buf_put_u8(&b, RECORD_VERSION);
    buf_put_bytes(&b, head->id);
    buf_put_u64(&b, head->client);
    buf_put_varint(&b, zigzag(head->begun_ms));
    buf_put_varint(&b, head->steps);
    buf_put_u64(&b, head->stamp);
    buf_put_varint(&b, head->bytes);
    buf_put_varint(&b, head->changes);
    return buf_bytes(&b);
}

static int check_version(struct ctx *c, uint8_t version)
{
    if (version <= RECORD_VERSION)
        return E_OK;
    return fail(c, E_FORMAT,
                "a transaction's record has version %u, and this build knows %d: use a newer one",
                version, RECORD_VERSION);
}

int txn_head_decode(struct ctx *c, bytes stored, struct txn_head *out)
{
    struct reader r = reader_of(stored);
    uint8_t version = read_u8(&r);

    *out = (struct txn_head){.steps = 0};
    TRY(check_version(c, version));
    out->id = read_bytes(&r, TXN_ID_BYTES);
    out->client = read_u64(&r);
    out->begun_ms = unzigzag(read_varint(&r));
    out->steps = read_varint(&r);
    out->stamp = read_u64(&r);
    out->bytes = read_varint(&r);
    out->changes = read_varint(&r);
    if (r.bad || reader_left(&r) || version != RECORD_VERSION)
        return fail(c, E_CORRUPT, "the lock of a transaction is damaged (%zu bytes)", stored.len);
    return E_OK;
}

/* ---- a row ---- */

static void put_cell(struct buf *b, const struct wr_cell *cell)
{
    struct buf value;

    buf_put_counted(b, cell->name);
    buf_put_u8(b, (uint8_t)(cell->op | (cell->crc8_known ? 0 : CRC_UNKNOWN)));
    buf_put_varint(b, zigzag(cell->timestamp_ms));
    if (cell->op != WR_CELL_PUT)
        return;
    buf_init(&value, b->arena, 32);
    cell_encode(&value, cell);
    buf_put_counted(b, buf_bytes(&value));
}

static int read_cell(struct ctx *c, struct reader *r, struct wr_cell *out)
{
    uint8_t op;

    out->name = read_counted(r);
    op = read_u8(r);
    out->op = (enum wr_cell_op)(op & ~CRC_UNKNOWN);
    out->timestamp_ms = unzigzag(read_varint(r));
    if (out->op == WR_CELL_PUT && !r->bad)
        TRY(cell_decode(c, read_counted(r), out));
    if (op & CRC_UNKNOWN)
        out->crc8_known = false;
    r->bad |=
        out->op != WR_CELL_PUT && out->op != WR_CELL_DELETE_ONE && out->op != WR_CELL_DELETE_ALL;
    return E_OK;
}

bytes txn_row_encode(struct arena *a, const struct txn_row *row)
{
    struct buf b;

    buf_init(&b, a, 128);
    buf_put_u8(&b, RECORD_VERSION);
    buf_put_u8(&b, (uint8_t)((row->replaces ? REPLACES : 0) | (row->there ? THERE : 0) |
                             (row->creates ? CREATES : 0)));
    buf_put_varint(&b, row->stored_bytes);
    buf_put_varint(&b, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++)
        put_cell(&b, &row->cells[i]);
    return buf_bytes(&b);
}

static int row_damaged(struct ctx *c, bytes value)
{
    return fail(c, E_CORRUPT, "a row of a transaction is damaged (%zu bytes)", value.len);
}

static int read_key(struct ctx *c, const struct location *p, bytes key, struct txn_row *out)
{
    bytes rest = bytes_skip(key, KEY_PREFIX_BYTES);
    struct wr_key_column *columns = ARENA_ARRAY(&c->arena, struct wr_key_column, p->key_count);
    size_t used;

    out->cols = bytes_skip(rest, key_columns_length(p->key, rest, 1) + 1);
    out->key = (struct wr_key){columns, p->key_count};
    return key_read_columns(c, out->cols, p->key, p->key_count, columns, &used);
}

int txn_row_decode(struct ctx *c, const struct location *p, const struct kv *stored,
                   struct txn_row *out)
{
    struct reader r = reader_of(stored->value);
    uint8_t version = read_u8(&r), flags = read_u8(&r);

    *out = (struct txn_row){.replaces = flags & REPLACES,
                            .there = (flags & THERE) != 0,
                            .creates = (flags & CREATES) != 0};
    TRY(check_version(c, version));
    TRY(read_key(c, p, stored->key, out));
    out->stored_bytes = read_varint(&r);
    out->cell_count = read_varint(&r);
    if (r.bad || version != RECORD_VERSION || out->cell_count > reader_left(&r))
        return row_damaged(c, stored->value);
    out->cells = ARENA_ARRAY(&c->arena, struct wr_cell, out->cell_count + 1);
    for (size_t i = 0; i < out->cell_count && !r.bad; i++) {
        out->cells[i] = (struct wr_cell){.op = WR_CELL_PUT};
        TRY(read_cell(c, &r, &out->cells[i]));
    }
    return r.bad || reader_left(&r) ? row_damaged(c, stored->value) : E_OK;
}

/* ---- ids ---- */

bytes txn_place_write(struct arena *a, const struct txn_place *place)
{
    static const char digits[] = "0123456789abcdef";
    struct buf b, text;

    buf_init(&b, a, place->table.len + place->value.len + 4);
    buf_put_counted(&b, place->table);
    buf_put_bytes(&b, place->value);
    buf_init(&text, a, TXN_ID_BYTES + 1 + 2 * b.len);
    buf_put_bytes(&text, place->id);
    buf_put_u8(&text, '-');
    for (size_t i = 0; i < b.len; i++) {
        buf_put_u8(&text, (uint8_t)digits[b.data[i] >> 4]);
        buf_put_u8(&text, (uint8_t)digits[b.data[i] & 15]);
    }
    return buf_bytes(&text);
}

static int digit_of(char x)
{
    return x >= '0' && x <= '9' ? x - '0' : x >= 'a' && x <= 'f' ? x - 'a' + 10 : -1;
}

bool txn_place_read(struct arena *a, bytes id, struct txn_place *out)
{
    bytes text = id.len > TXN_ID_BYTES ? bytes_skip(id, TXN_ID_BYTES + 1) : BYTES_NONE;
    uint8_t *p = arena_alloc(a, text.len / 2 + 1);
    const char *digits = text.ptr;
    struct reader r;

    if (!text.len || text.len % 2)
        return false;
    for (size_t i = 0; i < text.len / 2; i++) {
        int high = digit_of(digits[2 * i]), low = digit_of(digits[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        p[i] = (uint8_t)(high << 4 | low);
    }
    r = reader_of(bytes_of(p, text.len / 2));
    out->id = (bytes){id.ptr, TXN_ID_BYTES};
    out->table = read_counted(&r);
    out->value = read_bytes(&r, reader_left(&r));
    return !r.bad && out->value.len;
}
