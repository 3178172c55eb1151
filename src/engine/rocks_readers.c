/* rocks_readers.c: reads of requests: from memory at once, else by threads that wait for the disk.
 *
 * A thread that serves requests asks what is in memory (RocksDB's read tier that stops at a block
 * that is not cached); for ranges only while there is no range tombstone (rocks_tombstones.c). What
 * is not there is read by threads that do nothing else, and whoever asked has gone on with
 * something else meanwhile. A disk has a queue, and only with many reads under way is it full: two
 * threads that read for themselves get a third of what it gives to thirty-two.
 *
 * Points and scans have threads of their own, so that a scan of a large cold table does not stand
 * before single rows. Within each, clients take turns (pool.h), whatever number of reads each has
 * asked for, and none has all threads. A queued read holds nothing of the storage: it enters when
 * its turn has come, and finds out then whether its deadline has passed. A read takes at most a
 * page, so one that is under way keeps a reopening waiting for no more than that.
 *
 * Where a client has found hardly anything in memory lately (hit_rate.h) its gets are handed over
 * without asking, as long as it has fewer under way than there are threads for it: what is in
 * memory after all does not wait for the disk then, either.
 *
 * A thread that waits for its one request anyway (turn_waits_here()) reads for itself: handing the
 * read over would cost it two changes of threads.
 *
 * Nothing bounds the queues but the requests that are under way, each of which has at most one read
 * in them, or one batch of gets. */
#include "engine/rocks.h"

#include "base/turn.h"

#define POINT_THREADS 32
#define SCAN_THREADS 8

/* One read on its way, in the arena of its context. */
struct cold_read {
    struct pool_job job;
    struct rocks *rocks;
    struct ctx *c;
    struct get *get; /* NULL: the scan */
    struct scan *scan;
    size_t from; /* the first of its ranges that is to be read */
};

/* A get of a call for many. */
struct cold_part {
    struct cold_many *many;
    struct ctx *c;
    struct get *get;
    struct get one; /* what goes to the stall queue in its place */
};

/* Gets of one call that are not in memory. In the queue they are one job, so that other requests
 * of the same client wait for one of them, and not for all. */
struct cold_many {
    struct pool_job job;
    struct rocks *rocks;
    struct get_many *call;
    struct ctx *c;
    struct cold_part *parts; /* those that are queued first, */
    size_t queued, count;    /* and behind them those that have to see a write in the stall queue */
    atomic_size_t next, left;
};

int rocks_readers_start(struct ctx *c, struct rocks *r)
{
    r->point_readers =
        pool_start(&(struct pool_conf){.name = "wr-read", .threads = POINT_THREADS, .wait = true});
    r->scan_readers = pool_start(&(struct pool_conf){
        .name = "wr-scan", .threads = SCAN_THREADS, .wait = true, .background = true});
    if (!r->point_readers || !r->scan_readers)
        return fail(c, E_UNAVAILABLE, "The system gives no thread to read from the disk with.");
    return E_OK;
}

void rocks_readers_stop(struct rocks *r)
{
    pool_stop(r->point_readers);
    pool_stop(r->scan_readers);
}

/* Its turn has come. */
static int cold_get_now(struct ctx *c, struct rocks *r, struct get *g)
{
    TRY(turn_check_deadline(c, clock_mono_us(c->clock)));
    return rocks_get_now(c, r, g);
}

static int cold_scan_now(struct cold_read *cold)
{
    TRY(turn_check_deadline(cold->c, clock_mono_us(cold->c->clock)));
    return rocks_scan_now(cold->c, cold->rocks, cold->scan, cold->from);
}

static void cold_run(struct pool_job *job)
{
    struct cold_read *cold = PORT_CONTAINER(job, struct cold_read, job);

    if (cold->get) {
        cold->get->code = cold_get_now(cold->c, cold->rocks, cold->get);
        cold->get->done(cold->get);
    } else {
        cold->scan->code = cold_scan_now(cold);
        cold->scan->done(cold->scan);
    }
}

