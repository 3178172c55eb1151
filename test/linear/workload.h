/* workload.h: clients that make requests of a few hot rows and record what they saw.
 *
 * A plan is one request in the terms of the model; issuing it fills in how its operations ended. A
 * saboteur (bug.h) may stand between a client and the database. */
#ifndef LINEAR_WORKLOAD_H
#define LINEAR_WORKLOAD_H

#include "model.h"
#include "target.h"

#include <pthread.h>

#define CLIENTS_MAX 32
#define GROUPS_MAX 64
#define PLAN_OPS 6
#define TXN_STEPS 5
#define TXN_TEXT 256 /* of an id */
#define DISTURBANCES_MAX 32

enum plan_kind {
    PLAN_GET,
    PLAN_BATCH_GET,   /* rows read each for itself */
    PLAN_RANGE,       /* all rows of a group, forward or backward */
    PLAN_CHANGE,      /* PutRow, UpdateRow or DeleteRow */
    PLAN_BATCH_WRITE, /* rows changed each for itself */
    PLAN_ATOMIC,      /* one operation with several changes */
    PLAN_TXN,         /* a transaction: one operation with steps */
    PLAN_KINDS,
};

struct plan {
    enum plan_kind kind;
    struct op ops[PLAN_OPS];
    int count;
    bool backward;
    /* Of a range: a page ends where the server likes, and the next one begins at its `next`. Each
     * is a read of the rows up to its end. */
    bool continues; /* this request does not begin at the group's bound, but at `from` */
    bool goes_on;   /* its answer had a `next`, which stands in `from` */
    struct wr_value from[2];
    uint8_t behind; /* the rows from there on */
    size_t filling; /* rows of it in the pages so far */
    /* Of a transaction: */
    struct plan *steps; /* each of one operation; ops[0].step_count of them */
    bool aborts;
    int64_t end_ns; /* when its end was called for */
};

struct workload;
struct saboteur;
struct by_sql;

struct refusal {
    int64_t call_ns, ns;
    int code;
};

/* A row of which v is LOCK_FREE or the value of the client that has the lock. */
struct lock {
    int group, row;
    int32_t value;
};

struct worker {
    struct workload *w;
    struct client *client;
    struct by_sql *sql; /* says what it can of its plans in SQL; NULL: nothing */
    struct rng rng;
    int number;
    pthread_t thread;
    struct op *ops;
    size_t op_count, op_capacity;
    size_t requests;
    size_t spanned;           /* rows of atomic batches that were refused for spanning partitions */
    int64_t call_ns;          /* when the last request was made */
    int64_t answer_ns;        /* when its answer came */
    int64_t left_ns;          /* when there was nothing more to do */
    struct refusal *refusals; /* requests of which something was not done */
    size_t refusal_count, refusal_capacity;
    struct wr_bytes transaction;  /* that requests are of; ptr NULL: none */
    int turn;                     /* of the servers, for requests of transactions */
    struct plan last;             /* the last change of one row */
    struct lock held;             /* by this client; none: value 0 */
    char problem[300];            /* an answer that no correct server gives */
    struct plan steps[TXN_STEPS]; /* of the transaction under way */
    struct op step_ops[TXN_STEPS];
    /* The saboteur's. */
    struct plan deferred;
    bool has_deferred;
    struct row_state old_row;
    bool has_old_row;
    uint16_t old_group;
    uint8_t old_at;
    struct op *fake;
};

/* What stands between the columns and rows that clients change, so that reads of them take several
 * scans, and never changes. */
struct filling {
    const char *layout; /* of the table; NULL: the plain one */
    int columns;        /* of each row, between v and w; rows are then neither put nor deleted */
    int column_bytes;   /* of each */
    int named;          /* so many of them are named by each read; 0: all are read */
    int rows;           /* behind each row of a group */
    bool apart;         /* each row has a partition key of its own, and no batch is atomic */
};

struct workload_conf {
    const char *table;
    struct filling filling;
    uint64_t seed;
    int clients, groups;
    int locks;          /* so many of the groups, the first, are of locks */
    size_t requests;    /* at least so many ... */
    int64_t run_ms_min; /* ... for at least so long */
    int64_t shift_ms;   /* of all groups half are busy at a time, others so often; 0: all always */
    int txns;           /* percent of the plans are transactions */
    int by_sql;         /* so many of the clients, the first, ask by SQL (by_sql.h) */
    bool range_is_atomic; /* a range page is one point in time; else each row for itself */
    bool fresh;           /* a connection for each request, so that nothing is sent twice */
    int pause_s, faults;  /* for disturb */
    int servers;          /* that take turns; each reads all rows once more at the end. 0: one */
    bool follows;         /* the table has a stream, which is read meanwhile (follow.h) */
    int follow_bug;       /* what its reader does wrong */
    bool cuts_values;     /* an atomic batch may be refused because its rows have been parted: goes
                           * on until one was, */
    bool cuts;            /* and until partitions were split and merged; both for COVER_S at most */
    struct saboteur *saboteur;
    /* Disturbs the run from a thread of its own until it returns or *stop is true. */
    void (*disturb)(struct workload *w);
};

