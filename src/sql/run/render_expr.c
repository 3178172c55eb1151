#include "base/number.h"
#include "sql/run/convert.h"
#include "sql/run/moment.h"
#include "sql/run/render_own.h"
#include "sql/run/user_variable.h"
#include "sql/run/variable.h"

#include <inttypes.h>

static int put_column(struct render *w, const struct scope *s, const struct expr *e)
{
    const struct scope_table *t;
    size_t i;

    if (!(t = scope_find(s, e->of, e->text, &i)))
        return run_fail(w->r, FAULT_UNKNOWN_COLUMN, RUN_TEXT(e->text),
                        RUN_TEXT(bytes_str(s->clause ? s->clause : "field list")));
    if (e->of.ptr) {
        render_quoted(w, e->of, '"');
        render_put(w, ".");
    }
    render_quoted(w, t->table && !t->table->information ? t->table->columns[i].label : e->text,
                  '"');
    return 0;
}

int render_number(struct render *w, const struct scope *s, const struct expr *e)
{
    struct table_column column;

    if (!scope_column(s, e, &column) || !render_is_ordered(column.type))
        return render_expr(w, s, e);
    render_put(w, column.type == WR_DECIMAL ? "wr_decimal(" : "wr_unsigned(");
    RUN_TRY(render_expr(w, s, e));
    render_put(w, ")");
    return 0;
}

/* A DATE is a number of days. */
int render_moment(struct render *w, const struct scope *s, const struct expr *e)
{
    struct table_column column;
    bool date = scope_column(s, e, &column) && column.type == WR_DATE;

    render_put(w, date ? "(86400000 * " : "");
    RUN_TRY(render_expr(w, s, e));
    render_put(w, date ? ")" : "");
    return 0;
}

int render_interval(struct render *w, const struct scope *s, const struct expr *of,
                    const struct expr *interval, bool back)
{
    if (!moment_is_unit(interval->text))
        return run_fail(w->r, FAULT_UNSUPPORTED,
                        "INTERVAL takes MICROSECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, "
                        "QUARTER or YEAR");
    render_put(w, "wr_interval(");
    RUN_TRY(render_moment(w, s, of));
    render_put(w, back ? ", -(" : ", (");
    RUN_TRY(render_number(w, s, interval->left));
    render_put(w, "), ");
    render_text(w, interval->text);
    render_put(w, ")");
    return 0;
}

static int put_call2(struct render *w, const struct scope *s, const char *name,
                     const struct expr *e)
{
    render_put(w, name);
    render_put(w, "(");
    RUN_TRY(render_number(w, s, e->left));
    render_put(w, ", ");
    RUN_TRY(render_number(w, s, e->right));
    render_put(w, ")");
    return 0;
}

static int put_infix(struct render *w, const struct scope *s, const char *sign,
                     const struct expr *e)
{
    render_put(w, "(");
    RUN_TRY(render_number(w, s, e->left));
    render_put(w, sign);
    RUN_TRY(render_number(w, s, e->right));
    render_put(w, ")");
    return 0;
}

static int put_binary(struct render *w, const struct scope *s, const struct expr *e)
{
    static const struct {
        const char *infix, *call;
    } forms[] = {
        [OP_OR] = {" or ", NULL},         [OP_XOR] = {NULL, "wr_xor"},
        [OP_AND] = {" and ", NULL},       [OP_ADD] = {" + ", NULL},
        [OP_SUBTRACT] = {" - ", NULL},    [OP_MULTIPLY] = {" * ", NULL},
        [OP_DIVIDE] = {NULL, "wr_div"},   [OP_DIVIDE_WHOLE] = {NULL, "wr_div_whole"},
        [OP_MODULO] = {NULL, "wr_mod"},   [OP_BIT_OR] = {" | ", NULL},
        [OP_BIT_AND] = {" & ", NULL},     [OP_BIT_XOR] = {NULL, "wr_bit_xor"},
        [OP_SHIFT_LEFT] = {" << ", NULL}, [OP_SHIFT_RIGHT] = {" >> ", NULL},
    };

    if (e->op >= OP_EQUAL && e->op <= OP_GREATER_EQUAL)
        return render_comparison(w, s, e);
    if (render_is_moment(e))
        return e->right->type == EXPR_INTERVAL
                   ? render_interval(w, s, e->left, e->right, e->op == OP_SUBTRACT)
                   : render_interval(w, s, e->right, e->left, false);
    if (e->op == OP_REGEXP)
        return run_fail(w->r, FAULT_UNSUPPORTED, "REGEXP is not served: use LIKE");
    return forms[e->op].call ? put_call2(w, s, forms[e->op].call, e)
                             : put_infix(w, s, forms[e->op].infix, e);
}

static int put_unary(struct render *w, const struct scope *s, const struct expr *e)
{
    render_put(w, e->op == OP_NOT ? "(not " : e->op == OP_NEGATE ? "(- " : "(~ ");
    RUN_TRY(render_number(w, s, e->left));
    render_put(w, ")");
    return 0;
}

