#include "sql/run/render_own.h"

/* Below zero or over a day it is no TIME as the MySQL port sends them. */
static const char timediff[] = "wr_timediff";

/* TEXT: what is stored as a number or in an order of its own, as people read it. BESIDE: of another
 * row, a distance, and what stands for it where there is no such row. */
enum argument { ANY, NUMBER, TEXT, MOMENT, BESIDE };

/* MySQL's name, ours or SQLite's, and how many values it takes. What is not here is not served. */
static const struct {
    const char *name, *as;
    int least, most;
    enum argument of; /* what its values are */
} functions[] = {
    {"count", "count", 1, 1, ANY},
    {"sum", "sum", 1, 1, NUMBER},
    {"avg", "avg", 1, 1, NUMBER},
    {"min", "min", 1, 1, ANY},
    {"max", "max", 1, 1, ANY},
    {"group_concat", "group_concat", 1, 1, TEXT},
    {"abs", "abs", 1, 1, NUMBER},
    {"round", "wr_round", 1, 2, NUMBER},
    {"ceil", "ceil", 1, 1, NUMBER},
    {"ceiling", "ceil", 1, 1, NUMBER},
    {"floor", "floor", 1, 1, NUMBER},
    {"mod", "wr_mod", 2, 2, NUMBER},
    {"power", "pow", 2, 2, NUMBER},
    {"pow", "pow", 2, 2, NUMBER},
    {"sqrt", "sqrt", 1, 1, NUMBER},
    {"coalesce", "coalesce", 2, 100, ANY},
    {"ifnull", "ifnull", 2, 2, ANY},
    {"nullif", "nullif", 2, 2, ANY},
    {"if", "iif", 3, 3, ANY},
    {"lower", "wr_lower", 1, 1, TEXT},
    {"lcase", "wr_lower", 1, 1, TEXT},
    {"upper", "wr_upper", 1, 1, TEXT},
    {"ucase", "wr_upper", 1, 1, TEXT},
    {"trim", "trim", 1, 1, TEXT},
    {"ltrim", "ltrim", 1, 1, TEXT},
    {"rtrim", "rtrim", 1, 1, TEXT},
    {"replace", "replace", 3, 3, TEXT},
    {"substr", "wr_substr", 2, 3, TEXT},
    {"substring", "wr_substr", 2, 3, TEXT},
    {"hex", "wr_hex", 1, 1, TEXT},
    {"instr", "instr", 2, 2, TEXT},
    {"char_length", "wr_char_length", 1, 1, TEXT},
    {"length", "wr_length", 1, 1, TEXT},
    {"concat", "wr_concat", 1, 100, TEXT},
    {"left", "wr_left", 2, 2, TEXT},
    {"right", "wr_right", 2, 2, TEXT},
    {"reverse", "wr_reverse", 1, 1, TEXT},
    {"md5", "wr_md5", 1, 1, TEXT},
    {"sha256", "wr_sha256", 1, 1, TEXT},
    {"locate", "wr_locate", 2, 3, TEXT},
    {"position", "wr_locate", 2, 2, TEXT},
    {"start_with", "wr_start_with", 2, 2, TEXT},
    {"database", "wr_database", 0, 0, ANY},
    {"schema", "wr_database", 0, 0, ANY},
    {"user", "wr_user", 0, 0, ANY},
    {"current_user", "wr_user", 0, 0, ANY},
    {"version", "wr_version", 0, 0, ANY},
    {"connection_id", "wr_connection", 0, 0, ANY},
    {"unix_timestamp", "wr_unix_timestamp", 0, 1, MOMENT},
    {"now", "wr_now", 0, 0, ANY},
    {"from_unixtime", "wr_from_unixtime", 1, 1, NUMBER},
    {"current_timestamp", "wr_now", 0, 0, ANY},
    {"date", "wr_date", 1, 1, MOMENT},
    {"date_format", "wr_date_format", 2, 2, MOMENT},
    {"datediff", "wr_datediff", 2, 2, MOMENT},
    {"convert_tz", "wr_convert_tz", 3, 3, MOMENT},
    {"timediff", timediff, 2, 2, MOMENT},
    {"row_number", "row_number", 0, 0, ANY},
    {"rank", "rank", 0, 0, ANY},
    {"dense_rank", "dense_rank", 0, 0, ANY},
    {"percent_rank", "percent_rank", 0, 0, ANY},
    {"cume_dist", "cume_dist", 0, 0, ANY},
    {"ntile", "ntile", 1, 1, NUMBER},
    {"lag", "lag", 1, 3, BESIDE},
    {"lead", "lead", 1, 3, BESIDE},
    {"first_value", "first_value", 1, 1, ANY},
    {"last_value", "last_value", 1, 1, ANY},
    {"nth_value", "nth_value", 2, 2, ANY},
    {"json_object", "json_object", 0, 100, ANY},
    {"json_array", "json_array", 0, 100, ANY},
    {"json_set", "json_set", 3, 99, ANY},
    {"json_insert", "json_insert", 3, 99, ANY},
    {"json_replace", "json_replace", 3, 99, ANY},
    {"json_remove", "json_remove", 2, 100, ANY},
    {"json_valid", "json_valid", 1, 1, ANY},
};

