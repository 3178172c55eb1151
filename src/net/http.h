/* http.h: the HTTP/1.1 transport: whole requests in, whole answers out, no meaning.
 *
 * A server listens on one address and runs a few loop threads. Each request that arrived in full is
 * handed to `on_request` on a loop thread, which must not block: it answers with http_reply() at
 * once, or keeps the request and lets any thread call http_reply() or http_resume() later; until
 * then the connection is parked and costs nothing.
 *
 * Ownership. A request, its arena and all views in it live until the answer is in the socket or
 * copied to wait for it, or the connection turned out to be lost; neither is before http_reply() or
 * http_resume() was called. So the answer's headers and body may lie in the request's arena (or be
 * held by a hook of it). Where a client has gone, a continuation given to http_resume() may never
 * run, and hooks of the arena are the one sure end of a request. A client that closes its side
 * while its request is parked is one that has gone (http_request.gone), though an answer is sent to
 * it all the same; one that only vanishes is noticed late or not at all.
 *
 * What cannot be read for sure as one request is not handed over (head.h): it is answered here,
 * with a text that says why, and its connection is closed.
 *
 * Bounds. A body past `body_bytes_max`, or one that does not fit beside those of other requests
 * (`memory_max`), is not kept: as soon as that is known, from the announced length if there is
 * one, the request is handed over without it and with `fault` set to 413 or 503, so that the
 * handler words the refusal. A request that is not complete within `request_timeout_ms` of its
 * first byte, however busily its client drips bytes, is handed over with `fault` 408; if not even
 * its headers were complete it has no method, path or headers. A request with a fault must be
 * answered before the handler returns. If much of the body is still to come the connection is
 * closed after the answer. A client that does not take its answer is dropped too: it must take
 * `stream_pace` bytes a second.
 *
 * Slow clients. Bodies that are coming, answers that have not been taken and what handlers keep for
 * their streams (http_hold()) may be half of `memory_max` together. Past it the slowest connection
 * of the client with most of it is closed, and the next (share.c); a body or stream of it is handed
 * over with `fault` 503 first.
 *
 * Large answers. Before one is made its room is reserved (http_reserve()); without room the handler
 * gives up what it has, and the request waits (http_wait(), queue.c).
 *
 * Strangers. A connection is a stranger until a handler says otherwise (http_known()). When there
 * are as many connections as there may be, a new one takes the place of the oldest stranger. The
 * head of a connection's first request must be there within `head_timeout_ms`. */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/ctx.h"

struct sockaddr;
struct http;

struct http_header {
    bytes name; /* of requests: lower case */
    bytes value;
};

struct http_request {
    struct ctx ctx; /* arena capped at request_memory_max; no deadline set */
    bytes method;
    bytes path; /* as it was sent, without the query: what has to be decoded is another path */
    bool query; /* there was a query with something in it */
    const struct http_header *headers;
    size_t header_count;
    uint64_t length;       /* of the body as announced; HTTP_LENGTH_UNKNOWN: it comes in chunks */
    size_t body_bytes_max; /* that is collected; the server's, which on_head may change */
    bytes body;
    int fault;        /* 0, or the status that says why the request is not whole: 408, 413, 503 */
    int64_t start_us; /* monotonic: when the first line had arrived */
    const struct sockaddr *peer;
    void *user; /* the handler's own; NULL at first */
    /* Not 0 once the client has closed its side while the request was parked. Read it atomically.
     */
    int32_t gone;
};

/* Runs on a loop thread; must not block. */
typedef void http_fn(void *arg, struct http_request *r);

/* ---- streams ---- */

/* Takes a piece of a request's body, on the loop thread; returns how many bytes of it were taken.
 * Fewer than it has: "later". Then the connection is parked, and so the client slowed down, until
 * http_more() from any thread (it may come before this call has returned); the rest is offered
 * again. An empty piece is the end of the body and comes once; from then on the request is answered
 * like any other, at once or later.
 *
 * A refusal may be given with http_reply() at any call, or while parked, instead of http_more(); no
 * piece comes after it. Between a call that took everything and the next call the request may go
 * without another word (the client left or was too slow, the server closes): the hooks of its arena
 * run on the loop thread and are the place to undo what was begun. While the consumer has said
 * "later" and has not called http_more() the request stays, whatever becomes of its client. */
