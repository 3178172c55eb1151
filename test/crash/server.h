/* server.h: a widerowd that is started, killed and watched. The main thread only. */
#ifndef CRASH_SERVER_H
#define CRASH_SERVER_H

#include "crash.h"

#include <sys/types.h>

#define SERVER_FLAGS_MAX 16

struct server {
    struct crash *run;
    const char *dir;                     /* its data folder */
    const char *fault;                   /* WR_FAULT; NULL: none */
    const char *record_file;             /* what it does to its files goes there; NULL: nowhere */
    const char *clock_shift_s;           /* its time of day is so much later; NULL: not */
    const char *clock_file;              /* holds 8 bytes, by so many us it is later, at any time */
    const char *flags[SERVER_FLAGS_MAX]; /* more flags, up to a NULL */
    pid_t pid;                           /* 0: does not run */
    int status;                          /* waitpid()'s, once it has ended */
    int64_t start_us, ready_us;          /* of the last start; ready_us from start to ready */
    long log_from;                       /* where the last start's output begins in the log */
    char port_file[256], log_file[256];
};

void server_init(struct server *s, struct crash *run, const char *dir);

void server_start(struct server *s);

/* Waits until it is ready. False: it ended instead, or was not ready in 30 s (it is killed then).
 */
bool server_wait_ready(struct server *s);

/* True if it runs no more; s->status tells how it ended. */
bool server_ended(struct server *s);

/* Waits up to that long for it to end by itself. */
bool server_wait_end(struct server *s, int64_t ms);

/* kill -9, and waits for the process to go. */
void server_kill(struct server *s);

/* SIGTERM; true if it ended with exit code 0. */
bool server_stop(struct server *s);

/* What it has printed since the last start; mem_free() it. */
char *server_output(struct server *s);

#endif
