/* rados_make.c: the objects of new partitions.
 *
 * Each is a small write in a placement group of its own, so many are under way at a time, and no
 * more than UNDER_WAY_MAX, for what serves requests shares the OSDs. After the first that fails
 * none is sent any more, and those under way are waited for. What was made stays: it is empty, and
 * who makes it again finds it there. */
#include "engine/rados.h"

#include <errno.h>

#define UNDER_WAY_MAX 64

/* On the stack of who waits. */
struct making {
    struct rados *r;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* one of those under way */
    size_t under_way;
    int result; /* of the first that failed, a negative errno; 0: none did */
    partition_id failed;
};

struct one {
    struct making *making;
    partition_id id;
};

/* A place among those under way; false: one has failed. */
static bool place_take(struct making *m)
{
    bool go_on;

    pthread_mutex_lock(&m->lock);
    while (m->under_way == UNDER_WAY_MAX && !m->result)
        pthread_cond_wait(&m->ended, &m->lock);
    go_on = !m->result;
    m->under_way += go_on;
    pthread_mutex_unlock(&m->lock);
    return go_on;
}

/* m may be gone when it returns. */
static void place_give(struct making *m, partition_id id, int result)
{
    pthread_mutex_lock(&m->lock);
    if (result < 0 && result != -EEXIST && !m->result) {
        m->result = result;
        m->failed = id;
    }
    m->under_way--;
    pthread_cond_signal(&m->ended);
    pthread_mutex_unlock(&m->lock);
}

static void on_made(rados_completion_t completion, void *arg)
{
    struct one one = *(struct one *)arg;
    int result = rados_aio_get_return_value(completion);

    mem_free(arg);
    rados_aio_release(completion);
    rados_answered(one.making->r, result);
    place_give(one.making, one.id, result);
}

static void make_one(struct making *m, partition_id id, const char *state)
{
    struct rados *r = m->r;
    struct rados_name name = rados_name(id);
    rados_write_op_t op = rados_create_write_op();
    struct one *one = mem_alloc(sizeof(*one));
    rados_completion_t completion;
    int result;

    *one = (struct one){m, id};
    rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    rados_set_state(op, state, state);
    rados_aio_create_completion2(one, on_made, &completion);
    rados_sent(r);
    atomic_fetch_add(&r->write_ops, 1);
    result = rados_aio_write_op_operate(op, r->pool, completion, name.text, NULL,
                                        LIBRADOS_OPERATION_FULL_TRY);
    rados_release_write_op(op);
    if (!result)
        return;
    /* Nothing was sent and no completion comes. */
    mem_free(one);
    rados_aio_release(completion);
    rados_answered(r, result);
    place_give(m, id, result < 0 ? result : -EIO);
}

int rados_make(struct ctx *c, struct rados *r, const struct partition_spec *p, size_t count,
               const char *state)
{
    struct making m = {.r = r};

    pthread_mutex_init(&m.lock, NULL);
    pthread_cond_init(&m.ended, NULL);
    for (size_t i = 0; i < count && place_take(&m); i++)
        make_one(&m, p[i].id, state);
    pthread_mutex_lock(&m.lock);
    while (m.under_way)
        pthread_cond_wait(&m.ended, &m.lock);
    pthread_mutex_unlock(&m.lock);
    pthread_cond_destroy(&m.ended);
    pthread_mutex_destroy(&m.lock);
    return m.result ? rados_refuse(c, r, m.result, m.failed, "made") : E_OK;
}

int rados_create_partitions(struct ctx *c, struct engine *e, const struct partition_spec *p,
                            size_t count)
{
    return rados_make(c, PORT_CONTAINER(e, struct rados, base), p, count, RADOS_YES);
}
