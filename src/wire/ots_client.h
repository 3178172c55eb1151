/* ots_client.h: the client's half of ots.h: requests become bytes, answers become structs.
 *
 * For programs that speak to a server over HTTP (our command line, our tests). All results live in
 * the arena of `c` and may point into the bytes they were read from, so those must live as long.
 *
 * A call goes like this: POST ots_client_path(op) with the body of ots_encode_request(), signed
 * (sign.h). Status 200: ots_decode_reply(). Any other status: ots_decode_error(). */
#ifndef WIRE_OTS_CLIENT_H
#define WIRE_OTS_CLIENT_H

#include "base/ctx.h"
#include "widerow.h"

/* "/GetRow": what to POST to. Never NULL for a valid op. */
const char *ots_client_path(enum wr_op op);

/* The body of a request, for every operation; 0 bytes for an empty message. `req->instance` and
 * `req->deadline_ms` are not in the body: they travel in headers or not at all. */
bytes ots_encode_request(struct ctx *c, const struct wr_request *req);

/* The body of a 200 answer to `op`. On success out->code is 0, out->message "", and the member of
 * `op` (enum wr_op) is filled as the database would have filled it, as far as the wire carries it.
 * Rows of a batch that failed have their own code and message. A BulkExport answer in the matrix
 * format is given as rows too. Errors: E_PARAMETER if the bytes are not such an answer (`c` has the
 * text), E_MEMORY. */
int ots_decode_reply(struct ctx *c, enum wr_op op, bytes body, struct wr_reply *out);

/* The body of an answer that is not 200: the Tablestore code ("OTSObjectNotExist") and the text
 * ("" if there was none). E_PARAMETER if the body is not an Error message (something that is not a
 * server of ours answered). */
int ots_decode_error(struct ctx *c, bytes body, bytes *code, bytes *message);

/* The enum wr_error that an answer with this Tablestore code and text tells; where neither says
 * more, the first that has the code. WR_E_INTERNAL if none has. */
int ots_error_of(bytes code, bytes message);

#endif
