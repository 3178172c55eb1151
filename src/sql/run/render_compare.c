#include "sql/run/convert.h"
#include "sql/run/render_own.h"

static bool is_number(enum wr_type type)
{
    return (type >= WR_BOOLEAN && type <= WR_BIGINT) || type == WR_UBIGINT || type == WR_FLOAT ||
           type == WR_DOUBLE || type == WR_DECIMAL;
}

/* A constant text is compared with a number that is no column's as the number that it begins with,
 * as MySQL does: to SQLite each number is less than each text. */
static bool is_text_beside_number(struct render *w, const struct scope *s, const struct expr *e,
                                  const struct expr *with)
{
    struct table_column column;
    struct wr_value v;

    if (!convert_constant(w->r, e, &v) || v.type != WR_VARCHAR || scope_column(s, with, &column))
        return false;
    if (convert_constant(w->r, with, &v))
        return is_number(v.type);
    return (with->type == EXPR_CALL || with->type == EXPR_BINARY || with->type == EXPR_UNARY) &&
           is_number(render_type_likely(s, with));
}

/* The side of a comparison whose other side is `with`: a constant becomes what the column holds. */
int render_side(struct render *w, const struct scope *s, const struct expr *e,
                const struct expr *with)
{
    struct table_column column;
    struct wr_value v, as;

    if (render_is_moment(with) && e->type == EXPR_TEXT) {
        render_put(w, "wr_moment(");
        render_text(w, e->text);
        render_put(w, ")");
        return 0;
    }
    if (is_text_beside_number(w, s, e, with)) {
        render_put(w, "cast(");
        RUN_TRY(render_expr(w, s, e));
        render_put(w, " as real)");
        return 0;
    }
    if (!scope_column(s, with, &column) || !convert_constant(w->r, e, &v) || v.type == WR_NULL)
        return render_is_ordered(scope_column(s, e, &column) ? column.type : WR_NULL)
                   ? render_expr(w, s, e)
                   : render_number(w, s, e);
    if (convert_try(w->r->arena, &column, &v, &as))
        render_stored(w, &as);
    else
        render_constant(w, v); /* it equals nothing there, and stands before or behind all */
    return 0;
}

static const char *const comparisons[] = {
    [OP_EQUAL] = " = ",         [OP_NULL_SAFE_EQUAL] = " is ", [OP_NOT_EQUAL] = " <> ",
    [OP_LESS] = " < ",          [OP_LESS_EQUAL] = " <= ",      [OP_GREATER] = " > ",
    [OP_GREATER_EQUAL] = " >= "};

static int put_pair(struct render *w, const struct scope *s, const struct expr *l, const char *sign,
                    const struct expr *r)
{
    RUN_TRY(render_side(w, s, l, r));
    render_put(w, sign);
    return render_side(w, s, r, l);
}

/* (a, b) > (x, y), with the bound that the first column has by it: SQLite looks for no other. */
static int put_tuples(struct render *w, const struct scope *s, const struct expr *e)
{
    const struct expr_item *l = e->left->list->first, *r = e->right->list->first;
    bool up = e->op == OP_GREATER || e->op == OP_GREATER_EQUAL;
    bool range = up || e->op == OP_LESS || e->op == OP_LESS_EQUAL;

    if (e->left->list->count != e->right->list->count)
        return run_fail(w->r, FAULT_UNSUPPORTED, "Both sides of a comparison need as many values");
    render_put(w, "((");
    for (const struct expr_item *i = l, *j = r; i; i = i->next, j = j->next) {
        render_put(w, i == l ? "" : ", ");
        RUN_TRY(render_side(w, s, i->expr, j->expr));
    }
    render_put(w, ")");
    render_put(w, comparisons[e->op]);
    render_put(w, "(");
    for (const struct expr_item *i = l, *j = r; i; i = i->next, j = j->next) {
        render_put(w, i == l ? "" : ", ");
        RUN_TRY(render_side(w, s, j->expr, i->expr));
    }
    render_put(w, ")");
    if (range) {
        render_put(w, " and ");
        RUN_TRY(put_pair(w, s, l->expr, up ? " >= " : " <= ", r->expr));
    }
    render_put(w, ")");
    return 0;
}

