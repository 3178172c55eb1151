/* Requests against a database that lives through many inputs: the body alone (one target an
 * operation), and whole HTTP requests without sockets. */
#include "fuzz.h"

#include "net/http.h"
#include "server/op.h"
#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/sign.h"

#include "engine/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define DB_INPUTS_MAX 500 /* inputs between two fresh databases, which bounds their memory */
#define INSTANCE "test"
#define KEY_ID "test-id"
#define KEY_SECRET "test-secret"

/* The embedded engine is not linked: the fuzzer opens the one in memory only. */
extern const struct engine_ops engine_rocks;
const struct engine_ops engine_rocks = {.name = "rocks"};

/* ---- the database */

static struct wr_db *db;
static int db_inputs;

static void on_log(void *arg, char level, const char *line)
{
    (void)arg;
    if (level == 'E')
        fprintf(stderr, "%s\n", line);
}

static void db_ask(const struct wr_request *req)
{
    struct wr_reply *reply = wr_exec(db, req);

    if (reply->code)
        fprintf(stderr, "setting up: %s\n", reply->message);
    CHECK(reply->code == 0);
    wr_reply_free(reply);
}

/* "t1", the table of the wire vectors, and "t2" with three key columns, one of them automatic. */
static void tables_make(void)
{
    static const struct wr_key_schema key1[] = {{.name = {"pk0", 3}, .type = WR_BIGINT}};
    static const struct wr_key_schema key2[] = {
        {.name = {"pk0", 3}, .type = WR_VARCHAR},
        {.name = {"pk1", 3}, .type = WR_VARBINARY},
        {.name = {"pk2", 3}, .type = WR_BIGINT, .auto_increment = true}};
    struct wr_request req = {.op = WR_OP_CREATE_TABLE, .instance = BYTES_LIT(INSTANCE)};

    req.create_table = (struct wr_create_table){
        .table = BYTES_LIT("t1"),
        .key = key1,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 3}};
    db_ask(&req);
    req.create_table.table = BYTES_LIT("t2");
    req.create_table.key = key2;
    req.create_table.key_count = 3;
    db_ask(&req);
}

/* Rows 1 to 8 of t1; those with an even key are wide. */
static void rows_make(void)
{
    static const char *const names[] = {"a", "age", "b", "c", "cnt", "d"};

    for (int i = 1; i <= 8; i++) {
        struct wr_key_column key = {BYTES_LIT("pk0"), {.type = WR_BIGINT, .integer = i}};
        struct wr_cell cells[6] = {{.op = WR_CELL_PUT}};
        size_t n = i % 2 ? 3 : 6;
        struct wr_request req = {.op = WR_OP_PUT_ROW, .instance = BYTES_LIT(INSTANCE)};

        for (size_t k = 0; k < n; k++) {
            cells[k] = (struct wr_cell){.name = bytes_str(names[k]),
                                        .timestamp_ms = WR_TIMESTAMP_NONE,
                                        .value = {.type = WR_BIGINT, .integer = i}};
            if (k == 3)
                cells[k].value = (struct wr_value){.type = WR_VARCHAR, .bytes = BYTES_LIT("t1:7,")};
        }
        req.put_row = (struct wr_row_change){
            .type = WR_PUT, .table = BYTES_LIT("t1"), .row = {{&key, 1}, cells, n}};
        db_ask(&req);
    }
}

static void db_close(void)
{
    wr_close(db);
    db = NULL;
}

