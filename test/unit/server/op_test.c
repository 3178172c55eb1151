/* The Tablestore door over HTTP on an engine in memory: what is let in, what every refusal says,
 * and whether answers carry what SDKs check. */
#include "server/op.h"
#include "server/op_digest.h"

#include "wire/ots.h"
#include "wire/ots_client.h"
#include "wire/zip.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#define BODY_MAX 200000 /* as in setup() */
#define HEADERS_MAX 16

static struct {
    struct clock clock; /* of the server; a test may set it */
    struct log log;
    struct wr_db *db;
    struct credential_store *credentials;
    struct server_stat stat;
    struct op_front door;
    struct digest_line digests;
    struct http *http;
    struct ctx ctx;
    CURL *curl;
} t;

static int setup(void **state)
{
    struct wr_setting settings[] = {{"table_ops_per_s_max", "0"}, {"body_bytes_max", "200000"}};
    struct wr_options options = {
        .version = WR_API_VERSION, .engine = "mem", .settings = settings, .setting_count = 2};
    struct credential_conf conf = {
        .instance = "Main", .id = "key-1", .secret = "secret-1", .log = &t.log};
    struct http_conf http = {.address = "127.0.0.1:0",
                             .body_bytes_max = BODY_MAX,
                             .clock = &t.clock,
                             .log = &t.log,
                             .request_timeout_ms = 1000,
                             .on_head = op_on_head,
                             .on_request = op_on_request,
                             .arg = &t.door};
    char message[256] = "";

    (void)state;
    clock_real_init(&t.clock);
    t.log = (struct log){.level = 'W', .clock = &t.clock};
    ctx_init(&t.ctx, &t.clock, &t.log, NULL, 0);
    if (wr_open(&options, &t.db, message, sizeof(message)) ||
        credential_store_open(&conf, &t.credentials, message, sizeof(message)))
        fail_msg("%s", message);
    digest_line_init(&t.digests);
    t.door = (struct op_front){.db = t.db,
                               .digests = &t.digests,
                               .credentials = t.credentials,
                               .stat = &t.stat,
                               .clock = &t.clock,
                               .log = &t.log,
                               .op_timeout_ms = 10000,
                               .access_fd = -1,
                               .seed = 7};
    if (http_open(&http, &t.http, message, sizeof(message)))
        fail_msg("%s", message);
    curl_global_init(CURL_GLOBAL_ALL);
    t.curl = curl_easy_init();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    curl_easy_cleanup(t.curl);
    http_close(t.http, 1000);
    wr_close(t.db);
    digest_line_destroy(&t.digests);
    credential_store_close(t.credentials);
    ctx_release(&t.ctx);
    return 0;
}

/* ---- a call ---- */

struct call {
    const char *method, *path;
    bytes body;
    const char *secret;
    bool v4;
    bool stalls;      /* sends nothing of the body */
    const char *keys; /* the server's access keys from the body's second byte on; NULL: as before */
    size_t sent;      /* of the body, then */
    struct sign_header headers[HEADERS_MAX]; /* signed in the end */
    size_t count;
    /* The answer. */
    long status;
    bytes answer;
    struct sign_header got[64];
    size_t got_count;
};

static void call_set(struct call *c, const char *name, const char *value)
{
    for (size_t i = 0; i < c->count; i++) {
        if (!bytes_equal(c->headers[i].name, bytes_str(name)))
            continue;
        if (value)
            c->headers[i].value = bytes_str(value);
        else
            c->headers[i] = c->headers[--c->count];
        return;
    }
    if (value)
        c->headers[c->count++] = (struct sign_header){bytes_str(name), bytes_str(value)};
}

static const char *text(bytes b)
{
    return arena_printf(&t.ctx.arena, "%.*s", BYTES_FMT(b)).ptr;
}

static struct call call_of(const char *path, bytes body)
{
    struct call c = {.method = "POST", .path = path, .body = body, .secret = "secret-1"};
    char date[SIGN_DATE_TEXT + 1], digest[SIGN_MD5_TEXT + 1];

