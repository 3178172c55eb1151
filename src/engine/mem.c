/* mem.c: the engine in memory: the reference that tests compare the others with, and the engine of
 * most tests.
 *
 * One skip list of nodes that own copies of key and value, under one mutex. Simple and right comes
 * first: what is applied is at once as durable as it will ever be, so VIEW_DURABLE is VIEW_LATEST,
 * no stalls, and apply() completes before it returns. Nodes are linked backwards on the lowest
 * level, for backward scans.
 *
 * Each batch has a number, and a node that of the batch it is of. While there are snapshots, an
 * edit keeps the node's older versions that one of them shows, and a deleted node stays as one that
 * is gone; nodes with such remains are listed, and cleaned when a snapshot goes. */
#include "engine/backends.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/rng.h"

#include <pthread.h>

#define LEVELS 20

/* What a node held from batch `number` on, until the next newer version. */
struct version {
    bytes value;
    bool gone;
    uint64_t number;
    struct version *older;
};

struct node {
    bytes key; /* in the node, behind next[] */
    struct version now;
    bool listed; /* among those with remains */
    struct node *next_listed;
    struct node *prev; /* NULL: the first */
    int levels;
    struct node *next[];
};

struct mem {
    struct engine base;
    struct clock *clock;
    pthread_mutex_t lock; /* of all below */
    struct node *head;    /* no key; before the first */
    struct node *last;    /* the head if the map is empty */
    struct rng rng;
    uint64_t bytes;
    uint64_t acked;
    uint64_t number; /* of the newest batch */
    uint64_t drawn;  /* the last number given to an edit */
    struct mem_snapshot *snapshots;
    struct node *listed;
};

struct mem_snapshot {
    struct snapshot base;
    int64_t deadline_ms; /* monotonic */
    uint64_t number;     /* it shows the batches up to this one */
    struct mem_snapshot *next, **link;
};

#define NEWEST UINT64_MAX /* the number of no snapshot */

static struct node *node_new(bytes key, int levels)
{
    size_t links = sizeof(struct node *) * (size_t)levels;
    struct node *n = mem_alloc(sizeof(*n) + links + key.len);
    uint8_t *copy = (uint8_t *)n + sizeof(*n) + links;

    if (key.len)
        memcpy(copy, key.ptr, key.len);
    n->key = bytes_of(copy, key.len);
    n->now = (struct version){.value = BYTES_NONE};
    n->listed = false;
    n->next_listed = NULL;
    n->prev = NULL;
    n->levels = levels;
    memset(n->next, 0, links);
    return n;
}

static void node_free(struct node *n)
{
    struct version *older;

    mem_free((void *)n->now.value.ptr);
    for (struct version *v = n->now.older; v; v = older) {
        older = v->older;
        mem_free((void *)v->value.ptr);
        mem_free(v);
    }
    mem_free(n);
}

/* Some snapshot shows what stood from batch `from` on and was replaced by batch `to`. */
static bool is_shown(const struct mem *m, uint64_t from, uint64_t to)
{
    for (const struct mem_snapshot *s = m->snapshots; s; s = s->next)
        if (s->number >= from && s->number < to)
            return true;
    return false;
}

/* Frees the older versions that no snapshot shows. */
static void node_clean(const struct mem *m, struct node *n)
{
    uint64_t to = n->now.number;

    for (struct version **at = &n->now.older; *at;) {
        struct version *v = *at;

        if (is_shown(m, v->number, to)) {
            to = v->number;
            at = &v->older;
            continue;
        }
        *at = v->older;
        mem_free((void *)v->value.ptr);
        mem_free(v);
    }
}

/* What the node holds from now on. */
static void node_set(struct mem *m, struct node *n, uint64_t number, bool gone, bytes value)
{
    void *copy = mem_alloc(value.len);

    if (value.len)
        memcpy(copy, value.ptr, value.len);
    if (is_shown(m, n->now.number, number)) {
        struct version *old = mem_alloc(sizeof(*old));

        *old = n->now;
        n->now.older = old;
    } else {
        mem_free((void *)n->now.value.ptr);
    }
    n->now.value = bytes_of(copy, value.len);
    n->now.number = number;
    n->now.gone = gone;
    node_clean(m, n);
    if (!n->listed && (n->now.older || gone)) {
        n->listed = true;
        n->next_listed = m->listed;
        m->listed = n;
    }
}

