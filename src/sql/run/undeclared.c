#include "sql/run/undeclared.h"

#include "sql/run/convert.h"

#define STAMP "_l_ts"
#define REST_NAME " rest" /* no name of a column begins with a blank */
#define ROWS_BYTES_MAX (8 << 20)
#define NAMES_MAX 4000 /* a result has no more columns */

/* ---- what a SELECT names ---- */

struct search {
    struct run *r;
    struct sql_table *t;
    bytes alias;
    const struct select *select;
    bool alone; /* a name without a table's in front is this one's */
};

static void column_append(struct search *s, const struct table_column *c)
{
    struct sql_table *t = s->t;
    struct table_column *columns =
        ARENA_ARRAY(s->r->arena, struct table_column, t->column_count + 1);

    memcpy(columns, t->columns, t->column_count * sizeof(*columns));
    columns[t->column_count++] = *c;
    t->columns = columns;
    t->hidden_count++;
}

static bool is_item(const struct select *s, bytes name)
{
    for (const struct expr_item *i = s->items->first; i; i = i->next)
        if (i->name.ptr && bytes_equal(i->name, name))
            return true;
    return false;
}

static void name_add(struct search *s, bytes name)
{
    size_t stamp = strlen(STAMP);

    if (table_column(s->t, name) != SIZE_MAX)
        return;
    if (name.len > stamp && bytes_equal(bytes_skip(name, name.len - stamp), BYTES_LIT(STAMP))) {
        name_add(s, bytes_of(name.ptr, name.len - stamp));
        column_append(s, &(struct table_column){.name = name,
                                                .type = WR_BIGINT,
                                                .stamp_of = bytes_of(name.ptr, name.len - stamp)});
        return;
    }
    column_append(s, &(struct table_column){.name = name, .type = WR_NULL});
}

static void select_search(struct search *s, const struct select *q);

static void expr_search(struct search *s, const struct expr *e, bool items);

static void list_search(struct search *s, const struct expr_list *l, bool items)
{
    for (const struct expr_item *i = l ? l->first : NULL; i; i = i->next)
        expr_search(s, i->expr, items);
}

static void window_search(struct search *s, const struct window *w)
{
    list_search(s, w->partition, false);
    list_search(s, w->order, false);
}

/* `items`: names of the SELECT's items are not the table's here. */
static void expr_search(struct search *s, const struct expr *e, bool items)
{
    if (!e)
        return;
    if (e->type == EXPR_COLUMN && (e->of.ptr ? bytes_equal(e->of, s->alias)
                                             : s->alone && !(items && is_item(s->select, e->text))))
        name_add(s, e->text);
    expr_search(s, e->left, items);
    expr_search(s, e->right, items);
    list_search(s, e->list, items);
    if (e->over)
        window_search(s, e->over);
    if (e->select) {
        struct search within = {s->r, s->t, s->alias, e->select, false};

        select_search(&within, e->select);
    }
}

static void select_search(struct search *s, const struct select *q)
{
    list_search(s, q->items, false);
    expr_search(s, q->where, false);
    list_search(s, q->group, true);
    expr_search(s, q->having, true);
    for (const struct window *w = q->windows; w; w = w->next)
        window_search(s, w);
    list_search(s, q->order, true);
}

void undeclared_add(struct run *r, struct sql_table *t, bytes alias, const struct select *s)
{
    struct search search = {r, t, alias.ptr ? alias : t->name, s, s->from->count == 1};

    select_search(&search, s);
}

int undeclared_find(struct run *r, struct sql_table *t, bytes name, const char *where, size_t *out)
{
    struct search s = {.r = r, .t = t};

    if (t->declared.dynamic && table_column(t, name) == SIZE_MAX)
        column_append(&s, &(struct table_column){.name = name, .type = WR_NULL});
    return table_column_find(r, t, name, where, out);
}

void undeclared_add_rest(struct run *r, struct sql_table *t)
{
    struct search s = {.r = r, .t = t};

    column_append(&s, &(struct table_column){
                          .name = BYTES_LIT(REST_NAME), .type = WR_VARBINARY, .is_rest = true});
}

/* ---- the hidden column ---- */

static bool is_declared(const struct sql_table *t, bytes name)
{
    for (size_t i = 0; i < t->column_count - t->hidden_count; i++)
        if (bytes_equal(t->columns[i].name, name))
            return true;
    return false;
}

/* Values as texts: a column has one type, and cells of one name may have several. */
bytes undeclared_rest(struct arena *a, const struct sql_table *t, const struct wr_row *row)
{
    bytes before = BYTES_NONE;
    struct buf b;

    buf_init(&b, a, 256);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *c = &row->cells[i];

        if ((before.ptr && bytes_equal(before, c->name)) || is_declared(t, c->name))
            continue;
        before = c->name;
        buf_put_counted(&b, c->name);
        buf_put_u8(&b, c->value.type == WR_VARBINARY || c->value.type == WR_BINARY);
        buf_put_counted(&b, convert_text(a, &c->value));
    }
    return b.len ? buf_bytes(&b) : BYTES_LIT("");
}