/* Small limits, so that small inputs reach them. */
static void db_open(void)
{
    static const struct wr_setting settings[] = {
        {"table_ops_per_s_max", "0"},   {"throughput_change_s_min", "0"},
        {"ttl_seconds_min", "1"},       {"wide_row_cells", "4"},
        {"wide_row_bytes", "1024"},     {"range_rows_max", "7"},
        {"range_bytes_max", "1024"},    {"request_memory_max", "16777216"},
        {"cell_bytes_max", "2048"},     {"row_change_bytes_max", "8192"},
        {"row_change_cells_max", "32"}, {"batch_write_bytes_max", "16384"}};
    struct wr_options options = {.version = WR_API_VERSION,
                                 .engine = "mem",
                                 .settings = settings,
                                 .setting_count = PORT_COUNT(settings),
                                 .log = on_log};
    char message[256];
    static bool hooked;

    if (wr_open(&options, &db, message, sizeof(message)))
        fuzz_broken(__FILE__, __LINE__, message);
    tables_make();
    rows_make();
    if (!hooked)
        atexit(db_close);
    hooked = true;
}

static void db_need(void)
{
    if (db && ++db_inputs >= DB_INPUTS_MAX)
        db_close();
    if (!db) {
        db_inputs = 0;
        db_open();
    }
}

/* ---- bodies */

/* Codes that no request to a healthy database may get. */
static void code_check(int code, const char *message)
{
    bool ours = code == E_INTERNAL || code == E_CORRUPT || code == E_FORMAT || code == E_UNSURE ||
                code == E_UNAVAILABLE || code == E_DATA_LOSS;

    if (ours || code < 0 || code >= E_COUNT)
        fprintf(stderr, "code %d: %s\n", code, message);
    CHECK(!ours && code >= 0 && code < E_COUNT);
    CHECK(!code || message);
}

static void batch_check(const struct wr_batch_result *batch)
{
    for (size_t i = 0; i < batch->table_count; i++)
        for (size_t k = 0; k < batch->tables[i].row_count; k++)
            code_check(batch->tables[i].rows[k].code, batch->tables[i].rows[k].message);
}

/* What the client's half makes of a request must ask for the same thing. */
static void request_again(struct ctx *c, const struct wr_request *req)
{
    bytes first = ots_encode_request(c, req);
    struct wr_request again;

    CHECK(ots_decode(c, req->op, first, &again) == 0);
    CHECK(bytes_equal(first, ots_encode_request(c, &again)));
}

static void request_run(struct ctx *c, struct wr_request *req)
{
    struct wr_reply *reply, seen;
    bytes body;

    req->instance = BYTES_LIT(INSTANCE);
    db_need();
    reply = wr_exec(db, req);
    code_check(reply->code, reply->message);
    if (reply->code == 0 && (req->op == WR_OP_BATCH_GET_ROW || req->op == WR_OP_BATCH_WRITE_ROW ||
                             req->op == WR_OP_BULK_IMPORT))
        batch_check(&reply->batch);
    body = ots_encode(c, req, reply);
    CHECK(body.ptr);
    if (reply->code == 0)
        CHECK(ots_decode_reply(c, req->op, body, &seen) == 0);
    wr_reply_free(reply);
}

static void request_fuzz(enum wr_op op, bytes body)
{
    struct wr_request req;
    struct ctx c;

    fuzz_ctx(&c);
    if (fuzz_decoded(&c, ots_decode(&c, op, body, &req))) {
        request_again(&c, &req);
        request_run(&c, &req);
    }
    ctx_release(&c);
}

#define OP(constant, member, ...)                                                                  \
    void fuzz_##member(bytes in)                                                                   \
    {                                                                                              \
        request_fuzz(WR_OP_##constant, in);                                                        \
    }
#include "op.def"

/* ---- HTTP: the part of src/net is played here */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    http_fn *resume; /* what the request goes on with */
    void *arg;
    int status; /* 0: not answered yet */
    bool more;  /* http_more() was called */
    http_sink_fn *sink;
    void *sink_arg;
    http_source_fn *source;
    void *source_arg;
    uint64_t length; /* of what the source gives */
    bool crowded;    /* large answers have to wait, */
    bool given_up;   /* and in vain */
} wait_for = {.lock = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER};

/* Waits until something was said of the request; takes the "more" if that was it. */
static bool wait_more(void)
{
    bool more;

    pthread_mutex_lock(&wait_for.lock);
    while (!wait_for.more && !wait_for.resume && !wait_for.status)
        pthread_cond_wait(&wait_for.woken, &wait_for.lock);
    more = wait_for.more;
    wait_for.more = false;
    pthread_mutex_unlock(&wait_for.lock);
    return more;
}