    sign_date_format(clock_wall_us(&t.clock), date);
    sign_md5(body, digest);
    call_set(&c, "x-ots-date", text(bytes_str(date)));
    call_set(&c, "x-ots-contentmd5", text(bytes_str(digest)));
    call_set(&c, "x-ots-apiversion", "2015-12-31");
    call_set(&c, "x-ots-accesskeyid", "key-1");
    call_set(&c, "x-ots-instancename", "main");
    return c;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    buf_put(arg, data, size * n);
    return size * n;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    struct call *c = arg;
    size_t len = size * n;
    char *colon = memchr(data, ':', len);
    bytes value;

    if (!colon)
        return len;
    value = bytes_of(colon + 1, len - (size_t)(colon + 1 - data));
    while (value.len && strchr(" \r\n", ((const char *)value.ptr)[value.len - 1]))
        value.len--;
    if (value.len)
        value = bytes_skip(value, 1);
    c->got[c->got_count++] =
        (struct sign_header){arena_copy(&t.ctx.arena, bytes_of(data, (size_t)(colon - data))),
                             arena_copy(&t.ctx.arena, value)};
    return len;
}

static void call_sign(struct call *c)
{
    char signature[SIGN_SHA256_TEXT + 1];
    struct sign_key key;
    struct sign_v4_key v4;

    if (c->v4) {
        sign_v4_key_init(&v4, bytes_str(c->secret), BYTES_LIT("20240102"), BYTES_LIT("somewhere"));
        sign_request_v4(&v4, bytes_str(c->path), c->headers, c->count, signature);
        call_set(c, "x-ots-signaturev4", text(bytes_str(signature)));
    } else {
        sign_key_init(&key, bytes_str(c->secret));
        sign_request(&key, bytes_str(c->path), c->headers, c->count, signature);
        call_set(c, "x-ots-signature", text(bytes_str(signature)));
    }
}

