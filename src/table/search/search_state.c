#include "table/search/search_state.h"

#include <xxhash.h>

#define STATE_VERSION 2
#define HEAD 9 /* version, checksum */
#define FLAG_HIDDEN 1
#define FLAG_WALKED 2

bytes search_state_encode(struct arena *a, uint64_t index, const struct search_state *s)
{
    struct buf b;

    buf_init(&b, a, 64 + s->walked.len + s->count * 24);
    buf_put_u8(&b, STATE_VERSION);
    buf_put_u64(&b, 0);
    buf_put_u8(&b, s->phase);
    buf_put_u8(&b, (s->hidden ? FLAG_HIDDEN : 0) | (s->walked.ptr ? FLAG_WALKED : 0));
    buf_put_u64(&b, s->position);
    if (s->walked.ptr)
        buf_put_counted(&b, s->walked);
    buf_put_varint(&b, s->count);
    for (size_t i = 0; i < s->count; i++) {
        buf_put_u64(&b, s->segments[i].number);
        buf_put_varint(&b, s->segments[i].len);
        buf_put_varint(&b, s->segments[i].documents);
        buf_put_varint(&b, s->segments[i].gone);
    }
    store_u64(b.data + 1, XXH3_64bits_withSeed(b.data + HEAD, b.len - HEAD, index));
    return buf_bytes(&b);
}

static int damaged(struct ctx *c, const char *what)
{
    return fail(c, E_CORRUPT, "the state of a search index: %s", what);
}

static void read_segment(struct reader *r, struct search_state_segment *out)
{
    uint64_t documents, gone;

    out->number = read_u64(r);
    out->len = read_varint(r);
    documents = read_varint(r);
    gone = read_varint(r);
    r->bad |= documents > UINT32_MAX || gone >= documents;
    out->documents = (uint32_t)documents;
    out->gone = (uint32_t)gone;
}

int search_state_decode(struct ctx *c, uint64_t index, bytes stored, struct search_state *out)
{
    struct search_state_segment *list;
    struct reader r = reader_of(stored);
    uint64_t sum, count;
    uint8_t flags;

    *out = (struct search_state){0};
    if (read_u8(&r) != STATE_VERSION)
        return damaged(c, "it is of a version that this program does not know");
    sum = read_u64(&r);
    if (r.bad || sum != XXH3_64bits_withSeed(r.at, reader_left(&r), index))
        return damaged(c, "its checksum is wrong");
    out->phase = read_u8(&r);
    flags = read_u8(&r);
    out->hidden = flags & FLAG_HIDDEN;
    out->position = read_u64(&r);
    if (flags & FLAG_WALKED)
        out->walked = read_counted(&r);
    count = read_varint(&r);
    if (r.bad || count > reader_left(&r) / 11)
        return damaged(c, "it is not whole");
    list = ARENA_ARRAY(&c->arena, struct search_state_segment, count);
    for (size_t i = 0; i < count; i++)
        read_segment(&r, &list[i]);
    out->segments = list;
    out->count = (size_t)count;
    return r.bad || reader_left(&r) ? damaged(c, "it is not whole") : E_OK;
}
