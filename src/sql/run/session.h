/* session.h: somebody who is logged in and says one statement after the other. Used by one thread
 * at a time, which blocks while a statement runs. */
#ifndef SQL_RUN_SESSION_H
#define SQL_RUN_SESSION_H

#include "base/ctx.h"
#include "sql/result.h"

#include <pthread.h>
#include <stdatomic.h>

/* What a user may do, on a database or a table of it. */
enum {
    USER_MAY_READ = 1,
    USER_MAY_WRITE = 2,
    USER_MAY_ADMIN = 4,
    USER_MAY_DROP = 8,
    USER_MAY_SYSTEM = 16,
    USER_MAY_ALL = 31,
};

enum user_action {
    USER_CREATE,
    USER_ALTER,
    USER_DROP,
    USER_GRANT,
    USER_REVOKE,
    USER_CREATE_DATABASE,
    USER_DROP_DATABASE,
};

struct user_change {
    enum user_action action;
    bytes user, password;
    bytes instance;      /* in which it is made or may do something */
    bytes table;         /* ptr NULL: all of the instance */
    unsigned privileges; /* of USER_GRANT, USER_REVOKE */
};

struct user_grant {
    bytes user, instance, table;
    bool prefix; /* on all tables whose names begin so */
    unsigned may;
};

/* What an access key may do: the door knows it. */
struct access {
    /* 0, or a code of widerow.h with a text in `c`. */
    int (*check)(void *arg, struct ctx *c, const struct wr_request *request);
    /* May the key enter this instance? */
    bool (*enter)(void *arg, bytes instance);
    /* The tables of the list, which are the instance's, that may be read, in the arena of `c`. */
    struct wr_table_list (*visible)(void *arg, struct ctx *c, bytes instance,
                                    const struct wr_table_list *all);
    void *arg;
    /* Those that it may enter, in the arena; how many. NULL: the current one is told alone. */
    size_t (*databases)(void *arg, struct arena *a, bytes **out);
    /* Makes and changes users. 0, or a code of widerow.h with a text in `c`. May wait for the disk;
     * NULL: there are none here. */
    int (*user_change)(void *arg, struct ctx *c, const struct user_change *change);
    /* What users may do, of those that the key may see; in the arena; how many. */
    size_t (*user_grants)(void *arg, struct arena *a, struct user_grant **out);
};

/* What VERSION() begins with: drivers read it to learn what a server can do. */
#define SESSION_VERSION_PREFIX "8.0.36-widerow-"

struct session;
struct statement;
struct pool;

/* How many statements may compute at a time, of all sessions that share it: others wait. A
 * statement that waits for storage in one request, or for its client, does not count. */
struct permits {
    pthread_mutex_t lock;
    pthread_cond_t given;
    int free;
};

void permits_init(struct permits *p, int count);
void permits_destroy(struct permits *p);

/* A connection, as SHOW PROCESSLIST tells of it. */
struct process {
    uint64_t number;
    bytes user, host, database;
    bytes sql;       /* the beginning of the statement that runs; ptr NULL: none does */
    int64_t seconds; /* since it began, or since the last one ended */
};

/* The connections that there are: the door knows them. Of the user's own alone. */
struct processes {
    /* In the arena; how many. */
    size_t (*list)(void *arg, struct arena *a, struct process **out);
    /* Ends the statement that runs, and if so said the connection. False: the user has none of that
     * number. */
    bool (*kill)(void *arg, uint64_t number, bool connection);
    void *arg;
};

#define SESSION_STATEMENT_MS 120000 /* a statement's time without a hint */

/* Which statements there are, and what they mean: those of Lindorm's wide tables, or those of
 * Tablestore's SQLQuery. */
enum session_dialect { SESSION_LINDORM, SESSION_TABLESTORE };

struct session_conf {
    struct wr_db *db;
    struct access access;
    struct clock *clock;
    enum session_dialect dialect;
    bytes user;                 /* the access key's id, for USER() */
    uint64_t number;            /* of the connection, for CONNECTION_ID() */
    struct permits *permits;    /* NULL: as many as come */
    struct pool *walkers;       /* threads for long walks; NULL: the statement's own does them */
    const atomic_bool *quit;    /* NULL, or: statements end soon when it is set */
    uint64_t client;            /* whose share of long work it is (wr_request.client) */
    const int32_t *gone;        /* NULL, or as wr_request.gone: the statement that runs is to end */
    struct processes processes; /* functions NULL: there are none */
    int64_t deadline_ms; /* monotonic: of each statement that has no hint; 0: after its time */
};