void http_more(struct http_request *r)
{
    (void)r;
    pthread_mutex_lock(&wait_for.lock);
    CHECK(!wait_for.more);
    wait_for.more = true;
    pthread_cond_signal(&wait_for.woken);
    pthread_mutex_unlock(&wait_for.lock);
}

void http_receive(struct http_request *r, http_sink_fn *sink, void *arg)
{
    (void)r;
    wait_for.sink = sink;
    wait_for.sink_arg = arg;
}

void http_known(struct http_request *r, uint64_t client)
{
    (void)r;
    (void)client;
}

/* The engine in memory is never late. */
void http_on_deadline(struct http_request *r, int64_t deadline_ms, http_fn *fn, void *arg)
{
    (void)r;
    (void)deadline_ms;
    (void)fn;
    (void)arg;
}

void http_ref(struct http_request *r)
{
    (void)r;
}

void http_unref(struct http_request *r)
{
    (void)r;
}

bool http_hold(struct http_request *r, size_t size)
{
    (void)r;
    return size <= FUZZ_MEMORY_MAX;
}

bool http_reserve(struct http_request *r, size_t size)
{
    (void)r;
    (void)size;
    return !wait_for.crowded;
}

bool http_wait(struct http_request *r, size_t size, int64_t deadline_ms, http_fn *fn, void *arg)
{
    (void)size;
    CHECK(wait_for.crowded && deadline_ms > 0);
    wait_for.crowded = false;
    r->fault = wait_for.given_up ? 503 : 0;
    http_resume(r, fn, arg);
    return true;
}

static void answered(int status, const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(headers[i].name.len && ((const char *)headers[i].name.ptr)[headers[i].name.len] == 0);
        CHECK(((const char *)headers[i].value.ptr)[headers[i].value.len] == 0);
        CHECK(!memchr(headers[i].value.ptr, '\n', headers[i].value.len));
    }
    CHECK(status >= 200 && status != 500 && status < 600);
    pthread_mutex_lock(&wait_for.lock);
    CHECK(wait_for.status == 0);
    wait_for.status = status;
    pthread_cond_signal(&wait_for.woken);
    pthread_mutex_unlock(&wait_for.lock);
}

void http_reply_stream(struct http_request *r, int status, const struct http_header *headers,
                       size_t n, uint64_t length, http_source_fn *source, void *arg)
{
    (void)r;
    wait_for.source = source;
    wait_for.source_arg = arg;
    wait_for.length = length;
    answered(status, headers, n);
}

void http_stat(struct http *h, struct http_stat *out)
{
    (void)h;
    *out = (struct http_stat){0};
}

void http_resume(struct http_request *r, http_fn *fn, void *arg)
{
    (void)r;
    pthread_mutex_lock(&wait_for.lock);
    wait_for.resume = fn;
    wait_for.arg = arg;
    pthread_cond_signal(&wait_for.woken);
    pthread_mutex_unlock(&wait_for.lock);
}

static bool is_compressed(const struct http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes_equal(headers[i].name, BYTES_LIT("x-ots-response-compress-type")))
            return true;
    return false;
}

/* From any thread; once it is answered the request and all of it may be gone. */
void http_reply(struct http_request *r, int status, const struct http_header *headers, size_t n,
                bytes body)
{
    struct ctx c;
    bytes code, message;

    (void)r;
    CHECK(body.ptr);
    if (status != 200 && !is_compressed(headers, n)) {
        fuzz_ctx(&c);
        CHECK(ots_decode_error(&c, body, &code, &message) == 0);
        CHECK(code.len && message.len);
        ctx_release(&c);
    }
    answered(status, headers, n);
}

bytes http_header_find(const struct http_request *r, bytes name)
{
    for (size_t i = 0; i < r->header_count; i++)
        if (bytes_equal(r->headers[i].name, name))
            return r->headers[i].value;
    return BYTES_NONE;
}

