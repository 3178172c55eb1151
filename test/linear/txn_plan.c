/* txn_plan.c: transactions as operations of the history.
 *
 * From its start to its end nobody else writes rows of the group. So all that a transaction has
 * read and written may be recorded as one operation between the call of its commit (or abort) and
 * the answer: what it read is what is there then. That is the strictest form: a reader who saw
 * something of it earlier, or a writer who came in between, cannot be explained. */
#include "workload.h"

#include <stdio.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* p->steps stay until the next one of this client. */
void plan_txn(struct worker *k, struct plan *p, int group)
{
    p->aborts = rng_below(&k->rng, 4) == 0;
    p->count = 1;
    p->steps = k->steps;
    p->ops[0] = (struct op){.type = OP_TXN, .group = (uint16_t)group, .steps = k->step_ops};
    p->ops[0].step_count = (uint8_t)(2 + rng_below(&k->rng, TXN_STEPS - 1));
    for (int i = 0; i < p->ops[0].step_count; i++)
        plan_step(k, &p->steps[i], group, (int)rng_below(&k->rng, GROUP_ROWS));
}

bool txn_start(struct worker *k, int group, char id[TXN_TEXT])
{
    struct wr_request req = {.op = WR_OP_START_LOCAL_TRANSACTION};
    struct wr_reply reply;
    struct ctx c;
    int code;

    ctx_init(&c, &k->w->server->clock, NULL, NULL, 0);
    req.start_local_transaction = (struct wr_start_transaction){
        .table = bytes_str(k->w->conf.table), .key = workload_value_key(k, &c.arena, group)};
    code = workload_exec(k, &c, &req, &reply);
    if (code != WR_E_CONFLICT && wr_error_status(code) / 100 == 4)
        worker_problem(k, "a transaction was not begun", code, c.text);
    if (!code)
        snprintf(id, TXN_TEXT, "%.*s", (int)reply.transaction.id.len,
                 (const char *)reply.transaction.id.ptr);
    ctx_release(&c);
    return code == 0;
}

int txn_end(struct worker *k, const char *id, bool aborts)
{
    struct wr_request req = {.op = aborts ? WR_OP_ABORT_TRANSACTION : WR_OP_COMMIT_TRANSACTION};
    struct wr_reply reply;
    struct ctx c;
    int code;

    ctx_init(&c, &k->w->server->clock, NULL, NULL, 0);
    req.commit_transaction.id = bytes_str(id);
    code = workload_exec(k, &c, &req, &reply);
    if (wr_error_status(code) / 100 == 4 && !(code == WR_E_SESSION && k->w->conf.disturb))
        worker_problem(k, "a transaction was not ended", code, c.text);
    ctx_release(&c);
    return code;
}

bool txn_steps(struct worker *k, struct plan *p, const char *id, int from, int to)
{
    bool ok = true;

    for (int i = from; i < to && ok; i++) {
        struct plan *step = &p->steps[i];

        k->transaction = id ? bytes_str(id) : BYTES_NONE;
        plan_issue(k, step);
        k->transaction = BYTES_NONE;
        step->goes_on = false;
        ok = step->ops[0].outcome == DONE || step->ops[0].outcome == REFUSED;
    }
    return ok;
}

void txn_finish(struct plan *p, uint8_t outcome)
{
    struct op *o = &p->ops[0];

    o->outcome = outcome;
    o->rows = 0;
    for (int i = 0; i < o->step_count; i++) {
        o->steps[i] = p->steps[i].ops[0];
        o->rows |= o->steps[i].rows;
    }
}

/* A commit without an answer may yet have happened. */
static uint8_t end_outcome(int code, bool aborts)
{
    if (code)
        return aborts || wr_error_applied(code) == 0 ? NOTHING : MAYBE;
    return aborts ? REFUSED : DONE;
}

void plan_issue_txn(struct worker *k, struct plan *p)
{
    uint8_t outcome = NOTHING;
    char id[TXN_TEXT];
    int code = 0;

    if (txn_start(k, p->ops[0].group, id)) {
        if (txn_steps(k, p, id, 0, p->ops[0].step_count)) {
            p->end_ns = now_ns();
            code = txn_end(k, id, p->aborts);
            outcome = end_outcome(code, p->aborts);
        }
        if (outcome == NOTHING) { /* not to be left open for a minute */
            int64_t answer_ns = k->answer_ns;

            txn_end(k, id, true);
            k->answer_ns = answer_ns;
        }
    }
    txn_finish(p, outcome);
}
