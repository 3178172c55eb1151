/* user_variable_set.c: what SET @a = gives a variable. */
#include "sql/run/convert.h"
#include "sql/run/user_variable.h"

struct kept {
    struct sink sink;
    struct run *r;
    struct wr_value value;
};

/* Numbers stay what they are; all else that a value may be is a text. */
static void simplify(struct run *r, struct wr_value *v)
{
    switch (v->type) {
    case WR_NULL:
    case WR_BIGINT:
    case WR_DOUBLE:
    case WR_VARCHAR:
    case WR_VARBINARY:
        break;
    case WR_BOOLEAN:
        *v = (struct wr_value){.type = WR_BIGINT, .integer = v->boolean};
        break;
    default:
        *v = (struct wr_value){.type = WR_VARCHAR, .bytes = convert_shown(r->arena, v)};
    }
}

static int on_columns(struct sink *s, const struct column *columns, size_t count)
{
    (void)s, (void)columns, (void)count;
    return 0;
}

static int on_row(struct sink *s, const struct wr_value *values)
{
    struct kept *k = PORT_CONTAINER(s, struct kept, sink);

    k->value = convert_copy(k->r->arena, &values[0]);
    simplify(k->r, &k->value);
    return 0;
}

/* What SELECT e would show. */
static int value_read(struct run *r, const struct expr *e, struct wr_value *out)
{
    struct kept k = {.sink = {on_columns, on_row}, .r = r};
    struct expr_item item = {.expr = (struct expr *)e, .name = BYTES_LIT("value")};
    struct expr_list items = {&item, &item, 1};
    struct select q = {.items = &items};
    struct sink *sink = r->sink;
    int code;

    r->sink = &k.sink;
    code = run_select(r, &q);
    r->sink = sink;
    *out = k.value;
    return code;
}

int user_variable_set(struct run *r, bytes name, const struct expr *e)
{
    struct wr_value value;

    RUN_TRY(value_read(r, e, &value));
    return user_variable_keep(r, name, &value);
}
