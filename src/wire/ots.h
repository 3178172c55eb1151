/* ots.h: the messages of the Tablestore protocol <-> the structs of widerow.h.
 *
 * Checks of form are made here, checks of meaning in the table layer. What a decoded request holds
 * points into the body, so the body must live and stay unchanged as long as the request. All
 * memory comes from the arena of `c`; what a hostile body can make us take is bounded by that
 * arena's cap. */
#ifndef WIRE_OTS_H
#define WIRE_OTS_H

#include "base/ctx.h"
#include "widerow.h"

/* What is nested deeper in a filter is not read; the filter then holds one that has no end, which
 * counts as more than any limit on filters (doc/data-model.md, "Limits"). */
#define OTS_FILTER_DEPTH_MAX 64

/* What a path of the HTTP front is. */
enum ots_route {
    OTS_ROUTE_UNKNOWN,     /* no operation of this protocol */
    OTS_ROUTE_OP,          /* served: *op says which */
    OTS_ROUTE_EMPTY,       /* answered with an empty message, whatever was asked */
    OTS_ROUTE_PUT_CELL,    /* one cell as a stream, in */
    OTS_ROUTE_GET_CELL,    /* and out */
    OTS_ROUTE_OPEN_BACKUP, /* leave to make a backup: text, no message */
    OTS_ROUTE_SQL_QUERY,   /* a statement (ots_sql.h) */
    OTS_ROUTE_UNSUPPORTED, /* an operation of this protocol that this server does not do */
};

/* `path` starts with its slash ("/GetRow"); case counts. *op is set for OTS_ROUTE_OP only. */
enum ots_route ots_op_find(bytes path, enum wr_op *op);

/* The wire name of an operation, "GetRow". */
const char *ots_op_name(enum wr_op op);

/* Is it one of tunnels, whose clients are a protocol of their own? */
bool ots_is_tunnel(enum wr_op op);

/* Reads the body of a request. Fills op and the member of that op; instance and deadline are the
 * caller's. Errors: E_PARAMETER with the text that the client gets, E_MEMORY. */
int ots_decode(struct ctx *c, enum wr_op op, bytes body, struct wr_request *out);

/* The code that a request of `op` which came to `code` is answered with: its status goes before the
 * body, and that is what counters and logs say. It differs where the protocol tells an outcome in
 * another way than widerow.h. */
int ots_answer_code(enum wr_op op, int code);

/* The body of the answer to `req`: for code 0 that of a 200 answer, else an Error message. The
 * result does not point into the reply. 0 bytes for an empty message; ptr is never NULL. */
bytes ots_encode(struct ctx *c, const struct wr_request *req, const struct wr_reply *reply);

/* Before a GetRange is submitted: its rows are written into the answer's body as they are read.
 * ots_encode() completes that body. Other operations stay as they are. */
void ots_stream_rows(struct ctx *c, struct wr_request *req);

/* The body of an answer with an error: the Tablestore code and the text. */
bytes ots_encode_error(struct ctx *c, const char *code, const char *message);

#endif