/* What became of the table's partitions while it was worked on. */
struct cuts {
    uint64_t splits, merges;
    uint64_t longest_us;
    size_t partitions; /* now */
};

struct disturbance {
    char name[32];
    int64_t begin_ns, end_ns;
    int silent_s_max; /* struct pauses, silent_s must be less; 0: it may be anything */
};

/* What a reader of the stream saw (follow.h). */
struct followed {
    size_t records, reads, refused; /* reads that came to nothing */
    size_t struck;                  /* by the planted bug */
    char problem[300];              /* what is wrong; empty: nothing */
};

struct workload {
    struct workload_conf conf;
    struct server *server;
    struct worker workers[CLIENTS_MAX];
    atomic_llong left; /* requests */
    atomic_int next_value;
    atomic_bool stop;
    atomic_bool ended;                              /* everything was read once more */
    _Atomic int32_t recent[GROUPS_MAX][GROUP_ROWS]; /* a v that was seen there lately */
    atomic_bool hold;                               /* clients go on although nothing is left */
    struct disturbance list[DISTURBANCES_MAX];
    size_t disturbances;
    int64_t start_ns;
    struct followed followed;
    struct cuts cuts;        /* of servers that are no more */
    atomic_bool has_spanned; /* what a run is judged by has happened: a batch was refused, */
    atomic_bool has_split, has_merged; /* partitions were split and merged */
    atomic_size_t partitions;          /* when they were last counted */
    _Atomic int64_t looked_ns;         /* when the server was asked last whether they were */
};

/* Creates the table and runs. False, with a line on stderr: it could not. */
bool workload_run(struct workload *w, struct server *s, const struct workload_conf *conf);

/* Adds what the server has counted since it was started, and notes whether partitions were split
 * and merged. Of one `to`, one thread at a time. */
void workload_count_cuts(struct workload *w, struct cuts *to);

void workload_release(struct workload *w);

/* What a disturbance did to the clients, while it lasted or in the ten seconds behind it: times
 * that began by then count to their ends, or until the first of the clients had nothing more to do.
 */
struct pauses {
    double silent_s; /* the longest time in which nothing was done for anybody, ... */
    double after_s;  /* ... so long after the disturbance began; */
    size_t refused;  /* requests in that time of which something was not done, */
    int code;        /* the last of them for this */
    double waited_s; /* the longest that one client waited until it was done, refused or given up */
};
/* After workload_run(). */
void workload_pauses(const struct workload *w, const struct disturbance *d, struct pauses *out);

/* Notes a disturbance that begins now, and that it is over. */
struct disturbance *workload_disturb(struct workload *w, const char *name, int silent_s_max);
void workload_disturbed(struct disturbance *d);

/* Sends a plan to the database and fills in how it ended. */
void plan_issue(struct worker *k, struct plan *p);

/* The rows of a group now. False: they cannot be read. */
bool workload_read_group(struct worker *k, int group, struct row_state rows[GROUP_ROWS]);

/* An answer that no correct server gives: the run has failed. */
void worker_problem(struct worker *k, const char *what, int code, const char *message);

/* A request that is no plan. */
int workload_exec(struct worker *k, struct ctx *c, struct wr_request *req, struct wr_reply *reply);
struct wr_key workload_value_key(struct worker *k, struct arena *a, int group);

/* A change of the row, or a read of it or of its group. */
void plan_step(struct worker *k, struct plan *p, int group, int row);

/* ---- txn_plan.c ---- */

void plan_txn(struct worker *k, struct plan *p, int group);
/* What plan_issue() does for it; the steps, each in the transaction that is begun for them. */
void plan_issue_txn(struct worker *k, struct plan *p);
/* For planted bugs: begins one, or false; ends it, with the code that says how that went. */
bool txn_start(struct worker *k, int group, char id[TXN_TEXT]);
int txn_end(struct worker *k, const char *id, bool aborts);
/* Issues steps [from, to) in the transaction of that id (NULL: outside of any). False: one of them
 * came to nothing. */
bool txn_steps(struct worker *k, struct plan *p, const char *id, int from, int to);
/* The operation, from its steps and its end. */
void txn_finish(struct plan *p, uint8_t outcome);

int32_t workload_value(struct workload *w);

#endif
