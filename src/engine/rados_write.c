/* rados_write.c: batches on their way into the pool.
 *
 * Each partition that is written to has a queue of batches, and one operation at most that is under
 * way for it. An operation with comparisons has its object for itself, so a second one would
 * only wait in the OSD; what comes in the meantime goes out together in the next operation, which
 * lands whole or not at all. That is why many writers of one partition cost few operations.
 *
 *   - Within one operation, a guard on a key that an earlier batch of the same operation edits is
 *     decided here; all others become comparisons. If one of these fails, the OSD names it, its
 *     batch is told E_GUARD, and the others go out again, decided anew.
 *   - With a batch that is refused go all in the queue that were decided on what it would have
 *     written, and on what those would have. One by one, each would cost an operation, and whoever
 *     is told E_GUARD decides again on the next of them: on a busy row that never ends. They are
 *     found under the lock, so only among as many as an operation holds; others that rest on them
 *     fail their own comparisons later, and take with them those behind.
 *   - The last edit to a key wins, so each key stands once in the operation.
 *   - A read at VIEW_LATEST is answered from the queue where an edit of its key is under way. What
 * it shows may yet fail; whoever decides on it guards it.
 *   - Rising numbers (struct rising): an object keeps the greatest in a mark, which each operation
 *     that puts some compares and moves on. Numbers of this process need not land in the order in
 *     which they were drawn: while the mark is as we left it, all above the floor may come, below
 *     which those of others may be. If the comparison fails, the mark is read, and all that are not
 *     above it are told E_GUARD.
 *   - Numbers (EDIT_PUT_NUMBERED) are drawn when the operation is built. The object keeps the
 *     greatest, which the operation compares: it must be below all that it brings. So whatever
 *     processes and clocks do, and however late an operation arrives, numbers ascend in the order
 * in which operations land. If the comparison fails, the number is read, and all goes out again
 *     above it; nobody is refused.
 *   - What was decided by a description of a table that may be old by now (struct lease) is not
 * sent any more; what was sent may arrive late.
 *   - The submitting thread, or the thread of the completion before, sends; building an operation
 *     happens outside the lock, on batches that nobody else touches. */
#include "engine/rados.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "engine/rados_omap.h"

#include <errno.h>

#define OP_BYTES_MAX (8u << 20)
#define OP_EDITS_MAX 8000
/* osd_max_write_size is 90 MiB unless somebody lowered it; a batch past this is refused here. */
#define BATCH_BYTES_MAX (84u << 20)
#define EDIT_COST 64 /* of an edit besides its bytes, in op bytes */
/* How far ahead of the clock numbers are drawn, for each time that they came behind others. */
#define AHEAD_US 1000
#define AHEAD_MAX 20
#define BEHIND_MAX 200 /* then it is given up */

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

/* What is known of an object's mark. */
struct mark {
    uint64_t last;  /* as it was last seen; 0: not since the queue is there */
    uint64_t floor; /* numbers of others that have landed may be as great as this */
    bool contended; /* others move it, too */
    bool passed;    /* it is out of reach, and goes back to where ours are */
};

struct write_queue {
    partition_id id;
    struct write_queue *next; /* in the hash chain */
    struct pending *waiting, **waiting_end;
    struct pending *flying;
    bool busy; /* an operation is under way or being built */
    struct mark mark;
    uint64_t number; /* the greatest of the object that we have met or given; 0: none yet */
    unsigned behind; /* operations in a row whose numbers came behind others */
};

/* What is sent to the pool at once: the batches of one queue. */
struct write_operation {
    struct rados *r;
    struct write_queue *queue;
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
    struct pending *riser;
    size_t mark_guard;    /* which comparison is that of the mark, if there is a riser */
    struct rising rising; /* numbers of all batches */
    uint64_t mark;        /* what it becomes */
    bool mark_equals;     /* it was compared with what it was last; else it must be below all */
    struct pending *numberer;
    size_t number_guard;           /* as mark_guard, if there is a numberer */
    uint64_t number;               /* the last one given */
    const struct edit **to_number; /* in their order */
    size_t to_number_count;
    bool asks_number; /* what is read is the number, not the mark */
    rados_read_op_t mark_op;
    rados_omap_iter_t mark_read;
    int mark_result;
};

