/* book.h: writers and a reader that work on a server while its disk fails, and the book of what
 * they were promised.
 *
 * Every row has one writer, and every put a version of its own, growing. A put that was
 * acknowledged settles the row; one whose answer leaves open what happened is a "maybe"; one that
 * was refused must never be seen. The reader checks each answer on the way: whole, not older than
 * what was acknowledged before it asked, and what it has seen once must stay. */
#ifndef IO_BOOK_H
#define IO_BOOK_H

#include "door.h"

#include <pthread.h>
#include <stdatomic.h>

#define BOOK_WRITERS 2
#define BOOK_MAYBES_MAX 16

struct book_row {
    int64_t acked;                   /* version; 0: there is none */
    atomic_llong floor;              /* the least that a reader may see from now on */
    atomic_llong seen;               /* the newest that a reader saw */
    int64_t maybes[BOOK_MAYBES_MAX]; /* newer than `acked`; -1: a deletion */
    int maybe_count;
};

/* An acknowledged write. */
struct book_ack {
    int64_t sent_us, answered_us;
};

struct book_writer {
    struct book *b;
    int owner;
    pthread_t thread;
    struct rng rng;
    struct book_row *rows;
    int64_t version; /* the last that was given out */
    int next;        /* the row to write, with b->in_order */
    struct book_ack *acks;
    int ack_count, ack_capacity;
};

struct book {
    struct crash *run;
    int row_count;               /* of each writer */
    size_t bytes_min, bytes_max; /* of a value */
    bool in_order;               /* row after row; else at random */
    atomic_bool stop;
    pthread_t reader;
    struct rng reader_rng;
    struct book_writer writers[BOOK_WRITERS];
    /* Since book_start(). */
    atomic_int acked, refused, busy, unsure, reads, reads_refused, gone;
    atomic_llong first_refused_us, first_refused_after_us; /* when, and how long it took */
    atomic_llong last_acked_us;
    int64_t read_us;                /* the reader's: its last good read */
    atomic_llong longest_unread_us; /* between two good reads */
    atomic_llong slowest_refusal_us, slowest_write_us, slowest_read_us;
    char refusal[120];      /* the text of the first */
    char read_refusal[120]; /* likewise */
};

struct book *book_new(struct crash *run, int row_count, size_t bytes_min, size_t bytes_max);
void book_free(struct book *b);

/* Takes over what another book of the same size holds. Nobody works on either. */
void book_copy(struct book *b, const struct book *from);

/* Makes the table. False, with a problem reported, if that fails. */
bool book_create_table(struct book *b);

/* Lets writers and reader work until book_stop(). */
void book_start(struct book *b);
void book_stop(struct book *b);

/* Deletes every second row, from this thread, while nobody works. Tries each for `ms_max` at most.
 * Counts in *deleted and *refused. */
void book_delete_half(struct book *b, int64_t ms_max, int *deleted, int *refused);

/* Reads all and reports each difference as a problem. What is found becomes the truth. */
void book_check(struct book *b, const char *where);

/* How many writes that were sent after `from_us` were acknowledged before `to_us`. */
int book_acked_between(const struct book *b, int64_t from_us, int64_t to_us);

#endif
