#include "net/range.h"

#include <inttypes.h>

/* One or more digits, up to 19 of them so that they fit. False: there is none. */
static bool number_take(bytes *b, uint64_t *out)
{
    size_t n = 0;

    *out = 0;
    for (; n < b->len && n < 19 && bytes_u8(*b)[n] >= '0' && bytes_u8(*b)[n] <= '9'; n++)
        *out = *out * 10 + (uint64_t)(bytes_u8(*b)[n] - '0');
    *b = bytes_skip(*b, n);
    return n > 0;
}

int range_parse(bytes header, uint64_t size, struct range *out)
{
    uint64_t first, last = UINT64_MAX;
    bool has_first, has_last;

    *out = (struct range){0, size};
    if (!header.ptr || !bytes_starts(header, BYTES_LIT("bytes=")))
        return 200;
    header = bytes_skip(header, 6);
    has_first = number_take(&header, &first);
    if (!header.len || bytes_u8(header)[0] != '-')
        return 200;
    header = bytes_skip(header, 1);
    has_last = number_take(&header, &last);
    if (header.len || (!has_first && !has_last) || (has_first && has_last && last < first))
        return 200;
    if (!has_first) { /* the last so many bytes */
        if (!last || !size)
            return 416;
        out->length = last < size ? last : size;
        out->from = size - out->length;
        return 206;
    }
    if (first >= size)
        return 416;
    if (!has_last || last >= size)
        last = size - 1;
    *out = (struct range){first, last - first + 1};
    return 206;
}

bytes range_format(struct arena *a, const struct range *r, uint64_t size)
{
    if (!r)
        return arena_printf(a, "bytes */%" PRIu64, size);
    return arena_printf(a, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, r->from,
                        r->from + r->length - 1, size);
}
