/* op_digest.h: the digests of large bodies and answers, taken side by side where several wait for
 * theirs. */
#ifndef SERVER_OP_DIGEST_H
#define SERVER_OP_DIGEST_H

#include "wire/md5_many.h"

#include <pthread.h>

/* A text that waits, embedded in what it belongs to. */
struct digest_wait {
    bytes text;
    uint8_t sum[MD5_BYTES];
    /* Once, when its turn has come and the sum is there; it may be gone when that returns. */
    void (*done)(struct digest_wait *self);
    struct digest_wait *next; /* the line's, and what follows */
    int state;
};

/* Of one server; used from any thread. */
struct digest_line {
    pthread_mutex_t lock;
    struct digest_wait *head;
};

void digest_line_init(struct digest_line *d);
void digest_line_destroy(struct digest_line *d); /* nobody waits */

/* Puts the text in line. digest_turn() must follow once, from any thread; until done() the text
 * stays where it is. */
void digest_put(struct digest_line *d, struct digest_wait *w);

/* It is w's turn: its sum is taken unless it has been, and with it those of others in line that are
 * about as long. Calls done() of w, and of the others whose turn has come meanwhile; or, while
 * another thread takes w's sum, leaves w to that one. */
void digest_turn(struct digest_line *d, struct digest_wait *w);

#endif
