/* rados_write.c: batches on their way into the pool.
 *
 * Each partition that is written to has a lane: a queue of batches, and the one operation that is
 * under way for it. An operation with comparisons has its object for itself, so a second one would
 * only wait in the OSD; what comes in the meantime goes out together in the next operation, which
 * lands whole or not at all. That is why many writers of one partition cost few operations.
 *
 *   - Within one operation, a guard on a key that an earlier batch of the same operation edits is
 *     decided here; all others become comparisons. If one of these fails, the OSD names it, its
 *     batch is told E_GUARD, and the others go out again, decided anew.
 *   - With a batch that is refused go all in the lane that were decided on what it would have
 *     written, and on what those would have. One by one, each would cost an operation, and whoever
 *     is told E_GUARD decides again on the next of them: on a busy row that never ends. They are
 *     found under the lock, so only among as many as an operation holds; others that rest on them
 *     fail their own comparisons later, and take with them those behind.
 *   - The last edit to a key wins, so each key stands once in the operation.
 *   - A read at VIEW_LATEST is answered from the lane where an edit of its key is under way. What
 * it shows may yet fail; whoever decides on it guards it.
 *   - What was decided by a description of a table that may be old by now (struct lease) is not
 * sent any more; what was sent may arrive late.
 *   - The submitting thread, or the thread of the completion before, sends; building an operation
 *     happens outside the lock, on batches that nobody else touches. */
#include "engine/rados.h"

#include "base/invariant.h"
#include "engine/rados_omap.h"

#include <errno.h>

#define OP_BYTES_MAX (8u << 20)
#define OP_EDITS_MAX 8000
/* osd_max_write_size is 90 MiB unless somebody lowered it; a batch past this is refused here. */
#define BATCH_BYTES_MAX (84u << 20)
#define EDIT_COST 64 /* of an edit besides its bytes, in op bytes */

struct parked {
    void (*run)(void *arg);
    void *arg;
    struct parked *next;
};

struct pending {
    struct write_batch batch; /* what it points to stays with who asked for it */
    apply_done done;
    void *arg;
    struct pending *next;
    size_t bytes;
    int code; /* decided already: not E_OK */
    struct parked *parked;
};

struct lane {
    partition_id id;
    struct lane *next; /* in the hash chain */
    struct pending *waiting, **waiting_end;
    struct pending *flying;
    bool busy; /* an operation is under way or being built */
};

/* One operation. */
struct shipment {
    struct rados *r;
    struct lane *lane;
    struct pending *list;
    struct arena arena;
    rados_write_op_t op;
    rados_completion_t completion;
    int *results; /* of the comparisons */
    struct pending **owners;
    size_t guard_count;
    const struct edit **slots; /* hash table: the last edit to each key so far */
    size_t slot_count;         /* a power of two */
    size_t edit_count;
    size_t bytes; /* of the keys and values of its edits */
};

static void lane_run(struct rados *r, struct lane *l);

/* ---- lanes; under the lock ---- */

static struct lane **lane_slot(struct rados *r, partition_id id)
{
    struct lane **at = &r->lanes[(id ^ id >> 17) & (RADOS_LANES - 1)];

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static struct lane *lane_get(struct rados *r, partition_id id)
{
    struct lane **at = lane_slot(r, id);

    if (!*at) {
        *at = mem_zalloc(sizeof(**at));
        (*at)->id = id;
        (*at)->waiting_end = &(*at)->waiting;
    }
    return *at;
}

static void lane_put(struct rados *r, struct lane *l)
{
    struct lane **at = lane_slot(r, l->id);

    invariant(*at == l && !l->busy && !l->waiting && !l->flying);
    *at = l->next;
    mem_free(l);
}

/* ---- what is under way, for reads at VIEW_LATEST ---- */

static const struct edit *edit_of(const struct pending *list, bytes key)
{
    const struct edit *hit = NULL;

    for (const struct pending *p = list; p; p = p->next) {
        const struct write_batch *b = &p->batch;

        for (size_t i = b->edit_count; i-- > 0;)
            if (bytes_equal(b->edits[i].key, key)) {
                hit = &b->edits[i];
                break;
            }
    }
    return hit;
}

enum pending_state rados_pending_get(struct rados *r, struct ctx *c, struct get *g, int *code)
{
    enum pending_state state = PENDING_NONE;
    const struct edit *hit = NULL;
    struct lane *l;

