#include "search/field/json_array.h"

#include "base/buf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct cursor {
    const uint8_t *at, *end;
};

static void blanks(struct cursor *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
        p->at++;
}

static bool take(struct cursor *p, char ch)
{
    blanks(p);
    if (p->at == p->end || *p->at != (uint8_t)ch)
        return false;
    p->at++;
    return true;
}

static bool word(struct cursor *p, bytes w)
{
    if ((size_t)(p->end - p->at) < w.len || memcmp(p->at, w.ptr, w.len) != 0)
        return false;
    p->at += w.len;
    return true;
}

static int hex4(struct cursor *p)
{
    int v = 0;

    if (p->end - p->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        uint8_t ch = *p->at++;
        int digit = ch >= '0' && ch <= '9'                 ? ch - '0'
                    : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10
                                                           : -1;

        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

static void put_utf8(struct buf *b, uint32_t u)
{
    if (u < 0x80) {
        buf_put_u8(b, (uint8_t)u);
    } else if (u < 0x800) {
        buf_put_u8(b, (uint8_t)(0xc0 | u >> 6));
        buf_put_u8(b, (uint8_t)(0x80 | (u & 63)));
    } else if (u < 0x10000) {
        buf_put_u8(b, (uint8_t)(0xe0 | u >> 12));
        buf_put_u8(b, (uint8_t)(0x80 | (u >> 6 & 63)));
        buf_put_u8(b, (uint8_t)(0x80 | (u & 63)));
    } else {
        buf_put_u8(b, (uint8_t)(0xf0 | u >> 18));
        buf_put_u8(b, (uint8_t)(0x80 | (u >> 12 & 63)));
        buf_put_u8(b, (uint8_t)(0x80 | (u >> 6 & 63)));
        buf_put_u8(b, (uint8_t)(0x80 | (u & 63)));
    }
}

static bool escape_unicode(struct cursor *p, struct buf *b)
{
    int u = hex4(p), low;

    if (u < 0)
        return false;
    if (u >= 0xd800 && u < 0xdc00) {
        if (!word(p, BYTES_LIT("\\u")))
            return false;
        low = hex4(p);
        if (low < 0xdc00 || low > 0xdfff)
            return false;
        u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
    } else if (u >= 0xdc00 && u < 0xe000) {
        return false;
    }
    put_utf8(b, (uint32_t)u);
    return true;
}

static bool escape(struct cursor *p, struct buf *b)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *found;

    if (p->at == p->end)
        return false;
    if (*p->at == 'u') {
        p->at++;
        return escape_unicode(p, b);
    }
    found = *p->at ? strchr(from, *p->at) : NULL;
    if (!found)
        return false;
    p->at++;
    buf_put_u8(b, (uint8_t)to[found - from]);
    return true;
}

/* Behind the opening quote. */
static bool text(struct arena *a, struct cursor *p, bytes *out)
{
    const uint8_t *start = p->at;
    struct buf b;

    while (p->at < p->end && *p->at != '"' && *p->at != '\\' && *p->at >= 0x20)
        p->at++;
    if (p->at < p->end && *p->at == '"') {
        *out = bytes_of(start, (size_t)(p->at++ - start));
        return true;
    }
    buf_init(&b, a, (size_t)(p->at - start) + 32);
    buf_put(&b, start, (size_t)(p->at - start));
    while (p->at < p->end && *p->at != '"') {
        uint8_t ch = *p->at++;

        if (ch < 0x20)
            return false;
        if (ch != '\\')
            buf_put_u8(&b, ch);
        else if (!escape(p, &b))
            return false;
    }
    if (p->at == p->end)
        return false;
    p->at++;
    *out = buf_bytes(&b);
    if (!out->ptr)
        out->ptr = "";
    return true;
}

static bool number(struct cursor *p, struct wr_value *out)
{
    char digits[64];
    size_t n = 0;
    bool whole = true;
    char *end;

    while (p->at < p->end && n < sizeof(digits) - 1 &&
           (strchr("+-.eE", *p->at) ? *p->at != 0 : *p->at >= '0' && *p->at <= '9')) {
        whole &= *p->at != '.' && *p->at != 'e' && *p->at != 'E';
        digits[n++] = (char)*p->at++;
    }
    digits[n] = 0;
    if (!n)
        return false;
    errno = 0;
    if (whole)
        *out = (struct wr_value){.type = WR_BIGINT, .integer = strtoll(digits, &end, 10)};
    if (!whole || errno == ERANGE)
        *out = (struct wr_value){.type = WR_DOUBLE, .real = strtod(digits, &end)};
    return *end == 0 && (out->type == WR_BIGINT || isfinite(out->real));
}

static bool element(struct arena *a, struct cursor *p, struct wr_value *out)
{
    blanks(p);
    if (p->at == p->end)
        return false;
    if (*p->at == '"') {
        p->at++;
        *out = (struct wr_value){.type = WR_VARCHAR};
        return text(a, p, &out->bytes);
    }
    if (word(p, BYTES_LIT("true")) || word(p, BYTES_LIT("false"))) {
        *out = (struct wr_value){.type = WR_BOOLEAN, .boolean = p->at[-2] == 'u'};
        return true;
    }
    if (word(p, BYTES_LIT("null"))) {
        *out = (struct wr_value){.type = WR_NULL};
        return true;
    }
    return number(p, out);
}

bool json_array_read(struct arena *a, bytes from, struct wr_value *out, size_t max, size_t *count)
{
    struct cursor p = {bytes_u8(from), bytes_u8(from) + from.len};

    *count = 0;
    if (!take(&p, '['))
        return false;
    if (!take(&p, ']')) {
        do {
            struct wr_value v;

            if (!element(a, &p, &v))
                return false;
            if (v.type == WR_NULL)
                continue;
            if (*count == max)
                return false;
            out[(*count)++] = v;
        } while (take(&p, ','));
        if (!take(&p, ']'))
            return false;
    }
    blanks(&p);
    return p.at == p.end;
}
