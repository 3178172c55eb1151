/* reply.h: what a MySQL server says that is no row: done, failed, end of a list, and what a column
 * of a result is. Each function writes the payload of one packet. */
#ifndef SQL_MYSQL_REPLY_H
#define SQL_MYSQL_REPLY_H

#include "sql/mysql/handshake.h"
#include "sql/result.h"

enum reply_status {
    REPLY_IN_TRANSACTION = 1 << 0,
    REPLY_AUTOCOMMIT = 1 << 1,
    REPLY_MORE_RESULTS = 1 << 3,
};

struct reply_done {
    uint64_t affected; /* rows */
    uint16_t status;   /* of reply_status */
    uint16_t warnings;
    bytes info; /* a sentence, or nothing */
};

void reply_done_put(struct buf *b, const struct reply_done *d);

/* `state` is the five characters of SQLSTATE. */
void reply_error_put(struct buf *b, uint16_t number, const char *state, bytes text);

/* The end of columns or rows, in the form that the client knows: `capabilities` are the
 * connection's. With CAN_DEPRECATE_EOF columns have no end: nothing is to be sent behind them. */
void reply_end_put(struct buf *b, uint32_t capabilities, uint16_t status, uint16_t warnings);

void column_put(struct buf *b, const struct column *c);

/* The protocol's number of a type, and whether its values are unsigned. */
uint8_t column_code(enum wr_type type);

#endif
