/* ordered.h: texts of several threads, written piece by piece in order, whoever is first. */
#ifndef CLI_TRANSFER_ORDERED_H
#define CLI_TRANSFER_ORDERED_H

#include "base/bytes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define ORDERED_KEPT_MAX (8u << 20) /* bytes that a thread keeps before it waits for its turn */

struct ordered {
    FILE *out;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    size_t turn;  /* the piece that is written */
    bool stopped; /* nobody waits any more */
};

/* What a thread has of its piece. Zeroed is empty. */
struct ordered_text {
    char *data;
    size_t len, capacity;
};

void ordered_init(struct ordered *o, FILE *out);
void ordered_destroy(struct ordered *o);
void ordered_text_release(struct ordered_text *text);

/* More of a piece: written if it is that piece's turn, else kept, and past ORDERED_KEPT_MAX waited
 * for. False: it could not be written (ferror(), errno), or all was stopped. */
bool ordered_put(struct ordered *o, size_t piece, struct ordered_text *kept, bytes more);

/* The piece is whole: waits for its turn, writes what is kept, lets the next one in. */
bool ordered_end(struct ordered *o, size_t piece, struct ordered_text *kept);

void ordered_stop(struct ordered *o);

#endif
