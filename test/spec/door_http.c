/* door_http.c: through a running widerowd, signed like a client.
 *
 * Whatever a script expects, every answer is also held against the protocol: status and code agree
 * with err.def, the five headers are there, the digest is that of the body, the signature is right.
 */
#include "door.h"

#include "wire/ots_client.h"
#include "wire/sign.h"
#include "wire/zip.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEADERS_MAX 32
#define START_MS_MAX 10000
#define PACED_TRIES 100
#define PACED_US 100000

struct http {
    struct door base;
    pid_t pid; /* 0: the server is not ours */
    CURL *curl;
    char address[256]; /* of the HTTP door, HOST:PORT */
    bytes key_id, secret, instance;
    struct sign_key key;
};

/* One exchange. Names and values live in the arena. */
struct exchange {
    struct ctx *c;
    const char *method;
    bytes path;
    bytes body;
    struct sign_header sent[HEADERS_MAX];
    size_t sent_count;
    struct sign_header got[HEADERS_MAX];
    size_t got_count;
    struct buf answer;
    int status;
};

/* ---- headers */

static void send_header(struct exchange *x, const char *name, bytes value)
{
    for (size_t i = 0; i < x->sent_count; i++)
        if (bytes_equal(x->sent[i].name, bytes_str(name))) {
            x->sent[i].value = value;
            return;
        }
    if (x->sent_count < HEADERS_MAX)
        x->sent[x->sent_count++] =
            (struct sign_header){arena_copy(&x->c->arena, bytes_str(name)), value};
}

static void drop_header(struct exchange *x, bytes name)
{
    for (size_t i = 0; i < x->sent_count; i++)
        if (bytes_equal(x->sent[i].name, name)) {
            x->sent[i] = x->sent[--x->sent_count];
            return;
        }
}

static bytes sent_header(const struct exchange *x, const char *name)
{
    for (size_t i = 0; i < x->sent_count; i++)
        if (bytes_equal(x->sent[i].name, bytes_str(name)))
            return x->sent[i].value;
    return BYTES_NONE;
}

static bytes got_header(const struct exchange *x, const char *name)
{
    for (size_t i = 0; i < x->got_count; i++)
        if (bytes_equal(x->got[i].name, bytes_str(name)))
            return x->got[i].value;
    return BYTES_NONE;
}

static bytes date_text(struct arena *a, int64_t shift_s)
{
    char text[SIGN_DATE_TEXT + 1];

    sign_date_format(((int64_t)time(NULL) + shift_s) * 1000000, text);
    return arena_copy(a, bytes_str(text));
}

static void usual_headers(const struct http *h, struct exchange *x)
{
    char md5[SIGN_MD5_TEXT + 1];

    sign_md5(x->body, md5);
    send_header(x, "x-ots-date", date_text(&x->c->arena, 0));
    send_header(x, "x-ots-apiversion", BYTES_LIT("2015-12-31"));
    send_header(x, "x-ots-accesskeyid", h->key_id);
    send_header(x, "x-ots-instancename", h->instance);
    send_header(x, "x-ots-contentmd5", arena_copy(&x->c->arena, bytes_str(md5)));
}

static void add_signature(struct exchange *x, const struct sign_key *key)
{
    char text[SIGN_SHA1_TEXT + 1];

    sign_request(key, x->path, x->sent, x->sent_count, text);
    send_header(x, "x-ots-signature", arena_copy(&x->c->arena, bytes_str(text)));
}

/* ---- libcurl */

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct exchange *x = arg;

    buf_put(&x->answer, data, size * n);
    return size * n;
}

