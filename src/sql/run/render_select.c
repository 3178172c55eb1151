#include "sql/run/convert.h"
#include "sql/run/information.h"
#include "sql/run/render_own.h"
#include "sql/run/undeclared.h"

int render_list(struct render *w, const struct scope *s, const struct expr_list *l)
{
    for (const struct expr_item *i = l->first; i; i = i->next) {
        RUN_TRY(render_expr(w, s, i->expr));
        render_put(w, i->descending ? " desc" : "");
        render_put(w, i->next ? ", " : "");
    }
    return 0;
}

/* Each use of a table that may have undeclared columns has those that its own SELECT names. */
static struct rendered_table *table_made(struct render *w, struct sql_table *t)
{
    bool own = !t->information && t->declared.dynamic && !run_is_tablestore(w->r);
    bytes name =
        own ? arena_printf(w->r->arena, "%.*s.%.*s %zu", RUN_TEXT(t->database), RUN_TEXT(t->name),
                           w->made->table_count++)
            : arena_printf(w->r->arena, "%.*s.%.*s", RUN_TEXT(t->database), RUN_TEXT(t->name));
    struct rendered_table *out;

    for (out = w->made->tables; out; out = out->next)
        if (bytes_equal(out->name, name))
            return out;
    out = ARENA_NEW(w->r->arena, struct rendered_table);
    *out = (struct rendered_table){.next = w->made->tables, .table = t, .name = name};
    if (!t->information)
        out->paths = paths_of(w->r, t, &out->path_count);
    w->made->tables = out;
    return out;
}

static bool has_star(const struct select *q)
{
    for (const struct expr_item *i = q->items->first; i; i = i->next)
        if (i->expr->type == EXPR_STAR)
            return true;
    return false;
}

/* A table of the user's, with what the SELECT may see of it. */
static int table_see(struct render *w, const struct select *q, const struct from_item *f,
                     struct sql_table **out)
{
    RUN_TRY(table_find_stamped(w->r, &f->name, out));
    if ((*out)->declared.dynamic && !run_is_tablestore(w->r)) {
        undeclared_add(w->r, *out, f->alias, q);
        if (w->made->depth == 1 && has_star(q))
            undeclared_add_rest(w->r, *out);
    }
    table_label(w->r, *out);
    return 0;
}

static int put_from_one(struct render *w, struct scope *s, const struct select *q,
                        const struct from_item *f)
{
    struct scope_table *t = ARENA_NEW(w->r->arena, struct scope_table);
    struct column *columns;
    struct sql_table *table;

    t->name = f->alias;
    if (f->select) {
        render_put(w, "(");
        RUN_TRY(render_subselect(w, s->outer, f->select, &columns, &t->column_count));
        render_put(w, ")");
        t->columns = columns;
    } else {
        RUN_TRY(!run_is_tablestore(w->r) && information_is(&f->name)
                    ? information_find(w->r, &f->name, &table)
                    : table_see(w, q, f, &table));
        render_quoted(w, table_made(w, table)->name, '"');
        t->table = table;
        if (!t->name.ptr)
            t->name = table->name;
    }
    if (t->name.ptr) {
        render_put(w, " as ");
        render_quoted(w, t->name, '"');
    }
    scope_add(s, t);
    return 0;
}

static int put_from(struct render *w, struct scope *s, const struct select *q)
{
    static const char *const joins[] = {[JOIN_NONE] = "",
                                        [JOIN_INNER] = " join ",
                                        [JOIN_LEFT] = " left join ",
                                        [JOIN_RIGHT] = " right join ",
                                        [JOIN_CROSS] = " cross join "};

    render_put(w, " from ");
    for (const struct from_item *f = q->from->first; f; f = f->next) {
        render_put(w, joins[f->join]);
        RUN_TRY(put_from_one(w, s, q, f));
        if (f->on) {
            render_put(w, " on ");
            RUN_TRY(render_expr(w, s, f->on));
        }
        if (!f->using)
            continue;
        render_put(w, " using (");
        for (const struct name_item *n = f->using->first; n; n = n->next) {
            render_quoted(w, n->name, '"');
            render_put(w, n->next ? ", " : ")");
        }
    }
    return 0;
}

