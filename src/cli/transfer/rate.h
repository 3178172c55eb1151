/* rate.h: no more than so much a second, by several threads together.
 *
 * What is taken moves the moment at which the next may begin. So a batch may be larger than what a
 * second allows, and what an answer cost can be taken when it is known; and a time in which less
 * was asked for is not made up for later. */
#ifndef CLI_TRANSFER_RATE_H
#define CLI_TRANSFER_RATE_H

#include "base/clock.h"
#include "base/ctx.h"

#include <pthread.h>
#include <stdatomic.h>

struct rate {
    struct clock *clock;
    double per_s; /* 0: as much as there is */
    bool units;   /* of write capacity units, not of rows */
    pthread_mutex_t mutex;
    int64_t next_us; /* monotonic: when the next may begin */
};

/* "500": rows a second; "500cu": capacity units. NULL: no limit. */
int rate_parse(struct ctx *c, const char *text, struct rate *r);

/* Begins and ends it; `clock` must live as long. */
void rate_init(struct rate *r, struct clock *clock);
void rate_release(struct rate *r);

/* Takes n and sleeps until they may begin. False: *stop was set meanwhile. Any thread. */
bool rate_wait(struct rate *r, uint64_t n, const atomic_bool *stop);

/* Takes n more, which are known only now. Any thread. */
void rate_take(struct rate *r, uint64_t n);

/* Takes n; returns when they may begin, monotonic. What rate_wait() waits for. */
int64_t rate_begin_us(struct rate *r, uint64_t n);

#endif
