/* request.h: one request to the store, signed, tried again; for s3.h's other parts. */
#ifndef S3_REQUEST_H
#define S3_REQUEST_H

#include "base/buf.h"
#include "base/rng.h"
#include "s3/s3.h"

#include <curl/curl.h>

struct s3 {
    const struct s3_conf *conf;
    const char *host; /* of the endpoint, with its port */
    s3_stop_fn *stop;
    void *stop_arg;
    int64_t retry_ms;
    uint64_t retries;
    bool reached; /* it has answered once */
    struct rng rng;
    CURL *curl;
    char error[CURL_ERROR_SIZE];
};

struct s3_request {
    const char *method;
    const char *bucket, *key; /* key: NULL or "" for the bucket itself */
    const char *query;        /* sigv4_put_query() */
    bytes body;
    const char *id;   /* x-amz-meta-widerow-id */
    const char *etag; /* If-Match */
    bool has_range;
    uint64_t from, to; /* inclusive */
    uint8_t *into;     /* where a range goes; NULL: into the answer's body */
};

#define S3_BODY_MAX (16u << 20)

struct s3_answer {
    struct ctx *c;
    const struct s3_request *request;
    CURL *curl;
    bool whole;     /* nothing of a range came yet, and it is the object's beginning */
    bool no_ranges; /* a part was wanted, and all of it came */
    bool hopeless;  /* another try would end as this one */
    int tries;      /* before the last one */
    long status;
    struct buf body;
    uint64_t received; /* of a range, into `into` */
    uint64_t length;   /* Content-Length */
    char etag[S3_ETAG_BYTES];
    bytes id;
};

/* Sends it until there is an answer that another try would not change. 0: status 200 to 299. A
 * range that breaks off goes on where it was. */
int s3_exec(struct ctx *c, struct s3 *s, const struct s3_request *r, struct s3_answer *out);

/* s3_exec() failed with 404. */
bool s3_not_found(const struct s3_answer *a);

#endif
