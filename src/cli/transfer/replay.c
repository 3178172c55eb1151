/* replay.c: the workers. Each takes a row and writes it to every table, one after the other and
 * beginning with another one each time, so that what disturbs the machine disturbs all alike. A
 * refused request is not sent again: refusals are what is counted here. */
#include "cli/transfer/replay.h"

#include "base/port.h"
#include "base/rng.h"
#include "base/thread.h"

struct replay_worker {
    struct replay *replay;
    struct client *client;
    struct rng rng;
    uint64_t turn;
};

static void give_up(struct replay *r, const char *reason)
{
    pthread_mutex_lock(&r->mutex);
    if (!r->failure[0])
        snprintf(r->failure, sizeof(r->failure), "%s", reason);
    pthread_mutex_unlock(&r->mutex);
    atomic_store(&r->stopped, true);
    shuffle_buffer_stop(r->window);
}

static struct wr_key make_key(struct arena *a, const struct plan *p, const struct import_row *row)
{
    struct wr_key_column *key = ARENA_ARRAY(a, struct wr_key_column, p->key_count);

    for (size_t i = 0; i < p->key_count; i++)
        key[i] = (struct wr_key_column){p->keys[i].name, row->values[i]};
    return (struct wr_key){key, p->key_count};
}

static struct wr_request make_put(struct arena *a, const struct plan *p,
                                  const struct import_row *row, bytes table)
{
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, p->column_count);
    size_t n = 0;

    for (size_t i = 0; i < p->column_count; i++)
        if (row->values[p->key_count + i].type != WR_NULL)
            cells[n++] = (struct wr_cell){.name = p->columns[i].name,
                                          .value = row->values[p->key_count + i],
                                          .timestamp_ms = WR_TIMESTAMP_NONE};
    return (struct wr_request){
        .op = WR_OP_PUT_ROW,
        .put_row = {.type = WR_PUT, .table = table, .row = {make_key(a, p, row), cells, n}}};
}

static struct wr_request make_get(struct arena *a, const struct plan *p,
                                  const struct import_row *row, bytes table)
{
    return (struct wr_request){.op = WR_OP_GET_ROW,
                               .get_row = {.table = table,
                                           .key = make_key(a, p, row),
                                           .read = {.max_versions = 1, .has_max_versions = true}}};
}

static bool is_refusal(int code)
{
    return code == WR_E_CAPACITY || code == WR_E_HOT_PARTITION;
}

/* Sends one request and counts what came of it. False: there is no sense in going on. */
static bool send_one(struct replay_worker *w, struct ctx *c, struct replay_side *side,
                     const struct wr_request *request)
{
    struct replay *r = w->replay;
    int64_t start = clock_mono_us(r->clock), took;
    struct wr_reply reply;
    int code = client_exec(c, w->client, request, &reply);

    took = clock_mono_us(r->clock) - start;
    pthread_mutex_lock(&r->mutex);
    if (code == 0) {
        bench_hist_add(request->op == WR_OP_GET_ROW ? &side->reads : &side->writes, took);
        side->units += (uint64_t)(reply.row.consumed.read + reply.row.consumed.write);
    } else if (is_refusal(code)) {
        side->refused++;
    } else {
        side->failed++;
    }
    pthread_mutex_unlock(&r->mutex);
    if (code == 0 || client_may_retry(code, true))
        return true;
    give_up(r, c->text);
    return false;
}

static void send_row(struct replay_worker *w, const struct import_row *row)
{
    struct replay *r = w->replay;
    bool reads = rng_below(&w->rng, 100) < r->read_percent;

    w->turn++;
    for (size_t i = 0; i < r->side_count; i++) {
        struct replay_side *side = &r->sides[(w->turn + i) % r->side_count];
        struct wr_request request;
        struct ctx c;
        bool good;

        ctx_init(&c, r->clock, NULL, NULL, 0);
        request = make_put(&c.arena, r->plan, row, side->table);
        good = send_one(w, &c, side, &request);
        if (good && reads) {
            ctx_clear(&c);
            request = make_get(&c.arena, r->plan, row, side->table);
            good = send_one(w, &c, side, &request);
        }
        ctx_release(&c);
        if (!good)
            return;
    }
    atomic_fetch_add(&r->progress->records, 1);
    atomic_fetch_add(&r->progress->bytes, row->source_bytes);
}

static void *worker_run(void *arg)
{
    struct replay *r = arg;
    struct import_row **rows = mem_alloc(sizeof(struct import_row *) * r->window->batch_rows);
    struct replay_worker w = {.replay = r};
    struct ctx c;
    size_t n;

    ctx_init(&c, r->clock, NULL, NULL, 0);
    if (client_open(&c, r->target, &w.client))
        give_up(r, c.text);
    else
        w.client->retry_ms = 0;
    rng_init(&w.rng, (uint64_t)(uintptr_t)&w);
    while ((n = shuffle_buffer_take(r->window, rows)) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (!atomic_load(&r->stopped))
                send_row(&w, rows[i]);
            mem_free(rows[i]);
        }
    }
    client_close(w.client);
    ctx_release(&c);
    mem_free(rows);
    return NULL;
}

int replay_start(struct ctx *c, struct replay *r)
{
    size_t wanted = r->worker_count;

    pthread_mutex_init(&r->mutex, NULL);
    r->threads = mem_alloc(sizeof(*r->threads) * wanted);
    for (r->worker_count = 0; r->worker_count < wanted; r->worker_count++)
        if (!thread_start(&r->threads[r->worker_count], "wr-replay", worker_run, r))
            break;
    if (r->worker_count == wanted)
        return 0;
    give_up(r, "the system gives no more threads");
    replay_finish(r);
    return fail(c, WR_E_INTERNAL, "the system gives no more threads");
}

void replay_finish(struct replay *r)
{
    for (size_t i = 0; i < r->worker_count; i++)
        pthread_join(r->threads[i], NULL);
    mem_free(r->threads);
    r->threads = NULL;
    r->worker_count = 0;
    pthread_mutex_destroy(&r->mutex);
}
