/* http.c: requests over HTTP, one connection a client (libcurl keeps it open between requests).
 *
 * Answers are checked as strictly as the official SDKs do at their strictest: the digest of the
 * body, and on success the signature, which shows that who answers knows our secret. */
#include "client/http_part.h"

#include "base/fault.h"
#include "wire/ots_client.h"

#include <stdlib.h>

#define CONNECT_TIMEOUT_MS 5000L
#define REQUEST_TIMEOUT_MS 60000L
#define REQUEST_TIMEOUT_TEST_MS 500L /* with the fault point client_impatient */
#define ANSWER_BYTES_MAX (256 << 20)
#define BUFFER_BYTES (256l << 10) /* that libcurl sends and receives at a time */
#define API_VERSION "2015-12-31"

/* The digest is taken while the server sends on, and the bytes are in the processor's cache. */
static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;

    if (a->body.len + size * n > ANSWER_BYTES_MAX)
        return 0; /* libcurl gives up with a write error */
    if (!a->body.len && a->length && a->length <= ANSWER_BYTES_MAX)
        buf_reserve(&a->body, (size_t)a->length);
    buf_put(&a->body, data, size * n);
    sign_digest_add(&a->digest, bytes_of(data, size * n));
    return size * n;
}

static bytes trim(bytes b)
{
    const char *p = b.ptr;

    while (b.len && strchr(" \t\r\n", p[b.len - 1]))
        b.len--;
    while (b.len && strchr(" \t", *(const char *)b.ptr))
        b = bytes_skip(b, 1);
    return b;
}

size_t http_on_header(char *data, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;
    bytes line = bytes_of(data, size * n);
    const char *colon = memchr(data, ':', line.len);
    struct sign_header h;

    if (!colon)
        return line.len;
    h.name = bytes_of(data, (size_t)(colon - data));
    h.value = arena_copy(&a->c->arena, trim(bytes_skip(line, h.name.len + 1)));
    if (h.name.len == 13 && strncasecmp(h.name.ptr, "Authorization", 13) == 0)
        a->authorization = h.value;
    if (h.name.len == 14 && strncasecmp(h.name.ptr, "Content-Length", 14) == 0)
        a->length = strtoull(arena_printf(&a->c->arena, "%.*s", BYTES_FMT(h.value)).ptr, NULL, 10);
    if (h.name.len <= 6 || strncasecmp(h.name.ptr, "x-ots-", 6) != 0)
        return line.len;
    if (a->count == SIGN_HEADERS_MAX)
        return 0;
    h.name = arena_copy(&a->c->arena, h.name);
    a->headers[a->count++] = h;
    return line.len;
}

static struct curl_slist *append(struct ctx *c, struct curl_slist *list, struct sign_header h)
{
    bytes line = arena_printf(&c->arena, "%.*s: %.*s", BYTES_FMT(h.name), BYTES_FMT(h.value));

    return curl_slist_append(list, line.ptr);
}

struct curl_slist *http_make_headers(struct ctx *c, struct http_client *h, const char *path,
                                     const struct sign_header *own, size_t own_count)
{
    const struct target *t = h->base.target;
    char date[SIGN_DATE_TEXT + 1];
    struct sign_header headers[HTTP_OWN_HEADERS_MAX + 4] = {
        {BYTES_LIT("x-ots-accesskeyid"), t->key_id},
        {BYTES_LIT("x-ots-apiversion"), BYTES_LIT(API_VERSION)},
        {BYTES_LIT("x-ots-date"), BYTES_NONE},
        {BYTES_LIT("x-ots-instancename"), t->instance},
    };
    struct curl_slist *list = NULL;
    size_t n = 4;

    sign_date_format(clock_wall_us(c->clock), date);
    headers[2].value = bytes_str(date);
    for (size_t i = 0; i < own_count; i++)
        headers[n++] = own[i];
    sign_request(&h->key, bytes_str(path), headers, n, h->signature);
    for (size_t i = 0; i < n; i++)
        list = append(c, list, headers[i]);
    list = append(c, list,
                  (struct sign_header){BYTES_LIT("x-ots-signature"), bytes_str(h->signature)});
    /* libcurl would add a type that is wrong, and ask before it sends a large body. */
    list = curl_slist_append(list, "Content-Type:");
    return curl_slist_append(list, "Expect:");
}

/* Sends and waits; the HTTP status in *status. */
static int http_post(struct ctx *c, struct http_client *h, const char *path, bytes body,
                     struct answer *a, long *status)
{
    const char *endpoint = h->base.target->endpoint;
    bytes url = arena_printf(&c->arena, "%s%s", endpoint, path);
    char md5[SIGN_MD5_TEXT + 1];
    struct sign_header digest = {BYTES_LIT("x-ots-contentmd5"), BYTES_NONE};
    struct curl_slist *headers;
    CURLcode result;

    sign_md5(body, md5);
    digest.value = bytes_str(md5);
    headers = http_make_headers(c, h, path, &digest, 1);
    *a = (struct answer){.c = c};
    buf_init(&a->body, &c->arena, 0);
    sign_digest_start(&a->digest);
    h->error[0] = 0;
    curl_easy_setopt(h->curl, CURLOPT_URL, (const char *)url.ptr);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, body.len ? body.ptr : "");
    curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, a);
    curl_easy_setopt(h->curl, CURLOPT_HEADERDATA, a);
    result = curl_easy_perform(h->curl);
    curl_slist_free_all(headers);
    return http_result(c, h, result, status);
}

