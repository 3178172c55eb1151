#include "sql/run/aggregate.h"

#include "base/buf.h"
#include "sql/run/convert.h"
#include "sql/run/information.h"
#include "sql/run/order.h"
#include "sql/run/parts.h"
#include "sql/run/transaction.h"

#include <math.h>

#define STEP_BYTES_MAX 1000 /* of a text, so that the next one is a key column, too */

enum aggregate_type { AGGREGATE_COUNT, AGGREGATE_MIN, AGGREGATE_MAX, AGGREGATE_SUM };

struct aggregate {
    enum aggregate_type type;
    size_t column; /* SIZE_MAX: count(*) */
    bool length;   /* of the column's values: LENGTH(column) */
    const struct expr_item *item;
    int64_t count; /* of values */
    struct wr_value value;
    struct buf room; /* of a text or bytes that the value is */
};

/* A bound of a key column; ptr NULL in `value`: none. */
struct bound {
    bool given, with;
    struct wr_value value;
};

/* What a part of the range comes to, which a thread of its own may walk. */
struct aggregate_part {
    const struct sql_table *t;
    struct aggregate *list;
    size_t count;
    struct arena arena; /* of values that are kept */
};

struct aggregate_walk {
    struct run *r;
    struct sql_table *t;
    struct aggregate *list;
    size_t count;
    /* What WHERE says of the key: of each column, from the first on. */
    struct bound *lower, *upper;
    struct wr_request range;
    bool empty;
};

/* ---- what it is about ---- */

static bool is_whole_number(enum wr_type type)
{
    return type == WR_TINYINT || type == WR_SMALLINT || type == WR_INTEGER || type == WR_BIGINT;
}

static bool is_real(enum wr_type type)
{
    return type == WR_FLOAT || type == WR_DOUBLE;
}

static bool has_bytes(enum wr_type type)
{
    return type == WR_VARCHAR || type == WR_CHAR || type == WR_JSON || type == WR_BINARY ||
           type == WR_VARBINARY;
}

/* A column, or its LENGTH. */
static bool column_take(struct aggregate_walk *w, struct aggregate *a, const struct expr *of)
{
    a->length = of->type == EXPR_CALL && !of->over && !of->distinct && of->list &&
                of->list->count == 1 && run_is_word(of->text, "length");
    if (a->length)
        of = of->list->first->expr;
    if (of->type != EXPR_COLUMN || of->of.ptr)
        return false;
    a->column = table_column(w->t, of->text);
    return a->column != SIZE_MAX && (!a->length || has_bytes(w->t->columns[a->column].type));
}

static enum wr_type value_type(const struct aggregate_walk *w, const struct aggregate *a)
{
    return a->length ? WR_BIGINT : w->t->columns[a->column].type;
}

static bool item_take(struct aggregate_walk *w, const struct expr_item *i)
{
    static const char *const names[] = {[AGGREGATE_COUNT] = "count",
                                        [AGGREGATE_MIN] = "min",
                                        [AGGREGATE_MAX] = "max",
                                        [AGGREGATE_SUM] = "sum"};
    struct aggregate *a = &w->list[w->count++];
    const struct expr *e = i->expr, *of;
    size_t type = 0;

    if (e->type != EXPR_CALL || e->over || e->distinct || !e->list || e->list->count != 1)
        return false;
    while (type < PORT_COUNT(names) && !run_is_word(e->text, names[type]))
        type++;
    of = e->list->first->expr;
    *a = (struct aggregate){.type = (enum aggregate_type)type, .item = i, .column = SIZE_MAX};
    if (type == PORT_COUNT(names))
        return false;
    if (of->type == EXPR_STAR)
        return type == AGGREGATE_COUNT && !of->of.ptr;
    if (!column_take(w, a, of))
        return false;
    if (type == AGGREGATE_SUM)
        return is_whole_number(value_type(w, a)) || is_real(value_type(w, a));
    return value_type(w, a) != WR_DECIMAL;
}

static bool items_take(struct aggregate_walk *w, const struct select *s)
{
    w->list = ARENA_ARRAY(w->r->arena, struct aggregate, s->items->count);
    for (const struct expr_item *i = s->items->first; i; i = i->next)
        if (!item_take(w, i))
            return false;
    return true;
}

static bool is_alone(const struct select *s)
{
    return s->from && s->from->count == 1 && !s->from->first->select &&
           !s->from->first->alias.ptr && !information_is(&s->from->first->name) && !s->group &&
           !s->having && !s->order && !s->limit && !s->offset && !s->all_of && !s->distinct &&
           s->items->first->expr->type == EXPR_CALL;
}

/* ---- WHERE ---- */

