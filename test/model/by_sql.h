/* by_sql.h: requests of the model that go by SQL, where it can say them (test/spec/door_beside.c):
 * writes by statements alone, and reads by both, which have to agree. */
#ifndef MODEL_BY_SQL_H
#define MODEL_BY_SQL_H

#include "base/ctx.h"
#include "widerow.h"

struct by_sql;

/* What came of a request. */
struct by_sql_answer {
    struct wr_reply reply;
    struct wr_reply *owned; /* the same, to be freed; NULL: SQL alone was asked */
    const char *fault;      /* SQL gave other rows; NULL: it did not */
};

/* Ends the process with a message if it cannot be had. */
struct by_sql *by_sql_open(struct wr_db *db, const char *instance);
/* NULL is allowed. */
void by_sql_close(struct by_sql *s);

/* `c` has the memory of the fault. */
struct by_sql_answer by_sql_exec(struct by_sql *s, struct ctx *c, const struct wr_request *req);

/* How many requests were said in SQL so far. */
uint64_t by_sql_count(const struct by_sql *s);

#endif
