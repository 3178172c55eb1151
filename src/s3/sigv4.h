/* sigv4.h: Amazon's signature, version 4, of requests to S3. Pure. */
#ifndef S3_SIGV4_H
#define S3_SIGV4_H

#include "base/buf.h"

#define SIGV4_DATE_TEXT 16 /* 20240229T123000Z */
#define SIGV4_HEX 64

struct sigv4 {
    const char *key_id, *secret, *region;
    const char *token; /* NULL: none */
};

struct sigv4_request {
    const char *method; /* "GET" */
    const char *host;   /* as the header has it */
    const char *path;   /* encoded */
    const char *query;  /* encoded and in order: sigv4_put_query(); "" */
    const char *date;   /* x-amz-date */
    const char *sha256; /* x-amz-content-sha256: of the body, in hex */
    const char *id;     /* x-amz-meta-widerow-id; NULL: none */
};

/* The value of Authorization. It covers host, the x-amz- headers above and the token. In `a`. */
const char *sigv4_authorization(struct arena *a, const struct sigv4 *with,
                                const struct sigv4_request *r);

void sigv4_date(int64_t wall_us, char out[SIGV4_DATE_TEXT + 1]);
void sigv4_sha256(bytes body, char out[SIGV4_HEX + 1]);

/* All but letters, digits and -._~ as %XX; a slash too, unless `path`. */
void sigv4_encode(struct buf *b, bytes text, bool path);
/* One more parameter of a query; in the order of their names. */
void sigv4_put_query(struct buf *b, const char *name, const char *value);

#endif
