#include "base/arena.h"

#include "base/arena_take.h"

#include <stdio.h>

#define BLOCK_BYTES_MIN 8192
#define BLOCK_BYTES_MAX (1 << 20)

struct arena_block {
    struct arena_block *next;
    size_t size;
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

struct arena_hook {
    struct arena_hook *next;
    void (*fn)(void *arg);
    void *arg;
};

void arena_init(struct arena *a, void *first, size_t size)
{
    uintptr_t start = ((uintptr_t)first + ARENA_ALIGN - 1) & ~(uintptr_t)(ARENA_ALIGN - 1);
    uintptr_t end = (uintptr_t)first + size;

    *a = (struct arena){0};
    if (first && start < end) {
        a->at = (uint8_t *)start;
        a->end = (uint8_t *)end;
    }
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){a->at, a->end, a->blocks, a->hooks, a->used};
}

void arena_rewind(struct arena *a, const struct arena_mark *mark)
{
    struct arena_block *b, *next;
    size_t freed = 0;

    /* A hook may itself live in a block, so all hooks run before any block goes. */
    for (struct arena_hook *h = a->hooks; h != mark->hooks; h = h->next)
        h->fn(h->arg);
    for (b = a->blocks; b != mark->blocks; b = next) {
        next = b->next;
        freed += b->size;
        mem_free(b);
    }
    if (a->meter && freed)
        atomic_fetch_sub_explicit(a->meter, freed, memory_order_relaxed);
    a->at = mark->at;
    a->end = mark->end;
    a->blocks = mark->blocks;
    a->hooks = mark->hooks;
    a->used = mark->used;
}

void arena_release(struct arena *a)
{
    arena_rewind(a, &(struct arena_mark){0});
    *a = (struct arena){0};
}

void arena_restart(struct arena *a, void *first, size_t size)
{
    struct arena bounds = *a;

    if (a->hooks || a->blocks)
        arena_release(a);
    arena_init(a, first, size);
    arena_bound_as(a, &bounds);
}

void arena_bound_as(struct arena *to, const struct arena *from)
{
    to->cap = from->cap;
    to->meter = from->meter;
    to->full = from->full;
    to->full_arg = from->full_arg;
    to->whole = from->whole;
}

void arena_meter(struct arena *a, atomic_size_t *meter)
{
    a->meter = meter;
    for (const struct arena_block *b = a->blocks; b; b = b->next)
        atomic_fetch_add_explicit(meter, b->size, memory_order_relaxed);
}

void arena_unmeter(struct arena *a)
{
    for (const struct arena_block *b = a->blocks; a->meter && b; b = b->next)
        atomic_fetch_sub_explicit(a->meter, b->size, memory_order_relaxed);
    a->meter = NULL;
}

/* The link to the block that holds b; NULL: none does. */
static struct arena_block **link_to(struct arena *a, bytes b)
{
    for (struct arena_block **at = &a->blocks; *at; at = &(*at)->next) {
        size_t offset = (uintptr_t)b.ptr - (uintptr_t)(*at)->data; /* too large: in front of it */

        if (offset < (*at)->size && b.len <= (*at)->size - offset)
            return at;
    }
    return NULL;
}

bool arena_take(struct arena *a, bytes part, size_t room, struct arena_piece *out)
{
    struct arena_block **at = link_to(a, part), *b = at ? *at : NULL;

    if (!b || b->size <= BLOCK_BYTES_MAX || part.len < b->size / 2)
        return false;
    *out = (struct arena_piece){.memory = (uint8_t *)b,
                                .size = b->size,
                                .at = (size_t)(bytes_u8(part) - (const uint8_t *)b)};
    if (out->at < room)
        return false;
    if (a->end == b->data + b->size)
        a->at = a->end = NULL;
    *at = b->next;
    if (a->meter)
        atomic_fetch_sub_explicit(a->meter, b->size, memory_order_relaxed);
    return true;
}

/* Starts a block that holds at least `size` bytes; blocks double so that large requests need few.
 * What is larger than the largest of them has a block for itself (arena_take()). */
static void arena_grow(struct arena *a, size_t size)
{
    size_t want = a->blocks ? a->blocks->size * 2 : BLOCK_BYTES_MIN;
    struct arena_block *b;

    if (want > BLOCK_BYTES_MAX)
        want = BLOCK_BYTES_MAX;
    if (want < size)
        want = size;
    b = mem_alloc(sizeof(*b) + want);
    b->size = want;
    if (a->meter)
        atomic_fetch_add_explicit(a->meter, want, memory_order_relaxed);
    b->next = a->blocks;
    a->blocks = b;
    a->at = b->data;
    a->end = b->data + want;
}

void *arena_alloc(struct arena *a, size_t size)
{
    void *p;

    /* Nothing gets a place of its own too, and a size that only an overflow can give must not wrap.
     */
    size = size ? size : 1;
    if (PORT_UNLIKELY(size > SIZE_MAX / 2))
        mem_exhausted(size);
    size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (PORT_UNLIKELY((size_t)(a->end - a->at) < size))
        arena_grow(a, size);
    p = a->at;
    a->at += size;
    a->used += size;
    return p;
}

static size_t used_with_whole(const struct arena *a)
{
    size_t used = 0;

    for (; a; a = a->whole)
        used += a->used;
    return used;
}

void *arena_try_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    if (a->cap && (size > a->cap || a->used > a->cap - size))
        return NULL;
    if (PORT_UNLIKELY((size_t)(a->end - a->at) < size) && a->full && a->used + size > ARENA_SMALL &&
        a->full(a->full_arg, used_with_whole(a), size))
        return NULL;
    return arena_alloc(a, size);
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

bytes arena_copy(struct arena *a, bytes b)
{
    void *p = arena_alloc(a, b.len ? b.len : 1);

    if (b.len)
        memcpy(p, b.ptr, b.len);
    return bytes_of(p, b.len);
}

bytes arena_vprintf(struct arena *a, const char *fmt, va_list args)
{
    va_list again;
    char *p;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        n = 0;
    p = arena_alloc(a, (size_t)n + 1);
    p[0] = 0;
    vsnprintf(p, (size_t)n + 1, fmt, args);
    return bytes_of(p, (size_t)n);
}

bytes arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    bytes text;

    va_start(args, fmt);
    text = arena_vprintf(a, fmt, args);
    va_end(args);
    return text;
}

void arena_on_release(struct arena *a, void (*fn)(void *arg), void *arg)
{
    struct arena_hook *h = arena_alloc(a, sizeof(*h));

    h->fn = fn;
    h->arg = arg;
    h->next = a->hooks;
    a->hooks = h;
}
