/* http_own.h: what the files of the HTTP transport share; for src/net only.
 *
 * A server (`struct http`, http.c) has loops (loop.c), a loop has connections (conn.c), a
 * connection has at most one exchange (exchange.c): a request and its answer. head.c reads what
 * clients send; share.c counts what is held for clients that are slow, relief.c bounds it, queue.c
 * has the requests that wait until there is room for their answers; a connection that has been
 * answered before its client had sent everything goes on as a lingering socket (linger.c).
 *
 * Each loop is one thread, and everything of a loop belongs to that thread. What other threads
 * touch is atomic and says so here. */
#ifndef NET_HTTP_OWN_H
#define NET_HTTP_OWN_H

#include "base/arena_take.h"
#include "base/bell.h"
#include "net/head.h"
#include "net/http.h"
#include "net/tls.h"

#include <netinet/in.h>
#include <openssl/types.h>
#include <pthread.h>
#include <stdatomic.h>

struct exchange;
struct loop;
struct address_count;

/* A ring of connections; its head is one that is none. */
struct ring {
    struct ring *prev, *next;
};

static inline void ring_init(struct ring *r)
{
    r->prev = r->next = r;
}

/* Before `at`: last, if that is the head. */
static inline void ring_add(struct ring *at, struct ring *r)
{
    r->next = at;
    r->prev = at->prev;
    r->prev->next = at->prev = r;
}

/* A member of no ring may be removed. */
static inline void ring_remove(struct ring *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
    ring_init(r);
}

/* ---- conn.c: a socket and what is under way on it ---- */

enum phase {
    SHAKING,  /* TLS: the handshake */
    IDLE,     /* no request; perhaps a part of its head */
    READING,  /* from the end of the head to the end of the body */
    HANDLING, /* the request is whole, the answer is still to come */
    SENDING,
    CLOSED, /* it is freed at the end of the loop's turn */
};

/* Bytes that have come and nobody has taken. They lie in the loop's buffer while the connection is
 * run, and in memory of their own if some are left then. */
struct input {
    uint8_t *data;
    size_t at, len;  /* taken, and come */
    size_t capacity; /* of own memory; 0: the loop's buffer, or nothing */
};

/* A request that waits for room (queue.c). */
struct waiting {
    size_t size;  /* of its answer, about */
    size_t bytes; /* that it takes while it waits */
    int64_t deadline_ms;
    http_fn *fn;
    void *arg;
};

struct conn {
    struct ring all;      /* in the loop's ring; the next to be watched first */
    struct ring stranger; /* in the loop's ring of those that nobody knows, the oldest first */
    struct ring holder;   /* in the loop's ring of those for which bytes are held */
    struct ring queue;    /* in a queue of its client, under http.queue_lock */
    struct conn *next;    /* in the loop's list of those to run again, or to free */
    struct http *http;
    struct loop *loop;
    struct exchange *exchange;         /* NULL: none */
    SSL *ssl;                          /* NULL: no TLS */
    struct address_count *per_address; /* of its address; NULL: they are not counted */
    int fd;
    enum phase phase;
    bool readable, writable; /* the socket was, when it was last asked */
    bool hung_up;            /* the client's end has come, perhaps behind other bytes */
    bool known;              /* a request of it was let in: it is no stranger any more */
    bool heard;              /* it had a turn: what it sent while it waited to be taken was read */
    bool last;               /* no request is taken after this answer */
    bool linger;             /* the client may still be sending when we close */
    bool active;             /* counted in http.active */
    bool queued;             /* in the list of those to run again */
    bool took_large;         /* an answer with room of its own has gone */
    bool doomed;             /* it is closed as soon as its request is not parked */
    uint32_t tls_version;    /* of the certificate it was opened with */
    struct input in;
    struct head_scan scan; /* of a head that has not come whole; from in.at on */
    uint8_t *out;          /* of the answer, what the socket has not taken; NULL: nothing */
    size_t out_at, out_len, out_capacity;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer;
    /* Deadlines. */
    int64_t open_ms;
    int64_t phase_ms; /* when the phase began; of IDLE: when the first byte of a head came, or 0 */
    int64_t idle_ms;  /* when the last answer had gone */
    int64_t since_ms; /* when the measured time within the phase began */
    uint64_t moved;   /* bytes since then, by which the rate of the client is judged */
    uint64_t acked;   /* SENDING: what the client had acknowledged at since_ms */
    /* Times in which we did not wait for the client but it for us. */
    int64_t parked_ms; /* parked since; 0: it is not */
    int64_t waited_ms; /* sum of earlier ones since `since_ms` */
    /* What is held for it (share.c). */
    size_t held;        /* bytes, in all */
    size_t stream_held; /* of them, what the handler has for its stream */
    uint64_t client;    /* whose they are */
    size_t reserved;    /* bytes for the answer that is being made; not in `held` */
    struct waiting waiting;
    size_t counted; /* bytes of it in loop.conn_bytes and http.memory */
};