static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    struct exchange *x = arg;
    size_t len = size * n;
    char *colon = memchr(data, ':', len);
    bytes name, value;

    if (!colon || x->got_count == HEADERS_MAX)
        return len;
    name = arena_copy(&x->c->arena, bytes_of(data, (size_t)(colon - data)));
    for (size_t i = 0; i < name.len; i++)
        ((char *)name.ptr)[i] = (char)tolower(((const char *)name.ptr)[i]);
    value = bytes_of(colon + 1, len - name.len - 1);
    while (value.len && isspace(*bytes_u8(value)))
        value = bytes_skip(value, 1);
    while (value.len && isspace(bytes_u8(value)[value.len - 1]))
        value.len--;
    x->got[x->got_count++] = (struct sign_header){name, arena_copy(&x->c->arena, value)};
    return len;
}

static void perform(struct http *h, struct exchange *x)
{
    struct curl_slist *list = NULL;
    bytes url = arena_printf(&x->c->arena, "http://%s%.*s", h->address, BYTES_FMT(x->path));
    long status = 0;
    CURLcode code;

    list = curl_slist_append(list, "Expect:");
    list = curl_slist_append(list, "Content-Type:");
    for (size_t i = 0; i < x->sent_count; i++)
        list = curl_slist_append(list, arena_printf(&x->c->arena, "%.*s: %.*s",
                                                    BYTES_FMT(x->sent[i].name),
                                                    BYTES_FMT(x->sent[i].value))
                                           .ptr);
    buf_init(&x->answer, &x->c->arena, 1024);
    curl_easy_reset(h->curl);
    curl_easy_setopt(h->curl, CURLOPT_URL, url.ptr);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(h->curl, CURLOPT_TIMEOUT, 60L);
    curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(h->curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(h->curl, CURLOPT_HEADERDATA, x);
    if (strcmp(x->method, "GET") == 0) {
        curl_easy_setopt(h->curl, CURLOPT_HTTPGET, 1L);
    } else {
        curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)x->body.len);
        curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, x->body.len ? x->body.ptr : "");
        if (strcmp(x->method, "POST") != 0)
            curl_easy_setopt(h->curl, CURLOPT_CUSTOMREQUEST, x->method);
    }
    code = curl_easy_perform(h->curl);
    curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(list);
    x->status = (int)status;
    if (code && !status) {
        fprintf(stderr, "spec: %.*s: %s\n", BYTES_FMT(x->path), curl_easy_strerror(code));
        x->status = -1;
    }
}

/* ---- what every answer must be */

static const char *check_signature(const struct http *h, const struct sign_key *key,
                                   const struct exchange *x)
{
    static const char *const names[] = {"x-ots-contenttype", "x-ots-requestid", "x-ots-date",
                                        "x-ots-contentmd5"};
    char md5[SIGN_MD5_TEXT + 1], sum[SIGN_SHA1_TEXT + 1], want[128];
    int64_t seconds;

    for (size_t i = 0; i < PORT_COUNT(names); i++)
        if (!got_header(x, names[i]).ptr)
            return arena_printf(&x->c->arena, "the answer has no header %s", names[i]).ptr;
    if (got_header(x, "x-ots-requestid").len != 36)
        return "the answer's x-ots-requestid is not 36 characters long";
    if (!sign_date_parse(got_header(x, "x-ots-date"), &seconds) ||
        llabs(seconds - (int64_t)time(NULL)) > 60)
        return "the answer's x-ots-date is not the time";
    sign_md5(buf_bytes(&x->answer), md5);
    if (!bytes_equal(got_header(x, "x-ots-contentmd5"), bytes_str(md5)))
        return "the answer's x-ots-contentmd5 is not that of its body";
    if (!got_header(x, "authorization").ptr)
        return "the answer is not signed";
    sign_response(key, x->path, x->got, x->got_count, sum);
    snprintf(want, sizeof(want), "OTS %.60s:%s", (const char *)h->key_id.ptr, sum);
    if (!bytes_equal(got_header(x, "authorization"), bytes_str(want)))
        return "the answer's signature is wrong";
    return NULL;
}

