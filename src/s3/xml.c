#include "s3/xml.h"

#include "base/buf.h"

#include <stdlib.h>

/* Where <name> or </name> stands; *end is behind it. NULL: nowhere. */
static const char *find_tag(bytes in, const char *open, const char *name, const char **end)
{
    size_t open_len = strlen(open), len = strlen(name);
    const char *p = in.ptr, *stop = p + in.len;

    while (p < stop && (p = memmem(p, (size_t)(stop - p), open, open_len))) {
        const char *after = p + open_len + len;

        if ((size_t)(stop - p) > open_len + len && memcmp(p + open_len, name, len) == 0 &&
            (*after == '>' || *after == ' ')) {
            const char *close = memchr(after, '>', (size_t)(stop - after));

            if (!close)
                return NULL;
            *end = close + 1;
            return p;
        }
        p += open_len;
    }
    return NULL;
}

bytes xml_next(bytes *in, const char *name)
{
    const char *from, *behind, *close, *stop;

    if (!in->len || !find_tag(*in, "<", name, &from))
        return BYTES_NONE;
    stop = (const char *)in->ptr + in->len;
    close = find_tag(bytes_of(from, (size_t)(stop - from)), "</", name, &behind);
    if (!close)
        return BYTES_NONE;
    *in = bytes_of(behind, (size_t)(stop - behind));
    return bytes_of(from, (size_t)(close - from));
}

bytes xml_inner(bytes in, const char *name)
{
    return xml_next(&in, name);
}

static void put_entity(struct buf *b, const char *name, size_t n)
{
    static const struct {
        const char *name;
        char ch;
    } known[] = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    char digits[16] = "";
    unsigned long code;

    for (size_t i = 0; i < PORT_COUNT(known); i++)
        if (strlen(known[i].name) == n && memcmp(name, known[i].name, n) == 0)
            buf_put_u8(b, (uint8_t)known[i].ch);
    if (n < 2 || n >= sizeof(digits) || name[0] != '#')
        return;
    memcpy(digits, name + 1, n - 1);
    code = digits[0] == 'x' ? strtoul(digits + 1, NULL, 16) : strtoul(digits, NULL, 10);
    if (code && code < 0x80)
        buf_put_u8(b, (uint8_t)code);
}

const char *xml_text(struct arena *a, bytes in, const char *name)
{
    bytes text = xml_inner(in, name);
    const char *p = text.ptr, *end = p + text.len;
    struct buf b;

    if (!text.len)
        return "";
    buf_init(&b, a, text.len + 1);
    while (p < end) {
        const char *semicolon = *p == '&' ? memchr(p, ';', (size_t)(end - p)) : NULL;

        if (semicolon) {
            put_entity(&b, p + 1, (size_t)(semicolon - p - 1));
            p = semicolon + 1;
        } else {
            buf_put_u8(&b, (uint8_t)*p++);
        }
    }
    buf_put_u8(&b, 0);
    return (const char *)b.data;
}
