/* target.h: the database under test, in this process or behind widerowd's HTTP port. */
#ifndef LINEAR_TARGET_H
#define LINEAR_TARGET_H

#include "client/client.h"

#include <sys/types.h>

struct target_spec {
    bool http;
    bool sql;           /* the server has a MySQL port */
    const char *engine; /* what else it needs stands in the environment: WIDEROW_CEPH_CONF, … */
    const char *widerowd;
    const char *dir; /* empty and ours; the same again after a restart */
    bool wide;       /* every row with two cells or more is stored cell by cell */
    bool brief;      /* transactions end by time after 5 s, not after a minute */
    bool no_sync;    /* in this process only */
    int page_rows; /* a page of a range ends behind so many, in this process only; 0: as it does */
    bool small;    /* partitions may hold 1 KB */
    const char *fault; /* WR_FAULT of the process; NULL: none */
    /* test/rados/preload.c, with what it is to do; NULL: without. */
    const char *preload;
    int link_port, clock_ms;
};

struct server {
    struct target target; /* for client_open() */
    struct target_spec spec;
    struct clock clock;
    pid_t pid;
    char address[64], sql_address[64];
    char endpoint[80];
    struct server *next; /* another one on the same data; NULL: none */
};

/* The server of a client, when they take turns. */
static inline struct server *server_of(struct server *first, int client)
{
    struct server *s = first;

    for (int i = 0; i < client; i++)
        s = s->next ? s->next : first;
    return s;
}

/* False, with a line on stderr, if it does not start. */
bool server_open(struct server *s, const struct target_spec *spec);
/* kill -9 and a start on the same address. Clients go on using s->target. */
bool server_restart(struct server *s);
void server_close(struct server *s);

#endif
