/* mem.c: the engine in memory: the reference that tests compare the others with, and the engine of
 * most tests.
 *
 * One skip list of nodes that own copies of key and value, under one mutex. Simple and right comes
 * first: no views (what is applied is at once as durable as it will ever be, so VIEW_DURABLE is
 * VIEW_LATEST), no stalls, and apply() completes before it returns. Nodes are linked backwards on
 * the lowest level, for backward scans. */
#include "engine/backends.h"

#include "base/rng.h"

#include <pthread.h>

#define LEVELS 20

struct node {
    bytes key; /* in the node, behind next[] */
    bytes value;
    struct node *prev; /* NULL: the first */
    int levels;
    struct node *next[];
};

struct mem {
    struct engine base;
    pthread_mutex_t lock; /* of all below */
    struct node *head;    /* no key; before the first */
    struct node *last;    /* the head if the map is empty */
    struct rng rng;
    uint64_t bytes;
    uint64_t acked;
};

static struct node *node_new(bytes key, int levels)
{
    size_t links = sizeof(struct node *) * (size_t)levels;
    struct node *n = mem_alloc(sizeof(*n) + links + key.len);
    uint8_t *copy = (uint8_t *)n + sizeof(*n) + links;

    if (key.len)
        memcpy(copy, key.ptr, key.len);
    n->key = bytes_of(copy, key.len);
    n->value = BYTES_NONE;
    n->prev = NULL;
    n->levels = levels;
    memset(n->next, 0, links);
    return n;
}

static void node_free(struct node *n)
{
    mem_free((void *)n->value.ptr);
    mem_free(n);
}

static void node_set(struct node *n, bytes value)
{
    void *copy = mem_alloc(value.len);

    if (value.len)
        memcpy(copy, value.ptr, value.len);
    mem_free((void *)n->value.ptr);
    n->value = bytes_of(copy, value.len);
}

/* The last node of each level that sorts before key, into before[], and the first one that does
 * not. */
static struct node *mem_seek(struct mem *m, bytes key, struct node **before)
{
    struct node *n = m->head;

    for (int i = LEVELS - 1; i >= 0; i--) {
        while (n->next[i] && bytes_compare(n->next[i]->key, key) < 0)
            n = n->next[i];
        if (before)
            before[i] = n;
    }
    return n->next[0];
}

static struct node *mem_find(struct mem *m, bytes key)
{
    struct node *n = mem_seek(m, key, NULL);

    return n && bytes_equal(n->key, key) ? n : NULL;
}

static void mem_put(struct mem *m, bytes key, bytes value)
{
    struct node *before[LEVELS], *n = mem_seek(m, key, before);

    if (!n || !bytes_equal(n->key, key)) {
        int levels = 1;

        while (levels < LEVELS && rng_below(&m->rng, 4) == 0)
            levels++;
        n = node_new(key, levels);
        for (int i = 0; i < levels; i++) {
            n->next[i] = before[i]->next[i];
            before[i]->next[i] = n;
        }
        n->prev = before[0];
        if (n->next[0])
            n->next[0]->prev = n;
        else
            m->last = n;
        m->bytes += key.len;
    }
    m->bytes += value.len - n->value.len;
    node_set(n, value);
}

static void mem_delete(struct mem *m, bytes key)
{
    struct node *before[LEVELS], *n = mem_seek(m, key, before);

    if (!n || !bytes_equal(n->key, key))
        return;
    for (int i = 0; i < n->levels; i++)
        before[i]->next[i] = n->next[i];
    if (n->next[0])
        n->next[0]->prev = n->prev;
    else
        m->last = n->prev;
    m->bytes -= n->key.len + n->value.len;
    node_free(n);
}

static int mem_open(struct ctx *c, const struct engine_conf *conf, struct engine **out)
{
    struct mem *m = mem_zalloc(sizeof(*m));

    (void)c;
    (void)conf;
    m->base.ops = &engine_mem;
    pthread_mutex_init(&m->lock, NULL);
    m->head = node_new(BYTES_NONE, LEVELS);
    m->last = m->head;
    rng_init(&m->rng, 1); /* chance shapes the list only; the same shape each run is welcome */
    *out = &m->base;
    return E_OK;
}

static void mem_close(struct engine *e)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);
    struct node *next;

    for (struct node *n = m->head; n; n = next) {
        next = n->next[0];
        node_free(n);
    }
    pthread_mutex_destroy(&m->lock);
    mem_free(m);
}

static int mem_drop(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);

    (void)c;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < p->range_count; i++) {
        const struct key_range *range = &p->ranges[i];
        struct node *n = mem_seek(m, range->start, NULL), *next;

        for (; n && (!range->end.len || bytes_compare(n->key, range->end) < 0); n = next) {
            next = n->next[0];
            mem_delete(m, n->key);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return E_OK;
}

/* ---- bulk: as good as plain puts here */

struct mem_bulk {
    struct bulk base;
    struct mem *mem;
};

static int mem_bulk_put(struct ctx *c, struct bulk *bulk, bytes key, bytes value)
{
    struct mem *m = PORT_CONTAINER(bulk, struct mem_bulk, base)->mem;

    (void)c;
    pthread_mutex_lock(&m->lock);
    mem_put(m, key, value);
    pthread_mutex_unlock(&m->lock);
    return E_OK;
}

static int mem_bulk_finish(struct ctx *c, struct bulk *bulk)
{
    (void)c;
    (void)bulk;
    return E_OK;
}

static void mem_bulk_close(struct bulk *bulk)
{
    mem_free(PORT_CONTAINER(bulk, struct mem_bulk, base));
}

static const struct bulk_ops mem_bulk_ops = {
    .put = mem_bulk_put, .finish = mem_bulk_finish, .close = mem_bulk_close};

static int mem_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out)
{
    struct mem_bulk *b = mem_zalloc(sizeof(*b));

    (void)c;
    (void)partition;
    b->base.ops = &mem_bulk_ops;
    b->mem = PORT_CONTAINER(e, struct mem, base);
    *out = &b->base;
    return E_OK;
}