/* Takes over the socket, which does not block, and its `place` (accept.c; may be NULL). NULL: it
 * could not be watched; the caller closes it. */
struct conn *conn_open(struct loop *l, int fd, const struct sockaddr *peer, socklen_t size,
                       struct address_count *per_address);

/* Closes it at once, or as soon as its request is not parked any more; lingers if c->linger. What
 * the connection was doing is given up. */
void conn_close(struct conn *c);

/* Frees it; for the loop. */
void conn_free(struct conn *c);

/* Goes on as far as the socket, the handler and TURN_BYTES allow. Returns how many bytes of its
 * turn it took. */
size_t conn_run(struct conn *c);

/* The same; but if it has much to send, at the end of the loop's turn. */
void conn_turn(struct conn *c);

/* Begins a phase. */
void conn_enter(struct conn *c, enum phase phase);

/* The time from conn_park() to conn_unpark() is not the client's. */
void conn_park(struct conn *c);
void conn_unpark(struct conn *c);

/* Sends head and body: what the socket does not take at once is copied and sent later. */
void conn_send(struct conn *c, bytes head, bytes body);

/* Sends head and body in this and later turns of the loop, at most TURN_BYTES in each. The body
 * lies in `block`, of mem_alloc(), behind BLOCK_HEAD_BYTES or more for the head, which is no longer
 * than that; the memory is the connection's from now on. */
#define TURN_BYTES                                                                                 \
    (256u << 10) /* that a connection reads or writes before others have their turn */
#define BLOCK_HEAD_BYTES HTTP_ROOM
void conn_send_block(struct conn *c, bytes head, const struct arena_piece *block, size_t size);

/* Says 100 Continue. */
void conn_continue(struct conn *c);

/* Answers with a text of the transport's own, gives up the exchange if there is one, and closes. */
void conn_refuse(struct conn *c, const struct head_fault *fault);

/* It has sent a request that the handler lets in. */
void conn_known(struct conn *c, uint64_t client);

/* ---- watch.c: deadlines and rate ---- */

/* Cuts the connection if its client is too late with what it has to do. */
void conn_watch(struct conn *c, int64_t now);

/* ---- relief.c: who goes when too much is held for slow clients ---- */

/* From now on n bytes are held for the connection. False: there is no room even after slow ones
 * have been closed; they are held all the same, and the caller gives them up. */
bool share_hold(struct conn *c, size_t n);

/* Closes slow ones while more is held than may be. */
void share_relieve(struct loop *l);

/* ---- share.c: what is held for slow clients ---- */

struct share *share_of(const struct conn *c);

/* True: no more is held than may be. */
bool share_fits(const struct http *h);

/* n bytes, another number than before, are held for the connection. True: those are more. */
bool share_set_held(struct conn *c, size_t n);

/* What was reserved for its answer is held for it now. */
void share_take_reserved(struct conn *c);

/* The bytes of the client for whom most is held. */
size_t share_largest(const struct http *h);

/* ---- queue.c: requests that wait until there is room for their answers ---- */

/* What is held for one client, or for several whose numbers have the same hash. */
struct share {
    atomic_size_t bytes;   /* that are held */
    struct ring waiting;   /* in http.waiting_shares, if a queue is not empty */
    struct ring queues[2]; /* of connections: of those who read, and of all others */
};

void queue_init(struct http *h);

/* A client of the connection's kind, one with a key, waits for room. */
bool queue_waits(const struct conn *c);

/* Less is held: those for whom there is room now go on. From any thread. */
void queue_serve(struct http *h);

/* Refuses those whose deadline has passed, and serves. */
void queue_tick(struct http *h, int64_t now);

