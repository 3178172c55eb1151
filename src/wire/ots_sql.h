/* ots_sql.h: the messages of SQLQuery. It is no operation of widerow.h, whose requests know nothing
 * of SQL: the front runs the statement and has its rows written here, as FlatBuffers or PlainBuffer
 * (doc/wire.md, "SQLQuery"). */
#ifndef WIRE_OTS_SQL_H
#define WIRE_OTS_SQL_H

#include "base/ctx.h"
#include "wire/flat.h"

enum ots_sql_payload { OTS_SQL_PLAIN = 1, OTS_SQL_FLAT = 2 };

struct ots_sql_query {
    bytes sql;
    enum ots_sql_payload payload;
    bool moments; /* the client knows DATETIME, DATE and TIME; else they are texts */
};

/* E_PARAMETER with the text that the client gets, E_MEMORY. `sql` is not in the body. */
int ots_sql_decode(struct ctx *c, bytes body, struct ots_sql_query *out);

struct ots_sql_consumed {
    bytes table;
    int32_t read;
};

struct ots_sql_answer {
    int type; /* SQLStatementType */
    enum ots_sql_payload payload;
    const struct flat_rows *rows; /* NULL: the statement has none */
    const struct ots_sql_consumed *consumed;
    size_t consumed_count;
};

/* The body of a 200 answer, in the arena of `c`. E_MEMORY at its cap. */
int ots_sql_encode(struct ctx *c, const struct ots_sql_answer *answer, bytes *out);

#endif