static void read_error(struct exchange *x, struct answer *out)
{
    bytes code, message;

    if (ots_decode_error(x->c, buf_bytes(&x->answer), &code, &message)) {
        out->fault = "the body of the error does not parse";
        ctx_clear(x->c);
        out->reply.code = E_INTERNAL;
        return;
    }
    out->reply.code = ots_error_of(code, message);
    out->reply.message = arena_printf(&x->c->arena, "%.*s", BYTES_FMT(message)).ptr;
    out->code_name = arena_printf(&x->c->arena, "%.*s", BYTES_FMT(code)).ptr;
}

/* The status that goes with a code; of reads that miss their table it is that of
 * OTSParameterInvalid. */
static int status_of(enum wr_op op, int code)
{
    bool reads = op == WR_OP_GET_ROW || op == WR_OP_BATCH_GET_ROW || op == WR_OP_GET_RANGE;

    return code == WR_E_NOT_EXIST && reads ? 400 : wr_error_status(code);
}

static void read_answer(const struct http *h, struct exchange *x, enum wr_op op, struct answer *out)
{
    *out =
        (struct answer){.status = x->status, .code_name = "", .reply = {.op = op, .message = ""}};
    out->fault = x->status < 0 ? "the server did not answer" : check_signature(h, &h->key, x);
    if (x->status < 0) {
        out->reply.code = E_INTERNAL;
    } else if (x->status != 200) {
        read_error(x, out);
        if (!out->fault && out->status != status_of(op, out->reply.code))
            out->fault = arena_printf(&x->c->arena, "HTTP status %d does not go with %s",
                                      out->status, out->code_name)
                             .ptr;
    } else if (ots_decode_reply(x->c, op, buf_bytes(&x->answer), &out->reply)) {
        out->fault = arena_printf(&x->c->arena, "the answer does not parse: %s", x->c->text).ptr;
        ctx_clear(x->c);
    }
}

static void http_exec(struct door *d, struct ctx *c, const struct wr_request *req,
                      struct answer *out)
{
    struct http *h = PORT_CONTAINER(d, struct http, base);

    for (int tries = 0; tries < PACED_TRIES; tries++) {
        struct exchange *x = ARENA_NEW(&c->arena, struct exchange);

        x->c = c;
        x->method = "POST";
        x->path = bytes_str(ots_client_path(req->op));
        x->body = ots_encode_request(c, req);
        usual_headers(h, x);
        add_signature(x, &h->key);
        perform(h, x);
        read_answer(h, x, req->op, out);
        if (h->pid || out->reply.code != E_TOO_FREQUENT)
            return;
        usleep(PACED_US); /* a server that is not ours paces table operations */
    }
}

/* ---- raw requests */

/* Inverts the byte at `offset` of the row in the body; below zero it counts from the body's end. */
static void corrupt(struct script *s, bytes *body, int64_t offset)
{
    uint8_t *p = (uint8_t *)arena_copy(&s->c.arena, *body).ptr;
    size_t at = 0;

    if (offset < 0) {
        at = body->len + (size_t)offset;
    } else {
        while (at + 4 <= body->len && memcmp(p + at, "\x75\0\0\0", 4) != 0)
            at++;
        at += (size_t)offset;
    }
    if (at >= body->len)
        script_die(s, "nothing to corrupt at %d", (int)offset);
    p[at] ^= 0xff;
    *body = bytes_of(p, body->len);
}

/* One raw request as the script describes it. */
struct raw {
    struct exchange x;
    struct sign_key key;
    bytes drops[8];
    size_t drop_count;
    bool has_corrupt, unsigned_, deflate, v4, drip;
    int64_t corrupt_at, cut;
    bytes date;
    bytes late_name[8], late_value[8];
    size_t late_count;
};

