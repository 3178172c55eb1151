/* One request is one `struct op` in the arena of its HTTP request:
 *
 *   - op_on_head, on a loop thread, before the body is read: route and admit, or refuse
 *   - op_on_request, on a loop thread: refuse after all, or submit to the database
 *   - op_done, on any thread: keeps the reply, wakes the loop thread
 *   - op_wait, if the reply is large and the client's unread answers fill its share: gives it up,
 *     to ask again when there is room
 *   - op_finish, on the loop thread: encodes the reply, signs, answers
 *
 * so neither the committer's thread nor an engine's ever encodes or signs. What is large, a body or
 * a reply, and what is compressed would hold the loop for milliseconds: that is decoded and encoded
 * on a worker (wr_work). If the client has gone
 * meanwhile, op_finish never comes; what the op holds is let go by a hook of the arena.
 *
 * Checks are made in this order, and the first that fails is what the client hears. From the
 * headers alone, so that strangers cannot make the server keep a body: size of the body, method,
 * operation, headers present and none twice, API version, access key, date, signature, instance.
 * Then, with the body: digest, room for one more request, the body itself, what the access key may
 * do. Who is asking is looked up before any of them, so that refusals can be signed too: an SDK
 * that cannot verify a refusal hides its text from the user. */
#include "server/op_part.h"

#include "base/number.h"
#include "server/cell.h"
#include "wire/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SMALL_BYTES 4096 /* of the body of a request that takes little memory */
#define API_VERSION "2015-12-31"
#define DATE_SKEW_S (15 * 60)
#define COMPRESS_BYTES_MIN 1024 /* smaller answers are not worth it */
/* What a loop thread takes of a body to decode or a reply to encode, and of one to compress: some
 * tenths of a millisecond. */
#define LOOP_BYTES (64 << 10)
#define COMPRESS_BYTES (16 << 10)

/* A request is under way until its answer is handed over, or it goes without one. A client that is
 * slow to take its answer does not count: nothing waits behind it. */
void op_leave(struct op *op)
{
    if (op->counted)
        atomic_fetch_sub_explicit(&op->door->requests, 1, memory_order_relaxed);
    op->counted = false;
}

static void op_release(void *arg)
{
    struct op *op = arg;

    op_leave(op);
    credential_release(op->cred);
    wr_reply_free(op->reply);
}

/* A random (version 4) UUID that nobody sees twice: the n-th of the sequence a secret seed starts.
 */
static void uuid_format(struct op_door *d, char out[UUID_TEXT + 1])
{
    struct rng rng;
    uint64_t a, b;

    rng_init(&rng, d->seed ^ atomic_fetch_add_explicit(&d->number, 1, memory_order_relaxed) *
                                 0xD1342543DE82EF95ull);
    a = (rng_next(&rng) & ~0xF000ull) | 0x4000;
    b = (rng_next(&rng) & ~(3ull << 62)) | 1ull << 63;
    for (int i = 0; i < 32; i++) {
        uint64_t half = i < 16 ? a : b;

        if (i == 8 || i == 12 || i == 16 || i == 20)
            *out++ = '-';
        *out++ = "0123456789abcdef"[half >> (60 - i % 16 * 4) & 15];
    }
    *out = 0;
}

static struct op *op_new(struct op_door *door, struct http_request *r)
{
    struct op *op = ARENA_NEW(&r->ctx.arena, struct op);

    op->door = door;
    op->r = r;
    op->op = WR_OP_COUNT;
    op->route = ots_op_find(r->path, &op->op);
    op->cred = credential_find(door->credentials, http_header(r, "x-ots-accesskeyid"));
    op->answer_key = op->cred ? &op->cred->key : NULL;
    uuid_format(door, op->id);
    arena_on_release(&r->ctx.arena, op_release, op);
    return op;
}

/* ---- admission ---- */

