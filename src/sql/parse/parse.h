/* parse.h: from the text of a statement to its tree. */
#ifndef SQL_PARSE_PARSE_H
#define SQL_PARSE_PARSE_H

#include "base/ctx.h"
#include "sql/parse/tree.h"

/* Why a statement is none: what stands where, as a client is told. */
struct parse_fault {
    size_t at;  /* in bytes from the beginning */
    int line;   /* from 1 */
    int column; /* in characters, from 1 */
    bytes text; /* one sentence */
};

/* One statement, which may end with a semicolon. The tree, whose texts may point into `sql`, lives
 * in the arena. E_PARAMETER: `*fault` says why, in the arena, too. */
int parse_statement(struct arena *a, bytes sql, struct statement **out, struct parse_fault *fault);

#endif
