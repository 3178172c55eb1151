/* What is checked of a request before it begins.
 *
 * Checks are made in this order, and the first that fails is what the client hears. From the
 * headers alone, so that strangers cannot make the server keep a body: size of the body, method,
 * operation, headers present and none twice, API version, access key, date, signature, instance.
 * Then, with the body: digest, room for one more request, the body itself, what the access key may
 * do. Who is asking is looked up before any of them, so that refusals can be signed too: an SDK
 * that cannot verify a refusal hides its text from the user. */
#include "server/op_part.h"

#include "base/number.h"
#include "wire/zip.h"

#include <inttypes.h>

#define SMALL_BYTES 4096 /* of the body of a request that takes little memory */
#define API_VERSION "2015-12-31"
#define TUNNEL_API_VERSION "2018-04-01" /* of some SDKs' requests below /tunnel/ */
#define DATE_SKEW_S (15 * 60)

static int check_operation(struct op_exchange *op)
{
    struct ctx *c = &op->r->ctx;
    bytes path = op->r->path;
    const char *name = op_shown(c, path.len ? bytes_skip(path, 1) : path);

    if (op->route == OTS_ROUTE_UNKNOWN)
        return fail(c, E_UNSUPPORTED, "Unsupported operation: '%s'.", name);
    if (op->route == OTS_ROUTE_UNSUPPORTED || (op->route == OTS_ROUTE_SQL_QUERY && !op->front->sql))
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

static int check_headers(struct op_exchange *op)
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

static int check_version(struct op_exchange *op)
{
    struct ctx *c = &op->r->ctx;
    bytes version = http_header(op->r, "x-ots-apiversion");

    if (bytes_equal(version, BYTES_LIT(API_VERSION)))
        return E_OK;
    if (op->route == OTS_ROUTE_OP && ots_is_tunnel(op->op) &&
        bytes_equal(version, BYTES_LIT(TUNNEL_API_VERSION)))
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

static int check_date(struct op_exchange *op)
{
    struct ctx *c = &op->r->ctx;
    bytes date = http_header(op->r, "x-ots-date");
    int64_t seconds, now = clock_wall_us(op->front->clock) / 1000000;

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
static int check_signature_v4(struct op_exchange *op, const struct sign_header *headers, size_t n)
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

static int check_signature(struct op_exchange *op)
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

int op_check_digest(struct op_exchange *op, const uint8_t sum[MD5_BYTES])
{
    char expected[SIGN_MD5_TEXT + 1];

    sign_md5_text(sum, expected);
    if (!sign_equal(bytes_str(expected), http_header(op->r, "x-ots-contentmd5")))
        return fail(&op->r->ctx, E_AUTH,
                    "Mismatch between MD5 value of request body and x-ots-contentmd5 in header.");
    return E_OK;
}

int op_fail_fault(struct op_exchange *op)
{
    struct ctx *c = &op->r->ctx;

    if (op->r->fault == 408)
        return fail_code(c, E_REQUEST_TIMEOUT);
    if (op->r->fault == 503)
        return fail(c, E_BUSY, "Server is busy: other requests fill its memory.");
    return fail_code(c, E_BODY_TOO_LARGE);
}

static int check_length(struct op_exchange *op)
{
    struct http_request *r = op->r;

    if (r->length != HTTP_LENGTH_UNKNOWN && r->length > r->body_bytes_max && !op_is_stream(op))
        return fail_code(&r->ctx, E_BODY_TOO_LARGE);
    return E_OK;
}

int op_unless_stale(struct op_exchange *op, int code)
{
    struct ctx *c = &op->r->ctx;

    if (!code || wr_in_touch(op->front->db))
        return code;
    ctx_clear(c);
    return fail(c, E_UNAVAILABLE,
                "This server is out of touch with the others; it reads its keys again.");
}

/* Who asks. */
static int op_identify(struct op_exchange *op)
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

uint64_t op_client(const struct op_exchange *op)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (const char *p = op->cred->id; *p; p++)
        hash = (hash ^ (uint8_t)*p) * 0x100000001b3;
    return hash;
}

int op_admit(struct op_exchange *op)
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
static bool op_is_small(const struct op_exchange *op)
{
    return op->route == OTS_ROUTE_OP && op->r->body.len <= SMALL_BYTES &&
           (op->op == WR_OP_GET_ROW || op->op == WR_OP_PUT_ROW || op->op == WR_OP_UPDATE_ROW ||
            op->op == WR_OP_DELETE_ROW);
}

/* True: there is room for one more. It is asked once the client is known to be one, so that
 * strangers can neither fill the server nor learn how full it is, and before the work begins. */
int op_enter(struct op_exchange *op)
{
    struct op_front *d = op->front;

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

int op_inflate(struct op_exchange *op, bytes *body)
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
    stat_add(&op->front->stat->compressed_in, 1);
    TRY(zip_inflate(c, r->body, (size_t)size, r->body_bytes_max, body));
    if (size_text.ptr && body->len != (size_t)size)
        return fail(c, E_PARAMETER,
                    "x-ots-request-compress-size is %" PRId64 " but the body has %zu bytes.", size,
                    body->len);
    return E_OK;
}
