#include "wire/zip.h"

#include <zlib.h>

#define FIRST_BYTES 4096

static void *zip_alloc(void *unused, unsigned items, unsigned size)
{
    (void)unused;
    return mem_alloc((size_t)items * size);
}

static void zip_free(void *unused, void *ptr)
{
    (void)unused;
    mem_free(ptr);
}

/* Room for more output: doubles, but stops one byte past the bound, which is how a body that is too
 * large shows. */
static int zip_grow(struct ctx *c, uint8_t **data, size_t *capacity, size_t used, size_t size_max)
{
    size_t want = *capacity * 2;
    uint8_t *p;

    if (want > size_max + 1)
        want = size_max + 1;
    p = arena_try_alloc(&c->arena, want);
    if (!p)
        return fail_code(c, E_MEMORY);
    memcpy(p, *data, used);
    *data = p;
    *capacity = want;
    return 0;
}

static int inflate_all(struct ctx *c, z_stream *z, size_t capacity, size_t size_max, bytes *out)
{
    uint8_t *data = arena_try_alloc(&c->arena, capacity);
    size_t used = 0;
    int r = Z_OK;

    if (!data)
        return fail_code(c, E_MEMORY);
    while (r == Z_OK) {
        if (used == capacity)
            TRY(zip_grow(c, &data, &capacity, used, size_max));
        z->next_out = data + used;
        z->avail_out = (uInt)(capacity - used);
        r = inflate(z, Z_NO_FLUSH);
        used = capacity - z->avail_out;
        if (used > size_max)
            return fail_code(c, E_BODY_TOO_LARGE);
    }
    /* Anything but the end, a buffer error included, means bytes that are damaged or missing. */
    if (r != Z_STREAM_END || z->avail_in)
        return fail(c, E_PARAMETER, "The compressed request body is broken.");
    *out = bytes_of(data, used);
    return 0;
}

int zip_inflate(struct ctx *c, bytes in, size_t size_hint, size_t size_max, bytes *out)
{
    z_stream z = {.zalloc = zip_alloc, .zfree = zip_free};
    size_t capacity = size_hint ? size_hint + 1 : in.len * 3 + FIRST_BYTES;
    int code;

    if (size_max >= UINT32_MAX)
        size_max = UINT32_MAX - 1;
    if (in.len > UINT32_MAX)
        return fail_code(c, E_BODY_TOO_LARGE);
    if (capacity > size_max + 1 || capacity == 0)
        capacity = size_max + 1;
    z.next_in = (Bytef *)(uintptr_t)in.ptr;
    z.avail_in = (uInt)in.len;
    if (inflateInit(&z) != Z_OK)
        return fail_code(c, E_INTERNAL);
    code = inflate_all(c, &z, capacity, size_max, out);
    inflateEnd(&z);
    return code;
}

int zip_deflate(struct ctx *c, bytes in, bytes *out)
{
    z_stream z = {.zalloc = zip_alloc, .zfree = zip_free};
    uLong bound;
    int r;

    if (in.len > UINT32_MAX / 2)
        return fail_code(c, E_BODY_TOO_LARGE);
    if (deflateInit(&z, Z_DEFAULT_COMPRESSION) != Z_OK)
        return fail_code(c, E_INTERNAL);
    bound = deflateBound(&z, (uLong)in.len);
    z.next_in = (Bytef *)(uintptr_t)in.ptr;
    z.avail_in = (uInt)in.len;
    z.next_out = arena_alloc(&c->arena, bound);
    z.avail_out = (uInt)bound;
    *out = bytes_of(z.next_out, 0);
    r = deflate(&z, Z_FINISH);
    out->len = z.total_out;
    deflateEnd(&z);
    return r == Z_STREAM_END ? 0 : fail_code(c, E_INTERNAL);
}
