/* bench_local.c: requests submitted to a database of this process, from one thread.
 *
 * A request that is answered at once ends inside wr_submit(); the others end on a thread of the
 * database, which puts them on a list for the submitting thread. */
#include "bench/bench_front.h"

#include "base/thread.h"

struct slot {
    struct room *room;
    struct slot *next;
    struct bench_job job;
    struct wr_request request;
    struct wr_reply *reply;
    struct ctx c; /* the request's memory */
};

struct room {
    struct ctx *c;
    struct bench_load *load;
    struct wr_db *db;
    bytes instance;
    struct slot *slots, *idle;
    size_t under_way;
    pthread_mutex_t mutex; /* over what follows */
    pthread_cond_t wake;
    struct slot *done;
};

static void on_done(void *arg, struct wr_reply *reply)
{
    struct slot *s = arg;
    struct room *r = s->room;

    pthread_mutex_lock(&r->mutex);
    s->reply = reply;
    s->next = r->done;
    if (!r->done)
        pthread_cond_signal(&r->wake);
    r->done = s;
    pthread_mutex_unlock(&r->mutex);
}

static void submit(struct room *r, struct slot *s)
{
    ctx_init(&s->c, r->c->clock, NULL, NULL, 0);
    bench_load_request(r->load, &s->job, &s->c, &s->request);
    s->request.instance = r->instance;
    r->under_way++;
    wr_submit(r->db, &s->request, on_done, s);
}

static uint64_t rows_of(const struct wr_reply *reply)
{
    if (reply->code)
        return 0;
    if (reply->op == WR_OP_GET_RANGE)
        return reply->range.row_count;
    if (reply->op == WR_OP_GET_STREAM_RECORD)
        return reply->stream_records.count;
    if (reply->op == WR_OP_BATCH_WRITE_ROW)
        return reply->batch.table_count ? reply->batch.tables[0].row_count : 0;
    return 1;
}

static int finish(struct room *r, struct slot *s)
{
    int code = s->reply->code, result = 0;
    bool again;

    if (code && !client_may_retry(code, true))
        result = fail(r->c, code, "%s", s->reply->message);
    else if (code == 0 && s->reply->op == WR_OP_GET_ROW &&
             !bench_load_fits(r->load, &s->job, s->reply->row.row.cell_count))
        result = fail(r->c, WR_E_CONDITION,
                      "a record is missing or of another shape; `widerow drop` the table");
    if (code == 0 && s->reply->op == WR_OP_START_LOCAL_TRANSACTION)
        result = bench_load_began(r->c, &s->job, s->reply);
    again = bench_load_done(r->load, &s->job, code, rows_of(s->reply), clock_mono_us(r->c->clock));
    wr_reply_free(s->reply);
    ctx_release(&s->c);
    r->under_way--;
    if (again && result == 0) {
        submit(r, s);
    } else {
        s->next = r->idle;
        r->idle = s;
    }
    return result;
}

/* Ends what is done; waits for something if nothing is, wait_us at most (below 0: any time). */
static int collect(struct room *r, int64_t wait_us)
{
    struct slot *s, *next;
    struct timespec until;
    int result = 0, code;

    pthread_mutex_lock(&r->mutex);
    if (!r->done && wait_us) {
        until = thread_time_in(wait_us < 0 ? 1000000 : wait_us);
        pthread_cond_timedwait(&r->wake, &r->mutex, &until);
    }
    s = r->done;
    r->done = NULL;
    pthread_mutex_unlock(&r->mutex);
    for (; s; s = next) {
        next = s->next;
        code = finish(r, s);
        if (code)
            result = code;
    }
    return result;
}

static int run(struct room *r)
{
    int64_t wait_us;
    struct slot *s;
    int code = 0;

    bench_load_start(r->load);
    for (;;) {
        wait_us = -1;
        while ((s = r->idle)) {
            if (code || !bench_load_next(r->load, clock_mono_us(r->c->clock), &s->job, &wait_us))
                break;
            r->idle = s->next;
            submit(r, s);
            wait_us = 0;
        }
        if (r->under_way == 0 && wait_us < 0)
            return code;
        if (collect(r, wait_us))
            code = r->c->code;
    }
}

int bench_run_local(struct ctx *c, struct bench_load *l, const struct target *t)
{
    struct room r = {.c = c, .load = l, .db = t->db, .instance = t->instance};
    size_t count = l->conf.connections;
    int code;

    pthread_mutex_init(&r.mutex, NULL);
    thread_cond_init(&r.wake);
    r.slots = mem_zalloc(count * sizeof(*r.slots));
    for (size_t i = 0; i < count; i++) {
        r.slots[i].room = &r;
        r.slots[i].next = r.idle;
        r.idle = &r.slots[i];
    }
    code = run(&r);
    bench_load_end(l);
    mem_free(r.slots);
    pthread_cond_destroy(&r.wake);
    pthread_mutex_destroy(&r.mutex);
    return code;
}
