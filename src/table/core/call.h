/* call.h: a request under way. */
#ifndef TABLE_CORE_CALL_H
#define TABLE_CORE_CALL_H

#include "base/turn.h"
#include "table/core/db.h"
#include "table/model/cost.h"

struct call_series;
struct txn;

/* Its context owns the reply and everything behind it. */
struct call {
    struct wr_reply reply; /* what the caller sees; wr_reply_free() finds the call around it */
    struct ctx c;
    struct wr_db *db;
    struct held_memory *held;
    struct txn *txn; /* that it works in (txn/txn.h); NULL: none */
    const struct wr_request *req;
    wr_done_fn *done;
    void *arg;
    uint64_t lease_lost; /* of db->lease, before any table was looked up */
    int64_t now_ms; /* clock_watch_ms() at the start: what expires by time uses this one reading */
    enum cost cost;
    bool internal; /* db_exec_internal() */
    bool settled;  /* the local indexes that it reads are not behind */
    bool starved;  /* memory was refused that the request would have had without others */
    bool diverted; /* it names a series that is not among `series`: it begins anew with it there */
    struct call_series *series;        /* that it works on (call_series.h); NULL: none */
    void (*at_end)(struct call *call); /* lets go of what it holds; NULL: of nothing */
    struct turn turn;
    struct pool_job job; /* goes on with go_on(go_on_arg) */
    void (*go_on)(void *arg);
    void *go_on_arg;
    _Alignas(16) uint8_t first[4096]; /* the arena's first bytes */
};

/* Sends the reply: the code and text in call->c if that failed, else what stands in call->reply.
 * Nothing of the call may be touched afterwards. */
void call_finish(struct call *call);

/* The failure in call->c is for want of memory, and others are to blame: it becomes E_BUSY. */
void call_blame(struct call *call);

/* E_BUSY when the request's deadline has passed. */
int call_check_deadline(struct call *call);

/* E_UNSUPPORTED where no streams are kept: neither are they read there, nor switched on. */
int call_check_streams(struct call *call);

/* A turn begins, because the request was woken. True: it is work for a worker and this thread is
 * none; call->go_on(call->go_on_arg) will be called there, perhaps before this returns. `urgent`:
 * it holds a row lock. */
bool call_enter(struct call *call, bool urgent);

/* Between two rows, see turn_step(); goes on as call_enter() does. */
static inline int call_step(struct call *call)
{
    return turn_step(&call->c, &call->job, false);
}

/* Its turn is over, and it should give way as soon as it can. */
bool call_turn_over(const struct call *call);
/* The walk over a request's rows has ended: what it took of a thread on which others wait is put
 * down to its client. */
void call_charge(const struct call *call);
/* Goes on with call->go_on(call->go_on_arg) on a worker. */
void call_yield(struct call *call);

/* The function of each operation (src/op.def) begins it: 0, and it finishes the call, now or later;
 * or the failure that it recorded in call->c, and nothing is under way. Before it is called the
 * deadline has been checked, and the names of tables. */
#define OP(constant, member, wire, class, request, request_type, reply, reply_member, reply_type,  \
           cost, start, ...)                                                                       \
    int start(struct call *call);
#include "op.def"

/* Counts as under way in `db` until call_finish(). */
struct call *call_new(struct wr_db *db, const struct wr_request *req, wr_done_fn *done, void *arg);

#endif
