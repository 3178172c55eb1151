/* object.c: whole objects and their lists. */
#include "s3/request.h"
#include "s3/sigv4.h"
#include "s3/xml.h"

#include <stdio.h>
#include <stdlib.h>

int s3_head(struct ctx *c, struct s3 *s, const char *bucket, const char *key, struct s3_object *out)
{
    struct s3_request r = {.method = "HEAD", .bucket = bucket, .key = key};
    struct s3_answer a;

    TRY(s3_exec(c, s, &r, &a));
    *out = (struct s3_object){.size = a.length, .id = a.id};
    snprintf(out->etag, sizeof(out->etag), "%s", a.etag);
    return 0;
}

int s3_get(struct ctx *c, struct s3 *s, const char *bucket, const char *key, const char *etag,
           uint64_t offset, void *to, size_t n)
{
    struct s3_request r = {.method = "GET",
                           .bucket = bucket,
                           .key = key,
                           .etag = etag && etag[0] ? etag : NULL,
                           .has_range = true,
                           .from = offset,
                           .to = offset + n - 1,
                           .into = to};
    struct s3_answer a;

    return n ? s3_exec(c, s, &r, &a) : 0;
}

int s3_put(struct ctx *c, struct s3 *s, const char *bucket, const char *key, bytes content)
{
    struct s3_request r = {.method = "PUT", .bucket = bucket, .key = key, .body = content};
    struct s3_answer a;

    return s3_exec(c, s, &r, &a);
}

int s3_delete(struct ctx *c, struct s3 *s, const char *bucket, const char *key)
{
    struct s3_request r = {.method = "DELETE", .bucket = bucket, .key = key};
    struct s3_answer a;
    int code = s3_exec(c, s, &r, &a);

    if (code == E_NOT_EXIST &&
        strcmp(xml_text(&c->arena, buf_bytes(&a.body), "Code"), "NoSuchBucket") != 0) {
        ctx_clear(c);
        return 0;
    }
    return code;
}

static int list_page(struct ctx *c, bytes page, s3_list_fn *fn, void *arg)
{
    bytes one;

    while ((one = xml_next(&page, "Contents")).ptr)
        TRY(fn(c, arg, xml_text(&c->arena, one, "Key"),
               strtoull(xml_text(&c->arena, one, "Size"), NULL, 10)));
    return 0;
}

int s3_list(struct ctx *c, struct s3 *s, const char *bucket, const char *prefix, s3_list_fn *fn,
            void *arg)
{
    const char *token = "";

    do {
        struct s3_request r = {.method = "GET", .bucket = bucket};
        struct s3_answer a;
        struct buf query;

        buf_init(&query, &c->arena, 0);
        if (token[0])
            sigv4_put_query(&query, "continuation-token", token);
        sigv4_put_query(&query, "list-type", "2");
        sigv4_put_query(&query, "prefix", prefix);
        buf_put_u8(&query, 0);
        r.query = (const char *)query.data;
        TRY(s3_exec(c, s, &r, &a));
        TRY(list_page(c, buf_bytes(&a.body), fn, arg));
        token = strcmp(xml_text(&c->arena, buf_bytes(&a.body), "IsTruncated"), "true") == 0
                    ? xml_text(&c->arena, buf_bytes(&a.body), "NextContinuationToken")
                    : "";
    } while (token[0]);
    return 0;
}
