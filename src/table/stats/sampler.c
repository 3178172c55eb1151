/* sampler.c
 *
 * Samples go into one of four rings, by thread, so that threads rarely meet. A ring is a bounded
 * queue of slots with sequence numbers (after Vyukov): a writer claims a slot by moving the tail
 * and publishes it by its number; the reader, who has the lock, sees an unpublished slot as the
 * end. A writer never waits: if the ring is full, the sample is dropped, and counted as such.
 *
 * `mask` of a ring is the sampling rate: a sample is left if the hash of its number has none of
 * these bits. The reader sets it by what it finds, a writer that finds the ring half full doubles
 * it at once. The first samples after every time the reader came are left whatever it says: what is
 * quiet now is counted one by one, also right after a burst. */
#include "table/stats/sampler.h"

#include "base/invariant.h"
#include "base/service.h"

#include <stdatomic.h>
#include <xxhash.h>

#define RINGS 4
#define SLOTS 4096 /* a ring: 2 MiB all together */
#define KEY_BYTES SKETCH_KEY_BYTES
#define DRAIN_US 100000
#define ADAPT_MS 1000
#define ADAPT_SAMPLES 1000
#define SAMPLES_A_DRAIN 1000 /* of a ring; of what comes after them only some are left */
#define MASK_MAX 0xFFFFu
#define DRAW_MAX 32
#define HOT_KEYS 128
#define EXPORT_HOT_MAX 128       /* keys that are given away */
#define OWN_BYTES_MAX (4u << 20) /* of our map, to be joined with the others' */
#define HOUR_MINUTES 60
#define BUCKET_COST 320 /* bytes a live bucket takes with its samples, about */
#define WATCH_SLOTS 256 /* a power of two, above twice the keys watched */
#define WATCH_MAX 128

struct sample_slot {
    _Atomic uint64_t number;
    struct sampler_table *table;
    uint64_t hash; /* of the partition key */
    uint64_t bytes;
    uint32_t reads, writes, cu, refused;
    uint32_t weight;
    uint8_t key_len, partition_len;
    uint8_t key[KEY_BYTES]; /* bucket byte and columns */
};
_Static_assert(sizeof(struct sample_slot) == 128, "a slot is two cache lines");

struct sample_ring {
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t seen; /* accesses, also those that were not left */
    _Atomic uint64_t all_until;         /* up to this number all are left */
    _Atomic uint32_t mask;
    _Atomic uint64_t dropped;
    _Alignas(64) _Atomic uint64_t head; /* the reader's */
    uint64_t seen_before;
    struct sample_slot *slots;
};

struct sampler_table {
    _Atomic int refs;
    struct sampler *sampler;
    struct sampler_table *next;         /* in sampler->tables; under the lock */
    struct sampler_table *next_retired; /* in sampler->retired */
    uint32_t id;                        /* 0: it is found by nobody */
    unsigned ranges;

    /* Under the lock. */
    uint64_t writes;
    struct heat *heat;           /* NULL until something is sampled, or when memory is short */
    struct sketch *hot[2];       /* of this hour and the one before */
    int64_t hot_minute[2];       /* when they were begun */
    int64_t last_minute;         /* with a sample */
    struct sampler_watch *watch; /* WATCH_SLOTS by hash, 0: none; NULL: none at all */
};

struct sampler {
    struct clock *clock;
    size_t bytes_max, bytes;
    struct sample_ring rings[RINGS];
    _Atomic(struct sampler_table *) retired; /* a stack: nobody leaves samples for them any more */

    pthread_mutex_t lock;
    struct sampler_table *tables;
    struct sampler_table *dying; /* closed; freed when every ring's head has passed its tail */
    uint64_t dying_tail[RINGS];
    size_t live;        /* tables with a heat map */
    int64_t drained_us; /* when samples were taken out last */
    int64_t minute;     /* of the running step; 0: not begun */
    int64_t adapted_ms; /* when the buckets followed last, and the samples since */
    uint64_t applied;

    struct service service;
    bool running; /* it is */
};

/* ---- leaving samples ---- */

uint64_t sampler_hash(bytes partition_key)
{
    return XXH3_64bits(partition_key.ptr, partition_key.len);
}

