#include "sql/run/convert.h"
#include "sql/run/order.h"
#include "sql/run/quote.h"
#include "sql/run/render_own.h"

#include <inttypes.h>
#include <stdio.h>

void render_put(struct render *w, const char *text)
{
    buf_put_bytes(&w->out, bytes_str(text));
}

void render_quoted(struct render *w, bytes text, char quote)
{
    quote_put(&w->out, text, quote);
}

void render_blob(struct render *w, bytes b)
{
    char two[3];

    render_put(w, "x'");
    for (size_t i = 0; i < b.len; i++) {
        snprintf(two, sizeof(two), "%02x", bytes_u8(b)[i]);
        render_put(w, two);
    }
    render_put(w, "'");
}

/* A text with a NUL in it would end there. */
void render_text(struct render *w, bytes text)
{
    if (text.len && memchr(text.ptr, 0, text.len)) {
        render_put(w, "cast(");
        render_blob(w, text);
        render_put(w, " as text)");
    } else {
        render_quoted(w, text, '\'');
    }
}

void render_stored(struct render *w, const struct wr_value *v)
{
    struct arena *a = w->r->arena;

    switch (v->type) {
    case WR_UBIGINT:
        render_blob(w, order_of_unsigned(a, v->uinteger));
        break;
    case WR_DECIMAL:
        render_blob(w, order_of_decimal(a, v->bytes));
        break;
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_JSON:
        render_text(w, v->bytes);
        break;
    case WR_BINARY:
    case WR_VARBINARY:
        render_blob(w, v->bytes);
        break;
    case WR_FLOAT:
    case WR_DOUBLE:
        buf_put_bytes(&w->out, arena_printf(a, "%.17e", v->real));
        break;
    default:
        buf_put_bytes(&w->out, convert_text(a, v));
    }
}

/* A constant that is compared with nothing: a number that fits no integer is a floating-point one.
 */
void render_constant(struct render *w, struct wr_value v)
{
    if (v.type == WR_DECIMAL)
        buf_put_bytes(&w->out, v.bytes);
    else if (v.type == WR_UBIGINT)
        buf_put_bytes(&w->out, arena_printf(w->r->arena, "%" PRIu64 ".0", v.uinteger));
    else
        render_stored(w, &v);
}

bool render_is_ordered(enum wr_type type)
{
    return type == WR_UBIGINT || type == WR_DECIMAL;
}
