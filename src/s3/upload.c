/* upload.c: objects in parts. A small one is put as it is, when it ends. */
#include "s3/request.h"
#include "s3/sigv4.h"
#include "s3/xml.h"

#include <stdio.h>

#define ID_BYTES 16
#define GROW_PARTS 1000 /* so many parts later, parts are twice as large */

struct s3_upload {
    struct s3 *s;
    const char *bucket, *key;    /* its own */
    char *id;                    /* of the store; NULL: no part was sent */
    char mark[2 * ID_BYTES + 1]; /* of ours: by which the object is known to be this one */
    uint8_t *part;
    size_t len, size;
    char (*etags)[S3_ETAG_BYTES];
    size_t count;
};

int s3_upload_begin(struct ctx *c, struct s3 *s, const char *bucket, const char *key,
                    struct s3_upload **out)
{
    struct s3_upload *u = mem_zalloc(sizeof(*u));
    uint8_t id[ID_BYTES];

    *out = u;
    rng_secret(id, sizeof(id));
    for (size_t i = 0; i < sizeof(id); i++)
        snprintf(u->mark + 2 * i, 3, "%02x", id[i]);
    u->s = s;
    u->bucket = mem_strdup(bucket);
    u->key = mem_strdup(key);
    u->size = S3_PART_BYTES;
    u->part = mem_alloc(u->size);
    u->etags = mem_alloc(sizeof(*u->etags) * S3_PARTS_MAX);
    return key[0] ? 0 : fail(c, E_PARAMETER, "s3://%s/ names no object", bucket);
}

static void release(struct s3_upload *u)
{
    mem_free((void *)(uintptr_t)u->bucket);
    mem_free((void *)(uintptr_t)u->key);
    mem_free(u->id);
    mem_free(u->part);
    mem_free(u->etags);
    mem_free(u);
}

static const char *id_query(struct ctx *c, const struct s3_upload *u, size_t part)
{
    char number[24];
    struct buf b;

    buf_init(&b, &c->arena, 0);
    snprintf(number, sizeof(number), "%zu", part);
    if (part)
        sigv4_put_query(&b, "partNumber", number);
    sigv4_put_query(&b, "uploadId", u->id);
    buf_put_u8(&b, 0);
    return (const char *)b.data;
}

static int start(struct ctx *c, struct s3_upload *u)
{
    struct s3_request r = {
        .method = "POST", .bucket = u->bucket, .key = u->key, .query = "uploads=", .id = u->mark};
    struct s3_answer a;
    const char *id;

    TRY(s3_exec(c, u->s, &r, &a));
    id = xml_text(&c->arena, buf_bytes(&a.body), "UploadId");
    if (!id[0])
        return fail(c, E_PARAMETER, "%s takes no objects in parts", u->s->conf->endpoint);
    u->id = mem_strdup(id);
    return 0;
}

static int send_part(struct ctx *c, struct s3_upload *u)
{
    struct s3_request r = {.method = "PUT", .bucket = u->bucket, .key = u->key};
    struct s3_answer a;
    struct ctx own;
    int code;

    if (u->count == S3_PARTS_MAX)
        return fail(c, E_PARAMETER, "s3://%s/%s would be too large", u->bucket, u->key);
    /* Of what a part takes nothing stays: there may be thousands. */
    ctx_init(&own, c->clock, NULL, NULL, 0);
    code = u->id ? 0 : start(&own, u);
    if (!code) {
        r.query = id_query(&own, u, u->count + 1);
        r.body = bytes_of(u->part, u->len);
        code = s3_exec(&own, u->s, &r, &a);
    }
    if (!code)
        snprintf(u->etags[u->count++], S3_ETAG_BYTES, "%s", a.etag);
    ctx_fail_part(c, &own);
    ctx_release(&own);
    u->len = 0;
    if (u->count % GROW_PARTS == 0 && !code) {
        u->size *= 2;
        mem_free(u->part);
        u->part = mem_alloc(u->size);
    }
    return code;
}