struct columns {
    struct column *list;
    size_t count, capacity;
};

static void column_add(struct render *w, struct columns *c, const struct column *column)
{
    if (c->count == c->capacity) {
        struct column *more;

        c->capacity = c->capacity ? 2 * c->capacity : 16;
        more = ARENA_ARRAY(w->r->arena, struct column, c->capacity);
        if (c->count)
            memcpy(more, c->list, c->count * sizeof(*more));
        c->list = more;
    }
    c->list[c->count++] = *column;
}

static struct column table_result(const struct scope_table *t, size_t i)
{
    const struct table_column *column = &t->table->columns[i];

    return (struct column){.database = t->table->database,
                           .table = t->name,
                           .name = column->name,
                           .stored_name = column->name,
                           .type = column->type,
                           .length = column->type == WR_DECIMAL ? 0 : column->length,
                           .digits =
                               column->type == WR_DECIMAL ? (uint8_t)(column->length >> 8) : 0,
                           .fraction = column->type == WR_DECIMAL ? (uint8_t)column->length : 0,
                           .key = i < t->table->key_count,
                           .not_null = i < t->table->key_count,
                           .undeclared = column->type == WR_NULL,
                           .is_rest = column->is_rest};
}

static void put_star_column(struct render *w, const struct scope_table *t, bytes label, bool first)
{
    render_put(w, first ? "" : ", ");
    if (t->name.ptr) {
        render_quoted(w, t->name, '"');
        render_put(w, ".");
    }
    render_quoted(w, label, '"');
}

/* All columns, of all tables or of one. */
static int put_star(struct render *w, const struct scope *s, const struct expr *e,
                    struct columns *out)
{
    size_t before = out->count;

    for (const struct scope_table *t = s->tables; t; t = t->next) {
        size_t n = t->table ? table_shown_count(t->table) : t->column_count;

        if (e->of.ptr && !run_is_name(s->any_case, e->of, t->name))
            continue;
        for (size_t i = 0; i < n; i++) {
            size_t at = t->table ? table_shown(t->table, i) : i;
            struct column column = t->table ? table_result(t, at) : t->columns[i];

            put_star_column(w, t,
                            t->table && t->table->columns[at].label.ptr
                                ? t->table->columns[at].label
                                : column.name,
                            out->count == before);
            column_add(w, out, &column);
        }
        if (t->table && t->table->columns[t->table->column_count - 1].is_rest) {
            struct column column = table_result(t, t->table->column_count - 1);

            put_star_column(w, t, column.name, false);
            column_add(w, out, &column);
            w->made->has_rest = true;
        }
    }
    if (out->count > before)
        return 0;
    return run_fail(w->r, FAULT_UNKNOWN_TABLE, RUN_TEXT(BYTES_LIT("")), RUN_TEXT(e->of));
}

static int put_item(struct render *w, const struct scope *s, const struct expr_item *i,
                    struct columns *out)
{
    struct column column = {.type = render_type(s, i->expr, run_is_tablestore(w->r)),
                            .likely = render_type_likely(s, i->expr),
                            .name = i->name};
    const struct scope_table *t;
    size_t at;

    if (i->expr->type == EXPR_STAR)
        return put_star(w, s, i->expr, out);
    if (i->expr->type == EXPR_COLUMN && (t = scope_find(s, i->expr->of, i->expr->text, &at)) &&
        t->table)
        column = table_result(t, at);
    if (i->name.ptr)
        column.name = i->name;
    else if (i->expr->type == EXPR_VARIABLE)
        column.name = arena_printf(w->r->arena,
                                   bytes_starts(i->expr->text, BYTES_LIT("@")) ? "%.*s" : "@@%.*s",
                                   RUN_TEXT(i->expr->text));
    else if (i->expr->type == EXPR_COLUMN)
        column.name = i->expr->text;
    else
        column.name = bytes_of(bytes_u8(w->r->sql) + i->at, i->end - i->at);
    RUN_TRY(render_expr(w, s, i->expr));
    render_put(w, " as ");
    render_quoted(w, column.name, '"');
    column_add(w, out, &column);
    return 0;
}