static void raw_option(struct cursor *p, struct raw *r)
{
    struct arena *a = &p->s->c.arena;

    if (take(p, "method")) {
        bytes name = parse_name(p);

        r->x.method = arena_printf(a, "%.*s", BYTES_FMT(name)).ptr;
    } else if (take(p, "without")) {
        r->drops[r->drop_count++] = parse_name(p);
    } else if (take(p, "header")) {
        r->late_name[r->late_count] = parse_name(p);
        expect(p, "=");
        r->late_value[r->late_count++] = parse_name(p);
    } else if (take(p, "secret")) {
        sign_key_init(&r->key, parse_name(p));
    } else if (take(p, "clock")) {
        r->date = date_text(a, parse_number(p));
    } else if (take(p, "body")) {
        r->x.body = parse_value(p).bytes;
    } else if (take(p, "corrupt")) {
        r->has_corrupt = true;
        r->corrupt_at = parse_number(p);
    } else if (take(p, "cut")) {
        r->cut = parse_number(p);
    } else if (take(p, "unsigned")) {
        r->unsigned_ = true;
    } else if (take(p, "deflate")) {
        r->deflate = true;
    } else if (take(p, "v4")) {
        r->v4 = true;
    } else if (take(p, "drip")) {
        r->drip = true;
    } else {
        script_die(p->s, "no such part of an HTTP request: '%.*s'", BYTES_FMT(p->at->text));
    }
}

/* Compresses the body and says so. */
static void deflate(struct exchange *x)
{
    bytes body;

    send_header(x, "x-ots-request-compress-type", BYTES_LIT("deflate"));
    send_header(x, "x-ots-request-compress-size", arena_printf(&x->c->arena, "%zu", x->body.len));
    if (zip_deflate(x->c, x->body, &body) == 0)
        x->body = body;
}

/* Signs as the V4 clients do; the answer's key goes to *answer. */
static void add_signature_v4(const struct http *h, struct exchange *x, struct sign_key *answer)
{
    char day[16], sum[SIGN_SHA256_TEXT + 1];
    struct sign_v4_key key;
    time_t now = time(NULL);
    struct tm tm;

    strftime(day, sizeof(day), "%Y%m%d", gmtime_r(&now, &tm));
    send_header(x, "x-ots-signdate", arena_copy(&x->c->arena, bytes_str(day)));
    send_header(x, "x-ots-signregion", BYTES_LIT("here"));
    sign_v4_key_init(&key, h->secret, bytes_str(day), BYTES_LIT("here"));
    sign_request_v4(&key, x->path, x->sent, x->sent_count, sum);
    send_header(x, "x-ots-signaturev4", arena_copy(&x->c->arena, bytes_str(sum)));
    *answer = key.response;
}

/* Reads an answer from a bare socket. */
static void drip_read(int fd, struct exchange *x)
{
    char text[8192];
    size_t n = 0;
    ssize_t got;
    char *line;

    while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    line = strstr(text, "\r\n\r\n");
    if (sscanf(text, "HTTP/1.1 %d", &x->status) != 1 || !line)
        return;
    buf_put(&x->answer, line + 4, n - (size_t)(line + 4 - text));
    line[2] = 0;
    for (line = text; (line = strstr(line, "\r\n")); line += 2) {
        char *end = strstr(line + 2, "\r\n");

        on_header(line + 2, 1, end ? (size_t)(end - line - 2) : strlen(line + 2), x);
    }
}

/* Sends the headers and the first byte of ten, and then waits for what the server does. */
static void drip(const struct http *h, struct exchange *x)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct buf b;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    buf_init(&b, &x->c->arena, 512);
    buf_init(&x->answer, &x->c->arena, 512);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)atoi(strchr(h->address, ':') + 1));
    buf_put_bytes(&b, arena_printf(&x->c->arena,
                                   "POST %.*s HTTP/1.1\r\nHost: x\r\n"
                                   "Connection: close\r\nContent-Length: 10\r\n",
                                   BYTES_FMT(x->path)));
    for (size_t i = 0; i < x->sent_count; i++)
        buf_put_bytes(&b, arena_printf(&x->c->arena, "%.*s: %.*s\r\n", BYTES_FMT(x->sent[i].name),
                                       BYTES_FMT(x->sent[i].value)));
    buf_put_bytes(&b, BYTES_LIT("\r\nx"));
    x->status = -1;
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 &&
        write(fd, b.data, b.len) == (ssize_t)b.len)
        drip_read(fd, x);
    close(fd);
}

