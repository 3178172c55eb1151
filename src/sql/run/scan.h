/* scan.h: tables as SQLite sees them: virtual ones, of which a cursor is a GetRange over the part
 * of a key that the statement bounds: the table's own, or that of an index. What an index lacks is
 * read by the row's key, page by page; an entry whose row is no longer as it says is passed over,
 * and SQLite checks all conditions again.
 *
 * SQLite asks for plans with the bounds that each would have (xBestIndex). A plan that would read
 * the whole table although the statement has conditions is refused there, unless the statement
 * allows it: so no plan slips past. Conditions of a form that SQLite does not show (a OR b,
 * functions) count as well. */
#ifndef SQL_RUN_SCAN_H
#define SQL_RUN_SCAN_H

#include "sql/run/plan.h"
#include "sql/run/render.h"
#include "sql/run/span.h"
#include "sql/run/walks.h"

struct sqlite3;
struct sqlite3_value;
struct sqlite3_context;

/* What SQLite calls our functions with: the statement that runs, one at a time a session. */
struct scan_module {
    struct run *run; /* NULL: none runs */
    struct plan_wishes wishes;
    struct span span;
    const struct sql_table *refused; /* a plan was, for the table, and ... */
    bytes advice;                    /* ... what would let it be served (plan_advice) */
    struct rendered_table *tables;
    struct walks *walks; /* of EXPLAIN: walks are noted, and end behind a page; NULL: it is none */
};

/* Makes the module known to a new SQLite connection. */
int scan_register(struct sqlite3 *sqlite, struct scan_module *m);

/* Values out of SQLite and into it. `type` WR_NULL: as SQLite has it. Texts and blobs are views. */
void scan_value(struct arena *a, struct sqlite3_value *in, enum wr_type type, struct wr_value *out);
void scan_result(struct arena *a, struct sqlite3_context *c, const struct wr_value *v);

#endif