static void write_queue_run(struct rados *r, struct write_queue *q);

/* ---- queues; under the lock ---- */

static struct write_queue **write_queue_slot(struct rados *r, partition_id id)
{
    struct write_queue **at = &r->write_queues[(id ^ id >> 17) & (RADOS_WRITE_QUEUES - 1)];

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static struct write_queue *write_queue_get(struct rados *r, partition_id id)
{
    struct write_queue **at = write_queue_slot(r, id);

    if (!*at) {
        *at = mem_zalloc(sizeof(**at));
        (*at)->id = id;
        (*at)->waiting_end = &(*at)->waiting;
    }
    return *at;
}

static void write_queue_put(struct rados *r, struct write_queue *q)
{
    struct write_queue **at = write_queue_slot(r, q->id);

    invariant(*at == q && !q->busy && !q->waiting && !q->flying);
    *at = q->next;
    mem_free(q);
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
    struct write_queue *q;

    pthread_mutex_lock(&r->lock);
    q = *write_queue_slot(r, g->partition);
    if (q) {
        hit = edit_of(q->waiting, g->key);
        if (!hit)
            hit = edit_of(q->flying, g->key);
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
    struct write_queue *q;

    pthread_mutex_lock(&r->lock);
    q = *write_queue_slot(r, s->partition);
    for (struct pending *p = q ? q->flying : NULL; p; p = p->next)
        if (batch_meets(&p->batch, s))
            last = p;
    for (struct pending *p = q ? q->waiting : NULL; p; p = p->next)
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

static const struct edit **edit_slot(struct write_operation *o, bytes key)
{
    size_t at = hash_key(key) & (o->slot_count - 1);

    while (o->slots[at] && !bytes_equal(o->slots[at]->key, key))
        at = (at + 1) & (o->slot_count - 1);
    return &o->slots[at];
}

static void compare(struct write_operation *o, struct pending *p, bytes key, uint8_t op,
                    bytes value)
{
    o->owners[o->guard_count] = p;
    rados_write_op_omap_cmp2(o->op, key.ptr, op, value.ptr, key.len, value.len,
                             &o->results[o->guard_count]);
    o->guard_count++;
}

static void add_guard(struct write_operation *o, struct pending *p, const struct guard *g)
{
    const struct edit *edit = *edit_slot(o, g->key);
    struct arena *a = &o->arena;
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
        compare(o, p, key, LIBRADOS_CMPXATTR_OP_EQ, BYTES_LIT(""));
    } else if (g->value.len < OMAP_HASH_MIN) {
        compare(o, p, key, LIBRADOS_CMPXATTR_OP_EQ, omap_value(a, g->value));
    } else {
        omap_hash_bounds(a, g->value, &low, &high);
        compare(o, p, key, LIBRADOS_CMPXATTR_OP_GT, low);
        compare(o, p, key, LIBRADOS_CMPXATTR_OP_LT, high);
    }
}

/* False: others may have put greater numbers. */
static bool add_rising(struct write_operation *o, struct pending *p, const struct rising *rising)
{
    const struct mark *m = &o->queue->mark;

    invariant(rising->least && rising->least <= rising->most);
    if (m->last && !m->passed && rising->least <= m->floor)
        return false;
    if (!o->riser) {
        o->riser = p;
        o->rising = *rising;
        return true;
    }
    if (rising->least < o->rising.least)
        o->rising.least = rising->least;
    if (rising->most > o->rising.most)
        o->rising.most = rising->most;
    return true;
}

static void add_batch(struct write_operation *o, struct pending *p)
{
    const struct write_batch *b = &p->batch;

    for (size_t i = 0; i < b->guard_count && !p->code; i++)
        add_guard(o, p, &b->guards[i]);
    if (!p->code && b->rising && !add_rising(o, p, b->rising))
        p->code = E_GUARD;
    if (p->code)
        return;
    for (size_t i = 0; i < b->edit_count; i++) {
        const struct edit **slot;

        if (b->edits[i].type == EDIT_PUT_NUMBERED) {
            o->numberer = o->numberer ? o->numberer : p;
            o->to_number[o->to_number_count++] = &b->edits[i];
            continue;
        }
        slot = edit_slot(o, b->edits[i].key);
        o->edit_count += !*slot;
        *slot = &b->edits[i];
    }
}

static void put_one(struct write_operation *o, bytes key, bytes value)
{
    rados_write_op_omap_set2(o->op, (const char *const *)&key.ptr, (const char *const *)&value.ptr,
                             &key.len, &value.len, 1);
    o->bytes += key.len + value.len;
}

/* The first number of an operation. Who has come behind others time and again goes a little ahead
 * of the clock; else a server that is slower, or whose clock is behind, would never have its turn.
 */
static uint64_t first_number(struct rados *r, const struct write_queue *q)
{
    uint64_t ahead = q->behind < 2 ? 0 : q->behind < AHEAD_MAX ? q->behind : AHEAD_MAX;

    return number_after(q->number, r->clock) + ahead * AHEAD_US;
}

/* Gives the numbers, if what the object has is below all of them. */
static void add_numbers(struct write_operation *o)
{
    struct arena *a = &o->arena;
    uint64_t number = first_number(o->r, o->queue);

    if (!o->numberer)
        return;
    o->number_guard = o->guard_count;
    compare(o, o->numberer, BYTES_LIT(RADOS_NUMBER), LIBRADOS_CMPXATTR_OP_LT,
            rados_mark_value(a, number));
    for (size_t i = 0; i < o->to_number_count; i++, number++) {
        const struct edit *edit = o->to_number[i];
        uint8_t *plain = arena_alloc(a, edit->key.len + NUMBER_BYTES);

        memcpy(plain, edit->key.ptr, edit->key.len);
        store_u64_be(plain + edit->key.len, number);
        put_one(o, omap_key(a, bytes_of(plain, edit->key.len + NUMBER_BYTES)),
                omap_value(a, edit->value));
    }
    o->number = number - 1;
    put_one(o, BYTES_LIT(RADOS_NUMBER), rados_mark_value(a, o->number));
}

/* The comparison of the mark, and what it becomes. */
static void add_mark(struct write_operation *o)
{
    const struct mark *m = &o->queue->mark;
    bytes key = BYTES_LIT(RADOS_MARK), seen;

    if (!o->riser)
        return;
    o->mark_equals = m->last && (m->passed || !m->contended || o->rising.least <= m->last);
    o->mark = o->mark_equals && !m->passed && m->last > o->rising.most ? m->last : o->rising.most;
    seen = rados_mark_value(&o->arena, o->mark_equals ? m->last : o->rising.least);
    o->mark_guard = o->guard_count;
    compare(o, o->riser, key, o->mark_equals ? LIBRADOS_CMPXATTR_OP_EQ : LIBRADOS_CMPXATTR_OP_LT,
            seen);
    put_one(o, key, rados_mark_value(&o->arena, o->mark));
}

/* The operation has landed. */
static void landed(struct write_operation *o)
{
    struct mark *m = &o->queue->mark;

    if (o->numberer) {
        o->queue->number = o->number;
        o->queue->behind = 0;
    }
    if (!o->riser)
        return;
    if (!o->mark_equals || m->passed)
        m->floor = o->rising.least - 1;
    m->last = o->mark;
    m->passed = false;
}

static void add_edits(struct write_operation *o)
{
    struct arena *a = &o->arena;
    const char **put_keys = ARENA_ARRAY(a, const char *, o->edit_count + 1);
    const char **values = ARENA_ARRAY(a, const char *, o->edit_count + 1);
    const char **gone_keys = ARENA_ARRAY(a, const char *, o->edit_count + 1);
    size_t *put_lens = ARENA_ARRAY(a, size_t, o->edit_count + 1);
    size_t *value_lens = ARENA_ARRAY(a, size_t, o->edit_count + 1);
    size_t *gone_lens = ARENA_ARRAY(a, size_t, o->edit_count + 1);
    size_t puts = 0, gone = 0;

    for (size_t i = 0; i < o->slot_count; i++) {
        const struct edit *edit = o->slots[i];
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
            o->bytes += key.len + value.len;
        } else {
            invariant(edit->type == EDIT_DELETE);
            o->bytes += key.len;
            gone_keys[gone] = key.ptr;
            gone_lens[gone++] = key.len;
        }
    }
    invariant(puts + gone == o->edit_count);
    if (gone)
        rados_write_op_omap_rm_keys2(o->op, gone_keys, gone_lens, gone);
    if (puts)
        rados_write_op_omap_set2(o->op, put_keys, values, put_lens, value_lens, puts);
}

static struct write_operation *write_operation_new(struct rados *r, struct write_queue *q,
                                                   struct pending *list)
{
    struct write_operation *o = mem_zalloc(sizeof(*o));
    size_t guards = 0, edits = 0;

