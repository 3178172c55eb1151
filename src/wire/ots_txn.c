/* Local transactions, both ways. */
#include "wire/ots_part.h"

int ots_decode_start_local_transaction_request(struct ctx *c, const void *message,
                                               struct wr_request *out)
{
    const Ots__StartLocalTransactionRequest *m = message;
    struct wr_start_transaction *start = &out->start_local_transaction;

    start->table = pb_view(m->table_name);
    return plain_decode_key(c, pb_view(m->key), &start->key);
}

void ots_encode_start_local_transaction_request(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->start_local_transaction.table);
    ots_put_key(b, 2, &req->start_local_transaction.key);
}

bytes ots_encode_start_local_transaction_response(struct ctx *c, const struct wr_request *req,
                                                  const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 64);
    pb_put_bytes(&b, 1, reply->transaction.id);
    return buf_bytes(&b);
}

int ots_decode_start_local_transaction_response(struct ctx *c, const void *message,
                                                struct wr_reply *out)
{
    const Ots__StartLocalTransactionResponse *m = message;

    (void)c;
    out->transaction.id = pb_view(m->transaction_id);
    return 0;
}

/* CommitTransaction and AbortTransaction share their message and their struct. */
int ots_decode_end_transaction_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__EndTransactionRequest *m = message;

    (void)c;
    out->commit_transaction.id = pb_view(m->transaction_id);
    return 0;
}

void ots_encode_end_transaction_request(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->commit_transaction.id);
}

/* The service's answer is empty. The SDK for Node.js takes it for a request, which has an id; all
 * others pass over a field that they do not know. */
bytes ots_encode_abort_transaction_response(struct ctx *c, const struct wr_request *req,
                                            const struct wr_reply *reply)
{
    struct buf b;

    (void)reply;
    buf_init(&b, &c->arena, 64);
    pb_put_bytes(&b, 1, req->abort_transaction.id);
    return buf_bytes(&b);
}

int ots_decode_abort_transaction_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    (void)c;
    (void)message;
    (void)out;
    return 0;
}
