/* Bodies that are collected lie in the request's arena. They are charged to the common budget in
 * steps, as they arrive. */
#include "net/http_own.h"

/* A smaller one lies in the exchange's own block and is not charged. */
#define CHARGE_BYTES 4096

/* False: all requests together would take too much. */
static bool body_charge(struct http *h, struct body *b, size_t len)
{
    size_t more;

    if (len <= CHARGE_BYTES || len <= b->charged)
        return true;
    more = (len + CHARGE_BYTES - 1) / CHARGE_BYTES * CHARGE_BYTES - b->charged;
    if (atomic_fetch_add(h->memory, more) + more > h->conf.memory_max) {
        atomic_fetch_sub(h->memory, more);
        return false;
    }
    b->charged += more;
    return true;
}

/* A body of some size has memory of its own, not the arena's, whose blocks are charged whole. NULL:
 * the request may not take so much. */
static uint8_t *body_alloc(struct arena *a, size_t size)
{
    uint8_t *body;

    if (size <= CHARGE_BYTES)
        return arena_try_alloc(a, size);
    if (a->cap && (size > a->cap || a->used > a->cap - size))
        return NULL;
    body = mem_alloc(size);
    a->used += size;
    arena_on_release(a, mem_free, body);
    return body;
}

/* A length that was announced is taken at once, so that nothing is copied twice; the pages are
 * touched, and charged, only as bytes arrive. */
int body_reserve(struct http_request *r, struct http *h, struct body *b, size_t n)
{
    size_t max = r->body_bytes_max, want = b->capacity * 2;
    uint8_t *data;

    if (n > max - b->len || b->len + n > h->conf.memory_max)
        return 413;
    if (!body_charge(h, b, b->len + n))
        return 503;
    if (n <= b->capacity - b->len)
        return 0;
    if (want < b->len + n)
        want = b->len + n;
    if (!b->data && r->length <= max && r->length >= n)
        want = (size_t)r->length;
    if (want > max)
        want = max;
    data = body_alloc(&r->ctx.arena, want);
    if (!data)
        return 413;
    if (b->len)
        memcpy(data, b->data, b->len);
    b->data = data;
    b->capacity = want;
    return 0;
}

int body_check_length(const struct http_request *r, struct http *h)
{
    uint64_t length = r->length;

    if (length == HTTP_LENGTH_UNKNOWN || length <= CHARGE_BYTES)
        return 0;
    if (length > r->body_bytes_max || length > h->conf.memory_max)
        return 413;
    return atomic_load(h->memory) + length > h->conf.memory_max ? 503 : 0;
}

void body_release(struct http *h, struct body *b)
{
    if (b->charged)
        atomic_fetch_sub(h->memory, b->charged);
    b->charged = 0;
}