/* ---- dealing out ---- */

struct row {
    struct row *next;
    struct wr_value values[];
};

struct undeclared_rows {
    struct run *r;
    const struct column *columns;
    size_t count, bytes;
    struct row *first, *last;
    struct column *found; /* sorted by their names */
    size_t found_count;
};

struct undeclared_rows *undeclared_rows_new(struct run *r, const struct column *columns,
                                            size_t count)
{
    struct undeclared_rows *u = ARENA_NEW(r->arena, struct undeclared_rows);

    *u = (struct undeclared_rows){.r = r, .columns = columns, .count = count};
    u->found = ARENA_ARRAY(r->arena, struct column, NAMES_MAX);
    return u;
}

static size_t found_place(const struct undeclared_rows *u, bytes name, bool *there)
{
    size_t low = 0, high = u->found_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = bytes_compare(u->found[middle].name, name);

        if (order == 0)
            return (*there = true, middle);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *there = false;
    return low;
}

static int rest_note(struct undeclared_rows *u, bytes rest)
{
    struct reader in = reader_of(rest);

    while (reader_left(&in)) {
        bytes name = read_counted(&in);
        bool binary = read_u8(&in), there;
        size_t at = found_place(u, name, &there);

        read_counted(&in);
        if (!there && u->found_count == NAMES_MAX)
            return run_fail(u->r, FAULT_UNDECLARED, NAMES_MAX, "columns");
        if (!there) {
            memmove(&u->found[at + 1], &u->found[at], (u->found_count++ - at) * sizeof(*u->found));
            u->found[at] = (struct column){.name = name, .stored_name = name, .type = WR_VARCHAR};
        }
        if (binary)
            u->found[at].type = WR_VARBINARY;
    }
    return 0;
}

int undeclared_rows_add(struct undeclared_rows *u, const struct wr_value *values)
{
    struct row *row = arena_zalloc(u->r->arena, sizeof(*row) + u->count * sizeof(row->values[0]));

    u->bytes += sizeof(*row) + u->count * sizeof(row->values[0]);
    for (size_t i = 0; i < u->count; i++) {
        row->values[i] = values[i];
        if (!convert_has_bytes(&values[i]))
            continue;
        u->bytes += values[i].bytes.len;
        if (u->bytes > ROWS_BYTES_MAX)
            return run_fail(u->r, FAULT_UNDECLARED, ROWS_BYTES_MAX, "bytes");
        row->values[i].bytes = arena_copy(u->r->arena, values[i].bytes);
        if (u->columns[i].is_rest)
            RUN_TRY(rest_note(u, row->values[i].bytes));
    }
    if (u->last)
        u->last->next = row;
    else
        u->first = row;
    u->last = row;
    return 0;
}

static void rest_deal(const struct undeclared_rows *u, bytes rest, struct wr_value *out)
{
    struct reader in = reader_of(rest);

    for (size_t i = 0; i < u->found_count; i++)
        out[i] = (struct wr_value){.type = WR_NULL};
    while (reader_left(&in)) {
        bytes name = read_counted(&in), value;
        bool there;
        size_t at = found_place(u, name, &there);

        read_u8(&in);
        value = read_counted(&in);
        out[at] = (struct wr_value){.type = u->found[at].type,
                                    .bytes = value.ptr ? value : BYTES_LIT("")};
    }
}

static int row_send(struct undeclared_rows *u, const struct row *row, struct wr_value *out)
{
    size_t n = 0;

    for (size_t i = 0; i < u->count; i++) {
        if (!u->columns[i].is_rest) {
            out[n++] = row->values[i];
            continue;
        }
        rest_deal(u, row->values[i].type == WR_NULL ? BYTES_LIT("") : row->values[i].bytes,
                  out + n);
        n += u->found_count;
    }
    return u->r->sink->row(u->r->sink, out);
}

int undeclared_rows_send(struct undeclared_rows *u)
{
    size_t most = u->count * (1 + u->found_count), n = 0;
    struct column *columns = ARENA_ARRAY(u->r->arena, struct column, most);
    struct wr_value *values = ARENA_ARRAY(u->r->arena, struct wr_value, most);

    for (size_t i = 0; i < u->count; i++)
        if (!u->columns[i].is_rest)
            columns[n++] = u->columns[i];
        else
            for (size_t k = 0; k < u->found_count; k++) {
                columns[n] = u->found[k];
                columns[n].database = u->columns[i].database;
                columns[n++].table = u->columns[i].table;
            }
    RUN_TRY(u->r->sink->columns(u->r->sink, columns, n));
    for (const struct row *row = u->first; row; row = row->next)
        RUN_TRY(row_send(u, row, values));
    return 0;
}