/* The server has closed: nobody waits any more. */
void queue_close(struct http *h);
/* Nothing waits any more; a thread that has just queued the last of it may still be on its way out.
 */
void queue_end(struct http *h);

/* Counts `size` bytes as memory of the connection itself, instead of those it was counted with. */
void conn_count(struct conn *c, size_t size);

/* ---- exchange.c ---- */

#define EXCHANGE_BYTES 8192 /* struct and first arena block */

struct http_request *exchange_request(struct exchange *x);
struct conn *exchange_conn(struct http_request *r);

/* A whole head lies at in.at, of `size` bytes: begins the exchange and calls the handler. */
void exchange_begin(struct conn *c, size_t size);

/* Bytes of the body; returns how many were taken. Fewer than all: it is parked, or there is a reply
 * and the rest is not wanted. */
size_t exchange_piece(struct conn *c, bytes piece);

/* The body is whole. */
void exchange_end(struct conn *c);

/* Goes on after it was parked. */
void exchange_wake(struct exchange *x);

/* The next piece of a streamed answer, into `to`: its size; 0: parked; below: broken. */
ptrdiff_t exchange_source(struct exchange *x, uint8_t *to, size_t size);
bool exchange_has_source(const struct exchange *x); /* and not all of it was given */

/* The client's body (while it is read) or the answer (after that) goes piece by piece. */
bool exchange_is_streamed(const struct exchange *x);
bool exchange_is_parked(const struct exchange *x);
/* The client has closed its side: if the handler is at work, it may look. */
void exchange_client_gone(struct exchange *x);

/* It is parked: tells the handler if its deadline has passed (http_on_deadline()). */
void exchange_watch(struct exchange *x, int64_t now);

/* The bytes of the body that are still to come; HTTP_LENGTH_UNKNOWN if it comes in chunks. */
uint64_t exchange_body_left(const struct exchange *x);
struct chunks *exchange_chunks(struct exchange *x); /* NULL: the length was announced */

/* Has the handler word a refusal (408, 503) and sends it. */
void exchange_refuse(struct conn *c, int status);

/* Ends what the client is too slow for: with an answer (`status` 408 or 503) if it has had none. */
void exchange_cut(struct conn *c, int status);

/* The answer has gone, or is given up. Not while it is parked. */
void exchange_free(struct exchange *x);

/* Parked exchanges that loop.c takes from the list. */
struct exchange *exchange_next_ready(struct exchange *x);
void exchange_link_ready(struct exchange *x, struct exchange *next);

/* ---- body.c: bodies that are collected ---- */

struct body {
    uint8_t *data;
    size_t len, capacity;
    size_t charged; /* in http.memory */
};

/* Room for n more bytes at data + len: 0, or the status to refuse the request with. */
int body_reserve(struct http_request *r, struct http *h, struct body *b, size_t n);

/* The status that an announced length deserves; 0: none. */
int body_check_length(const struct http_request *r, struct http *h);
void body_release(struct http *h, struct body *b);

/* ---- answer.c: how an answer looks ---- */

/* Status line and headers, in the loop's buffer until the next call. BYTES_NONE: they are too
 * long. */
bytes answer_head(struct loop *l, int status, const struct http_header *headers, size_t n,
                  uint64_t length, bool close);

/* ---- linger.c ---- */

struct lingerer;

/* Takes the socket over and keeps it open until its client has had time to read the answer: a
 * socket closed with unread bytes in it makes the kernel break the connection at once. */
void linger_add(struct loop *l, int fd);

/* Reads and drops what has come; closes those whose client is done or has had its time. */
void linger_tick(struct loop *l, int64_t now);

/* Closes the oldest. False: there is none. */
bool linger_drop_oldest(struct loop *l);
void linger_free(struct loop *l);

/* ---- loop.c ---- */

#define LOOP_BYTES 65536 /* of its buffers */

