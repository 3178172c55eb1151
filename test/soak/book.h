/* book.h: the model: what every row must be, kept by who writes it.
 *
 * Each writer has rows that only it changes, so it always knows what they must be. A request
 * without an answer stays in the book as "maybe", and its rows are left alone until the server has
 * been started anew: from then on it can no longer be applied, and a look at the rows settles what
 * it was. Counters are rows that all writers increment: they must stand between what was
 * acknowledged and what was asked for. Numbered rows have a key column that the server numbers:
 * numbers must rise for each writer, whatever the clock does, and no row may be missing. */
#ifndef SOAK_BOOK_H
#define SOAK_BOOK_H

#include "cells.h"
#include "crash.h"

#include <pthread.h>
#include <stdatomic.h>

#define OWNERS 6
#define IDS_MAX 320
#define COUNTERS 4
#define COUNTER_BUCKET 1000000
#define BATCH_ROWS_MAX 8
#define MAYBE_MAX 64
#define NUMBERED_MAX 400 /* rows of an owner; the oldest are deleted */

struct maybe {
    enum table table;
    bool atomic;
    int count;
    int ids[BATCH_ROWS_MAX];
    struct state after[BATCH_ROWS_MAX];
};

struct numbered {
    int64_t number;
    uint64_t tag;
};

struct owner {
    struct state states[TABLES][IDS_MAX];
    bool in_doubt[TABLES][IDS_MAX];
    struct maybe maybes[MAYBE_MAX];
    int maybe_count;
    uint64_t tags;                                            /* given out so far */
    int64_t counter_acked[COUNTERS], counter_maybe[COUNTERS]; /* since the last comparison */
    struct numbered numbered[NUMBERED_MAX];
    int numbered_count;
    int64_t number_last;              /* the largest ever given */
    uint64_t number_maybe[MAYBE_MAX]; /* tags of inserts without an answer */
    int number_maybe_count;
    int64_t delete_maybe; /* a deletion without an answer: the oldest may be gone */
};

struct book {
    struct crash *run;
    atomic_bool rest; /* writers do nothing, so that partitions are idle */
    int64_t counter_base[COUNTERS];
    struct owner owners[OWNERS];
};

static inline int64_t book_bucket(enum table table, int owner, int id)
{
    return owner * 1000 + id / tables[table].bucket_ids;
}

extern const char *const book_keys[2];     /* of the tables of cells.h */
extern const char *const numbered_keys[2]; /* of the table "numbered" */

/* Reads all that the server at run->port has, and compares it. `settle`: maybes are settled by what
 * is there; the server must have been started after them. Every difference is a problem of `where`.
 */
void book_compare(struct book *b, const char *where, bool settle);

/* SHA-256 of all rows of the tables of cells.h, of the book and of what is stored; they must be
 * settled. */
#define BOOK_DIGEST_TEXT 64
void book_digest(struct book *b, char out[BOOK_DIGEST_TEXT + 1]);
bool book_digest_stored(struct book *b, char out[BOOK_DIGEST_TEXT + 1]);

#endif