/* For messages: bytes from outside, cut short and without anything unprintable. */
const char *op_shown(struct ctx *c, bytes b)
{
    size_t n = b.len < 100 ? b.len : 100;
    char *out = arena_alloc(&c->arena, n + 1);

    for (size_t i = 0; i < n; i++)
        out[i] = (char)(bytes_u8(b)[i] >= ' ' && bytes_u8(b)[i] <= '~' ? bytes_u8(b)[i] : '?');
    out[n] = 0;
    return out;
}

static int check_operation(struct op *op)
{
    struct ctx *c = &op->r->ctx;
    bytes path = op->r->path;
    const char *name = op_shown(c, path.len ? bytes_skip(path, 1) : path);

    if (op->route == OTS_ROUTE_UNKNOWN)
        return fail(c, E_UNSUPPORTED, "Unsupported operation: '%s'.", name);
    if (op->route == OTS_ROUTE_UNSUPPORTED)
        return fail(c, E_UNSUPPORTED, "Unsupported operation: '%s' (not in Widerow %s).", name,
                    wr_version());
    if (op->r->query)
        return fail(c, E_PARAMETER, "The path has a query, which no signature covers.");
    return E_OK;
}

/* The protocol signs each of its headers once; a second one could be read for the first. */
static int check_duplicates(struct http_request *r)
{
    const struct http_header *h = r->headers;

    for (size_t i = 0; i < r->header_count; i++) {
        if (!bytes_starts(h[i].name, BYTES_LIT("x-ots-")))
            continue;
        for (size_t k = 0; k < i; k++)
            if (bytes_equal(h[i].name, h[k].name))
                return fail(&r->ctx, E_PARAMETER, "Duplicate header: %s.",
                            op_shown(&r->ctx, h[i].name));
    }
    return E_OK;
}

static int check_headers(struct op *op)
{
    static const char *const required[] = {"x-ots-apiversion", "x-ots-accesskeyid",
                                           "x-ots-instancename", "x-ots-date", "x-ots-contentmd5"};
    struct http_request *r = op->r;

    /* A cell has its own hashes. */
    for (size_t i = 0; i < PORT_COUNT(required) - op_is_stream(op); i++)
        if (!http_header(r, required[i]).ptr)
            return fail(&r->ctx, E_PARAMETER, "Missing header: %s.", required[i]);
    if (!http_header(r, "x-ots-signature").ptr && !http_header(r, "x-ots-signaturev4").ptr)
        return fail(&r->ctx, E_PARAMETER, "Missing header: x-ots-signature.");
    if (http_header(r, "x-ots-signature").ptr && http_header(r, "x-ots-signaturev4").ptr)
        return fail(&r->ctx, E_PARAMETER,
                    "Both x-ots-signature and x-ots-signaturev4 are there, of which one would go "
                    "unchecked.");
    return check_duplicates(r);
}

static int check_version(struct op *op)
{
    struct ctx *c = &op->r->ctx;
    bytes version = http_header(op->r, "x-ots-apiversion");

    if (bytes_equal(version, BYTES_LIT(API_VERSION)))
        return E_OK;
    if (bytes_equal(version, BYTES_LIT("2014-08-08")))
        return fail(c, E_PARAMETER,
                    "API version 2014-08-08 is not supported, only " API_VERSION
                    ". Upgrade the client: for Python the package tablestore 4.0 or newer instead "
                    "of ots2, for Java the artifact tablestore 4.0 or newer instead of ots-public; "
                    "with other clients set the API version (x-ots-apiversion) to " API_VERSION
                    ".");
    return fail(c, E_PARAMETER,
                "API version '%s' is not supported. Set the client's API version "
                "(x-ots-apiversion) to " API_VERSION ", or use a current SDK.",
                op_shown(c, version));
}

static int check_date(struct op *op)
{
    struct ctx *c = &op->r->ctx;
    bytes date = http_header(op->r, "x-ots-date");
    int64_t seconds, now = clock_wall_us(op->door->clock) / 1000000;

    if (!sign_date_parse(date, &seconds))
        return fail(c, E_PARAMETER, "Invalid date format: %s.", op_shown(c, date));
    if (seconds < now - DATE_SKEW_S || seconds > now + DATE_SKEW_S)
        return fail(
            c, E_AUTH,
            "Mismatch between system time and x-ots-date: %s. Set the client's clock right.",
            op_shown(c, date));
    return E_OK;
}

