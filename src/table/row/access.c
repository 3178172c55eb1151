/* access.c
 *
 * An allowance is one number a partition and way: the moment up to which it is used up. An access
 * that costs u units at r units a second moves it u/r seconds on, from now if it lies behind. As
 * long as it is less than the burst ahead of now, accesses are admitted. So an idle partition has
 * the burst to spend, and cost that is known only afterwards is paid by those who come later.
 *
 * Sampling: every SAMPLE_EVERY-th access leaves its partition key behind, from which a split by
 * load takes the middle. Who finds the samples locked goes on without. */
#include "table/row/access.h"

#include "table/catalog/peers.h"
#include "table/model/key.h"
#include "table/stats/sampler.h"

#define SAMPLE_EVERY 16
#define SAMPLE_BYTES_MAX 4096

/* Threads find their shard by where their stacks are: no two stacks share these bits for long. */
static struct partition_shard *my_shard(struct partition *p)
{
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0) >> 16;

    return &p->shards[(stack ^ stack >> 7) % PARTITION_SHARDS];
}

int64_t access_rate(const struct limits *limits, const struct schema *s, enum access_rule rule,
                    int way)
{
    bool read = way == PARTITION_READ;

    if (rule == ACCESS_RESERVED)
        return read ? s->d.reserved.read : s->d.reserved.write;
    if (rule == ACCESS_PARTITION)
        return (read ? limits->partition_read_cu_max : limits->partition_write_cu_max) *
               (int64_t)s->partition_count;
    return 0;
}

int access_admit(struct access *a, int way)
{
    const struct limits *limits = &a->db->limits;
    enum access_rule rule = (enum access_rule)limits->enforce_throughput;
    int64_t now;

    if (!a->partition)
        a->partition = partition_find(&a->table->partitions, a->bucket, a->cols);
    if (PORT_LIKELY(rule == ACCESS_OFF) || !access_rate(limits, &a->table->schema, rule, way))
        return E_OK;
    now = clock_mono_us(&a->db->clock);
    if (atomic_load_explicit(&a->partition->spent_us[way], memory_order_relaxed) <=
        now + limits->throughput_burst_s * 1000000)
        return E_OK;
    a->refused = true;
    return fail_code(a->c, rule == ACCESS_RESERVED ? E_CAPACITY : E_HOT_PARTITION);
}

static void spend(const struct access *a, int way, int32_t units)
{
    const struct limits *limits = &a->db->limits;
    const struct schema *s = &a->table->schema;
    int64_t rate = access_rate(limits, s, (enum access_rule)limits->enforce_throughput, way), now;
    int64_t shares = (int64_t)s->partition_count * peers_servers(a->db), spent, next;

    if (!rate || !units)
        return;
    now = clock_mono_us(&a->db->clock);
    spent = atomic_load_explicit(&a->partition->spent_us[way], memory_order_relaxed);
    do
        next = (spent > now ? spent : now) + units * 1000000ll * shares / rate;
    while (!atomic_compare_exchange_weak(&a->partition->spent_us[way], &spent, next));
}

/* How many bytes the partition key takes; 0: it holds an INF, as the bound of a range may. */
static size_t partition_key_length(const struct access *a)
{
    const struct location *at = &a->table->schema.location;
    size_t used = 0;

    for (size_t i = 0; i < at->layout.partition_cols; i++) {
        if (!key_starts_with_value(bytes_skip(a->cols, used)))
            return 0;
        used += key_columns_length(&at->key[i], bytes_skip(a->cols, used), 1);
    }
    return used;
}

/* The partition key as a bound. */
static void sample_split_key(const struct access *a)
{
    struct partition *p = a->partition;
    size_t used = partition_key_length(a);
    struct sample *to;

    if (!used || pthread_mutex_trylock(&p->sample_lock))
        return;
    if (used < SAMPLE_BYTES_MAX) {
        if (!p->samples)
            p->samples = mem_zalloc(sizeof(*p->samples) * PARTITION_SAMPLES);
        to = &p->samples[p->sample_next];
        if (to->capacity < used + 1) {
            to->capacity = used + 1;
            to->ptr = mem_realloc(to->ptr, to->capacity);
        }
        to->ptr[0] = a->bucket;
        memcpy(to->ptr + 1, a->cols.ptr, used);
        to->len = used + 1;
        p->sample_next = (p->sample_next + 1) % PARTITION_SAMPLES;
        if (p->sample_count < PARTITION_SAMPLES)
            p->sample_count++;
    }
    pthread_mutex_unlock(&p->sample_lock);
}

static void count(atomic_ullong *counter, uint64_t n)
{
    if (n)
        atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

void access_sample(const struct access *a, uint32_t weight)
{
    uint64_t rows = (uint64_t)a->reads + a->writes;
    struct heat_figures f = {{a->refused ? 0 : a->reads, a->refused ? 0 : a->writes,
                              (uint64_t)a->read_units + (uint64_t)a->write_units,
                              a->refused ? (rows ? rows : 1) : 0, a->read_bytes + a->write_bytes}};
    size_t used = weight ? partition_key_length(a) : 0;

    if (used)
        sampler_add(a->table->sampler, weight, a->bucket, a->cols, used, &f);
}

void access_count(const struct access *a)
{
    struct partition_shard *s;

    if (!a->partition) /* it failed before it had a key */
        return;
    s = my_shard(a->partition);
    count(&s->reads, a->reads);
    count(&s->writes, a->writes);
    count(&s->read_units, (uint64_t)a->read_units);
    count(&s->write_units, (uint64_t)a->write_units);
    count(&s->read_bytes, a->read_bytes);
    count(&s->write_bytes, a->write_bytes);
    count(&s->refused, a->refused);
    if (PORT_UNLIKELY(a->db->limits.enforce_throughput != ACCESS_OFF)) {
        spend(a, PARTITION_READ, a->read_units);
        spend(a, PARTITION_WRITE, a->write_units);
    }
    if (!a->walk || a->refused)
        access_sample(a, sampler_weight(a->table->sampler));
    if (atomic_fetch_add_explicit(&s->accesses, 1, memory_order_relaxed) % SAMPLE_EVERY == 0)
        sample_split_key(a);
}
