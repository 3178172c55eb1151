#include "table/model/partition.h"

#include "base/invariant.h"
#include "table/model/key.h"

/* ---- one partition ---- */

struct partition *partition_new(const struct schema_partition *s)
{
    struct partition *p = mem_alloc_aligned(64, sizeof(*p));

    memset(p, 0, sizeof(*p));
    atomic_init(&p->refs, 1);
    p->id = s->id;
    p->created_us = s->created_us;
    atomic_init(&p->bytes, s->bytes);
    pthread_mutex_init(&p->sample_lock, NULL);
    return p;
}

struct partition *partition_ref(struct partition *p)
{
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void partition_release(struct partition *p)
{
    invariant(atomic_load_explicit(&p->refs, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (unsigned i = 0; p->samples && i < PARTITION_SAMPLES; i++)
        mem_free(p->samples[i].ptr);
    mem_free(p->samples);
    pthread_mutex_destroy(&p->sample_lock);
    mem_free(p);
}

struct partition_counts partition_counts(const struct partition *p)
{
    struct partition_counts sum = {0};

    for (int i = 0; i < PARTITION_SHARDS; i++) {
#define X(name) sum.name += atomic_load_explicit(&p->shards[i].name, memory_order_relaxed);
        PARTITION_COUNTERS(X)
#undef X
    }
    return sum;
}

void partition_measured(struct partition *p, uint64_t stored, uint64_t written, int64_t now_us)
{
    atomic_store(&p->bytes, stored);
    atomic_store(&p->measured_at, written);
    atomic_store(&p->measured_us, now_us);
}

/* ---- what the engine calls a partition ---- */

static bytes page_position(struct arena *a, uint32_t table, int bucket, int kind, bytes cols)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + cols.len);
    if (bucket > UINT8_MAX) {
        table++;
        bucket = -1;
    }
    key_put_prefix(&b, table, bucket < 0 ? 0 : (uint8_t)bucket, kind < 0 ? 0 : (enum key_kind)kind);
    buf_put_bytes(&b, cols);
    if (bucket < 0)
        return bytes_of(b.data, 4);
    return kind < 0 ? bytes_of(b.data, 5) : buf_bytes(&b);
}

static void add_range(struct partition_spec *s, bytes start, bytes end)
{
    struct key_range *ranges = (struct key_range *)s->ranges;

    ranges[s->range_count++] = (struct key_range){start, end};
}

struct partition_spec partition_spec(struct arena *a, uint32_t table, partition_id id, bytes start,
                                     bytes end)
{
    struct partition_spec s = {.id = id,
                               .ranges = ARENA_ARRAY(a, struct key_range, 2 * KIND_LAST + 1)};
    int first = start.len ? *bytes_u8(start) : 0, last = end.len ? *bytes_u8(end) : UINT8_MAX + 1;
    bytes from = start.len ? bytes_skip(start, 1) : BYTES_NONE;
    bytes to = end.len ? bytes_skip(end, 1) : BYTES_NONE;

    /* The bucket that the lower bound divides, kind by kind; whole buckets are one range. */
    if (from.len || first == last)
        for (int kind = KIND_RECORD; kind <= KIND_LAST; kind++)
            add_range(&s, page_position(a, table, first, kind, from),
                      first == last ? page_position(a, table, last, kind, to)
                                    : page_position(a, table, first, kind + 1, BYTES_NONE));
    if (from.len || first == last)
        first++;
    if (first < last)
        add_range(&s, page_position(a, table, first, -1, BYTES_NONE),
                  page_position(a, table, last, -1, BYTES_NONE));
    if (first <= last && to.len)
        for (int kind = KIND_RECORD; kind <= KIND_LAST; kind++)
            add_range(&s, page_position(a, table, last, kind, BYTES_NONE),
                      page_position(a, table, last, kind, to));
    return s;
}