    pthread_mutex_lock(&r->lock);
    l = *lane_slot(r, g->partition);
    if (l) {
        hit = edit_of(l->waiting, g->key);
        if (!hit)
            hit = edit_of(l->flying, g->key);
    }
    if (hit) {
        state = PENDING_EDIT;
        *code = E_OK;
        g->found = hit->type == EDIT_PUT;
        if (g->found) {
            void *copy = arena_try_alloc(&c->arena, hit->value.len ? hit->value.len : 1);

            if (copy && hit->value.len)
                memcpy(copy, hit->value.ptr, hit->value.len);
            g->value = bytes_of(copy, hit->value.len);
            *code = copy ? E_OK : fail_code(c, E_MEMORY);
            g->found = copy != NULL;
        }
    }
    pthread_mutex_unlock(&r->lock);
    return state;
}

static bool batch_meets(const struct write_batch *b, const struct scan *s)
{
    for (size_t i = 0; i < b->edit_count; i++)
        for (size_t k = 0; k < s->range_count; k++)
            if (bytes_compare(b->edits[i].key, s->ranges[k].start) >= 0 &&
                (!s->ranges[k].end.len || bytes_compare(b->edits[i].key, s->ranges[k].end) < 0))
                return true;
    return false;
}

enum pending_state rados_pending_scan(struct rados *r, const struct scan *s, void (*run)(void *arg),
                                      void *arg)
{
    struct pending *last = NULL;
    struct parked *parked;
    struct lane *l;

    pthread_mutex_lock(&r->lock);
    l = *lane_slot(r, s->partition);
    for (struct pending *p = l ? l->flying : NULL; p; p = p->next)
        if (batch_meets(&p->batch, s))
            last = p;
    for (struct pending *p = l ? l->waiting : NULL; p; p = p->next)
        if (batch_meets(&p->batch, s))
            last = p;
    if (last) {
        parked = mem_alloc(sizeof(*parked));
        *parked = (struct parked){run, arg, last->parked};
        last->parked = parked;
    }
    pthread_mutex_unlock(&r->lock);
    return last ? PENDING_WAITS : PENDING_NONE;
}

/* ---- the end of batches ---- */

/* `code` for those that have none of their own. Not under the lock. */
static void finish(struct rados *r, struct pending *list, int code)
{
    struct pending *next;

    for (struct pending *p = list; p; p = next) {
        struct parked *parked = p->parked, *after;
        int own = p->code ? p->code : code;

        next = p->next;
        if (own == E_OK)
            atomic_fetch_add(&r->acked, 1);
        pthread_mutex_lock(&r->lock);
        invariant(r->pending_bytes >= p->bytes);
        r->pending_bytes -= p->bytes;
        pthread_mutex_unlock(&r->lock);
        p->done(p->arg, own);
        mem_free(p);
        for (; parked; parked = after) {
            after = parked->next;
            parked->run(parked->arg);
            mem_free(parked);
        }
        rados_release(r);
    }
}

/* ---- building an operation ---- */

static uint64_t hash_key(bytes key)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < key.len; i++)
        h = (h ^ bytes_u8(key)[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

static const struct edit **edit_slot(struct shipment *s, bytes key)
{
    size_t at = hash_key(key) & (s->slot_count - 1);

    while (s->slots[at] && !bytes_equal(s->slots[at]->key, key))
        at = (at + 1) & (s->slot_count - 1);
    return &s->slots[at];
}

static void compare(struct shipment *s, struct pending *p, bytes key, uint8_t op, bytes value)
{
    s->owners[s->guard_count] = p;
    rados_write_op_omap_cmp2(s->op, key.ptr, op, value.ptr, key.len, value.len,
                             &s->results[s->guard_count]);
    s->guard_count++;
}

static void add_guard(struct shipment *s, struct pending *p, const struct guard *g)
{
    const struct edit *edit = *edit_slot(s, g->key);
    struct arena *a = &s->arena;
    bytes key, low, high;

    if (edit) {
        bool holds = g->absent ? edit->type == EDIT_DELETE
                               : edit->type == EDIT_PUT && bytes_equal(edit->value, g->value);

        if (!holds)
            p->code = E_GUARD;
        return;
    }
    key = omap_key(a, g->key);
    if (g->absent) {
        compare(s, p, key, LIBRADOS_CMPXATTR_OP_EQ, BYTES_LIT(""));
    } else if (g->value.len < OMAP_HASH_MIN) {
        compare(s, p, key, LIBRADOS_CMPXATTR_OP_EQ, omap_value(a, g->value));
    } else {
        omap_hash_bounds(a, g->value, &low, &high);
        compare(s, p, key, LIBRADOS_CMPXATTR_OP_GT, low);
        compare(s, p, key, LIBRADOS_CMPXATTR_OP_LT, high);
    }
}

static void add_batch(struct shipment *s, struct pending *p)
{
    const struct write_batch *b = &p->batch;

    for (size_t i = 0; i < b->guard_count && !p->code; i++)
        add_guard(s, p, &b->guards[i]);
    if (p->code)
        return;
    for (size_t i = 0; i < b->edit_count; i++) {
        const struct edit **slot = edit_slot(s, b->edits[i].key);

        s->edit_count += !*slot;
        *slot = &b->edits[i];
    }
}

static void add_edits(struct shipment *s)
{
    struct arena *a = &s->arena;
    const char **put_keys = ARENA_ARRAY(a, const char *, s->edit_count + 1);
    const char **values = ARENA_ARRAY(a, const char *, s->edit_count + 1);
    const char **gone_keys = ARENA_ARRAY(a, const char *, s->edit_count + 1);
    size_t *put_lens = ARENA_ARRAY(a, size_t, s->edit_count + 1);
    size_t *value_lens = ARENA_ARRAY(a, size_t, s->edit_count + 1);
    size_t *gone_lens = ARENA_ARRAY(a, size_t, s->edit_count + 1);
    size_t puts = 0, gone = 0;

    for (size_t i = 0; i < s->slot_count; i++) {
        const struct edit *edit = s->slots[i];
        bytes key, value;

        if (!edit)
            continue;
        key = omap_key(a, edit->key);
        if (edit->type == EDIT_PUT) {
            value = omap_value(a, edit->value);
            put_keys[puts] = key.ptr;
            put_lens[puts] = key.len;
            values[puts] = value.ptr;
            value_lens[puts++] = value.len;
            s->bytes += key.len + value.len;
        } else {
            s->bytes += key.len;
            gone_keys[gone] = key.ptr;
            gone_lens[gone++] = key.len;
        }
    }
    invariant(puts + gone == s->edit_count);
    if (gone)
        rados_write_op_omap_rm_keys2(s->op, gone_keys, gone_lens, gone);
    if (puts)
        rados_write_op_omap_set2(s->op, put_keys, values, put_lens, value_lens, puts);
}

static struct shipment *shipment_new(struct rados *r, struct lane *l, struct pending *list)
{
    struct shipment *s = mem_zalloc(sizeof(*s));
    size_t guards = 0, edits = 0;

    s->r = r;
    s->lane = l;
    s->list = list;
    arena_init(&s->arena, NULL, 0);
    for (struct pending *p = list; p; p = p->next) {
        guards += p->batch.guard_count;
        edits += p->batch.edit_count;
    }
    for (s->slot_count = 8; s->slot_count < 2 * edits;)
        s->slot_count *= 2;
    s->slots = ARENA_ARRAY(&s->arena, const struct edit *, s->slot_count);
    s->results = ARENA_ARRAY(&s->arena, int, 2 * guards + 1);
    s->owners = ARENA_ARRAY(&s->arena, struct pending *, 2 * guards + 1);
    s->op = rados_create_write_op();
    rados_expect(s->op, RADOS_WRITES, RADOS_YES);
    for (struct pending *p = list; p; p = p->next)
        add_batch(s, p);
    invariant(s->guard_count <= 2 * guards && s->edit_count <= edits);
    add_edits(s);
    return s;
}

static void shipment_free(struct shipment *s)
{
    rados_release_write_op(s->op);
    arena_release(&s->arena);
    mem_free(s);
}

/* ---- answers ---- */

/* The batch whose comparison failed, or NULL: the object itself refused. */
static struct pending *failed_guard(struct shipment *s)
{
    for (size_t i = 0; i < s->guard_count; i++)
        if (s->results[i] < 0)
            return s->owners[i];
    return NULL;
}

/* Keys that somebody who is refused would have written last: a hash table of edits. */
struct doom {
    struct doomed {
        const struct edit *edit;
        bool is; /* else somebody else wrote the key behind it */
    } * slots;
    size_t slot_count; /* a power of two */
};

static struct doomed *doom_find(struct doom *d, bytes key)
{
    size_t at = hash_key(key) & (d->slot_count - 1);

    while (d->slots[at].edit && !bytes_equal(d->slots[at].edit->key, key))
        at = (at + 1) & (d->slot_count - 1);
    return &d->slots[at];
}

/* The next batch in the lane's order: is it refused too? */
static bool doom_takes(struct doom *d, const struct write_batch *b, bool refused)
{
    for (size_t i = 0; i < b->guard_count && !refused; i++)
        refused = doom_find(d, b->guards[i].key)->is;
    for (size_t i = 0; i < b->edit_count; i++) {
        struct doomed *at = doom_find(d, b->edits[i].key);

        if (refused)
            at->edit = &b->edits[i];
        at->is = refused;
    }
    return refused;
}

/* As much of a list as one operation may hold, and one batch at least: where the rest begins. */
static struct pending **cut_list(struct pending **list)
{
    size_t total = 0, edits = 0;
    struct pending **at;

    for (at = list; *at; at = &(*at)->next) {
        total += (*at)->bytes;
        edits += (*at)->batch.edit_count + (*at)->batch.guard_count;
        if (at != list && (total > OP_BYTES_MAX || edits > OP_EDITS_MAX))
            break;
    }
    return at;
}

/* Takes `failed` and those before `stop` that rest on it off the list: what is told now, in
 * order. */
static struct pending *take_doomed(struct pending **list, const struct pending *failed,
                                   const struct pending *stop)
{
    struct doom d = {.slot_count = 8};
    struct pending *taken = NULL, **end = &taken;
    size_t edits = 0;

    for (const struct pending *p = failed; p != stop; p = p->next)
        edits += p->batch.edit_count;
    while (d.slot_count < 2 * edits)
        d.slot_count *= 2;
    d.slots = mem_zalloc(d.slot_count * sizeof(*d.slots));
    while (*list != failed)
        list = &(*list)->next;
    while (*list != stop) {
        struct pending *p = *list;

        if (!doom_takes(&d, &p->batch, p == failed)) {
            list = &p->next;
            continue;
        }
        *list = p->next;
        p->next = NULL;
        p->code = E_GUARD;
        *end = p;
        end = &p->next;
    }
    mem_free(d.slots);
    return taken;
}

/* Takes the batches off the lane that are told now; the rest goes back in front. */
static struct pending *take_failed(struct rados *r, struct lane *l, struct pending *failed)
{
    struct pending **at, *stop, *taken;

    pthread_mutex_lock(&r->lock);
    invariant(l->busy && l->flying);
    for (struct pending *p = l->flying; p; p = p->next)
        p->code = E_OK; /* what was decided here rested on batches that did not land */
    for (at = &l->flying; *at;)
        at = &(*at)->next;
    stop = *cut_list(&l->waiting);
    *at = l->waiting;
    taken = take_doomed(&l->flying, failed, stop);
    l->waiting = l->flying;
    l->flying = NULL;
    if (!stop) { /* else the end is as it was */
        for (at = &l->waiting; *at;)
            at = &(*at)->next;
        l->waiting_end = at;
    }
    invariant(taken && taken->code == E_GUARD);
    pthread_mutex_unlock(&r->lock);
    return taken;
}

static struct pending *take_all(struct rados *r, struct lane *l)
{
    struct pending *list;

    pthread_mutex_lock(&r->lock);
    invariant(l->busy);
    list = l->flying;
    l->flying = NULL;
    pthread_mutex_unlock(&r->lock);
    return list;
}

static void settle(struct shipment *s, int result)
{
    struct rados *r = s->r;
    struct lane *l = s->lane;
    struct pending *failed = result == -ECANCELED ? failed_guard(s) : NULL, *list;
    int code = E_GUARD;

    if (failed) {
        list = take_failed(r, l, failed);
    } else {
        code = rados_write_code(r, result);
        list = take_all(r, l);
        if (code)
            for (struct pending *p = list; p; p = p->next)
                p->code = E_OK; /* as above; one code for all */
    }
    shipment_free(s);
    finish(r, list, code);
    lane_run(r, l);
}

static void on_written(rados_completion_t completion, void *arg)
{
    struct shipment *s = arg;
    struct rados *r = s->r;
    int result = rados_aio_get_return_value(completion);

    rados_aio_release(completion);
    rados_answered(r, result);
    settle(s, result);
    rados_release(r);
}

/* ---- sending ---- */

static bool is_outdated(const struct write_batch *b, int64_t now_ms)
{
    const struct lease *lease = b->lease;

    return lease &&
           (atomic_load(&lease->lost) != b->lease_lost || now_ms >= atomic_load(&lease->until_ms));
}

/* Takes those off the list that were made by what is known no more: this process was paused, or
 * they have waited for too long. */
static struct pending *take_outdated(struct rados *r, struct pending **list)
{
    struct pending *taken = NULL, **end = &taken;
    int64_t now_ms = clock_mono_ms(r->clock);

    while (*list) {
        struct pending *p = *list;

        if (!is_outdated(&p->batch, now_ms)) {
            list = &p->next;
            continue;
        }
        *list = p->next;
        p->next = NULL;
        *end = p;
        end = &p->next;
    }
    return taken;
}

/* Cuts what goes out next off the lane's queue, into `flying` (none if all are told E_BUSY). False:
 * nothing, and an idle lane is gone. */
static bool lane_load(struct rados *r, struct lane *l)
{
    struct pending **at, *outdated;

    pthread_mutex_lock(&r->lock);
    invariant(l->busy && !l->flying); /* one operation at a time */
    l->busy = l->waiting != NULL;
    if (!l->busy) {
        lane_put(r, l);
        pthread_mutex_unlock(&r->lock);
        return false;
    }
    at = cut_list(&l->waiting);
    l->flying = l->waiting;
    l->waiting = *at;
    if (!*at)
        l->waiting_end = &l->waiting;
    *at = NULL;
    outdated = take_outdated(r, &l->flying);
    pthread_mutex_unlock(&r->lock);
    finish(r, outdated, E_BUSY);
    return true;
}

/* Sends the next operation of an idle lane, if anything waits. Whoever calls has set `busy`. */
static void lane_run(struct rados *r, struct lane *l)
{
    while (lane_load(r, l)) {
        struct shipment *s = shipment_new(r, l, l->flying);
        struct rados_name name = rados_name(l->id);
        int result;

        if (!s->guard_count && !s->edit_count) {
            struct pending *list = take_all(r, l);

            shipment_free(s);
            finish(r, list, E_OK);
            continue;
        }
        rados_aio_create_completion2(s, on_written, &s->completion);
        rados_hold(r);
        rados_sent(r);
        atomic_fetch_add(&r->write_ops, 1);
        atomic_fetch_add(&r->written_bytes, s->bytes);
        result = rados_aio_write_op_operate(s->op, r->pool, s->completion, name.text, NULL,
                                            LIBRADOS_OPERATION_FULL_TRY);
        if (!result)
            return;
        /* Nothing was sent and no completion comes. */
        rados_aio_release(s->completion);
        rados_answered(r, result);
        settle(s, result);
        rados_release(r);
        return;
    }
}

static size_t batch_bytes(const struct write_batch *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->edit_count; i++)
        n += b->edits[i].key.len + b->edits[i].value.len + EDIT_COST;
    for (size_t i = 0; i < b->guard_count; i++)
        n += b->guards[i].key.len + EDIT_COST;
    return n;
}

void rados_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                 void *arg)
{
    struct rados *r = PORT_CONTAINER(e, struct rados, base);
    size_t size = batch_bytes(b);
    struct pending *p;
    struct lane *l;
    bool run;

    (void)c;
    if (size > BATCH_BYTES_MAX) {
        done(arg, E_MEMORY);
        return;
    }
    rados_room_look(r);
    if (rados_is_full(r) && write_batch_grows(b)) {
        done(arg, E_NO_SPACE);
        return;
    }
    pthread_mutex_lock(&r->lock);
    if (r->pending_bytes && r->pending_bytes + size > r->pending_bytes_max) {
        pthread_mutex_unlock(&r->lock);
        atomic_fetch_add(&r->refused_busy, 1);
        done(arg, E_BUSY);
        return;
    }
    p = mem_zalloc(sizeof(*p));
    p->batch = *b;
    p->done = done;
    p->arg = arg;
    p->bytes = size;
    l = lane_get(r, b->partition);
    invariant(!*l->waiting_end && (l->busy || !l->waiting));
    *l->waiting_end = p;
    l->waiting_end = &p->next;
    r->pending_bytes += size;
    r->under_way++;
    run = !l->busy;
    l->busy = true;
    pthread_mutex_unlock(&r->lock);
    if (run)
        lane_run(r, l);
}
