/* client.h: requests of the command line, over HTTP or into a database opened in this process.
 *
 * A `target` is where requests go, shared by all threads; a `client` is one connection to it, used
 * by one thread at a time. What stands behind them is hidden: the commands are the same for
 * --endpoint and --dir. */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "base/ctx.h"
#include "base/rng.h"
#include "widerow.h"

#include <stdatomic.h>

/* How the user says where requests go. NULL: not said. */
struct target_conf {
    const char *endpoint;
    const char *instance;
    const char *key_id;
    const char *key_secret;
    const char *data;    /* the folder whose credentials file is read when no key is given */
    const char *ca_file; /* certificates to trust, PEM */
    const char *profile; /* the name of one that the user has logged in to (profile.h) */
    const char *dir;     /* a data folder to open in this process */
    const char *engine;  /* of the database in this process: "rocks" (default) or "mem" */
    bool embedded;       /* a database in this process is meant, whichever */
};

struct target {
    bytes instance;
    const char *endpoint; /* without a slash at the end; NULL: the database below */
    const char *ca_file;  /* NULL: the system's certificates */
    bytes key_id, key_secret;
    struct wr_db *db;
    atomic_bool reached; /* some request was answered: a server is there, or was */
    struct arena arena;  /* the texts above */
};

struct client;

/* One cell as a stream (widerow.h). */
struct client_cell {
    struct wr_bytes table;
    struct wr_key key;
    struct wr_bytes column;
    uint64_t length;       /* put: of the value */
    const uint8_t *sha256; /* put: of the value; filled in when `move` has given its last byte */
    bool has_range;        /* get: only the bytes from `from` to `to`, inclusive */
    uint64_t from, to;
    /* put: gives the next bytes, at most `size`. get: takes them. Returns how many, -1: it cannot.
     */
    ptrdiff_t (*move)(void *arg, uint8_t *data, size_t size);
    /* get: called once before the first byte, with how many will come, and the hash of the whole
     * value. */
    void (*start)(void *arg, uint64_t length, const uint8_t sha256[32]);
    void *arg;
};

struct client_ops {
    /* One try. Returns the reply's code; a failure is recorded in c. On 0 `out` is filled and lives
     * as long as the arena of c. */
    int (*exec)(struct ctx *c, struct client *cl, const struct wr_request *request,
                struct wr_reply *out);
    /* One try, too. */
    int (*put_cell)(struct ctx *c, struct client *cl, const struct client_cell *cell);
    int (*get_cell)(struct ctx *c, struct client *cl, const struct client_cell *cell);
    void (*close)(struct client *cl);
};

struct client {
    const struct client_ops *ops;
    struct target *target;
    int64_t retry_ms;        /* how long client_exec() goes on trying; 0: one try */
    bool repeatable;         /* the caller's writes may be applied twice without harm */
    const atomic_bool *stop; /* NULL, or: true ends the trying */
    bool timed_out;          /* the last try ended because no answer had come in time */
    struct rng rng;          /* spreads the pauses of many clients */
};

#define CLIENT_RETRY_MS 30000

/* Fills in from the environment (WIDEROW_ENDPOINT, ...), from a profile, from the credentials file
 * and from the defaults what `conf` leaves open, and opens the data folder if one is named. The
 * profile is the one that is named, by WIDEROW_PROFILE too, else "default", but that one only where
 * nothing else says which server or key is meant. `t` is the caller's;
 * release it in any case. */
int target_open(struct ctx *c, const struct target_conf *conf, struct target *t);
void target_release(struct target *t);

/* Reads a line "instance access_key_id secret" of `dir`/credentials into *t: the first for
 * `wanted`, or if there is none, or it is NULL, the first of all. False if there is no line. */
bool target_read_credentials(struct target *t, const char *dir, const char *wanted);

/* A connection; it is made by the first request. */
int client_open(struct ctx *c, struct target *t, struct client **out);
void client_close(struct client *cl); /* NULL is allowed */

/* Runs a request whose `instance` is still empty, trying again with growing pauses while the answer
 * is one that a second try may change. A request that may have been applied is repeated only if it
 * is a read or cl->repeatable is set. Returns the last try's code; its text is in c. */
int client_exec(struct ctx *c, struct client *cl, const struct wr_request *request,
                struct wr_reply *out);

/* What the table is now; WR_E_NOT_EXIST if there is none. */
int client_describe(struct ctx *c, struct client *cl, bytes table,
                    struct wr_table_description *out);

/* True if a row or request that ended with `code` is worth another try. */
bool client_may_retry(int code, bool repeatable);

/* Sleeps before try number `tries` + 1 (tries from 1), 20 ms to 2 s and some chance. */
void client_pause(struct client *cl, unsigned tries);

/* The two kinds of client, for client_open(). */
int client_open_http(struct ctx *c, struct target *t, struct client **out);
int client_open_local(struct ctx *c, struct target *t, struct client **out);

#endif
