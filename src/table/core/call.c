#include "table/core/call.h"

#include "table/model/op_info.h"

static void call_go_on(struct pool_job *job)
{
    struct call *call = PORT_CONTAINER(job, struct call, job);

    turn_begin(&call->turn, &call->c);
    call->go_on(call->go_on_arg);
}

bool call_enter(struct call *call, bool urgent)
{
    turn_begin(&call->turn, &call->c);
    if (call->cost != COST_MUCH || pool_here())
        return false;
    pool_submit(call->turn.pool, call->turn.client, &call->job, urgent);
    return true;
}

bool call_turn_over(const struct call *call)
{
    return turn_over(&call->turn, clock_mono_us(call->c.clock));
}

void call_charge(const struct call *call)
{
    int64_t now_us;

    if (call->cost == COST_LITTLE || pool_here())
        return;
    now_us = clock_mono_us(call->c.clock);
    pool_charge(call->turn.pool, call->turn.client, now_us - call->turn.start_us, now_us);
}

void call_yield(struct call *call)
{
    call_charge(call);
    pool_submit(call->turn.pool, call->turn.client, &call->job, false);
}

/* A large piece goes on as an answer, which is as large again. */
#define LARGE_BYTES (1 << 20)

static bool call_lacks(void *arg, size_t used, size_t size)
{
    struct call *call = arg;
    struct memory *m = &call->db->memory;
    size_t want = size < LARGE_BYTES ? size : 2 * size;

    if (!memory_lacks(m, want))
        return false;
    call->starved = used + want <= memory_most(m);
    return true;
}

void call_blame(struct call *call)
{
    if (call->c.code != E_MEMORY || !call->starved)
        return;
    ctx_clear(&call->c);
    fail(&call->c, E_BUSY, "Server is busy: other requests fill its memory (--memory).");
}

struct call *call_new(struct wr_db *db, const struct wr_request *req, wr_done_fn *done, void *arg)
{
    struct call *call = mem_alloc(sizeof(*call));

    call->reply = (struct wr_reply){.op = req->op, .message = ""};
    ctx_init(&call->c, &db->clock, &db->log, call->first, sizeof(call->first));
    call->c.arena.cap = (size_t)db_limits(db)->request_memory_max;
    call->held = held_memory_ref(db->memory.requests);
    arena_meter(&call->c.arena, &call->held->bytes);
    if (op_info(req->op)->class ==
        WR_CLASS_READ) { /* what a write takes came with its body, which was let in */
        call->c.arena.full = call_lacks;
        call->c.arena.full_arg = call;
    }
    call->txn = NULL;
    call->internal = false;
    call->starved = false;
    call->settled = false;
    call->diverted = false;
    call->series = NULL;
    call->at_end = NULL;
    call->c.deadline_ms = req->deadline_ms;
    call->db = db;
    call->lease_lost = 0;
    call->req = req;
    call->done = done;
    call->arg = arg;
    call->now_ms = clock_watch_ms(db);
    call->cost = cost_of(req);
    call->turn = (struct turn){
        .pool = db->pool,
        .client = req->client,
        .gone = op_info(req->op)->class == WR_CLASS_READ ? req->gone : NULL,
    };
    call->c.turn = &call->turn;
    turn_begin(&call->turn, &call->c);
    call->job.run = call_go_on;
    if (db->lease)
        call->lease_lost = atomic_load(&db->lease->lost);
    atomic_fetch_add(&db->requests, 1);
    return call;
}

void call_finish(struct call *call)
{
    struct wr_db *db = call->db;

    if (PORT_UNLIKELY(call->at_end != NULL))
        call->at_end(call);
    call->reply.memory = call->c.arena.used;
    call_blame(call);
    if (call->c.code) {
        call->reply.code = call->c.code;
        call->reply.message = call->c.text;
        if (call->c.code == E_INTERNAL || call->c.code == E_CORRUPT)
            log_error(&db->log, "request: %s at %s:%d", call->c.text, call->c.file, call->c.line);
    }
    call->done(call->arg, &call->reply);
    atomic_fetch_sub(&db->requests, 1);
}

int call_check_deadline(struct call *call)
{
    if (call->c.deadline_ms && clock_mono_ms(&call->db->clock) > call->c.deadline_ms)
        return fail_code(&call->c, E_BUSY);
    return E_OK;
}

int call_check_streams(struct call *call)
{
    if (call->db->keeps_streams)
        return E_OK;
    return fail(&call->c, E_UNSUPPORTED,
                "This storage engine keeps no records of changes: a table is made without "
                "stream_spec.");
}

void wr_reply_free(struct wr_reply *reply)
{
    struct held_memory *held;
    struct call *call;

    if (!reply)
        return;
    call = PORT_CONTAINER(reply, struct call, reply);
    held = call->held;
    ctx_release(&call->c);
    mem_free(call);
    held_memory_unref(held);
}