/* Bounds what the statements of all sessions together take to compute, for the process: a share of
 * what the database's requests may hold. */
void session_memory_bound(struct wr_db *db);

/* Is more than half of it taken? Then who does not read his answer is waited for no longer, so that
 * others may go on. Any thread. */
bool session_memory_short(void);

struct session *session_new(const struct session_conf *conf);
/* NULL is allowed. */
void session_free(struct session *s);

/* Does it hold what statements are computed with? That is made anew when it is needed, and who says
 * nothing for a while gives it back by session_rest(): between statements, on the thread that runs
 * them. Those of session_begin() need none of it, and may go on elsewhere meanwhile. */
bool session_can_rest(const struct session *s);
void session_rest(struct session *s);

/* Makes the instance the current one. False: the key is not for it. */
bool session_use(struct session *s, bytes instance);

/* As MySQL's clients are told after each statement. */
bool session_autocommits(const struct session *s);
bool session_in_transaction(const struct session *s);

/* Ends the open transaction without its writes, and turns autocommit on. */
void session_reset(struct session *s);

/* The current instance; until the next statement. */
bytes session_database(const struct session *s);

/* A sink that waits for its client calls them before and after, so that others compute. */
void session_wait_begin(struct session *s);
void session_wait_end(struct session *s);

/* What is known of a statement before it runs. */
struct prepared_shape {
    size_t parameters;            /* question marks */
    const struct column *columns; /* of its rows, in the arena. Of what is computed the type is one
                                   * that the values may have: those of the rows themselves count */
    size_t column_count;          /* 0: it has no rows, or which columns shows when it runs */
    const struct statement *tree; /* as it was understood, in `kept` */
};

/* Reads a statement, and asks for the tables that it names. `kept` is for what lives as long as the
 * statement may be run, as its text must; `a` for the rest. False: it is none, and *fault says why.
 */
bool session_prepare(struct session *s, struct arena *a, struct arena *kept, bytes sql,
                     struct prepared_shape *out, struct fault *fault);

/* What a statement was, numbered as SQLQuery's answers do. */
enum outcome_kind {
    OUTCOME_OTHER,
    OUTCOME_SELECT,
    OUTCOME_CREATE_TABLE,
    OUTCOME_SHOW,
    OUTCOME_DESCRIBE,
    OUTCOME_DROP_TABLE,
    OUTCOME_ALTER_TABLE,
};

/* What a statement read of a table. */
struct consumed {
    struct consumed *next;
    bytes table;
    int64_t read; /* capacity units */
};

/* What came of a statement beside its rows. */
struct outcome {
    struct fault fault;
    uint64_t affected;
    enum outcome_kind kind;
    struct consumed *consumed; /* of each table, in the order of their first reads */
    int64_t written, checked;  /* capacity units of writes: written, and read on their way */
    uint16_t warnings;         /* that SHOW WARNINGS has, without the fault */
    bool single;               /* it was one request: session_begin() would have begun it */
};

/* Runs one statement. `tree`: as it was understood by session_prepare(); NULL: it is read now.
 * `values` stand for its question marks, in their order; `value_count` of them.
 * Rows go to the sink; *out is set in any case, its texts are in the arena. */
void session_run(struct session *s, struct arena *a, bytes sql, const struct statement *tree,
                 const struct wr_value *values, size_t value_count, struct sink *sink,
                 struct outcome *out);

/* ---- statements of one request, on a thread that must not wait ---- */

struct deferred;

enum session_begun {
    SESSION_WHOLE,   /* it may be more than one request, or wait: it is session_run()'s. Nothing was
                        done, and the sink has heard nothing */
    SESSION_ENDED,   /* as session_run() ends; no request was needed */
    SESSION_REQUEST, /* *deferred is what it waits for */
};

/* Begins one statement; what is given has to stay until it has ended. */
enum session_begun session_begin(struct session *s, struct arena *a, bytes sql,
                                 const struct statement *tree, const struct wr_value *values,
                                 size_t value_count, struct sink *sink, struct outcome *out,
                                 struct deferred **deferred);

/* For wr_submit(). */
const struct wr_request *deferred_request(const struct deferred *d);

/* Ends it with the reply, which is the arena's from now on. False: it has not ended, and nothing
 * was done, as with SESSION_WHOLE: somebody has locked the row, say, for which one waits. */
bool session_end(struct deferred *d, struct wr_reply *reply);

#endif
