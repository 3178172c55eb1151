/* run.h: what the files of this folder share while a statement runs. A statement has an arena, in
 * which all that is made for it lives, and runs on one thread, which may block. */
#ifndef SQL_RUN_RUN_H
#define SQL_RUN_RUN_H

#include "base/arena.h"
#include "sql/parse/tree.h"
#include "sql/result.h"
#include "sql/run/session.h"

enum fault_name {
#define FAULT(name, number, state, text) FAULT_##name,
#include "sql/run/fault.def"
#undef FAULT
};

/* Capacity units. */
struct units {
    int64_t read, written;
};

/* What is open; kept by transaction.h. */
struct transaction {
    bool manual;               /* autocommit is off */
    bool said;                 /* START TRANSACTION was */
    bool read_only;            /* with READ ONLY */
    bool lost;                 /* storage's has ended by itself: only the end is left */
    bool beside;               /* rows of tables without transactions were written in it */
    bytes id, database, table; /* storage's; ptr NULL: not begun */
    struct wr_value value;     /* of the first key column */
    struct arena arena;        /* of these four */
};

struct session {
    struct session_conf conf;
    struct transaction transaction;
    struct units last, all; /* of the last statement that was no SHOW, and of all of them */
    bytes database;         /* the current instance; empty: none. In own memory */
    char *database_text;
    struct select_engine *select; /* NULL: not needed yet */
    struct described *described;  /* tables that it remembers, the last used first */
    struct warnings *warnings;    /* warning.h; NULL: there are none */
    struct user_variable *set;    /* user_variable.h; NULL: none is */
    char version[64];             /* VERSION() */
    bool permitted;               /* it holds a permit */
    bool waits;                   /* it has given it up for a while */
};

struct run {
    struct session *session;
    struct arena *arena;
    bytes sql;
    const struct wr_value *parameters;
    struct sink *sink;
    struct outcome *out;
    int64_t deadline_ms;            /* monotonic */
    bool versions;                  /* rows come once for each of them */
    size_t explained;               /* where in `sql` begins what EXPLAIN is about; 0: it is none */
    bool stamps, stamps_sought;     /* its text has timestamps of columns in it; that is known */
    bool only_columns;              /* the sink wants these, and no row is read for them */
    bytes about;                    /* information_schema has this table alone; ptr NULL: all */
    uint64_t rows_read, bytes_read; /* by walks; bytes as capacity units count them */
    struct deferred *deferred;      /* it must not wait; NULL: it may */
};

static inline bool run_is_tablestore(const struct run *r)
{
    return r->session->conf.dialect == SESSION_TABLESTORE;
}

/* Not 0, always; the first fault of a statement stays. */
int run_fail(struct run *r, enum fault_name name, ...);

/* KILL QUERY was said of the statement. */
bool run_is_killed(const struct run *r);

/* Not 0: the statement is to end now, and the fault is said: it was killed, its time is over, or
 * the server stops. */
int run_interrupted(struct run *r);

/* Takes the fault back, if it is that one. */
void run_forgive(struct run *r, enum fault_name name);

/* What a request's failure means here. */
int run_fail_reply(struct run *r, const struct wr_reply *reply);

/* Not 0: the access key may not do that, and the fault is said. */
int run_allowed(struct run *r, const struct wr_request *request);

/* Asks for it, after the access key was asked whether it may. 0: *out is the reply, which lives as
 * long as the statement. Not 0: the fault is said. */
int run_request(struct run *r, struct wr_request *request, const struct wr_reply **out);

/* The same without asking: the caller has asked for what it is a part of. */
int run_exec(struct run *r, struct wr_request *request, const struct wr_reply **out);

/* Goes on with the reply to a request, of whatever code. 0, or the fault is said. */
typedef int run_end_fn(struct run *r, void *of, const struct wr_reply *reply);

/* Asks for what ends the statement: end(r, of, reply) follows, at once, or, where it must not wait,
 * by session_end(). `of` and what the request names are in the arena then. */
int run_last(struct run *r, struct wr_request *request, run_end_fn *end, void *of);

/* A statement of one request between the request and its reply, while no thread waits. */
struct deferred {
    struct run run;
    bool whole; /* it would have to wait for more than that: nothing was done */
    struct wr_request request;
    run_end_fn *end; /* NULL: it has ended without a request */
    void *of;
};

/* False: the row is locked, and the statement is to be run where it may wait. */
bool deferred_end(struct deferred *d, struct wr_reply *reply);

/* Not 0, always: a statement that must not wait would have to, and is begun anew where it may. */
int run_whole(struct run *r);

/* A write was answered. */
void run_written(struct run *r, const struct wr_capacity *consumed);

/* A read was answered. Not 0: it was too much, and the fault is said. */
int run_read(struct run *r, bytes table, const struct wr_capacity *consumed, size_t rows);

#define CAPACITY_BYTES 4096 /* that a capacity unit reads */

#define RUN_TRY(x)                                                                                 \
    do {                                                                                           \
        if (x)                                                                                     \
            return -1;                                                                             \
    } while (0)

/* A view as printf wants it. */
#define RUN_TEXT(b) (int)(b).len, (const char *)(b).ptr

/* Is the word spelled so, whatever the case of its letters? */
bool run_is_word(bytes word, const char *spelled);

/* Are the names of columns or tables the same? */
bool run_is_name(bool any_case, bytes a, bytes b);

/* Rows were changed. */
void run_affected(struct run *r, uint64_t rows);

/* Around what computes long. */
void run_permit_take(struct session *s);
void run_permit_give(struct session *s);

/* ---- statements, a file each ---- */

int run_select(struct run *r, const struct select *s);
int run_upsert(struct run *r, const struct statement *s);
int run_update(struct run *r, const struct statement *s);
int run_delete(struct run *r, const struct statement *s);
int run_create_table(struct run *r, const struct statement *s);
int run_create_table_like(struct run *r, const struct statement *s);
int run_drop_table(struct run *r, const struct statement *s);
int run_truncate(struct run *r, const struct statement *s);
int run_alter_table(struct run *r, const struct statement *s);
int run_kill(struct run *r, const struct statement *s);
int run_explain(struct run *r, const struct statement *s);
/* CREATE, ALTER, DROP USER, GRANT, REVOKE, CREATE and DROP DATABASE. */
int run_user(struct run *r, const struct statement *s);
/* SHOW USERS, PRIVILEGES, GRANTS. */
int run_show_users(struct run *r, const struct statement *s);
int run_show(struct run *r, const struct statement *s);
/* The tables of a database that may be read, by name. */
int run_show_tables(struct run *r, const struct statement *s);
int run_describe(struct run *r, const struct statement *s);

/* Tablestore's, in mapping_ddl.c and show_mapping.c. */
int run_create_mapping(struct run *r, const struct statement *s);
int run_drop_mapping(struct run *r, const struct statement *s);
int run_alter_mapping(struct run *r, const struct statement *s);
int run_describe_mapping(struct run *r, const struct statement *s);
int run_show_mapping(struct run *r, const struct statement *s);

#endif
