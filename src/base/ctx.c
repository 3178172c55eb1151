#include "base/ctx.h"

void ctx_init(struct ctx *c, struct clock *clock, struct log *log, void *first, size_t first_size)
{
    *c = (struct ctx){.clock = clock, .log = log};
    arena_init(&c->arena, first, first_size);
}

void ctx_init_part(struct ctx *part, const struct ctx *whole, void *first, size_t first_size)
{
    ctx_init(part, whole->clock, whole->log, first, first_size);
    arena_bound_as(&part->arena, &whole->arena);
    part->arena.whole = &whole->arena;
    part->deadline_ms = whole->deadline_ms;
    part->turn = whole->turn;
}

int ctx_fail_part(struct ctx *whole, const struct ctx *part)
{
    if (part->code && !whole->code)
        ctx_fail(whole, part->file, part->line, part->code, "%s", part->text);
    return whole->code;
}

void ctx_release(struct ctx *c)
{
    arena_release(&c->arena);
}

void ctx_clear(struct ctx *c)
{
    c->code = 0;
    c->text = NULL;
    c->file = NULL;
    c->line = 0;
}

const char *ctx_take_reason(struct ctx *c)
{
    bytes text = bytes_str(c->text);

    while (text.len && c->text[text.len - 1] == '.')
        text.len--;
    ctx_clear(c);
    return arena_printf(&c->arena, "%.*s", BYTES_FMT(text)).ptr;
}

int ctx_fail(struct ctx *c, const char *file, int line, int code, const char *fmt, ...)
{
    if (c->code == 0) {
        va_list args;

        c->code = code;
        c->file = file;
        c->line = line;
        c->text = err_info(code)->text;
        if (fmt) {
            va_start(args, fmt);
            c->text = arena_vprintf(&c->arena, fmt, args).ptr;
            va_end(args);
        }
    }
    return code;
}

int ctx_copy(struct ctx *c, bytes from, bytes *out)
{
    void *p = arena_try_alloc(&c->arena, from.len ? from.len : 1);

    if (!p)
        return fail_code(c, E_MEMORY);
    if (from.len)
        memcpy(p, from.ptr, from.len);
    *out = bytes_of(p, from.len);
    return E_OK;
}