/* Sends the headers, and nothing of the body; reads until the server closes. */
static void call_stall(struct call *c)
{
    int port = atoi(strrchr(http_address(t.http), ':') + 1), fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char *line, *end, *rest = NULL;
    struct buf b;
    ssize_t n;

    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    buf_init(&b, &t.ctx.arena, 4096);
    buf_put_bytes(&b,
                  arena_printf(&t.ctx.arena, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n",
                               c->method, c->path, c->body.len));
    for (size_t i = 0; i < c->count; i++)
        buf_put_bytes(&b, arena_printf(&t.ctx.arena, "%s: %s\r\n", text(c->headers[i].name),
                                       text(c->headers[i].value)));
    buf_put(&b, "\r\n", 2);
    assert_int_equal(send(fd, b.data, b.len, MSG_NOSIGNAL), b.len);
    buf_init(&b, &t.ctx.arena, 4096);
    while ((n = recv(fd, buf_reserve(&b, 4096), 4096, 0)) > 0)
        buf_commit(&b, (size_t)n);
    close(fd);
    buf_put_u8(&b, 0);
    end = strstr((char *)b.data, "\r\n\r\n");
    assert_non_null(end);
    c->status = atoi((char *)b.data + 9);
    c->answer = bytes_of(end + 4, b.len - 1 - (size_t)(end + 4 - (char *)b.data));
    end[2] = 0;
    for (line = strtok_r((char *)b.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        on_header(line, 1, strlen(line), c);
}

/* libcurl's CURLOPT_READFUNCTION: the first byte, then other access keys, then the rest. */
static size_t on_upload(char *to, size_t size, size_t n, void *arg)
{
    struct call *c = arg;
    size_t len = c->sent ? c->body.len - c->sent : 1;
    char message[256];

    assert_true(len <= size * n);
    if (c->sent == 1) {
        for (int i = 0; i < 5000 && !atomic_load(&t.door.requests); i++)
            usleep(1000);
        assert_int_equal(credential_store_take(t.credentials, "the test's keys", c->keys, false,
                                               message, sizeof(message)),
                         0);
    }
    memcpy(to, (const char *)c->body.ptr + c->sent, len);
    c->sent += len;
    return len;
}

/* Sends the call with the headers it has. */
static void call_send(struct call *c)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    struct buf out;

    buf_init(&out, &t.ctx.arena, 4096);
    for (size_t i = 0; i < c->count; i++)
        list =
            curl_slist_append(list, arena_printf(&t.ctx.arena, "%s: %s", text(c->headers[i].name),
                                                 text(c->headers[i].value))
                                        .ptr);
    curl_easy_reset(t.curl);
    curl_easy_setopt(t.curl, CURLOPT_URL,
                     arena_printf(&t.ctx.arena, "http://%s%s", http_address(t.http), c->path).ptr);
    if (c->keys) {
        curl_easy_setopt(t.curl, CURLOPT_POST, 1l);
        curl_easy_setopt(t.curl, CURLOPT_READFUNCTION, on_upload);
        curl_easy_setopt(t.curl, CURLOPT_READDATA, c);
    } else {
        curl_easy_setopt(t.curl, CURLOPT_POSTFIELDS, c->body.ptr);
    }
    curl_easy_setopt(t.curl, CURLOPT_POSTFIELDSIZE, (long)c->body.len);
    curl_easy_setopt(t.curl, CURLOPT_CUSTOMREQUEST, c->method);
    curl_easy_setopt(t.curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(t.curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(t.curl, CURLOPT_WRITEDATA, &out);
    curl_easy_setopt(t.curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(t.curl, CURLOPT_HEADERDATA, c);
    assert_int_equal(curl_easy_perform(t.curl), CURLE_OK);
    curl_easy_getinfo(t.curl, CURLINFO_RESPONSE_CODE, &c->status);
    curl_slist_free_all(list);
    c->answer = buf_bytes(&out);
}

static bytes got(const struct call *c, const char *name)
{
    for (size_t i = 0; i < c->got_count; i++)
        if (strcasecmp(text(c->got[i].name), name) == 0)
            return c->got[i].value;
    return BYTES_NONE;
}

/* The five headers, right, and signed with the secret (or key) of the call. */
static void check_headers(struct call *c, bytes raw)
{
    char digest[SIGN_MD5_TEXT + 1], signature[SIGN_SHA1_TEXT + 1];
    struct sign_key key;
    struct sign_v4_key v4;
    int64_t seconds;

    assert_int_equal(got(c, "x-ots-requestid").len, 36);
    assert_true(got(c, "x-ots-contenttype").len > 0);
    assert_int_equal(got(c, "x-ots-date").len, SIGN_DATE_TEXT);
    assert_true(sign_date_parse(got(c, "x-ots-date"), &seconds));
    sign_md5(raw, digest);
    assert_string_equal(text(got(c, "x-ots-contentmd5")), digest);
    sign_key_init(&key, bytes_str(c->secret));
    if (c->v4) {
        sign_v4_key_init(&v4, bytes_str(c->secret), BYTES_LIT("20240102"), BYTES_LIT("somewhere"));
        key = v4.response;
    }
    sign_response(&key, bytes_str(c->path), c->got, c->got_count, signature);
    assert_string_equal(text(got(c, "Authorization")),
                        arena_printf(&t.ctx.arena, "OTS key-1:%s", signature).ptr);
}

static void check_refused(struct call *c, long status, const char *code, const char *says)
{
    bytes got_code, message;

    if (c->stalls)
        call_stall(c);
    else
        call_send(c);
    assert_int_equal(ots_decode_error(&t.ctx, c->answer, &got_code, &message), 0);
    if (c->status != status || strcmp(text(got_code), code) != 0 || !strstr(text(message), says))
        fail_msg("got %ld %s '%s', not %ld %s '%s'", c->status, text(got_code), text(message),
                 status, code, says);
}

/* Signs, sends, expects a refusal that is signed. */
static void check_refused_signed(struct call *c, long status, const char *code, const char *says)
{
    call_sign(c);
    check_refused(c, status, code, says);
    check_headers(c, c->answer);
}

static bytes body_of(struct wr_request *r)
{
    return ots_encode_request(&t.ctx, r);
}

/* ---- tests ---- */

static void make_table(const char *name)
{
    struct wr_key_schema key = {.name = BYTES_LIT("pk"), .type = WR_VARCHAR};
    struct wr_request r = {.op = WR_OP_CREATE_TABLE};
    struct call c;

    r.create_table = (struct wr_create_table){
        .table = bytes_str(name),
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1},
        .reserved = {.has_read = true, .has_write = true}};
    c = call_of("/CreateTable", body_of(&r));
    call_sign(&c);
    call_send(&c);
    if (c.status != 200)
        fail_msg("%ld %s", c.status, text(c.answer));
    check_headers(&c, c.answer);
}

static void test_round_trip(void **state)
{
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_VARCHAR, .bytes = BYTES_LIT("k")}};
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_BIGINT, .integer = 42},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request put = {.op = WR_OP_PUT_ROW}, get = {.op = WR_OP_GET_ROW};
    struct wr_reply reply;
    struct call c;

    (void)state;
    make_table("round");
    put.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = BYTES_LIT("round"), .row = {{&column, 1}, &cell, 1}};
    c = call_of("/PutRow", body_of(&put));
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200);
    check_headers(&c, c.answer);
    get.get_row = (struct wr_get_row){.table = BYTES_LIT("round"),
                                      .key = {&column, 1},
                                      .read = {.has_max_versions = true, .max_versions = 1}};
    c = call_of("/GetRow", body_of(&get));
    call_set(&c, "x-ots-instancename", "MAIN"); /* case does not count */
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200);
    assert_int_equal(ots_decode_reply(&t.ctx, WR_OP_GET_ROW, c.answer, &reply), 0);
    assert_int_equal(reply.row.row.cell_count, 1);
    assert_int_equal(reply.row.row.cells[0].value.integer, 42);
}

