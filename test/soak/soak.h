/* soak.h: a long run of everything at once, judged by a model.
 *
 * A server works for minutes or hours on a small, busy set of rows: writers change and read them
 * (writer.h), tables are rekeyed, partitions split and merge, backups are made, the time of day
 * steps forward and back, the server is killed and started again (life.c). The model (book.h) knows
 * what every row must be: each read is compared with it as it comes, and after each start so is
 * everything that is stored. Memory and descriptors are sampled (watch.h); they must stay flat. At
 * the end the digest of what is stored must be the model's.
 *
 * Built on the crash tests' server, client and counting (test/crash). */
#ifndef SOAK_SOAK_H
#define SOAK_SOAK_H

#include "book.h"
#include "crash.h"
#include "server.h"
#include "watch.h"

#define MEMORY_MIB_TEXT "64" /* what the server is given as --memory, in MiB */

struct soak {
    struct crash run;
    int64_t seconds; /* that it lasts */
    int64_t end_us;
    char clock_file[256];
    _Atomic int64_t *clock_us; /* by so much the time of day is later than it is; shared with the
                                  server's process */
    bool steady;               /* it does not step */
    int64_t clock_steps, clock_back;
    struct server server;
    struct watch watch;
    struct book *book;
    int lives, kills, stops, starts_killed, backups, rekeys;
    uint64_t splits, merges; /* that were counted; those of a life's last moments are not */
    uint64_t acked, unsure, refused, reads;
};

/* One life of the server, of about so long, from ready to killed or stopped and started again.
 * False: the run cannot go on. */
bool life_run(struct soak *s, int64_t us);

/* Starts the first server and makes the tables. */
bool life_begin(struct soak *s);

/* The last comparison, digests included. */
void life_end(struct soak *s);

#endif