static void cold_submit(struct pool *to, struct cold_read *cold)
{
    cold->job.run = cold_run;
    atomic_fetch_add_explicit(&cold->rocks->disk_reads, 1, memory_order_relaxed);
    pool_submit(to, cold->c->turn->client, &cold->job, false);
}

static int cold_get(struct ctx *c, struct rocks *r, struct get *g)
{
    struct cold_read *cold = ARENA_NEW(&c->arena, struct cold_read);

    *cold = (struct cold_read){.rocks = r, .c = c, .get = g};
    cold_submit(r->point_readers, cold);
    return E_LATER;
}

static int cold_scan(struct ctx *c, struct rocks *r, struct scan *s, size_t from)
{
    struct cold_read *cold = ARENA_NEW(&c->arena, struct cold_read);

    *cold = (struct cold_read){.rocks = r, .c = c, .scan = s, .from = from};
    cold_submit(r->scan_readers, cold);
    return E_LATER;
}

/* What is in memory; E_LATER: it is not, or it was not asked. */
static int get_from_memory(struct ctx *c, struct rocks *r, struct get *g)
{
    uint64_t client = c->turn->client;
    unsigned slot = hit_rate_slot(client, g->partition);
    int code;

    if (g->once)
        return E_LATER;
    rocks_warm_got(r, g->key);
    if (!hit_rate_asks(&r->hit_rate, slot) && pool_takes(r->point_readers, client))
        return E_LATER;
    code = rocks_get_cached(c, r, g);
    hit_rate_add(&r->hit_rate, slot, code != E_LATER);
    return code;
}

int rocks_get(struct ctx *c, struct engine *e, struct get *g)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    int code;

    if (g->view == VIEW_LATEST && !g->read_pending)
        rocks_write_buffer_append(r);
    else if (g->view == VIEW_LATEST && rocks_write_buffer_get(c, r, g, &code))
        return code;
    if (g->view == VIEW_LATEST && atomic_load(&r->stall_count) > 0) {
        rocks_stalled_add(r, (struct stalled){.c = c, .get = g});
        return E_LATER;
    }
    if (!c->turn)
        return rocks_get_now(c, r, g);
    code = get_from_memory(c, r, g);
    if (PORT_LIKELY(code != E_LATER))
        return code;
    if (!turn_waits_here())
        return cold_get(c, r, g);
    atomic_fetch_add_explicit(&r->disk_reads, 1, memory_order_relaxed);
    return cold_get_now(c, r, g);
}

int rocks_scan(struct ctx *c, struct engine *e, struct scan *s)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    size_t from;
    int code;

    if (s->view == VIEW_LATEST)
        rocks_write_buffer_append(r);
    if (s->view == VIEW_LATEST && atomic_load(&r->stall_count) > 0) {
        rocks_stalled_add(r, (struct stalled){.c = c, .scan = s});
        return E_LATER;
    }
    if (!c->turn)
        return rocks_scan_now(c, r, s, 0);
    code = rocks_scan_cached(c, r, s, &from);
    if (code != E_LATER)
        return code;
    if (!turn_waits_here())
        return cold_scan(c, r, s, from);
    atomic_fetch_add_explicit(&r->disk_reads, 1, memory_order_relaxed);
    TRY(turn_check_deadline(c, clock_mono_us(c->clock)));
    return rocks_scan_now(c, r, s, from);
}

/* ---- gets of one call ---- */

static void part_release(void *arg)
{
    ctx_release(arg);
}

/* Where the answer of one of several gets goes: several threads read at once, so each needs memory
 * of its own, at most `share` of what the call's may still take. */
static struct ctx *part_of(struct ctx *c, struct get_many *m, const struct get *g, size_t share)
{
    struct ctx *part;

    if (m->contexts)
        return m->contexts[g - m->gets];
    part = ARENA_NEW(&c->arena, struct ctx);
    ctx_init_part(part, c, NULL, 0);
    if (c->arena.cap)
        part->arena.cap = share;
    arena_on_release(&c->arena, part_release, part);
    return part;
}

