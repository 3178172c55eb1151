/* arena.h: memory of one request. Bytes are handed out one after the other and go all at once.
 *
 * One arena belongs to one request and is used by one thread at a time; it may move from thread to
 * thread with its request. Nothing is freed one by one. What lives outside memory (an engine's
 * pinned block, say) is linked to the arena by a cleanup hook. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/bytes.h"
#include "base/port.h"

#include <stdarg.h>
#include <stdatomic.h>

struct arena_block;
struct arena_hook;

struct arena {
    uint8_t *at, *end;
    struct arena_block
        *blocks; /* newest first; the first block of all may be the caller's own memory */
    struct arena_hook *hooks; /* newest first */
    size_t used;              /* bytes handed out and bytes of hooks' resources, for the cap */
    size_t cap;               /* arena_try_alloc() refuses past it; 0: no cap */
    atomic_size_t *meter;     /* NULL, or counts what blocks take, of many arenas together */
    /* NULL, or says that `size` bytes more are too much for all arenas together; `used` is what
     * this one has handed out, with those that it is a part of. */
    bool (*full)(void *arg, size_t used, size_t size);
    void *full_arg;
    const struct arena *whole; /* of which this is a part (ctx_init_part()); or NULL */
};

/* `first` (size bytes, may be NULL) is used before anything is allocated, and is not freed. */
void arena_init(struct arena *a, void *first, size_t size);

/* Runs the hooks, newest first, and frees every block. The arena can be used again after
 * arena_init(). */
void arena_release(struct arena *a);

/* The same, and it begins again with `first`, as after arena_init(); bounds and meter stay. */
void arena_restart(struct arena *a, void *first, size_t size);

/* The same, inline, for who does so again and again and has mostly taken nothing beside `first`,
 * which is aligned for any type. */
static inline void arena_reuse(struct arena *a, void *first, size_t size)
{
    if (PORT_UNLIKELY(a->blocks || a->hooks || a->end != (uint8_t *)first + size)) {
        arena_restart(a, first, size);
        return;
    }
    a->at = first;
    a->used = 0;
}

/* `to` has the cap of `from` and counts where it does. */
void arena_bound_as(struct arena *to, const struct arena *from);

/* A state of an arena to go back to. */
struct arena_mark {
    uint8_t *at, *end;
    struct arena_block *blocks;
    struct arena_hook *hooks;
    size_t used;
};

struct arena_mark arena_mark(const struct arena *a);

/* What was handed out since the mark was made goes, as in arena_release(); the rest stays. The mark
 * may be gone back to again. */
void arena_rewind(struct arena *a, const struct arena_mark *mark);

/* From now on the arena's blocks, also those it has, are counted in `meter` while they are held. */
void arena_meter(struct arena *a, atomic_size_t *meter);

/* Its blocks are not counted any more. */
void arena_unmeter(struct arena *a);

/* Memory of `size` bytes, aligned for any type, not cleared. Never NULL; does not look at the cap.
 */
void *arena_alloc(struct arena *a, size_t size);

/* The same, or NULL when the cap would be passed, or what all arenas may take together; an
 * arena of no more than ARENA_SMALL bytes is let off that. For sizes that a client decides. */
#define ARENA_SMALL (256 << 10)
void *arena_try_alloc(struct arena *a, size_t size);

/* The same, inline, for what is taken for each row. */
#define ARENA_ALIGN 16
static inline void *arena_try_quick(struct arena *a, size_t size)
{
    size_t rounded = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    uint8_t *p = a->at;

    if (PORT_UNLIKELY(!size || size > ARENA_SMALL || rounded > (size_t)(a->end - p) ||
                      (a->cap && a->used + rounded > a->cap)))
        return arena_try_alloc(a, size);
    a->at = p + rounded;
    a->used += rounded;
    return p;
}

/* Cleared. */
void *arena_zalloc(struct arena *a, size_t size);

/* A copy of b in the arena. An empty b gives a non-NULL ptr. */
bytes arena_copy(struct arena *a, bytes b);

/* A text made by printf rules, with a closing NUL that is not counted. */
bytes arena_printf(struct arena *a, const char *fmt, ...) PORT_PRINTF(2, 3);
bytes arena_vprintf(struct arena *a, const char *fmt, va_list args);

/* Calls fn(arg) in arena_release(). */
void arena_on_release(struct arena *a, void (*fn)(void *arg), void *arg);

/* An array of n cleared things of one type. */
#define ARENA_ARRAY(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (n)))
#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))

#endif
