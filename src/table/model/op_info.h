/* op_info.h: what a row of src/op.def says of an operation: its class, and where its requests name
 * tables and transactions. Which function runs it is db.c's. */
#ifndef TABLE_MODEL_OP_INFO_H
#define TABLE_MODEL_OP_INFO_H

#include "base/bytes.h"
#include "widerow.h"

/* Where a request names several tables: offsets in wr_request of a list and its length, the size of
 * an item, and the offset of the name in it. */
struct op_list {
    uint16_t items, count, size, name;
};

struct op_info {
    enum wr_op_class class;
    uint16_t table;       /* offset in wr_request of the one table's name; 0: there is none */
    uint16_t second;      /* of another one's; 0: there is none */
    uint16_t transaction; /* of a transaction's id; 0: there is none */
    struct op_list list;  /* items 0: there is none */
};

/* Never NULL: what is no operation names nothing. */
const struct op_info *op_info(enum wr_op op);

/* The bytes at one of these offsets. */
static inline bytes op_bytes_at(const struct wr_request *request, uint16_t offset)
{
    return *(const bytes *)((const char *)request + offset);
}

/* The one table that it names. */
static inline bytes request_table(const struct wr_request *request)
{
    return op_bytes_at(request, op_info(request->op)->table);
}

#endif
