#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool model_equal(const struct row_state *a, const struct row_state *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

static bool compare_holds(const struct change *c, const struct row_state *row)
{
    return !c->compares || ((row->has & 1u << COLUMN_V) && row->column[COLUMN_V] == c->expect);
}

bool model_holds(const struct change *c, const struct row_state *row)
{
    bool exists = row->has & ROW_EXISTS;

    if (c->existence != EXIST_ANY && exists != (c->existence == EXIST_YES))
        return false;
    return c->untold || compare_holds(c, row);
}

void model_change(const struct change *c, struct row_state *row)
{
    if (!compare_holds(c, row))
        return; /* untold */
    if (c->type != CHANGE_UPDATE)
        *row = (struct row_state){0};
    if (c->type == CHANGE_DELETE)
        return;
    for (int i = 0; i < COLUMNS; i++) {
        if (c->removes & 1u << i) {
            row->has &= ~(1u << i);
            row->column[i] = 0;
        }
        if (c->sets & 1u << i) {
            row->has |= 1u << i;
            row->column[i] = c->column[i];
        }
    }
    if (c->increments) {
        row->has |= 1u << COLUMN_N;
        row->column[COLUMN_N] += c->delta;
    }
    /* An update that only removes columns makes no row. */
    if (c->type == CHANGE_PUT || c->sets || c->increments)
        row->has |= ROW_EXISTS;
}

struct row_state model_visible(const struct row_state *row, uint8_t columns)
{
    struct row_state out = {.has = row->has & columns};

    for (int i = 0; i < COLUMNS; i++)
        if (out.has & 1u << i)
            out.column[i] = row->column[i];
    /* A row that has none of the columns asked for is answered as absent. */
    if (out.has || columns == ALL_COLUMNS)
        out.has |= row->has & ROW_EXISTS;
    return out;
}

static bool step_read(const struct op *o, const struct state *in)
{
    for (int i = 0; i < GROUP_ROWS; i++) {
        struct row_state row;

        if (!(o->rows & 1u << i))
            continue;
        row = model_visible(&in->rows[i], o->columns);
        if (!model_equal(&row, &o->seen[i]))
            return false;
    }
    return true;
}

static bool step_txn(const struct op *o, const struct state *in, struct state *out)
{
    struct state now = *in, next;

    for (int i = 0; i < o->step_count; i++) {
        struct op step;

        if (!model_project(&o->steps[i], o->rows, &step))
            continue;
        if (!model_step(&step, &now, &next))
            return false;
        now = next;
    }
    *out = o->outcome == REFUSED ? *in : now;
    return true;
}

bool model_step(const struct op *o, const struct state *in, struct state *out)
{
    bool holds = true;

    *out = *in;
    if (o->type == OP_READ)
        return step_read(o, in);
    if (o->type == OP_TXN)
        return step_txn(o, in, out);
    for (int i = 0; i < o->change_count; i++)
        holds &= model_holds(&o->changes[i], &in->rows[o->changes[i].row]);
    if (holds == (o->outcome == REFUSED))
        return false;
    if (!holds)
        return true;
    for (int i = 0; i < o->change_count; i++)
        model_change(&o->changes[i], &out->rows[o->changes[i].row]);
    return !o->returned || out->rows[o->changes[0].row].column[COLUMN_N] == o->returned_n;
}

bool model_project(const struct op *o, uint8_t rows, struct op *out)
{
    if (!(o->rows & rows))
        return false;
    *out = *o;
    out->rows &= rows;
    if (o->type != OP_WRITE || out->rows == o->rows)
        return true;
    /* Whose condition failed is not known. */
    if (o->outcome == REFUSED)
        return false;
    out->change_count = 0;
    for (int i = 0; i < o->change_count; i++)
        if (rows & 1u << o->changes[i].row)
            out->changes[out->change_count++] = o->changes[i];
    return true;
}

/* ---- text */

struct text {
    char *at;
    size_t left;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *fmt, ...)
{
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(t->at, t->left, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->left)
        n = t->left ? (int)t->left - 1 : 0;
    t->at += n;
    t->left -= (size_t)n;
}

static void add_columns(struct text *t, const int32_t *column, uint32_t which)
{
    for (int i = 0; i < COLUMNS; i++)
        if (which & 1u << i)
            add(t, " %c=%" PRId32, "vwn"[i], column[i]);
}

static void add_row(struct text *t, int at, const struct row_state *row)
{
    add(t, " r%d:", at);
    if (row->has & ROW_EXISTS || row->has)
        add_columns(t, row->column, row->has);
    else
        add(t, " absent");
    if (row->has == ROW_EXISTS)
        add(t, " key only");
}

static void add_change(struct text *t, const struct change *c)
{
    static const char *const types[] = {"put", "update", "delete"};

    add(t, " %s r%d", types[c->type], c->row);
    add_columns(t, c->column, c->sets);
    for (int i = 0; i < COLUMNS; i++)
        if (c->removes & 1u << i)
            add(t, " -%c", "vwn"[i]);
    if (c->increments)
        add(t, " n+=%" PRId32, c->delta);
    if (c->existence)
        add(t, c->existence == EXIST_YES ? " if it exists" : " if it is absent");
    if (c->compares)
        add(t, " %s v=%" PRId32, c->untold ? "where" : "if", c->expect);
}

static const char *const outcomes[] = {"done", "condition failed", "no answer",
                                       "error, nothing changed"};

static void add_step(struct text *t, const struct op *o)
{
    if (o->type == OP_READ) {
        add(t, " read");
        if (o->columns != ALL_COLUMNS)
            for (int i = 0; i < COLUMNS; i++)
                if (o->columns & 1u << i)
                    add(t, " %c", "vwn"[i]);
        add(t, " ->");
        for (int i = 0; i < GROUP_ROWS; i++)
            if (o->rows & 1u << i)
                add_row(t, i, &o->seen[i]);
        return;
    }
    if (o->change_count > 1)
        add(t, " together:");
    for (int i = 0; i < o->change_count; i++) {
        add(t, i ? ";" : "");
        add_change(t, &o->changes[i]);
    }
    add(t, " -> %s", outcomes[o->outcome]);
    if (o->returned)
        add(t, ", n=%" PRId32, o->returned_n);
}

char *model_print_op(const struct op *o, int64_t zero_ns, char *text, size_t size)
{
    struct text t = {text, size};

    add(&t, "#%-6" PRIu32 " client %-2d %10.3f .. ", o->id, o->client,
        (double)(o->call_ns - zero_ns) / 1e6);
    if (o->return_ns == NEVER)
        add(&t, "%10s ms ", "");
    else
        add(&t, "%10.3f ms ", (double)(o->return_ns - zero_ns) / 1e6);
    if (o->type == OP_TXN) {
        add(&t, " transaction of %d steps -> %s:", o->step_count,
            o->outcome == REFUSED ? "aborted" : outcomes[o->outcome]);
        for (int i = 0; i < o->step_count; i++) {
            add(&t, "\n            ");
            add_step(&t, &o->steps[i]);
        }
        return text;
    }
    add_step(&t, o);
    return text;
}
char *model_print_state(const struct state *s, uint8_t rows, char *text, size_t size)
{
    struct text t = {text, size};

    *text = 0;
    for (int i = 0; i < GROUP_ROWS; i++)
        if (rows & 1u << i)
            add_row(&t, i, &s->rows[i]);
    return text;
}
