/* door.h: the MySQL door: listens, and serves each connection on a thread of its own
 * (doc/decisions/0033-sql.md). */
#ifndef SQL_DOOR_DOOR_H
#define SQL_DOOR_DOOR_H

#include "base/log.h"
#include "sql/run/session.h"

struct door;

/* Who may come in: the server knows its access keys. Any thread. */
struct door_keys {
    /* The key of that id, held until released, with its secret; NULL: there is none. */
    const void *(*find)(void *arg, bytes id, bytes *secret);
    void (*release)(void *arg, const void *key);
    /* What it may do: as of struct access, whose arg is a struct door_guest. */
    struct access access;
    void *arg;
};

/* Who has come in. */
struct door_guest {
    const struct door_keys *keys;
    bytes id;
    bytes instance; /* that he is in */
};

struct door_conf {
    const char *address; /* "127.0.0.1:33060" */
    const char *setting; /* how the operator names it, for messages: "--sql" */
    struct wr_db *db;
    struct clock *clock;
    struct log *log;
    struct door_keys keys;
    const char *tls_cert, *tls_key; /* NULL or "": no TLS */
    int connections_max;            /* past it a client is told so (1040) */
    int user_connections_max;       /* of one user (1226); 0: nine tenths of all */
    int strangers_per_address_max;  /* that have not shown who they are; 0: any */
};

/* On failure an error code, and one line in `message`. */
int door_open(const struct door_conf *conf, struct door **out, char *message, size_t size);

/* Ends all connections, after the statements under way, and frees. NULL is allowed. */
void door_close(struct door *d);

/* The address really taken. */
const char *door_address(const struct door *d);

#endif