static int put_items(struct render *w, const struct scope *s, const struct expr_list *l,
                     struct columns *out)
{
    for (const struct expr_item *i = l->first; i; i = i->next) {
        RUN_TRY(put_item(w, s, i, out));
        render_put(w, i->next ? ", " : "");
    }
    return 0;
}

/* ORDER BY, GROUP BY and HAVING may name what the items are called. */
static void scope_add_items(struct render *w, struct scope *s, const struct columns *c)
{
    struct scope_table *t = ARENA_NEW(w->r->arena, struct scope_table);

    t->columns = c->list;
    t->column_count = c->count;
    scope_add(s, t);
}

static bool orders_by(const struct select *q, bytes column)
{
    for (const struct expr_item *i = q->order->first; i; i = i->next)
        if (i->expr->type == EXPR_COLUMN && bytes_equal(i->expr->text, column))
            return true;
    return false;
}

/* Where rows are ordered by the whole key, versions of a row are the newest first: SQLite may find
 * them by several conditions, one after the other. */
static bool orders_versions(const struct render *w, const struct scope *s, const struct select *q)
{
    const struct sql_table *t = s->tables ? s->tables->table : NULL;

    if (!w->r->versions || !t || t->information || q->group || q->distinct || q->from->count > 1)
        return false;
    for (size_t i = 0; i < t->key_count; i++)
        if (!orders_by(q, t->columns[i].name))
            return false;
    return true;
}

/* Of LIMIT and OFFSET. What is past 64 bits, as MySQL's manual has it for "all others", is all that
 * there can be. A parameter is NULL while its statement is prepared. */
static int put_count(struct render *w, const char *before, const struct expr *e)
{
    static const struct table_column whole = {.type = WR_BIGINT};
    struct wr_value v, n = {.type = WR_NULL};

    render_put(w, before);
    if (!convert_constant(w->r, e, &v) || v.type == WR_NULL)
        return render_expr(w, NULL, e);
    if (v.type == WR_UBIGINT && v.uinteger > INT64_MAX)
        v = (struct wr_value){.type = WR_BIGINT, .integer = INT64_MAX};
    if (!convert_try(w->r->arena, &whole, &v, &n) || n.integer < 0)
        return run_fail(w->r, FAULT_LIMIT, RUN_TEXT(convert_shown(w->r->arena, &v)));
    render_stored(w, &n);
    return 0;
}

static int put_tail(struct render *w, const struct scope *s, const struct select *q)
{
    if (q->group) {
        render_put(w, " group by ");
        RUN_TRY(render_list(w, s, q->group));
    }
    if (q->having) {
        render_put(w, " having ");
        RUN_TRY(render_expr(w, s, q->having));
    }
    RUN_TRY(render_windows(w, s, q->windows));
    if (q->order) {
        render_put(w, " order by ");
        RUN_TRY(render_list(w, s, q->order));
        if (orders_versions(w, s, q))
            render_put(w, ", \"" TABLE_VERSION "\"");
    }
    if (q->limit)
        RUN_TRY(put_count(w, " limit ", q->limit));
    return q->offset ? put_count(w, " offset ", q->offset) : 0;
}

static bool may_join(const struct run *r, const struct from_list *l)
{
    for (const struct from_item *f = l->first; f; f = f->next)
        if (!run_is_tablestore(r) && (f->select || !information_is(&f->name)))
            return false;
    return true;
}

static bool is_aggregate(const struct expr *e);

static bool has_aggregate(const struct expr_list *l)
{
    for (const struct expr_item *i = l ? l->first : NULL; i; i = i->next)
        if (is_aggregate(i->expr))
            return true;
    return false;
}

/* Is it one value of many rows? With a window it is one of each. */
static bool is_aggregate(const struct expr *e)
{
    static const char *const names[] = {"count", "sum", "avg", "min", "max", "group_concat"};

    if (!e)
        return false;
    for (size_t i = 0; i < PORT_COUNT(names) && e->type == EXPR_CALL && !e->over; i++)
        if (run_is_word(e->text, names[i]))
            return true;
    if (e->over && (has_aggregate(e->over->partition) || has_aggregate(e->over->order)))
        return true;
    return has_aggregate(e->list) || is_aggregate(e->left) || is_aggregate(e->right);
}

/* HAVING where nothing is grouped is a condition on what the items are called. SQLite has no such
 * thing: there it is the WHERE of a SELECT around this one. */
