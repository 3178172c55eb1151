#include "wire/pb.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* What a capped arena gives for the messages of n bytes. A message of two bytes takes a hundred in
 * memory, so a body of 5 MiB could take all that a request may have, and a few of them what the
 * server has, only to be refused for their number. Requests within the limits need far less. */
#define UNPACKED_BYTES(n) (((size_t)16 << 20) + 8 * (n))

/* ---- reading */

struct pb_memory {
    struct arena *arena;
    size_t left;  /* of UNPACKED_BYTES */
    bool refused; /* that, or the cap, was reached */
};

static void *pb_alloc(void *arg, size_t size)
{
    struct pb_memory *memory = arg;
    void *p = size <= memory->left ? arena_try_alloc(memory->arena, size) : NULL;

    memory->left -= p ? size : 0;
    memory->refused |= !p;
    return p;
}

static void pb_free(void *arg, void *ptr)
{
    (void)arg;
    (void)ptr; /* it goes with the arena */
}

int pb_unpack(struct ctx *c, const ProtobufCMessageDescriptor *type, bytes in, const char *text,
              const void **out)
{
    struct pb_memory memory = {&c->arena, c->arena.cap ? UNPACKED_BYTES(in.len) : SIZE_MAX, false};
    ProtobufCAllocator allocator = {pb_alloc, pb_free, &memory};

    /* protobuf-c wants a pointer even for no bytes. */
    *out = protobuf_c_message_unpack(type, &allocator, in.len, in.len ? in.ptr : "");
    if (*out)
        return 0;
    return memory.refused ? fail_code(c, E_MEMORY) : fail(c, E_PARAMETER, "%s", text);
}

/* ---- writing */

void pb_put_int(struct buf *b, unsigned field, int64_t v)
{
    buf_put_varint(b, field << 3 | WIRE_VARINT);
    buf_put_varint(b, (uint64_t)v);
}

void pb_put_head(struct buf *b, unsigned field, size_t n)
{
    buf_put_varint(b, field << 3 | WIRE_BYTES);
    buf_put_varint(b, n);
}

void pb_put_bytes(struct buf *b, unsigned field, bytes v)
{
    pb_put_head(b, field, v.len);
    buf_put_bytes(b, v);
}

void pb_put_double(struct buf *b, unsigned field, double v)
{
    uint64_t bits;

    memcpy(&bits, &v, sizeof(bits));
    buf_put_varint(b, field << 3 | WIRE_FIXED64);
    buf_put_u64(b, bits);
}

void pb_put_float(struct buf *b, unsigned field, double v)
{
    float narrow = (float)v;
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof(bits));
    buf_put_varint(b, field << 3 | WIRE_FIXED32);
    buf_put_u32(b, bits);
}

size_t pb_open(struct buf *b, unsigned field, size_t guess)
{
    pb_put_head(b, field, guess);
    return b->len;
}

void pb_close(struct buf *b, size_t start, size_t guess)
{
    size_t n = b->len - start, had = pb_varint_size(guess), want = pb_varint_size(n), v = n;
    uint8_t *p;

    if (PORT_UNLIKELY(want > had))
        buf_reserve(b, want - had);
    if (PORT_UNLIKELY(want != had))
        memmove(b->data + start + want - had, b->data + start, n);
    /* Not by buf_put_varint(): it may make room, and with it forget what stands behind. */
    for (p = b->data + start - had; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)v | 0x80;
    *p = (uint8_t)v;
    b->len = start - had + want + n;
}
