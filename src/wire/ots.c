/* Operations by name, and by operation the message that goes with it. All lists are expanded from
 * op.def. */
#include "wire/ots.h"

#include "wire/ots_part.h"

const char ots_text_parse[] = "Parse PBMessage from RawString failed.";
const char ots_text_no_table[] = "Requested table does not exist (table not exist).";

int ots_fail_parse(struct ctx *c)
{
    return fail(c, E_PARAMETER, "%s", ots_text_parse);
}

int ots_array(struct ctx *c, size_t n, size_t item_bytes, void *out)
{
    void *p = arena_try_alloc(&c->arena, n * item_bytes);

    if (!p)
        return fail_code(c, E_MEMORY);
    memset(p, 0, n * item_bytes);
    memcpy(out, &p, sizeof(p));
    return 0;
}

int ots_views(struct ctx *c, size_t n, const ProtobufCBinaryData *fields, const bytes **out,
              size_t *count)
{
    bytes *views = NULL;

    *out = NULL;
    *count = n;
    if (n == 0)
        return 0;
    TRY(ots_array(c, n, sizeof(*views), &views));
    for (size_t i = 0; i < n; i++)
        views[i] = pb_view(fields[i]);
    *out = views;
    return 0;
}

/* ---- operations */

struct entry {
    bytes name;
    enum ots_route route;
    enum wr_op op;
};

static const struct entry entries[] = {
#define OP(constant, member, wire, class, request, ...)                                            \
    {{wire, sizeof(wire) - 1}, OTS_ROUTE_OP, WR_OP_##constant},
#define OP_EMPTY(wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_EMPTY, WR_OP_COUNT},
#define OP_STREAM(route, wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_##route, WR_OP_COUNT},
#define OP_SERVER(route, wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_##route, WR_OP_COUNT},
#define OP_NONE(wire) {{wire, sizeof(wire) - 1}, OTS_ROUTE_UNSUPPORTED, WR_OP_COUNT},
#include "op.def"
};

static const char *const names[WR_OP_COUNT] = {
#define OP(constant, member, wire, class, request, ...) [WR_OP_##constant] = wire,
#include "op.def"
};

static const ProtobufCMessageDescriptor *const descriptors[WR_OP_COUNT] = {
#define OP(constant, member, wire, class, request, ...)                                            \
    [WR_OP_##constant] = &ots__##request##_request__descriptor,
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
    return names[op];
}

/* ---- requests and answers */

int ots_decode(struct ctx *c, enum wr_op op, bytes body, struct wr_request *out)
{
    const void *message;

    *out = (struct wr_request){.op = op};
    TRY(pb_unpack(c, descriptors[op], body, ots_text_parse, &message));
    switch (op) {
#define OP(constant, member, wire, class, request, ...)                                            \
    case WR_OP_##constant:                                                                         \
        return ots_decode_##member(c, message, out);
#include "op.def"
    case WR_OP_COUNT:
        break;
    }
    return fail_code(c, E_UNSUPPORTED);
}

/* Reads of rows that programs do with a table that may not be there yet, and know by
 * OTSParameterInvalid and "table not exist" that it is not. */
static bool misses_table(const struct wr_request *req, int code)
{
    return code == E_NOT_EXIST && (req->op == WR_OP_GET_ROW || req->op == WR_OP_BATCH_GET_ROW ||
                                   req->op == WR_OP_GET_RANGE);
}

int ots_answer_code(const struct wr_request *req, int code)
{
    return misses_table(req, code) ? E_PARAMETER : code;
}

bytes ots_encode(struct ctx *c, const struct wr_request *req, const struct wr_reply *reply)
{
    if (misses_table(req, reply->code))
        return ots_encode_error(c, err_info(E_PARAMETER)->code, ots_text_no_table);
    if (reply->code)
        return ots_encode_error(c, err_info(reply->code)->code, reply->message);
    switch (req->op) {
#define OP(constant, member, wire, class, request, ...)                                            \
    case WR_OP_##constant:                                                                         \
        return ots_encode_##member(c, req, reply);
#include "op.def"
    case WR_OP_COUNT:
        break;
    }
    return BYTES_LIT("");
}

bytes ots_encode_error(struct ctx *c, const char *code, const char *message)
{
    struct buf b;

    buf_init(&b, &c->arena, 128);
    pb_put_bytes(&b, 1, bytes_str(code));
    pb_put_bytes(&b, 2, bytes_str(message));
    return buf_bytes(&b);
}