static bool having_is_where(const struct select *q)
{
    if (!q->having || q->group || is_aggregate(q->having))
        return false;
    return !has_aggregate(q->items);
}

static int put_having_around(struct render *w, const struct scope *outer, const struct select *q,
                             struct column **columns, size_t *count)
{
    struct scope s = {.outer = outer, .any_case = true};
    struct select within = *q;
    struct columns made = {0};

    within.having = NULL;
    within.limit = within.offset = NULL;
    render_put(w, "select * from (");
    RUN_TRY(render_subselect(w, outer, &within, columns, count));
    made = (struct columns){.list = *columns, .count = *count};
    scope_add_items(w, &s, &made);
    render_put(w, ") where ");
    RUN_TRY(render_expr(w, &s, q->having));
    return put_tail(w, &s, &(struct select){.limit = q->limit, .offset = q->offset});
}

static int put_select(struct render *w, const struct scope *outer, const struct select *q,
                      struct column **columns, size_t *count)
{
    struct render from = {.r = w->r, .made = w->made};
    struct scope s = {.outer = outer, .any_case = run_is_tablestore(w->r)};
    struct columns made = {0};

    RUN_TRY(run_interrupted(w->r)); /* there may be thousands of them */
    if (q->all_of)
        return run_fail(w->r, FAULT_UNSUPPORTED, "UNION is not allowed");
    if (having_is_where(q))
        return put_having_around(w, outer, q, columns, count);
    if (q->from && q->from->count > 1 && !may_join(w->r, q->from))
        return run_fail(w->r, FAULT_UNSUPPORTED, "JOIN is not allowed in Lindorm SQL");
    buf_init(&from.out, w->r->arena, 0);
    if (q->from)
        RUN_TRY(put_from(&from, &s, q));
    render_put(w, q->distinct ? "select distinct " : "select ");
    RUN_TRY(put_items(w, &s, q->items, &made));
    buf_put_bytes(&w->out, buf_bytes(&from.out));
    if (q->where) {
        w->made->conditions = true;
        render_put(w, " where ");
        RUN_TRY(render_expr(w, &s, q->where));
    }
    scope_add_items(w, &s, &made);
    RUN_TRY(put_tail(w, &s, q));
    *columns = made.list;
    *count = made.count;
    return 0;
}

int render_subselect(struct render *w, const struct scope *outer, const struct select *q,
                     struct column **columns, size_t *count)
{
    int code;

    w->made->depth++;
    code = put_select(w, outer, q, columns, count);
    w->made->depth--;
    return code;
}

int render_select(struct run *r, const struct select *s, struct rendered *out)
{
    struct render w = {.r = r, .made = out};

    *out = (struct rendered){0};
    buf_init(&w.out, r->arena, 256);
    RUN_TRY(render_subselect(&w, NULL, s, &out->columns, &out->column_count));
    buf_put_u8(&w.out, 0);
    out->sql = bytes_of(w.out.data, w.out.len - 1);
    return 0;
}

int render_condition(struct run *r, const struct column *columns, size_t count,
                     const struct expr *e, bytes *out)
{
    struct scope_table of = {.columns = columns, .column_count = count};
    struct scope s = {.any_case = true, .any_case_text = true, .clause = "where clause"};
    struct rendered made = {0};
    struct render w = {.r = r, .made = &made};

    scope_add(&s, &of);
    buf_init(&w.out, r->arena, 64);
    RUN_TRY(render_expr(&w, &s, e));
    if (made.tables)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "A condition of SHOW reads no table: information_schema takes any SELECT");
    *out = buf_bytes(&w.out);
    return 0;
}

int render_value(struct run *r, const struct expr *e, bytes *out, enum wr_type *type)
{
    struct rendered made = {0};
    struct render w = {.r = r, .made = &made};
    struct scope s = {0};

    buf_init(&w.out, r->arena, 64);
    render_put(&w, "select ");
    RUN_TRY(render_expr(&w, &s, e));
    buf_put_u8(&w.out, 0);
    *type = render_type(&s, e, run_is_tablestore(r));
    *out = bytes_of(w.out.data, w.out.len - 1);
    return 0;
}
