#include "table/model/big.h"

#include "base/invariant.h"
#include "table/model/key.h"
#include "table/model/row.h"
#include "table/model/value.h"

#include <xxhash.h>

enum { CHUNK_VERSION = 1 };

/* ---- references */

struct wr_value big_value(struct arena *a, const struct big_ref *ref)
{
    uint8_t *p = arena_alloc(a, BIG_REF_BYTES);

    store_u64(p, ref->id);
    store_u64(p + 8, ref->length);
    store_u32(p + 16, ref->location);
    store_u32(p + 20, ref->chunk_bytes);
    memcpy(p + 24, ref->sha256, BIG_SHA256_BYTES);
    return (struct wr_value){.type = WR_VARBINARY, .bytes = bytes_of(p, BIG_REF_BYTES)};
}

struct big_ref big_peek(const struct wr_cell *cell)
{
    const uint8_t *p = cell->value.bytes.ptr;
    struct big_ref ref;

    invariant(cell->value.bytes.len == BIG_REF_BYTES);
    ref = (struct big_ref){.id = load_u64(p),
                           .length = load_u64(p + 8),
                           .location = load_u32(p + 16),
                           .chunk_bytes = load_u32(p + 20)};
    memcpy(ref.sha256, p + 24, BIG_SHA256_BYTES);
    return ref;
}

int big_read(struct ctx *c, const struct wr_cell *cell, struct big_ref *out)
{
    if (cell->value.bytes.len != BIG_REF_BYTES)
        return fail(c, E_CORRUPT, "damaged reference to a big cell");
    *out = big_peek(cell);
    if (!out->id || !out->chunk_bytes || big_chunk_count(out) > UINT32_MAX)
        return fail(c, E_CORRUPT, "damaged reference to a big cell");
    return E_OK;
}

size_t big_out_of_line_size(const struct wr_cell *cell)
{
    if (cell->value.bytes.len == BIG_REF_BYTES)
        return (size_t)load_u64(bytes_u8(cell->value.bytes) + 8);
    return value_size(&cell->value);
}

uint64_t big_chunk_count(const struct big_ref *ref)
{
    return ref->length / ref->chunk_bytes + (ref->length % ref->chunk_bytes != 0);
}

size_t big_chunk_len(const struct big_ref *ref, uint32_t number)
{
    uint64_t left = ref->length - (uint64_t)number * ref->chunk_bytes;

    return left < ref->chunk_bytes ? (size_t)left : ref->chunk_bytes;
}

/* ---- keys */

static struct buf big_key_of(struct arena *a, const struct location *p, bytes cols,
                             enum key_kind kind, uint64_t id)
{
    struct buf b;

    buf_init(&b, a, KEY_PREFIX_BYTES + cols.len + 24);
    layout_put_key(&b, p, kind, cols);
    cell_put_key_id(&b, id);
    return b;
}

bytes big_chunk_key(struct arena *a, const struct location *p, bytes cols, uint64_t id,
                    uint32_t number)
{
    struct buf b = big_key_of(a, p, cols, KIND_CHUNK, id);

    store_u32_be(buf_reserve(&b, 4), number);
    buf_commit(&b, 4);
    return buf_bytes(&b);
}

bytes big_chunk_bound(struct arena *a, const struct location *p, bytes cols, uint64_t id, bool past)
{
    struct buf b = big_key_of(a, p, cols, KIND_CHUNK, id);

    for (int i = 0; past && i < 5; i++) /* longer than any number */
        buf_put_u8(&b, 0xFF);
    return buf_bytes(&b);
}

bytes big_garbage_key(struct arena *a, const struct location *p, bytes cols, uint64_t id)
{
    struct buf b = big_key_of(a, p, cols, KIND_GARBAGE, id);

    return buf_bytes(&b);
}

bytes big_garbage_value(struct arena *a, enum garbage_kind kind, int64_t time_ms)
{
    struct buf b;

    buf_init(&b, a, BIG_GARBAGE_BYTES);
    buf_put_u8(&b, (uint8_t)kind);
    buf_put_u64(&b, (uint64_t)time_ms);
    return buf_bytes(&b);
}

bool big_garbage_read(bytes value, enum garbage_kind *kind, int64_t *time_ms)
{
    uint8_t k = value.len == BIG_GARBAGE_BYTES ? bytes_u8(value)[0] : 0;

    if (k < GARBAGE_ROW || k > GARBAGE_ERASING)
        return false;
    *kind = (enum garbage_kind)k;
    *time_ms = (int64_t)load_u64(bytes_u8(value) + 1);
    return true;
}

/* ---- chunks */

/* The id and the number count too: a chunk in another one's place is noticed. */
static uint64_t big_chunk_hash(const void *data, size_t len, uint64_t id, uint32_t number)
{
    return XXH3_64bits_withSeed(data, len, id * 0x9E3779B97F4A7C15ull + number);
}

void big_chunk_seal(uint8_t *chunk, size_t len, uint64_t id, uint32_t number)
{
    chunk[0] = CHUNK_VERSION;
    store_u64(chunk + 1, big_chunk_hash(chunk + BIG_CHUNK_HEAD, len, id, number));
}

int big_chunk_open(struct ctx *c, bytes stored, const struct big_ref *ref, uint32_t number,
                   bytes *data)
{
    const uint8_t *p = stored.ptr;

    if (stored.len && p[0] != CHUNK_VERSION)
        return fail(c, E_FORMAT, "chunk of format %u; this version of Widerow reads format %d",
                    p[0], CHUNK_VERSION);
    if (stored.len < BIG_CHUNK_HEAD || stored.len - BIG_CHUNK_HEAD != big_chunk_len(ref, number) ||
        load_u64(p + 1) !=
            big_chunk_hash(p + BIG_CHUNK_HEAD, stored.len - BIG_CHUNK_HEAD, ref->id, number))
        return fail(c, E_CORRUPT, "damaged chunk %u of %llu of a big cell", number,
                    (unsigned long long)big_chunk_count(ref));
    *data = bytes_skip(stored, BIG_CHUNK_HEAD);
    return E_OK;
}