/* What became of a transfer: 0 with the HTTP status in *status, or no answer at all. */
int http_result(struct ctx *c, struct http_client *h, CURLcode result, long *status)
{
    const char *endpoint = h->base.target->endpoint;

    h->base.timed_out = result == CURLE_OPERATION_TIMEDOUT;
    if (result == CURLE_OK) {
        curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, status);
        atomic_store(&h->base.target->reached, true);
        h->reused = true;
        return 0;
    }
    if (!h->error[0])
        snprintf(h->error, sizeof(h->error), "%s", curl_easy_strerror(result));
    /* libcurl sends a request again by itself when a kept connection turns out to be dead; if it
     * then cannot connect, the first try may have arrived all the same. */
    if (!h->reused && (result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST))
        return fail(c, WR_E_UNAVAILABLE, "cannot reach %s (%s); is widerowd running there?",
                    endpoint, h->error);
    h->reused = false;
    return fail(c, WR_E_UNSURE, "no answer from %s: %s", endpoint, h->error);
}

bytes http_answer_header(const struct answer *a, const char *name)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->headers[i].name.len == strlen(name) &&
            strncasecmp(a->headers[i].name.ptr, name, strlen(name)) == 0)
            return a->headers[i].value;
    return BYTES_NONE;
}

int http_check_signature(struct ctx *c, const struct http_client *h, const char *path,
                         const struct answer *a)
{
    char signature[SIGN_SHA1_TEXT + 1];
    bytes expected;

    sign_response(&h->key, bytes_str(path), a->headers, a->count, signature);
    expected = arena_printf(&c->arena, "OTS %.*s:%s", BYTES_FMT(h->base.target->key_id), signature);
    if (!sign_equal(a->authorization, expected))
        return fail(c, WR_E_AUTH, "%s does not sign its answers with this access key",
                    h->base.target->endpoint);
    return 0;
}

static int check_success(struct ctx *c, const struct http_client *h, const char *path,
                         struct answer *a)
{
    char md5[SIGN_MD5_TEXT + 1];

    sign_digest_end(&a->digest, md5);
    if (!bytes_equal(http_answer_header(a, "x-ots-contentmd5"), bytes_str(md5)))
        return fail(c, WR_E_UNSURE, "the answer was damaged on its way (digest mismatch)");
    return http_check_signature(c, h, path, a);
}

/* An answer that is not 200. */
int http_failure_of(struct ctx *c, const struct http_client *h, long status, bytes body)
{
    bytes name, text;
    int code;

    if (ots_decode_error(c, body, &name, &text)) {
        ctx_clear(c);
        return fail(c, status >= 500 ? WR_E_UNSURE : WR_E_PARAMETER,
                    "%s answered with HTTP status %ld and no Tablestore error; is it a Widerow "
                    "server?",
                    h->base.target->endpoint, status);
    }
    code = ots_error_of(name, text);
    return fail(c, code, "%.*s: %.*s", BYTES_FMT(name), BYTES_FMT(text));
}

static int http_exec(struct ctx *c, struct client *cl, const struct wr_request *request,
                     struct wr_reply *out)
{
    struct http_client *h = PORT_CONTAINER(cl, struct http_client, base);
    const char *path = ots_client_path(request->op);
    struct answer a;
    long status = 0;

    TRY(http_post(c, h, path, ots_encode_request(c, request), &a, &status));
    if (status != 200)
        return http_failure_of(c, h, status, buf_bytes(&a.body));
    TRY(check_success(c, h, path, &a));
    return ots_decode_reply(c, request->op, buf_bytes(&a.body), out);
}

int http_text(struct ctx *c, struct client *cl, const char *path, bytes body, bytes *out)
{
    struct http_client *h = PORT_CONTAINER(cl, struct http_client, base);
    struct answer a;
    long status = 0;

    TRY(http_post(c, h, path, body, &a, &status));
    if (status != 200)
        return http_failure_of(c, h, status, buf_bytes(&a.body));
    TRY(check_success(c, h, path, &a));
    *out = buf_bytes(&a.body);
    return 0;
}

static void http_close(struct client *cl)
{
    struct http_client *h = PORT_CONTAINER(cl, struct http_client, base);

    curl_easy_cleanup(h->curl);
    mem_free(h);
}

static const struct client_ops http_ops = {
    .exec = http_exec, .put_cell = http_put_cell, .get_cell = http_get_cell, .close = http_close};

int client_open_http(struct ctx *c, struct target *t, struct client **out)
{
    struct http_client *h;
    CURL *curl = curl_easy_init();

    if (!curl)
        return fail(c, WR_E_INTERNAL, "libcurl cannot start");
    h = mem_zalloc(sizeof(*h));
    h->base.ops = &http_ops;
    h->curl = curl;
    sign_key_init(&h->key, t->key_secret);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     fault_hit(FAULT_client_impatient) ? REQUEST_TIMEOUT_TEST_MS
                                                       : REQUEST_TIMEOUT_MS);
    if (t->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, t->ca_file);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, h->error);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, http_on_header);
    *out = &h->base;
    return 0;
}