/* Whole numbers and texts, each with its like: all else has rules of its own. */
static bool bound_take(struct aggregate_walk *w, struct bound *bounds, const struct expr *column,
                       const struct expr *value, bool with)
{
    const struct table_column *of;
    struct wr_value constant;
    struct bound *b;
    size_t i;

    if (column->type != EXPR_COLUMN || column->of.ptr || !convert_constant(w->r, value, &constant))
        return false;
    i = table_column(w->t, column->text);
    if (i >= w->t->key_count || bounds[i].given)
        return false;
    of = &w->t->columns[i];
    b = &bounds[i];
    if (constant.type != (is_whole_number(of->type) ? WR_BIGINT : WR_VARCHAR) ||
        (constant.type == WR_VARCHAR && of->type != WR_VARCHAR))
        return false;
    *b = (struct bound){.given = true, .with = with};
    return convert_try(w->r->arena, of, &constant, &b->value);
}

static bool comparison_take(struct aggregate_walk *w, enum expr_op op, const struct expr *column,
                            const struct expr *value)
{
    switch (op) {
    case OP_EQUAL:
        return bound_take(w, w->lower, column, value, true) &&
               bound_take(w, w->upper, column, value, true);
    case OP_GREATER:
    case OP_GREATER_EQUAL:
        return bound_take(w, w->lower, column, value, op == OP_GREATER_EQUAL);
    case OP_LESS:
    case OP_LESS_EQUAL:
        return bound_take(w, w->upper, column, value, op == OP_LESS_EQUAL);
    default:
        return false;
    }
}

static enum expr_op op_swapped(enum expr_op op)
{
    return op == OP_GREATER         ? OP_LESS
           : op == OP_GREATER_EQUAL ? OP_LESS_EQUAL
           : op == OP_LESS          ? OP_GREATER
           : op == OP_LESS_EQUAL    ? OP_GREATER_EQUAL
                                    : op;
}

static bool where_take(struct aggregate_walk *w, const struct expr *e)
{
    if (e->type == EXPR_BETWEEN)
        return !e->negated && bound_take(w, w->lower, e->left, e->list->first->expr, true) &&
               bound_take(w, w->upper, e->left, e->list->first->next->expr, true);
    if (e->type != EXPR_BINARY)
        return false;
    if (e->op == OP_AND)
        return where_take(w, e->left) && where_take(w, e->right);
    return e->left->type == EXPR_COLUMN ? comparison_take(w, e->op, e->left, e->right)
                                        : comparison_take(w, op_swapped(e->op), e->right, e->left);
}

/* ---- the range ---- */

static struct wr_key_column *edge_make(struct aggregate_walk *w, enum wr_type rest)
{
    struct wr_key_column *out = ARENA_ARRAY(w->r->arena, struct wr_key_column, w->t->key_count);

    for (size_t i = 0; i < w->t->key_count; i++)
        out[i] = (struct wr_key_column){w->t->columns[i].name, {.type = rest}};
    return out;
}

/* The next value in the column's order, so that an end belongs to the range, or a start does not.
 * False: there is no way to say it. */
static bool value_step(struct aggregate_walk *w, size_t column, struct wr_value *v)
{
    bool down = w->t->columns[column].descending;
    uint8_t *text;

    if (v->type != WR_VARCHAR) {
        if (v->integer == (down ? INT64_MIN : INT64_MAX))
            *v = (struct wr_value){.type = WR_INF_MAX};
        else
            v->integer += down ? -1 : 1;
        return w->t->columns[column].type == WR_BIGINT || v->type == WR_INF_MAX;
    }
    if (down || v->bytes.len > STEP_BYTES_MAX)
        return false;
    text = arena_alloc(w->r->arena, v->bytes.len + 1);
    memcpy(text, v->bytes.ptr ? v->bytes.ptr : "", v->bytes.len);
    text[v->bytes.len] = 0;
    v->bytes = bytes_of(text, v->bytes.len + 1);
    return true;
}

/* Puts a bound into an edge. `behind`: the edge lies behind all keys that begin with it. */
static bool edge_set(struct aggregate_walk *w, struct wr_key_column *edge, size_t column,
                     const struct bound *b, bool behind)
{
    edge[column].value = b->value;
    for (size_t i = column + 1; i < w->t->key_count; i++)
        edge[i].value = (struct wr_value){.type = behind ? WR_INF_MAX : WR_INF_MIN};
    return column + 1 < w->t->key_count || !behind || value_step(w, column, &edge[column].value);
}

static bool is_equality(const struct aggregate_walk *w, size_t i)
{
    const struct bound *a = &w->lower[i], *b = &w->upper[i];

    return a->given && b->given && a->with && b->with &&
           value_order(w->r->arena, &a->value, &b->value) == 0;
}

/* Bounds that contradict each other. */
static bool is_empty(const struct aggregate_walk *w, size_t i)
{
    const struct bound *a = &w->lower[i], *b = &w->upper[i];
    int order = a->given && b->given ? value_order(w->r->arena, &a->value, &b->value) : -1;

    return order > 0 || (order == 0 && !(a->with && b->with));
}