bytes http_peer(struct http_request *r)
{
    (void)r;
    return BYTES_LIT("127.0.0.1:1");
}

static struct op_front *door_open(void)
{
    static struct op_front door;
    static struct clock clock;
    static struct log log;
    static struct server_stat stat;
    struct credential_conf conf = {
        .instance = INSTANCE, .id = KEY_ID, .secret = KEY_SECRET, .log = &log};
    char message[256];

    door.db = db;
    if (door.credentials)
        return &door;
    clock_set_init(&clock, 1700000000000000);
    log = (struct log){.level = 'E', .clock = &clock};
    CHECK(credential_store_open(&conf, &door.credentials, message, sizeof(message)) == 0);
    door.stat = &stat;
    door.clock = &clock;
    door.log = &log;
    door.op_timeout_ms = 0;
    door.access_fd = -1;
    return &door;
}

#define HEADERS_IN 80

struct in_headers {
    struct http_header list[HEADERS_IN];
    size_t count;
};

/* Values from outside have no NUL and end with one that is not counted, as the transport has it. */
static void header_add(struct arena *a, struct in_headers *h, bytes name, bytes value)
{
    if (h->count < HEADERS_IN)
        h->list[h->count++] = (struct http_header){arena_printf(a, "%.*s", BYTES_FMT(name)),
                                                   arena_printf(a, "%.*s", BYTES_FMT(value))};
}

/* Lines "name: value". */
static void headers_split(struct arena *a, struct in_headers *h, bytes text)
{
    while (text.len) {
        const char *p = text.ptr, *end = memchr(p, '\n', text.len), *colon;
        size_t n = end ? (size_t)(end - p) : text.len;

        colon = memchr(p, ':', n);
        if (colon && colon + 2 <= p + n)
            header_add(a, h, bytes_of(p, (size_t)(colon - p)),
                       bytes_of(colon + 2, n - (size_t)(colon + 2 - p)));
        text = bytes_skip(text, end ? n + 1 : n);
    }
}

/* What a real client would add: digest, instance, key, date and signature. */
static void headers_sign(struct arena *a, struct in_headers *h, bytes path, bytes body)
{
    struct sign_header list[HEADERS_IN];
    char digest[SIGN_MD5_TEXT + 1], signature[SIGN_SHA1_TEXT + 1];
    struct sign_key key;
    size_t n = 0;

    sign_md5(body, digest);
    header_add(a, h, BYTES_LIT("x-ots-apiversion"), BYTES_LIT("2015-12-31"));
    header_add(a, h, BYTES_LIT("x-ots-accesskeyid"), BYTES_LIT(KEY_ID));
    header_add(a, h, BYTES_LIT("x-ots-instancename"), BYTES_LIT(INSTANCE));
    header_add(a, h, BYTES_LIT("x-ots-date"), BYTES_LIT("2023-11-14T22:13:20.000Z"));
    header_add(a, h, BYTES_LIT("x-ots-contentmd5"), bytes_str(digest));
    for (size_t i = 0; i < h->count; i++)
        if (bytes_starts(h->list[i].name, BYTES_LIT("x-ots-")))
            list[n++] = (struct sign_header){h->list[i].name, h->list[i].value};
    sign_key_init(&key, BYTES_LIT(KEY_SECRET));
    if (sign_request(&key, path, list, n, signature))
        header_add(a, h, BYTES_LIT("x-ots-signature"), bytes_str(signature));
}

enum {
    HTTP_UNSIGNED = 1,
    HTTP_TOO_LARGE = 2,
    HTTP_LATE = 4,
    HTTP_NO_ROOM = 8,
    HTTP_BLANK = 16,
    HTTP_CROWDED = 32, /* a large answer waits for room, */
    HTTP_GIVEN_UP = 64 /* which does not come in time */
};

#define PIECE_BYTES 5000 /* of a body that is streamed */

