/* shuffle_buffer.h: rows on their way from the reader to the workers, bounded.
 *
 * Without shuffling it is a queue. With it, workers draw their batches at random from all rows that
 * are waiting, and wait until the window is half full: neighbours of a file that is sorted by key
 * would otherwise go to the same partition at the same time. One thread puts, any number take. */
#ifndef CLI_TRANSFER_SHUFFLE_BUFFER_H
#define CLI_TRANSFER_SHUFFLE_BUFFER_H

#include "base/rng.h"
#include "cli/transfer/plan.h"

#include <pthread.h>

struct window {
    pthread_mutex_t mutex; /* over everything below */
    pthread_cond_t room;   /* for the reader */
    pthread_cond_t rows;   /* for the workers */
    struct import_row **slots;
    size_t capacity; /* rows */
    size_t head;     /* of the ring */
    size_t count;
    uint64_t bytes, bytes_max; /* of the lines in the window */
    size_t batch_rows, batch_bytes;
    bool shuffle;
    bool closed;  /* no more rows will come */
    bool stopped; /* nobody wants rows any more */
    struct rng rng;
};

/* A batch has at most `batch_rows` rows and, unless it is a single row, `batch_bytes` bytes. */
void window_init(struct window *w, size_t capacity, size_t batch_rows, size_t batch_bytes,
                 bool shuffle, uint64_t seed);

/* Frees what is left in it. */
void window_release(struct window *w);

/* Hands in a row, waiting for room. False: stopped; the row is still the caller's. */
bool window_put(struct window *w, struct import_row *row);

/* Takes a batch into rows[batch_rows], waiting for one. 0: there will be no more. */
size_t window_take(struct window *w, struct import_row **rows);

/* No more rows will come. */
void window_close(struct window *w);

/* Takers get nothing any more, and the putter is let go. */
void window_stop(struct window *w);

#endif
