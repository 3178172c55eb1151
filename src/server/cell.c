/* cell.c: PutCell and GetCell.
 *
 * The body of a PutCell goes to a wr_cell_writer as it arrives; when that has enough for now it
 * says "later", the connection is parked, and the writer's `ready` wakes it. So one upload takes
 * the memory of two chunks, whatever its length. A failure half way is answered at once, and the
 * rest of the body not read. The writer or reader goes with the request's arena: a client that
 * leaves takes its upload with it. GetCell is the same the other way round. */
#include "server/cell.h"

#include "base/number.h"
#include "net/range.h"
#include "server/op_part.h"

#include <inttypes.h>
#include <openssl/evp.h>

#define MESSAGE_BYTES 512
/* A writer or reader has two chunks (table/cell/cell_writer.c, cell_reader.c), less for a short
 * cell. */
#define BUFFER_BYTES ((size_t)1 << 20)

struct cell_transfer {
    struct op_exchange *op;
    struct wr_cell_writer *writer;
    struct wr_cell_reader *reader;
    uint64_t from; /* GetCell: where the answer begins in the value */
    uint64_t left; /* PutCell: what of the value is still to come; GetCell: bytes of the answer */
    int status;    /* GetCell: of an answer that succeeds */
    bool has_trailer;
    size_t trailer_len; /* of what has come of it */
    char trailer[SIGN_TRAILER_BYTES];
    struct wr_reply *reply;
    uint8_t sha256[32], md5[18];
    struct wr_bytes table, column;
    struct wr_key key;
};

static void cell_release(void *arg)
{
    struct cell_transfer *cell = arg;

    wr_cell_writer_free(cell->writer);
    wr_cell_reader_free(cell->reader);
    wr_reply_free(cell->reply);
}

/* ---- headers ---- */

static int cell_hex_digit(uint8_t ch)
{
    return ch >= '0' && ch <= '9'   ? ch - '0'
           : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10
           : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10
                                    : -1;
}

