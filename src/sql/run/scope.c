#include "sql/run/render_own.h"

const struct scope_table *scope_find(const struct scope *s, bytes of, bytes name, size_t *out)
{
    for (; s; s = s->outer)
        for (const struct scope_table *t = s->tables; t; t = t->next) {
            bool any_case = s->any_case || (t->table && t->table->any_case);
            size_t n = t->table ? t->table->column_count : t->column_count;

            if (of.ptr && !run_is_name(s->any_case, of, t->name))
                continue;
            for (*out = 0; *out < n; ++*out)
                if (run_is_name(any_case, name,
                                t->table ? t->table->columns[*out].name : t->columns[*out].name))
                    return t;
        }
    return NULL;
}

bool scope_column(const struct scope *s, const struct expr *e, struct table_column *out)
{
    const struct scope_table *t;
    size_t i;

    if (e->type != EXPR_COLUMN || !(t = scope_find(s, e->of, e->text, &i)))
        return false;
    *out = t->table ? t->table->columns[i]
                    : (struct table_column){.name = e->text, .type = t->columns[i].type};
    return out->type != WR_NULL;
}

void scope_add(struct scope *s, struct scope_table *t)
{
    if (s->last)
        s->last->next = t;
    else
        s->tables = t;
    s->last = t;
}