/* V4: the key is that of one day and region, also for the answer. */
static int check_signature_v4(struct op *op, const struct sign_header *headers, size_t n)
{
    struct http_request *r = op->r;
    bytes day = http_header(r, "x-ots-signdate"), region = http_header(r, "x-ots-signregion");
    char expected[SIGN_SHA256_TEXT + 1];

    if (!day.ptr)
        return fail(&r->ctx, E_PARAMETER, "Missing header: x-ots-signdate.");
    if (!region.ptr)
        return fail(&r->ctx, E_PARAMETER, "Missing header: x-ots-signregion.");
    sign_v4_key_init(&op->v4, bytes_str(op->cred->secret), day, region);
    op->answer_key = &op->v4.response;
    if (!sign_request_v4(&op->v4, r->path, headers, n, expected) ||
        !sign_equal(bytes_str(expected), http_header(r, "x-ots-signaturev4")))
        return fail(&r->ctx, E_AUTH, "Signature mismatch.");
    return E_OK;
}

static int check_signature(struct op *op)
{
    struct http_request *r = op->r;
    struct sign_header *headers = ARENA_ARRAY(&r->ctx.arena, struct sign_header, r->header_count);
    char expected[SIGN_SHA1_TEXT + 1];
    size_t n = 0;

    for (size_t i = 0; i < r->header_count; i++)
        if (bytes_starts(r->headers[i].name, BYTES_LIT("x-ots-")))
            headers[n++] = (struct sign_header){r->headers[i].name, r->headers[i].value};
    if (!http_header(r, "x-ots-signature").ptr)
        return check_signature_v4(op, headers, n);
    if (!sign_request(&op->cred->key, r->path, headers, n, expected) ||
        !sign_equal(bytes_str(expected), http_header(r, "x-ots-signature")))
        return fail(&r->ctx, E_AUTH, "Signature mismatch.");
    return E_OK;
}

static int check_digest(struct op *op)
{
    char expected[SIGN_MD5_TEXT + 1];

    sign_md5(op->r->body, expected);
    if (!sign_equal(bytes_str(expected), http_header(op->r, "x-ots-contentmd5")))
        return fail(&op->r->ctx, E_AUTH,
                    "Mismatch between MD5 value of request body and x-ots-contentmd5 in header.");
    return E_OK;
}

/* What the transport found wrong. */
static int op_fault(struct op *op)
{
    struct ctx *c = &op->r->ctx;

    if (op->r->fault == 408)
        return fail_code(c, E_REQUEST_TIMEOUT);
    if (op->r->fault == 503)
        return fail(c, E_BUSY, "Server is busy: other requests fill its memory.");
    return fail_code(c, E_BODY_TOO_LARGE);
}

static int check_length(struct op *op)
{
    struct http_request *r = op->r;

    if (r->length != HTTP_LENGTH_UNKNOWN && r->length > r->body_bytes_max && !op_is_stream(op))
        return fail_code(&r->ctx, E_BODY_TOO_LARGE);
    return E_OK;
}

/* `code`, which the keys and grants that we know come to. If it is a refusal and others may have
 * changed them, the client should rather try again. */
static int op_unless_stale(struct op *op, int code)
{
    struct ctx *c = &op->r->ctx;

    if (!code || wr_in_touch(op->door->db))
        return code;
    ctx_clear(c);
    return fail(c, E_UNAVAILABLE,
                "This server is out of touch with the others; it reads its keys again.");
}

/* Who asks. */
static int op_identify(struct op *op)
{
    struct http_request *r = op->r;
    struct ctx *c = &r->ctx;
    const struct credential *there;

    if (!op->cred)
        return fail(c, E_AUTH, "The AccessKeyID does not exist.");
    TRY(check_date(op));
    TRY(check_signature(op));
    there = credential_at(op->cred, http_header(r, "x-ots-instancename"));
    if (!there)
        return fail(c, E_AUTH, "The instance '%s' does not belong to this AccessKeyID.",
                    op_shown(c, http_header(r, "x-ots-instancename")));
    op->cred = there; /* instance and grants are its; the answer is signed with the same secret */
    op->answer_key = op->answer_key == &op->v4.response ? op->answer_key : &there->key;
    return E_OK;
}

