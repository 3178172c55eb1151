/* rados_gather.c: reads that wait for one object go out together.
 *
 * Each object that is read has a queue: the operations that are under way for it, and the reads
 * that came while there were as many as may be. A read that finds none too many goes out at once
 * and alone, so nothing waits for company; when an operation comes back, what has gathered goes out
 * as the next one. Many readers of one partition so cost few operations, and the fewer the busier
 * the cluster is.
 *
 *   - An operation is sent after all its reads were asked for, so what each sees is no older than
 *     its own operation would have seen.
 *   - Gets are one step with the keys of all, in order and each once; a listing is a step of its
 *     own. All steps stand behind one comparison of the object's state: it is refused for all of
 *     them or for none, and all were asked for by the same partition id.
 *   - READS_MAX and BYTES_MAX bound an operation, by guesses of what its answer will take: while an
 *     OSD works on one, others of the same placement group wait. Large reads go past the queues.
 *   - When the cluster did not answer in time, those who wait behind are told so too, instead of
 *     waiting as long again.
 *   - The submitting thread, or the thread of the completion before, sends. The next operation is
 *     on its way before the answers of the last are handed over. */
#include "engine/rados.h"

#include "base/invariant.h"

#include <errno.h>
#include <stdlib.h>

/* Operations under way for one object. With two the OSD need not wait for us in between. */
#define UNDER_WAY_MAX 2
#define READS_MAX 64
#define BYTES_MAX (1u << 20)
#define ALONE_BYTES_MIN (BYTES_MAX / 16) /* larger ones have little to gain, and others to lose */
#define READ_QUEUES 1024                 /* hash chains; a power of two */

struct read_queue {
    partition_id id;
    struct read_queue *next; /* in the hash chain */
    struct rados_read *waiting, **waiting_end;
    int under_way;
};

struct rados_gather {
    pthread_mutex_t lock;
    struct read_queue *queues[READ_QUEUES];
};

/* What is sent to the pool at once: reads of one object. */
struct read_operation {
    struct rados *r;
    struct read_queue *queue; /* NULL: it went past the queues */
    struct rados_read *list;
    struct rados_read **gets; /* by key */
    size_t get_count;
    rados_read_op_t op;
    rados_omap_iter_t iter; /* of the values of all gets */
    int result;             /* of that step */
    struct arena arena;
};

struct rados_gather *rados_gather_new(void)
{
    struct rados_gather *g = mem_zalloc(sizeof(*g));

    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void rados_gather_free(struct rados_gather *g)
{
    if (!g)
        return;
    pthread_mutex_destroy(&g->lock);
    mem_free(g);
}

/* ---- queues; under the lock ---- */

static struct read_queue **read_queue_slot(struct rados_gather *g, partition_id id)
{
    struct read_queue **at = &g->queues[(id ^ id >> 17) & (READ_QUEUES - 1)];

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static struct read_queue *read_queue_get(struct rados_gather *g, partition_id id)
{
    struct read_queue **at = read_queue_slot(g, id);

    if (!*at) {
        *at = mem_zalloc(sizeof(**at));
        (*at)->id = id;
        (*at)->waiting_end = &(*at)->waiting;
    }
    return *at;
}

static void read_queue_put(struct rados_gather *g, struct read_queue *q)
{
    struct read_queue **at = read_queue_slot(g, q->id);

    invariant(*at == q && !q->waiting && !q->under_way);
    *at = q->next;
    mem_free(q);
}

/* As many of those that wait as one operation may hold, or `all`. NULL: none. */
static struct rados_read *read_queue_take(struct read_queue *q, bool all)
{
    struct rados_read *list = q->waiting, **end = &q->waiting;
    size_t count = 0, size = 0;

