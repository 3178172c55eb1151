#include "parquet/page_index.h"

#include "base/port.h"

enum boundary_order { ORDER_NONE = 0, ORDER_ASCENDING = 1, ORDER_DESCENDING = 2 };

void page_notes_release(struct page_notes *n)
{
    mem_free(n->list);
    *n = (struct page_notes){0};
}

void page_notes_put(struct page_notes *n, const struct page_note *note)
{
    if (n->count == n->capacity) {
        n->capacity = n->capacity ? n->capacity * 2 : 4;
        n->list = mem_realloc(n->list, sizeof(*n->list) * n->capacity);
    }
    n->list[n->count++] = *note;
}

static bytes bound_bytes(const struct bound *b)
{
    return bytes_of(b->data, b->len);
}

/* Of all pages that have values; false: of one they are not known, or there are no values. */
static bool bounds_of_all(enum wr_type type, const struct page_notes *n, struct bounds *all)
{
    all->known = false;
    for (uint32_t i = 0; i < n->count; i++) {
        const struct bounds *b = &n->list[i].bounds;

        if (!n->list[i].values)
            continue;
        if (!b->known)
            return false;
        if (!all->known || bound_compare(type, &b->min, &all->min) < 0)
            all->min = b->min;
        if (!all->known || bound_compare(type, &b->max, &all->max) > 0)
            all->max = b->max;
        all->known = true;
    }
    return all->known;
}

void page_index_put_statistics(struct thrift *t, enum wr_type type, const struct page_notes *n)
{
    struct bounds all;
    uint64_t absent = 0;

    for (uint32_t i = 0; i < n->count; i++)
        absent += n->list[i].rows - n->list[i].values;
    thrift_begin(t, 0);
    thrift_i64(t, 3, (int64_t)absent);
    if (bounds_of_all(type, n, &all)) {
        thrift_binary(t, 5, bound_bytes(&all.max));
        thrift_binary(t, 6, bound_bytes(&all.min));
        thrift_bool(t, 7, all.max.exact);
        thrift_bool(t, 8, all.min.exact);
    }
    thrift_end(t);
}

/* Which way both bounds go from page to page; pages without values do not count. */
static enum boundary_order order_of(enum wr_type type, const struct page_notes *n)
{
    const struct bounds *last = NULL;
    bool up = true, down = true;

    for (uint32_t i = 0; i < n->count; i++) {
        const struct bounds *b = &n->list[i].bounds;

        if (!n->list[i].values)
            continue;
        if (last) {
            int min = bound_compare(type, &last->min, &b->min);
            int max = bound_compare(type, &last->max, &b->max);

            up &= min <= 0 && max <= 0;
            down &= min >= 0 && max >= 0;
        }
        last = b;
    }
    return up ? ORDER_ASCENDING : down ? ORDER_DESCENDING : ORDER_NONE;
}

static void put_bounds(struct thrift *t, int field, const struct page_notes *n, bool max)
{
    thrift_list(t, field, THRIFT_BINARY, n->count);
    for (uint32_t i = 0; i < n->count; i++) {
        const struct bounds *b = &n->list[i].bounds;

        thrift_element_binary(t, n->list[i].values ? bound_bytes(max ? &b->max : &b->min)
                                                   : BYTES_NONE);
    }
}

bool page_index_put_columns(struct thrift *t, enum wr_type type, const struct page_notes *n)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (n->list[i].values && !n->list[i].bounds.known)
            return false;
    thrift_begin(t, 0);
    thrift_list(t, 1, THRIFT_TRUE, n->count);
    for (uint32_t i = 0; i < n->count; i++)
        thrift_put_u8(t, n->list[i].values ? THRIFT_FALSE : THRIFT_TRUE);
    put_bounds(t, 2, n, false);
    put_bounds(t, 3, n, true);
    thrift_i32(t, 4, order_of(type, n));
    thrift_list(t, 5, THRIFT_I64, n->count);
    for (uint32_t i = 0; i < n->count; i++)
        thrift_element_i64(t, (int64_t)n->list[i].rows - n->list[i].values);
    thrift_end(t);
    return true;
}

void page_index_put_offsets(struct thrift *t, const struct page_notes *n, uint64_t offset)
{
    thrift_begin(t, 0);
    thrift_list(t, 1, THRIFT_STRUCT, n->count);
    for (uint32_t i = 0; i < n->count; i++) {
        thrift_begin(t, 0);
        thrift_i64(t, 1, (int64_t)(offset + n->list[i].at));
        thrift_i32(t, 2, (int32_t)n->list[i].size);
        thrift_i64(t, 3, n->list[i].row);
        thrift_end(t);
    }
    thrift_end(t);
}