static bool is_before(const struct aggregate_walk *w, size_t i, const struct wr_key_column *a,
                      const struct wr_key_column *b)
{
    int order;

    if (a[i].value.type >= WR_INF_MIN || b[i].value.type >= WR_INF_MIN)
        return true;
    order = value_order(w->r->arena, &a[i].value, &b[i].value);
    return w->t->columns[i].descending ? order > 0 : order < 0;
}

/* Equalities of the first columns, then bounds of one, and nothing behind it. */
static bool range_make(struct aggregate_walk *w)
{
    struct wr_key_column *start = edge_make(w, WR_INF_MIN), *end = edge_make(w, WR_INF_MAX);
    size_t n = w->t->key_count, equal = 0;

    while (equal < n && is_equality(w, equal)) {
        start[equal].value = end[equal].value = w->lower[equal].value;
        equal++;
    }
    for (size_t i = equal + 1; i < n; i++)
        if (w->lower[i].given || w->upper[i].given)
            return false;
    if (equal == n)
        return false; /* it is one row */
    if (w->lower[equal].given || w->upper[equal].given) {
        bool down = w->t->columns[equal].descending;
        const struct bound *first = down ? &w->upper[equal] : &w->lower[equal];
        const struct bound *last = down ? &w->lower[equal] : &w->upper[equal];

        w->empty = is_empty(w, equal);
        if ((first->given && !edge_set(w, start, equal, first, !first->with)) ||
            (last->given && !edge_set(w, end, equal, last, last->with)))
            return false;
        w->empty |= start[equal].value.type == WR_INF_MAX ||
                    (equal + 1 == n && !is_before(w, equal, start, end));
    }
    w->range.get_range.start = (struct wr_key){start, n};
    w->range.get_range.end = (struct wr_key){end, n};
    return true;
}

/* ---- values ---- */

static void value_keep(struct aggregate *a, const struct wr_value *v)
{
    a->value = *v;
    if (v->type != WR_DECIMAL && !has_bytes(v->type))
        return;
    a->room.len = 0;
    buf_put_bytes(&a->room, v->bytes);
    a->value.bytes = a->room.len ? buf_bytes(&a->room) : BYTES_LIT("");
}

/* Not 0: the sum is past what BIGINT holds. */
static int sum_add(struct aggregate *a, const struct wr_value *v)
{
    if (is_real(v->type)) {
        a->value =
            (struct wr_value){.type = WR_DOUBLE, .real = (a->count ? a->value.real : 0) + v->real};
        return 0;
    }
    a->value.type = WR_BIGINT;
    return __builtin_add_overflow(a->value.integer, v->integer, &a->value.integer) ? -1 : 0;
}

/* `count` values come to this one. */
static int value_add(struct arena *arena, struct aggregate *a, const struct wr_value *v,
                     int64_t count)
{
    int order;

    if (v->type == WR_NULL || (is_real(v->type) && isnan(v->real)))
        return 0;
    if (a->type == AGGREGATE_SUM)
        RUN_TRY(sum_add(a, v));
    if (a->type == AGGREGATE_MIN || a->type == AGGREGATE_MAX) {
        order = a->count ? value_order(arena, v, &a->value) : 0;
        if (!a->count || (a->type == AGGREGATE_MIN ? order < 0 : order > 0))
            value_keep(a, v);
    }
    a->count += count;
    return 0;
}

/* A row as it is read, on the thread that reads. */
static int row_add(void *arg, const struct wr_row *row)
{
    struct aggregate_part *p = arg;

    for (size_t i = 0; i < p->count; i++) {
        struct aggregate *a = &p->list[i];
        struct wr_value v;

        if (a->column == SIZE_MAX) {
            a->count++;
            continue;
        }
        v = table_value(p->t, a->column, row);
        if (a->length && v.type != WR_NULL)
            v = (struct wr_value){.type = WR_BIGINT, .integer = (int64_t)v.bytes.len};
        if (value_add(&p->arena, a, &v, 1))
            return WR_E_PARAMETER;
    }
    return 0;
}

/* ---- parts ---- */

static void part_open(struct aggregate_walk *w, struct aggregate_part *p)
{
    arena_init(&p->arena, NULL, 0);
    p->t = w->t;
    p->count = w->count;
    p->list = ARENA_ARRAY(w->r->arena, struct aggregate, w->count);
    for (size_t i = 0; i < w->count; i++) {
        p->list[i] = w->list[i];
        buf_init(&p->list[i].room, &p->arena, 0);
    }
}