/* A body for a sink; `cut`: the client goes half way, and the request with it. */
static void body_feed(struct http_request *r, bytes body, bool cut)
{
    size_t end = cut ? body.len / 2 : body.len, at = 0;

    while (at < end) {
        size_t n = end - at < PIECE_BYTES ? end - at : PIECE_BYTES, took;

        took = wait_for.sink(wait_for.sink_arg, r, bytes_of((const char *)body.ptr + at, n));
        CHECK(took <= n);
        at += took;
        if (wait_for.status || (took < n && !wait_more()))
            return;
    }
    if (cut)
        wait_for.status = 408;
    else
        wait_for.sink(wait_for.sink_arg, r, bytes_of("", 0));
}

/* The body of an answer that is streamed. */
static void answer_take(struct http_request *r)
{
    uint8_t to[PIECE_BYTES];
    uint64_t at = 0;

    while (at < wait_for.length) {
        ptrdiff_t n = wait_for.source(wait_for.source_arg, r, at, to, sizeof(to));

        CHECK(n <= (ptrdiff_t)sizeof(to));
        if (n < 0)
            return;
        at += (uint64_t)n;
        if (!n)
            wait_more();
    }
}

/* As the transport has it: the head first, then the body or why there is none; or, if nothing of
 * a request came in time, only that. */
static void http_run(struct http_request *r, uint64_t flags, bytes body)
{
    r->length = body.len;
    r->body = BYTES_NONE;
    if (!(flags & HTTP_BLANK))
        op_on_head(door_open(), r);
    if (wait_for.status)
        return;
    if (wait_for.sink) {
        body_feed(r, body, flags & (HTTP_LATE | HTTP_TOO_LARGE | HTTP_NO_ROOM));
        return;
    }
    r->fault = flags & (HTTP_LATE | HTTP_BLANK) ? 408
               : flags & HTTP_TOO_LARGE         ? 413
               : flags & HTTP_NO_ROOM           ? 503
                                                : 0;
    r->body = r->fault ? BYTES_NONE : body;
    op_on_request(door_open(), r);
    CHECK(!r->fault || wait_for.status == r->fault);
}

/* 1: path, 2: headers as lines, 3: body, 4: flags, 5: method (POST if it is not there). */
void fuzz_http(bytes in)
{
    uint64_t flags = fuzz_number(in, 4);
    struct in_headers headers = {.count = 0};
    struct http_request r = {.start_us = 1};
    http_fn *resume;
    bytes body;

    db_need();
    fuzz_ctx(&r.ctx);
    body = arena_copy(&r.ctx.arena, fuzz_part(in, 3));
    r.method = r.path = bytes_of("", 0);
    if (!(flags & HTTP_BLANK)) {
        r.method = fuzz_part(in, 5).len ? fuzz_part(in, 5) : BYTES_LIT("POST");
        r.path = arena_copy(&r.ctx.arena, fuzz_part(in, 1));
        headers_split(&r.ctx.arena, &headers, fuzz_part(in, 2));
        if (!(flags & HTTP_UNSIGNED))
            headers_sign(&r.ctx.arena, &headers, r.path, body);
    }
    r.headers = headers.list;
    r.header_count = headers.count;
    wait_for.status = 0;
    wait_for.resume = NULL;
    wait_for.more = false;
    wait_for.sink = NULL;
    wait_for.source = NULL;
    wait_for.crowded = flags & HTTP_CROWDED;
    wait_for.given_up = flags & HTTP_GIVEN_UP;
    http_run(&r, flags, body);
    while (!wait_for.status) {
        pthread_mutex_lock(&wait_for.lock);
        while (!wait_for.resume && !wait_for.status)
            pthread_cond_wait(&wait_for.woken, &wait_for.lock);
        resume = wait_for.resume;
        wait_for.resume = NULL;
        pthread_mutex_unlock(&wait_for.lock);
        if (resume)
            resume(wait_for.arg, &r);
    }
    if (wait_for.source)
        answer_take(&r);
    ctx_release(&r.ctx);
}