/* For the transport and for turns: all connections of one access key are one client's. */
static uint64_t op_client(const struct op *op)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (const char *p = op->cred->id; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 0x100000001b3;
    return hash;
}

/* Who asks, and for what; by the headers alone. */
static int op_admit(struct op *op)
{
    struct http_request *r = op->r;
    struct ctx *c = &r->ctx;
    int code;

    TRY(check_length(op));
    if (!bytes_equal(r->method, BYTES_LIT("POST")))
        return fail_code(c, E_METHOD);
    TRY(check_operation(op));
    TRY(check_headers(op));
    TRY(check_version(op));
    code = op_identify(op);
    TRY(op_unless_stale(op, code));
    http_known(r, op_client(op));
    op->compress =
        bytes_equal(http_header(r, "x-ots-response-compress-type"), BYTES_LIT("deflate"));
    return E_OK;
}

/* It may begin while those that take much have filled the memory for requests. */
static bool op_is_small(const struct op *op)
{
    return op->route == OTS_ROUTE_OP && op->r->body.len <= SMALL_BYTES &&
           (op->op == WR_OP_GET_ROW || op->op == WR_OP_PUT_ROW || op->op == WR_OP_UPDATE_ROW ||
            op->op == WR_OP_DELETE_ROW);
}

/* Whether there is room for one more. It is asked once the client is known to be one, so that
 * strangers can neither fill the server nor learn how full it is, and before the work begins. */
int op_enter(struct op *op)
{
    struct op_door *d = op->door;

    op->counted = true;
    if (atomic_fetch_add_explicit(&d->requests, 1, memory_order_relaxed) >= d->requests_max &&
        d->requests_max) {
        op_leave(op);
        return fail(&op->r->ctx, E_BUSY, "Server is busy: %" PRId64 " requests are under way.",
                    d->requests_max);
    }
    if (wr_memory_full(d->db) && !(op_is_small(op) && !wr_memory_spent(d->db))) {
        op_leave(op);
        return fail(&op->r->ctx, E_BUSY,
                    "Server is busy: requests hold the %" PRIu64 " MiB that they may.",
                    wr_memory_max(d->db) >> 20);
    }
    return E_OK;
}

/* The body as the client meant it. */
static int op_inflate(struct op *op, bytes *body)
{
    struct http_request *r = op->r;
    struct ctx *c = &r->ctx;
    bytes type = http_header(r, "x-ots-request-compress-type");
    bytes size_text = http_header(r, "x-ots-request-compress-size");
    int64_t size = 0;

    *body = r->body;
    if (!type.ptr)
        return E_OK;
    if (!bytes_equal(type, BYTES_LIT("deflate")))
        return fail(c, E_PARAMETER, "Unsupported x-ots-request-compress-type: '%s'.",
                    op_shown(c, type));
    if (size_text.ptr && (!number_integer(size_text, &size) || size < 0))
        return fail(c, E_PARAMETER, "x-ots-request-compress-size: '%s' is no number of bytes.",
                    op_shown(c, size_text));
    if ((uint64_t)size > r->body_bytes_max)
        return fail_code(c, E_BODY_TOO_LARGE);
    stat_add(&op->door->stat->compressed_in, 1);
    TRY(zip_inflate(c, r->body, (size_t)size, r->body_bytes_max, body));
    if (size_text.ptr && body->len != (size_t)size)
        return fail(c, E_PARAMETER,
                    "x-ots-request-compress-size is %" PRId64 " but the body has %zu bytes.", size,
                    body->len);
    return E_OK;
}

/* ---- answering ---- */

void op_header(struct op *op, bytes name, const char *value)
{
    op->out[op->out_count++] = (struct http_header){name, bytes_str(value)};
}

