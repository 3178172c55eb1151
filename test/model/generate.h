/* generate.h: random requests, most of them legal, over so few keys and columns that they collide.
 *
 * What is generated follows from the seed, the oracle's tables and rows, and stamps; so a run with
 * one thread repeats but for the stamps that the database makes. */
#ifndef MODEL_GENERATE_H
#define MODEL_GENERATE_H

#include "base/rng.h"
#include "oracle.h"

#define GENERATE_TABLES 6

struct generator {
    struct rng rng;
    struct oracle *o;
    struct arena *a; /* of the request being made */
    int64_t
        start_ms; /* cells' own stamps are whole half days from here, so that none expires soon */
    int thread;   /* below 0: alone. Else keys are those of this thread, and tables stay */
    bool wide;    /* rows are stored cell by cell: see generate.c */
    bool indexed; /* tables get indexes and lose them again */
    bool scalars; /* with columns of all types, also in their keys */
    bool txns;    /* tables may have transactions, and some are open at most times */
};

void generator_init(struct generator *g, uint64_t seed, struct oracle *o, int64_t start_ms,
                    int thread, bool wide);

/* The next request; it and all it points to live in `a`. */
void generator_next(struct generator *g, struct arena *a, struct wr_request *out);

/* CreateTable for the table of this number. */
void generator_create(struct generator *g, struct arena *a, int table, struct wr_request *out);

#endif
