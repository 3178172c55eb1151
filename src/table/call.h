/* call.h: a request under way. */
#ifndef TABLE_CALL_H
#define TABLE_CALL_H

#include "table/db.h"

/* Its context owns the reply and everything behind it. */
struct call {
    struct wr_reply reply; /* what the caller sees; wr_reply_free() finds the call around it */
    struct ctx c;
    struct wr_db *db;
    struct held_memory *held;
    const struct wr_request *req;
    wr_done_fn *done;
    void *arg;
    int64_t now_ms; /* clock_watch_ms() at the start: what expires by time uses this one reading */
    _Alignas(16) uint8_t first[4096]; /* the arena's first bytes */
};

/* Sends the reply: the code and text in call->c if that failed, else what stands in call->reply.
 * Nothing of the call may be touched afterwards. */
void call_finish(struct call *call);

/* E_BUSY when the request's deadline has passed. */
int call_check_deadline(struct call *call);

/* Counts as under way in `db` until call_finish(). */
struct call *call_new(struct wr_db *db, const struct wr_request *req, wr_done_fn *done, void *arg);

#endif