    for (; *end; end = &(*end)->next) {
        if (!all && count && (count == READS_MAX || size + (*end)->size > BYTES_MAX))
            break;
        count++;
        size += (*end)->size;
    }
    q->waiting = *end;
    *end = NULL;
    if (!q->waiting)
        q->waiting_end = &q->waiting;
    return count ? list : NULL;
}

/* ---- one operation ---- */

static int by_key(const void *a, const void *b)
{
    const struct rados_read *const *x = a, *const *y = b;

    return bytes_compare((*x)->key, (*y)->key);
}

/* The keys of all gets, each once. */
static void add_keys(struct read_operation *o)
{
    const char **keys = ARENA_ARRAY(&o->arena, const char *, o->get_count);
    size_t *lens = ARENA_ARRAY(&o->arena, size_t, o->get_count);
    size_t n = 0;

    qsort(o->gets, o->get_count, sizeof(struct rados_read *), by_key);
    for (size_t i = 0; i < o->get_count; i++) {
        if (i && bytes_equal(o->gets[i]->key, o->gets[i - 1]->key))
            continue;
        keys[n] = o->gets[i]->key.ptr;
        lens[n++] = o->gets[i]->key.len;
    }
    rados_read_op_omap_get_vals_by_keys2(o->op, keys, n, lens, &o->iter, &o->result);
}

static struct read_operation *read_operation_new(struct rados *r, struct read_queue *queue,
                                                 struct rados_read *list)
{
    struct read_operation *o = mem_zalloc(sizeof(*o));
    size_t count = 0;

    invariant(list);
    *o =
        (struct read_operation){.r = r, .queue = queue, .list = list, .op = rados_create_read_op()};
    arena_init(&o->arena, NULL, 0);
    rados_read_op_cmpxattr(o->op, RADOS_READS, LIBRADOS_CMPXATTR_OP_EQ, RADOS_YES,
                           sizeof(RADOS_YES) - 1);
    for (const struct rados_read *read = list; read; read = read->next)
        count++;
    o->gets = ARENA_ARRAY(&o->arena, struct rados_read *, count);
    for (struct rados_read *read = list; read; read = read->next) {
        if (read->add)
            read->add(read, o->op);
        else
            o->gets[o->get_count++] = read;
    }
    if (o->get_count)
        add_keys(o);
    return o;
}

static void read_operation_free(struct read_operation *o)
{
    if (o->iter)
        rados_omap_get_end(o->iter);
    rados_release_read_op(o->op);
    arena_release(&o->arena);
    mem_free(o);
}

/* Keys and values come in the order of the keys, without those that are not there. */
static void give_values(struct read_operation *o, int result)
{
    char *key, *stored;
    size_t key_len, stored_len, i = 0;

    if (!result)
        result = o->result < 0 ? o->result : 0;
    while (!result && !rados_omap_get_next2(o->iter, &key, &stored, &key_len, &stored_len) && key) {
        bytes at = bytes_of(key, key_len), value = bytes_of(stored ? stored : "", stored_len);
        int order;

        atomic_fetch_add(&o->r->read_bytes, key_len + stored_len);
        while (i < o->get_count && (order = bytes_compare(o->gets[i]->key, at)) <= 0) {
            struct rados_read *read = o->gets[i++];

            read->done(read, 0, order ? BYTES_NONE : value);
        }
    }
    while (i < o->get_count) {
        struct rados_read *read = o->gets[i++];

        read->done(read, result, BYTES_NONE);
    }
}

/* Every read is told; each is gone when its done() returns. */
static void give(struct read_operation *o, int result)
{
    struct rados_read *next;

    for (struct rados_read *read = o->list; read; read = next) {
        next = read->next;
        if (read->add)
            read->done(read, result, BYTES_NONE);
    }
    if (o->get_count)
        give_values(o, result);
}

/* ---- sending ---- */

static void on_read(rados_completion_t completion, void *arg);

/* A negative errno: no completion comes. */
static int read_operation_send(struct read_operation *o)
{
    struct rados *r = o->r;
    struct rados_name name = rados_name(o->list->id);
    rados_completion_t completion;
    int result;

    rados_aio_create_completion2(o, on_read, &completion);
    rados_hold(r);
    rados_sent(r);
    atomic_fetch_add(&r->read_ops, 1);
    result = rados_aio_read_op_operate(o->op, r->pool, completion, name.text, 0);
    if (!result)
        return 0;
    rados_aio_release(completion);
    rados_answered(r, result);
    rados_release(r);
    return result < 0 ? result : -EIO;
}

/* An operation of the queue has ended with `result`: sends what has gathered. */
static void read_queue_go_on(struct rados *r, struct read_queue *queue, int result)
{
    struct rados_gather *g = r->gather;
    bool late = result == -ETIMEDOUT;
    struct rados_read *list;
    struct read_operation *o;

    for (;;) {
        pthread_mutex_lock(&g->lock);
        invariant(queue->under_way > 0 && queue->under_way <= UNDER_WAY_MAX);
        list = read_queue_take(queue, late);
        if (!list && --queue->under_way == 0)
            read_queue_put(g, queue);
        pthread_mutex_unlock(&g->lock);
        if (!list)
            return;
        o = read_operation_new(r, queue, list);
        result = late ? -ETIMEDOUT : read_operation_send(o);
        if (!result)
            return; /* it has taken the place of the one that ended */
        late = false;
        give(o, result);
        read_operation_free(o);
    }
}

static void on_read(rados_completion_t completion, void *arg)
{
    struct read_operation *o = arg;
    struct rados *r = o->r;
    int result = rados_aio_get_return_value(completion);

    rados_aio_release(completion);
    rados_answered(r, result);
    if (result > 0)
        result = 0;
    if (o->queue)
        read_queue_go_on(r, o->queue, result);
    give(o, result);
    read_operation_free(o);
    rados_release(r);
}

/* The read waits in its queue. */
static void read_queue_wait(struct read_queue *q, struct rados_read *read)
{
    read->next = NULL;
    *q->waiting_end = read;
    q->waiting_end = &read->next;
}

/* The queue to send in, with a place taken; NULL: the read waits there. */
static struct read_queue *read_queue_enter(struct rados_gather *g, struct rados_read *read)
{
    struct read_queue *q;

