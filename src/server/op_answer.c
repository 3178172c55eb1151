/* The answer of a request: its headers and their signature, counters, log. */
#include "server/op_part.h"

#include "wire/zip.h"

#include <inttypes.h>
#include <unistd.h>

#define COMPRESS_BYTES_MIN 1024     /* smaller answers are not worth it */
#define DIGEST_BYTES_MIN (64 << 10) /* of smaller ones it takes less than a turn of a worker */
#define PATIENCE_US_MAX 1000000

/* A request is under way until its answer is handed over, or it goes without one. A client that is
 * slow to take its answer does not count: nothing waits behind it. */
void op_leave(struct op_exchange *op)
{
    if (op->counted)
        atomic_fetch_sub_explicit(&op->front->requests, 1, memory_order_relaxed);
    op->counted = false;
}

const char *op_shown(struct ctx *c, bytes b)
{
    size_t n = b.len < 100 ? b.len : 100;
    char *out = arena_alloc(&c->arena, n + 1);

    for (size_t i = 0; i < n; i++)
        out[i] = (char)(bytes_u8(b)[i] >= ' ' && bytes_u8(b)[i] <= '~' ? bytes_u8(b)[i] : '?');
    out[n] = 0;
    return out;
}

void op_header(struct op_exchange *op, bytes name, const char *value)
{
    op->out[op->out_count++] = (struct http_header){name, bytes_str(value)};
}

/* The headers SDKs check, and the signature over them. `raw_size`: of the body before it was
 * compressed; 0: it is not. */
void op_sign(struct op_exchange *op, size_t raw_size)
{
    struct arena *a = &op->r->ctx.arena;
    struct sign_header signed_headers[HEADERS_OUT];
    char signature[SIGN_SHA1_TEXT + 1];
    struct buf authorization;

    sign_date_format(clock_wall_us(op->front->clock), op->date);
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

static const char *op_label(const struct op_exchange *op)
{
    if (op->route == OTS_ROUTE_SQL_QUERY)
        return "SQLQuery";
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

static void op_log(struct op_exchange *op, int status, int code, size_t out_bytes, int64_t us)
{
    struct op_front *d = op->front;
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
void op_end(struct op_exchange *op, int code, int status, size_t out_bytes)
{
    struct http_request *r = op->r;
    struct op_front *d = op->front;
    int64_t us = clock_mono_us(d->clock) - r->start_us;

    if (!op->late) /* else op_release() does */
        op_leave(op);
    stat_request(d->stat, op->route == OTS_ROUTE_OP ? (size_t)op->op : STAT_OP_OTHER, code, us);
    stat_add(&d->stat->body_bytes_in, op_bytes_in(r));
    stat_add(&d->stat->body_bytes_out, out_bytes);
    op_log(op, status, code, out_bytes, us);
}

/* The digest is there. */
static void op_send(struct op_exchange *op, int code, bytes body)
{
    struct http_request *r = op->r;
    struct op_front *d = op->front;
    int status = err_info(code)->http_status;
    bytes sent = body;
    size_t raw_size = 0;

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

/* A large answer whose digest waits for those of others. */
struct op_digest_wait {
    struct digest_wait wait;
    struct op_exchange *op;
    int code;
};

static void op_send_there(void *arg)
{
    struct op_digest_wait *w = arg;

    op_send(w->op, w->code, w->wait.text);
}

/* Compressing takes long, and so waits for a turn of its own. */
static void op_digest_done(struct digest_wait *self, bool own)
{
    struct op_digest_wait *w = PORT_CONTAINER(self, struct op_digest_wait, wait);

    sign_md5_text(self->sum, w->op->digest);
    if (w->op->compress && !own)
        wr_work(w->op->front->db, w->op->request.client, op_send_there, w);
    else
        op_send_there(w);
}

/* Others may have large answers too, whose digests are taken along. */
static bool op_shares_digest(const struct op_exchange *op, bytes body)
{
    struct op_front *d = op->front;

    return d->digests && body.len >= DIGEST_BYTES_MIN && wr_is_worker() &&
           atomic_load_explicit(&d->requests, memory_order_relaxed) >= (long long)md5_many_least();
}

/* How long an answer may wait for others that its client has under way: at most as long as it has
 * taken, and while there is memory. */
static int64_t op_patience_us(const struct op_exchange *op)
{
    int64_t us = clock_mono_us(op->front->clock) - op->r->start_us;

    if (wr_memory_full(op->front->db))
        return 0;
    return us < PATIENCE_US_MAX ? us : PATIENCE_US_MAX;
}

/* Once in line, the answer is sent by whoever takes its digest. */
static void op_share_digest(struct op_exchange *op, int code, bytes body)
{
    struct op_digest_wait *w = ARENA_NEW(&op->r->ctx.arena, struct op_digest_wait);
    int64_t patience_us = op_patience_us(op);
    uint64_t client = op->request.client;
    struct op_front *d = op->front;
    struct digest_turn *turn;
    bool enough;

    *w = (struct op_digest_wait){{.text = body, .done = op_digest_done}, op, code};
    turn = digest_put(d->digests, &w->wait, &enough);
    if (enough)
        digest_turn(turn);
    else
        wr_work_last(d->db, client, patience_us, digest_turn, turn);
}

void op_answer(struct op_exchange *op, int code, bytes body)
{
    if (op_shares_digest(op, body)) {
        op_share_digest(op, code, body);
        return;
    }
    sign_md5(body, op->digest);
    op_send(op, code, body);
}

/* Answers with the failure that the context recorded. */
void op_refuse(struct op_exchange *op)
{
    struct ctx *c = &op->r->ctx;
    int answered = op->route == OTS_ROUTE_OP ? ots_answer_code(op->op, c->code) : c->code;
    const char *code = err_info(answered)->code;

    if (c->code == E_INTERNAL)
        log_error(op->front->log, "op: %s at %s:%d id=%s", c->text, c->file, c->line, op->id);
    else
        log_debug(op->front->log, "op: %s refused: %s %s id=%s", op_label(op), code, c->text,
                  op->id);
    op_answer(op, answered, ots_encode_error(c, code, c->text));
}
