/* http_part.h: a connection of the command line over HTTP, for the files that use it: http.c
 * (messages) and http_cell.c (streams). */
#ifndef CLIENT_HTTP_PART_H
#define CLIENT_HTTP_PART_H

#include "base/buf.h"
#include "client/client.h"
#include "wire/sign.h"

#include <curl/curl.h>

#define HTTP_OWN_HEADERS_MAX 8

struct http_client {
    struct client base;
    CURL *curl;
    struct sign_key key;
    char signature[SIGN_SHA1_TEXT + 1]; /* of the request made last */
    char error[CURL_ERROR_SIZE];
    bool reused; /* a connection may be kept from the request before */
};

/* What comes back; in the arena of one request. */
struct answer {
    struct ctx *c;
    struct buf body;
    uint64_t length;           /* of the body, as announced; 0: not announced */
    struct sign_digest digest; /* of what has come of it */
    struct sign_header headers[SIGN_HEADERS_MAX];
    size_t count;
    bytes authorization;
};

/* libcurl's CURLOPT_HEADERFUNCTION, for a struct answer. */
size_t http_on_header(char *data, size_t size, size_t n, void *arg);

/* The value of an x-ots- header; ptr NULL: there is none. */
bytes http_answer_header(const struct answer *a, const char *name);

/* All headers of a request, signed; `own` are those besides the usual ones. Free with
 * curl_slist_free_all(). */
struct curl_slist *http_make_headers(struct ctx *c, struct http_client *h, const char *path,
                                     const struct sign_header *own, size_t own_count);

/* A signed request whose body and answer are texts, tried once. */
int http_text(struct ctx *c, struct client *cl, const char *path, bytes body, bytes *out);

int http_result(struct ctx *c, struct http_client *h, CURLcode result, long *status);

/* WR_E_AUTH unless the answer's headers are signed with our secret. */
int http_check_signature(struct ctx *c, const struct http_client *h, const char *path,
                         const struct answer *a);

/* Records the error that an answer of another status than 200 carries in its body; its code. */
int http_failure_of(struct ctx *c, const struct http_client *h, long status, bytes body);

/* client_ops, http_cell.c */
int http_put_cell(struct ctx *c, struct client *cl, const struct client_cell *cell);
int http_get_cell(struct ctx *c, struct client *cl, const struct client_cell *cell);

#endif
