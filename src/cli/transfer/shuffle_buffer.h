/* shuffle_buffer.h: rows on their way from the reader to the workers, bounded.
 *
 * It is a queue; or workers draw their batches at random from all rows that are waiting, and wait
 * until the buffer is half full: neighbours of a file that is sorted by key would otherwise go to
 * the same partition at the same time; or what is waiting, once nothing is left of what was before,
 * is arranged by its keys (row_order.h). One thread puts, any number take. */
#ifndef CLI_TRANSFER_SHUFFLE_BUFFER_H
#define CLI_TRANSFER_SHUFFLE_BUFFER_H

#include "base/rng.h"
#include "cli/transfer/row_order.h"

#include <pthread.h>

enum row_order { ROWS_AS_THEY_COME, ROWS_SHUFFLED, ROWS_BY_KEY };

struct shuffle_buffer {
    pthread_mutex_t mutex; /* over everything below */
    pthread_cond_t room;   /* for the reader */
    pthread_cond_t rows;   /* for the workers */
    struct import_row **slots;
    size_t capacity; /* rows */
    size_t head;     /* of the ring */
    size_t count;
    uint64_t bytes, bytes_max; /* of the lines in the buffer */
    size_t batch_rows, batch_bytes;
    enum row_order order;
    size_t key_count; /* of ROWS_BY_KEY; set by the caller behind shuffle_buffer_init() */
    size_t arranged;  /* rows in front that are in their order */
    bool arranging;   /* somebody is at it */
    bool due;         /* what there is goes, however little it is */
    bool closed;      /* no more rows will come */
    bool stopped;     /* nobody wants rows any more */
    struct rng rng;
};

/* A batch has at most `batch_rows` rows and, unless it is a single row, `batch_bytes` bytes. */
void shuffle_buffer_init(struct shuffle_buffer *w, size_t capacity, size_t batch_rows,
                         size_t batch_bytes, enum row_order order, uint64_t seed);

/* Frees what is left in it. */
void shuffle_buffer_release(struct shuffle_buffer *w);

/* Hands in rows, waiting for room; what there is no use for, since it is stopped, is freed. */
void shuffle_buffer_put(struct shuffle_buffer *w, struct import_row *const *rows, size_t count);

/* Takes a batch into rows[batch_rows], waiting for one. 0: there will be no more. */
size_t shuffle_buffer_take(struct shuffle_buffer *w, struct import_row **rows);

/* Nobody knows when the next row comes: those that are there are not to wait for it. */
void shuffle_buffer_flush(struct shuffle_buffer *w);

/* No more rows will come. */
void shuffle_buffer_close(struct shuffle_buffer *w);

/* Takers get nothing any more, and the putter goes on. */
void shuffle_buffer_stop(struct shuffle_buffer *w);

#endif