static void raw_send(struct http *h, struct script *s, struct raw *r)
{
    struct exchange *x = &r->x;

    if (r->has_corrupt)
        corrupt(s, &x->body, r->corrupt_at);
    if (r->deflate)
        deflate(x);
    if (r->cut)
        x->body.len -= (size_t)r->cut;
    usual_headers(h, x);
    if (r->date.ptr)
        send_header(x, "x-ots-date", r->date);
    for (size_t i = 0; i < r->late_count; i++)
        send_header(x, arena_printf(&s->c.arena, "%.*s", BYTES_FMT(r->late_name[i])).ptr,
                    r->late_value[i]);
    for (size_t i = 0; i < r->drop_count; i++)
        drop_header(x, r->drops[i]);
    if (r->v4)
        add_signature_v4(h, x, &r->key);
    else if (!r->unsigned_)
        add_signature(x, &r->key);
    if (r->drip)
        drip(h, x);
    else
        perform(h, x);
}

void door_http_raw(struct door *d, struct cursor *p, bytes *out)
{
    struct http *h = PORT_CONTAINER(d, struct http, base);
    struct raw *r = ARENA_NEW(&p->s->c.arena, struct raw);
    struct exchange *x = &r->x;
    struct answer a = {.code_name = ""};
    struct wr_request req;
    const char *fault;

    x->c = &p->s->c;
    x->method = "POST";
    r->key = h->key;
    if (p->at->kind == TOKEN_TEXT)
        x->path = parse_name(p);
    while (p->at->kind != TOKEN_END && !token_is(p->at, "of") && !token_is(p->at, "->"))
        raw_option(p, r);
    if (take(p, "of")) {
        if (!parse_request(p, &req))
            script_die(p->s, "no such request: '%.*s'", BYTES_FMT(p->at->text));
        x->body = ots_encode_request(x->c, &req);
        if (!x->path.ptr)
            x->path = bytes_str(ots_client_path(req.op));
    }
    raw_send(h, p->s, r);
    fault = x->status < 0 ? "no answer" : check_signature(h, r->v4 ? &r->key : &h->key, x);
    if (x->status < 0) {
        *out = BYTES_LIT("no answer");
        return;
    }
    if (x->status != 200)
        read_error(x, &a);
    *out = arena_printf(&x->c->arena, "%d %s", x->status,
                        x->status == 200 ? "ok" : err_info(a.reply.code)->name);
    if (x->status != 200)
        *out = arena_printf(&x->c->arena, "%.*s \"%s\"", BYTES_FMT(*out), a.reply.message);
    /* Who is not known cannot be given a signature. */
    if (a.fault || (fault && !(strcmp(fault, "the answer is not signed") == 0 &&
                               !bytes_equal(sent_header(x, "x-ots-accesskeyid"), h->key_id))))
        *out = arena_printf(&x->c->arena, "%.*s fault \"%s\"", BYTES_FMT(*out),
                            a.fault ? a.fault : fault);
}

/* ---- the server */

static void http_close(struct door *d)
{
    struct http *h = PORT_CONTAINER(d, struct http, base);
    int status = 0;

    if (h->curl)
        curl_easy_cleanup(h->curl);
    if (h->pid > 0) {
        kill(h->pid, SIGTERM);
        waitpid(h->pid, &status, 0);
        if (status)
            fprintf(stderr, "spec: the server ended with status %d\n", status);
    }
    mem_free(h);
}

