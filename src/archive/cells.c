#include "archive/cells.h"

/* Numbers of types in the file: those of enum wr_type. */
#define TIMED 0x80

void cells_begin(struct buf *b)
{
    buf_put_u8(b, CELLS_FORM);
}

void cells_put(struct buf *b, const struct wr_cell *cell, bool timed)
{
    const struct wr_value *v = &cell->value;
    uint64_t bits;

    buf_put_u8(b, (uint8_t)(v->type | (timed ? TIMED : 0)));
    buf_put_counted(b, cell->name);
    if (timed)
        buf_put_varint(b, zigzag(cell->timestamp_ms));
    switch (v->type) {
    case WR_BIGINT:
        buf_put_varint(b, zigzag(v->integer));
        break;
    case WR_DOUBLE:
        memcpy(&bits, &v->real, sizeof(bits));
        buf_put_u64(b, bits);
        break;
    case WR_BOOLEAN:
        buf_put_u8(b, v->boolean);
        break;
    default:
        buf_put_counted(b, v->bytes);
    }
}

static bool read_value(struct reader *r, enum wr_type type, struct wr_value *out)
{
    uint64_t bits;

    *out = (struct wr_value){.type = type};
    switch (type) {
    case WR_BIGINT:
        out->integer = unzigzag(read_varint(r));
        return true;
    case WR_DOUBLE:
        bits = read_u64(r);
        memcpy(&out->real, &bits, sizeof(bits));
        return true;
    case WR_BOOLEAN:
        out->boolean = read_u8(r) != 0;
        return true;
    case WR_VARCHAR:
        out->bytes = read_counted(r);
        return bytes_is_utf8(out->bytes);
    case WR_VARBINARY:
        out->bytes = read_counted(r);
        return true;
    default:
        return false;
    }
}

size_t cells_read(bytes in, struct wr_cell *out)
{
    struct reader r = reader_of(in);
    size_t count = 0;

    if (read_u8(&r) != CELLS_FORM)
        return SIZE_MAX;
    while (reader_left(&r) && !r.bad) {
        uint8_t head = read_u8(&r);
        struct wr_cell cell = {.name = read_counted(&r), .timestamp_ms = WR_TIMESTAMP_NONE};

        if (head & TIMED)
            cell.timestamp_ms = unzigzag(read_varint(&r));
        if (!read_value(&r, (enum wr_type)(head & ~TIMED), &cell.value))
            return SIZE_MAX;
        if (out && !r.bad)
            out[count] = cell;
        count++;
    }
    return r.bad ? SIZE_MAX : count;
}