/* Of `gets` that are left. Not 0, which would be no cap. */
static size_t part_share(const struct ctx *c, size_t gets)
{
    size_t left = c->arena.used < c->arena.cap ? c->arena.cap - c->arena.used : 0;

    return left / gets + 1;
}

/* Where the call has one context for all parts, it counts what they took and has the text of one
 * that failed. */
static void many_end(struct cold_many *many)
{
    for (size_t i = 0; i < many->count && !many->call->contexts; i++) {
        many->c->arena.used += many->parts[i].c->arena.used;
        ctx_fail_part(many->c, many->parts[i].c);
    }
    many->call->done(many->call);
}

static void part_done(struct cold_many *many)
{
    if (atomic_fetch_sub(&many->left, 1) == 1)
        many_end(many);
}

static void part_run(struct pool_job *job)
{
    struct cold_many *many = PORT_CONTAINER(job, struct cold_many, job);
    struct cold_part *part = &many->parts[atomic_fetch_add(&many->next, 1)];

    part->get->code = cold_get_now(part->c, many->rocks, part->get);
    part_done(many);
}

static void on_stalled(struct get *g)
{
    struct cold_part *part = PORT_CONTAINER(g, struct cold_part, one);
    void (*done)(struct get *) = part->get->done;

    *part->get = *g;
    part->get->done = done;
    part_done(part->many);
}

static void part_stall(struct cold_part *part)
{
    part->one = *part->get;
    part->one.done = on_stalled;
    rocks_stalled_add(part->many->rocks, (struct stalled){.c = part->c, .get = &part->one});
}

/* With the last part the call may be over, and its memory gone. */
static void many_submit(struct cold_many *many, struct rocks *r)
{
    size_t queued = many->queued, count = many->count;
    struct cold_part *parts = many->parts;

    many->job.run = part_run;
    atomic_init(&many->next, 0);
    atomic_init(&many->left, count);
    atomic_fetch_add_explicit(&r->disk_reads, queued, memory_order_relaxed);
    for (size_t i = queued; i < count; i++)
        part_stall(&parts[i]);
    if (queued)
        pool_submit_parts(r->point_readers, parts->c->turn->client, &many->job, queued);
}

/* E_LATER: it cannot be answered from memory, or has to wait for what is stalled. */
static int get_one(struct ctx *c, struct rocks *r, struct get *g, bool *stalled)
{
    if (g->view == VIEW_LATEST)
        rocks_write_buffer_append(r);
    *stalled = g->view == VIEW_LATEST && atomic_load(&r->stall_count) > 0;
    if (*stalled)
        return E_LATER;
    if (!c->turn)
        return rocks_get_now(c, r, g);
    return get_from_memory(c, r, g);
}

/* One more; those that are queued stay in front. */
static void part_add(struct cold_many *many, const struct cold_part *part, bool stalled)
{
    struct cold_part *last = &many->parts[many->count++];

    if (stalled) {
        *last = *part;
    } else {
        *last = many->parts[many->queued];
        many->parts[many->queued++] = *part;
    }
}

int rocks_get_many(struct ctx *c, struct engine *e, struct get_many *m)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct cold_many *many = NULL;
    size_t share = 0;

    for (size_t i = 0; i < m->count; i++) {
        struct get *g = &m->gets[i];
        bool stalled;

        g->code = get_one(get_many_ctx(m, i), r, g, &stalled);
        if (g->code != E_LATER)
            continue;
        if (!many) {
            many = ARENA_NEW(&c->arena, struct cold_many);
            *many =
                (struct cold_many){.rocks = r,
                                   .call = m,
                                   .c = c,
                                   .parts = ARENA_ARRAY(&c->arena, struct cold_part, m->count - i)};
            share = part_share(c, m->count - i);
        }
        part_add(many, &(struct cold_part){.many = many, .c = part_of(c, m, g, share), .get = g},
                 stalled);
    }
    if (!many)
        return E_OK;
    many_submit(many, r);
    return E_LATER;
}
