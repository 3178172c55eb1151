/* The server's half: operations by name, and by operation how its messages are read and written. */
#include "wire/ots.h"

#include "wire/ots_part.h"

/* ---- operations */

struct op_entry {
    bytes name;
    enum ots_route route;
    enum wr_op op;
};

static const struct op_entry entries[] = {
#define OP(constant, member, wire, ...) {{wire, sizeof(wire) - 1}, OTS_ROUTE_OP, WR_OP_##constant},
#define OP_EMPTY(wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_EMPTY, WR_OP_COUNT},
#define OP_STREAM(route, wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_##route, WR_OP_COUNT},
#define OP_SERVER(route, wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_##route, WR_OP_COUNT},
#define OP_NONE(wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_UNSUPPORTED, WR_OP_COUNT},
#include "op.def"
};

/* How the messages of an operation are read and written. */
struct codec {
    const char *name;
    uint32_t size; /* of the request that is made */
    const ProtobufCMessageDescriptor *request;
    int (*decode)(struct ctx *c, const void *message, struct wr_request *out);
    bytes (*encode)(struct ctx *c, const struct wr_request *req, const struct wr_reply *reply);
};

static const struct codec codecs[WR_OP_COUNT] = {
#define OP(constant, member, wire, class, request, request_type, reply, ...)                       \
    [WR_OP_##constant] = {wire, WR_SIZE_##constant, &ots__##request##_request__descriptor,         \
                          ots_decode_##request##_request, ots_encode_##reply##_response},
#include "op.def"
};

enum ots_route ots_op_find(bytes path, enum wr_op *op)
{
    bytes name;

    if (path.len < 2 || *bytes_u8(path) != '/')
        return OTS_ROUTE_UNKNOWN;
    name = bytes_skip(path, 1);
    for (size_t i = 0; i < PORT_COUNT(entries); i++) {
        if (!bytes_equal(entries[i].name, name))
            continue;
        if (entries[i].route == OTS_ROUTE_OP)
            *op = entries[i].op;
        return entries[i].route;
    }
    return OTS_ROUTE_UNKNOWN;
}

const char *ots_op_name(enum wr_op op)
{
    return codecs[op].name;
}

bool ots_is_tunnel(enum wr_op op)
{
    return bytes_starts(bytes_str(codecs[op].name), BYTES_LIT("tunnel/"));
}

/* ---- requests and answers */

int ots_decode(struct ctx *c, enum wr_op op, bytes body, struct wr_request *out)
{
    const struct codec *codec = &codecs[op];
    const void *message;

    *out = (struct wr_request){.size = codec->size, .op = op};
    TRY(pb_unpack(c, codec->request, body, ots_text_parse, &message));
    return codec->decode(c, message, out);
}

/* Reads of rows that programs do with a table that may not be there yet, and know by
 * OTSParameterInvalid and "table not exist" that it is not. */
static bool misses_table(enum wr_op op, int code)
{
    return code == E_NOT_EXIST &&
           (op == WR_OP_GET_ROW || op == WR_OP_BATCH_GET_ROW || op == WR_OP_GET_RANGE);
}

/* What workers of tunnels go by: "not now" has one code, a table that is not there is a wrong
 * argument, and leave is refused in a word of their own. That the outcome is not known is "not now"
 * where the request may be sent again, which those may that change no table. */
static int tunnel_code(enum wr_op op, int code)
{
    if (!ots_is_tunnel(op))
        return code;
    switch (code) {
    case E_BUSY:
    case E_UNAVAILABLE:
    case E_PARTITION:
    case E_CONFLICT:
    case E_NO_SPACE:
    case E_NOT_READY:
    case E_CAPACITY:
    case E_HOT_PARTITION:
        return E_TUNNEL_UNAVAILABLE;
    case E_UNSURE:
        return wr_op_class(op) == WR_CLASS_TABLE ? code : E_TUNNEL_UNAVAILABLE;
    case E_NOT_EXIST:
        return E_PARAMETER;
    case E_PERMISSION:
        return E_TUNNEL_PERMISSION;
    default:
        return code;
    }
}

int ots_answer_code(enum wr_op op, int code)
{
    if (PORT_LIKELY(code == E_OK))
        return E_OK;
    return misses_table(op, code) ? E_PARAMETER : tunnel_code(op, code);
}

bytes ots_encode(struct ctx *c, const struct wr_request *req, const struct wr_reply *reply)
{
    if (misses_table(req->op, reply->code))
        return ots_encode_error(c, err_info(E_PARAMETER)->code, ots_text_no_table);
    if (reply->code)
        return ots_encode_error(c, err_info(ots_answer_code(req->op, reply->code))->code,
                                reply->message);
    return codecs[req->op].encode(c, req, reply);
}
