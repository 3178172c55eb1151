/* writer.h: a thread that changes and reads the rows of one owner, and checks every answer against
 * the book. */
#ifndef SOAK_WRITER_H
#define SOAK_WRITER_H

#include "book.h"
#include "door.h"

struct writer {
    struct book *book;
    int owner;
    atomic_bool *stop;
    pthread_t thread;
    struct door door;
    struct rng rng;
    int64_t phase_us; /* the monotonic time at which this mood ends */
    int mood;         /* 0: rows come, 1: rows change, 2: rows go */
    int from;         /* it works on ids from here on, so that others are idle and merge */
    uint64_t acked, unsure, refused, reads;
};

/* They run until *stop, or until nobody answers any more. */
void writer_start(struct writer *w);
void writer_join(struct writer *w);

#endif