/* The headers SDKs check, and the signature over them. `raw_size`: of the body before it was
 * compressed; 0: it is not. */
void op_sign(struct op *op, size_t raw_size)
{
    struct arena *a = &op->r->ctx.arena;
    struct sign_header signed_headers[HEADERS_OUT];
    char signature[SIGN_SHA1_TEXT + 1];
    struct buf authorization;

    sign_date_format(clock_wall_us(op->door->clock), op->date);
    if (*op->digest)
        op_header(op, BYTES_LIT("x-ots-contentmd5"), op->digest);
    op_header(op, BYTES_LIT("x-ots-contenttype"),
              *op->digest ? "protocol buffer" : "application/octet-stream");
    op_header(op, BYTES_LIT("x-ots-date"), op->date);
    op_header(op, BYTES_LIT("x-ots-requestid"), op->id);
    if (raw_size) {
        op_header(op, BYTES_LIT("x-ots-response-compress-size"),
                  arena_printf(a, "%zu", raw_size).ptr);
        op_header(op, BYTES_LIT("x-ots-response-compress-type"), "deflate");
    }
    if (!op->answer_key)
        return;
    for (size_t i = 0; i < op->out_count; i++)
        signed_headers[i] = (struct sign_header){op->out[i].name, op->out[i].value};
    sign_response(op->answer_key, op->r->path, signed_headers, op->out_count, signature);
    buf_init(&authorization, a, 64 + sizeof(signature));
    buf_put_bytes(&authorization, BYTES_LIT("OTS "));
    buf_put_bytes(&authorization, bytes_str(op->cred->id));
    buf_put_bytes(&authorization, BYTES_LIT(":"));
    buf_put(&authorization, signature, sizeof(signature)); /* with its NUL */
    op_header(op, BYTES_LIT("Authorization"), (const char *)authorization.data);
}

static const char *op_label(const struct op *op)
{
    return op->route == OTS_ROUTE_OP ? ots_op_name(op->op) : "-";
}

/* For the log: what a request that never was whole has not. */
static const char *shown_or_dash(struct ctx *c, bytes b)
{
    return b.len ? op_shown(c, b) : "-";
}

/* Of a stream, what was announced. */
static size_t op_bytes_in(const struct http_request *r)
{
    return r->body.len || r->length == HTTP_LENGTH_UNKNOWN ? r->body.len : (size_t)r->length;
}

static void op_log(struct op *op, int status, int code, size_t out_bytes, int64_t us)
{
    struct op_door *d = op->door;
    struct http_request *r = op->r;
    const char *name = code ? err_info(code)->code : "OK";
    bytes line;

    if (d->slow_ms && us >= d->slow_ms * 1000) {
        stat_add(&d->stat->slow, 1);
        log_warn(d->log, "slow: %s took %" PRId64 " ms status=%d code=%s in=%zu out=%zu id=%s",
                 op_label(op), us / 1000, status, name, op_bytes_in(r), out_bytes, op->id);
    }
    if (d->access_fd < 0)
        return;
    line = arena_printf(
        &r->ctx.arena, "%s %.*s %s %s %d %s us=%" PRId64 " in=%zu out=%zu key=%s id=%s\n", op->date,
        BYTES_FMT(http_peer(r)), shown_or_dash(&r->ctx, r->method), shown_or_dash(&r->ctx, r->path),
        status, name, us, op_bytes_in(r), out_bytes, op->cred ? op->cred->id : "-", op->id);
    (void)!write(d->access_fd, line.ptr, line.len); /* one call: lines of two threads do not mix */
}

/* Counts and logs it; all that is left is to send. */
void op_end(struct op *op, int code, int status, size_t out_bytes)
{
    struct http_request *r = op->r;
    struct op_door *d = op->door;
    int64_t us = clock_mono_us(d->clock) - r->start_us;

    op_leave(op);
    stat_request(d->stat, op->route == OTS_ROUTE_OP ? (size_t)op->op : STAT_OP_OTHER, code, us);
    stat_add(&d->stat->body_bytes_in, op_bytes_in(r));
    stat_add(&d->stat->body_bytes_out, out_bytes);
    op_log(op, status, code, out_bytes, us);
}

