/* One request is one `struct op_exchange` in the arena of its HTTP request:
 *
 *   - op_on_head, on a loop thread, before the body is read: route and admit, or refuse
 *   - op_on_request, on a loop thread: refuse after all, or submit to the database
 *   - op_done, on any thread: keeps the reply, wakes the loop thread
 *   - op_late, if a write has no answer at its deadline: says that its outcome is not known
 *   - op_wait, if the reply is large and the client's unread answers fill its share: gives it up,
 *     to ask again when there is room
 *   - op_finish, on the loop thread: encodes the reply, signs, answers
 *
 * so neither the committer's thread nor an engine's ever encodes or signs. What is large, a body or
 * a reply, and what is compressed would hold the loop for milliseconds: that is decoded and encoded
 * on a worker (wr_work). If the client has gone meanwhile, op_finish never comes; what the op holds
 * is let go by a hook of the arena.
 *
 * op_admit.c has the checks, op_answer.c the answer. */
#include "server/op_part.h"

#include "server/cell.h"
#include "server/op.h"
#include "server/sql_query.h"

/* What a loop thread takes of a body to decode or a reply to encode, and of one to compress: some
 * tenths of a millisecond. */
#define LOOP_BYTES (64 << 10)
#define COMPRESS_BYTES (16 << 10)

static void op_release(void *arg)
{
    struct op_exchange *op = arg;

    op_leave(op);
    credential_release(op->cred);
    wr_reply_free(op->reply);
}

/* A random (version 4) UUID that nobody sees twice: the n-th of the sequence a secret seed starts.
 */
static void uuid_format(struct op_front *d, char out[UUID_TEXT + 1])
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

static struct op_exchange *op_new(struct op_front *front, struct http_request *r)
{
    struct op_exchange *op = ARENA_NEW(&r->ctx.arena, struct op_exchange);

    op->front = front;
    op->r = r;
    op->op = WR_OP_COUNT;
    op->route = ots_op_find(r->path, &op->op);
    op->cred = credential_find(front->credentials, http_header(r, "x-ots-accesskeyid"));
    op->answer_key = op->cred ? &op->cred->key : NULL;
    uuid_format(front, op->id);
    arena_on_release(&r->ctx.arena, op_release, op);
    return op;
}

static size_t answer_size(const struct op_exchange *op)
{
    return op->reply->memory + op->r->ctx.arena.used;
}

/* Rows that were read: they may be read a second time. An error is told as it is. */
static bool has_read(const struct op_exchange *op)
{
    return op->reply->code == E_OK && wr_op_class(op->op) == WR_CLASS_READ;
}

/* A large answer is about as large as the rows it is made of, but where it was made of them one by
 * one: then it is there already. */
static bool lacks_memory(const struct op_exchange *op)
{
    if (op->op == WR_OP_GET_RANGE && op->request.get_range.on_row)
        return false;
    return op->reply->memory > LOOP_BYTES && has_read(op) &&
           wr_memory_lacks(op->front->db, op->reply->memory);
}

static void op_finish(void *arg, struct http_request *r)
{
    struct op_exchange *op = arg;
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
    if (reply.code == E_OK && op->op == WR_OP_LIST_STREAM)
        reply.streams = grants_visible_streams(&r->ctx, &op->cred->grants, &reply.streams);
    if (reply.code == E_OK && op->op == WR_OP_LIST_SEARCH_INDEX)
        reply.search_indexes =
            grants_visible_search_indexes(&r->ctx, &op->cred->grants, &reply.search_indexes);
    body = ots_encode(&r->ctx, &op->request, &reply);
    /* Now, so that a large one and its copies for the socket are never there together. */
    wr_reply_free(op->reply);
    op->reply = NULL;
    op_answer(op, ots_answer_code(op->op, reply.code), body);
}

static void op_finish_there(void *arg)
{
    struct op_exchange *op = arg;

    op_finish(op, op->r);
}

static bool is_long_answer(const struct op_exchange *op)
{
    return answer_size(op) > (op->compress ? COMPRESS_BYTES : LOOP_BYTES);
}

static void op_done(void *arg, struct wr_reply *reply);

/* A write waits for its sync however long the disk takes, and holds its row. Its client is told at
 * the deadline that the outcome is not known; the write goes on with the request's memory, and
 * op_done drops what comes of it. */
static void op_late(void *arg, struct http_request *r)
{
    struct op_exchange *op = arg;

    http_ref(r);
    if (atomic_exchange(&op->settled, true)) { /* op_done was first */
        http_unref(r);
        return;
    }
    op->late = true; /* it is still under way, and counts until it is settled */
    fail_code(&r->ctx, E_UNSURE);
    op_refuse(op);
}

static bool is_write(const struct op_exchange *op)
{
    return wr_op_class(op->op) == WR_CLASS_WRITE;
}

static void op_submit(struct op_exchange *op)
{
    ots_stream_rows(&op->r->ctx, &op->request);
    if (is_write(op)) /* from here on the loop may answer, in the request's arena */
        http_on_deadline(op->r, op->deadline_ms, op_late, op);
    wr_submit(op->front->db, &op->request, op_done, op);
}

static int op_no_room(struct op_exchange *op)
{
    return fail(&op->r->ctx, E_BUSY,
                "Server is busy: answers that this access key has not read yet fill the memory for "
                "them (--memory).");
}

/* There is room now, or there was none in time. */
static void op_again(void *arg, struct http_request *r)
{
    struct op_exchange *op = arg;

    if (r->fault ? op_no_room(op) : op_enter(op))
        op_refuse(op);
    else
        op_submit(op);
}