static int part_add(struct aggregate_walk *w, const struct aggregate_part *p)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct aggregate *of = &p->list[i];

        if (of->type == AGGREGATE_COUNT)
            w->list[i].count += of->count;
        else if (of->count && value_add(w->r->arena, &w->list[i], &of->value, of->count))
            return run_fail(w->r, FAULT_SUM_RANGE);
    }
    return 0;
}

/* A sum of numbers with fractions depends on the order, and the requests of a transaction come one
 * after the other. */
static int parts_count(const struct aggregate_walk *w)
{
    if (!w->r->session->conf.walkers || w->range.get_range.transaction.ptr)
        return 1;
    for (size_t i = 0; i < w->count; i++)
        if (w->list[i].type == AGGREGATE_SUM && is_real(value_type(w, &w->list[i])))
            return 1;
    return PARTS_MAX;
}

static int range_add(struct aggregate_walk *w)
{
    struct aggregate_part part[PARTS_MAX];
    struct parts parts = {.r = w->r,
                          .t = w->t,
                          .range = &w->range,
                          .count = parts_count(w),
                          .on_row = row_add,
                          .refusal = FAULT_SUM_RANGE};
    int code;

    for (int i = 0; i < parts.count; i++) {
        part_open(w, &part[i]);
        parts.args[i] = &part[i];
    }
    code = parts_walk(&parts);
    for (int i = 0; i < parts.count; i++) {
        if (!code)
            code = part_add(w, &part[i]);
        arena_release(&part[i].arena);
    }
    return code;
}

/* ---- the answer ---- */

static void columns_set(struct aggregate_walk *w)
{
    struct wr_read_options *read = &w->range.get_range.read;
    struct wr_bytes *names = ARENA_ARRAY(w->r->arena, struct wr_bytes, w->count + 1);

    names[read->column_count++] = w->t->columns[0].name; /* so that all rows are seen */
    for (size_t i = 0; i < w->count; i++)
        if (w->list[i].column != SIZE_MAX && w->list[i].column >= w->t->key_count)
            names[read->column_count++] = w->t->columns[w->list[i].column].name;
    read->columns = names;
    read->max_versions = 1;
    read->has_max_versions = true;
}

static enum wr_type type_of(const struct aggregate_walk *w, const struct aggregate *a)
{
    enum wr_type column;

    if (a->type == AGGREGATE_COUNT)
        return WR_BIGINT;
    column = value_type(w, a);
    return a->type != AGGREGATE_SUM ? column : is_real(column) ? WR_DOUBLE : WR_BIGINT;
}

static int columns_send(struct aggregate_walk *w)
{
    struct column *columns = ARENA_ARRAY(w->r->arena, struct column, w->count);

    for (size_t i = 0; i < w->count; i++) {
        const struct expr_item *item = w->list[i].item;

        columns[i].name = item->name.ptr
                              ? item->name
                              : bytes_of(bytes_u8(w->r->sql) + item->at, item->end - item->at);
        columns[i].type = type_of(w, &w->list[i]);
    }
    return w->r->sink->columns(w->r->sink, columns, w->count);
}

static int answer_send(struct aggregate_walk *w)
{
    struct wr_value *values = ARENA_ARRAY(w->r->arena, struct wr_value, w->count);

    for (size_t i = 0; i < w->count; i++) {
        const struct aggregate *a = &w->list[i];

        if (a->type == AGGREGATE_COUNT)
            values[i] = (struct wr_value){.type = WR_BIGINT, .integer = a->count};
        else
            values[i] = a->count ? a->value : (struct wr_value){.type = WR_NULL};
    }
    RUN_TRY(columns_send(w));
    return w->r->sink->row(w->r->sink, values);
}

int run_aggregate(struct run *r, const struct select *s, bool *served)
{
    struct aggregate_walk w = {.r = r, .range = {WR_REQUEST(GET_RANGE)}};

    *served = false;
    if (!is_alone(s))
        return 0;
    RUN_TRY(table_find(r, &s->from->first->name, &w.t));
    w.lower = ARENA_ARRAY(r->arena, struct bound, 2 * w.t->key_count);
    w.upper = w.lower + w.t->key_count;
    if (!items_take(&w, s) || (s->where && !where_take(&w, s->where)) || !range_make(&w))
        return 0;
    *served = true;
    if (r->only_columns)
        return columns_send(&w);
    for (size_t i = 0; i < w.count; i++)
        buf_init(&w.list[i].room, r->arena, 0);
    w.range.instance = w.t->database;
    w.range.client = r->session->conf.client;
    w.range.deadline_ms = r->deadline_ms;
    w.range.gone = r->session->conf.gone;
    w.range.get_range.table = w.t->name;
    columns_set(&w);
    RUN_TRY(transaction_read(r, w.t, false, &w.range.get_range.start, &w.range.get_range.end,
                             &w.range.get_range.transaction));
    RUN_TRY(w.empty ? 0 : range_add(&w));
    return answer_send(&w);
}
