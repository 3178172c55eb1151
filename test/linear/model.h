/* model.h: what a group of rows may do, one operation at a time, and operations as a history
 * records them.
 *
 * A group is the rows of one partition-key value. Atomic batches and range pages span a group and
 * nothing spans two, so a history is linearizable if and only if that of each group is. */
#ifndef LINEAR_MODEL_H
#define LINEAR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GROUP_ROWS 4

/* Columns of every row. v and w are always written with one value, so that a torn row shows; n is a
 * counter. */
enum { COLUMN_V, COLUMN_W, COLUMN_N, COLUMNS };
#define ALL_COLUMNS ((1u << COLUMNS) - 1)
#define ROW_EXISTS 0x80u
#define LOCK_FREE INT32_MAX

/* A value never occurs in two writes of v and w, but for LOCK_FREE, which comes back each time a
 * lock is released. Columns that are not there hold 0, so that equal states are equal bytes. */
struct row_state {
    uint32_t has; /* one bit a column, and ROW_EXISTS */
    int32_t column[COLUMNS];
};

struct state {
    struct row_state rows[GROUP_ROWS];
};

enum change_type { CHANGE_PUT, CHANGE_UPDATE, CHANGE_DELETE };
enum existence { EXIST_ANY, EXIST_YES, EXIST_NO }; /* as enum wr_existence */

struct change {
    uint8_t row;
    uint8_t type;
    uint8_t sets, removes; /* columns */
    uint8_t existence;
    bool increments, compares;
    bool untold;             /* the answer did not say whether what it compares held */
    int32_t column[COLUMNS]; /* of those in `sets` */
    int32_t delta;           /* added to n */
    int32_t expect;          /* v must hold it, if `compares` */
};

/* OP_TXN: a transaction that was committed, or (REFUSED) aborted. */
enum op_type { OP_READ, OP_WRITE, OP_TXN };

enum outcome {
    DONE,
    REFUSED, /* a condition did not hold; nothing changed */
    MAYBE,   /* no answer: may happen at any time from the call on, or never */
    NOTHING, /* an error that says that nothing changed; also a read without an answer */
};

#define NEVER INT64_MAX

struct op {
    int64_t call_ns, return_ns; /* monotonic; NEVER: unanswered */
    uint32_t id;                /* in its group, by time of the call */
    uint16_t client, group;
    uint8_t type, outcome;
    uint8_t rows;         /* the rows concerned, one bit each */
    uint8_t columns;      /* reads: those asked for */
    uint8_t change_count; /* more than one: they land together or not at all */
    bool returned;        /* the answer told n after the change */
    int32_t returned_n;
    /* OP_TXN: what was read and written inside, each DONE or REFUSED. Nobody else changes the rows
     * from the first step to the end, so all of it may be seen as one step at the end. */
    uint8_t step_count;
    struct op *steps;
    union {
        struct change changes[GROUP_ROWS];
        struct row_state seen[GROUP_ROWS]; /* by row */
    };
};

/* True if `o`, done alone on *in, may have ended as it did; *out is the state after it. A MAYBE is
 * asked as if it had been done. */
bool model_step(const struct op *o, const struct state *in, struct state *out);

/* What a read of these columns shows. */
struct row_state model_visible(const struct row_state *row, uint8_t columns);

bool model_equal(const struct row_state *a, const struct row_state *b);

/* True if the conditions of the change hold. */
bool model_holds(const struct change *c, const struct row_state *row);
void model_change(const struct change *c, struct row_state *row);

/* `o` as if only these of its rows were there: a history of which every operation is so cut is
 * linearizable if the whole one is. False: nothing is left that tells anything. */
bool model_project(const struct op *o, uint8_t rows, struct op *out);

/* One line without its end; returns `text`. */
char *model_print_op(const struct op *o, int64_t zero_ns, char *text, size_t size);
char *model_print_state(const struct state *s, uint8_t rows, char *text, size_t size);

#endif
