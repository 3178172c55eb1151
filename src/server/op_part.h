/* op_part.h: an exchange that asks for an operation, for the files that serve it. */
#ifndef SERVER_OP_PART_H
#define SERVER_OP_PART_H

#include "server/op_digest.h"
#include "server/op_door.h"
#include "wire/ots.h"
#include "wire/sign.h"

#define UUID_TEXT 36
#define HEADERS_OUT 16

struct op_exchange {
    struct op_front *front;
    struct http_request *r;
    enum ots_route route;
    enum wr_op op;                 /* OTS_ROUTE_OP only */
    const struct credential *cred; /* NULL: not known */
    const struct sign_key *answer_key;
    struct sign_v4_key v4;
    bool compress;       /* the client understands a compressed answer */
    bool counted;        /* in front->requests */
    bool late;           /* answered at its deadline, while its write goes on */
    int64_t deadline_ms; /* monotonic; for the database */
    atomic_bool settled; /* a write: the database has answered, or the deadline has passed */
    struct wr_request request;
    struct arena_mark decoded; /* the request's arena without what the reply put there */
    struct wr_reply *reply;
    char id[UUID_TEXT + 1];
    char date[SIGN_DATE_TEXT + 1];
    char digest[SIGN_MD5_TEXT + 1];
    struct http_header out[HEADERS_OUT];
    size_t out_count;
};

/* A cell as a stream: its body is no message. */
static inline bool op_is_stream(const struct op_exchange *op)
{
    return op->route == OTS_ROUTE_PUT_CELL || op->route == OTS_ROUTE_GET_CELL;
}

/* For messages: bytes from outside, cut short and without anything unprintable. */
const char *op_shown(struct ctx *c, bytes b);

/* From the headers alone: who asks, and whether for something that there is. */
int op_admit(struct op_exchange *op);

/* Records what the transport found wrong. */
int op_fail_fault(struct op_exchange *op);

/* The body's digest against what the client says; then the body as the client meant it before it
 * was compressed. */
int op_check_digest(struct op_exchange *op, const uint8_t sum[MD5_BYTES]);
int op_inflate(struct op_exchange *op, bytes *body);

/* `code`, which the keys and grants that we know come to. If it is a refusal and others may have
 * changed them, the client should rather try again. */
int op_unless_stale(struct op_exchange *op, int code);

/* For the transport and for turns: all connections of one access key are one client's. */
uint64_t op_client(const struct op_exchange *op);

/* Admits one more request, if there is room; and releases it. It is under way until its answer is
 * handed over, or it goes without one. */
int op_enter(struct op_exchange *op);
void op_leave(struct op_exchange *op);

/* Adds a header to the answer; what begins with x-ots- will be signed. */
void op_header(struct op_exchange *op, bytes name, const char *value);
void op_sign(struct op_exchange *op, size_t raw_size);

/* The last step; the op and its request must not be touched afterwards. */
void op_answer(struct op_exchange *op, int code, bytes body);
void op_refuse(struct op_exchange *op); /* with the failure that the context recorded */

/* Counts and logs the answer: for who sends it in another way. */
void op_end(struct op_exchange *op, int code, int status, size_t out_bytes);

#endif
