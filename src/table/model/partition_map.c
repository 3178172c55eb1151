/* partition_map.c: a table's partitions in two levels. */
#include "table/model/partition.h"

#include "base/invariant.h"

/* ---- pages ---- */

struct map_page *map_page_new(uint64_t id, const struct schema_partition *list, size_t count)
{
    size_t texts = 0;
    struct map_page *p;
    uint8_t *text;

    for (size_t i = 0; i < count; i++)
        texts += list[i].start.len;
    p = mem_alloc(sizeof(*p) + count * sizeof(p->at[0]) + texts);
    text = (uint8_t *)&p->at[count];
    atomic_init(&p->refs, 1);
    p->id = id;
    p->count = count;
    for (size_t i = 0; i < count; i++) {
        bytes start = list[i].start;

        if (start.len)
            memcpy(text, start.ptr, start.len);
        p->at[i] = (struct partition_at){bytes_of(text, start.len), partition_new(&list[i])};
        text += start.len;
    }
    return p;
}

struct map_page *map_page_ref(struct map_page *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void map_page_release(struct map_page *p)
{
    if (!p)
        return;
    invariant(atomic_load_explicit(&p->refs, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < p->count; i++)
        partition_release(p->at[i].partition);
    mem_free(p);
}

/* ---- maps ---- */

/* Bounds ascend, the first one is open, and no page begins elsewhere than the one before ends. */
static bool map_is_sorted(const struct partition_map *m)
{
    bytes last = BYTES_NONE;

    for (size_t i = 0, n = 0; i < m->page_count; n += m->slots[i++].page->count) {
        const struct map_page *p = m->slots[i].page;

        if (m->slots[i].first != n || !p->count)
            return false;
        for (size_t k = 0; k < p->count; last = p->at[k++].start)
            if (n + k ? bytes_compare(last, p->at[k].start) >= 0 : p->at[k].start.len != 0)
                return false;
    }
    return m->count != 0;
}

void partition_map_init(struct partition_map *m, struct map_page *const *pages, size_t count)
{
    m->slots = mem_alloc(count * sizeof(*m->slots));
    m->page_count = count;
    m->count = 0;
    for (size_t i = 0; i < count; i++) {
        m->slots[i] = (struct map_slot){m->count, pages[i]};
        m->count += pages[i]->count;
    }
    m->only = m->count == 1 ? pages[0]->at[0].partition : NULL;
    assert(map_is_sorted(m));
}

void partition_map_copy(struct partition_map *m, const struct partition_map *from)
{
    *m = *from;
    m->slots = mem_alloc(m->page_count * sizeof(*m->slots));
    memcpy(m->slots, from->slots, m->page_count * sizeof(*m->slots));
    for (size_t i = 0; i < m->page_count; i++)
        map_page_ref(m->slots[i].page);
}

void partition_map_release(struct partition_map *m)
{
    for (size_t i = 0; i < m->page_count; i++)
        map_page_release(m->slots[i].page);
    mem_free(m->slots);
    *m = (struct partition_map){0};
}

size_t partition_page(const struct partition_map *m, size_t i)
{
    size_t low = 0, high = m->page_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (i >= m->slots[middle].first)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- looking up ---- */

int partition_compare(uint8_t bucket, bytes cols, bytes bound)
{
    if (!bound.len)
        return 1;
    if (bucket != *bytes_u8(bound))
        return bucket < *bytes_u8(bound) ? -1 : 1;
    return bytes_compare(cols, bytes_skip(bound, 1));
}

static const struct map_page *page_search(const struct partition_map *m, uint8_t bucket, bytes cols)
{
    size_t low = 0, high = m->page_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (partition_compare(bucket, cols, m->slots[middle].page->at[0].start) >= 0)
            low = middle;
        else
            high = middle;
    }
    return m->slots[low].page;
}

struct partition *partition_search(const struct partition_map *m, uint8_t bucket, bytes cols)
{
    const struct map_page *p = page_search(m, bucket, cols);
    size_t low = 0, high = p->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (partition_compare(bucket, cols, p->at[middle].start) >= 0)
            low = middle;
        else
            high = middle;
    }
    return p->at[low].partition;
}

static struct map_page *page_from(const struct partition_map *m, bytes start)
{
    size_t low = 0, high = m->page_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (bytes_compare(start, m->slots[middle].page->at[0].start) >= 0)
            low = middle;
        else
            high = middle;
    }
    return m->slots[low].page;
}

struct map_page *partition_map_has(const struct partition_map *m, bytes start, uint64_t id)
{
    struct map_page *p = page_from(m, start);

    return p->id == id && bytes_equal(p->at[0].start, start) ? p : NULL;
}

struct partition_at *partition_starting(const struct partition_map *m, bytes start)
{
    struct map_page *p = page_from(m, start);
    size_t low = 0, high = p->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (bytes_compare(start, p->at[middle].start) >= 0)
            low = middle;
        else
            high = middle;
    }
    return bytes_equal(p->at[low].start, start) ? &p->at[low] : NULL;
}
