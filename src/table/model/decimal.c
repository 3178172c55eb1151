#include "table/model/decimal.h"

static const uint8_t *skip_digits(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

bool decimal_parse(bytes text, struct decimal *out)
{
    const uint8_t *p = bytes_u8(text), *end, *whole, *point, *last;

    *out = (struct decimal){0};
    if (text.len == 0)
        return false;
    end = p + text.len;
    if (*p == '-') {
        out->negative = true;
        p++;
    }
    whole = p;
    point = skip_digits(p, end);
    last = point;
    if (point < end && *point == '.')
        last = skip_digits(point + 1, end);
    if (last != end || point == whole || last == point + 1)
        return false;

    while (whole < point && *whole == '0')
        whole++;
    while (last > point + 1 && last[-1] == '0')
        last--;
    if (last == point + 1)
        last = point; /* the fraction was all zeros */
    if (point - whole + (last > point ? last - point - 1 : 0) > DECIMAL_DIGITS_MAX)
        return false;
    out->exponent = (int)(point - whole);
    for (p = whole; p < last; p++) {
        if (p == point)
            continue;
        if (out->count == 0 && *p == '0')
            out->exponent--;
        else
            out->digits[out->count++] = *p - '0';
    }
    while (out->count && out->digits[out->count - 1] == 0)
        out->count--;
    if (out->count == 0)
        *out = (struct decimal){0};
    return true;
}

int decimal_whole_digits(const struct decimal *d)
{
    return d->exponent > 0 ? d->exponent : 0;
}

int decimal_scale(const struct decimal *d)
{
    return d->count > d->exponent ? d->count - d->exponent : 0;
}

/* The digit that stands i places behind the point (0: the first), or in front of it (-1: the ones).
 */
static uint8_t digit_at(const struct decimal *d, int i)
{
    int at = d->exponent + i;

    return at >= 0 && at < d->count ? d->digits[at] : 0;
}

bytes decimal_format(struct arena *a, const struct decimal *d, int scale)
{
    int whole = decimal_whole_digits(d), n = 0;
    uint8_t *p;

    if (scale < decimal_scale(d))
        scale = decimal_scale(d);
    p = arena_alloc(a, (size_t)whole + (size_t)scale + 3);
    if (d->negative)
        p[n++] = '-';
    if (whole == 0)
        p[n++] = '0';
    for (int i = -whole; i < 0; i++)
        p[n++] = '0' + digit_at(d, i);
    if (scale)
        p[n++] = '.';
    for (int i = 0; i < scale; i++)
        p[n++] = '0' + digit_at(d, i);
    return bytes_of(p, (size_t)n);
}

/* Compares without the signs. */
static int compare_magnitude(const struct decimal *a, const struct decimal *b)
{
    if (a->count == 0 || b->count == 0)
        return (a->count > 0) - (b->count > 0);
    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;
    return bytes_compare(bytes_of(a->digits, (size_t)a->count),
                         bytes_of(b->digits, (size_t)b->count));
}

int decimal_compare(const struct decimal *a, const struct decimal *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? compare_magnitude(b, a) : compare_magnitude(a, b);
}
