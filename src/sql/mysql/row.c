#include "sql/mysql/row.h"

#include "sql/calendar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_NULL 0xfb
#define BITMAP_OFFSET 2 /* a row's first bits are not used */

/* ---- text ---- */

size_t row_format_double(double v, char out[ROW_NUMBER_TEXT])
{
    for (int digits = 15; digits < 17; digits++) {
        snprintf(out, ROW_NUMBER_TEXT, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            return strlen(out);
    }
    return (size_t)snprintf(out, ROW_NUMBER_TEXT, "%.17g", v);
}

size_t row_format_float(float v, char out[ROW_NUMBER_TEXT])
{
    for (int digits = 6; digits < 9; digits++) {
        snprintf(out, ROW_NUMBER_TEXT, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            return strlen(out);
    }
    return (size_t)snprintf(out, ROW_NUMBER_TEXT, "%.9g", (double)v);
}

/* The text of a value that is not kept as one; `room` is for it. */
static bytes value_text(const struct wr_value *v, char room[ROW_NUMBER_TEXT])
{
    size_t n;

    switch (v->type) {
    case WR_BOOLEAN:
        return v->boolean ? BYTES_LIT("1") : BYTES_LIT("0");
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
        n = (size_t)snprintf(room, ROW_NUMBER_TEXT, "%" PRId64, v->integer);
        break;
    case WR_UBIGINT:
        n = (size_t)snprintf(room, ROW_NUMBER_TEXT, "%" PRIu64, v->uinteger);
        break;
    case WR_FLOAT:
        n = row_format_float((float)v->real, room);
        break;
    case WR_DOUBLE:
        n = row_format_double(v->real, room);
        break;
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        n = calendar_format(v, room);
        break;
    default:
        return v->bytes;
    }
    return bytes_of(room, n);
}

void row_put_text(struct buf *b, const struct wr_value *values, size_t count)
{
    char room[ROW_NUMBER_TEXT];

    for (size_t i = 0; i < count; i++) {
        if (values[i].type == WR_NULL)
            buf_put_u8(b, TEXT_NULL);
        else
            packet_put_counted(b, value_text(&values[i], room));
    }
}

/* ---- binary ---- */

static void real_put(struct buf *b, const struct wr_value *v)
{
    float single = (float)v->real;
    uint64_t bits;
    uint32_t single_bits;

    memcpy(&bits, &v->real, sizeof(bits));
    memcpy(&single_bits, &single, sizeof(single_bits));
    if (v->type == WR_FLOAT)
        buf_put_u32(b, single_bits);
    else
        buf_put_u64(b, bits);
}

static void date_put(struct buf *b, const struct calendar *c)
{
    packet_put_u16(b, (uint16_t)c->year);
    buf_put_u8(b, (uint8_t)c->month);
    buf_put_u8(b, (uint8_t)c->day);
}

static void time_put(struct buf *b, const struct calendar *c)
{
    buf_put_u8(b, (uint8_t)c->hour);
    buf_put_u8(b, (uint8_t)c->minute);
    buf_put_u8(b, (uint8_t)c->second);
    buf_put_u32(b, (uint32_t)c->ms * 1000);
}

static void moment_put(struct buf *b, const struct wr_value *v)
{
    struct calendar c = calendar_of_ms(v->type == WR_DATE ? v->integer * DAY_MS : v->integer);

    switch (v->type) {
    case WR_DATE:
        buf_put_u8(b, 4);
        date_put(b, &c);
        break;
    case WR_TIME:
        buf_put_u8(b, 12);
        buf_put_u8(b, 0);  /* not negative */
        buf_put_u32(b, 0); /* days */
        time_put(b, &c);
        break;
    default:
        buf_put_u8(b, 11);
        date_put(b, &c);
        time_put(b, &c);
    }
}

static void value_put(struct buf *b, const struct wr_value *v)
{
    switch (v->type) {
    case WR_BOOLEAN:
        buf_put_u8(b, v->boolean);
        break;
    case WR_TINYINT:
        buf_put_u8(b, (uint8_t)v->integer);
        break;
    case WR_SMALLINT:
        packet_put_u16(b, (uint16_t)v->integer);
        break;
    case WR_INTEGER:
        buf_put_u32(b, (uint32_t)v->integer);
        break;
    case WR_BIGINT:
        buf_put_u64(b, (uint64_t)v->integer);
        break;
    case WR_UBIGINT:
        buf_put_u64(b, v->uinteger);
        break;
    case WR_FLOAT:
    case WR_DOUBLE:
        real_put(b, v);
        break;
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        moment_put(b, v);
        break;
    default:
        packet_put_counted(b, v->bytes);
    }
}

void row_put_binary(struct buf *b, const struct wr_value *values, size_t count)
{
    size_t bitmap = b->len + 1, size = (count + BITMAP_OFFSET + 7) / 8;

    memset(buf_reserve(b, 1 + size), 0, 1 + size);
    buf_commit(b, 1 + size);
    for (size_t i = 0; i < count; i++) {
        size_t bit = i + BITMAP_OFFSET;

        if (values[i].type == WR_NULL)
            b->data[bitmap + bit / 8] |= (uint8_t)(1 << bit % 8);
        else
            value_put(b, &values[i]);
    }
}