static void test_errors_of_the_database(void **state)
{
    struct wr_request r = {.op = WR_OP_DESCRIBE_TABLE};
    struct call c;

    (void)state;
    r.describe_table.table = BYTES_LIT("missing");
    c = call_of("/DescribeTable", body_of(&r));
    check_refused_signed(&c, 404, "OTSObjectNotExist", "Requested table does not exist.");
    c = call_of("/DescribeTable", BYTES_LIT("\xFF\xFF"));
    check_refused_signed(&c, 400, "OTSParameterInvalid", "Parse PBMessage");
}

static void test_empty_operations(void **state)
{
    struct call c = call_of("/ListTimeseriesTable", BYTES_LIT("whatever"));

    (void)state;
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200);
    assert_int_equal(c.answer.len, 0);
    check_headers(&c, c.answer);
}

static void test_operations_not_served(void **state)
{
    struct call c = call_of("/Nonsense", BYTES_LIT(""));

    (void)state;
    check_refused_signed(&c, 400, "OTSUnsupportOperation", "'Nonsense'");
    c = call_of("/tunnel/schedule", BYTES_LIT(""));
    check_refused_signed(&c, 400, "OTSUnsupportOperation", "'tunnel/schedule'");
    c = call_of("/SQLQuery", BYTES_LIT(""));
    check_refused_signed(&c, 400, "OTSUnsupportOperation", "'SQLQuery'");
    c = call_of("/listtable", BYTES_LIT(""));
    check_refused_signed(&c, 400, "OTSUnsupportOperation", "'listtable'");
    c = call_of("/ListTable", BYTES_LIT(""));
    c.method = "PUT";
    check_refused_signed(&c, 405, "OTSMethodNotAllowed", "Only POST");
    assert_string_equal(text(got(&c, "Allow")), "POST");
}

static void test_missing_headers(void **state)
{
    static const char *const names[] = {"x-ots-date", "x-ots-contentmd5", "x-ots-apiversion",
                                        "x-ots-instancename"};
    struct call c;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        c = call_of("/ListTable", BYTES_LIT(""));
        call_set(&c, names[i], NULL);
        check_refused_signed(&c, 400, "OTSParameterInvalid", names[i]);
    }
    c = call_of("/ListTable", BYTES_LIT(""));
    check_refused(&c, 400, "OTSParameterInvalid", "Missing header: x-ots-signature.");
    c = call_of("/ListTable", BYTES_LIT(""));
    call_set(&c, "x-ots-accesskeyid", NULL);
    call_sign(&c);
    check_refused(&c, 400, "OTSParameterInvalid", "Missing header: x-ots-accesskeyid.");
    assert_null(got(&c, "Authorization").ptr);
}

