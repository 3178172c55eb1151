/* door_own.h: what the files of the door share. */
#ifndef SQL_DOOR_DOOR_OWN_H
#define SQL_DOOR_DOOR_OWN_H

#include "sql/door/channel.h"
#include "sql/door/door.h"

#include <netinet/in.h>

#define HANDSHAKE_S 10
#define IDLE_S 600 /* without a statement */
#define WRITE_S 60 /* for 64 KiB */
#define PACKET_MAX (64 << 20)

struct connection {
    struct connection *next;
    struct door *door;
    struct channel channel;
    struct sockaddr_storage peer;
    uint32_t number;
    atomic_bool known; /* it has shown who it is */
};

struct door {
    struct door_conf conf;
    char address[80];
    int listen_fd, bell[2];
    pthread_t thread;
    SSL_CTX *tls; /* NULL: none */
    struct permits permits;
    atomic_bool quit;
    pthread_mutex_t lock; /* over the rest */
    pthread_cond_t left;  /* a connection has ended */
    struct connection *connections;
    int count;
    uint32_t last_number;
};

/* Serves it to its end, on its thread. */
void connection_serve(struct connection *c);

#endif
