#include "sql/run/order.h"

#include "base/buf.h"

/* A decimal is 0.d1d2... times a power of ten, with d1 not 0: a byte for the sign, one for the
 * power, then a byte a digit, from 1. Of a negative number all bytes but the first are inverted,
 * and one more says that it ends, for the longer one is the smaller. Zero is its sign alone. */
#define SIGN_NEGATIVE 0
#define SIGN_ZERO 1
#define SIGN_POSITIVE 2
#define POWER_ZERO 128
#define END_NEGATIVE 0xff

bytes order_of_unsigned(struct arena *a, uint64_t v)
{
    uint8_t *p = arena_alloc(a, 8);

    store_u64_be(p, v);
    return bytes_of(p, 8);
}

uint64_t order_to_unsigned(bytes key)
{
    return key.len == 8 ? load_u64_be(key.ptr) : 0;
}

struct digits {
    bool negative;
    size_t count, whole; /* all of them, and those before the point, without zeros at the ends */
    uint8_t value[128];
    int power;
};

static void digits_read(bytes text, struct digits *d)
{
    bool point = false;
    int power = 0;

    *d = (struct digits){.negative = text.len && bytes_u8(text)[0] == '-'};
    for (size_t i = d->negative; i < text.len && d->count < sizeof(d->value); i++) {
        uint8_t c = bytes_u8(text)[i];

        if (c == '.') {
            point = true;
            continue;
        }
        if (d->count || c != '0') {
            d->value[d->count++] = (uint8_t)(c - '0');
            power += !point;
        } else {
            power -= point;
        }
    }
    while (d->count && !d->value[d->count - 1])
        d->count--;
    d->power = power;
}

bytes order_of_decimal(struct arena *a, bytes text)
{
    struct digits d;
    uint8_t *p, flip;

    digits_read(text, &d);
    p = arena_alloc(a, d.count + 3);
    if (!d.count) {
        p[0] = SIGN_ZERO;
        return bytes_of(p, 1);
    }
    flip = d.negative ? 0xff : 0;
    p[0] = d.negative ? SIGN_NEGATIVE : SIGN_POSITIVE;
    p[1] = (uint8_t)(POWER_ZERO + d.power) ^ flip;
    for (size_t i = 0; i < d.count; i++)
        p[2 + i] = (uint8_t)(d.value[i] + 1) ^ flip;
    p[2 + d.count] = END_NEGATIVE;
    return bytes_of(p, 2 + d.count + d.negative);
}

bytes order_to_decimal(struct arena *a, bytes key)
{
    const uint8_t *p = bytes_u8(key);
    bool negative = key.len && p[0] == SIGN_NEGATIVE;
    size_t count = key.len > 2 + (size_t)negative ? key.len - 2 - negative : 0;
    uint8_t flip = negative ? 0xff : 0;
    struct buf b;
    int power;

    if (!count)
        return BYTES_LIT("0");
    power = (uint8_t)(p[1] ^ flip) - POWER_ZERO;
    buf_init(&b, a, count + 8);
    if (negative)
        buf_put_u8(&b, '-');
    if (power <= 0)
        buf_put_bytes(&b, BYTES_LIT("0."));
    for (int i = power; i < 0; i++)
        buf_put_u8(&b, '0');
    for (int i = 0; i < (int)count || i < power; i++) {
        if (i == power && i > 0)
            buf_put_u8(&b, '.');
        buf_put_u8(&b, i < (int)count ? (uint8_t)((p[2 + i] ^ flip) - 1 + '0') : '0');
    }
    return buf_bytes(&b);
}

/* ---- values ---- */

int value_order(struct arena *a, const struct wr_value *x, const struct wr_value *y)
{
    switch (x->type) {
    case WR_BOOLEAN:
        return x->boolean - y->boolean;
    case WR_FLOAT:
    case WR_DOUBLE:
        return (x->real > y->real) - (x->real < y->real);
    case WR_UBIGINT:
        return (x->uinteger > y->uinteger) - (x->uinteger < y->uinteger);
    case WR_DECIMAL:
        return bytes_compare(order_of_decimal(a, x->bytes), order_of_decimal(a, y->bytes));
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_BINARY:
    case WR_VARBINARY:
        return bytes_compare(x->bytes, y->bytes);
    default:
        return (x->integer > y->integer) - (x->integer < y->integer);
    }
}
