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
    /* Once, when the sum is there; it may be gone when that returns. `own`: in its own turn, else
     * in that of another one, which what it has to do then should not make much longer. */
    void (*done)(struct digest_wait *self, bool own);
    struct digest_wait *next; /* the line's, and what follows */
    uint64_t number;
};

/* Of one server; used from any thread. */
struct digest_line {
    pthread_mutex_t lock;
    struct digest_wait *head; /* the last that came */
    uint64_t last;
};

void digest_line_init(struct digest_line *d);
void digest_line_destroy(struct digest_line *d); /* nobody waits */

/* Puts the text in line; until done() it stays where it is, and that may come at once.
 * digest_turn() must follow with what comes back, from any thread. `*enough`: with it as many are
 * in line as can be taken at a time, so waiting for more has no use. */
struct digest_turn *digest_put(struct digest_line *d, struct digest_wait *w, bool *enough);

/* The turn (a struct digest_turn) of a text has come: its sum is taken unless it has been or is
 * being, and with it those of others in line that are about as long. Calls done() of all of them.
 */
void digest_turn(void *turn);

#endif
