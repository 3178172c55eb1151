/* render_window.c: OVER and WINDOW. SQLite's windows are MySQL's: frames, the order of NULL and
 * what they are without words are the same. */
#include "sql/run/render_own.h"

/* SQLite makes a sub-query of each, and its time to prepare them grows with their cube; nothing
 * interrupts that. */
#define WINDOWS_MAX 64

static bool is_time(enum wr_type type)
{
    return type == WR_DATE || type == WR_TIME || type == WR_TIMESTAMP;
}

static bool has_distance(const struct window *o)
{
    return o->from.distance || o->to.distance;
}

static int put_edge(struct render *w, const struct scope *s, const struct frame_edge *e)
{
    static const char *const words[] = {[FRAME_FIRST] = "unbounded preceding",
                                        [FRAME_BEFORE] = " preceding",
                                        [FRAME_CURRENT] = "current row",
                                        [FRAME_BEHIND] = " following",
                                        [FRAME_LAST] = "unbounded following"};

    if (e->distance)
        RUN_TRY(render_expr(w, s, e->distance));
    render_put(w, words[e->at]);
    return 0;
}

static int put_frame(struct render *w, const struct scope *s, const struct window *o)
{
    if (o->unit == FRAME_NONE)
        return 0;
    render_put(w, o->unit == FRAME_ROWS ? " rows " : " range ");
    render_put(w, o->has_to ? "between " : "");
    RUN_TRY(put_edge(w, s, &o->from));
    if (!o->has_to)
        return 0;
    render_put(w, " and ");
    return put_edge(w, s, &o->to);
}

/* A distance is counted in what is sorted by, so that has to be a number for SQLite, too. */
static int put_order(struct render *w, const struct scope *s, const struct window *o)
{
    bool counted = o->unit == FRAME_RANGE && has_distance(o);

    for (const struct expr_item *i = o->order->first; i; i = i->next) {
        struct table_column column;

        if (counted && scope_column(s, i->expr, &column) && is_time(column.type))
            return run_fail(w->r, FAULT_UNSUPPORTED,
                            "RANGE with a distance takes numbers to sort by: for a moment, sort by "
                            "UNIX_TIMESTAMP(it)");
        RUN_TRY(counted ? render_number(w, s, i->expr) : render_expr(w, s, i->expr));
        render_put(w, i->descending ? " desc" : "");
        render_put(w, i->next ? ", " : "");
    }
    return 0;
}

static int put_window(struct render *w, const struct scope *s, const struct window *o)
{
    render_put(w, "(");
    if (o->of.ptr)
        render_quoted(w, o->of, '"');
    if (o->partition) {
        render_put(w, " partition by ");
        RUN_TRY(render_list(w, s, o->partition));
    }
    if (o->order) {
        render_put(w, " order by ");
        RUN_TRY(put_order(w, s, o));
    }
    RUN_TRY(put_frame(w, s, o));
    render_put(w, ")");
    return 0;
}

int render_over(struct render *w, const struct scope *s, const struct window *o)
{
    if (run_is_tablestore(w->r))
        return run_fail(w->r, FAULT_UNSUPPORTED, "SQLQuery has no window functions");
    if (++w->made->window_count > WINDOWS_MAX)
        return run_fail(w->r, FAULT_UNSUPPORTED, "A statement has at most 64 window functions");
    render_put(w, " over ");
    if (!o->bare)
        return put_window(w, s, o);
    render_quoted(w, o->of, '"');
    return 0;
}

int render_windows(struct render *w, const struct scope *s, const struct window *list)
{
    for (const struct window *o = list; o; o = o->next) {
        render_put(w, o == list ? " window " : ", ");
        render_quoted(w, o->name, '"');
        render_put(w, " as ");
        RUN_TRY(put_window(w, s, o));
    }
    return 0;
}
