/* rados_gather.c: reads that wait for one object go out together.
 *
 * Each object that is read has a lane: the operations that are under way for it, and the reads that
 * came while there were as many as may be. A read that finds none too many goes out at once and
 * alone, so nothing waits for company; when an operation comes back, what has gathered goes out as
 * the next one. Many readers of one partition so cost few operations, and the fewer the busier the
 * cluster is.
 *
 *   - An operation is sent after all its reads were asked for, so what each sees is no older than
 *     its own operation would have seen.
 *   - Gets are one step with the keys of all, in order and each once; a listing is a step of its
 *     own. All steps stand behind one comparison of the object's state: it is refused for all of
 *     them or for none, and all were asked for by the same partition id.
 *   - READS_MAX and BYTES_MAX bound an operation, by guesses of what its answer will take: while an
 *     OSD works on one, others of the same placement group wait. Large reads go past the lanes.
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
#define LANES 1024                       /* hash chains; a power of two */

struct read_lane {
    partition_id id;
    struct read_lane *next; /* in the hash chain */
    struct rados_read *waiting, **waiting_end;
    int under_way;
};

struct rados_gather {
    pthread_mutex_t lock;
    struct read_lane *lanes[LANES];
};

/* One operation. */
struct trip {
    struct rados *r;
    struct read_lane *lane; /* NULL: it went past the lanes */
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

/* ---- lanes; under the lock ---- */

static struct read_lane **lane_slot(struct rados_gather *g, partition_id id)
{
    struct read_lane **at = &g->lanes[(id ^ id >> 17) & (LANES - 1)];

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static struct read_lane *lane_get(struct rados_gather *g, partition_id id)
{
    struct read_lane **at = lane_slot(g, id);

    if (!*at) {
        *at = mem_zalloc(sizeof(**at));
        (*at)->id = id;
        (*at)->waiting_end = &(*at)->waiting;
    }
    return *at;
}

static void lane_put(struct rados_gather *g, struct read_lane *l)
{
    struct read_lane **at = lane_slot(g, l->id);

    invariant(*at == l && !l->waiting && !l->under_way);
    *at = l->next;
    mem_free(l);
}

/* As many of those that wait as one operation may hold, or `all`. NULL: none. */
static struct rados_read *lane_take(struct read_lane *l, bool all)
{
    struct rados_read *list = l->waiting, **end = &l->waiting;
    size_t count = 0, size = 0;

    for (; *end; end = &(*end)->next) {
        if (!all && count && (count == READS_MAX || size + (*end)->size > BYTES_MAX))
            break;
        count++;
        size += (*end)->size;
    }
    l->waiting = *end;
    *end = NULL;
    if (!l->waiting)
        l->waiting_end = &l->waiting;
    return count ? list : NULL;
}

/* ---- one operation ---- */

static int by_key(const void *a, const void *b)
{
    const struct rados_read *const *x = a, *const *y = b;

    return bytes_compare((*x)->key, (*y)->key);
}

/* The keys of all gets, each once. */
static void add_keys(struct trip *t)
{
    const char **keys = ARENA_ARRAY(&t->arena, const char *, t->get_count);
    size_t *lens = ARENA_ARRAY(&t->arena, size_t, t->get_count);
    size_t n = 0;

    qsort(t->gets, t->get_count, sizeof(struct rados_read *), by_key);
    for (size_t i = 0; i < t->get_count; i++) {
        if (i && bytes_equal(t->gets[i]->key, t->gets[i - 1]->key))
            continue;
        keys[n] = t->gets[i]->key.ptr;
        lens[n++] = t->gets[i]->key.len;
    }
    rados_read_op_omap_get_vals_by_keys2(t->op, keys, n, lens, &t->iter, &t->result);
}

static struct trip *trip_new(struct rados *r, struct read_lane *lane, struct rados_read *list)
{
    struct trip *t = mem_zalloc(sizeof(*t));
    size_t count = 0;

