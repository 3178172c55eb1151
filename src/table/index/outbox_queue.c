#include "table/index/outbox_queue.h"

#include "table/core/db.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* How far behind the oldest record others of its table are looked for. */
#define LOOK_MAX 4096

struct queued {
    struct queued *next;
    int64_t since_ms;
    uint32_t id;
    uint32_t instance_len, table_len, cols_len;
    uint8_t text[]; /* the three behind each other */
};

struct outbox_queue {
    pthread_mutex_t lock;
    struct queued *first, **end;
    atomic_size_t count;    /* of all, those that are taken included */
    size_t taken;           /* of these */
    int64_t taken_since_ms; /* 0: none are */
    void (*work)(void *arg);
    void *arg;
};

struct outbox_queue *outbox_queue_new(void)
{
    struct outbox_queue *q = mem_zalloc(sizeof(*q));

    pthread_mutex_init(&q->lock, NULL);
    q->end = &q->first;
    return q;
}

void outbox_queue_free(struct outbox_queue *q)
{
    if (!q)
        return;
    while (q->first) {
        struct queued *next = q->first->next;

        mem_free(q->first);
        q->first = next;
    }
    pthread_mutex_destroy(&q->lock);
    mem_free(q);
}

void outbox_queue_on_work(struct outbox_queue *q, void (*work)(void *arg), void *arg)
{
    q->work = work;
    q->arg = arg;
}

static struct queued *queued_new(bytes instance, bytes table, uint32_t id, bytes cols, int64_t ms)
{
    struct queued *e = mem_alloc(sizeof(*e) + instance.len + table.len + cols.len);

    *e = (struct queued){.since_ms = ms,
                         .id = id,
                         .instance_len = (uint32_t)instance.len,
                         .table_len = (uint32_t)table.len,
                         .cols_len = (uint32_t)cols.len};
    memcpy(e->text, instance.ptr, instance.len);
    memcpy(e->text + instance.len, table.ptr, table.len);
    memcpy(e->text + instance.len + table.len, cols.ptr, cols.len);
    return e;
}

static void append(struct outbox_queue *q, struct queued *e)
{
    *q->end = e;
    q->end = &e->next;
}

void outbox_queue_add(struct outbox_queue *q, const struct table *t, bytes cols)
{
    const struct schema *s = &t->schema;
    struct queued *e;
    bool first;

    if (!q)
        return;
    e = queued_new(s->instance, s->d.table, s->id, cols, clock_mono_ms(&t->db->clock));
    pthread_mutex_lock(&q->lock);
    first = !q->first;
    append(q, e);
    atomic_fetch_add(&q->count, 1);
    pthread_mutex_unlock(&q->lock);
    if (first && q->work)
        q->work(q->arg);
}

size_t outbox_queue_count(const struct outbox_queue *q)
{
    return q ? atomic_load_explicit(&q->count, memory_order_relaxed) : 0;
}

int64_t outbox_queue_age_ms(struct outbox_queue *q, int64_t now_ms)
{
    int64_t since = 0;

    if (!q)
        return 0;
    pthread_mutex_lock(&q->lock);
    if (q->first)
        since = q->first->since_ms;
    if (q->taken_since_ms && (!since || q->taken_since_ms < since))
        since = q->taken_since_ms;
    pthread_mutex_unlock(&q->lock);
    return since && now_ms > since ? now_ms - since : 0;
}

static int compare_cols(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

static void take_one(struct arena *a, struct outbox_taken *out, const struct queued *e)
{
    if (!out->count) {
        out->id = e->id;
        out->instance = arena_copy(a, bytes_of(e->text, e->instance_len));
        out->table = arena_copy(a, bytes_of(e->text + e->instance_len, e->table_len));
        out->since_ms = e->since_ms;
    }
    out->cols[out->count++] =
        arena_copy(a, bytes_of(e->text + e->instance_len + e->table_len, e->cols_len));
}

/* Takes records out of the list. */
static void take_some(struct outbox_queue *q, struct arena *a, size_t max, struct outbox_taken *out)
{
    struct queued **at = &q->first;

    for (size_t i = 0; i < LOOK_MAX && *at && out->count < max; i++) {
        struct queued *e = *at;

        if (out->count && e->id != out->id) {
            at = &e->next;
            continue;
        }
        take_one(a, out, e);
        *at = e->next;
        if (!e->next)
            q->end = at;
        mem_free(e);
    }
}

bool outbox_queue_take(struct outbox_queue *q, struct arena *a, size_t max,
                       struct outbox_taken *out)
{
    size_t n = 0;

    *out = (struct outbox_taken){.cols = ARENA_ARRAY(a, bytes, max)};
    pthread_mutex_lock(&q->lock);
    take_some(q, a, max, out);
    q->taken = out->count;
    q->taken_since_ms = out->count ? out->since_ms : 0;
    pthread_mutex_unlock(&q->lock);
    if (!out->count)
        return false;
    qsort(out->cols, out->count, sizeof(bytes), compare_cols);
    for (size_t i = 0; i < out->count; i++)
        if (!n || !bytes_equal(out->cols[n - 1], out->cols[i]))
            out->cols[n++] = out->cols[i];
    out->count = n;
    return true;
}

void outbox_queue_return(struct outbox_queue *q, const struct outbox_taken *taken,
                         const bytes *cols, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct queued *e =
            queued_new(taken->instance, taken->table, taken->id, cols[i], taken->since_ms);

        pthread_mutex_lock(&q->lock);
        append(q, e);
        atomic_fetch_add(&q->count, 1);
        pthread_mutex_unlock(&q->lock);
    }
}

void outbox_queue_taken_end(struct outbox_queue *q)
{
    pthread_mutex_lock(&q->lock);
    atomic_fetch_sub(&q->count, q->taken);
    q->taken = 0;
    q->taken_since_ms = 0;
    pthread_mutex_unlock(&q->lock);
}