static int unescape(struct ctx *c, bytes text, bytes *out)
{
    uint8_t *to = arena_alloc(&c->arena, text.len + 1);
    const uint8_t *p = text.ptr;
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        int high, low;

        if (p[i] != '%') {
            to[n++] = p[i];
            continue;
        }
        high = i + 2 < text.len ? cell_hex_digit(p[i + 1]) : -1;
        low = i + 2 < text.len ? cell_hex_digit(p[i + 2]) : -1;
        if (high < 0 || low < 0)
            return fail(c, E_PARAMETER, "'%s' is not percent-encoded.", op_shown(c, text));
        to[n++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    *out = bytes_of(to, n);
    return E_OK;
}

/* The part of `text` up to `end`, which is taken off it with the mark; all if the mark is not
 * there. */
static bytes take_part(bytes *text, char mark, bool *found)
{
    const char *at = memchr(text->ptr, mark, text->len);
    bytes part = {text->ptr, at ? (size_t)(at - (const char *)text->ptr) : text->len};

    *found = at != NULL;
    *text = bytes_skip(*text, part.len + *found);
    return part;
}

static int read_key_value(struct ctx *c, bytes type, bytes text, struct wr_value *out)
{
    TRY(unescape(c, text, &text));
    out->bytes = text;
    if (bytes_equal(type, BYTES_LIT("str"))) {
        out->type = WR_VARCHAR;
    } else if (bytes_equal(type, BYTES_LIT("bin"))) {
        out->type = WR_VARBINARY;
    } else if (bytes_equal(type, BYTES_LIT("int"))) {
        out->type = WR_BIGINT;
        if (!number_integer(text, &out->integer))
            return fail(c, E_PARAMETER,
                        "x-ots-cell-key: '%s' is not a whole number of 64 bits; write digits, "
                        "perhaps behind a minus sign.",
                        op_shown(c, text));
    } else {
        return fail(c, E_PARAMETER, "x-ots-cell-key: '%s' is no type; write int, str or bin.",
                    op_shown(c, type));
    }
    return E_OK;
}

static int read_key(struct ctx *c, bytes text, struct wr_key *out)
{
    struct wr_key_column *columns =
        ARENA_ARRAY(&c->arena, struct wr_key_column, WR_KEY_COLUMNS_MAX);
    bool more = text.len > 0, found;
    size_t n = 0;

    while (more) {
        bytes value = take_part(&text, '&', &more), name = take_part(&value, '=', &found), type;

        if (n == WR_KEY_COLUMNS_MAX)
            return fail(c, E_PARAMETER, "x-ots-cell-key has more than %d columns.",
                        WR_KEY_COLUMNS_MAX);
        if (found)
            type = take_part(&value, ':', &found);
        if (!found)
            return fail(c, E_PARAMETER,
                        "x-ots-cell-key is not NAME=TYPE:VALUE, parted by &, as in "
                        "pk=int:5&id=str:abc.");
        TRY(unescape(c, name, &columns[n].name));
        TRY(read_key_value(c, type, value, &columns[n++].value));
    }
    *out = (struct wr_key){columns, n};
    return E_OK;
}

static int required(struct op_exchange *op, const char *name, bytes *out)
{
    *out = http_header(op->r, name);
    return out->ptr ? E_OK : fail(&op->r->ctx, E_PARAMETER, "Missing header: %s.", name);
}

/* Room for the buffers of a stream of that many bytes. */
static int cell_hold(struct op_exchange *op, uint64_t length)
{
    if (http_hold(op->r, length < BUFFER_BYTES ? (size_t)length : BUFFER_BYTES))
        return E_OK;
    return fail(&op->r->ctx, E_BUSY,
                "Server is busy: cells that come and go fill the memory they may.");
}

/* Which cell; and may the access key do that there? */
static int cell_find(struct cell_transfer *cell, bool write)
{
    struct op_exchange *op = cell->op;
    struct ctx *c = &op->r->ctx;
    bytes text;

    TRY(required(op, "x-ots-cell-table", &text));
    TRY(unescape(c, text, &cell->table));
    TRY(required(op, "x-ots-cell-column", &text));
    TRY(unescape(c, text, &cell->column));
    TRY(required(op, "x-ots-cell-key", &text));
    TRY(read_key(c, text, &cell->key));
    if (!grants_allow(&op->cred->grants, cell->table, write ? GRANT_WRITE : GRANT_READ))
        return fail(c, E_PERMISSION, "The access key has no permission for %s on table '%s'.",
                    write ? "PutCell" : "GetCell", op_shown(c, cell->table));
    return E_OK;
}

static int read_sha256(struct cell_transfer *cell, bytes text)
{
    cell->has_trailer = bytes_equal(text, BYTES_LIT("trailer"));
    if (cell->has_trailer)
        return E_OK;
    for (size_t i = 0; i < sizeof(cell->sha256); i++) {
        int high = text.len == 64 ? cell_hex_digit(bytes_u8(text)[2 * i]) : -1;
        int low = text.len == 64 ? cell_hex_digit(bytes_u8(text)[2 * i + 1]) : -1;

        if (high < 0 || low < 0)
            return fail(&cell->op->r->ctx, E_PARAMETER,
                        "x-ots-cell-sha256 is not 64 digits of hex.");
        cell->sha256[i] = (uint8_t)(high << 4 | low);
    }
    return E_OK;
}

static int read_hashes(struct cell_transfer *cell, struct wr_cell_put *put)
{
    struct op_exchange *op = cell->op;
    struct ctx *c = &op->r->ctx;
    bytes sha256 = http_header(op->r, "x-ots-cell-sha256"),
          md5 = http_header(op->r, "x-ots-contentmd5");

    if (!sha256.ptr && !md5.ptr)
        return fail(c, E_PARAMETER, "Missing header: x-ots-cell-sha256 (or x-ots-contentmd5).");
    if (sha256.ptr) {
        TRY(read_sha256(cell, sha256));
        put->sha256 = cell->has_trailer ? NULL : cell->sha256;
    }
    if (md5.ptr) {
        if (md5.len != SIGN_MD5_TEXT || EVP_DecodeBlock(cell->md5, md5.ptr, SIGN_MD5_TEXT) != 18)
            return fail(c, E_PARAMETER, "x-ots-contentmd5 is not the base64 of an MD5.");
        put->md5 = cell->md5;
    }
    return E_OK;
}

static int read_put(struct cell_transfer *cell, struct wr_cell_put *put)
{
    struct op_exchange *op = cell->op;
    struct ctx *c = &op->r->ctx;
    bytes expect = http_header(op->r, "x-ots-cell-expect"),
          time = http_header(op->r, "x-ots-cell-time");

    TRY(cell_find(cell, true));
    *put = (struct wr_cell_put){.instance = bytes_str(op->cred->instance),
                                .table = cell->table,
                                .key = cell->key,
                                .column = cell->column,
                                .length = op->r->length,
                                .timestamp_ms = WR_TIMESTAMP_NONE};
    if (op->r->length == HTTP_LENGTH_UNKNOWN)
        return fail(c, E_PARAMETER,
                    "PutCell needs a Content-Length: the value's length must be known beforehand.");
    TRY(read_hashes(cell, put));
    if (cell->has_trailer && put->length < SIGN_TRAILER_BYTES)
        return fail(c, E_PARAMETER, "The body is shorter than the %d bytes of its trailer.",
                    SIGN_TRAILER_BYTES);
    put->length -= cell->has_trailer ? SIGN_TRAILER_BYTES : 0;
    cell->left = put->length;
    if (time.ptr && !number_integer(time, &put->timestamp_ms))
        return fail(c, E_PARAMETER, "x-ots-cell-time: '%s' is not a whole number of 64 bits.",
                    op_shown(c, time));
    if (bytes_equal(expect, BYTES_LIT("exist")))
        put->existence = WR_EXPECT_EXIST;
    else if (bytes_equal(expect, BYTES_LIT("absent")))
        put->existence = WR_EXPECT_NOT_EXIST;
    else if (expect.ptr)
        return fail(c, E_PARAMETER, "x-ots-cell-expect is not exist or absent.");
    return E_OK;
}

static const char *hex_format(struct arena *a, const uint8_t *p, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    char *out = arena_alloc(a, 2 * n + 1);

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = 0;
    return out;
}

static struct cell_transfer *cell_new(struct op_exchange *op)
{
    struct cell_transfer *cell = ARENA_NEW(&op->r->ctx.arena, struct cell_transfer);

    cell->op = op;
    arena_on_release(&op->r->ctx.arena, cell_release, cell);
    return cell;
}

/* ---- PutCell ---- */

static void put_finish(void *arg, struct http_request *r)
{
    struct cell_transfer *cell = arg;
    struct op_exchange *op = cell->op;
    struct wr_request request = {.op = WR_OP_UPDATE_ROW};

    (void)r;
    op_answer(op, cell->reply->code, ots_encode(&op->r->ctx, &request, cell->reply));
}

/* The whole body had come: the request waits for this. */
static void put_done(void *arg, struct wr_reply *reply)
{
    struct cell_transfer *cell = arg;

    cell->reply = reply;
    http_resume(cell->op->r, put_finish, cell);
}

/* It failed half way: the request is parked in the middle of its body. */
static void put_failed(void *arg, struct wr_reply *reply)
{
    struct cell_transfer *cell = arg;

    cell->reply = reply;
    put_finish(cell, cell->op->r);
}

static void cell_ready(void *arg)
{
    http_more(arg);
}

/* The hash that came behind the value, if it is the client who says so. */
static int check_trailer(struct cell_transfer *cell)
{
    struct op_exchange *op = cell->op;
    struct http_request *r = op->r;
    bytes signature = http_header(r, "x-ots-signature");
    char expected[SIGN_TRAILER_BYTES + 1];

    if (!signature.ptr)
        signature = http_header(r, "x-ots-signaturev4");
    TRY(read_sha256(cell, bytes_of(cell->trailer, 64)));
    sign_trailer(op->answer_key, signature, cell->sha256, expected);
    if (cell->trailer_len != SIGN_TRAILER_BYTES ||
        !sign_equal(bytes_of(cell->trailer, SIGN_TRAILER_BYTES),
                    bytes_of(expected, SIGN_TRAILER_BYTES)))
        return fail(&r->ctx, E_AUTH,
                    "Signature mismatch of the trailer; the cell was not changed.");
    wr_cell_expect(cell->writer, cell->sha256);
    return E_OK;
}

/* Who may say what the value is only now that all of it has come must still be allowed to: between
 * the headers and here there may be hours. */
static int check_credential(struct cell_transfer *cell)
{
    struct op_exchange *op = cell->op;
    struct ctx *c = &op->r->ctx;
    const struct credential *found, *now;
    bool same, allowed;

    if (!wr_in_touch(op->front->db))
        return fail(c, E_UNAVAILABLE,
                    "This server is out of touch with the others; it reads its keys again.");
    found = credential_find(op->front->credentials, bytes_str(op->cred->id));
    now = found ? credential_at(found, bytes_str(op->cred->instance)) : NULL;
    same = now && strcmp(now->secret, op->cred->secret) == 0;
    allowed = same && grants_allow(&now->grants, cell->table, GRANT_WRITE);
    credential_release(found);
    if (!same)
        return fail(c, E_AUTH,
                    "The access key was taken away while the value came; the cell was not "
                    "changed.");
    if (!allowed)
        return fail(c, E_PERMISSION,
                    "The access key's permission for PutCell on table '%s' was taken away while "
                    "the value came; the cell was not changed.",
                    op_shown(c, cell->table));
    return E_OK;
}

static void put_end(struct cell_transfer *cell)
{
    if (cell->has_trailer && (check_credential(cell) || check_trailer(cell)))
        op_refuse(cell->op);
    else
        wr_cell_finish(cell->writer, put_done, cell);
}

/* What stands behind the value; returns how much was taken, all of it. */
static size_t put_trailer(struct cell_transfer *cell, bytes piece)
{
    size_t room = sizeof(cell->trailer) - cell->trailer_len;
    size_t n = piece.len < room ? piece.len : room;

    memcpy(cell->trailer + cell->trailer_len, piece.ptr, n);
    cell->trailer_len += n;
    return piece.len;
}

static size_t put_sink(void *arg, struct http_request *r, bytes piece)
{
    struct cell_transfer *cell = arg;
    size_t want = piece.len < cell->left ? piece.len : (size_t)cell->left;
    ptrdiff_t n;

    if (!piece.len) {
        put_end(cell);
        return 0;
    }
    n = want ? wr_cell_write(cell->writer, piece.ptr, want, cell_ready, r) : 0;
    if (n < 0) {
        wr_cell_finish(cell->writer, put_failed, cell);
        return 0;
    }
    cell->left -= (size_t)n;
    if ((size_t)n < want || !cell->has_trailer)
        return (size_t)n;
    return (size_t)n + put_trailer(cell, bytes_skip(piece, (size_t)n));
}

void cell_put(struct op_exchange *op)
{
    struct ctx *c = &op->r->ctx;
    struct cell_transfer *cell = cell_new(op);
    struct wr_cell_put put;
    char *message = arena_alloc(&c->arena, MESSAGE_BYTES);
    int code;

    if (op_enter(op) || read_put(cell, &put) || cell_hold(op, put.length)) {
        op_refuse(op);
        return;
    }
    code = wr_cell_writer_open(op->front->db, &put, &cell->writer, message, MESSAGE_BYTES);
    if (code) {
        fail(c, code, "%s", message);
        op_refuse(op);
        return;
    }
    http_receive(op->r, put_sink, cell);
}

/* ---- GetCell ---- */

static ptrdiff_t get_source(void *arg, struct http_request *r, uint64_t offset, uint8_t *to,
                            size_t size)
{
    struct cell_transfer *cell = arg;
    ptrdiff_t n = wr_cell_read(cell->reader, cell->from + offset, to, size, cell_ready, r);

    return n < 0 ? HTTP_BROKEN : n;
}

static int get_open(struct cell_transfer *cell, struct wr_cell_info *info)
{
    struct op_exchange *op = cell->op;
    struct ctx *c = &op->r->ctx;
    struct wr_cell_get get = {.instance = bytes_str(op->cred->instance)};
    char *message = arena_alloc(&c->arena, MESSAGE_BYTES);
    int code;

    TRY(op_enter(op));
    TRY(cell_find(cell, false));
    get.table = cell->table;
    get.key = cell->key;
    get.column = cell->column;
    code = wr_cell_reader_open(op->front->db, &get, &cell->reader, info, message, MESSAGE_BYTES);
    if (code)
        return fail(c, code, "%s", message);
    return cell_hold(op, info->length);
}

static void get_first(void *arg, struct http_request *r);

/* The answer begins. */
static void get_begin(struct cell_transfer *cell, int status)
{
    struct op_exchange *op = cell->op;

    op_sign(op, 0);
    op_end(op, E_OK, status, (size_t)cell->left);
    if (cell->left)
        http_reply_stream(op->r, status, op->out, op->out_count, cell->left, get_source, cell);
    else
        http_reply(op->r, status, op->out, op->out_count, bytes_of("", 0));
}

static void get_first_ready(void *arg)
{
    struct cell_transfer *cell = arg;

    http_resume(cell->op->r, get_first, cell);
}

/* Once the first byte is at hand: an answer that has begun cannot say any more that the value is
 * damaged or missing, it can only be cut off. */
static void get_first(void *arg, struct http_request *r)
{
    struct cell_transfer *cell = arg;
    char *message = arena_alloc(&r->ctx.arena, MESSAGE_BYTES);
    ptrdiff_t n = 1;
    uint8_t byte;
    int code;

    if (cell->left)
        n = wr_cell_read(cell->reader, cell->from, &byte, 1, get_first_ready, cell);
    if (n > 0)
        get_begin(cell, cell->status);
    if (n >= 0)
        return;
    code = wr_cell_reader_error(cell->reader, message, MESSAGE_BYTES);
    fail(&r->ctx, code, "%s", message);
    cell->op->out_count = 0; /* there is no cell to tell of */
    op_refuse(cell->op);
}

void cell_get(struct op_exchange *op)
{
    struct arena *a = &op->r->ctx.arena;
    struct cell_transfer *cell = cell_new(op);
    struct wr_cell_info info;
    struct range range;

    if (get_open(cell, &info)) {
        op_refuse(op);
        return;
    }
    cell->status = range_parse(http_header(op->r, "range"), info.length, &range);
    if (cell->status == 200)
        range = (struct range){0, info.length};
    else
        op_header(op, BYTES_LIT("Content-Range"),
                  range_format(a, cell->status == 206 ? &range : NULL, info.length).ptr);
    op_header(op, BYTES_LIT("x-ots-cell-length"), arena_printf(a, "%" PRIu64, info.length).ptr);
    op_header(op, BYTES_LIT("x-ots-cell-sha256"), hex_format(a, info.sha256, sizeof(info.sha256)));
    op_header(op, BYTES_LIT("x-ots-cell-time"), arena_printf(a, "%" PRId64, info.timestamp_ms).ptr);
    op_header(op, BYTES_LIT("x-ots-cell-type"), info.type == WR_VARCHAR ? "str" : "bin");
    cell->from = range.from;
    cell->left = cell->status == 416 ? 0 : range.length;
    get_first(cell, op->r);
}