    invariant(list);
    *t = (struct trip){.r = r, .lane = lane, .list = list, .op = rados_create_read_op()};
    arena_init(&t->arena, NULL, 0);
    rados_read_op_cmpxattr(t->op, RADOS_READS, LIBRADOS_CMPXATTR_OP_EQ, RADOS_YES,
                           sizeof(RADOS_YES) - 1);
    for (const struct rados_read *read = list; read; read = read->next)
        count++;
    t->gets = ARENA_ARRAY(&t->arena, struct rados_read *, count);
    for (struct rados_read *read = list; read; read = read->next) {
        if (read->add)
            read->add(read, t->op);
        else
            t->gets[t->get_count++] = read;
    }
    if (t->get_count)
        add_keys(t);
    return t;
}

static void trip_free(struct trip *t)
{
    if (t->iter)
        rados_omap_get_end(t->iter);
    rados_release_read_op(t->op);
    arena_release(&t->arena);
    mem_free(t);
}

/* Keys and values come in the order of the keys, without those that are not there. */
static void give_values(struct trip *t, int result)
{
    char *key, *stored;
    size_t key_len, stored_len, i = 0;

    if (!result)
        result = t->result < 0 ? t->result : 0;
    while (!result && !rados_omap_get_next2(t->iter, &key, &stored, &key_len, &stored_len) && key) {
        bytes at = bytes_of(key, key_len), value = bytes_of(stored ? stored : "", stored_len);
        int order;

        atomic_fetch_add(&t->r->read_bytes, key_len + stored_len);
        while (i < t->get_count && (order = bytes_compare(t->gets[i]->key, at)) <= 0) {
            struct rados_read *read = t->gets[i++];

            read->done(read, 0, order ? BYTES_NONE : value);
        }
    }
    while (i < t->get_count) {
        struct rados_read *read = t->gets[i++];

        read->done(read, result, BYTES_NONE);
    }
}

/* Every read is told; each is gone when its done() returns. */
static void give(struct trip *t, int result)
{
    struct rados_read *next;

    for (struct rados_read *read = t->list; read; read = next) {
        next = read->next;
        if (read->add)
            read->done(read, result, BYTES_NONE);
    }
    if (t->get_count)
        give_values(t, result);
}

/* ---- sending ---- */

static void on_read(rados_completion_t completion, void *arg);

/* A negative errno: no completion comes. */
static int trip_send(struct trip *t)
{
    struct rados *r = t->r;
    struct rados_name name = rados_name(t->list->id);
    rados_completion_t completion;
    int result;

    rados_aio_create_completion2(t, on_read, &completion);
    rados_hold(r);
    rados_sent(r);
    atomic_fetch_add(&r->read_ops, 1);
    result = rados_aio_read_op_operate(t->op, r->pool, completion, name.text, 0);
    if (!result)
        return 0;
    rados_aio_release(completion);
    rados_answered(r, result);
    rados_release(r);
    return result < 0 ? result : -EIO;
}

/* An operation of the lane has ended with `result`: sends what has gathered. */
static void lane_go_on(struct rados *r, struct read_lane *lane, int result)
{
    struct rados_gather *g = r->gather;
    bool late = result == -ETIMEDOUT;
    struct rados_read *list;
    struct trip *t;

    for (;;) {
        pthread_mutex_lock(&g->lock);
        invariant(lane->under_way > 0 && lane->under_way <= UNDER_WAY_MAX);
        list = lane_take(lane, late);
        if (!list && --lane->under_way == 0)
            lane_put(g, lane);
        pthread_mutex_unlock(&g->lock);
        if (!list)
            return;
        t = trip_new(r, lane, list);
        result = late ? -ETIMEDOUT : trip_send(t);
        if (!result)
            return; /* it has taken the place of the one that ended */
        late = false;
        give(t, result);
        trip_free(t);
    }
}

static void on_read(rados_completion_t completion, void *arg)
{
    struct trip *t = arg;
    struct rados *r = t->r;
    int result = rados_aio_get_return_value(completion);

    rados_aio_release(completion);
    rados_answered(r, result);
    if (result > 0)
        result = 0;
    if (t->lane)
        lane_go_on(r, t->lane, result);
    give(t, result);
    trip_free(t);
    rados_release(r);
}

/* The read waits in its lane. */
static void lane_wait(struct read_lane *l, struct rados_read *read)
{
    read->next = NULL;
    *l->waiting_end = read;
    l->waiting_end = &read->next;
}

/* The lane to send in, with a place taken; NULL: the read waits there. */
static struct read_lane *lane_enter(struct rados_gather *g, struct rados_read *read)
{
    struct read_lane *l;

    pthread_mutex_lock(&g->lock);
    l = lane_get(g, read->id);
    if (l->under_way < UNDER_WAY_MAX) {
        l->under_way++;
    } else {
        lane_wait(l, read);
        l = NULL;
    }
    pthread_mutex_unlock(&g->lock);
    return l;
}

static bool goes_alone(const struct rados_read *read)
{
    return read->alone || read->size >= ALONE_BYTES_MIN;
}

int rados_read_ask(struct rados *r, struct rados_read *read)
{
    struct read_lane *lane = NULL;
    struct trip *t;
    int result;

    read->next = NULL;
    if (!goes_alone(read)) {
        lane = lane_enter(r->gather, read);
        if (!lane)
            return 0;
    }
    t = trip_new(r, lane, read);
    result = trip_send(t);
    if (!result)
        return 0;
    trip_free(t);
    if (lane)
        lane_go_on(r, lane, result);
    return result;
}

/* ---- many reads ---- */

static void send_alone(struct rados *r, struct rados_read *read)
{
    struct trip *t;
    int result;

    read->next = NULL;
    t = trip_new(r, NULL, read);
    result = trip_send(t);
    if (!result)
        return;
    give(t, result);
    trip_free(t);
}

/* Sends an operation of those that wait for the object, unless as many as may be are under way. */
static void lane_send(struct rados *r, partition_id id)
{
    struct rados_gather *g = r->gather;
    struct rados_read *list = NULL;
    struct read_lane *l;
    struct trip *t;
    int result;

    pthread_mutex_lock(&g->lock);
    l = *lane_slot(g, id);
    if (l && l->under_way < UNDER_WAY_MAX)
        list = lane_take(l, false);
    if (list)
        l->under_way++;
    pthread_mutex_unlock(&g->lock);
    if (!list)
        return;
    t = trip_new(r, l, list);
    result = trip_send(t);
    if (!result)
        return;
    give(t, result);
    trip_free(t);
    lane_go_on(r, l, result);
}

/* All wait before the first operation is sent: so it takes along all it can. */
void rados_read_ask_many(struct rados *r, struct rados_read *const *reads, size_t count)
{
    struct rados_gather *g = r->gather;

    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < count; i++)
        if (!goes_alone(reads[i]))
            lane_wait(lane_get(g, reads[i]->id), reads[i]);
    pthread_mutex_unlock(&g->lock);
    for (size_t i = 0; i < count; i++)
        if (goes_alone(reads[i]))
            send_alone(r, reads[i]);
        else
            lane_send(r, reads[i]->id);
}
