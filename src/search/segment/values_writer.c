#include "search/segment/values_writer.h"

void values_add(struct values_writer *w, const void *values, uint32_t count, size_t size)
{
    vector_put_u32(&w->offsets, w->count);
    vector_put(&w->values, values, count * size);
    w->count += count;
    w->documents++;
    w->with += count != 0;
    w->uneven |= count != 1;
}

static void finish(struct values_writer *w, struct image_writer *image, size_t field)
{
    image_put(image, SECTION_VALUES, field, w->values.data, w->values.len);
    vector_put_u32(&w->offsets, w->count);
    if (w->uneven)
        image_put(image, SECTION_OFFSETS, field, w->offsets.data, w->offsets.len);
}

static void release(struct values_writer *w)
{
    vector_free(&w->values);
    vector_free(&w->offsets);
}

void values_finish_plain(struct values_writer *w, struct image_writer *image, size_t field)
{
    finish(w, image, field);
    release(w);
}

struct pair {
    uint64_t value; /* with the sign turned, so that unsigned order is right */
    uint32_t doc;
};

#define SIGN (1ull << 63)

/* One pass of a radix sort by eight bits; false: all are equal in them, and nothing was moved. */
static bool sort_pass(const struct pair *from, struct pair *to, size_t count, int shift)
{
    size_t at[256] = {0}, sum = 0;

    for (size_t i = 0; i < count; i++)
        at[from[i].value >> shift & 255]++;
    for (int i = 0; i < 256; i++) {
        size_t n = at[i];

        if (n == count)
            return false;
        at[i] = sum;
        sum += n;
    }
    for (size_t i = 0; i < count; i++)
        to[at[from[i].value >> shift & 255]++] = from[i];
    return true;
}

/* Sorts stably; gives what of the two holds the result. */
static struct pair *sort_pairs(struct pair *pairs, struct pair *spare, size_t count)
{
    for (int shift = 0; shift < 64; shift += 8) {
        if (!sort_pass(pairs, spare, count, shift))
            continue;
        struct pair *swap = pairs;

        pairs = spare;
        spare = swap;
    }
    return pairs;
}

static void put_order(const struct values_writer *w, struct image_writer *image, size_t field)
{
    const int64_t *values = (const int64_t *)w->values.data;
    const uint32_t *offsets = (const uint32_t *)w->offsets.data;
    struct pair *pairs = mem_alloc((w->count + 1ull) * 2 * sizeof(*pairs)), *sorted;
    struct vector order = {0}, docs = {0};

    for (uint32_t doc = 0; doc < w->documents; doc++)
        for (uint32_t i = offsets[doc]; i < offsets[doc + 1]; i++)
            pairs[i] = (struct pair){(uint64_t)values[i] ^ SIGN, doc};
    sorted = sort_pairs(pairs, pairs + w->count, w->count);
    for (uint32_t i = 0; i < w->count; i++) {
        vector_put_u64(&order, sorted[i].value ^ SIGN);
        vector_put_u32(&docs, sorted[i].doc);
    }
    image_put(image, SECTION_ORDER_VALUES, field, order.data, order.len);
    image_put(image, SECTION_ORDER_DOCS, field, docs.data, docs.len);
    vector_free(&order);
    vector_free(&docs);
    mem_free(pairs);
}

void values_finish_numbers(struct values_writer *w, struct image_writer *image, size_t field)
{
    finish(w, image, field);
    put_order(w, image, field);
    release(w);
}
