/* http.h: the HTTP/1.1 transport: whole requests in, whole answers out, no meaning.
 *
 * A server listens on one address and runs a few loop threads. Each request that arrived in full is
 * handed to `on_request` on a loop thread, which must not block: it answers with http_reply() at
 * once, or keeps the request and lets any thread call http_reply() or http_resume() later; until
 * then the connection is parked and costs nothing.
 *
 * Ownership. A request, its arena and all views in it live until the answer has been sent, or the
 * connection turned out to be lost; neither is before http_reply() or http_resume() was called. So
 * the answer's headers and body may lie in the request's arena (or be held by a hook of it), and
 * nothing is copied. A client that has gone is noticed late or not at all: a continuation given to
 * http_resume() may then never run, and hooks of the arena are the one sure end of a request.
 *
 * Bounds. A body past `body_bytes_max` is not kept: the request is handed over without it and with
 * `fault` set to 413, so that the handler words the refusal. A request that is not complete within
 * `request_timeout_ms` of its first byte is refused with 408 and its connection closed, however
 * busily its client drips bytes; a client that does not take its answer is dropped too. (With TLS
 * such a connection is closed without the 408, and one that has not sent its first request within
 * that time of its handshake too.) */
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
    bytes body;
    int fault;        /* 0, or the status that says why the body is missing: 413 */
    int64_t start_us; /* monotonic: when the first line had arrived */
    const struct sockaddr *peer;
    void *user; /* the handler's own; NULL at first */
};

/* Runs on a loop thread; must not block. */
typedef void http_fn(void *arg, struct http_request *r);

struct http_conf {
    const char *address;    /* "127.0.0.1:8600", "[::1]:8600", "localhost:0"; port 0: a free one */
    const char *setting;    /* how the operator names the address, for messages: "--http" */
    int threads;            /* loop threads; 0: 2 */
    int connections_max;    /* 0: 10000. Past it new connections wait in the listen queue */
    int idle_timeout_s;     /* keep-alive connections without a request; 0: 75 */
    int request_timeout_ms; /* from the first byte to the full body; 0: 30000 */
    int answer_timeout_ms;  /* from the answer's first byte to its last; 0: 120000 */
    size_t body_bytes_max;  /* 0: 5 MiB */
    size_t request_memory_max; /* cap of the request's arena; 0: 256 MiB */
    bytes late_body;           /* body of the 408 answer; must live as long as the server */
    /* Names of PEM files, read at once and by http_reload(), so they must live as long as the
     * server. NULL or "": no TLS. */
    const char *tls_cert, *tls_key;
    struct clock *clock;
    struct log *log; /* may be NULL */
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
 * a NUL that is not counted. Content-Length, Date and Connection are added here. */
void http_reply(struct http_request *r, int status, const struct http_header *headers, size_t n,
                bytes body);

/* Goes on with fn(arg, r) on the request's loop thread: for work that should not be done on the
 * thread that calls this (encoding on a committer's thread, say). From any thread; instead of
 * http_reply(), which fn then calls; may be used again from there. */
void http_resume(struct http_request *r, http_fn *fn, void *arg);

/* The first header of that lower-case name; ptr NULL: there is none. */
bytes http_header(const struct http_request *r, const char *name);

/* "192.0.2.7:50000" of the client, in the request's arena. */
bytes http_peer(struct http_request *r);

struct http_stat {
    uint64_t connections; /* open now */
    uint64_t accepted;    /* since start */
    uint64_t late;        /* requests and answers cut off by their deadline */
    uint64_t active;      /* requests between their last byte and the end of their answer */
};
void http_stat(struct http *h, struct http_stat *out);

#endif