static void run_server(const struct door_conf *conf, const char *port_file)
{
    const char *argv[64] = {conf->widerowd, "--data",      conf->dir,
                            "--engine",     conf->engine,  "--http",
                            "127.0.0.1:0",  "--sql",       conf->sql ? "127.0.0.1:0" : "off",
                            "--admin",      "off",         "--instance",
                            DOOR_INSTANCE,  "--log-level", "error",
                            "--port-file",  port_file};
    char sets[20][128], engine_sets[8][512];
    size_t n = 17;

    if (conf->strict)
        argv[n++] = "--strict";
    if (conf->server_flag)
        argv[n++] = conf->server_flag;
    for (size_t i = 0; i < conf->engine_setting_count && i < PORT_COUNT(engine_sets); i++) {
        snprintf(engine_sets[i], sizeof(engine_sets[i]), "--%s=%s", conf->engine_settings[i].name,
                 conf->engine_settings[i].value);
        for (char *at = engine_sets[i]; *at && *at != '='; at++)
            if (*at == '_')
                *at = '-';
        argv[n++] = engine_sets[i];
    }
    for (size_t i = 0; i < conf->setting_count && i < PORT_COUNT(sets); i++) {
        snprintf(sets[i], sizeof(sets[i]), "%s=%s", conf->settings[i].name,
                 conf->settings[i].value);
        argv[n++] = "--set";
        argv[n++] = sets[i];
    }
    setenv("WIDEROW_ACCESS_KEY_ID", DOOR_KEY_ID, 1);
    setenv("WIDEROW_ACCESS_KEY_SECRET", DOOR_SECRET, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!freopen("/dev/null", "w", stdout)) /* it says hello there */
        _exit(127);
    execv(conf->widerowd, (char *const *)argv);
    fprintf(stderr, "spec: %s cannot be run\n", conf->widerowd);
    _exit(127);
}

/* Waits for the line http=ADDRESS of the port file. */
static bool wait_ready(struct http *h, const char *port_file)
{
    for (int ms = 0; ms < START_MS_MAX; ms += 5) {
        FILE *f = fopen(port_file, "r");
        char line[128];
        int status;

        while (f && fgets(line, sizeof(line), f))
            if (strncmp(line, "http=", 5) == 0 && strchr(line, '\n')) {
                *strchr(line, '\n') = 0;
                snprintf(h->address, sizeof(h->address), "%.60s", line + 5);
            }
        if (f)
            fclose(f);
        if (h->address[0])
            return true;
        if (waitpid(h->pid, &status, WNOHANG) == h->pid) {
            h->pid = 0;
            return false;
        }
        usleep(5000);
    }
    return false;
}

struct door *door_http_open(const struct door_conf *conf, char *message, size_t size)
{
    static const struct door_ops ops = {http_exec, http_close};
    struct http *h = mem_zalloc(sizeof(*h));
    char port_file[512];

    h->base.ops = &ops;
    h->key_id = bytes_str(conf->endpoint ? getenv("WIDEROW_ACCESS_KEY_ID") : DOOR_KEY_ID);
    h->secret = bytes_str(conf->endpoint ? getenv("WIDEROW_ACCESS_KEY_SECRET") : DOOR_SECRET);
    h->instance = bytes_str(conf->endpoint ? conf->instance : DOOR_INSTANCE);
    sign_key_init(&h->key, h->secret);
    h->curl = curl_easy_init();
    if (conf->endpoint) {
        snprintf(h->address, sizeof(h->address), "%s", conf->endpoint + strlen("http://"));
        return &h->base;
    }
    snprintf(port_file, sizeof(port_file), "%s/ports", conf->dir);
    unlink(port_file);
    fflush(NULL);
    h->pid = fork();
    if (h->pid == 0)
        run_server(conf, port_file);
    if (!wait_ready(h, port_file)) {
        snprintf(message, size, "%s did not get ready", conf->widerowd);
        http_close(&h->base);
        return NULL;
    }
    return &h->base;
}