/* What the snapshot with this number shows; NULL: nothing. */
static const struct version *node_at(const struct node *n, uint64_t number)
{
    const struct version *v = &n->now;

    while (v && v->number > number)
        v = v->older;
    return v && !v->gone ? v : NULL;
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

static const struct version *mem_find(struct mem *m, bytes key, uint64_t number)
{
    struct node *n = mem_seek(m, key, NULL);

    return n && bytes_equal(n->key, key) ? node_at(n, number) : NULL;
}

static void mem_put(struct mem *m, uint64_t number, bytes key, bytes value)
{
    struct node *before[LEVELS], *n = mem_seek(m, key, before);

    if (!n || !bytes_equal(n->key, key)) {
        int levels = 1;

        while (levels < LEVELS && rng_below(&m->rng, 4) == 0)
            levels++;
        n = node_new(key, levels);
        n->now.number = number;
        n->now.gone = true;
        for (int i = 0; i < levels; i++) {
            n->next[i] = before[i]->next[i];
            before[i]->next[i] = n;
        }
        n->prev = before[0];
        if (n->next[0])
            n->next[0]->prev = n;
        else
            m->last = n;
    }
    m->bytes += (n->now.gone ? key.len : 0) + value.len - n->now.value.len;
    node_set(m, n, number, false, value);
}

static void mem_unlink(struct mem *m, struct node *n)
{
    struct node *before[LEVELS];

    invariant(!n->now.older);
    mem_seek(m, n->key, before);
    invariant(before[0]->next[0] == n);
    for (int i = 0; i < n->levels; i++)
        before[i]->next[i] = n->next[i];
    if (n->next[0])
        n->next[0]->prev = n->prev;
    else
        m->last = n->prev;
    node_free(n);
}

static void mem_delete(struct mem *m, uint64_t number, bytes key)
{
    struct node *n = mem_seek(m, key, NULL);

    if (!n || !bytes_equal(n->key, key) || n->now.gone)
        return;
    invariant(m->bytes >= n->key.len + n->now.value.len);
    m->bytes -= n->key.len + n->now.value.len;
    if (n->listed || is_shown(m, n->now.number, number))
        node_set(m, n, number, true, BYTES_NONE);
    else
        mem_unlink(m, n);
}

/* ---- snapshots */

static int mem_snapshot_take(struct ctx *c, struct engine *e, const struct visit *during,
                             struct snapshot **out)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);
    struct mem_snapshot *s = mem_zalloc(sizeof(*s));
    int64_t most = clock_mono_ms(m->clock) + SNAPSHOT_MS_MAX;

    (void)during; /* there are no visits */
    s->base.engine = e;
    s->deadline_ms = c->deadline_ms && c->deadline_ms < most ? c->deadline_ms : most;
    pthread_mutex_lock(&m->lock);
    s->number = m->number;
    s->link = &m->snapshots;
    s->next = m->snapshots;
    if (s->next)
        s->next->link = &s->next;
    m->snapshots = s;
    pthread_mutex_unlock(&m->lock);
    *out = &s->base;
    return E_OK;
}

/* Frees what no snapshot shows any more. */
static void mem_clean(struct mem *m)
{
    for (struct node **at = &m->listed; *at;) {
        struct node *n = *at;

        node_clean(m, n);
        if (n->now.older) {
            at = &n->next_listed;
            continue;
        }
        *at = n->next_listed;
        n->listed = false;
        if (n->now.gone)
            mem_unlink(m, n);
    }
}

static void mem_snapshot_release(struct snapshot *base)
{
    struct mem_snapshot *s = PORT_CONTAINER(base, struct mem_snapshot, base);
    struct mem *m = PORT_CONTAINER(base->engine, struct mem, base);

    pthread_mutex_lock(&m->lock);
    invariant(*s->link == s);
    *s->link = s->next;
    if (s->next)
        s->next->link = s->link;
    mem_clean(m);
    pthread_mutex_unlock(&m->lock);
    mem_free(s);
}

static const struct snapshot_ops mem_snapshot_ops = {.take = mem_snapshot_take,
                                                     .release = mem_snapshot_release};

/* The number to read at; E_BUSY past the snapshot's end. */
static int read_number(struct ctx *c, const struct mem *m, const struct snapshot *snapshot,
                       uint64_t *out)
{
    const struct mem_snapshot *s;

    *out = NEWEST;
    if (!snapshot)
        return E_OK;
    s = PORT_CONTAINER(snapshot, struct mem_snapshot, base);
    *out = s->number;
    return clock_mono_ms(m->clock) > s->deadline_ms ? fail_code(c, E_BUSY) : E_OK;
}

