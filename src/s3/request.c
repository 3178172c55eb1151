#include "s3/request.h"

#include "s3/sigv4.h"
#include "s3/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CONNECT_TIMEOUT_MS 10000L
#define STALLED_S 30L /* without a byte */
#define FIRST_PAUSE_MS 50
#define LAST_PAUSE_MS 4000
#define UNREACHED_MS 8000 /* of a store that has never answered */
#define TRIES_LEAST 3     /* of one that has: a try may itself take longer than there is patience */
#define BUFFER_BYTES (256L << 10)

static bool is_stopped(const struct s3 *s)
{
    return s->stop && s->stop(s->stop_arg);
}

/* Asked about once a second, also while nothing comes. */
static int on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up)
{
    (void)down_all;
    (void)down;
    (void)up_all;
    (void)up;
    return is_stopped(arg);
}

int s3_open(struct ctx *c, const struct s3_conf *conf, s3_stop_fn *stop, void *arg, struct s3 **out)
{
    struct s3 *s = mem_zalloc(sizeof(*s));
    uint64_t seed;

    *out = s;
    s->conf = conf;
    s->stop = stop;
    s->stop_arg = arg;
    s->retry_ms = S3_RETRY_MS;
    s->host = strstr(conf->endpoint, "//") + 2;
    rng_secret(&seed, sizeof(seed));
    rng_init(&s->rng, seed);
    s->curl = curl_easy_init();
    if (!s->curl)
        return fail(c, E_MEMORY, "libcurl cannot be begun");
    curl_easy_setopt(s->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(s->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(s->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(s->curl, CURLOPT_LOW_SPEED_TIME, STALLED_S);
    curl_easy_setopt(s->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(s->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(s->curl, CURLOPT_XFERINFODATA, s);
    curl_easy_setopt(s->curl, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(s->curl, CURLOPT_ERRORBUFFER, s->error);
    curl_easy_setopt(s->curl, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    curl_easy_setopt(s->curl, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    if (conf->ca_file)
        curl_easy_setopt(s->curl, CURLOPT_CAINFO, conf->ca_file);
    return 0;
}

void s3_close(struct s3 *s)
{
    if (!s)
        return;
    if (s->curl)
        curl_easy_cleanup(s->curl);
    mem_free(s);
}

void s3_set_retry(struct s3 *s, int64_t retry_ms)
{
    s->retry_ms = retry_ms;
}

uint64_t s3_retries(const struct s3 *s)
{
    return s->retries;
}

bool s3_not_found(const struct s3_answer *a)
{
    return a->status == 404;
}

/* ---- what comes in */

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct s3_answer *a = arg;
    const struct s3_request *r = a->request;
    size_t len = size * n;
    long status = 0;

    curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
    if (r->into && (status == 206 || status == 200)) {
        if (status == 200 && !a->whole) {
            a->no_ranges = true;
            return 0;
        }
        if (len > r->to + 1 - r->from - a->received)
            len = (size_t)(r->to + 1 - r->from - a->received); /* the rest nobody asked for */
        memcpy(r->into + a->received, data, len);
        a->received += len;
        return len;
    }
    if (a->body.len + len > S3_BODY_MAX)
        return 0;
    buf_put(&a->body, data, len);
    return len;
}

static bytes trim(bytes b)
{
    while (b.len && strchr(" \t\r\n", bytes_u8(b)[b.len - 1]))
        b.len--;
    while (b.len && strchr(" \t", *(const char *)b.ptr))
        b = bytes_skip(b, 1);
    return b;
}

static bool is_named(bytes name, const char *wanted)
{
    return name.len == strlen(wanted) && strncasecmp(name.ptr, wanted, name.len) == 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    struct s3_answer *a = arg;
    bytes line = bytes_of(data, size * n), name, value;
    const char *colon = memchr(data, ':', line.len);

    if (!colon)
        return line.len;
    name = bytes_of(data, (size_t)(colon - data));
    value = trim(bytes_skip(line, name.len + 1));
    if (is_named(name, "ETag"))
        snprintf(a->etag, sizeof(a->etag), "%.*s", BYTES_FMT(value));
    else if (is_named(name, "x-amz-meta-widerow-id"))
        a->id = arena_copy(&a->c->arena, value);
    else if (is_named(name, "Content-Length"))
        a->length = strtoull(arena_printf(&a->c->arena, "%.*s", BYTES_FMT(value)).ptr, NULL, 10);
    return line.len;
}

/* ---- what goes out */

struct sending {
    bytes left;
};

static size_t on_read(char *to, size_t size, size_t n, void *arg)
{
    struct sending *o = arg;
    size_t len = size * n < o->left.len ? size * n : o->left.len;

    if (len)
        memcpy(to, o->left.ptr, len);
    o->left = bytes_skip(o->left, len);
    return len;
}

static struct curl_slist *add(struct ctx *c, struct curl_slist *list, const char *name,
                              const char *value)
{
    return curl_slist_append(list, arena_printf(&c->arena, "%s: %s", name, value).ptr);
}

static struct curl_slist *make_headers(struct ctx *c, const struct s3 *s,
                                       const struct s3_request *r, const char *path)
{
    const struct s3_conf *conf = s->conf;
    struct sigv4 with = {conf->key_id, conf->secret, conf->region, conf->token};
    char date[SIGV4_DATE_TEXT + 1], sha256[SIGV4_HEX + 1];
    struct sigv4_request q = {r->method, s->host, path, r->query ? r->query : "",
                              date,      sha256,  r->id};
    struct curl_slist *list = NULL;

    sigv4_date(clock_wall_us(c->clock), date);
    sigv4_sha256(r->body, sha256);
    list = add(c, list, "Host", s->host);
    list = add(c, list, "x-amz-date", date);
    list = add(c, list, "x-amz-content-sha256", sha256);
    if (r->id)
        list = add(c, list, "x-amz-meta-widerow-id", r->id);
    if (conf->token)
        list = add(c, list, "x-amz-security-token", conf->token);
    if (r->etag)
        list = add(c, list, "If-Match", r->etag);
    list = add(c, list, "Authorization", sigv4_authorization(&c->arena, &with, &q));
    list = curl_slist_append(list, "Content-Type:");
    list = curl_slist_append(list, "Accept:");
    return curl_slist_append(list, "Expect:");
}

static const char *make_path(struct ctx *c, const struct s3_request *r)
{
    struct buf b;

    buf_init(&b, &c->arena, 64);
    buf_put_u8(&b, '/');
    sigv4_encode(&b, bytes_str(r->bucket), true);
    if (r->key && r->key[0]) {
        buf_put_u8(&b, '/');
        sigv4_encode(&b, bytes_str(r->key), true);
    }
    buf_put_u8(&b, 0);
    return (const char *)b.data;
}

static void set_body(struct s3 *s, const struct s3_request *r, struct sending *out)
{
    bool put = strcmp(r->method, "PUT") == 0, post = strcmp(r->method, "POST") == 0;

    out->left = r->body;
    curl_easy_setopt(s->curl, CURLOPT_NOBODY, 0L);
    curl_easy_setopt(s->curl, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(s->curl, CURLOPT_CUSTOMREQUEST, NULL);
    if (put) {
        curl_easy_setopt(s->curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(s->curl, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(s->curl, CURLOPT_READDATA, out);
        curl_easy_setopt(s->curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->body.len);
    } else if (post) {
        curl_easy_setopt(s->curl, CURLOPT_POST, 1L);
        curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, r->body.len ? r->body.ptr : "");
        curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
    } else if (strcmp(r->method, "HEAD") == 0) {
        curl_easy_setopt(s->curl, CURLOPT_NOBODY, 1L);
    } else {
        curl_easy_setopt(s->curl, CURLOPT_CUSTOMREQUEST, r->method);
    }
}

/* All of a range is enough, however the connection ended. */
static bool is_whole(struct s3 *s, const struct s3_request *r, const struct s3_answer *a,
                     CURLcode result)
{
    if (!r->into || a->status / 100 != 2)
        return result == CURLE_OK;
    if (a->received == r->to + 1 - r->from)
        return true;
    if (result == CURLE_OK)
        snprintf(s->error, sizeof(s->error), "the answer has another length");
    return false;
}

/* One try: false if no whole answer came, and s->error says why. */
static bool send_once(struct ctx *c, struct s3 *s, const struct s3_request *r, struct s3_answer *a)
{
    const char *path = make_path(c, r), *mark = r->query && r->query[0] ? "?" : "";
    bytes url = arena_printf(&c->arena, "%s%s%s%s", s->conf->endpoint, path, mark,
                             r->query ? r->query : "");
    struct curl_slist *headers = make_headers(c, s, r, path);
    struct sending out;
    CURLcode result;
    char range[64];

    a->status = 0;
    a->curl = s->curl;
    a->whole = a->received == 0 && r->from == 0;
    a->body.len = 0;
    a->length = 0;
    a->etag[0] = 0;
    a->id = BYTES_NONE;
    s->error[0] = 0;
    set_body(s, r, &out);
    snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)(r->from + a->received),
             (unsigned long long)r->to);
    curl_easy_setopt(s->curl, CURLOPT_RANGE, r->has_range ? range : NULL);
    curl_easy_setopt(s->curl, CURLOPT_URL, (const char *)url.ptr);
    curl_easy_setopt(s->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(s->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(s->curl, CURLOPT_HEADERDATA, a);
    result = curl_easy_perform(s->curl);
    curl_slist_free_all(headers);
    curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &a->status);
    if (result != CURLE_OK && !s->error[0])
        snprintf(s->error, sizeof(s->error), "%s", curl_easy_strerror(result));
    a->hopeless = a->no_ranges || result == CURLE_PEER_FAILED_VERIFICATION ||
                  result == CURLE_SSL_CACERT_BADFILE || result == CURLE_URL_MALFORMAT;
    if (a->no_ranges)
        snprintf(s->error, sizeof(s->error), "it does not give parts of objects");
    return is_whole(s, r, a, result);
}

/* ---- what an answer means */

static const char *error_code(struct ctx *c, const struct s3_answer *a)
{
    return xml_text(&c->arena, buf_bytes(&a->body), "Code");
}

/* 200, and then an error all the same: the store had begun to answer before it was done. */
static bool is_late_error(const struct s3_answer *a)
{
    return a->status == 200 && a->body.len && xml_inner(buf_bytes(&a->body), "Error").ptr;
}

static bool may_pass(struct ctx *c, const struct s3_answer *a)
{
    const char *code = error_code(c, a);

    return (a->status >= 500 && a->status != 501) || a->status == 429 || a->status == 408 ||
           is_late_error(a) || strcmp(code, "RequestTimeout") == 0 || strcmp(code, "SlowDown") == 0;
}

static int failure(struct ctx *c, const struct s3 *s, const struct s3_request *r,
                   const struct s3_answer *a)
{
    const char *code = error_code(c, a),
               *message = xml_text(&c->arena, buf_bytes(&a->body), "Message");
    const char *what = arena_printf(&c->arena, "s3://%s/%s", r->bucket, r->key ? r->key : "").ptr;

    if (strcmp(code, "NoSuchBucket") == 0)
        return fail(c, E_NOT_EXIST, "%s has no bucket '%s'; make it first", s->conf->endpoint,
                    r->bucket);
    if (a->status == 404)
        return fail(c, E_NOT_EXIST, "there is no %s at %s", what, s->conf->endpoint);
    if (strcmp(code, "InvalidAccessKeyId") == 0 || strcmp(code, "SignatureDoesNotMatch") == 0)
        return fail(c, E_AUTH,
                    "%s does not take these credentials (%s, access key %s): check "
                    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                    s->conf->endpoint, code, s->conf->key_id);
    if (strcmp(code, "RequestTimeTooSkewed") == 0)
        return fail(c, E_AUTH, "the clock here and the one of %s are too far apart",
                    s->conf->endpoint);
    if (a->status == 403 || a->status == 401)
        return fail(c, E_AUTH,
                    "%s: access key %s may not do this, or its secret is another one (%s %s: %s)",
                    what, s->conf->key_id, r->method, code[0] ? code : "403", message);
    if (a->status == 412)
        return fail(c, E_CONFLICT, "%s was replaced while it was read", what);
    return fail(c, E_PARAMETER, "%s: %s answers %s with status %ld%s%s%s%s", what,
                s->conf->endpoint, r->method, a->status, code[0] ? ", " : "", code,
                message[0] ? ": " : "", message);
}

/* ---- tries */

static void pause_before(struct s3 *s, int64_t *pause_ms)
{
    int64_t ms = *pause_ms / 2 + (int64_t)rng_below(&s->rng, (uint64_t)*pause_ms);

    for (; ms > 0 && !is_stopped(s); ms -= FIRST_PAUSE_MS)
        nanosleep(
            &(struct timespec){.tv_nsec = (ms < FIRST_PAUSE_MS ? ms : FIRST_PAUSE_MS) * 1000000},
            NULL);
    *pause_ms = *pause_ms * 2 < LAST_PAUSE_MS ? *pause_ms * 2 : LAST_PAUSE_MS;
}

static int64_t patience(const struct s3 *s)
{
    return s->reached || s->retry_ms < UNREACHED_MS ? s->retry_ms : UNREACHED_MS;
}

/* A part that goes slowly may be cut after longer than that: then it has been tried but once. */
static bool is_hopeless(const struct s3 *s, const struct s3_answer *a, int64_t waited_ms)
{
    return a->hopeless || (waited_ms > patience(s) && (!s->reached || a->tries + 1 >= TRIES_LEAST));
}

int s3_exec(struct ctx *c, struct s3 *s, const struct s3_request *r, struct s3_answer *a)
{
    int64_t pause_ms = FIRST_PAUSE_MS, since_ms = clock_mono_ms(c->clock);
    uint64_t received = 0;

    *a = (struct s3_answer){.c = c, .request = r};
    buf_init(&a->body, &c->arena, 0);
    for (;; s->retries++, a->tries++) {
        bool answered;

        if (is_stopped(s))
            return fail(c, E_UNSURE, "interrupted");
        answered = send_once(c, s, r, a);
        s->reached |= a->status != 0;
        if (answered && !may_pass(c, a))
            return a->status / 100 == 2 ? 0 : failure(c, s, r, a);
        if (a->received > received) {
            received = a->received; /* it goes on: the time counts anew */
            since_ms = clock_mono_ms(c->clock);
            pause_ms = FIRST_PAUSE_MS;
        }
        if (is_hopeless(s, a, clock_mono_ms(c->clock) - since_ms)) {
            if (answered)
                return fail(c, E_UNAVAILABLE, "%s is busy or fails: status %ld %s",
                            s->conf->endpoint, a->status, error_code(c, a));
            return fail(c, E_UNAVAILABLE, "no answer from %s: %s", s->conf->endpoint, s->error);
        }
        pause_before(s, &pause_ms);
    }
}
