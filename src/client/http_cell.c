/* http_cell.c: one cell as a stream over HTTP (server/cell.h has the headers). */
#include "client/http_part.h"

#include <inttypes.h>
#include <stdlib.h>

#define UPLOAD_BUFFER_BYTES (1l << 20)
#define DOWNLOAD_BUFFER_BYTES (512l << 10)
#define STALLED_S 120l /* without a byte, either way */

struct transfer {
    const struct client_cell *cell;
    struct http_client *h;
    struct answer answer;
    bool checked; /* the headers of a good answer were seen, and start() called */
    int code;     /* of what went wrong on our side */
    uint64_t length, moved;
    size_t trailer_at; /* put: what of it was sent */
    char trailer[SIGN_TRAILER_BYTES + 1];
};

static void put_escaped(struct buf *b, bytes text)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.len; i++) {
        uint8_t ch = bytes_u8(text)[i];

        if ((ch >= '0' && ch <= '9') || (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z') ||
            strchr("-_.~", ch ? ch : ' ')) {
            buf_put_u8(b, ch);
        } else {
            buf_put_u8(b, '%');
            buf_put_u8(b, (uint8_t)hex[ch >> 4]);
            buf_put_u8(b, (uint8_t)hex[ch & 15]);
        }
    }
}

static bytes escaped(struct ctx *c, bytes text)
{
    struct buf b;

    buf_init(&b, &c->arena, text.len + 16);
    put_escaped(&b, text);
    return b.len ? buf_bytes(&b) : BYTES_LIT("");
}

static bytes key_text(struct ctx *c, const struct wr_key *key)
{
    struct buf b;

    buf_init(&b, &c->arena, 128);
    for (size_t i = 0; i < key->count; i++) {
        const struct wr_value *v = &key->columns[i].value;

        if (i)
            buf_put_u8(&b, '&');
        put_escaped(&b, key->columns[i].name);
        if (v->type == WR_BIGINT) {
            buf_put_bytes(&b, arena_printf(&c->arena, "=int:%" PRId64, v->integer));
        } else {
            buf_put_bytes(&b, v->type == WR_VARCHAR ? BYTES_LIT("=str:") : BYTES_LIT("=bin:"));
            put_escaped(&b, v->bytes);
        }
    }
    return buf_bytes(&b);
}

static size_t cell_headers(struct ctx *c, const struct client_cell *cell, struct sign_header *out)
{
    out[0] = (struct sign_header){BYTES_LIT("x-ots-cell-table"), escaped(c, cell->table)};
    out[1] = (struct sign_header){BYTES_LIT("x-ots-cell-key"), key_text(c, &cell->key)};
    out[2] = (struct sign_header){BYTES_LIT("x-ots-cell-column"), escaped(c, cell->column)};
    return 3;
}

/* The hash, which is known once all of the value has gone, follows it. */
static size_t upload_trailer(struct transfer *t, char *to, size_t size)
{
    size_t n = SIGN_TRAILER_BYTES - t->trailer_at;

    if (!t->trailer_at)
        sign_trailer(&t->h->key, bytes_str(t->h->signature), t->cell->sha256, t->trailer);
    n = n < size ? n : size;
    memcpy(to, t->trailer + t->trailer_at, n);
    t->trailer_at += n;
    return n;
}

static size_t on_upload(char *to, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;
    uint64_t left = t->cell->length - t->moved;
    size_t want = size * n < left ? size * n : (size_t)left;
    ptrdiff_t moved;

    if (!left)
        return upload_trailer(t, to, size * n);
    moved = t->cell->move(t->cell->arg, (uint8_t *)to, want);
    if (moved <= 0) /* an early end, too, for which libcurl would wait until the server gives up */
        return CURL_READFUNC_ABORT;
    t->moved += (uint64_t)moved;
    return (size_t)moved;
}

static bool read_hex(bytes text, uint8_t out[32])
{
    char pair[3] = "";
    char *end;

    for (size_t i = 0; i < 32; i++) {
        if (text.len != 64)
            return false;
        memcpy(pair, (const char *)text.ptr + 2 * i, 2);
        out[i] = (uint8_t)strtoul(pair, &end, 16);
        if (*end)
            return false;
    }
    return true;
}

