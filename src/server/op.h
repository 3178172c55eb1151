/* op.h: the Tablestore front: an HTTP request becomes a request of widerow.h, its reply an answer.
 *
 * Route by path, admit (headers, date, signature, digest, instance, room), decode, check what the
 * access key may do (grant.h), submit, encode, sign. Every answer carries the headers that SDKs
 * check, and is signed if the access key is known. */
#ifndef SERVER_OP_H
#define SERVER_OP_H

#include "server/op_door.h"

/* http_conf.on_head and on_request, with the front as `arg`. Without the first, the second makes
 * all checks. */
void op_on_head(void *arg, struct http_request *r);
void op_on_request(void *arg, struct http_request *r);

#endif
