#include "search/segment/order_reader.h"

#define BLOCK 4096

void order_reader_begin(struct order_reader *r, struct ctx *c, const struct segment *s,
                        size_t field)
{
    const struct segment_column *col = &s->columns[field];

    *r = (struct order_reader){.c = c, .segment = s, .field = field};
    if (s->parts && !parts_hold_there(c, s, part_of_field(field, PART_TERMS), &r->held)) {
        r->count = (uint32_t)(parts_section_bytes(s, SECTION_ORDER_VALUES, field) / 8);
        return;
    }
    r->count = col->order_count;
    r->values = (struct order_block){.end = r->count, .data = col->order_values};
    r->docs = (struct order_block){.end = r->count, .data = col->order_docs};
}

void order_reader_end(struct order_reader *r)
{
    held_drop(r->segment, &r->held);
    held_drop(r->segment, &r->values.held);
    held_drop(r->segment, &r->docs.held);
}

bool order_reader_load(struct order_reader *r, struct order_block *b, uint32_t i)
{
    bool docs = b == &r->docs;
    uint64_t size = docs ? 4 : 8;
    uint32_t first = i / BLOCK * BLOCK, end = r->count - first < BLOCK ? r->count : first + BLOCK;
    int rc;

    held_drop(r->segment, &b->held);
    b->first = b->end = 0;
    rc = parts_slice(r->c, r->segment, docs ? SECTION_ORDER_DOCS : SECTION_ORDER_VALUES, r->field,
                     first * size, end * size, &b->held, &b->data);
    if (rc) {
        r->rc = rc;
        return false;
    }
    b->first = first;
    b->end = end;
    return true;
}

uint32_t order_reader_find(struct order_reader *r, int64_t low)
{
    uint32_t from = 0, to = r->count;

    while (from < to) {
        uint32_t mid = from + (to - from) / 2;

        if (order_reader_value(r, mid) < low)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}