static void test_api_versions(void **state)
{
    struct call c = call_of("/ListTable", BYTES_LIT(""));

    (void)state;
    call_set(&c, "x-ots-apiversion", "2014-08-08");
    check_refused_signed(&c, 400, "OTSParameterInvalid", "Upgrade the client");
    c = call_of("/ListTable", BYTES_LIT(""));
    call_set(&c, "x-ots-apiversion", "1");
    check_refused_signed(&c, 400, "OTSParameterInvalid", "API version '1' is not supported");
    c = call_of("/ListTable", BYTES_LIT(""));
    call_set(&c, "x-ots-apiversion", "2018-04-01");
    check_refused_signed(&c, 400, "OTSParameterInvalid", "'2018-04-01' is not supported");
    c = call_of("/tunnel/list", BYTES_LIT("\x0a\x07nothing"));
    call_set(&c, "x-ots-apiversion", "2018-04-01"); /* as the Go SDK's tunnel client says */
    check_refused_signed(&c, 400, "OTSParameterInvalid", "Requested table does not exist.");
}

static void test_who_is_refused(void **state)
{
    struct call c = call_of("/ListTable", BYTES_LIT(""));

    (void)state;
    call_set(&c, "x-ots-accesskeyid", "nobody");
    call_sign(&c);
    check_refused(&c, 403, "OTSAuthFailed", "The AccessKeyID does not exist.");
    assert_null(got(&c, "Authorization").ptr);
    assert_int_equal(got(&c, "x-ots-requestid").len, 36);
    assert_true(got(&c, "x-ots-contentmd5").len && got(&c, "x-ots-date").len);

    c = call_of("/ListTable", BYTES_LIT(""));
    c.secret = "secret-2";
    call_sign(&c);
    check_refused(&c, 403, "OTSAuthFailed", "Signature mismatch.");
    c.secret = "secret-1"; /* signed with the right one */
    check_headers(&c, c.answer);

    c = call_of("/ListTable", BYTES_LIT(""));
    call_sign(&c);
    call_set(&c, "x-ots-trace", "added later");
    check_refused(&c, 403, "OTSAuthFailed", "Signature mismatch.");

    c = call_of("/ListTable", BYTES_LIT(""));
    call_set(&c, "x-ots-instancename", "other");
    check_refused_signed(&c, 403, "OTSAuthFailed", "instance 'other'");

    c = call_of("/ListTable", BYTES_LIT(""));
    c.body = BYTES_LIT("another");
    check_refused_signed(&c, 403, "OTSAuthFailed", "Mismatch between MD5");
}

static void test_dates(void **state)
{
    static const struct {
        int64_t off_s;
        bool fits;
    } cases[] = {{-899, true}, {899, true}, {-905, false}, {905, false}};
    char date[SIGN_DATE_TEXT + 1];
    struct call c;

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        c = call_of("/ListTable", BYTES_LIT(""));
        sign_date_format(clock_wall_us(&t.clock) + cases[i].off_s * 1000000, date);
        call_set(&c, "x-ots-date", date);
        if (!cases[i].fits) {
            check_refused_signed(&c, 403, "OTSAuthFailed", "Mismatch between system time");
            continue;
        }
        call_sign(&c);
        call_send(&c);
        assert_int_equal(c.status, 200);
    }
    c = call_of("/ListTable", BYTES_LIT(""));
    call_set(&c, "x-ots-date", "yesterday");
    check_refused_signed(&c, 400, "OTSParameterInvalid", "Invalid date format: yesterday.");
}

static void test_v4(void **state)
{
    struct call c = call_of("/ListTable", BYTES_LIT(""));

    (void)state;
    c.v4 = true;
    call_set(&c, "x-ots-signdate", "20240102");
    call_set(&c, "x-ots-signregion", "somewhere");
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200);
    check_headers(&c, c.answer);

    c = call_of("/ListTable", BYTES_LIT(""));
    c.v4 = true;
    call_set(&c, "x-ots-signdate", "20240103"); /* signed with the key of another day */
    call_set(&c, "x-ots-signregion", "somewhere");
    call_sign(&c);
    check_refused(&c, 403, "OTSAuthFailed", "Signature mismatch.");

    c = call_of("/ListTable", BYTES_LIT(""));
    c.v4 = true;
    call_sign(&c);
    check_refused(&c, 400, "OTSParameterInvalid", "Missing header: x-ots-signdate.");
}