static uint64_t mix(uint64_t v)
{
    v = (v ^ v >> 33) * 0xFF51AFD7ED558CCDull;
    v = (v ^ v >> 33) * 0xC4CEB9FE1A85EC53ull;
    return v ^ v >> 33;
}

static struct sample_ring *own_ring(struct sampler *t)
{
    return &t->rings[mix((uint64_t)pthread_self()) % RINGS];
}

/* Claims a slot; NULL if there is none. */
static struct sample_slot *claim(struct sample_ring *r, uint64_t *at)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    for (;;) {
        struct sample_slot *s = &r->slots[tail % SLOTS];
        uint64_t number = atomic_load_explicit(&s->number, memory_order_acquire);

        if (number == tail) {
            if (atomic_compare_exchange_weak_explicit(&r->tail, &tail, tail + 1,
                                                      memory_order_relaxed, memory_order_relaxed)) {
                *at = tail;
                return s;
            }
        } else if (number < tail) {
            return NULL;
        } else {
            tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
        }
    }
}

static uint32_t cap32(uint64_t v)
{
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

uint32_t sampler_weight(struct sampler_table *tt)
{
    struct sample_ring *r;
    uint32_t mask;
    uint64_t seen;

    if (!tt)
        return 0;
    r = own_ring(tt->sampler);
    mask = atomic_load_explicit(&r->mask, memory_order_relaxed);
    seen = atomic_fetch_add_explicit(&r->seen, 1, memory_order_relaxed);
    if (PORT_LIKELY(!mask) || seen < atomic_load_explicit(&r->all_until, memory_order_relaxed))
        return 1;
    return mix(seen) & mask ? 0 : mask + 1;
}

/* Of `count` accesses, a power of two up to the rate, at most one leaves a sample: each with the
 * same chance, and all together with as many chances. */
static void draw_more(struct sample_ring *r, uint32_t mask, struct sampler_draw *d)
{
    uint32_t most = mask < DRAW_MAX ? mask + 1 : DRAW_MAX, place;

    d->count = d->count * 2 < most ? d->count * 2 : most;
    if (!d->count)
        d->count = 1;
    place =
        (uint32_t)mix(atomic_fetch_add_explicit(&r->seen, d->count, memory_order_relaxed)) & mask;
    d->weight = place < d->count ? mask + 1 : 0;
    d->skip = d->weight ? place : d->count;
    d->rest = d->count - d->skip - (d->weight != 0);
}

uint32_t sampler_draw(struct sampler_table *tt, struct sampler_draw *d)
{
    struct sample_ring *r;
    uint32_t mask, weight = 0;

    if (!d->weight) {
        if (!tt)
            return 0;
        r = own_ring(tt->sampler);
        mask = atomic_load_explicit(&r->mask, memory_order_relaxed);
        if (!mask || atomic_load_explicit(&r->seen, memory_order_relaxed) <
                         atomic_load_explicit(&r->all_until, memory_order_relaxed))
            return sampler_weight(tt);
        draw_more(r, mask, d);
    }
    if (d->skip) {
        d->skip--;
    } else {
        weight = d->weight;
        d->weight = 0;
        d->skip = d->rest;
    }
    return weight;
}

static void sample_fewer(struct sample_ring *r)
{
    uint32_t mask = atomic_load_explicit(&r->mask, memory_order_relaxed);

    if (mask < MASK_MAX)
        atomic_store_explicit(&r->mask, mask * 2 + 1, memory_order_relaxed);
}

void sampler_add(struct sampler_table *tt, uint32_t weight, uint8_t bucket, bytes cols,
                 size_t partition_len, const struct heat_figures *f)
{
    struct sample_ring *r = own_ring(tt->sampler);
    uint64_t at;
    struct sample_slot *s = claim(r, &at);
    size_t n;

    if (PORT_UNLIKELY(!s)) {
        atomic_fetch_add_explicit(&r->dropped, weight, memory_order_relaxed);
        return;
    }
    n = cols.len < KEY_BYTES - 1 ? cols.len : KEY_BYTES - 1;
    s->table = tt;
    s->hash = sampler_hash(bytes_of(cols.ptr, partition_len));
    s->bytes = f->n[WR_HEAT_BYTES];
    s->reads = cap32(f->n[WR_HEAT_READS]);
    s->writes = cap32(f->n[WR_HEAT_WRITES]);
    s->cu = cap32(f->n[WR_HEAT_CU]);
    s->refused = cap32(f->n[WR_HEAT_REFUSED]);
    s->weight = weight;
    s->key_len = (uint8_t)(n + 1);
    s->partition_len = (uint8_t)(partition_len < n ? partition_len + 1 : n + 1);
    s->key[0] = bucket;
    memcpy(s->key + 1, cols.ptr, n);
    atomic_store_explicit(&s->number, at + 1, memory_order_release);
    if (PORT_UNLIKELY(at % (SLOTS / 2) == 0) &&
        at >= atomic_load_explicit(&r->head, memory_order_relaxed) + SLOTS / 2)
        sample_fewer(r);
}

/* ---- tables ---- */

static struct sampler_table *table_new(struct sampler *t, uint32_t id, unsigned ranges)
{
    struct sampler_table *tt = mem_zalloc(sizeof(*tt));

    atomic_init(&tt->refs, 1);
    tt->sampler = t;
    tt->id = id;
    tt->ranges = ranges;
    tt->next = t->tables;
    t->tables = tt;
    return tt;
}

/* Under the lock. One that was closed by all is freed later, and comes back no more. */
static struct sampler_table *table_find(struct sampler *t, uint32_t id)
{
    for (struct sampler_table *tt = t->tables; id && tt; tt = tt->next) {
        int refs = tt->id == id ? atomic_load_explicit(&tt->refs, memory_order_relaxed) : 0;

        while (refs && !atomic_compare_exchange_weak(&tt->refs, &refs, refs + 1))
            ;
        if (refs)
            return tt;
    }
    return NULL;
}

struct sampler_table *sampler_open(struct sampler *t, uint32_t id, unsigned ranges)
{
    struct sampler_table *tt;

    if (!t)
        return NULL;
    pthread_mutex_lock(&t->lock);
    tt = table_find(t, id);
    if (!tt)
        tt = table_new(t, id, ranges);
    pthread_mutex_unlock(&t->lock);
    return tt;
}

struct sampler_table *sampler_ref(struct sampler_table *tt)
{
    if (tt)
        atomic_fetch_add_explicit(&tt->refs, 1, memory_order_relaxed);
    return tt;
}

/* Samples may still be under way to the reader: it frees the table behind them. */
void sampler_close(struct sampler_table *tt)
{
    struct sampler *t;

    if (!tt)
        return;
    invariant(atomic_load_explicit(&tt->refs, memory_order_relaxed) > 0);
    if (atomic_fetch_sub_explicit(&tt->refs, 1, memory_order_acq_rel) != 1)
        return;
    t = tt->sampler;
    tt->next_retired = atomic_load(&t->retired);
    while (!atomic_compare_exchange_weak(&t->retired, &tt->next_retired, tt))
        ;
}

/* Drops all but the counters. */
static void table_empty(struct sampler *t, struct sampler_table *tt)
{
    t->live -= tt->heat != NULL;
    heat_free(tt->heat);
    tt->heat = NULL;
    for (int i = 0; i < 2; i++) {
        sketch_free(tt->hot[i]);
        tt->hot[i] = NULL;
    }
}

uint64_t sampler_writes(struct sampler *t, struct sampler_table *tt)
{
    uint64_t n;

    if (!t || !tt)
        return 0;
    pthread_mutex_lock(&t->lock);
    n = tt->writes;
    pthread_mutex_unlock(&t->lock);
    return n;
}

static void free_retired(struct sampler *t, struct sampler_table *retired)
{
    while (retired) {
        struct sampler_table *next = retired->next_retired, **at = &t->tables;

        while (*at != retired)
            at = &(*at)->next;
        *at = retired->next;
        table_empty(t, retired);
        mem_free(retired->watch);
        mem_free(retired);
        retired = next;
    }
}

/* A quarter of the memory is for what is live, the rest for history; every table has its share. */
static size_t share_bytes(const struct sampler *t)
{
    return t->bytes_max / 4 / (t->live + 1);
}

static size_t share_buckets(const struct sampler *t)
{
    return share_bytes(t) / 3 * 2 / BUCKET_COST;
}

static size_t share_hot(const struct sampler *t)
{
    size_t n = share_bytes(t) / 3 / 2 / sizeof(struct sketch_entry);

    return n > HOT_KEYS ? HOT_KEYS : n < 8 ? 8 : n;
}

static void table_fill(struct sampler *t, struct sampler_table *tt)
{
    tt->heat = heat_new(tt->ranges, share_buckets(t), (uint64_t)(uintptr_t)tt);
    tt->hot[0] = sketch_new(share_hot(t));
    tt->hot_minute[0] = t->minute;
    t->live++;
}

/* ---- taking samples out ---- */

static struct sampler_watch *watch_at(struct sampler_table *tt, uint64_t hash)
{
    size_t at = hash % WATCH_SLOTS;

    while (tt->watch[at].hash && tt->watch[at].hash != hash)
        at = (at + 1) % WATCH_SLOTS;
    return &tt->watch[at];
}

static void apply(struct sampler *t, const struct sample_slot *s)
{
    struct sampler_table *tt = s->table;
    uint64_t w = s->weight;
    struct heat_figures f;
    struct sampler_watch *watch;

    f.n[WR_HEAT_READS] = s->reads * w;
    f.n[WR_HEAT_WRITES] = s->writes * w;
    f.n[WR_HEAT_CU] = s->cu * w;
    f.n[WR_HEAT_REFUSED] = s->refused * w;
    f.n[WR_HEAT_BYTES] = s->bytes * w;
    if (!tt->heat)
        table_fill(t, tt);
    t->applied++;
    tt->last_minute = t->minute;
    tt->writes += f.n[WR_HEAT_WRITES];
    heat_add(tt->heat, bytes_of(s->key, s->key_len), &f);
    sketch_add(tt->hot[0], s->hash, bytes_of(s->key, s->partition_len),
               f.n[WR_HEAT_READS] + f.n[WR_HEAT_WRITES] + f.n[WR_HEAT_REFUSED], f.n);
    if (!tt->watch)
        return;
    watch = watch_at(tt, s->hash);
    if (!watch->hash)
        return;
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        watch->figures.n[m] += f.n[m];
    if (s->writes)
        watch->bytes_written += f.n[WR_HEAT_BYTES];
}

/* Sets how many samples are left from now on by how many there were in these microseconds. Who
 * comes late finds more than are left in the usual time; then only the ring counts. */
static void adapt_rate(struct sample_ring *r, int64_t us)
{
    uint64_t seen = atomic_load_explicit(&r->seen, memory_order_relaxed);
    uint64_t samples = seen - r->seen_before, late = us > DRAIN_US ? (uint64_t)us / DRAIN_US : 1;
    uint32_t mask = 0, before = atomic_load_explicit(&r->mask, memory_order_relaxed);

    r->seen_before = seen;
    atomic_store_explicit(&r->all_until, seen + SAMPLES_A_DRAIN, memory_order_relaxed);
    while ((samples / late > (uint64_t)SAMPLES_A_DRAIN * (mask + 1) ||
            samples > (uint64_t)SLOTS / 4 * 3 * (mask + 1)) &&
           mask < MASK_MAX)
        mask = mask * 2 + 1;
    if (us >= DRAIN_US || mask > before) /* a moment says only that there are many */
        atomic_store_explicit(&r->mask, mask, memory_order_relaxed);
}

static void drain_ring(struct sampler *t, struct sample_ring *r)
{
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

    for (size_t i = 0; i < SLOTS; i++, head++) {
        struct sample_slot *s = &r->slots[head % SLOTS];

        if (atomic_load_explicit(&s->number, memory_order_acquire) != head + 1)
            break;
        apply(t, s);
        atomic_store_explicit(&s->number, head + SLOTS, memory_order_release);
    }
    atomic_store_explicit(&r->head, head, memory_order_relaxed);
}

/* Frees closed tables once all samples that were left before have been taken out: nobody leaves any
 * more for them. */
static void bury(struct sampler *t)
{
    for (size_t i = 0; i < RINGS; i++)
        if (t->dying &&
            atomic_load_explicit(&t->rings[i].head, memory_order_relaxed) < t->dying_tail[i])
            return;
    free_retired(t, t->dying);
    t->dying = atomic_exchange(&t->retired, NULL);
    for (size_t i = 0; i < RINGS; i++)
        t->dying_tail[i] = atomic_load(&t->rings[i].tail);
}

/* ---- minutes and memory ---- */

static size_t table_bytes(const struct sampler_table *tt)
{
    return heat_bytes(tt->heat) + sketch_bytes(tt->hot[0]) + sketch_bytes(tt->hot[1]) +
           sizeof(*tt) + (tt->watch ? WATCH_SLOTS * sizeof(*tt->watch) : 0);
}

static size_t fixed_bytes(void)
{
    return sizeof(struct sampler) + RINGS * SLOTS * sizeof(struct sample_slot);
}

/* Takes memory where most of it is, as long as there is too much: coarser history first; then the
 * map of the table that was quiet for longest goes. */
static void keep_below(struct sampler *t)
{
    size_t total = fixed_bytes();

    for (struct sampler_table *tt = t->tables; tt; tt = tt->next)
        total += table_bytes(tt);
    while (total > t->bytes_max) {
        struct sampler_table *most = NULL, *quiet = NULL;
        size_t most_bytes = 0, before;

        for (struct sampler_table *tt = t->tables; tt; tt = tt->next) {
            if (!tt->heat)
                continue;
            if (heat_steps(tt->heat) && table_bytes(tt) > most_bytes) {
                most = tt;
                most_bytes = table_bytes(tt);
            }
            if (!quiet || tt->last_minute < quiet->last_minute)
                quiet = tt;
        }
        if (!most && !quiet)
            break;
        before = table_bytes(most ? most : quiet);
        if (most)
            heat_fold(most->heat);
        else
            table_empty(t, quiet);
        total -= before - table_bytes(most ? most : quiet);
    }
    t->bytes = total;
}

static void turn_hour(struct sampler *t, struct sampler_table *tt, int64_t minute)
{
    if (minute - tt->hot_minute[0] < HOUR_MINUTES)
        return;
    sketch_free(tt->hot[1]);
    tt->hot[1] = tt->hot[0];
    tt->hot_minute[1] = tt->hot_minute[0];
    tt->hot[0] = sketch_new(share_hot(t));
    tt->hot_minute[0] = minute;
}

static void turn_minute(struct sampler *t, int64_t minute)
{
    for (struct sampler_table *tt = t->tables; tt; tt = tt->next)
        if (tt->heat) {
            heat_set_max(tt->heat, share_buckets(t));
            heat_step(tt->heat, t->minute);
            turn_hour(t, tt, minute);
        }
    t->minute = minute;
    keep_below(t);
}

/* Lets the buckets follow what was sampled: every second, and sooner after a burst. */
static void adapt(struct sampler *t, int64_t ms)
{
    for (struct sampler_table *tt = t->tables; tt; tt = tt->next)
        if (tt->heat)
            heat_adapt(tt->heat);
    keep_below(t);
    t->adapted_ms = ms;
    t->applied = 0;
}

static void drain_locked(struct sampler *t)
{
    int64_t ms = clock_wall_ms(t->clock), now = clock_mono_us(t->clock);

    if (!t->minute)
        t->minute = ms / 60000;
    if (ms / 60000 != t->minute)
        turn_minute(t, ms / 60000);
    for (size_t i = 0; i < RINGS; i++) {
        drain_ring(t, &t->rings[i]);
        adapt_rate(&t->rings[i], now - t->drained_us);
    }
    t->drained_us = now;
    bury(t);
    if (t->applied >= ADAPT_SAMPLES || ms - t->adapted_ms >= ADAPT_MS || ms < t->adapted_ms)
        adapt(t, ms);
}

void sampler_drain(struct sampler *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    drain_locked(t);
    pthread_mutex_unlock(&t->lock);
}

size_t sampler_bytes(struct sampler *t)
{
    size_t n;

    pthread_mutex_lock(&t->lock);
    n = t->bytes;
    pthread_mutex_unlock(&t->lock);
    return n;
}

/* ---- the thread ---- */

static void *sampler_main(void *arg)
{
    struct sampler *t = arg;

    while (service_sleep(&t->service, DRAIN_US))
        sampler_drain(t);
    return NULL;
}

struct sampler *sampler_new(struct clock *clock, size_t bytes_max)
{
    struct sampler *t;

    if (!bytes_max)
        return NULL;
    t = mem_zalloc(sizeof(*t));
    t->clock = clock;
    t->bytes_max = bytes_max;
    for (size_t i = 0; i < RINGS; i++) {
        t->rings[i].slots = mem_zalloc(SLOTS * sizeof(struct sample_slot));
        for (size_t k = 0; k < SLOTS; k++)
            atomic_init(&t->rings[i].slots[k].number, k);
    }
    pthread_mutex_init(&t->lock, NULL);
    return t;
}

void sampler_start(struct sampler *t)
{
    if (t)
        t->running = service_start(&t->service, "wr-sampler", sampler_main, t);
}

void sampler_stop(struct sampler *t)
{
    if (!t || !t->running)
        return;
    service_stop(&t->service);
    t->running = false;
}

void sampler_free(struct sampler *t)
{
    if (!t)
        return;
    free_retired(t, t->dying);
    free_retired(t, atomic_exchange(&t->retired, NULL));
    for (size_t i = 0; i < RINGS; i++)
        mem_free(t->rings[i].slots);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

/* ---- reports ---- */

static uint64_t dropped(struct sampler *t)
{
    uint64_t n = 0;

    for (size_t i = 0; i < RINGS; i++)
        n += atomic_load_explicit(&t->rings[i].dropped, memory_order_relaxed);
    return n;
}

/* That the sketches are about. */
static int64_t hot_minutes(const struct sampler *t, const struct sampler_table *tt)
{
    return tt->heat ? t->minute + 1 - tt->hot_minute[tt->hot[1] ? 1 : 0] : 0;
}

/* Given away: samples dropped, minutes of the hottest keys, whether these are all keys, how many,
 * each one's hash, count, error, figures and key with its length in front; the rest is the map. */
void sampler_export(struct sampler *t, struct sampler_table *tt, struct buf *b, int64_t first,
                    size_t bytes_max)
{
    struct sketch_entry *hot;
    int64_t minutes;
    size_t n;

    if (!t || !tt)
        return;
    pthread_mutex_lock(&t->lock);
    drain_locked(t);
    n = sketch_top(tt->hot, 2, b->arena, EXPORT_HOT_MAX, &hot);
    buf_put_varint(b, dropped(t));
    buf_put_varint(b, (uint64_t)hot_minutes(t, tt));
    buf_put_u8(b, sketch_is_whole(tt->hot[0]) && sketch_is_whole(tt->hot[1]) && n < EXPORT_HOT_MAX);
    buf_put_varint(b, n);
    for (size_t i = 0; i < n; i++) {
        buf_put_u64(b, hot[i].hash);
        buf_put_varint(b, hot[i].count);
        buf_put_varint(b, hot[i].error);
        for (int m = 0; m < WR_HEAT_METRICS; m++)
            buf_put_varint(b, hot[i].figures[m]);
        buf_put_u8(b, hot[i].key_len);
        buf_put(b, hot[i].key, hot[i].key_len);
    }
    minutes = t->minute - first + 1;
    if (tt->heat && minutes > 0)
        heat_export(tt->heat, b, t->minute, minutes < HEAT_MINUTES ? (int)minutes : HEAT_MINUTES,
                    bytes_max);
    pthread_mutex_unlock(&t->lock);
}

/* What all gave, taken together. */
struct exported {
    struct heat *heat;
    struct sketch **hot; /* two places more in front */
    size_t hot_count;    /* of those who gave something that made sense */
    uint64_t dropped;
    int64_t hot_minutes;
};

static bool sampler_read_hot(struct reader *r, struct sketch_entry *e)
{
    bytes key;

    e->hash = read_u64(r);
    e->count = read_varint(r);
    e->error = read_varint(r);
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        e->figures[m] = read_varint(r);
    e->key_len = read_u8(r);
    if (e->key_len > SKETCH_KEY_BYTES)
        return false;
    key = read_bytes(r, e->key_len);
    if (r->bad)
        return false;
    memcpy(e->key, key.ptr, key.len);
    return true;
}

static void add_exported(struct exported *g, bytes from)
{
    struct reader r = reader_of(from);
    uint64_t dropped = read_varint(&r), minutes = read_varint(&r);
    bool whole = read_u8(&r);
    uint64_t n = read_varint(&r);
    struct sketch_entry *hot;
    bool good;

    if (r.bad || n > EXPORT_HOT_MAX || minutes > 2 * HOUR_MINUTES + HEAT_MINUTES)
        return;
    hot = mem_zalloc((n + 1) * sizeof(*hot));
    good = true;
    for (uint64_t i = 0; i < n && good; i++)
        good = sampler_read_hot(&r, &hot[i]);
    if (good && (!reader_left(&r) || heat_take(g->heat, bytes_of(r.at, reader_left(&r))))) {
        g->hot[2 + g->hot_count++] = sketch_of(hot, (size_t)n, whole);
        g->dropped += dropped;
        g->hot_minutes = (int64_t)minutes > g->hot_minutes ? (int64_t)minutes : g->hot_minutes;
    }
    mem_free(hot);
}

size_t sampler_report(struct sampler *t, struct sampler_table *tt, struct arena *a,
                      const struct heat_query *query, size_t hot_max, const bytes *exported,
                      size_t exported_count, struct sampler_report *out)
{
    struct exported g = {.heat = heat_new(tt->ranges, 0, 0),
                         .hot = ARENA_ARRAY(a, struct sketch *, exported_count + 2)};
    struct heat_query now = *query;
    struct arena tmp;
    struct buf own;

    arena_init(&tmp, NULL, 0);
    buf_init(&own, &tmp, 4096);
    *out = (struct sampler_report){.hot_count = 0};
    for (size_t i = 0; i < exported_count; i++)
        add_exported(&g, exported[i]);
    pthread_mutex_lock(&t->lock);
    drain_locked(t);
    now.minute = t->minute;
    if (!exported_count)
        heat_report(tt->heat ? tt->heat : g.heat, a, &now, &out->grid);
    else if (tt->heat)
        heat_export(tt->heat, &own, now.minute, now.minutes, OWN_BYTES_MAX);
    out->buckets = heat_buckets(tt->heat ? tt->heat : g.heat);
    g.hot[0] = tt->hot[0];
    g.hot[1] = tt->hot[1];
    out->hot_count = sketch_top(g.hot, 2 + g.hot_count, a, hot_max, &out->hot);
    out->hot_minutes = hot_minutes(t, tt);
    out->dropped = dropped(t) + g.dropped;
    pthread_mutex_unlock(&t->lock);
    if (exported_count) { /* not under the lock: it takes longer than our own map */
        if (own.len)
            (void)heat_take(g.heat, buf_bytes(&own));
        heat_report(g.heat, a, &now, &out->grid);
    }
    arena_release(&tmp);
    if (g.hot_minutes > out->hot_minutes)
        out->hot_minutes = g.hot_minutes;
    for (size_t i = 0; i < g.hot_count; i++)
        sketch_free(g.hot[2 + i]);
    heat_free(g.heat);
    return g.hot_count;
}

/* ---- watched keys ---- */

void sampler_watch(struct sampler *t, struct sampler_table *tt, const uint64_t *hashes, size_t n)
{
    if (!t || !tt)
        return;
    pthread_mutex_lock(&t->lock);
    drain_locked(t);
    if (!tt->watch)
        tt->watch = mem_alloc(WATCH_SLOTS * sizeof(*tt->watch));
    memset(tt->watch, 0, WATCH_SLOTS * sizeof(*tt->watch));
    for (size_t i = 0; i < n && i < WATCH_MAX; i++)
        watch_at(tt, hashes[i])->hash = hashes[i];
    pthread_mutex_unlock(&t->lock);
}

void sampler_watched(struct sampler *t, struct sampler_table *tt, struct sampler_watch *items,
                     size_t n)
{
    if (!t || !tt)
        return;
    pthread_mutex_lock(&t->lock);
    drain_locked(t);
    for (size_t i = 0; i < n; i++) {
        const struct sampler_watch *w = tt->watch ? watch_at(tt, items[i].hash) : NULL;

        if (w && w->hash)
            items[i] = *w;
    }
    pthread_mutex_unlock(&t->lock);
}
