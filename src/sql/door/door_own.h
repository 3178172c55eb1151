/* door_own.h: what the files of the door share. */
#ifndef SQL_DOOR_DOOR_OWN_H
#define SQL_DOOR_DOOR_OWN_H

#include "sql/door/channel.h"
#include "sql/door/door.h"

#include <netinet/in.h>

#define HANDSHAKE_S 10
#define IDLE_S 600 /* without a statement */
#define REST_S 5   /* without one, and it holds nothing that only statements need */
#define WRITE_S 60 /* for 64 KiB */
#define PACKET_MAX (64 << 20)
#define WALKERS_SPARE 1      /* threads for long walks beside as many as there are processors */
#define HELD_SHARE 4         /* of what requests may hold, for what clients have sent */
#define SHOWN_SQL_BYTES 1024 /* of a statement, in SHOW PROCESSLIST */

struct visit;
struct loop;

struct connection {
    struct connection *next;
    struct door *door;
    struct channel channel;
    struct sockaddr_storage peer;
    uint32_t number;
    atomic_bool known;    /* it has shown who it is */
    int32_t gone;         /* as wr_request.gone: the statement that runs is to end */
    pthread_mutex_t lock; /* over the rest: what others may see of it */
    bytes user;           /* ptr NULL: nobody yet */
    char database[64], sql[SHOWN_SQL_BYTES + 1];
    size_t sql_size; /* 0: no statement runs */
    bool continued;  /* the statement goes on elsewhere, and may have been killed already */
    int64_t since_ms;
    bool on_loop;        /* a loop serves it */
    pthread_cond_t back; /* it is its thread's again */
    struct visit *visit; /* its thread's, or the loop's that serves it, as all below */
    struct loop *loop;
    struct connection *next_ready;
    bool readable; /* there may be something to read */
    bool queued;   /* it has its turn soon */
    bool here;     /* the reply came at once */
    struct wr_reply *reply;
};

struct door {
    struct door_conf conf;
    char address[80];
    int listen_fd, bell[2];
    pthread_t thread;
    SSL_CTX *tls; /* NULL: none */
    struct permits permits;
    struct pool *walkers;
    struct loop **loops;
    int loop_count;
    atomic_bool quit;
    /* Packets, prepared statements and their values, statements as they are understood: of all
     * connections together. */
    atomic_size_t held;
    size_t held_max;
    pthread_mutex_t lock; /* over the rest */
    pthread_cond_t left;  /* a connection has ended */
    struct connection *connections;
    int count;
    uint32_t last_number;
};

/* ---- process.c: what a connection shows of itself, and what others may do to it ---- */

/* A statement begins, or has ended (no bytes); nobody kills one that has not begun. */
void process_show(struct connection *c, bytes database, bytes sql);
/* The statement that is shown is begun anew by the connection's thread, which shows it again: one
 * that is killed between stays so. */
void process_continue(struct connection *c);
/* Who is there. A view, until process_leave(). False: the user has as many as he may have. */
bool process_enter(struct connection *c, bytes user);
void process_leave(struct connection *c);
/* For the sessions of the connection. */
struct processes process_functions(struct connection *c);
bool process_kill(struct connection *by, uint64_t number, bool connection);

/* Serves it to its end, on its thread. */
void connection_serve(struct connection *c);

#endif