static void test_compression(void **state)
{
    struct wr_request r = {.op = WR_OP_DESCRIBE_TABLE};
    char name[64];
    bytes raw, packed;
    struct call c;

    (void)state;
    make_table("packed");
    r.describe_table.table = BYTES_LIT("packed");
    raw = body_of(&r);
    assert_int_equal(zip_deflate(&t.ctx, raw, &packed), 0);
    c = call_of("/DescribeTable", packed);
    call_set(&c, "x-ots-request-compress-type", "deflate");
    call_set(&c, "x-ots-request-compress-size", text(arena_printf(&t.ctx.arena, "%zu", raw.len)));
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200);

    c = call_of("/DescribeTable", packed);
    call_set(&c, "x-ots-request-compress-type", "deflate");
    call_set(&c, "x-ots-request-compress-size", "3");
    check_refused_signed(&c, 400, "OTSParameterInvalid", "x-ots-request-compress-size is 3");
    c = call_of("/DescribeTable", packed);
    call_set(&c, "x-ots-request-compress-type", "deflate");
    call_set(&c, "x-ots-request-compress-size", text(arena_printf(&t.ctx.arena, "+%zu", raw.len)));
    check_refused_signed(&c, 400, "OTSParameterInvalid", "is no number of bytes");
    c = call_of("/DescribeTable", packed);
    call_set(&c, "x-ots-request-compress-type", "gzip");
    check_refused_signed(&c, 400, "OTSParameterInvalid", "'gzip'");
    c = call_of("/DescribeTable", raw);
    call_set(&c, "x-ots-request-compress-type", "deflate");
    check_refused_signed(&c, 400, "OTSParameterInvalid", "broken");
    raw = bytes_of(arena_zalloc(&t.ctx.arena, BODY_MAX + 1), BODY_MAX + 1);
    assert_int_equal(zip_deflate(&t.ctx, raw, &packed), 0);
    c = call_of("/DescribeTable", packed);
    call_set(&c, "x-ots-request-compress-type", "deflate");
    check_refused_signed(&c, 413, "OTSRequestBodyTooLarge", "exceeds the limit");

    for (int i = 0; i < 40; i++) { /* an answer that is worth packing */
        snprintf(name, sizeof(name), "table_with_a_long_name_%d", i);
        make_table(name);
    }
    c = call_of("/ListTable", BYTES_LIT(""));
    call_set(&c, "x-ots-response-compress-type", "deflate");
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200);
    assert_string_equal(text(got(&c, "x-ots-response-compress-type")), "deflate");
    assert_int_equal(zip_inflate(&t.ctx, c.answer, 0, 1 << 20, &raw), 0);
    assert_int_equal(strtoul(text(got(&c, "x-ots-response-compress-size")), NULL, 10), raw.len);
    check_headers(&c, raw);
}

static void test_too_large(void **state)
{
    struct call c =
        call_of("/PutRow", bytes_of(arena_zalloc(&t.ctx.arena, BODY_MAX + 1), BODY_MAX + 1));

    (void)state;
    check_refused_signed(&c, 413, "OTSRequestBodyTooLarge", "exceeds the limit");
}

/* Its digest is taken on a worker, where others may take it along. */
static void test_large_body(void **state)
{
    struct wr_key_column column = {BYTES_LIT("pk"), {.type = WR_VARCHAR, .bytes = BYTES_LIT("k")}};
    char *value = memset(arena_alloc(&t.ctx.arena, BODY_MAX / 2), 'v', BODY_MAX / 2);
    struct wr_cell cell = {.name = BYTES_LIT("a"),
                           .value = {.type = WR_VARCHAR, .bytes = bytes_of(value, BODY_MAX / 2)},
                           .timestamp_ms = WR_TIMESTAMP_NONE};
    struct wr_request put = {.op = WR_OP_PUT_ROW};
    struct call c;

    (void)state;
    make_table("large");
    put.put_row = (struct wr_row_change){
        .type = WR_PUT, .table = BYTES_LIT("large"), .row = {{&column, 1}, &cell, 1}};
    c = call_of("/PutRow", body_of(&put));
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200);
    check_headers(&c, c.answer);
    c = call_of("/PutRow", body_of(&put));
    value[BODY_MAX / 4] = 'w';
    c.body = body_of(&put);
    check_refused_signed(&c, 403, "OTSAuthFailed", "Mismatch between MD5");
}