/* Forms that are no plain call in SQLite's: what stands before, between and behind two values. */
static const struct {
    const char *name, *before, *between, *behind;
} forms[] = {
    {"json_extract", "(", " -> ", ")"}, /* as JSON: a text has its quotes */
    {"json_extract_string", "cast((", " ->> ", ") as text)"},
    {"json_extract_long", "cast((", " ->> ", ") as integer)"},
    {"json_extract_double", "cast((", " ->> ", ") as real)"},
};

static bool form_find(const struct expr *e, size_t *out)
{
    for (*out = 0; *out < PORT_COUNT(forms); ++*out)
        if (run_is_word(e->text, forms[*out].name))
            return e->list && e->list->count == 2;
    return false;
}

static int put_form(struct render *w, const struct scope *s, const struct expr *e, size_t f)
{
    render_put(w, forms[f].before);
    RUN_TRY(render_expr(w, s, e->list->first->expr));
    render_put(w, forms[f].between);
    RUN_TRY(render_expr(w, s, e->list->first->next->expr));
    render_put(w, forms[f].behind);
    return 0;
}

/* JSON_CONTAINS(document, value[, path]): is it there, or an element of the array there? */
static int put_contains(struct render *w, const struct scope *s, const struct expr *e)
{
    const struct expr_item *path = e->list->first->next->next;

    render_put(w, "exists (select 1 from json_each(");
    RUN_TRY(render_expr(w, s, e->list->first->expr));
    if (path) {
        render_put(w, ", ");
        RUN_TRY(render_expr(w, s, path->expr));
    }
    render_put(w, ") as j where json_quote(j.value) = json(");
    RUN_TRY(render_expr(w, s, e->list->first->next->expr));
    render_put(w, "))");
    return 0;
}

/* A number of a text function stays one: SQLite makes the text of it. */
static int put_text(struct render *w, const struct scope *s, const struct expr *e)
{
    enum wr_type type = render_type(s, e, run_is_tablestore(w->r));

    if (type != WR_DATE && type != WR_TIME && type != WR_TIMESTAMP && !render_is_ordered(type))
        return render_expr(w, s, e);
    render_put(w, "wr_shown(");
    RUN_TRY(render_expr(w, s, e));
    buf_put_bytes(&w->out, arena_printf(w->r->arena, ", %d)", (int)type));
    return 0;
}

static int put_argument(struct render *w, const struct scope *s, const struct expr_list *l,
                        const struct expr_item *i, enum argument of)
{
    const struct expr *e = i->expr;

    if (of == BESIDE && i == l->last && l->count == 3)
        return render_side(w, s, e, l->first->expr);
    return of == NUMBER   ? render_number(w, s, e)
           : of == TEXT   ? put_text(w, s, e)
           : of == MOMENT ? render_moment(w, s, e)
                          : render_expr(w, s, e);
}

int render_call(struct render *w, const struct scope *s, const struct expr *e)
{
    size_t f = 0;
    int n = e->list ? (int)e->list->count : 0;
    bool tablestore = run_is_tablestore(w->r), real;

    if (!e->over && form_find(e, &f))
        return put_form(w, s, e, f);
    if (!e->over && run_is_word(e->text, "json_contains") && (n == 2 || n == 3))
        return put_contains(w, s, e);
    if (!e->over && (run_is_word(e->text, "date_add") || run_is_word(e->text, "date_sub")) &&
        n == 2 && e->list->first->next->expr->type == EXPR_INTERVAL)
        return render_interval(w, s, e->list->first->expr, e->list->first->next->expr,
                               run_is_word(e->text, "date_sub"));
    f = 0;
    while (f < PORT_COUNT(functions) && !run_is_word(e->text, functions[f].name))
        f++;
    if (f == PORT_COUNT(functions) || n < functions[f].least || n > functions[f].most ||
        (!tablestore && functions[f].as == timediff))
        return run_fail(w->r, FAULT_UNSUPPORTED,
                        arena_printf(w->r->arena, "There is no function %.*s with %d arguments",
                                     RUN_TEXT(e->text), n)
                            .ptr);
    real = tablestore && !e->over && run_is_word(e->text, "sum"); /* whatever it adds up */
    render_put(w, real ? "cast(" : "");
    render_put(w, functions[f].as);
    render_put(w, e->distinct ? "(distinct " : "(");
    for (const struct expr_item *i = e->list ? e->list->first : NULL; i; i = i->next) {
        RUN_TRY(put_argument(w, s, e->list, i, functions[f].of));
        render_put(w, i->next ? ", " : "");
    }
    render_put(w, real ? ") as real)" : ")");
    return e->over ? render_over(w, s, e->over) : 0;
}
