#include "sql/run/render_own.h"

/* Below zero or over a day it is no TIME as the MySQL port sends them. */
static const char timediff[] = "wr_timediff";

/* MySQL's name, ours or SQLite's, and how many values it takes. What is not here is not served. */
static const struct {
    const char *name, *as;
    int least, most;
    bool number; /* its values are numbers */
} functions[] = {
    {"count", "count", 1, 1, false},
    {"sum", "sum", 1, 1, true},
    {"avg", "avg", 1, 1, true},
    {"min", "min", 1, 1, false},
    {"max", "max", 1, 1, false},
    {"group_concat", "group_concat", 1, 1, false},
    {"abs", "abs", 1, 1, true},
    {"round", "round", 1, 2, true},
    {"ceil", "ceil", 1, 1, true},
    {"ceiling", "ceil", 1, 1, true},
    {"floor", "floor", 1, 1, true},
    {"mod", "wr_mod", 2, 2, true},
    {"power", "pow", 2, 2, true},
    {"pow", "pow", 2, 2, true},
    {"sqrt", "sqrt", 1, 1, true},
    {"coalesce", "coalesce", 2, 100, false},
    {"ifnull", "ifnull", 2, 2, false},
    {"nullif", "nullif", 2, 2, false},
    {"if", "iif", 3, 3, false},
    {"lower", "lower", 1, 1, false},
    {"lcase", "lower", 1, 1, false},
    {"upper", "upper", 1, 1, false},
    {"ucase", "upper", 1, 1, false},
    {"trim", "trim", 1, 1, false},
    {"ltrim", "ltrim", 1, 1, false},
    {"rtrim", "rtrim", 1, 1, false},
    {"replace", "replace", 3, 3, false},
    {"substr", "substr", 2, 3, false},
    {"substring", "substr", 2, 3, false},
    {"hex", "hex", 1, 1, false},
    {"instr", "instr", 2, 2, false},
    {"char_length", "length", 1, 1, false},
    {"length", "wr_length", 1, 1, false},
    {"concat", "wr_concat", 1, 100, false},
    {"left", "wr_left", 2, 2, false},
    {"right", "wr_right", 2, 2, false},
    {"reverse", "wr_reverse", 1, 1, false},
    {"md5", "wr_md5", 1, 1, false},
    {"sha256", "wr_sha256", 1, 1, false},
    {"locate", "wr_locate", 2, 3, false},
    {"start_with", "wr_start_with", 2, 2, false},
    {"database", "wr_database", 0, 0, false},
    {"schema", "wr_database", 0, 0, false},
    {"user", "wr_user", 0, 0, false},
    {"current_user", "wr_user", 0, 0, false},
    {"version", "wr_version", 0, 0, false},
    {"connection_id", "wr_connection", 0, 0, false},
    {"unix_timestamp", "wr_unix_timestamp", 0, 1, false},
    {"now", "wr_now", 0, 0, false},
    {"from_unixtime", "wr_from_unixtime", 1, 1, true},
    {"date", "wr_date", 1, 1, false},
    {"timediff", timediff, 2, 2, false},
};

int render_call(struct render *w, const struct scope *s, const struct expr *e)
{
    size_t f = 0;
    int n = e->list ? (int)e->list->count : 0;
    bool tablestore = run_is_tablestore(w->r), real;

    while (f < PORT_COUNT(functions) && !run_is_word(e->text, functions[f].name))
        f++;
    if (f == PORT_COUNT(functions) || n < functions[f].least || n > functions[f].most ||
        (!tablestore && functions[f].as == timediff))
        return run_fail(w->r, FAULT_UNSUPPORTED,
                        arena_printf(w->r->arena, "There is no function %.*s with %d arguments",
                                     RUN_TEXT(e->text), n)
                            .ptr);
    real = tablestore && run_is_word(e->text, "sum"); /* whatever it adds up */
    render_put(w, real ? "cast(" : "");
    render_put(w, functions[f].as);
    render_put(w, e->distinct ? "(distinct " : "(");
    for (const struct expr_item *i = e->list ? e->list->first : NULL; i; i = i->next) {
        RUN_TRY(functions[f].number ? render_number(w, s, i->expr) : render_expr(w, s, i->expr));
        render_put(w, i->next ? ", " : "");
    }
    render_put(w, real ? ") as real)" : ")");
    return 0;
}