/* What was read goes, the request waits. */
static void op_wait(struct op_exchange *op)
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
    struct op_exchange *op = arg;

    if (is_write(op) && atomic_exchange(&op->settled, true)) {
        wr_reply_free(reply);
        http_unref(op->r);
        return;
    }
    op->reply = reply;
    if (is_long_answer(op) && has_read(op) && !http_reserve(op->r, answer_size(op)))
        op_wait(op);
    else if (wr_is_worker())
        op_finish(op, op->r);
    else if (is_long_answer(op))
        wr_work(op->front->db, op->request.client, op_finish_there, op);
    else
        http_resume(op->r, op_finish, op);
}

static int op_decode(struct op_exchange *op)
{
    bytes body;

    TRY(op_inflate(op, &body));
    TRY(ots_decode(&op->r->ctx, op->op, body, &op->request));
    TRY(op_unless_stale(op, grants_check(&op->r->ctx, &op->cred->grants, &op->request)));
    op->request.instance = bytes_str(op->cred->instance);
    op->request.client = op_client(op);
    op->request.deadline_ms = op->deadline_ms;
    op->request.gone = &op->r->gone;
    op->decoded = arena_mark(&op->r->ctx.arena);
    return E_OK;
}

/* The body is the path of the folder that the admin port is to be asked for. */
static int op_open_backup(struct op_exchange *op, bytes *out)
{
    struct ctx *c = &op->r->ctx;
    struct ticket_office *office = op->front->tickets;
    const char *address = office ? atomic_load(&office->address) : NULL;
    char ticket[TICKET_TEXT + 1];
    bytes dir;

    TRY(op_inflate(op, &dir));
    if (!grants_allow(&op->cred->grants, BYTES_LIT(""), GRANT_ALL))
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

static void op_answer_backup(struct op_exchange *op)
{
    bytes body;

    if (op_open_backup(op, &body))
        op_refuse(op);
    else
        op_answer(op, E_OK, body);
}

static void op_serve_sql(struct op_exchange *op)
{
    if (op_enter(op) || sql_query_begin(op))
        op_refuse(op);
}

void op_on_head(void *arg, struct http_request *r)
{
    struct op_exchange *op = op_new(arg, r);

    r->user = op;
    wr_request_bounds(op->front->db, &r->body_bytes_max, &r->ctx.arena.cap);
    if (op_admit(op))
        op_refuse(op);
    else if (op->route == OTS_ROUTE_PUT_CELL)
        cell_put(op);
}

/* The body is here, whose digest this is, and the client may ask. */
static void op_serve(struct op_exchange *op, const uint8_t sum[MD5_BYTES])
{
    if (op_check_digest(op, sum))
        op_refuse(op);
    else if (op->route == OTS_ROUTE_EMPTY)
        op_answer(op, E_OK, bytes_of("", 0));
    else if (op->route == OTS_ROUTE_OPEN_BACKUP)
        op_answer_backup(op);
    else if (op->route == OTS_ROUTE_SQL_QUERY)
        op_serve_sql(op);
    else if (op_enter(op) || op_decode(op))
        op_refuse(op);
    else
        op_submit(op);
}

static void op_serve_alone(void *arg)
{
    struct op_exchange *op = arg;
    uint8_t sum[MD5_BYTES];

    sign_md5_sum(op->r->body, sum);
    op_serve(op, sum);
}

/* A large body whose digest is taken with those of others that wait for a worker, too. */
struct op_body_wait {
    struct digest_wait wait;
    struct op_exchange *op;
};

static void op_serve_body(void *arg)
{
    struct op_body_wait *w = arg;

    op_serve(w->op, w->wait.sum);
}

/* Decoding takes long, too, and so waits for a turn of its own. */
static void op_body_done(struct digest_wait *self, bool own)
{
    struct op_body_wait *w = PORT_CONTAINER(self, struct op_body_wait, wait);

    if (own)
        op_serve_body(w);
    else
        wr_work(w->op->front->db, op_client(w->op), op_serve_body, w);
}

static void op_serve_on_worker(struct op_exchange *op)
{
    struct op_front *d = op->front;
    uint64_t client = op_client(op);
    struct op_body_wait *w;
    bool enough;

    if (!d->digests || op->r->body.len <= LOOP_BYTES) {
        wr_work(d->db, client, op_serve_alone, op);
        return;
    }
    w = ARENA_NEW(&op->r->ctx.arena, struct op_body_wait);
    *w = (struct op_body_wait){{.text = op->r->body, .done = op_body_done}, op};
    wr_work(d->db, client, digest_turn, digest_put(d->digests, &w->wait, &enough));
}

/* Its digest, inflating and decoding take milliseconds. */
static bool is_long_body(const struct op_exchange *op)
{
    return op->r->body.len > LOOP_BYTES ||
           http_header(op->r, "x-ots-request-compress-type").ptr != NULL;
}

void op_on_request(void *arg, struct http_request *r)
{
    struct op_exchange *op = r->user ? r->user : op_new(arg, r);

    op->deadline_ms = clock_mono_ms(op->front->clock) + op->front->op_timeout_ms;
    if (r->fault ? op_fail_fault(op) : !r->user && op_admit(op))
        op_refuse(op);
    else if (op->route == OTS_ROUTE_GET_CELL)
        cell_get(op);
    else if (is_long_body(op))
        op_serve_on_worker(op);
    else
        op_serve_alone(op);
}
