/* door.h: a client's connection, over the command line's own HTTP client, and the few requests the
 * tests send. One thread at a time. */
#ifndef CRASH_DOOR_H
#define CRASH_DOOR_H

#include "client/client.h"
#include "crash.h"

#define DOOR_INSTANCE "crash"
#define DOOR_KEY_ID "crash-id"
#define DOOR_KEY_SECRET "crash-secret"

struct door {
    struct crash *run;
    struct target target;
    struct client *client;
    struct ctx c; /* of the last request; door_clear() begins a new one */
};

void door_open(struct door *d, struct crash *run);
void door_close(struct door *d);

/* Frees what the last request left; call before making the next one. */
void door_clear(struct door *d);

/* One try. The reply lives until door_clear(). */
int door_exec(struct door *d, const struct wr_request *request, struct wr_reply *out);

/* True if the failure of the last request leaves open whether it was applied. */
bool door_unsure(const struct door *d, int code);

/* True if the last request failed because nobody answers any more. */
bool door_gone(const struct door *d);

/* A table whose key columns are all integers; there may be one already. */
int door_create_table(struct door *d, const char *table, const char *const *keys, size_t key_count);

/* Return false to end the scan. */
typedef bool door_row_fn(void *arg, const struct wr_row *row);

/* Calls fn for each row with from <= first key column < to (INT64_MAX: no bound). */
int door_scan(struct door *d, const char *table, const char *const *keys, size_t key_count,
              int64_t from, int64_t to, door_row_fn *fn, void *arg);

const struct wr_cell *door_cell(const struct wr_row *row, const char *name);

#endif