    pthread_mutex_lock(&g->lock);
    q = read_queue_get(g, read->id);
    if (q->under_way < UNDER_WAY_MAX) {
        q->under_way++;
    } else {
        read_queue_wait(q, read);
        q = NULL;
    }
    pthread_mutex_unlock(&g->lock);
    return q;
}

static bool goes_alone(const struct rados_read *read)
{
    return read->alone || read->size >= ALONE_BYTES_MIN;
}

int rados_read_ask(struct rados *r, struct rados_read *read)
{
    struct read_queue *queue = NULL;
    struct read_operation *o;
    int result;

    read->next = NULL;
    if (!goes_alone(read)) {
        queue = read_queue_enter(r->gather, read);
        if (!queue)
            return 0;
    }
    o = read_operation_new(r, queue, read);
    result = read_operation_send(o);
    if (!result)
        return 0;
    read_operation_free(o);
    if (queue)
        read_queue_go_on(r, queue, result);
    return result;
}

/* ---- many reads ---- */

static void send_alone(struct rados *r, struct rados_read *read)
{
    struct read_operation *o;
    int result;

    read->next = NULL;
    o = read_operation_new(r, NULL, read);
    result = read_operation_send(o);
    if (!result)
        return;
    give(o, result);
    read_operation_free(o);
}

/* Sends an operation of those that wait for the object, unless as many as may be are under way. */
static void read_queue_send(struct rados *r, partition_id id)
{
    struct rados_gather *g = r->gather;
    struct rados_read *list = NULL;
    struct read_queue *q;
    struct read_operation *o;
    int result;

    pthread_mutex_lock(&g->lock);
    q = *read_queue_slot(g, id);
    if (q && q->under_way < UNDER_WAY_MAX)
        list = read_queue_take(q, false);
    if (list)
        q->under_way++;
    pthread_mutex_unlock(&g->lock);
    if (!list)
        return;
    o = read_operation_new(r, q, list);
    result = read_operation_send(o);
    if (!result)
        return;
    give(o, result);
    read_operation_free(o);
    read_queue_go_on(r, q, result);
}

/* All wait before the first operation is sent: so it takes along all it can. */
void rados_read_ask_many(struct rados *r, struct rados_read *const *reads, size_t count)
{
    struct rados_gather *g = r->gather;

    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < count; i++)
        if (!goes_alone(reads[i]))
            read_queue_wait(read_queue_get(g, reads[i]->id), reads[i]);
    pthread_mutex_unlock(&g->lock);
    for (size_t i = 0; i < count; i++)
        if (goes_alone(reads[i]))
            send_alone(r, reads[i]);
        else
            read_queue_send(r, reads[i]->id);
}