int s3_upload_put(struct ctx *c, struct s3_upload *u, const void *data, size_t n)
{
    const uint8_t *p = data;

    while (n) {
        size_t some = n < u->size - u->len ? n : u->size - u->len;

        memcpy(u->part + u->len, p, some);
        u->len += some;
        p += some;
        n -= some;
        if (u->len == u->size)
            TRY(send_part(c, u));
    }
    return 0;
}

static bytes list_parts(struct ctx *c, const struct s3_upload *u)
{
    struct buf b;

    buf_init(&b, &c->arena, 0);
    buf_put_bytes(&b, BYTES_LIT("<CompleteMultipartUpload>"));
    for (size_t i = 0; i < u->count; i++)
        buf_put_bytes(&b, arena_printf(&c->arena,
                                       "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>",
                                       i + 1, u->etags[i]));
    buf_put_bytes(&b, BYTES_LIT("</CompleteMultipartUpload>"));
    return buf_bytes(&b);
}

/* The answer to the first try may be what was lost: then the object is there, and it is ours. */
static bool is_ours(struct ctx *c, const struct s3_upload *u)
{
    struct s3_object object;
    struct ctx own;
    bool ours;

    ctx_init(&own, c->clock, NULL, NULL, 0);
    ours = s3_head(&own, u->s, u->bucket, u->key, &object) == 0 &&
           bytes_equal(object.id, bytes_str(u->mark));
    ctx_release(&own);
    return ours;
}

static int complete(struct ctx *c, struct s3_upload *u)
{
    struct s3_request r = {.method = "POST",
                           .bucket = u->bucket,
                           .key = u->key,
                           .query = id_query(c, u, 0),
                           .body = list_parts(c, u)};
    struct s3_answer a;
    int code = s3_exec(c, u->s, &r, &a);

    if (code && is_ours(c, u)) {
        ctx_clear(c);
        return 0;
    }
    return code;
}

static void abort_one(struct ctx *c, const struct s3_upload *u, const char *query)
{
    struct s3_request r = {.method = "DELETE", .bucket = u->bucket, .key = u->key, .query = query};
    struct s3_answer a;

    (void)s3_exec(c, u->s, &r, &a);
    ctx_clear(c);
}

/* Uploads of this key that nobody will end: of a run that was killed, or of a start whose answer
 * was lost. A store that does not list them keeps them. */
static void remove_others(struct ctx *c, const struct s3_upload *u)
{
    struct s3_request r = {.method = "GET", .bucket = u->bucket};
    struct s3_answer a;
    struct buf query;
    bytes page, one;

    buf_init(&query, &c->arena, 0);
    sigv4_put_query(&query, "prefix", u->key);
    sigv4_put_query(&query, "uploads", "");
    buf_put_u8(&query, 0);
    r.query = (const char *)query.data;
    if (s3_exec(c, u->s, &r, &a)) {
        ctx_clear(c);
        return;
    }
    page = buf_bytes(&a.body);
    while ((one = xml_next(&page, "Upload")).ptr) {
        struct buf own;

        if (strcmp(xml_text(&c->arena, one, "Key"), u->key) != 0)
            continue;
        buf_init(&own, &c->arena, 0);
        sigv4_put_query(&own, "uploadId", xml_text(&c->arena, one, "UploadId"));
        buf_put_u8(&own, 0);
        abort_one(c, u, (const char *)own.data);
    }
}

static int end(struct ctx *c, struct s3_upload *u)
{
    if (!u->id)
        return s3_put(c, u->s, u->bucket, u->key, bytes_of(u->part, u->len));
    if (u->len)
        TRY(send_part(c, u));
    return complete(c, u);
}

int s3_upload_end(struct ctx *c, struct s3_upload *u, bool whole)
{
    struct ctx own;
    int code = 0;

    if (!u)
        return 0;
    ctx_init(&own, c->clock, NULL, NULL, 0);
    if (whole)
        code = end(&own, u);
    ctx_fail_part(c, &own);
    if (whole && code)
        ctx_clear(&own);
    if (u->id && (!whole || code))
        abort_one(&own, u, id_query(&own, u, 0));
    if (u->id)
        remove_others(&own, u);
    ctx_release(&own);
    release(u);
    return code;
}
