/* s3.h: objects of any store that speaks S3's protocol: S3, Ceph's object gateway, OSS's S3 door,
 * MinIO.
 *
 * Requests are signed by SigV4 and name the bucket in the path. Each is tried again with growing
 * pauses while the connection breaks, the store is busy or fails, until retry_ms have passed
 * without any success, and, of a store that has answered before, three tries. An object appears
 * whole or not at all.
 *
 * A `struct s3` is one connection, used by one thread at a time. Failures are recorded in c, with
 * what the store said and what mends it: E_NOT_EXIST (no such bucket or object), E_AUTH (wrong
 * credentials, or not allowed), E_PARAMETER (what the store refuses), E_UNAVAILABLE (no answer in
 * time, though tried again), E_UNSURE (interrupted). */
#ifndef S3_S3_H
#define S3_S3_H

#include "base/ctx.h"

#define S3_RETRY_MS 60000
#define S3_PART_BYTES (8u << 20)
#define S3_PARTS_MAX 10000

/* What the user says; NULL: not said. The environment and the files of Amazon's own tools say the
 * rest: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; else the profile (AWS_PROFILE,
 * or "default") in AWS_SHARED_CREDENTIALS_FILE (or ~/.aws/credentials); AWS_ENDPOINT_URL_S3,
 * AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION, AWS_CA_BUNDLE. */
struct s3_words {
    const char *endpoint; /* "https://host:port"; default: Amazon's of the region */
    const char *region;   /* default: us-east-1 */
    const char *profile;
    const char *ca_file; /* certificates to trust, PEM; default: the system's */
};

struct s3_conf {
    const char *endpoint, *region, *key_id, *secret;
    const char *token;   /* NULL: none */
    const char *ca_file; /* NULL: the system's */
};

/* Texts are in the arena of c. E_PARAMETER: no credentials, or a file that cannot be read. */
int s3_conf_load(struct ctx *c, const struct s3_words *words, struct s3_conf *out);

/* Is it s3://BUCKET/KEY? */
bool s3_is_url(const char *text);
/* Its parts, in the arena of c; the key may be empty. */
int s3_url_parse(struct ctx *c, const char *url, const char **bucket, const char **key);

struct s3;

/* NULL, or: when it says true no request is begun or tried again, and one that is under way ends
 * within about a second. */
typedef bool s3_stop_fn(void *arg);

/* `conf` must outlive it. */
int s3_open(struct ctx *c, const struct s3_conf *conf, s3_stop_fn *stop, void *arg,
            struct s3 **out);
void s3_close(struct s3 *s); /* NULL is allowed */

/* How long one request goes on trying; S3_RETRY_MS at first. */
void s3_set_retry(struct s3 *s, int64_t retry_ms);
/* How often a request was sent again, since it was opened. */
uint64_t s3_retries(const struct s3 *s);

#define S3_ETAG_BYTES 72

struct s3_object {
    uint64_t size;
    char etag[S3_ETAG_BYTES]; /* of this content, in quotes; "": the store says none */
    bytes id;                 /* what s3_upload_begin() was given; in the arena of c */
};

int s3_head(struct ctx *c, struct s3 *s, const char *bucket, const char *key,
            struct s3_object *out);

/* Bytes [offset, offset + n) of an object of which they all are a part, into `to`. etag: NULL, or
 * E_CONFLICT is returned if the object has been replaced. */
int s3_get(struct ctx *c, struct s3 *s, const char *bucket, const char *key, const char *etag,
           uint64_t offset, void *to, size_t n);

/* One request: for what fits into memory. */
int s3_put(struct ctx *c, struct s3 *s, const char *bucket, const char *key, bytes content);

/* An object that is not there is deleted already. */
int s3_delete(struct ctx *c, struct s3 *s, const char *bucket, const char *key);

/* All objects whose keys begin with `prefix`, in the order of their keys. What `fn` returns ends
 * the walk, unless it is 0; `key` is valid during the call. */
typedef int s3_list_fn(struct ctx *c, void *arg, const char *key, uint64_t size);
int s3_list(struct ctx *c, struct s3 *s, const char *bucket, const char *prefix, s3_list_fn *fn,
            void *arg);

/* An object that comes in pieces, sent in parts of S3_PART_BYTES and more (the larger the object,
 * the larger: 10,000 parts hold 4 TB). Memory is one part. */
struct s3_upload;

/* The object is made by s3_upload_end(), and replaces one that is there. Begins no request yet. */
int s3_upload_begin(struct ctx *c, struct s3 *s, const char *bucket, const char *key,
                    struct s3_upload **out);
int s3_upload_put(struct ctx *c, struct s3_upload *u, const void *data, size_t n);
/* `whole`: makes the object, else what was sent of it is removed. Frees u in any case; NULL is
 * allowed. Other uploads of the same object that have never ended (whoever made them was killed)
 * are removed, too: two of one key at the same time are not for this function. */
int s3_upload_end(struct ctx *c, struct s3_upload *u, bool whole);

#endif
