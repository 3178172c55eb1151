/* fuzz_head.c: the framing of HTTP requests, which strangers write. However the bytes are cut into
 * pieces, they are read the same. */
#include "fuzz.h"
#include "net/head.h"

/* The first byte says how long the pieces are. */
static size_t piece_of(bytes in)
{
    return in.len ? 1 + bytes_u8(in)[0] % 97 : 1;
}

/* The n bytes where nothing lies behind them. */
static uint8_t *copy_of(const uint8_t *p, size_t n)
{
    uint8_t *copy = mem_alloc(n ? n : 1);

    bytes_copy(copy, p, n);
    return copy;
}

static enum head_state scan(bytes in, size_t piece, size_t *len)
{
    struct head_scan s = {0};
    struct head_fault fault = {0};
    enum head_state state = HEAD_MORE;

    for (size_t have = 0; state == HEAD_MORE && have < in.len;) {
        uint8_t *copy;

        have = in.len - have < piece ? in.len : have + piece;
        copy = copy_of(in.ptr, have);
        state = head_scan(&s, copy, have, &fault);
        mem_free(copy);
        CHECK(state != HEAD_BAD || fault.status);
    }
    *len = s.at;
    return state;
}

static void parse(bytes in)
{
    uint8_t *copy = copy_of(in.ptr, in.len);
    struct head_fault fault = {0};
    struct head head;
    struct ctx c;

    fuzz_ctx(&c);
    if (head_parse(&c.arena, copy, in.len, &head, &fault)) {
        CHECK(((const char *)head.path.ptr)[head.path.len] == 0);
        for (size_t i = 0; i < head.header_count; i++)
            CHECK(((const char *)head.headers[i].value.ptr)[head.headers[i].value.len] == 0);
    } else {
        CHECK(fault.status >= 400);
    }
    ctx_release(&c);
    mem_free(copy);
}

void fuzz_head(bytes in)
{
    size_t piece = piece_of(in), whole_len, pieces_len;
    enum head_state whole, pieces;

    in = bytes_skip(in, in.len > 0);
    if (!in.len)
        return;
    whole = scan(in, in.len, &whole_len);
    pieces = scan(in, piece, &pieces_len);
    CHECK((whole == HEAD_WHOLE) == (pieces == HEAD_WHOLE));
    if (whole != HEAD_WHOLE)
        return;
    CHECK(whole_len == pieces_len);
    parse(bytes_of(in.ptr, whole_len));
}

struct body {
    struct chunks chunks;
    struct head_fault fault;
    size_t read, data;
};

/* Reads one piece, framing and data; what is behind the end stays. */
static void take(struct body *b, const uint8_t *p, size_t n)
{
    uint8_t *copy = copy_of(p, n);

    for (size_t at = 0; at < n && !b->fault.status && !chunks_ended(&b->chunks);) {
        size_t framing = chunks_skip(&b->chunks, copy + at, n - at, &b->fault), data;

        at += framing;
        b->read += framing;
        data = b->fault.status || b->chunks.left > n - at ? n - at : (size_t)b->chunks.left;
        if (b->fault.status)
            break;
        b->chunks.left -= data;
        b->data += data;
        b->read += data;
        at += data;
        CHECK(framing || data);
    }
    mem_free(copy);
}

void fuzz_chunks(bytes in)
{
    struct body whole = {.read = 0}, pieces = {.read = 0};
    size_t piece = piece_of(in);

    in = bytes_skip(in, in.len > 0);
    take(&whole, in.ptr, in.len);
    for (size_t at = 0; at < in.len; at += piece)
        take(&pieces, bytes_u8(in) + at, in.len - at < piece ? in.len - at : piece);
    CHECK(whole.fault.status == pieces.fault.status);
    CHECK(chunks_ended(&whole.chunks) == chunks_ended(&pieces.chunks));
    CHECK(whole.read == pieces.read && whole.data == pieces.data);
}
