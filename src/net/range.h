/* range.h: the Range header of a request for a part of something (RFC 9110, section 14). */
#ifndef NET_RANGE_H
#define NET_RANGE_H

#include "base/arena.h"

struct range {
    uint64_t from, length;
};

/* What `header` (of Range; ptr NULL: there was none) asks of `size` bytes: the status to answer
 * with. 200: all of it, also for a header that says something else than one range of bytes, which
 * may be ignored; 206: *out; 416: nothing that is there. */
int range_parse(bytes header, uint64_t size, struct range *out);

/* The Content-Range header of a 206 answer, or with `r` NULL that of a 416. Ends with a NUL. */
bytes range_format(struct arena *a, const struct range *r, uint64_t size);

#endif
