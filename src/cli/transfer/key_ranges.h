/* key_ranges.h: ranges of a table's keys in a queue, and the threads that work through them.
 *
 * A worker takes a range, reads a page of it, puts what is left of it back for the others, and
 * does its page's work: so even a table that is one range keeps all of them busy. */
#ifndef CLI_TRANSFER_KEY_RANGES_H
#define CLI_TRANSFER_KEY_RANGES_H

#include "client/client.h"

#include <pthread.h>

struct key_range {
    struct key_range *next;
    struct arena arena; /* of the keys */
    struct wr_key start, end;
};

struct key_ranges {
    pthread_mutex_t mutex; /* over what follows */
    pthread_cond_t wake;   /* a range came, or it is over */
    struct key_range *first;
    size_t busy; /* workers that may still put a range back */
    int code;    /* of the first failure; 0 */
    char failure[512];
    atomic_bool stopped; /* set by the first failure; anybody may set it */
};

struct key_ranges_job {
    const char *name; /* of the threads */
    size_t worker_count;
    void *arg;
    /* Of each thread, when it gets its first range; *worker is what the others are given. What it
     * made before it failed is closed, too. */
    int (*open)(struct ctx *c, void *arg, void **worker);
    /* A page of r: puts back what is left with key_ranges_put(). What it fails with ends all. */
    int (*page)(struct ctx *c, void *worker, const struct key_range *r);
    void (*close)(void *worker); /* NULL is given if nothing was opened */
};

/* Puts the whole table in, split where the server says its pieces are. `q` may hold anything
 * before; end it with key_ranges_run(), which must follow. `cl` is used until it returns. */
void key_ranges_begin(struct ctx *c, struct key_ranges *q, struct client *cl,
                      const struct wr_table_description *t);

/* Puts a range back. Any worker. */
void key_ranges_put(struct key_ranges *q, const struct wr_key *start, const struct wr_key *end);

/* Works until no range is left, or one has failed: with its code, and its reason behind the
 * table's name. Frees what the queue holds; `stopped` may be read later. */
int key_ranges_run(struct ctx *c, struct key_ranges *q, bytes table,
                   const struct key_ranges_job *job);

#endif
