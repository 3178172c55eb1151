/* rados_get.c: gets, alone and many in one call. Which operation a get is a part of, perhaps one
 * shared with other reads of the object, rados_gather.c decides. */
#include "engine/rados.h"

#include "base/invariant.h"
#include "engine/rados_omap.h"

struct get_group;

struct get_read {
    struct rados_read read;
    struct rados *r;
    struct ctx *c;
    struct get *g;
    struct get_group *group; /* NULL: it was asked for alone */
};

/* The gets of one call. Freed by whoever ends the last of them, or the submission behind that. */
struct get_group {
    struct get_many *m;
    struct rados *r;
    pthread_mutex_t lock; /* their context, where all have the same */
    _Atomic size_t left;  /* reads that are not answered, and the submission */
    struct get_read *reads;
    struct rados_read **list; /* of those that go to the pool */
    size_t count;
};

int rados_damaged(struct ctx *c, partition_id id)
{
    return fail(c, E_CORRUPT, "Partition %llu holds a key or value of unknown form.",
                (unsigned long long)id);
}

/* Under no lock: a mean needs no more. */
void rados_note_mean(_Atomic uint64_t *at, uint64_t total, uint64_t count)
{
    uint64_t mean = atomic_load_explicit(at, memory_order_relaxed);

    if (count)
        atomic_store_explicit(at, mean ? (7 * mean + total / count) / 8 : total / count,
                              memory_order_relaxed);
}

static int take_value(struct get_read *get, bytes stored)
{
    struct get *g = get->g;
    bytes value;

    if (!stored.ptr)
        return E_OK;
    rados_note_mean(&get->r->value_bytes, stored.len, 1);
    if (!omap_value_decode(stored, &value))
        return rados_damaged(get->c, g->partition);
    TRY(ctx_copy(get->c, value, &g->value));
    g->found = true;
    return E_OK;
}

static void take_answer(struct get_read *get, int result, bytes stored)
{
    struct get *g = get->g;

    g->code = rados_read_code(get->r, result);
    g->durable = true;
    if (!g->code)
        g->code = take_value(get, stored);
}

static void read_init(struct get_read *get, struct rados *r, struct ctx *c, struct get *g)
{
    get->r = r;
    get->c = c;
    get->g = g;
    get->read.id = g->partition;
    get->read.key = omap_key(&c->arena, g->key);
    get->read.size = get->read.key.len + (size_t)atomic_load(&r->value_bytes);
    get->read.alone = g->once;
}

/* ---- one ---- */

static void on_get(struct rados_read *read, int result, bytes stored)
{
    struct get_read *get = PORT_CONTAINER(read, struct get_read, read);
    struct rados *r = get->r;
    struct get *g = get->g;

    take_answer(get, result, stored);
    mem_free(get);
    g->done(g);
    rados_release(r);
}

int rados_get(struct ctx *c, struct engine *e, struct get *g)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct get_read *get;
    int code;

    if (g->view == VIEW_LATEST && rados_pending_get(r, c, g, &code) == PENDING_EDIT)
        return code;
    get = mem_zalloc(sizeof(*get));
    read_init(get, r, c, g);
    get->read.done = on_get;
    rados_hold(r);
    code = rados_read_ask(r, &get->read);
    if (!code)
        return E_LATER;
    mem_free(get);
    rados_release(r);
    return fail(c, rados_read_code(r, code), "The pool did not take a read: error %d.", -code);
}

/* ---- many ---- */

/* True: that was the last one, and the group is gone. */
static bool group_leave(struct get_group *group)
{
    size_t left = atomic_fetch_sub(&group->left, 1);

    invariant(left);
    if (left > 1)
        return false;
    pthread_mutex_destroy(&group->lock);
    mem_free(group->reads);
    mem_free(group->list);
    mem_free(group);
    return true;
}

static void on_group_get(struct rados_read *read, int result, bytes stored)
{
    struct get_read *get = PORT_CONTAINER(read, struct get_read, read);
    struct get_group *group = get->group;
    struct get_many *m = group->m;
    struct rados *r = get->r;

    pthread_mutex_lock(&group->lock);
    take_answer(get, result, stored);
    pthread_mutex_unlock(&group->lock);
    if (group_leave(group)) {
        m->done(m);
        rados_release(r);
    }
}

/* What no batch that is under way answers is to be asked of the pool. All of it before the first
 * operation is sent: from then on the contexts belong to the answers. */
static void group_add(struct get_group *group, struct ctx *c, struct get *g)
{
    struct get_read *get = &group->reads[group->count];

    if (g->view == VIEW_LATEST && rados_pending_get(group->r, c, g, &g->code) == PENDING_EDIT)
        return;
    read_init(get, group->r, c, g);
    get->group = group;
    get->read.done = on_group_get;
    group->list[group->count++] = &get->read;
}

int rados_get_many(struct ctx *c, struct engine *e, struct get_many *m)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    struct get_group *group = mem_zalloc(sizeof(*group));

    (void)c;
    group->m = m;
    group->r = r;
    pthread_mutex_init(&group->lock, NULL);
    group->reads = mem_zalloc((m->count + 1) * sizeof(*group->reads));
    group->list = mem_zalloc((m->count + 1) * sizeof(struct rados_read *));
    for (size_t i = 0; i < m->count; i++)
        group_add(group, get_many_ctx(m, i), &m->gets[i]);
    atomic_init(&group->left, group->count + 1);
    rados_hold(r);
    rados_read_ask_many(r, group->list, group->count);
    if (!group_leave(group))
        return E_LATER;
    rados_release(r);
    return E_OK;
}
