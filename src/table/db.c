/* db.c: a request's way through a database. */
#include "table/catalog/catalog.h"
#include "table/core/call.h"
#include "table/core/form.h"
#include "table/blob/stream.h"
#include "table/maint/index_local.h"
#include "table/model/name.h"
#include "table/model/op_info.h"
#include "table/series/series_call.h"
#include "table/sync/reply_wait.h"
#include "table/txn/txn.h"

/* Of indexes that a table is made with, the names are its description's. */
static int check_names(struct call *call, const struct op_info *info)
{
    int (*check)(struct ctx * c, bytes name) =
        info->class == WR_CLASS_READ || info->class == WR_CLASS_DESCRIBE
            ? name_check_table_or_period
            : name_check_table;
    bytes name;

    if (info->table)
        return check(&call->c, op_bytes_at(call->req, info->table));
    for (size_t i = 0; wr_request_table(call->req, i, &name); i++)
        TRY(check(&call->c, name));
    return E_OK;
}

/* The function of its operation. */
static int start_op(struct call *call)
{
    static int (*const starts[WR_OP_COUNT])(struct call *) = {
#define OP(constant, member, wire, class, request, request_type, reply, reply_member, reply_type,  \
           cost, start, ...)                                                                       \
    [WR_OP_##constant] = start,
#include "op.def"
    };

    return (unsigned)call->req->op < WR_OP_COUNT ? starts[call->req->op](call)
                                                 : fail_code(&call->c, E_UNSUPPORTED);
}

/* The call is in its transaction. */
static void start_inside(void *arg)
{
    struct call *call = arg;

    if (start_op(call))
        call_finish(call);
}

static int start(struct call *call)
{
    const struct op_info *info = op_info(call->req->op);
    bytes id = info->transaction ? op_bytes_at(call->req, info->transaction) : BYTES_NONE;

    if (id.ptr && !txn_is_id(id))
        return fail(&call->c, E_PARAMETER, "TransactionID is invalid.");
    TRY(call_check_deadline(call));
    TRY(check_names(call, info));
    if (PORT_UNLIKELY(id.ptr != NULL)) {
        int code = txn_enter(call, id, start_inside);

        if (code)
            return code == E_LATER ? E_OK : code;
    }
    return start_op(call);
}

static void call_again(struct call *call);

/* Runs it; where that is. */
static void call_run(void *arg)
{
    struct call *call = arg;

    if (PORT_UNLIKELY(call->db->local_indexes != NULL) && !call->settled) {
        call->settled = true;
        if (local_index_waits(call->db->local_indexes, call, call_run))
            return;
    }
    if (start(call)) {
        if (PORT_UNLIKELY(call->diverted))
            series_call(call, call_again);
        else
            call_finish(call);
    }
}

static void call_again(struct call *call)
{
    call_run(call);
}

/* True: it begins on a worker instead of here. */
static bool call_begins_there(const struct call *call)
{
    const struct turn *t = &call->turn;

    if (call->cost == COST_LITTLE || pool_here())
        return false;
    return call->cost == COST_MUCH || !pool_has_credit(t->pool, t->client, t->start_us);
}

static void call_begin(struct call *call)
{
    call->go_on = call_run;
    call->go_on_arg = call;
    if (call_begins_there(call))
        pool_submit(call->db->pool, call->req->client, &call->job, false);
    else
        call_run(call);
}

/* A request of a program with another header, as this library has it. */
struct foreign {
    struct wr_request request;
    wr_done_fn *done;
    void *arg;
};

static void foreign_done(void *arg, struct wr_reply *reply)
{
    struct foreign *f = arg, copy = *f;

    mem_free(f);
    copy.done(copy.arg, reply);
}

static void submit_foreign(struct wr_db *db, const struct wr_request *request, wr_done_fn *done,
                           void *arg)
{
    struct foreign *f = mem_alloc(sizeof(*f));
    const char *text = form_read_request(&f->request, request);
    struct call *call;

    f->done = done;
    f->arg = arg;
    if (!text) {
        wr_submit(db, &f->request, foreign_done, f);
        return;
    }
    call = call_new(db, &f->request, foreign_done, f);
    fail(&call->c, E_PARAMETER, "%s", text);
    call_finish(call);
}

void wr_submit(struct wr_db *db, const struct wr_request *request, wr_done_fn *done, void *arg)
{
    if (PORT_UNLIKELY(!form_is_own(request))) {
        submit_foreign(db, request, done, arg);
        return;
    }
    if ((request->op == WR_OP_PUT_ROW || request->op == WR_OP_UPDATE_ROW) &&
        cell_stage(db, request, done, arg))
        return;
    call_begin(call_new(db, request, done, arg));
}

/* What a front has to do there. */
struct work {
    struct pool_job job;
    void (*run)(void *arg);
    void *arg;
};

static void work_run(struct pool_job *job)
{
    struct work *w = PORT_CONTAINER(job, struct work, job);
    struct work copy = *w;

    mem_free(w);
    copy.run(copy.arg);
}

static struct pool_job *work_new(void (*run)(void *arg), void *arg)
{
    struct work *w = mem_alloc(sizeof(*w));

    *w = (struct work){{.run = work_run}, run, arg};
    return &w->job;
}

void wr_work(struct wr_db *db, uint64_t client, void (*run)(void *arg), void *arg)
{
    pool_submit(db->pool, client, work_new(run, arg), false);
}

void wr_work_last(struct wr_db *db, uint64_t client, int64_t patience_us, void (*run)(void *arg),
                  void *arg)
{
    pool_submit_last(db->pool, client, work_new(run, arg), patience_us);
}

bool wr_is_worker(void)
{
    return pool_here();
}

/* The thread has nothing else to do: what the request needs of the disk it reads itself. */
struct wr_reply *wr_exec(struct wr_db *db, const struct wr_request *request)
{
    struct reply_wait r;

    reply_wait_init(&r);
    turn_wait_here(true);
    wr_submit(db, request, reply_wait_done, &r);
    turn_wait_here(false);
    return reply_wait_end(&r);
}

/* The id and the version of the description as one number. Versions grow by a few in a day. */
uint64_t wr_table_state(struct wr_db *db, struct wr_bytes instance, struct wr_bytes table)
{
    struct table *t = NULL;
    uint64_t state = 0;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    if (!catalog_check(&c, db->catalog))
        t = catalog_get(db->catalog, instance, table);
    ctx_release(&c);
    if (t) {
        state = (uint64_t)t->schema.id << 32 | (uint32_t)t->schema.version;
        table_release(t);
    }
    return state;
}

struct wr_reply *db_exec_internal(struct wr_db *db, const struct wr_request *request)
{
    struct reply_wait r;
    struct call *call;

    reply_wait_init(&r);
    call = call_new(db, request, reply_wait_done, &r);
    call->internal = true;
    call_begin(call);
    return reply_wait_end(&r);
}
