/* door.h: what the files of the HTTP transport share; for src/net only.
 *
 * A server (`struct http`, http.c) has loops (loop.c), a loop has connections (conn.c), a
 * connection has at most one exchange (exchange.c): a request and its answer. A connection that has
 * been answered before its client had sent everything goes on as a lingering socket (linger.c).
 *
 * Each loop is one thread, and everything of a loop belongs to that thread. What others touch is
 * atomic and says so here. */
#ifndef NET_DOOR_H
#define NET_DOOR_H

#include "net/http.h"
#include "net/tls.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

struct exchange;
struct loop;

/* ---- conn.c ---- */

enum phase {
    IDLE,     /* no request; perhaps the first bytes of one */
    READING,  /* from the request line to the end of the body */
    HANDLING, /* the request is whole, the answer is still to come */
    SENDING,
    CUT, /* too late; the library will notice that the socket is shut */
};

struct conn {
    struct conn *prev, *next; /* in the loop's ring */
    struct http *http;
    struct loop *loop;
    struct exchange *exchange; /* NULL: none */
    int fd;
    enum phase phase;
    bool linger;      /* the client may still be sending when the library closes */
    int64_t phase_ms; /* when the phase began; READING and SENDING only */
    int64_t since_ms; /* when the measured time within it began */
    uint64_t moved;   /* bytes since then, by which the pace of the client is judged */
    /* Times in which we did not wait for the client but it for us. */
    int64_t parked_ms; /* parked since; 0: it is not */
    int64_t waited_ms; /* sum of earlier ones since `since_ms` */
    /* For the watch. */
    unsigned requests;      /* completed; tells one idle time from the next */
    unsigned seen_requests; /* `requests` when base_bytes was taken */
    uint64_t base_bytes;    /* received before this idle time, or acknowledged before this answer */
    int64_t first_byte_ms;  /* idle: when bytes past base_bytes were first seen; 0: none yet */
};

struct conn *conn_of(struct MHD_Connection *connection);
struct conn *conn_open(struct loop *l, struct MHD_Connection *connection);
void conn_close(struct conn *c);

/* Watched last from now on. */
void conn_to_back(struct conn *c);

/* Begins a phase. */
void conn_enter(struct conn *c, enum phase phase);

/* The time from conn_park() to conn_unpark() is not the client's. */
void conn_park(struct conn *c);
void conn_unpark(struct conn *c);

/* Cuts the connection if its client is too late with what it has to do. */
void conn_watch(struct conn *c, int64_t now);

/* ---- exchange.c ---- */

/* Callbacks of the library; see there. */
void *exchange_on_line(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result exchange_on_access(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload_data,
                                   size_t *upload_data_size, void **req_cls);
void exchange_on_completed(void *cls, struct MHD_Connection *connection, void **req_cls,
                           enum MHD_RequestTerminationCode code);

/* The client's body (while it is read) or the answer (after that) goes piece by piece. */
bool exchange_is_streamed(const struct exchange *x);

/* Asks the handler for the 408 answer to what `c` has sent so far, and writes it. */
void exchange_late(struct conn *c);

/* Parked exchanges that loop.c takes from the list. */
struct exchange *exchange_next_ready(struct exchange *x);
void exchange_link_ready(struct exchange *x, struct exchange *next);
void exchange_resume(struct exchange *x);

/* ---- linger.c ---- */

struct lingerer;

/* Keeps the connection behind `fd` open, by a duplicate, until its client has had time to read the
 * answer: a socket closed with unread bytes in it makes the kernel break the connection at once. */
void linger_add(struct loop *l, int fd);

/* Reads and drops what has come; closes those whose client is done or has had its time. */
void linger_tick(struct loop *l, int64_t now);
void linger_free(struct loop *l);

/* ---- loop.c ---- */

struct loop {
    struct loop *next;
    struct http *http;
    struct MHD_Daemon *daemon;
    int listen_fd; /* a duplicate */
    int epoll_fd;  /* the library's */
    int bell_fd;   /* readable: a list is not empty, or `stopping` or `quit` was set */
    _Atomic(struct exchange *) ready; /* parked requests to resume, newest first */
    atomic_int ringers;               /* threads inside loop_put_ready(), which use this struct */
    atomic_bool retired;              /* accept no more, end with the last connection */
    atomic_bool ended;                /* so it has */
    bool quiesced;                    /* it accepts no more */
    bool running;                     /* the thread was started */
    pthread_t thread;
    struct conn conns;        /* head of a ring; the next to be watched first */
    atomic_size_t conn_count; /* others only read it */
    int64_t accept_ms;        /* nothing is accepted before */
    struct arrival *arrivals; /* connections for it; under http.loops_lock */
    size_t arrival_count;     /* with those that are just being taken over; likewise */
    int64_t watch_ms;         /* when the next slice of them is watched */
    struct lingerer *lingering;
    size_t linger_count;
    int64_t linger_ms; /* when they are looked at again */
};

/* Of one loop, as the library is told. */
size_t loop_conns_max(const struct http *h);

/* Adds conf.threads loops to h->loops. False: not all of them could be started. */
bool loops_start(struct http *h);

/* Those from `l` up to and without `end` accept no more. */
void loops_retire(struct http *h, struct loop *l, const struct loop *end);
void loops_free_ended(struct http *h);

/* Ends the threads and frees all loops; no connection may be parked. */
void loops_stop(struct http *h);

/* Wakes the loop. From any thread. */
void loop_ring(struct loop *l);

/* Has the loop resume x, which stays in place until then. From any thread. */
void loop_put_ready(struct loop *l, struct exchange *x);

/* ---- accept.c ---- */

struct arrival;

/* Whether the loop watches the listening socket now. */
bool loop_accepts(struct loop *l, int64_t now);

/* Accepts what waits, for the loops that have the fewest connections. */
void loop_accept(struct loop *l);

/* Makes connections of what others accepted for this loop. */
void loop_take_arrivals(struct loop *l);
bool loop_has_arrivals(struct loop *l);
void loop_drop_arrivals(struct loop *l); /* the loop has ended */

/* ---- http.c ---- */

struct http {
    struct http_conf conf;
    struct loop *loops;         /* the newest first: conf.threads of them, then retired ones */
    pthread_mutex_t loops_lock; /* over the list and the loops' arrivals */
    int listen_fd;              /* the loops have duplicates; -1: none */
    struct tls_pair tls;
    char address[80];
    atomic_bool stopping;     /* answers say Connection: close */
    atomic_bool closed;       /* no handler is called any more */
    atomic_bool loops_quit;   /* the loop threads end */
    atomic_ullong active;     /* handler called, on_completed still to come */
    atomic_ullong pending;    /* a handler runs, or has parked its request */
    atomic_size_t *memory;    /* bytes that requests hold */
    atomic_size_t own_memory; /* where they are counted if nobody else counts with us */
    atomic_ullong accepted, late, connections;
};

static inline int64_t http_now_ms(struct http *h)
{
    return clock_mono_ms(h->conf.clock);
}

#endif