typedef size_t http_sink_fn(void *arg, struct http_request *r, bytes piece);

/* Writes the next bytes of an answer's body, at most `size` of them, on the loop thread; returns
 * how many. `offset` counts from the first byte of this answer's body and grows by what was
 * returned. 0: "later", go on with http_more(), as above. HTTP_BROKEN: the rest cannot be had; the
 * connection is cut, so that the client sees that the answer is not whole. The request goes (the
 * hooks of its arena run) when the last byte has been sent or the client is lost, never while the
 * source has said "later" and not called http_more(). */
typedef ptrdiff_t http_source_fn(void *arg, struct http_request *r, uint64_t offset, uint8_t *to,
                                 size_t size);
#define HTTP_BROKEN (-1)
#define HTTP_LENGTH_UNKNOWN UINT64_MAX

struct http_conf {
    const char *address; /* "127.0.0.1:8600", "[::1]:8600", "localhost:0"; port 0: a free one */
    const char *setting; /* how the operator names the address, for messages: "--http" */
    int threads;         /* loop threads; 0: 2 */
    int connections_max; /* 0: 10000. Past it one has to go for each new one, or that waits */
    int connections_per_address; /* of one IPv4 address or IPv6 network (/64); 0: as many as come.
                                    More are closed at once */
    int idle_timeout_s;          /* keep-alive connections without a request; 0: 75 */
    int head_timeout_ms;    /* from connecting to the end of the first request's head; 0: 5000 */
    int request_timeout_ms; /* from the first byte to the full body; 0: 30000 */
    /* Bodies that are streamed have no such end. Their clients, and those that take an answer, must
     * move so many bytes a second, on average over a request_timeout_ms, or a quarter of an
     * answer_timeout_ms (a twelfth while others wait for room), in which they were waited for; 0:
     * 16 KiB. */
    size_t stream_pace;
    int answer_timeout_ms;     /* from the answer's first byte to its last; 0: 120000 */
    size_t body_bytes_max;     /* 0: 5 MiB */
    size_t request_memory_max; /* cap of the request's arena; 0: 256 MiB */
    size_t memory_max;         /* of all requests together: no body begins past it; 0: 256 MiB */
    /* Counts what requests hold, and connections; NULL: a counter of its own. */
    atomic_size_t *memory;
    /* Names of PEM files, read at once and by http_reload(), so they must live as long as the
     * server. NULL or "": no TLS. */
    const char *tls_cert, *tls_key;
    struct clock *clock;
    struct log *log; /* may be NULL */
    /* NULL, or called when the headers are in and nothing of the body is. It may refuse with
     * http_reply(), so that the body is never kept; or take the body in pieces with http_receive();
     * or set r->user and leave it at that: then the body is collected and on_request called. It
     * cannot park the request. */
    http_fn *on_head;
    http_fn *on_request;
    void *arg;
};

/* Listens and starts the loop threads. On failure returns an error code, *out is NULL and `message`
 * holds one line that says what is wrong and how to mend it. */
int http_open(const struct http_conf *conf, struct http **out, char *message, size_t message_size);

/* Reads the certificate files again. New connections get what stands there now, those that are open
 * end after the answer to their next request. On failure, with its line in `message`, or if nothing
 * has changed, all stays as it is. Only the thread that opened the server may call this. */
int http_reload(struct http *h, char *message, size_t message_size);

/* Stops accepting, lets requests under way finish (those whose handler has not answered without
 * limit, sending for `grace_ms`), closes all connections, frees. NULL is allowed. */
void http_close(struct http *h, int grace_ms);

/* The address really taken, "127.0.0.1:8600". Valid as long as the server. */
const char *http_address(const struct http *h);

