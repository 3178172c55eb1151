/* render_type.c: of which types the columns of an answer are, as far as that shows in the
 * statement.
 */
#include "sql/run/render_own.h"

bool render_is_moment(const struct expr *e)
{
    if (e->type == EXPR_BINARY)
        return (e->op == OP_ADD || e->op == OP_SUBTRACT) &&
               (e->right->type == EXPR_INTERVAL || e->left->type == EXPR_INTERVAL);
    if (e->type == EXPR_CALL)
        return run_is_word(e->text, "date_add") || run_is_word(e->text, "date_sub") ||
               run_is_word(e->text, "now") || run_is_word(e->text, "current_timestamp") ||
               run_is_word(e->text, "from_unixtime") || run_is_word(e->text, "convert_tz");
    return e->type == EXPR_CAST &&
           (run_is_word(e->text, "timestamp") || run_is_word(e->text, "datetime"));
}

static bool is_one_of(bytes word, const char *const *words)
{
    for (; *words; words++)
        if (run_is_word(word, *words))
            return true;
    return false;
}

static bool is_whole(enum wr_type type)
{
    return type == WR_BOOLEAN || (type >= WR_TINYINT && type <= WR_BIGINT);
}

static bool is_real(enum wr_type type)
{
    return type == WR_FLOAT || type == WR_DOUBLE;
}

enum wr_type render_type(const struct scope *s, const struct expr *e, bool tablestore)
{
    static const struct {
        const char *function;
        enum wr_type type;
        bool tablestore; /* only there */
    } calls[] = {{"count", WR_BIGINT, false},    {"date", WR_DATE, false},
                 {"timediff", WR_TIME, true},    {"sum", WR_DOUBLE, true},
                 {"avg", WR_DOUBLE, false},      {"row_number", WR_BIGINT, false},
                 {"rank", WR_BIGINT, false},     {"dense_rank", WR_BIGINT, false},
                 {"ntile", WR_BIGINT, false},    {"percent_rank", WR_DOUBLE, false},
                 {"cume_dist", WR_DOUBLE, false}};
    /* What they give is one of their first argument's values. */
    static const char *const same[] = {"min",         "max",        "lag",       "lead",
                                       "first_value", "last_value", "nth_value", NULL};
    struct table_column column;

    if (scope_column(s, e, &column))
        return column.type;
    if (render_is_moment(e))
        return WR_TIMESTAMP;
    if (e->type == EXPR_CAST && run_is_word(e->text, "date"))
        return WR_DATE;
    if (e->type != EXPR_CALL)
        return WR_NULL;
    if (e->list && is_one_of(e->text, same) && scope_column(s, e->list->first->expr, &column))
        return column.type;
    if (!tablestore && e->list && run_is_word(e->text, "sum") &&
        scope_column(s, e->list->first->expr, &column))
        return is_whole(column.type) ? WR_BIGINT : is_real(column.type) ? WR_DOUBLE : WR_NULL;
    for (size_t i = 0; i < PORT_COUNT(calls); i++)
        if (run_is_word(e->text, calls[i].function) && (tablestore || !calls[i].tablestore))
            return calls[i].type;
    return WR_NULL;
}

/* ---- what values are as a rule ---- */

static enum wr_type sum_of(enum wr_type a, enum wr_type b)
{
    return is_whole(a) && is_whole(b) ? WR_BIGINT : WR_DOUBLE;
}

static enum wr_type of_call(const struct scope *s, const struct expr *e)
{
    static const char *const whole[] = {
        "length",   "char_length",    "locate",     "instr",         "position",          "sign",
        "datediff", "unix_timestamp", "start_with", "connection_id", "json_extract_long", NULL};
    static const char *const real[] = {"sqrt", "pow", "power", "round", "json_extract_double",
                                       NULL};
    static const char *const same[] = {"min",   "max",    "abs",      "ceil",   "ceiling",
                                       "floor", "ifnull", "coalesce", "nullif", NULL};
    const struct expr_item *first = e->list ? e->list->first : NULL;
    enum wr_type type;

    if (is_one_of(e->text, whole))
        return WR_BIGINT;
    if (is_one_of(e->text, real))
        return WR_DOUBLE;
    if (first && is_one_of(e->text, same))
        return render_type_likely(s, first->expr);
    if (first && first->next && run_is_word(e->text, "if"))
        return render_type_likely(s, first->next->expr);
    if (first && (run_is_word(e->text, "sum") || run_is_word(e->text, "mod"))) {
        type = render_type_likely(s, first->expr);
        return sum_of(type, type);
    }
    return WR_VARCHAR;
}

static enum wr_type of_binary(const struct scope *s, const struct expr *e)
{
    switch (e->op) {
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
    case OP_MODULO:
        return sum_of(render_type_likely(s, e->left), render_type_likely(s, e->right));
    case OP_DIVIDE:
        return WR_DOUBLE;
    default:
        return WR_BIGINT;
    }
}

static enum wr_type of_cast(const struct expr *e)
{
    static const char *const whole[] = {"signed", "unsigned", "bigint", "integer", "int", NULL};
    static const char *const real[] = {"double", "float", NULL};
    static const char *const blob[] = {"binary", "varbinary", NULL};

    return is_one_of(e->text, whole)  ? WR_BIGINT
           : is_one_of(e->text, real) ? WR_DOUBLE
           : is_one_of(e->text, blob) ? WR_VARBINARY
                                      : WR_VARCHAR;
}

enum wr_type render_type_likely(const struct scope *s, const struct expr *e)
{
    enum wr_type type = render_type(s, e, false);

    if (type)
        return type;
    switch (e->type) {
    case EXPR_INTEGER:
    case EXPR_BOOLEAN:
    case EXPR_IN:
    case EXPR_BETWEEN:
    case EXPR_LIKE:
    case EXPR_IS_NULL:
    case EXPR_EXISTS:
        return WR_BIGINT;
    case EXPR_REAL:
        return WR_DOUBLE;
    case EXPR_BLOB:
        return WR_VARBINARY;
    case EXPR_UNARY:
        return e->op == OP_NEGATE ? sum_of(render_type_likely(s, e->left), WR_BIGINT) : WR_BIGINT;
    case EXPR_BINARY:
        return of_binary(s, e);
    case EXPR_CASE:
        return render_type_likely(s, e->list->first->next->expr);
    case EXPR_CAST:
        return of_cast(e);
    case EXPR_CALL:
        return of_call(s, e);
    default:
        return WR_VARCHAR;
    }
}
