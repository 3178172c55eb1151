/* write_own.h: what the files of row changes share; for nobody else.
 *
 *   write.c          the walk over a request's rows: groups, rounds, one row (the design is there)
 *   write_atomic.c   the walk over an atomic batch: what lands together or not at all
 *   write_ahead.c    old rows of a batch that are not in memory, asked for at once
 *   write_inside.c   the walk over a request that writes in a transaction
 *   write_request.c  from a request to the rows of a walk, and the checks of the whole
 *   write_commit.c   from a transaction to the rows of a walk
 *   write_lock.c     locks of transactions that are records: what is guarded, who was in the way
 *   write_number.c   generated keys of a batch, in its order */
#ifndef TABLE_ROW_WRITE_OWN_H
#define TABLE_ROW_WRITE_OWN_H

#include "table/catalog/route.h"
#include "table/core/call.h"
#include "table/model/modify.h"
#include "table/row/access.h"
#include "table/row/load.h"

struct write_call;

/* Where a row stands. A round ends with every row decided or done; the rows whose group failed a
 * guard begin the next one where they were begun.
 *
 *     NEW ──▶ BEGUN ──▶ DECIDED ──▶ DONE
 *      │       │ ▲ ▲       │  │      ▲
 *      │       ▼ │ └───────┘  │      │     the group's guard failed, or the row's wait was over
 *      │      LATER           │      │
 *      └──────────────────────┴──────┘     it failed by itself */
enum write_row_state {
    WRITE_ROW_NEW,
    WRITE_ROW_BEGUN,   /* checked against its table; m is filled in */
    WRITE_ROW_LATER,   /* waits for the next round: an earlier change of its row has not landed, or
                        * an earlier row with a generated key (write_number.c) */
    WRITE_ROW_DECIDED, /* its outcome rests on stored data, and is its group's */
    WRITE_ROW_DONE,    /* its result stands */
};

/* One row of the request. */
struct write_row {
    struct write_call *write;
    const struct wr_row_change *change;
    struct wr_row_result *result;
    size_t table_at; /* in the request */
    struct modify m;
    struct modify *begun_as; /* m as it was begun, for another round; NULL: there is none */
    struct access access;
    struct load load;
    struct row_lock lock;
    struct txn_gate *gate; /* that it is inside of (txn/txn_gate.h); NULL: none */
    enum write_row_state state;
    int walked; /* the last round, from 1, in which the walk came by */
    bool locked;
    bool repeated; /* the batch has another change of this row, and one of them increments */
    bool loading;
    int64_t read_locked_ms; /* monotonic: when a reader was first seen to hold the row; 0: none */
    struct route_wait wait; /* for the reader to end */

    /* Atomic batches, where a row may stand more than once. */
    struct write_row *before; /* the change of the same row that this one builds on */
    bool superseded;          /* another change builds on this one: that one makes the edits */
    struct row stored;        /* the row before the first of these changes */
    bool any_changed;         /* this change or one before it has something to store */
};

struct write_table {
    struct table *table;
    size_t first, end; /* its rows */
};

struct write_call {
    struct call *call;
    struct write_row *rows;
    size_t row_count;
    struct write_table *tables;
    size_t table_count;
    bool atomic;
    bool commits;      /* a transaction, whose changes were checked when they came */
    bool saved_inside; /* what its transaction held before it (txn_save()) */

    size_t at;              /* the row the walk is at */
    size_t group_first;     /* the pending group is [group_first, at) */
    partition_id partition; /* of the pending group, once it has edits or a barrier */
    struct batch_builder builder;
    bool needs_barrier; /* the pending group has an outcome that rests on unsynced data */

    size_t *order; /* atomic: the rows of the current table by key, first of equals only */
    size_t order_count, order_at;

    bool cold;        /* a read of an old row had to wait */
    size_t ahead_end; /* the walk comes there before row records are asked for again */

