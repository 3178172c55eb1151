#include "table/model/op_info.h"

#define AT(path) offsetof(struct wr_request, path)
#define NO_TABLE .table = 0
#define ONE(path) .table = AT(path)
#define TWO(path, other) .table = AT(path), .second = AT(other)
#define EACH(path, count, type, name)                                                              \
    .list = {AT(path), AT(count), sizeof(struct type), offsetof(struct type, name)}
#define ONE_AND_EACH(one, path, count, type, name) ONE(one), EACH(path, count, type, name)
#define NO_TRANSACTION .transaction = 0
#define IN(path) .transaction = AT(path)

static const struct op_info infos[WR_OP_COUNT + 1] = {
#define OP(constant, member, wire, kind, request, request_type, reply, reply_member, reply_type,   \
           cost, start, tables, transaction_at)                                                    \
    [WR_OP_##constant] = {.class = WR_CLASS_##kind, tables, transaction_at},
#include "op.def"
    [WR_OP_COUNT] = {.class = WR_CLASS_DESCRIBE},
};

const struct op_info *op_info(enum wr_op op)
{
    return &infos[(unsigned)op < WR_OP_COUNT ? op : WR_OP_COUNT];
}

enum wr_op_class wr_op_class(enum wr_op op)
{
    return op_info(op)->class;
}
