#include "sql/run/show_where.h"

#include "base/number.h"
#include "sql/run/convert.h"
#include "sql/run/like.h"

#include <ctype.h>
#include <strings.h>

enum truth { NO, YES, UNKNOWN };

/* A row, and what asks about it. */
struct asked {
    const struct show_where *w;
    const struct wr_value *values;
    int code; /* not 0: the condition cannot be asked */
};

static bytes text_of(struct asked *a, const struct wr_value *v)
{
    return v->type == WR_NULL ? BYTES_NONE : convert_text(a->w->r->arena, v);
}

/* A column's value, or a constant; ptr NULL: NULL. */
static bytes operand(struct asked *a, const struct expr *e)
{
    struct wr_value v;

    if (convert_constant(a->w->r, e, &v))
        return text_of(a, &v);
    if (e->type != EXPR_COLUMN) {
        a->code = run_fail(a->w->r, FAULT_UNSUPPORTED,
                           "SHOW ... WHERE compares columns of the answer with constants: "
                           "information_schema takes any SELECT");
        return BYTES_NONE;
    }
    for (size_t i = 0; i < a->w->count; i++)
        if (run_is_name(true, a->w->names[i], e->text))
            return text_of(a, &a->values[i]);
    a->code = run_fail(a->w->r, FAULT_UNKNOWN_COLUMN, RUN_TEXT(e->text),
                       RUN_TEXT(BYTES_LIT("where clause")));
    return BYTES_NONE;
}

static int order_of(bytes x, bytes y)
{
    size_t n = x.len < y.len ? x.len : y.len;
    int64_t a, b;
    int order;

    if (number_integer(x, &a) && number_integer(y, &b))
        return (a > b) - (a < b);
    order = strncasecmp(x.ptr, y.ptr, n);
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static enum truth not(enum truth t) { return t == UNKNOWN ? UNKNOWN : t == YES ? NO : YES; }

static enum truth both(enum truth x, enum truth y)
{
    if (x == NO || y == NO)
        return NO;
    return x == YES && y == YES ? YES : UNKNOWN;
}

static enum truth compare(enum expr_op op, bytes x, bytes y)
{
    int order;

    if (op == OP_NULL_SAFE_EQUAL && (!x.ptr || !y.ptr))
        return !x.ptr && !y.ptr ? YES : NO;
    if (!x.ptr || !y.ptr)
        return UNKNOWN;
    order = order_of(x, y);
    switch (op) {
    case OP_EQUAL:
    case OP_NULL_SAFE_EQUAL:
        return order == 0 ? YES : NO;
    case OP_NOT_EQUAL:
        return order != 0 ? YES : NO;
    case OP_LESS:
        return order < 0 ? YES : NO;
    case OP_LESS_EQUAL:
        return order <= 0 ? YES : NO;
    case OP_GREATER:
        return order > 0 ? YES : NO;
    default:
        return order >= 0 ? YES : NO;
    }
}

static bytes lowered(struct arena *a, bytes text)
{
    char *own = arena_alloc(a, text.len + 1);

    for (size_t i = 0; i < text.len; i++)
        own[i] = (char)tolower(bytes_u8(text)[i]);
    return bytes_of(own, text.len);
}

static enum truth like(struct asked *a, const struct expr *e)
{
    bytes text = operand(a, e->left), pattern = operand(a, e->right);

    if (!text.ptr || !pattern.ptr)
        return UNKNOWN;
    return is_like(lowered(a->w->r->arena, text), lowered(a->w->r->arena, pattern)) ? YES : NO;
}

static enum truth in(struct asked *a, const struct expr *e)
{
    bytes x = operand(a, e->left);
    enum truth found = NO;

    for (const struct expr_item *i = e->list ? e->list->first : NULL; i; i = i->next)
        found = not(both(not(found), not(compare(OP_EQUAL, x, operand(a, i->expr)))));
    return found;
}

static enum truth between(struct asked *a, const struct expr *e)
{
    bytes x = operand(a, e->left), low = operand(a, e->list->first->expr),
          high = operand(a, e->list->last->expr);

    return both(compare(OP_GREATER_EQUAL, x, low), compare(OP_LESS_EQUAL, x, high));
}

static enum truth ask(struct asked *a, const struct expr *e)
{
    enum truth t;
    bytes text;

    switch (e->type) {
    case EXPR_BINARY:
        if (e->op == OP_AND)
            return both(ask(a, e->left), ask(a, e->right));
        if (e->op == OP_OR)
            return not(both(not(ask(a, e->left)), not(ask(a, e->right))));
        if (e->op >= OP_EQUAL && e->op <= OP_GREATER_EQUAL)
            return compare(e->op, operand(a, e->left), operand(a, e->right));
        break;
    case EXPR_UNARY:
        if (e->op == OP_NOT)
            return not(ask(a, e->left));
        break;
    case EXPR_LIKE:
        t = like(a, e);
        return e->negated ? not(t) : t;
    case EXPR_BETWEEN:
        t = between(a, e);
        return e->negated ? not(t) : t;
    case EXPR_IS_NULL:
        return (operand(a, e->left).ptr == NULL) != e->negated ? YES : NO;
    case EXPR_IN:
        if (e->select)
            break;
        t = in(a, e);
        return e->negated ? not(t) : t;
    default:
        break;
    }
    text = operand(a, e); /* a flag by itself */
    return !text.ptr ? UNKNOWN : order_of(text, BYTES_LIT("0")) ? YES : NO;
}

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct show_where *w = PORT_CONTAINER(s, struct show_where, sink);

    w->names = ARENA_ARRAY(w->r->arena, bytes, count);
    w->count = count;
    for (size_t i = 0; i < count; i++)
        w->names[i] = arena_copy(w->r->arena, columns[i].name);
    return w->to->columns(w->to, columns, count);
}

static int on_row(struct sink *s, const struct wr_value *values)
{
    struct show_where *w = PORT_CONTAINER(s, struct show_where, sink);
    struct asked a = {w, values, 0};
    enum truth t = ask(&a, w->where);

    if (a.code)
        return a.code;
    return t == YES ? w->to->row(w->to, values) : 0;
}

void show_where_init(struct show_where *w, struct run *r, const struct expr *where)
{
    *w = (struct show_where){.sink = {on_columns, on_row}, .to = r->sink, .r = r, .where = where};
    r->sink = &w->sink;
}
