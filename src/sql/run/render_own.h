/* render_own.h: what the files that write SQL for SQLite share (render.h). All of them write behind
 * what is in w->out; those that return a number give 0, or -1 with the fault said. */
#ifndef SQL_RUN_RENDER_OWN_H
#define SQL_RUN_RENDER_OWN_H

#include "sql/run/render.h"

/* The tables that names may be of: those of this SELECT, and around it those of the outer ones. */
struct scope {
    const struct scope *outer;
    bool any_case;      /* names do not mind case */
    bool any_case_text; /* nor do texts, in comparisons by SQLite's collation, and in LIKE */
    const char *clause; /* of the statement, for errors; NULL: the list of what is selected */
    struct scope_table *tables, *last;
};

struct scope_table {
    struct scope_table *next;
    bytes name;                    /* alias, or the table's */
    const struct sql_table *table; /* NULL: a SELECT */
    const struct column *columns;  /* of that */
    size_t column_count;
};

struct render {
    struct run *r;
    struct buf out;
    struct rendered *made;
};

/* ---- render_value.c ---- */

void render_put(struct render *w, const char *text);
void render_quoted(struct render *w, bytes text, char quote);
void render_text(struct render *w, bytes text);
void render_blob(struct render *w, bytes b);
/* As SQLite holds a value of a column. */
void render_stored(struct render *w, const struct wr_value *v);
/* A constant that is compared with no column. */
void render_constant(struct render *w, struct wr_value v);
/* Does SQLite hold values of the type as bytes that sort (order.h)? */
bool render_is_ordered(enum wr_type type);

/* ---- scope.c ---- */

/* The table that has the column, and which one it is; NULL: none has. `of` without ptr: any. */
const struct scope_table *scope_find(const struct scope *s, bytes of, bytes name, size_t *out);
/* What is known of a column's type; false: it is no column of a table. */
bool scope_column(const struct scope *s, const struct expr *e, struct table_column *out);
void scope_add(struct scope *s, struct scope_table *t);

/* ---- render_window.c ---- */

int render_over(struct render *w, const struct scope *s, const struct window *o);
/* WINDOW with all of them; NULL: nothing. */
int render_windows(struct render *w, const struct scope *s, const struct window *list);

/* ---- render_type.c ---- */

/* Is its value a moment: NOW(), something plus an interval, CAST to one? */
bool render_is_moment(const struct expr *e);
/* An expression's type, as far as it is known before a row is; WR_NULL: it is as each value. */
enum wr_type render_type(const struct scope *s, const struct expr *e, bool tablestore);
/* The same; where it is as each value, what values are as a rule. */
enum wr_type render_type_likely(const struct scope *s, const struct expr *e);

/* ---- render_compare.c ---- */

/* The side of a comparison whose other side is `with`: a constant becomes what the column holds. */
int render_side(struct render *w, const struct scope *s, const struct expr *e,
                const struct expr *with);
int render_comparison(struct render *w, const struct scope *s, const struct expr *e);
int render_in(struct render *w, const struct scope *s, const struct expr *e);
int render_between(struct render *w, const struct scope *s, const struct expr *e);
int render_like(struct render *w, const struct scope *s, const struct expr *e);

/* ---- render_call.c ---- */

int render_call(struct render *w, const struct scope *s, const struct expr *e);

/* ---- render_expr.c ---- */

int render_expr(struct render *w, const struct scope *s, const struct expr *e);
/* As a number that SQLite computes with. */
int render_number(struct render *w, const struct scope *s, const struct expr *e);
/* As a moment (moment.h). */
int render_moment(struct render *w, const struct scope *s, const struct expr *e);
/* of + interval, or `back`: of - interval. */
int render_interval(struct render *w, const struct scope *s, const struct expr *of,
                    const struct expr *interval, bool back);

/* ---- render_select.c ---- */

/* Expressions, with commas; each as ORDER BY has it. */
int render_list(struct render *w, const struct scope *s, const struct expr_list *l);
int render_subselect(struct render *w, const struct scope *outer, const struct select *s,
                     struct column **columns, size_t *count);

#endif