/* The last step; the op and its request must not be touched afterwards. */
void op_answer(struct op *op, int code, bytes body)
{
    struct http_request *r = op->r;
    struct op_door *d = op->door;
    int status = err_info(code)->http_status;
    bytes sent = body;
    size_t raw_size = 0;

    sign_md5(body, op->digest);
    if (op->compress && body.len >= COMPRESS_BYTES_MIN && zip_deflate(&r->ctx, body, &sent) == 0) {
        raw_size = body.len;
        stat_add(&d->stat->compressed_out, 1);
    }
    op_sign(op, raw_size);
    if (code == E_METHOD)
        op_header(op, BYTES_LIT("Allow"), "POST");
    op_end(op, code, status, sent.len);
    http_reply(r, status, op->out, op->out_count, sent);
}

/* Answers with the failure that the context recorded. */
void op_refuse(struct op *op)
{
    struct ctx *c = &op->r->ctx;
    const char *code = err_info(c->code)->code;

    if (c->code == E_INTERNAL)
        log_error(op->door->log, "op: %s at %s:%d id=%s", c->text, c->file, c->line, op->id);
    else
        log_debug(op->door->log, "op: %s refused: %s %s id=%s", op_label(op), code, c->text,
                  op->id);
    op_answer(op, c->code, ots_encode_error(c, code, c->text));
}

static size_t answer_size(const struct op *op)
{
    return op->reply->memory + op->r->ctx.arena.used;
}

/* Rows that were read: they may be read a second time. An error is told as it is. */
static bool has_read(const struct op *op)
{
    return op->reply->code == E_OK && wr_op_class(op->op) == WR_CLASS_READ;
}

/* A large answer is about as large as the rows it is made of. */
static bool lacks_memory(const struct op *op)
{
    return op->reply->memory > LOOP_BYTES && has_read(op) &&
           wr_memory_lacks(op->door->db, op->reply->memory);
}

static void op_finish(void *arg, struct http_request *r)
{
    struct op *op = arg;
    struct wr_reply reply = *op->reply;
    bytes body;

    if (PORT_UNLIKELY(lacks_memory(op))) {
        wr_reply_free(op->reply);
        op->reply = NULL;
        fail(&r->ctx, E_BUSY, "Server is busy: other requests fill its memory (--memory).");
        op_refuse(op);
        return;
    }

    if (reply.code == E_OK && op->op == WR_OP_LIST_TABLE)
        reply.table_list = grants_visible(&r->ctx, &op->cred->grants, &reply.table_list);
    body = ots_encode(&r->ctx, &op->request, &reply);
    /* Now, so that a large one and its copies for the socket are never there together. */
    wr_reply_free(op->reply);
    op->reply = NULL;
    op_answer(op, ots_answer_code(&op->request, reply.code), body);
}

static void op_finish_there(void *arg)
{
    struct op *op = arg;

    op_finish(op, op->r);
}

static bool is_long_answer(const struct op *op)
{
    return answer_size(op) > (op->compress ? COMPRESS_BYTES : LOOP_BYTES);
}

static void op_done(void *arg, struct wr_reply *reply);

static void op_submit(struct op *op)
{
    ots_stream_rows(&op->r->ctx, &op->request);
    wr_submit(op->door->db, &op->request, op_done, op);
}

static int op_no_room(struct op *op)
{
    return fail(&op->r->ctx, E_BUSY,
                "Server is busy: answers that this access key has not read yet fill the memory for "
                "them (--memory).");
}

/* There is room now, or there was none in time. */
static void op_again(void *arg, struct http_request *r)
{
    struct op *op = arg;

    if (r->fault ? op_no_room(op) : op_enter(op))
        op_refuse(op);
    else
        op_submit(op);
}

