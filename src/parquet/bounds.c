#include "parquet/bounds.h"

#include "base/buf.h"

#include <math.h>

/* ---- numbers */

static void set_number(struct bound *b, uint64_t bits)
{
    b->len = 8;
    b->exact = true;
    store_u64(b->data, bits);
}

static void of_integers(const struct value_run *run, struct bounds *out)
{
    int64_t min = INT64_MAX, max = INT64_MIN;

    for (uint32_t i = 0; i < run->count; i++) {
        int64_t v = (int64_t)load_u64(run->values + 8 * (size_t)i);

        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    set_number(&out->min, (uint64_t)min);
    set_number(&out->max, (uint64_t)max);
}

static double load_real(const uint8_t *p)
{
    uint64_t bits = load_u64(p);
    double v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static void set_real(struct bound *b, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    set_number(b, bits);
}

/* Readers may tell the two zeros apart, so a bound is the one that is farther out. */
static void of_reals(const struct value_run *run, struct bounds *out)
{
    double min = INFINITY, max = -INFINITY;

    for (uint32_t i = 0; i < run->count; i++) {
        double v = load_real(run->values + 8 * (size_t)i);

        out->known &= !isnan(v);
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    set_real(&out->min, min == 0 ? -0.0 : min);
    set_real(&out->max, max == 0 ? 0.0 : max);
}

static void of_booleans(const struct value_run *run, struct bounds *out)
{
    bool all = memchr(run->values, 0, run->count) == NULL;
    bool any = memchr(run->values, 1, run->count) != NULL;

    out->min = (struct bound){.len = 1, .exact = true, .data = {all}};
    out->max = (struct bound){.len = 1, .exact = true, .data = {any}};
}

/* ---- texts */

/* A text and its first bytes as a number, which tells most of them apart. */
struct lead {
    bytes text;
    uint64_t first;
};

static struct lead lead_of(const uint8_t *p, uint32_t len)
{
    struct lead l = {bytes_of(p, len), 0};

    if (len >= 8) {
        l.first = __builtin_bswap64(load_u64(p));
        return l;
    }
    for (uint32_t i = 0; i < len; i++)
        l.first |= (uint64_t)p[i] << (56 - 8 * i);
    return l;
}

static bool is_before(const struct lead *a, const struct lead *b)
{
    return a->first != b->first ? a->first < b->first : bytes_compare(a->text, b->text) < 0;
}

/* As much of a text as there is room for; of UTF-8 whole characters. */
static size_t cut(enum wr_type type, bytes text)
{
    size_t n = BOUND_BYTES;

    if (text.len <= BOUND_BYTES)
        return text.len;
    while (type == WR_VARCHAR && n && (bytes_u8(text)[n] & 0xC0) == 0x80)
        n--;
    return n;
}

/* The least text of at most n bytes that is above all that begin with these n; of UTF-8 again such.
 * False: there is none. */
static bool round_up(enum wr_type type, uint8_t *p, size_t *n)
{
    for (; *n; --*n) {
        uint8_t last = p[*n - 1], most = last < 0x80 ? 0x7F : 0xBF;

        /* What is no last byte of a character is one of a text that is cut off already. */
        if (type == WR_VARCHAR ? last < most : last < 0xFF) {
            p[*n - 1]++;
            return true;
        }
        while (type == WR_VARCHAR && *n > 1 && (p[*n - 1] & 0xC0) == 0x80)
            --*n;
    }
    return false;
}

static void set_text(enum wr_type type, struct bound *b, bytes text)
{
    size_t n = cut(type, text);

    if (n)
        memcpy(b->data, text.ptr, n);
    b->len = (uint8_t)n;
    b->exact = n == text.len;
}

static void of_texts(const struct value_run *run, struct bounds *out)
{
    const uint8_t *at = run->values;
    struct lead min = lead_of(at, load_u32(run->lengths)), max = min;
    size_t n;

    for (uint32_t i = 0; i < run->count; i++) {
        struct lead l = lead_of(at, load_u32(run->lengths + 4 * (size_t)i));

        if (is_before(&l, &min))
            min = l;
        else if (is_before(&max, &l))
            max = l;
        at += l.text.len;
    }
    set_text(run->type, &out->min, min.text);
    set_text(run->type, &out->max, max.text);
    n = out->max.len;
    if (!out->max.exact)
        out->known = round_up(run->type, out->max.data, &n);
    out->max.len = (uint8_t)n;
}

/* ---- both */

void bounds_of(const struct value_run *run, struct bounds *out)
{
    *out = (struct bounds){.known = run->count != 0};
    if (!run->count)
        return;
    switch (run->type) {
    case WR_BIGINT:
        of_integers(run, out);
        return;
    case WR_DOUBLE:
        of_reals(run, out);
        return;
    case WR_BOOLEAN:
        of_booleans(run, out);
        return;
    default:
        of_texts(run, out);
    }
}

int bound_compare(enum wr_type type, const struct bound *a, const struct bound *b)
{
    if (type == WR_BIGINT) {
        int64_t x = (int64_t)load_u64(a->data), y = (int64_t)load_u64(b->data);

        return (x > y) - (x < y);
    }
    if (type == WR_DOUBLE) {
        double x = load_real(a->data), y = load_real(b->data);

        return (x > y) - (x < y);
    }
    return bytes_compare(bytes_of(a->data, a->len), bytes_of(b->data, b->len));
}
