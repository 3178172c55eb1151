/* head.h: the head of an HTTP/1.1 request (RFC 9112) and the framing of a chunked body, read
 * strictly: what two readers could take for two different things is refused. Pure: no sockets.
 *
 * Refused are a bare LF, NUL and other control characters, white space before a colon, folded
 * lines, a second Content-Length or one that is no number, Content-Length beside Transfer-Encoding,
 * a transfer coding other than chunked, no Host or two, and whatever is longer than the bounds
 * below. After a refusal nobody knows where the next request would begin, so the connection has to
 * be closed. */
#ifndef NET_HEAD_H
#define NET_HEAD_H

#include "net/http.h"

#define HEAD_BYTES_MAX 16384
#define HEAD_FIELDS_MAX 100

/* Why a request cannot be read: its status and a sentence for the client. */
struct head_fault {
    int status; /* 0: there is none */
    const char *text;
};

/* How far the search for the end of a head has come. Begins as zeros. */
struct head_scan {
    size_t line; /* where the line begins that has not ended yet */
    size_t at;   /* what is in front has been looked at */
    unsigned lines;
};

enum head_state { HEAD_MORE, HEAD_WHOLE, HEAD_BAD };

/* Looks at the bytes that have come since the last call; `p` points to the first byte of the head,
 * of which n have come. HEAD_WHOLE: s->at is the length of the head with its empty line.
 * HEAD_BAD: *fault says why. */
enum head_state head_scan(struct head_scan *s, const uint8_t *p, size_t n,
                          struct head_fault *fault);

struct head {
    bytes method;
    bytes path; /* without the query */
    bool query;
    bool chunked;
    bool close;                  /* the client wants the connection to end */
    bool expect;                 /* it waits for 100 Continue before it sends the body */
    uint64_t length;             /* HTTP_LENGTH_UNKNOWN with `chunked` */
    struct http_header *headers; /* in the arena */
    size_t header_count;
};

/* Reads a head of n bytes that head_scan() has found whole. It is changed in place: names become
 * lower case, path and values are ended with a NUL; *out points into it. False: *fault says why. */
bool head_parse(struct arena *a, uint8_t *p, size_t n, struct head *out, struct head_fault *fault);

/* ---- chunks ---- */

struct chunks {
    int state;       /* enum chunk_state in head.c */
    uint64_t left;   /* of the chunk's data */
    unsigned digits; /* of its size */
    size_t line;     /* bytes of the line so far */
    size_t trailer;  /* bytes of the trailer so far */
};

/* Passes over framing; begins with zeros in *c. Returns how many of the n bytes were framing. After
 * it c->left bytes of data come, or with 0 there more framing has to come first, or the body has
 * ended (chunks_ended()). The caller takes what it has used of the data off c->left. With
 * fault->status set it is no chunked body. */
size_t chunks_skip(struct chunks *c, const uint8_t *p, size_t n, struct head_fault *fault);

bool chunks_ended(const struct chunks *c);

#endif
