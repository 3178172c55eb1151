/* order_reader.h: the values of a number in their order, and the documents that have them, without
 * all of them: of a stored segment blocks come as they are asked for. One thread. */
#ifndef SEARCH_SEGMENT_ORDER_READER_H
#define SEARCH_SEGMENT_ORDER_READER_H

#include "search/segment/parts.h"

/* Values [first, end) are in memory, or their documents. */
struct order_block {
    uint32_t first, end;
    const void *data;
    struct held_parts held;
};

struct order_reader {
    struct ctx *c;
    const struct segment *segment;
    size_t field;
    uint32_t count; /* of values */
    int rc;         /* what could not be read is 0, and this says why */
    struct order_block values, docs;
    struct held_parts held;
};

/* Ended by order_reader_end(). Fails as parts_hold() does, later: by rc. */
void order_reader_begin(struct order_reader *r, struct ctx *c, const struct segment *s,
                        size_t field);
void order_reader_end(struct order_reader *r);

/* False: it can't be read. */
bool order_reader_load(struct order_reader *r, struct order_block *b, uint32_t i);

static inline int64_t order_reader_value(struct order_reader *r, uint32_t i)
{
    if ((i < r->values.first || i >= r->values.end) && !order_reader_load(r, &r->values, i))
        return 0;
    return ((const int64_t *)r->values.data)[i - r->values.first];
}

static inline uint32_t order_reader_doc(struct order_reader *r, uint32_t i)
{
    if ((i < r->docs.first || i >= r->docs.end) && !order_reader_load(r, &r->docs, i))
        return 0;
    return ((const uint32_t *)r->docs.data)[i - r->docs.first];
}

/* The first place whose value is not below `low`. */
uint32_t order_reader_find(struct order_reader *r, int64_t low);

#endif