static int mem_open(struct ctx *c, const struct engine_conf *conf, struct engine **out)
{
    struct mem *m = mem_zalloc(sizeof(*m));

    (void)c;
    m->base.ops = &engine_mem;
    m->clock = conf->clock;
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

static int mem_erase(struct ctx *c, struct engine *e, const struct partition_spec *p)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);

    (void)c;
    pthread_mutex_lock(&m->lock);
    m->number++;
    for (size_t i = 0; i < p->range_count; i++) {
        const struct key_range *range = &p->ranges[i];
        struct node *n = mem_seek(m, range->start, NULL), *next;

        for (; n && (!range->end.len || bytes_compare(n->key, range->end) < 0); n = next) {
            next = n->next[0];
            mem_delete(m, m->number, n->key);
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
    mem_put(m, 0, key, value); /* every snapshot sees it */
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
    const struct version *v;
    uint64_t number;
    int code = E_OK;

    TRY(read_number(c, m, g->snapshot, &number));
    pthread_mutex_lock(&m->lock);
    v = mem_find(m, g->key, number);
    if (v) {
        code = ctx_copy(c, v->value, &g->value);
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

/* The first node from n on that is in the range and shows something; NULL: there is none. */
static struct node *walk_shown(struct mem *m, struct node *n, const struct key_range *range,
                               bool backward, uint64_t number)
{
    while (n && in_range(n->key, range) && !node_at(n, number))
        n = walk_next(m, n, backward);
    return n && in_range(n->key, range) ? n : NULL;
}

static int mem_scan_range(struct ctx *c, struct mem *m, const struct scan *s,
                          const struct key_range *range, uint64_t number, struct page *page)
{
    struct node *first =
        walk_shown(m, walk_first(m, range, s->backward), range, s->backward, number);
    struct node *n;
    size_t count = 0, total = 0;

    /* Twice through, so that the array of items need not grow. */
    for (n = first; n;
         n = walk_shown(m, walk_next(m, n, s->backward), range, s->backward, number)) {
        if (count == s->items_max || (count && total > s->bytes_max)) {
            page->more = true;
            break;
        }
        count++;
        total += n->key.len + node_at(n, number)->value.len;
    }
    if (!count)
        return E_OK;
    page->items = arena_try_alloc(&c->arena, sizeof(*page->items) * count);
    if (!page->items)
        return fail_code(c, E_MEMORY);
    page->bytes = total;
    for (n = first; page->count < count;
         n = walk_shown(m, walk_next(m, n, s->backward), range, s->backward, number)) {
        TRY(ctx_copy(c, n->key, &page->items[page->count].key));
        TRY(ctx_copy(c, node_at(n, number)->value, &page->items[page->count].value));
        page->count++;
    }
    return E_OK;
}

static int mem_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);
    uint64_t number;
    int code = E_OK;

    TRY(read_number(c, m, s->snapshot, &number));
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < s->range_count && code == E_OK; i++)
        code = mem_scan_range(c, m, s, &s->ranges[i], number, &s->pages[i]);
    pthread_mutex_unlock(&m->lock);
    return code;
}

static bool guards_hold(struct mem *m, const struct write_batch *b)
{
    for (size_t i = 0; i < b->guard_count; i++) {
        const struct guard *g = &b->guards[i];
        const struct version *v = mem_find(m, g->key, NEWEST);

        if (g->absent ? v != NULL : !v || !bytes_equal(v->value, g->value))
            return false;
    }
    return true;
}

/* Puts behind all that was numbered before. */
static void mem_put_numbered(struct mem *m, const struct edit *edit)
{
    uint8_t *key = mem_alloc(edit->key.len + NUMBER_BYTES);

    memcpy(key, edit->key.ptr, edit->key.len);
    m->drawn = number_after(m->drawn, m->clock);
    store_u64_be(key + edit->key.len, m->drawn);
    mem_put(m, m->number, bytes_of(key, edit->key.len + NUMBER_BYTES), edit->value);
    mem_free(key);
}

static void mem_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                      void *arg)
{
    struct mem *m = PORT_CONTAINER(e, struct mem, base);
    bool ok;

    (void)c;
    pthread_mutex_lock(&m->lock);
    ok = guards_hold(m, b);
    m->number += ok;
    for (size_t i = 0; ok && i < b->edit_count; i++) {
        const struct edit *edit = &b->edits[i];

        if (edit->type == EDIT_PUT)
            mem_put(m, m->number, edit->key, edit->value);
        else if (edit->type == EDIT_PUT_NUMBERED)
            mem_put_numbered(m, edit);
        else
            mem_delete(m, m->number, edit->key);
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
            if (!at->now.gone)
                *out += at->key.len + at->now.value.len;
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
    .snapshots = &mem_snapshot_ops,
    .numbers = true,
    .open = mem_open,
    .close = mem_close,
    .erase = mem_erase,
    .bulk = mem_bulk,
    .get = mem_get,
    .scan = mem_scan,
    .apply = mem_apply,
    .size = mem_size,
    .stat = mem_stat,
};