/* An answer like any other, with the headers that SDKs check. */
static void test_late_body(void **state)
{
    struct call c = call_of("/PutRow", BYTES_LIT("abc"));

    (void)state;
    c.stalls = true;
    check_refused_signed(&c, 408, "OTSRequestTimeout", "too long to arrive");
}

/* What is wrong with the headers is said without waiting for the body. */
static void test_refused_by_headers_alone(void **state)
{
    struct call c = call_of("/PutRow", bytes_of(arena_zalloc(&t.ctx.arena, BODY_MAX), BODY_MAX));

    (void)state;
    c.stalls = true;
    c.secret = "wrong";
    call_sign(&c);
    check_refused(&c, 403, "OTSAuthFailed", "Signature mismatch");
}

/* A PutCell with the hash behind the value, by key-2, while the keys become `keys`. */
static struct call put_cell_of(const char *keys)
{
    struct call c = call_of("/PutCell", BYTES_LIT("hello"));
    char trailer[SIGN_TRAILER_BYTES + 1];
    uint8_t sha256[32];
    struct sign_key key;

    call_set(&c, "x-ots-contentmd5", NULL);
    call_set(&c, "x-ots-accesskeyid", "key-2");
    call_set(&c, "x-ots-cell-table", "cells");
    call_set(&c, "x-ots-cell-key", "pk=str:k");
    call_set(&c, "x-ots-cell-column", "c");
    call_set(&c, "x-ots-cell-sha256", "trailer");
    c.secret = "secret-2";
    c.keys = keys;
    call_sign(&c);
    EVP_Digest("hello", 5, sha256, NULL, EVP_sha256(), NULL);
    sign_key_init(&key, bytes_str(c.secret));
    sign_trailer(&key, c.headers[c.count - 1].value, sha256, trailer);
    c.body = arena_printf(&t.ctx.arena, "hello%s", trailer);
    return c;
}

static void check_cell(long status)
{
    struct call c = call_of("/GetCell", BYTES_LIT(""));

    call_set(&c, "x-ots-cell-table", "cells");
    call_set(&c, "x-ots-cell-key", "pk=str:k");
    call_set(&c, "x-ots-cell-column", "c");
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, status);
}

/* Who says at the end what the value is must be allowed to then. */
static void test_key_taken_away(void **state)
{
    static const char keys[] = "main key-2 secret-2\n";
    static const struct {
        const char *keys, *code, *says;
    } cases[] = {
        {"main key-3 secret-2\n", "OTSAuthFailed", "access key was taken away"},
        {"main key-2 secret-3\n", "OTSAuthFailed", "access key was taken away"},
        {"other key-2 secret-2\n", "OTSAuthFailed", "access key was taken away"},
        {"main key-2 secret-2 ro,rw:other\n", "OTSNoPermissionAccess",
         "for PutCell on table 'cells'"},
    };
    char message[256];
    struct call c;

    (void)state;
    make_table("cells");
    for (size_t i = 0; i <= PORT_COUNT(cases); i++) {
        assert_int_equal(credential_store_take(t.credentials, "the test's keys", keys, false,
                                               message, sizeof(message)),
                         0);
        c = put_cell_of(i < PORT_COUNT(cases) ? cases[i].keys : keys);
        if (i < PORT_COUNT(cases)) {
            check_refused(&c, 403, cases[i].code, cases[i].says);
            check_cell(404);
        } else {
            call_send(&c);
            assert_int_equal(c.status, 200);
            check_cell(200);
        }
    }
}

