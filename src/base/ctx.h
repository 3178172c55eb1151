/* ctx.h: the context of one request, first argument nearly everywhere.
 *
 * It owns the request's memory and remembers the first thing that went wrong. It is used by one
 * thread at a time and moves with its request. */
#ifndef BASE_CTX_H
#define BASE_CTX_H

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"

struct turn;

struct ctx {
    struct arena arena;
    struct turn *turn; /* of a request (turn.h); NULL: the thread is its own */
    struct clock *clock;
    struct log *log;     /* may be NULL */
    int64_t deadline_ms; /* monotonic; 0: none */
    int code;            /* enum err of the first failure; 0 while all is well */
    const char *text;    /* in the arena, or a literal */
    const char *file;    /* where it was first seen */
    int line;
};

/* Memory comes from `first` (may be NULL) and then from the heap. */
void ctx_init(struct ctx *c, struct clock *clock, struct log *log, void *first, size_t first_size);
void ctx_release(struct ctx *c);

/* A context for a part of a request: memory of its own that counts as the request's does, its
 * deadline and turn. Released before `whole` is. */
void ctx_init_part(struct ctx *part, const struct ctx *whole, void *first, size_t first_size);

/* What went wrong in the part goes on to the whole, with its place; returns the whole's code. */
int ctx_fail_part(struct ctx *whole, const struct ctx *part);

/* Forgets a failure that the caller has dealt with (a batch's row that failed for itself). */
void ctx_clear(struct ctx *c);

/* What was recorded, for a place within a longer sentence: without the stop at its end, in the
 * arena. The failure is forgotten. */
const char *ctx_take_reason(struct ctx *c);

/* Records a failure and returns its code: `return fail(c, E_PARAMETER, "Invalid table name: '%s'.",
 * name);` The first failure stays; later ones only return their code. fmt NULL: the table's own
 * text. */
int ctx_fail(struct ctx *c, const char *file, int line, int code, const char *fmt, ...)
    PORT_PRINTF(5, 6);

#define fail(c, code, ...) ctx_fail((c), __FILE__, __LINE__, (code), __VA_ARGS__)
#define fail_code(c, code) ctx_fail((c), __FILE__, __LINE__, (code), NULL)

/* Passes a failure on. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        int try_code_ = (expr);                                                                    \
        if (PORT_UNLIKELY(try_code_ != 0))                                                         \
            return try_code_;                                                                      \
    } while (0)

/* For "%.*s" of bytes. */
#define BYTES_FMT(b) (int)(b).len, (const char *)((b).ptr ? (b).ptr : "")

/* A copy in the arena, for sizes that a client decides: E_MEMORY when the cap would be passed. An
 * empty one gives a non-NULL ptr. */
int ctx_copy(struct ctx *c, bytes from, bytes *out);

#endif