static int mem_get(struct ctx *c, struct engine *e, struct get *g)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);
    struct node *n;
    int code = E_OK;

    pthread_mutex_lock(&m->lock);
    n = mem_find(m, g->key);
    if (n) {
        code = ctx_copy(c, n->value, &g->value);
        g->found = code == E_OK;
    }
    pthread_mutex_unlock(&m->lock);
    return code;
}

/* The first node of a walk through range, or NULL. */
static struct node *walk_first(struct mem *m, const struct key_range *range, bool backward)
{
    struct node *n;

    if (!backward)
        return mem_seek(m, range->start, NULL);
    if (!range->end.len)
        return m->last == m->head ? NULL : m->last;
    n = mem_seek(m, range->end, NULL);
    n = n ? n->prev : m->last;
    return n == m->head ? NULL : n;
}

static struct node *walk_next(struct mem *m, struct node *n, bool backward)
{
    n = backward ? n->prev : n->next[0];
    return n == m->head ? NULL : n;
}

static bool in_range(bytes key, const struct key_range *range)
{
    return bytes_compare(key, range->start) >= 0 &&
           (!range->end.len || bytes_compare(key, range->end) < 0);
}

static int mem_scan_range(struct ctx *c, struct mem *m, const struct scan *s,
                          const struct key_range *range, struct page *page)
{
    struct node *first = walk_first(m, range, s->backward), *n;
    size_t count = 0, total = 0;

    /* Twice through, so that the array of items need not grow. */
    for (n = first; n && in_range(n->key, range); n = walk_next(m, n, s->backward)) {
        if (count == s->items_max || (count && total > s->bytes_max)) {
            page->more = true;
            break;
        }
        count++;
        total += n->key.len + n->value.len;
    }
    if (!count)
        return E_OK;
    page->items = ARENA_ARRAY(&c->arena, struct kv, count);
    page->bytes = total;
    for (n = first; page->count < count; n = walk_next(m, n, s->backward)) {
        TRY(ctx_copy(c, n->key, &page->items[page->count].key));
        TRY(ctx_copy(c, n->value, &page->items[page->count].value));
        page->count++;
    }
    return E_OK;
}

static int mem_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);
    int code = E_OK;

    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < s->range_count && code == E_OK; i++)
        code = mem_scan_range(c, m, s, &s->ranges[i], &s->pages[i]);
    pthread_mutex_unlock(&m->lock);
    return code;
}

static bool guards_hold(struct mem *m, const struct batch *b)
{
    for (size_t i = 0; i < b->guard_count; i++) {
        const struct guard *g = &b->guards[i];
        struct node *n = mem_find(m, g->key);

        if (g->absent ? n != NULL : !n || !bytes_equal(n->value, g->value))
            return false;
    }
    return true;
}

static void mem_apply(struct ctx *c, struct engine *e, const struct batch *b, apply_done done,
                      void *arg)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);
    bool ok;

    (void)c;
    pthread_mutex_lock(&m->lock);
    ok = guards_hold(m, b);
    for (size_t i = 0; ok && i < b->edit_count; i++) {
        const struct edit *edit = &b->edits[i];

        if (edit->type == EDIT_PUT)
            mem_put(m, edit->key, edit->value);
        else
            mem_delete(m, edit->key);
    }
    m->acked += ok;
    pthread_mutex_unlock(&m->lock);
    done(arg, ok ? E_OK : E_GUARD);
}

static int mem_size(struct ctx *c, struct engine *e, const struct partition_spec *p, uint64_t *out)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);

    (void)c;
    *out = 0;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < p->range_count; i++)
        for (struct node *at = mem_seek(m, p->ranges[i].start, NULL);
             at && in_range(at->key, &p->ranges[i]); at = at->next[0])
            *out += at->key.len + at->value.len;
    pthread_mutex_unlock(&m->lock);
    return E_OK;
}

static void mem_stat(struct engine *e, struct engine_stat *out)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);

    pthread_mutex_lock(&m->lock);
    out->writable = true;
    out->acked = m->acked;
    out->bytes_stored = m->bytes;
    pthread_mutex_unlock(&m->lock);
}

const struct engine_ops engine_mem = {
    .name = "mem",
    .caps = ENGINE_ONE_MAP | ENGINE_SOLE_WRITER,
    .open = mem_open,
    .close = mem_close,
    .drop = mem_drop,
    .erase = mem_drop,
    .bulk = mem_bulk,
    .get = mem_get,
    .scan = mem_scan,
    .apply = mem_apply,
    .size = mem_size,
    .stat = mem_stat,
};
