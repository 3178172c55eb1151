#include "cli/transfer/key_ranges.h"

#include "base/thread.h"
#include "client/walk.h"

#include <stdio.h>

#define UNIT_BYTES (32ll << 20) /* of a range at the beginning */

struct crew {
    struct key_ranges *queue;
    const struct key_ranges_job *job;
    struct clock *clock;
};

/* ---- the queue ---- */

void key_ranges_put(struct key_ranges *q, const struct wr_key *start, const struct wr_key *end)
{
    struct key_range *r = mem_zalloc(sizeof(*r));

    arena_init(&r->arena, NULL, 0);
    r->start = walk_copy_key(&r->arena, start);
    r->end = walk_copy_key(&r->arena, end);
    pthread_mutex_lock(&q->mutex);
    r->next = q->first;
    q->first = r;
    pthread_cond_signal(&q->wake);
    pthread_mutex_unlock(&q->mutex);
}

static void range_free(struct key_range *r)
{
    arena_release(&r->arena);
    mem_free(r);
}

/* NULL: there will be no more. Who got one calls range_done() once it can put nothing back. */
static struct key_range *range_take(struct key_ranges *q)
{
    struct key_range *r = NULL;

    pthread_mutex_lock(&q->mutex);
    while (!q->first && q->busy && !q->stopped)
        pthread_cond_wait(&q->wake, &q->mutex);
    if (q->first && !q->stopped) {
        r = q->first;
        q->first = r->next;
        q->busy++;
    }
    pthread_mutex_unlock(&q->mutex);
    return r;
}

static void range_done(struct key_ranges *q)
{
    pthread_mutex_lock(&q->mutex);
    q->busy--;
    pthread_cond_broadcast(&q->wake);
    pthread_mutex_unlock(&q->mutex);
}

static void give_up(struct key_ranges *q, int code, const char *reason)
{
    pthread_mutex_lock(&q->mutex);
    if (!q->code) {
        q->code = code;
        snprintf(q->failure, sizeof(q->failure), "%s", reason);
    }
    atomic_store(&q->stopped, true);
    pthread_cond_broadcast(&q->wake);
    pthread_mutex_unlock(&q->mutex);
}

/* ---- ranges to begin with ---- */

/* A split point as a bound: what it leaves out of the key is open. */
static struct wr_key whole_key(struct arena *a, const struct wr_table_description *t,
                               const struct wr_key_column *columns, size_t count)
{
    struct wr_key key = walk_bound(a, t, WR_INF_MIN);

    for (size_t i = 0; i < count && i < key.count; i++)
        ((struct wr_key_column *)key.columns)[i].value = columns[i].value;
    return key;
}

/* Where the table is split for the workers: by stored size, else where its partitions meet. */
static void find_split_keys(struct ctx *c, struct client *cl, const struct wr_table_description *t,
                            struct wr_key **split_keys, size_t *count)
{
    struct wr_request request = {.op = WR_OP_COMPUTE_SPLIT_POINTS,
                                 .compute_split_points = {.table = t->table,
                                                          .split_size = 1,
                                                          .has_unit = true,
                                                          .unit_bytes = UNIT_BYTES,
                                                          .estimated = true}};
    struct wr_reply reply;
    bool plain = bytes_equal(t->layout, BYTES_LIT("plain"));
    int code = client_exec(c, cl, &request, &reply);
    size_t points = code ? 0 : reply.splits.point_count;
    size_t splits = points || !plain ? 0 : t->split_count;

    if (code)
        ctx_clear(c); /* one range will do */
    *split_keys = ARENA_ARRAY(&c->arena, struct wr_key, points + splits + 1);
    for (size_t i = 0; i < points; i++)
        (*split_keys)[i] =
            whole_key(&c->arena, t, reply.splits.points[i].columns, reply.splits.points[i].count);
    for (size_t i = 0; i < splits; i++) {
        struct wr_key_column column = {t->key[0].name, t->splits[i]};

        (*split_keys)[i] = whole_key(&c->arena, t, &column, 1);
    }
    *count = points + splits;
}

void key_ranges_begin(struct ctx *c, struct key_ranges *q, struct client *cl,
                      const struct wr_table_description *t)
{
    struct wr_key end = walk_bound(&c->arena, t, WR_INF_MAX), *split_keys;
    struct wr_key start = walk_bound(&c->arena, t, WR_INF_MIN);
    size_t count;

    *q = (struct key_ranges){.first = NULL};
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->wake, NULL);
    find_split_keys(c, cl, t, &split_keys, &count);
    while (count--) { /* the first in key order is taken first */
        key_ranges_put(q, &split_keys[count], &end);
        end = split_keys[count];
    }
    key_ranges_put(q, &start, &end);
}

/* ---- the threads ---- */

static int work(struct ctx *c, const struct crew *crew, void **worker, bool *opened,
                const struct key_range *r)
{
    if (!*opened)
        TRY(crew->job->open(c, crew->job->arg, worker));
    *opened = true;
    return crew->job->page(c, *worker, r);
}

static void *worker_run(void *arg)
{
    const struct crew *crew = arg;
    struct key_range *r;
    void *worker = NULL;
    bool opened = false;

    while ((r = range_take(crew->queue))) {
        struct ctx c;
        int code;

        ctx_init(&c, crew->clock, NULL, NULL, 0);
        code = work(&c, crew, &worker, &opened, r);
        if (code)
            give_up(crew->queue, code, c.text);
        ctx_release(&c);
        range_free(r);
        range_done(crew->queue);
    }
    crew->job->close(worker);
    return NULL;
}

static void run_workers(struct crew *crew)
{
    size_t want = crew->job->worker_count, n = 0;
    pthread_t *threads = mem_alloc(sizeof(*threads) * want);

    while (n < want && thread_start(&threads[n], crew->job->name, worker_run, crew))
        n++;
    if (n < want)
        give_up(crew->queue, WR_E_INTERNAL, "the system gives no more threads");
    while (n)
        pthread_join(threads[--n], NULL);
    mem_free(threads);
}

int key_ranges_run(struct ctx *c, struct key_ranges *q, bytes table,
                   const struct key_ranges_job *job)
{
    struct crew crew = {q, job, c->clock};
    int code;

    run_workers(&crew);
    while (q->first) {
        struct key_range *r = q->first;

        q->first = r->next;
        range_free(r);
    }
    pthread_mutex_destroy(&q->mutex);
    pthread_cond_destroy(&q->wake);
    code = q->code;
    return code ? fail(c, code, "%.*s: %s", BYTES_FMT(table), q->failure) : 0;
}