static int put_case(struct render *w, const struct scope *s, const struct expr *e)
{
    bool when = true;

    render_put(w, "case ");
    if (e->left)
        RUN_TRY(render_expr(w, s, e->left));
    for (const struct expr_item *i = e->list->first; i; i = i->next, when = !when) {
        render_put(w, when ? " when " : " then ");
        RUN_TRY(when && e->left ? render_side(w, s, i->expr, e->left) : render_expr(w, s, i->expr));
    }
    if (e->right) {
        render_put(w, " else ");
        RUN_TRY(render_expr(w, s, e->right));
    }
    render_put(w, " end");
    return 0;
}

static int put_cast(struct render *w, const struct scope *s, const struct expr *e)
{
    static const struct {
        const char *name, *before, *behind;
    } casts[] = {{"char", "cast(", " as text)"},     {"varchar", "cast(", " as text)"},
                 {"signed", "wr_signed(", ")"},      {"unsigned", "wr_signed(", ")"},
                 {"bigint", "wr_signed(", ")"},      {"integer", "wr_signed(", ")"},
                 {"int", "wr_signed(", ")"},         {"double", "cast(", " as real)"},
                 {"float", "cast(", " as real)"},    {"binary", "cast(", " as blob)"},
                 {"varbinary", "cast(", " as blob)"}};

    if (render_is_moment(e)) {
        render_put(w, "wr_moment(");
        RUN_TRY(render_moment(w, s, e->left));
        render_put(w, ")");
        return 0;
    }
    if (run_is_word(e->text, "date")) {
        render_put(w, "wr_date(");
        RUN_TRY(render_moment(w, s, e->left));
        render_put(w, ")");
        return 0;
    }

    for (size_t i = 0; i < PORT_COUNT(casts); i++)
        if (run_is_word(e->text, casts[i].name)) {
            bool cut = e->index && strcmp(casts[i].behind, " as text)") == 0;

            render_put(w, cut ? "wr_left(" : "");
            render_put(w, casts[i].before);
            RUN_TRY(render_number(w, s, e->left));
            render_put(w, casts[i].behind);
            if (cut)
                render_put(w, arena_printf(w->r->arena, ", %" PRIu32 ")", e->index).ptr);
            return 0;
        }
    return run_fail(w->r, FAULT_TYPE, RUN_TEXT(e->text), " that CAST makes");
}

static int put_subselect(struct render *w, const struct scope *s, const struct expr *e)
{
    struct column *columns;
    size_t count;

    render_put(w, e->type == EXPR_EXISTS ? "exists (" : "(");
    RUN_TRY(render_subselect(w, s, e->select, &columns, &count));
    render_put(w, ")");
    return 0;
}

static int put_variable(struct render *w, const struct expr *e)
{
    struct wr_value own;
    int64_t number;
    bytes value;

    if (bytes_starts(e->text, BYTES_LIT("@"))) {
        user_variable_get(w->r->session, e->text, &own);
        render_constant(w, own);
        return 0;
    }
    if (!variable_find(w->r->session, e->text, &value))
        return run_fail(w->r, FAULT_UNKNOWN_VARIABLE, RUN_TEXT(e->text));
    /* A flag that is off is 0, as MySQL has it: who asks takes the text '0' for true. */
    if (number_integer(value, &number))
        render_put(w, arena_printf(w->r->arena, "%" PRId64, number).ptr);
    else
        render_text(w, value);
    return 0;
}

int render_expr(struct render *w, const struct scope *s, const struct expr *e)
{
    struct wr_value v;

    if (convert_constant(w->r, e, &v)) {
        render_constant(w, v);
        return 0;
    }
    switch (e->type) {
    case EXPR_COLUMN:
        return put_column(w, s, e);
    case EXPR_STAR:
        render_put(w, "*");
        return 0;
    case EXPR_UNARY:
        return put_unary(w, s, e);
    case EXPR_BINARY:
        return put_binary(w, s, e);
    case EXPR_IN:
        return render_in(w, s, e);
    case EXPR_BETWEEN:
        return render_between(w, s, e);
    case EXPR_LIKE:
        return render_like(w, s, e);
    case EXPR_IS_NULL:
        render_put(w, "(");
        RUN_TRY(render_expr(w, s, e->left));
        render_put(w, e->negated ? " is not null)" : " is null)");
        return 0;
    case EXPR_CALL:
        return render_call(w, s, e);
    case EXPR_CASE:
        return put_case(w, s, e);
    case EXPR_CAST:
        return put_cast(w, s, e);
    case EXPR_VARIABLE:
        return put_variable(w, e);
    case EXPR_SELECT:
    case EXPR_EXISTS:
        return put_subselect(w, s, e);
    default:
        return run_fail(w->r, FAULT_UNSUPPORTED, "An expression of that form is not served here");
    }
}
