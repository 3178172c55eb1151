/* migrate_notes.h: how far a migration has come with each table, in a file that its next run goes
 * on from. Lines are added, and the last one of a table counts; what a kill cuts off is left out.
 * One process at a time has the file. */
#ifndef CLI_TRANSFER_MIGRATE_NOTES_H
#define CLI_TRANSFER_MIGRATE_NOTES_H

#include "client/client.h"

#include <pthread.h>

enum migrate_phase {
    MIGRATE_UNKNOWN = 0, /* no migration has touched it */
    MIGRATE_FILLING = 1, /* its rows at the target are ours, and not all there */
    MIGRATE_FOLLOWS = 2, /* they are there, as of place_us */
    MIGRATE_DONE = 3,    /* and were compared with the source's */
};

struct migrate_note {
    enum migrate_phase phase;
    int64_t created_us; /* when the target says that its table was made; 0: it does not */
    int64_t place_us;   /* UTC: what the source's stream has had since then is perhaps missing; 0:
                           there is no stream */
    int64_t stream_us;  /* when that stream was switched on */
};

struct migrate_notes {
    const char *path; /* the caller's */
    int fd;           /* -1: none */
    pthread_mutex_t mutex;
    struct arena arena;
    struct migrate_line {
        bytes table;
        struct migrate_note note;
    } * lines; /* the last one of each table */
    size_t count;
};

/* Opens or makes the file. Refused: one of a migration between other servers, one that another
 * process has, one that is damaged. Release it in any case. */
int migrate_notes_open(struct ctx *c, const char *path, const struct target *from,
                       const struct target *to, struct migrate_notes *n);
void migrate_notes_release(struct migrate_notes *n);

/* Any thread. What is put is on disk when it returns. */
struct migrate_note migrate_notes_get(struct migrate_notes *n, bytes table);
int migrate_notes_put(struct ctx *c, struct migrate_notes *n, bytes table,
                      const struct migrate_note *note);

#endif