    o->r = r;
    o->queue = q;
    o->list = list;
    arena_init(&o->arena, NULL, 0);
    for (struct pending *p = list; p; p = p->next) {
        guards += p->batch.guard_count;
        edits += p->batch.edit_count;
    }
    for (o->slot_count = 8; o->slot_count < 2 * edits;)
        o->slot_count *= 2;
    o->slots = ARENA_ARRAY(&o->arena, const struct edit *, o->slot_count);
    o->to_number = ARENA_ARRAY(&o->arena, const struct edit *, edits);
    o->results = ARENA_ARRAY(&o->arena, int, 2 * guards + 3);
    o->owners = ARENA_ARRAY(&o->arena, struct pending *, 2 * guards + 3);
    o->op = rados_create_write_op();
    rados_expect(o->op, RADOS_WRITES, RADOS_YES);
    for (struct pending *p = list; p; p = p->next)
        add_batch(o, p);
    invariant(o->guard_count <= 2 * guards && o->edit_count + o->to_number_count <= edits);
    add_mark(o);
    add_numbers(o);
    add_edits(o);
    return o;
}

static void write_operation_free(struct write_operation *o)
{
    rados_release_write_op(o->op);
    if (o->mark_op)
        rados_release_read_op(o->mark_op);
    arena_release(&o->arena);
    mem_free(o);
}

/* ---- answers ---- */

/* The batch whose comparison failed, or NULL: the object itself refused. */
static struct pending *failed_guard(struct write_operation *o)
{
    for (size_t i = 0; i < o->guard_count; i++)
        if (o->results[i] < 0)
            return o->owners[i];
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

/* The next batch in the queue's order: is it refused too? */
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

/* Where a list's rest begins when one operation takes as much as it may hold, and one batch at
 * least. */
static struct pending **operation_end(struct pending **list)
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

/* Takes those that are refused, the first of which is `failed`, and those before `stop` that rest
 * on them off the list: what is told now, in order. */
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