/* What was read goes, the request waits. */
static void op_wait(struct op *op)
{
    size_t size = answer_size(op);

    wr_reply_free(op->reply);
    op->reply = NULL;
    arena_rewind(&op->r->ctx.arena, &op->decoded);
    op_leave(op);
    if (http_wait(op->r, size, op->deadline_ms, op_again, op))
        return;
    op_no_room(op);
    op_refuse(op);
}

static void op_done(void *arg, struct wr_reply *reply)
{
    struct op *op = arg;

    op->reply = reply;
    if (is_long_answer(op) && has_read(op) && !http_reserve(op->r, answer_size(op)))
        op_wait(op);
    else if (wr_is_worker())
        op_finish(op, op->r);
    else if (is_long_answer(op))
        wr_work(op->door->db, op->request.client, op_finish_there, op);
    else
        http_resume(op->r, op_finish, op);
}

static int op_decode(struct op *op)
{
    bytes body;

    TRY(op_inflate(op, &body));
    TRY(ots_decode(&op->r->ctx, op->op, body, &op->request));
    TRY(op_unless_stale(op, grants_check(&op->r->ctx, &op->cred->grants, &op->request)));
    op->request.instance = bytes_str(op->cred->instance);
    op->request.client = op_client(op);
    op->request.deadline_ms = op->deadline_ms;
    op->decoded = arena_mark(&op->r->ctx.arena);
    return E_OK;
}

/* The body is the path of the folder that the admin port is to be asked for. */
static int op_open_backup(struct op *op, bytes *out)
{
    struct ctx *c = &op->r->ctx;
    struct ticket_office *office = op->door->tickets;
    const char *address = office ? atomic_load(&office->address) : NULL;
    char ticket[TICKET_TEXT + 1];
    bytes dir;

    TRY(op_inflate(op, &dir));
    if (!grants_allow(&op->cred->grants, BYTES_LIT(""), true))
        return op_unless_stale(op, fail(c, E_PERMISSION,
                                        "The access key has no permission for OpenBackup: a backup "
                                        "holds every table, and so must the grant (rw)."));
    if (!address)
        return fail(
            c, E_UNSUPPORTED,
            "This server has no admin port, which makes backups: it runs with --admin off.");
    ticket_issue(office, dir, ticket);
    *out = arena_printf(&c->arena, "admin %s\nticket %s\n", address, ticket);
    return E_OK;
}

static void op_answer_backup(struct op *op)
{
    bytes body;

    if (op_open_backup(op, &body))
        op_refuse(op);
    else
        op_answer(op, E_OK, body);
}

void op_on_head(void *arg, struct http_request *r)
{
    struct op *op = op_new(arg, r);

    r->user = op;
    wr_request_bounds(op->door->db, &r->body_bytes_max, &r->ctx.arena.cap);
    if (op_admit(op))
        op_refuse(op);
    else if (op->route == OTS_ROUTE_PUT_CELL)
        cell_put(op);
}

/* The body is here and the client may ask. */
static void op_serve(void *arg)
{
    struct op *op = arg;

    if (check_digest(op))
        op_refuse(op);
    else if (op->route == OTS_ROUTE_EMPTY)
        op_answer(op, E_OK, bytes_of("", 0));
    else if (op->route == OTS_ROUTE_OPEN_BACKUP)
        op_answer_backup(op);
    else if (op_enter(op) || op_decode(op))
        op_refuse(op);
    else
        op_submit(op);
}

/* Its digest, inflating and decoding take milliseconds. */
static bool is_long_body(const struct op *op)
{
    return op->r->body.len > LOOP_BYTES ||
           http_header(op->r, "x-ots-request-compress-type").ptr != NULL;
}

void op_on_request(void *arg, struct http_request *r)
{
    struct op *op = r->user ? r->user : op_new(arg, r);

    op->deadline_ms = clock_mono_ms(op->door->clock) + op->door->op_timeout_ms;
    if (r->fault ? op_fault(op) : !r->user && op_admit(op))
        op_refuse(op);
    else if (op->route == OTS_ROUTE_GET_CELL)
        cell_get(op);
    else if (is_long_body(op))
        wr_work(op->door->db, op_client(op), op_serve, op);
    else
        op_serve(op);
}