/* Before the first byte of the value: who sends it must know our secret. */
static bool begin_value(struct transfer *t)
{
    struct ctx *c = t->answer.c;
    curl_off_t length = 0;
    uint8_t sha256[32];

    t->checked = true;
    t->code = http_check_signature(c, t->h, "/GetCell", &t->answer);
    if (!t->code && !read_hex(http_answer_header(&t->answer, "x-ots-cell-sha256"), sha256))
        t->code = fail(c, WR_E_UNSURE, "the answer has no x-ots-cell-sha256");
    if (t->code)
        return false;
    curl_easy_getinfo(t->h->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    t->length = length > 0 ? (uint64_t)length : 0;
    t->cell->start(t->cell->arg, t->length, sha256);
    return true;
}

static size_t on_value(char *data, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;
    long status = 0;
    ptrdiff_t moved;

    curl_easy_getinfo(t->h->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status / 100 != 2) {
        buf_put(&t->answer.body, data, size * n);
        return t->answer.body.len > 1 << 20 ? 0 : size * n;
    }
    if (!t->checked && !begin_value(t))
        return 0;
    moved = t->cell->move(t->cell->arg, (uint8_t *)data, size * n);
    t->moved += moved > 0 ? (uint64_t)moved : 0;
    return moved < 0 ? 0 : (size_t)moved;
}

static size_t on_answer(char *data, size_t size, size_t n, void *arg)
{
    struct transfer *t = arg;

    buf_put(&t->answer.body, data, size * n);
    return t->answer.body.len > 1 << 20 ? 0 : size * n;
}

static CURL *transfer_open(struct ctx *c, struct transfer *t, const char *path,
                           struct curl_slist *headers)
{
    CURL *curl = curl_easy_duphandle(t->h->curl);

    t->answer = (struct answer){.c = c};
    buf_init(&t->answer.body, &c->arena, 0);
    t->h->error[0] = 0;
    curl_easy_setopt(
        curl, CURLOPT_URL,
        (const char *)arena_printf(&c->arena, "%s%s", t->h->base.target->endpoint, path).ptr);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 0l);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1l);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, STALLED_S);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &t->answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->h->error);
    curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, DOWNLOAD_BUFFER_BYTES);
    return curl;
}

/* The transfer's own curl handle goes; its outcome stays. */
static int transfer_run(struct ctx *c, struct transfer *t, CURL *curl, struct curl_slist *headers,
                        long *status)
{
    CURL *kept = t->h->curl;
    CURLcode result;
    int code;

    t->h->curl = curl; /* what the callbacks and http_result() ask */
    result = curl_easy_perform(curl);
    if (result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR || result == CURLE_GOT_NOTHING)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
    /* A refusal half way through the body is an answer, although the rest could not be sent. */
    if (result && *status >= 400 && t->answer.body.len)
        result = CURLE_OK;
    code = t->code ? t->code : http_result(c, t->h, result, status);
    t->h->curl = kept;
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    return code;
}

int http_put_cell(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    struct transfer t = {.cell = cell, .h = PORT_CONTAINER(cl, struct http_client, base)};
    struct sign_header own[HTTP_OWN_HEADERS_MAX];
    size_t n = cell_headers(c, cell, own);
    struct curl_slist *headers;
    long status = 0;
    CURL *curl;

    own[n++] = (struct sign_header){BYTES_LIT("x-ots-cell-sha256"), BYTES_LIT("trailer")};
    headers = http_make_headers(c, t.h, "/PutCell", own, n);
    curl = transfer_open(c, &t, "/PutCell", headers);
    curl_easy_setopt(curl, CURLOPT_POST, 1l);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, NULL);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     (curl_off_t)(cell->length + SIGN_TRAILER_BYTES));
    curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_upload);
    curl_easy_setopt(curl, CURLOPT_READDATA, &t);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer);
    TRY(transfer_run(c, &t, curl, headers, &status));
    if (status != 200)
        return http_failure_of(c, t.h, status, buf_bytes(&t.answer.body));
    return http_check_signature(c, t.h, "/PutCell", &t.answer);
}

int http_get_cell(struct ctx *c, struct client *cl, const struct client_cell *cell)
{
    struct transfer t = {.cell = cell, .h = PORT_CONTAINER(cl, struct http_client, base)};
    struct sign_header own[HTTP_OWN_HEADERS_MAX];
    struct curl_slist *headers;
    CURL *curl;
    long status = 0;

    headers = http_make_headers(c, t.h, "/GetCell", own, cell_headers(c, cell, own));
    if (cell->has_range) /* libcurl's own option is for GET alone */
        headers = curl_slist_append(
            headers,
            arena_printf(&c->arena, "Range: bytes=%" PRIu64 "-%" PRIu64, cell->from, cell->to).ptr);
    curl = transfer_open(c, &t, "/GetCell", headers);
    curl_easy_setopt(curl, CURLOPT_POST, 1l);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_value);
    TRY(transfer_run(c, &t, curl, headers, &status));
    if (status == 416)
        return fail(c, WR_E_PARAMETER, "the value ends before byte %" PRIu64, cell->from);
    if (status != 200 && status != 206)
        return http_failure_of(c, t.h, status, buf_bytes(&t.answer.body));
    if (!t.checked) { /* an empty value: no byte came */
        uint8_t sha256[32];

        TRY(http_check_signature(c, t.h, "/GetCell", &t.answer));
        if (!read_hex(http_answer_header(&t.answer, "x-ots-cell-sha256"), sha256))
            return fail(c, WR_E_UNSURE, "the answer has no x-ots-cell-sha256");
        cell->start(cell->arg, 0, sha256);
    }
    return 0;
}