        if (!doom_takes(&d, &p->batch, p->code == E_GUARD)) {
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

/* Refuses those that are behind the mark; the first of them, or NULL. */
static struct pending *refuse_behind(struct write_queue *q, uint64_t mark)
{
    struct pending *first = NULL;

    q->mark = (struct mark){.last = mark, .floor = mark, .contended = true};
    for (struct pending *p = q->flying; p; p = p->next) {
        const struct rising *rising = p->batch.rising;

        if (!rising || rising->least > mark)
            continue;
        if (mark > rising->reach) {
            q->mark.passed = true;
            continue;
        }
        if (atomic_load(rising->met) < mark)
            atomic_store(rising->met, mark);
        p->code = E_GUARD;
        first = first ? first : p;
    }
    return first;
}

/* Takes the batches off the queue whose callers are told now: `failed`, or with NULL those that are
 * behind the *mark, or with neither none. The rest goes back in front. */
static struct pending *take_failed(struct rados *r, struct write_queue *q, struct pending *failed,
                                   const uint64_t *mark)
{
    struct pending **at, *stop, *taken = NULL;

    pthread_mutex_lock(&r->lock);
    invariant(q->busy && q->flying);
    for (struct pending *p = q->flying; p; p = p->next)
        p->code = E_OK; /* what was decided here rested on batches that did not land */
    if (failed)
        failed->code = E_GUARD;
    else if (mark)
        failed = refuse_behind(q, *mark);
    for (at = &q->flying; *at;)
        at = &(*at)->next;
    stop = *operation_end(&q->waiting);
    *at = q->waiting;
    if (failed)
        taken = take_doomed(&q->flying, failed, stop);
    q->waiting = q->flying;
    q->flying = NULL;
    if (!stop) { /* else the end is as it was */
        for (at = &q->waiting; *at;)
            at = &(*at)->next;
        q->waiting_end = at;
    }
    invariant(!taken == !failed);
    pthread_mutex_unlock(&r->lock);
    return taken;
}

static struct pending *take_all(struct rados *r, struct write_queue *q)
{
    struct pending *list;

    pthread_mutex_lock(&r->lock);
    invariant(q->busy);
    list = q->flying;
    q->flying = NULL;
    pthread_mutex_unlock(&r->lock);
    return list;
}

/* The number of the object is `number`: all goes out again above it. E_BUSY: that was in vain so
 * often that it is given up. */
static int number_met(struct write_queue *q, uint64_t number)
{
    q->number = number > q->number ? number : q->number;
    if (++q->behind < BEHIND_MAX)
        return E_OK;
    q->behind = 0;
    return E_BUSY;
}

/* The mark, or the number, was read, after the comparison with it had failed. */
static void settle_mark(struct write_operation *o, int result)
{
    struct rados *r = o->r;
    struct write_queue *q = o->queue;
    struct pending *list = NULL;
    uint64_t met = result < 0 ? 0 : rados_mark_of(r, o->mark_read);
    int code = result < 0 ? rados_read_code(r, result) : E_OK;

    if (!code && o->asks_number)
        code = number_met(q, met);
    if (code) {
        list = take_all(r, q);
        for (struct pending *p = list; p; p = p->next)
            p->code = E_OK;
    } else {
        list = take_failed(r, q, NULL, o->asks_number ? NULL : &met);
        code = E_GUARD;
    }
    if (o->mark_read)
        rados_omap_get_end(o->mark_read);
    write_operation_free(o);
    finish(r, list, code);
    write_queue_run(r, q);
}

static void on_mark(rados_completion_t completion, void *arg)
{
    struct write_operation *o = arg;
    struct rados *r = o->r;
    int result = rados_aio_get_return_value(completion);

    rados_aio_release(completion);
    rados_answered(r, result);
    settle_mark(o, result);
    rados_release(r);
}

static void ask_mark(struct write_operation *o)
{
    struct rados *r = o->r;
    struct rados_name name = rados_name(o->queue->id);
    int result;

    o->mark_op = rados_create_read_op();
    rados_mark_ask(o->mark_op, o->asks_number ? RADOS_NUMBER : RADOS_MARK, &o->mark_read,
                   &o->mark_result);
    rados_aio_create_completion2(o, on_mark, &o->completion);
    rados_hold(r);
    rados_sent(r);
    atomic_fetch_add(&r->read_ops, 1);
    result = rados_aio_read_op_operate(o->mark_op, r->pool, o->completion, name.text, 0);
    if (!result)
        return;
    /* Nothing was sent and no completion comes. */
    rados_aio_release(o->completion);
    rados_answered(r, result);
    settle_mark(o, result < 0 ? result : -EIO);
    rados_release(r);
}

static void settle(struct write_operation *o, int result)
{
    struct rados *r = o->r;
    struct write_queue *q = o->queue;
    struct pending *failed = result == -ECANCELED ? failed_guard(o) : NULL, *list;
    int code = E_GUARD;

    o->asks_number = failed && o->numberer && o->results[o->number_guard] < 0;
    if (o->asks_number || (failed && o->riser && o->results[o->mark_guard] < 0)) {
        ask_mark(o);
        return;
    }
    if (result >= 0)
        landed(o);
    else if (result != -ECANCELED)
        q->mark.last = 0;
    if (failed) {
        list = take_failed(r, q, failed, NULL);
    } else {
        code = rados_write_code(r, result);
        list = take_all(r, q);
        if (code)
            for (struct pending *p = list; p; p = p->next)
                p->code = E_OK; /* as above; one code for all */
    }
    write_operation_free(o);
    finish(r, list, code);
    write_queue_run(r, q);
}

static void on_written(rados_completion_t completion, void *arg)
{
    struct write_operation *o = arg;
    struct rados *r = o->r;
    int result = rados_aio_get_return_value(completion);

    rados_aio_release(completion);
    rados_answered(r, result);
    settle(o, result);
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

/* Cuts what goes out next off the queue, into `flying` (none if all are told E_BUSY). False:
 * nothing, and an idle queue is gone. */
static bool write_queue_load(struct rados *r, struct write_queue *q)
{
    struct pending **at, *outdated;

    pthread_mutex_lock(&r->lock);
    invariant(q->busy && !q->flying); /* one operation at a time */
    q->busy = q->waiting != NULL;
    if (!q->busy) {
        write_queue_put(r, q);
        pthread_mutex_unlock(&r->lock);
        return false;
    }
    at = operation_end(&q->waiting);
    q->flying = q->waiting;
    q->waiting = *at;
    if (!*at)
        q->waiting_end = &q->waiting;
    *at = NULL;
    outdated = take_outdated(r, &q->flying);
    pthread_mutex_unlock(&r->lock);
    finish(r, outdated, E_BUSY);
    return true;
}

/* Sends the next operation of an idle queue, if anything waits. Whoever calls has set `busy`. */
static void write_queue_run(struct rados *r, struct write_queue *q)
{
    while (write_queue_load(r, q)) {
        struct write_operation *o = write_operation_new(r, q, q->flying);
        struct rados_name name = rados_name(q->id);
        int result;

        if (!o->guard_count && !o->edit_count) {
            struct pending *list = take_all(r, q);

            write_operation_free(o);
            finish(r, list, E_OK);
            continue;
        }
        rados_aio_create_completion2(o, on_written, &o->completion);
        rados_hold(r);
        rados_sent(r);
        atomic_fetch_add(&r->write_ops, 1);
        atomic_fetch_add(&r->written_bytes, o->bytes);
        result = rados_aio_write_op_operate(o->op, r->pool, o->completion, name.text, NULL,
                                            LIBRADOS_OPERATION_FULL_TRY);
        if (!result)
            return;
        /* Nothing was sent and no completion comes. */
        rados_aio_release(o->completion);
        rados_answered(r, result);
        settle(o, result);
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
    struct write_queue *q;
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
    q = write_queue_get(r, b->partition);
    invariant(!*q->waiting_end && (q->busy || !q->waiting));
    *q->waiting_end = p;
    q->waiting_end = &p->next;
    r->pending_bytes += size;
    r->under_way++;
    run = !q->busy;
    q->busy = true;
    pthread_mutex_unlock(&r->lock);
    if (run)
        write_queue_run(r, q);
}
