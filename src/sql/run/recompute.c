#include "sql/run/recompute.h"

#include "sql/run/convert.h"

/* What is asked for: the values, then the columns. */
struct asked {
    struct run *r;
    const struct sql_table *t;
    struct expr_list items;
    size_t *columns; /* that the assignments name, but those of the key */
    size_t column_count;
};

bool recompute_is_needed(const struct expr *e)
{
    if (!e)
        return false;
    if (e->type == EXPR_COLUMN || e->select || recompute_is_needed(e->left) ||
        recompute_is_needed(e->right))
        return true;
    for (const struct expr_item *i = e->list ? e->list->first : NULL; i; i = i->next)
        if (recompute_is_needed(i->expr))
            return true;
    return false;
}

static void item_add(struct asked *a, struct expr *e)
{
    struct expr_item *item = ARENA_NEW(a->r->arena, struct expr_item);

    item->expr = e;
    item->name = arena_printf(a->r->arena, " %zu", a->items.count++);
    if (a->items.last)
        a->items.last->next = item;
    else
        a->items.first = item;
    a->items.last = item;
}

static int column_take(struct asked *a, bytes name)
{
    size_t i;

    RUN_TRY(table_column_find(a->r, a->t, name, "field list", &i));
    for (size_t k = 0; k < a->column_count; k++)
        if (a->columns[k] == i)
            return 0;
    if (i >= a->t->key_count)
        a->columns[a->column_count++] = i;
    return 0;
}

static int columns_take(struct asked *a, const struct expr *e)
{
    if (!e)
        return 0;
    if (e->select)
        return run_fail(a->r, FAULT_UNSUPPORTED, "UPDATE takes no sub-queries");
    if (e->over)
        return run_fail(a->r, FAULT_UNSUPPORTED, "UPDATE takes no window functions");
    if (e->type == EXPR_COLUMN)
        RUN_TRY(column_take(a, e->text));
    RUN_TRY(columns_take(a, e->left));
    RUN_TRY(columns_take(a, e->right));
    for (const struct expr_item *i = e->list ? e->list->first : NULL; i; i = i->next)
        RUN_TRY(columns_take(a, i->expr));
    return 0;
}

/* ---- the row ---- */

struct kept {
    struct sink sink;
    struct arena *arena;
    struct wr_value *values;
    size_t count;
    bool found;
};

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    struct kept *k = PORT_CONTAINER(s, struct kept, sink);

    (void)columns;
    k->count = count;
    return 0;
}

static int on_row(struct sink *s, const struct wr_value *values)
{
    struct kept *k = PORT_CONTAINER(s, struct kept, sink);

    k->found = true;
    for (size_t i = 0; i < k->count; i++)
        k->values[i] = convert_copy(k->arena, &values[i]);
    return 0;
}

static int row_ask(struct asked *a, const struct statement *s, struct kept *k)
{
    struct from_item from = {.name = s->table};
    struct from_list list = {&from, &from, 1};
    struct select q = {.items = &a->items, .from = &list, .where = s->where};
    struct sink *sink = a->r->sink;
    int code;

    a->r->sink = &k->sink;
    code = run_select(a->r, &q);
    a->r->sink = sink;
    return code;
}

static void unchanged_make(const struct asked *a, const struct wr_value *values,
                           struct wr_filter *out)
{
    struct wr_filter *subs = ARENA_ARRAY(a->r->arena, struct wr_filter, a->column_count + 1);

    for (size_t i = 0; i < a->column_count; i++) {
        bool none = values[i].type == WR_NULL;

        subs[i].type = WR_FILTER_COLUMN;
        subs[i].column = (struct wr_column_filter){.comparator = none ? WR_NOT_EXIST : WR_EQUAL,
                                                   .column = a->t->columns[a->columns[i]].name,
                                                   .value = values[i],
                                                   .filter_if_missing = !none,
                                                   .latest_version_only = true};
    }
    *out = subs[0];
    if (a->column_count > 1)
        *out = (struct wr_filter){.type = WR_FILTER_COMPOSITE,
                                  .composite = {WR_AND, subs, a->column_count}};
}

int recompute_row(struct run *r, const struct statement *s, const struct sql_table *t,
                  struct wr_value *values, struct wr_filter *unchanged, bool *found)
{
    struct asked a = {.r = r, .t = t, .columns = ARENA_ARRAY(r->arena, size_t, t->column_count)};
    struct kept k = {.sink = {on_columns, on_row}, .arena = r->arena};

    for (const struct expr_item *i = s->assignments->first; i; i = i->next) {
        RUN_TRY(columns_take(&a, i->expr));
        item_add(&a, i->expr);
    }
    for (size_t i = 0; i < a.column_count; i++) {
        struct expr *e = ARENA_NEW(r->arena, struct expr);

        *e = (struct expr){.type = EXPR_COLUMN, .text = t->columns[a.columns[i]].name};
        item_add(&a, e);
    }
    k.values = ARENA_ARRAY(r->arena, struct wr_value, a.items.count);
    RUN_TRY(row_ask(&a, s, &k));
    *found = k.found;
    memcpy(values, k.values, s->assignments->count * sizeof(*values));
    *unchanged = (struct wr_filter){.type = WR_FILTER_COLUMN};
    if (k.found && a.column_count)
        unchanged_make(&a, k.values + s->assignments->count, unchanged);
    return 0;
}
