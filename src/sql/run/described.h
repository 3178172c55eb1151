/* described.h: tables that a session remembers: most of its statements name the same few, and a
 * description costs more than the row that is read by it.
 *
 * Each use asks storage whether the table is still as it was (wr_table_state()), so that a change
 * counts from the next statement on, whoever made it, as if the table had been asked for anew. */
#ifndef SQL_RUN_DESCRIBED_H
#define SQL_RUN_DESCRIBED_H

#include "sql/run/run.h"

struct described {
    struct described *next;
    int refs; /* the session, statements that use it, and who makes it */
    uint64_t state;
    bytes database, name;
    const void *table;  /* as table.h has it */
    struct arena arena; /* of all that */
};

/* The table, if it is remembered and as it was; held until the statement ends. NULL: it has to be
 * asked for. */
struct described *described_find(struct run *r, bytes database, bytes name);

/* One that is to be filled; `state` is what the table was before it is asked for. */
struct described *described_new(uint64_t state);
void described_unref(struct described *d);

/* Remembers it, and holds it until the statement ends. */
void described_add(struct run *r, struct described *d);

/* The session ends. */
void described_forget(struct session *s);

#endif