    _Atomic size_t open; /* groups under way, and one for the walk itself */
    atomic_bool again;   /* a guard failed */
    int round;
    struct arena_mark begun; /* of a request of one row, when the row had begun */
};

/* ---- write.c ---- */

/* Into the next state. */
void write_row_enter(struct write_row *r, enum write_row_state next);

/* Room for so many tables and rows, none of them there yet. (write_request.c) */
struct write_call *write_new(struct call *call, size_t table_count, size_t row_count);
void write_add_row(struct write_call *w, const struct wr_row_change *change,
                   struct wr_row_result *result);

/* Begins the walk. The write's call, tables and rows are filled in. It goes on by itself, and
 * finishes the call. */
void write_start(struct write_call *w);

/* The walk, or a group, has come to its end: the last of them finishes the call, or begins another
 * round. */
void write_release(struct write_call *w);

/* Applies the pending group and passes its row locks on. */
void write_group_end(struct write_call *w, struct run_list *woken);

/* Checks the row against its table, once. False: it has failed by itself and is done, the others go
 * on. */
bool write_row_begin(struct write_call *w, struct write_row *r);

/* Fills in the row lock, once. */
void write_row_lock_prepare(struct write_call *w, struct write_row *r);

/* Loads what the change and its table's observers need of the row, if anything, at that view, into
 * r->load.row. E_LATER: parked. */
int write_row_load(struct write_call *w, struct write_row *r, enum engine_view view);

/* Loads and decides, under the row lock; leaves the edits to the caller. E_LATER: parked; the
 * walk goes on by itself. */
int write_row_decide(struct write_call *w, struct write_row *r);

/* Goes on with the walk, from wherever it was woken. `locks`: it may hold row locks. */
void write_wake(struct write_call *w, bool locks);

/* It was decided: what it costs, and that the group has an outcome. */
void write_row_accept(struct write_call *w, struct write_row *r);

/* Moves the context's failure into the row's result. */
void write_row_fail(struct ctx *c, struct write_row *r);
/* Gives it a failure that is not its own. */
void write_row_set(struct write_row *r, int code, const char *message);

/* ---- write_ahead.c ---- */

/* Should the records of the next rows be asked for at once, before the row at w->at is locked or
 * decided? */
bool write_ahead_is_due(const struct write_call *w);

/* Does so, for rows before `end`. E_LATER: parked; the walk goes on by itself. E_OK: they have come
 * already. */
int write_ahead(struct write_call *w, size_t end);

/* ---- write_atomic.c ---- */

/* The walk of a write whose `atomic` is set, from w->at on; each table's rows are one batch. Like
 * every walk it may park. */
void write_walk_atomic(struct write_call *w, struct run_list *woken);

/* ---- write_lock.c ---- */

/* The pending group has changes of the row, of a table whose locks are records: it lands only if
 * nobody owns the row's value; a commit ends its transaction. */
void write_lock_batch(struct write_call *w, const struct write_row *r);

struct write_lock_calls {
    void (*met)(struct write_call *w, size_t at); /* the row's value is owned: see the call's c */
    void (*looked)(struct write_call *w);         /* the end */
};
/* The round is over, and guards have failed: the values of the rows that are still to do are looked
 * at, if their tables have locks that are records. */
void write_lock_look(struct write_call *w, const struct write_lock_calls *calls);

/* ---- write_number.c ---- */

/* Numbers of one batch rise in its order, and rows that agree in front of the number are neighbours
 * of a walk. */
bool write_number_ordered(const struct wr_db *db, const struct table *t);

/* An earlier row of the request, which needs a smaller number, has not landed and is not in the
 * pending group: this one has to wait for the next round. Asked in the walk over r, which has begun
 * it and set `walked`. */
bool write_number_waits(const struct write_call *w, const struct write_row *r);

/* ---- write_inside.c ---- */

/* The walk of a request in a transaction. */
void write_walk_inside(struct write_call *w);

#endif
