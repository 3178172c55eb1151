#include "sql/run/where.h"

#include "sql/run/convert.h"

struct key_search {
    struct run *r;
    const struct sql_table *t;
    struct wr_key_column *columns; /* with a name: found */
    size_t found;
    bool empty;
};

static bool is_column(const struct key_search *s, const struct expr *e, size_t *out)
{
    if (e->type != EXPR_COLUMN || (e->of.ptr && !bytes_equal(e->of, s->t->name)))
        return false;
    *out = table_column(s->t, e->text);
    return *out < s->t->key_count;
}

static bool equality_take(struct key_search *s, const struct expr *column, const struct expr *value)
{
    struct wr_value constant;
    size_t i;

    if (!is_column(s, column, &i) || s->columns[i].name.ptr ||
        !convert_constant(s->r, value, &constant))
        return false;
    s->columns[i].name = s->t->columns[i].name;
    if (constant.type == WR_NULL ||
        !convert_try(s->r->arena, &s->t->columns[i], &constant, &s->columns[i].value))
        s->empty = true;
    s->found++;
    return true;
}

static bool conjunction_take(struct key_search *s, const struct expr *e)
{
    if (e->type != EXPR_BINARY)
        return false;
    if (e->op == OP_AND)
        return conjunction_take(s, e->left) && conjunction_take(s, e->right);
    return e->op == OP_EQUAL &&
           (equality_take(s, e->left, e->right) || equality_take(s, e->right, e->left));
}

bool where_is_key(struct run *r, const struct sql_table *t, const struct expr *where,
                  struct wr_key *key, bool *empty)
{
    struct key_search s = {
        .r = r, .t = t, .columns = ARENA_ARRAY(r->arena, struct wr_key_column, t->key_count)};

    if (!where || !conjunction_take(&s, where) || s.found < t->key_count)
        return false;
    *key = (struct wr_key){s.columns, t->key_count};
    *empty = s.empty;
    return true;
}

bool where_first_value(struct run *r, const struct sql_table *t, const struct expr *where,
                       struct wr_value *out)
{
    struct key_search s = {
        .r = r, .t = t, .columns = ARENA_ARRAY(r->arena, struct wr_key_column, t->key_count)};

    if (!where || where->type != EXPR_BINARY)
        return false;
    if (where->op == OP_AND)
        return where_first_value(r, t, where->left, out) ||
               where_first_value(r, t, where->right, out);
    if (!conjunction_take(&s, where) || !s.columns[0].name.ptr || s.empty)
        return false;
    *out = s.columns[0].value;
    return true;
}