static void test_duplicate_headers(void **state)
{
    struct call c = call_of("/ListTable", BYTES_LIT(""));
    char signature[SIGN_SHA1_TEXT + 1];

    (void)state;
    c.headers[c.count++] = (struct sign_header){BYTES_LIT("X-OTS-InstanceName"), BYTES_LIT("main")};
    check_refused_signed(&c, 400, "OTSParameterInvalid", "Duplicate header: x-ots-instancename.");
    c = call_of("/ListTable", BYTES_LIT(""));
    call_sign(&c);
    snprintf(signature, sizeof(signature), "%s", text(c.headers[c.count - 1].value));
    c.headers[c.count++] = (struct sign_header){BYTES_LIT("x-ots-signature"), bytes_str(signature)};
    check_refused(&c, 400, "OTSParameterInvalid", "Duplicate header: x-ots-signature.");
    c = call_of("/ListTable", BYTES_LIT(""));
    call_sign(&c);
    call_set(&c, "x-ots-signaturev4", "x");
    check_refused(&c, 400, "OTSParameterInvalid", "Both x-ots-signature and");
    c = call_of("/ListTable", BYTES_LIT(""));
    call_set(&c, "x-other", "1");
    c.headers[c.count++] = (struct sign_header){BYTES_LIT("x-other"), BYTES_LIT("2")};
    call_sign(&c);
    call_send(&c);
    assert_int_equal(c.status, 200); /* not ours */
}

/* What is signed is the path as it was sent; what only means the same is refused. */
static void test_paths(void **state)
{
    static const struct {
        const char *path, *code, *says;
    } cases[] = {
        {"/ListTable?a=b", "OTSParameterInvalid", "has a query"},
        {"/ListTable?a", "OTSParameterInvalid", "has a query"},
        {"/List%54able", "OTSUnsupportOperation", "'List%54able'"},
        {"/ListTable%00", "OTSUnsupportOperation", "'ListTable%00'"},
        {"/ListTable/", "OTSUnsupportOperation", "'ListTable/'"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct call c = call_of("/ListTable", BYTES_LIT(""));

        call_sign(&c);
        c.path = cases[i].path;
        check_refused(&c, 400, cases[i].code, cases[i].says);
    }
}

static void test_busy(void **state)
{
    struct call c = call_of("/ListTable", BYTES_LIT(""));

    (void)state;
    t.door.requests_max = 3;
    atomic_store(&t.door.requests, 3);
    check_refused_signed(&c, 503, "OTSServerBusy", "3 requests are under way");
    c = call_of("/ListTable", BYTES_LIT("")); /* a stranger does not learn it */
    c.secret = "wrong";
    call_sign(&c);
    check_refused(&c, 403, "OTSAuthFailed", "Signature mismatch");
    assert_int_equal(atomic_load(&t.door.requests), 3);
    atomic_store(&t.door.requests, 2);
    for (int i = 0; i < 5; i++) {
        c = call_of("/ListTable", BYTES_LIT(""));
        call_sign(&c);
        call_send(&c);
        assert_int_equal(c.status, 200);
    }
    c = call_of("/GetRow", BYTES_LIT("\xFF")); /* one that does not get far leaves too */
    check_refused_signed(&c, 400, "OTSParameterInvalid", "");
    assert_int_equal(atomic_load(&t.door.requests), 2);
    t.door.requests_max = 0;
    atomic_store(&t.door.requests, 0);
}

static void test_counters(void **state)
{
    struct buf b;

    (void)state;
    assert_true(atomic_load(&t.stat.ops[WR_OP_PUT_ROW].requests) > 0);
    assert_true(atomic_load(&t.stat.errors[E_AUTH]) > 3);
    buf_init(&b, &t.ctx.arena, 0);
    stat_format(&t.stat, &b);
    buf_put_u8(&b, 0);
    assert_non_null(strstr((char *)b.data, "widerow_requests_total{op=\"PutRow\"} "));
    assert_non_null(strstr((char *)b.data, "code=\"OTSAuthFailed\"} "));
    assert_non_null(strstr((char *)b.data, "le=\"+Inf\"} "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_errors_of_the_database),
        cmocka_unit_test(test_empty_operations),
        cmocka_unit_test(test_operations_not_served),
        cmocka_unit_test(test_missing_headers),
        cmocka_unit_test(test_api_versions),
        cmocka_unit_test(test_who_is_refused),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_v4),
        cmocka_unit_test(test_compression),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_large_body),
        cmocka_unit_test(test_late_body),
        cmocka_unit_test(test_refused_by_headers_alone),
        cmocka_unit_test(test_key_taken_away),
        cmocka_unit_test(test_duplicate_headers),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_counters),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