struct loop {
    struct loop *next;
    struct http *http;
    int epoll_fd;
    struct bell bell;                 /* a list is not empty, or a flag was set */
    bool listening;                   /* the listening socket is in the epoll set */
    _Atomic(struct exchange *) ready; /* parked requests to go on with, newest first */
    atomic_int wakers; /* threads that put an exchange on the list, which use this struct */
    bool running;      /* the thread was started */
    pthread_t thread;
    struct ring conns, strangers, holders;
    struct conn *again, *again_last; /* to be run in the next turn, oldest first */
    struct conn *dead;               /* to be freed at the end of this one */
    atomic_size_t conn_count;        /* with lingering ones; others only read it */
    atomic_size_t stranger_count;    /* likewise */
    atomic_size_t conn_bytes;        /* likewise: what connections take */
    struct arrival *arrivals;        /* connections for it; under http.arrivals_lock */
    atomic_size_t arrival_count;     /* of them; read without it */
    int64_t accept_ms;               /* nothing is accepted before */
    int64_t now_ms;                  /* of this turn */
    int64_t watch_ms;                /* when the next slice of connections is watched */
    struct lingerer *lingering, *lingering_last;
    size_t linger_count;
    int64_t linger_ms; /* when they are looked at again */
    int64_t date_s;    /* which `date` shows */
    char date[32];
    uint8_t *in, *out; /* LOOP_BYTES each */
};

/* Starts conf.threads loops. False: not all of them could be started. */
bool loops_start(struct http *h);

/* Ends the threads and frees all loops; no connection may be parked. */
void loops_stop(struct http *h);

/* Has the loop run the connection in its next turn, once however often it is asked. The loop's
 * thread. It stands here because loop.c runs connections, and they ask for it. */
static inline void loop_again(struct loop *l, struct conn *c)
{
    if (c->queued || c->phase == CLOSED)
        return;
    c->queued = true;
    c->next = NULL;
    if (l->again)
        l->again_last->next = c;
    else
        l->again = c;
    l->again_last = c;
}

/* ---- accept.c ---- */

/* True: the loop wants to hear of new connections now. */
bool loop_accepts(struct loop *l);

/* Accepts what waits, for the loops that have the fewest connections. */
void loop_accept(struct loop *l);

/* Makes connections of what was accepted for this loop. */
void loop_take_arrivals(struct loop *l);
void loop_drop_arrivals(struct loop *l); /* the loop has ended */

/* Closes connections while there are more than there may be, or somebody waits and one has been
 * idle for long. */
void loop_make_room(struct loop *l);

/* ---- address_count.c ---- */

/* One more connection from there. NULL: there are as many as may be. Under http.arrivals_lock. */
struct address_count *address_enter(struct http *h, const struct sockaddr_storage *peer);

/* A connection from there has ended. */
void address_leave(struct http *h, struct address_count *p);

/* ---- http.c ---- */

struct http {
    struct http_conf conf;
    struct loop *loops;
    pthread_mutex_t arrivals_lock; /* over the loops' arrivals, `places`, `tls_context` */
    int listen_fd;
    struct tls_pair tls;
    SSL_CTX *tls_context; /* NULL: no TLS */
    atomic_uint tls_version;
    struct address_count *addresses[1024]; /* connections by address, with a bound only */
    char address[80];
    atomic_bool stopping;        /* nothing is accepted, answers say Connection: close */
    atomic_bool closed;          /* no handler is called any more */
    atomic_bool loops_quit;      /* the loop threads end */
    atomic_ullong active;        /* a handler was called and the answer has not gone */
    atomic_ullong pending;       /* a handler runs, or has parked its request */
    atomic_size_t *memory;       /* bytes that requests and connections hold */
    atomic_size_t own_memory;    /* where they are counted if nobody else counts with us */
    atomic_size_t held;          /* bytes held for clients (share.c) */
    struct share shares[1024];   /* of them, by client */
    pthread_mutex_t relief_lock; /* over the choice of who goes (relief.c) */
    pthread_mutex_t queue_lock;  /* over queues and the next three */
    struct ring waiting_shares;  /* with somebody in their queues */
    size_t waiting_bytes;        /* of requests that wait for room */
    atomic_size_t waiting;       /* how many they are; read without the lock */
    atomic_ullong accepted, late, connections, evicted, slowest;
};

/* The connections that one loop may have. */
static inline size_t loop_conns_max(const struct http *h)
{
    return (size_t)(h->conf.connections_max + h->conf.threads - 1) / (size_t)h->conf.threads;
}

static inline int64_t http_now_ms(struct http *h)
{
    return clock_mono_ms(h->conf.clock);
}

#endif