/* Answers. Exactly once a request, from any thread; the request must not be touched afterwards.
 * `headers` (n of them) and `body` must stay until the request goes; each name and value ends with
 * a NUL that is not counted. Content-Length, Date and Connection are added here. A large body is
 * sent from where it lies, without a copy, if arena_take() takes it out of the request's arena with
 * HTTP_ROOM in front of it. */
#define HTTP_ROOM 4096u
void http_reply(struct http_request *r, int status, const struct http_header *headers, size_t n,
                bytes body);

/* If the request is still parked at deadline_ms (monotonic), fn(arg, r) is called on its loop
 * thread, within about a second, while another thread may be about to answer: the two agree on who
 * does. Called by the thread that has the request, before it parks. */
void http_on_deadline(struct http_request *r, int64_t deadline_ms, http_fn *fn, void *arg);

/* The request and its arena stay, also when it has been answered, until http_unref() from any
 * thread; http_close() waits for that. */
void http_ref(struct http_request *r);
void http_unref(struct http_request *r);

/* Goes on with fn(arg, r) on the request's loop thread: for work that should not be done on the
 * thread that calls this (encoding on a committer's thread, say). From any thread; instead of
 * http_reply(), which fn then calls; may be used again from there. */
void http_resume(struct http_request *r, http_fn *fn, void *arg);

/* Called by on_head: the body goes to sink(arg, r, piece), is not kept and may have any length. No
 * on_request is called for this request. */
void http_receive(struct http_request *r, http_sink_fn *sink, void *arg);

/* The request is let in: it is the client's with that number, of whom many connections may be (a
 * hash of the access key, say). Called at most once a request, by on_head or on_request, on the
 * loop thread, before http_hold(). */
void http_known(struct http_request *r, uint64_t client);

/* The handler takes `size` bytes of memory beside the arena for as long as this request is under
 * way, a stream's buffers for example. On the loop thread. False: there is no room for them, even
 * after slower clients' have been closed; the handler refuses the request. */
bool http_hold(struct http_request *r, size_t size);

/* Room for an answer of about `size` bytes, which counts as held for the client from now until the
 * answer has gone. After http_known(), on the thread that has the request. False: what the client
 * has not read yet fills its share. */
bool http_reserve(struct http_request *r, size_t size);

/* Instead of http_reply(), after http_reserve() has said no and the handler has given up what it
 * had read: the request waits until there is room for `size` bytes, which are reserved then, or
 * deadline_ms (monotonic) has passed. Goes on with fn(arg, r) on its loop thread; `fault` is 503 if
 * there was no room. From any thread. False: too many wait already, fn is not called and the
 * handler answers. */
bool http_wait(struct http_request *r, size_t size, int64_t deadline_ms, http_fn *fn, void *arg);

/* A sink or source that has said "later" can go on. From any thread, once each time. */
void http_more(struct http_request *r);

/* Like http_reply(), with a body of `length` bytes that source(arg, r, ...) gives. */
void http_reply_stream(struct http_request *r, int status, const struct http_header *headers,
                       size_t n, uint64_t length, http_source_fn *source, void *arg);

/* The first header of that lower-case name; ptr NULL: there is none. */
bytes http_header_find(const struct http_request *r, bytes name);

/* The same. In line, so that the length of a name in the text is known when it is compiled. */
static inline bytes http_header(const struct http_request *r, const char *name)
{
    return http_header_find(r, bytes_str(name));
}

/* "192.0.2.7:50000" of the client, in the request's arena. */
bytes http_peer(struct http_request *r);

struct http_stat {
    uint64_t connections; /* open now */
    uint64_t accepted;    /* since start */
    uint64_t late;        /* requests and answers cut off by their deadline */
    uint64_t evicted;     /* connections closed to make room for others, or refused */
    uint64_t slowest;     /* cut off since more was held for slow clients than may be */
    uint64_t held;        /* bytes that are held for slow clients */
    uint64_t waiting;     /* requests that wait until there is room for their answers */
    uint64_t memory;      /* bytes of bodies, arenas, unsent answers, streams, connections */
    uint64_t active;      /* requests between their last byte and the end of their answer */
};
void http_stat(struct http *h, struct http_stat *out);

#endif