int render_comparison(struct render *w, const struct scope *s, const struct expr *e)
{
    if (e->left->type == EXPR_TUPLE && e->right->type == EXPR_TUPLE)
        return put_tuples(w, s, e);
    render_put(w, "(");
    RUN_TRY(put_pair(w, s, e->left, comparisons[e->op], e->right));
    render_put(w, ")");
    return 0;
}

int render_in(struct render *w, const struct scope *s, const struct expr *e)
{
    struct column *columns;
    size_t count;

    render_put(w, "(");
    RUN_TRY(render_expr(w, s, e->left));
    render_put(w, e->negated ? " not in (" : " in (");
    if (e->select) {
        RUN_TRY(render_subselect(w, s, e->select, &columns, &count));
    } else {
        for (const struct expr_item *i = e->list->first; i; i = i->next) {
            RUN_TRY(render_side(w, s, i->expr, e->left));
            render_put(w, i->next ? ", " : "");
        }
    }
    render_put(w, "))");
    return 0;
}

int render_between(struct render *w, const struct scope *s, const struct expr *e)
{
    const struct expr *low = e->list->first->expr, *high = e->list->last->expr;

    render_put(w, e->negated ? "(not (" : "((");
    RUN_TRY(put_pair(w, s, e->left, " >= ", low));
    render_put(w, " and ");
    RUN_TRY(put_pair(w, s, e->left, " <= ", high));
    render_put(w, "))");
    return 0;
}

/* What a pattern begins with, up to its first sign; an escaped sign is itself. */
static bytes pattern_prefix(struct arena *a, bytes pattern, uint8_t escape)
{
    uint8_t *to = arena_alloc(a, pattern.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < pattern.len; i++) {
        uint8_t c = bytes_u8(pattern)[i];

        if (c == '%' || c == '_')
            break;
        if (c == escape && i + 1 < pattern.len)
            c = bytes_u8(pattern)[++i];
        to[n++] = c;
    }
    return bytes_of(to, n);
}

/* The least text behind all that begin so; false: there is none. */
static bool text_behind(struct arena *a, bytes prefix, bytes *out)
{
    uint8_t *to = arena_alloc(a, prefix.len);
    size_t n = prefix.len;

    memcpy(to, prefix.ptr, n);
    while (n && to[n - 1] == 0xff)
        n--;
    if (!n)
        return false;
    to[n - 1]++;
    *out = bytes_of(to, n);
    return true;
}

/* The bounds that a pattern's beginning gives, so that a key is not walked from end to end. */
static int put_prefix(struct render *w, const struct scope *s, const struct expr *e, bytes pattern,
                      uint8_t escape)
{
    bytes prefix = pattern_prefix(w->r->arena, pattern, escape), behind;

    if (!prefix.len)
        return 0;
    render_put(w, " and ");
    RUN_TRY(render_expr(w, s, e->left));
    render_put(w, " >= ");
    render_text(w, prefix);
    if (!text_behind(w->r->arena, prefix, &behind))
        return 0;
    render_put(w, " and ");
    RUN_TRY(render_expr(w, s, e->left));
    render_put(w, " < cast(");
    render_blob(w, behind);
    render_put(w, " as text)");
    return 0;
}

/* SQLite's LIKE minds case here (select.c). */
static int put_like_side(struct render *w, const struct scope *s, const struct expr *e)
{
    render_put(w, s->any_case_text ? "lower(" : "");
    RUN_TRY(render_expr(w, s, e));
    render_put(w, s->any_case_text ? ")" : "");
    return 0;
}

int render_like(struct render *w, const struct scope *s, const struct expr *e)
{
    uint8_t escape = e->index ? (uint8_t)e->index : '\\';
    struct wr_value pattern;

    render_put(w, e->negated ? "(not " : "(");
    RUN_TRY(put_like_side(w, s, e->left));
    render_put(w, " like ");
    RUN_TRY(put_like_side(w, s, e->right));
    render_put(w, " escape ");
    render_text(w, bytes_of(&escape, 1));
    if (!s->any_case_text && !e->negated && e->left->type == EXPR_COLUMN &&
        convert_constant(w->r, e->right, &pattern) && pattern.type == WR_VARCHAR)
        RUN_TRY(put_prefix(w, s, e, pattern.bytes, escape));
    render_put(w, ")");
    return 0;
}
