/* The client's half: by operation how its messages are written and read. */
#include "wire/ots_client.h"

#include "wire/ots_part.h"

struct codec {
    const char *path;
    const ProtobufCMessageDescriptor *reply;
    void (*encode)(struct buf *b, const struct wr_request *req);
    int (*decode)(struct ctx *c, const void *message, struct wr_reply *out);
};

static const struct codec codecs[WR_OP_COUNT] = {
#define OP(constant, member, wire, class, request, request_type, reply, ...)                       \
    [WR_OP_##constant] = {"/" wire, &ots__##reply##_response__descriptor,                          \
                          ots_encode_##request##_request, ots_decode_##reply##_response},
#include "op.def"
};

const char *ots_client_path(enum wr_op op)
{
    return codecs[op].path;
}

bytes ots_encode_request(struct ctx *c, const struct wr_request *req)
{
    struct buf b;

    buf_init(&b, &c->arena, 512);
    codecs[req->op].encode(&b, req);
    return buf_bytes(&b);
}

int ots_decode_reply(struct ctx *c, enum wr_op op, bytes body, struct wr_reply *out)
{
    const struct codec *codec = &codecs[op];
    const void *message;

    *out = (struct wr_reply){.op = op, .message = ""};
    TRY(pb_unpack(c, codec->reply, body, ots_text_reply, &message));
    return codec->decode(c, message, out);
}
