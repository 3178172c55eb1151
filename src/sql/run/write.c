/* write.c: UPSERT, INSERT (which is UPSERT), UPDATE and DELETE of rows by their key.
 *
 * Columns that a statement does not name stay, so each row is an UpdateRow; NULL removes a column.
 * DEFAULT is for new rows: a row with defaults is written on the condition that it is not there,
 * and if it is, without them.
 * Rows of one statement are written side by side, not together: when one fails, those before it in
 * its batch and the batches before are in, and the fault says how many. */
#include "sql/run/compute.h"
#include "sql/run/convert.h"
#include "sql/run/default.h"
#include "sql/run/hint.h"
#include "sql/run/planted.h"
#include "sql/run/recompute.h"
#include "sql/run/transaction.h"
#include "sql/run/undeclared.h"
#include "sql/run/where.h"

#define BATCH_ROWS 200
#define ROWS_MAX 2000
#define RECOMPUTE_TRIES 20

/* ---- columns ---- */

/* Which column each name is; the key must be whole, and something beside it named. */
static int columns_find(struct run *r, struct sql_table *t, const struct name_list *names,
                        size_t *out)
{
    bool *named = ARENA_ARRAY(r->arena, bool, t->column_count + names->count);
    size_t n = 0, outside = 0;

    for (const struct name_item *i = names->first; i; i = i->next) {
        RUN_TRY(undeclared_find(r, t, i->name, "field list", &out[n]));
        if (named[out[n]])
            return run_fail(r, FAULT_TWICE, RUN_TEXT(i->name));
        named[out[n]] = true;
        outside += out[n++] >= t->key_count;
    }
    for (size_t i = 0; i < t->key_count; i++)
        if (!named[i])
            return run_fail(r, FAULT_NO_KEY_COLUMN, RUN_TEXT(t->columns[i].name),
                            RUN_TEXT(t->name));
    return outside ? 0 : run_fail(r, FAULT_ONLY_KEY);
}

static struct wr_cell cell_of(const struct table_column *column, const struct wr_value *v,
                              int64_t timestamp_ms)
{
    if (v->type == WR_NULL)
        return (struct wr_cell){
            .name = column->name, .timestamp_ms = WR_TIMESTAMP_NONE, .op = WR_CELL_DELETE_ALL};
    return (struct wr_cell){
        .name = column->name, .value = *v, .timestamp_ms = timestamp_ms, .op = WR_CELL_PUT};
}

/* What is written to the column: what was computed, or DEFAULT, which is NULL where none was
 * declared. */
static int written_value(struct run *r, const struct table_column *column, const struct expr *e,
                         struct wr_value *out)
{
    *out = (struct wr_value){.type = WR_NULL};
    if (e->type == EXPR_DEFAULT)
        return column->declared && column->declared->with ? default_value(r, column, out) : 0;
    RUN_TRY(compute_value(r, e, out));
    return convert_value(r, column, out, out);
}

/* ---- UPSERT ---- */

struct upsert {
    struct run *r;
    const struct sql_table *table;
    const size_t *columns; /* of each value */
    size_t count;
    int64_t timestamp_ms;
    struct wr_cell *defaults; /* of columns that the statement does not name */
    size_t default_count;
    bytes transaction; /* ptr NULL: none */
};

/* A row, and what is written instead if its condition does not hold. */
struct planned {
    struct wr_row_change change, otherwise;
    bool has_otherwise;
};

static int null_check(struct run *r, const struct sql_table *t, size_t column)
{
    const struct table_column *c = &t->columns[column];

    if (column >= t->key_count && !(c->declared && c->declared->not_null))
        return 0;
    return run_fail(r, FAULT_KEY_NULL, RUN_TEXT(c->name));
}

static int defaults_find(struct upsert *u)
{
    const struct sql_table *t = u->table;
    bool *named = ARENA_ARRAY(u->r->arena, bool, t->column_count + 1);

    u->defaults = ARENA_ARRAY(u->r->arena, struct wr_cell, t->column_count + 1);
    for (size_t i = 0; i < u->count; i++)
        named[u->columns[i]] = true;
    for (size_t i = t->key_count; i < t->column_count; i++) {
        const struct table_column *c = &t->columns[i];
        struct wr_value v;

        if (named[i] || !c->declared || !c->declared->with)
            continue;
        RUN_TRY(default_value(u->r, c, &v));
        u->defaults[u->default_count++] = cell_of(c, &v, u->timestamp_ms);
    }
    return 0;
}

static int row_make(const struct upsert *u, const struct row_item *row, size_t number,
                    struct wr_row_change *out)
{
    struct arena *a = u->r->arena;
    struct wr_key_column *key = ARENA_ARRAY(a, struct wr_key_column, u->table->key_count);
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, u->count + u->default_count);
    const struct expr_item *item = row->values->first;
    size_t cell_count = 0;

    if (row->values->count != u->count)
        return run_fail(u->r, FAULT_COUNT, number, u->count, row->values->count);
    for (size_t i = 0; i < u->count; i++, item = item->next) {
        const struct table_column *column = &u->table->columns[u->columns[i]];
        struct wr_value v;

        RUN_TRY(written_value(u->r, column, item->expr, &v));
        if (v.type == WR_NULL)
            RUN_TRY(null_check(u->r, u->table, u->columns[i]));
        if (u->columns[i] >= u->table->key_count)
            cells[cell_count++] = cell_of(column, &v, u->timestamp_ms);
        else
            key[u->columns[i]] = (struct wr_key_column){column->name, v};
    }
    *out = (struct wr_row_change){.type = WR_UPDATE,
                                  .table = u->table->name,
                                  .row = {{key, u->table->key_count}, cells, cell_count}};
    return 0;
}

/* A row of which nothing is to be is none: its NULLs are taken from a row that is there alone. */
static bool is_of_nulls(const struct wr_row_change *c)
{
    for (size_t i = 0; i < c->row.cell_count; i++)
        if (c->row.cells[i].op != WR_CELL_DELETE_ALL)
            return false;
    return true;
}

static int row_plan(const struct upsert *u, const struct row_item *row, size_t number,
                    struct planned *out)
{
    struct wr_cell *cells;

    RUN_TRY(row_make(u, row, number, &out->change));
    if (is_of_nulls(&out->change))
        out->change.condition.existence = WR_EXPECT_EXIST;
    if (!u->default_count)
        return 0;
    out->otherwise = out->change;
    out->has_otherwise = true;
    cells = ARENA_ARRAY(u->r->arena, struct wr_cell, u->count + u->default_count);
    memcpy(cells, out->change.row.cells, out->change.row.cell_count * sizeof(*cells));
    memcpy(cells + out->change.row.cell_count, u->defaults, u->default_count * sizeof(*cells));
    out->change.row.cells = cells;
    out->change.row.cell_count += u->default_count;
    out->change.condition.existence = WR_EXPECT_NOT_EXIST;
    return 0;
}

/* `of`: a flag that is set if the condition did not hold and nothing was written. */
static int write_end(struct run *r, void *of, const struct wr_reply *reply)
{
    bool *missed = of;

    *missed = reply->code == WR_E_CONDITION;
    if (*missed)
        return 0;
    if (reply->code)
        return run_fail_reply(r, reply);
    run_written(r, &reply->row.consumed);
    run_affected(r, 1);
    return 0;
}

static int row_write(const struct upsert *u, const struct wr_row_change *change, bool *missed)
{
    struct wr_request request = {WR_REQUEST(UPDATE_ROW), .instance = u->table->database};

    request.update_row = *change;
    request.update_row.transaction = u->transaction;
    return run_last(u->r, &request, write_end, missed);
}

static int one_write(const struct upsert *u, const struct planned *p)
{
    bool *missed = ARENA_NEW(u->r->arena, bool);

    if (!p->has_otherwise)
        return row_write(u, &p->change, missed);
    if (u->r->deferred)
        return run_whole(u->r);
    RUN_TRY(row_write(u, &p->change, missed));
    if (*missed)
        RUN_TRY(row_write(u, &p->otherwise, missed));
    u->r->out->single = false;
    return 0;
}

static int rows_fail(struct run *r, const struct wr_row_result *bad)
{
    const char *text = arena_printf(r->arena, "%s (%llu rows of the statement are written)",
                                    bad->message, (unsigned long long)r->out->affected)
                           .ptr;

    if (bad->code == WR_E_CONFLICT)
        return run_fail(r, FAULT_LOCKED, text);
    return run_fail(r, FAULT_STORAGE, wr_error_name(bad->code), text);
}

/* The first row that failed is the statement's fault. Rows whose conditions do not hold are left in
 * `changes`, as they are to be written otherwise. */
static int changes_write(const struct upsert *u, struct wr_row_change *changes,
                         const struct planned **planned, size_t *count)
{
    struct wr_table_write write = {u->table->name, changes, *count};
    struct wr_request request = {WR_REQUEST(BATCH_WRITE_ROW), .instance = u->table->database,
                                 .batch_write_row = {&write, 1, .transaction = u->transaction}};
    const struct wr_row_result *bad = NULL;
    const struct wr_reply *reply;
    size_t left = 0;

    RUN_TRY(run_request(u->r, &request, &reply));
    for (size_t i = 0; i < *count; i++) {
        const struct wr_row_result *row = &reply->batch.tables[0].rows[i];

        run_affected(u->r, row->code == 0);
        run_written(u->r, &row->consumed);
        if (row->code == WR_E_CONDITION && planned[i]->has_otherwise)
            changes[left++] = planned[i]->otherwise;
        else if (row->code && row->code != WR_E_CONDITION && !bad)
            bad = row;
    }
    *count = left;
    return bad ? rows_fail(u->r, bad) : 0;
}

static int batch_write(const struct upsert *u, const struct planned *rows, size_t count)
{
    static const struct planned last = {.has_otherwise = false};
    struct wr_row_change *changes = ARENA_ARRAY(u->r->arena, struct wr_row_change, count);
    const struct planned **planned = ARENA_ARRAY(u->r->arena, const struct planned *, count);

    for (size_t i = 0; i < count; i++) {
        changes[i] = rows[i].change;
        planned[i] = &rows[i];
    }
    RUN_TRY(changes_write(u, changes, planned, &count));
    for (size_t i = 0; i < count; i++)
        planned[i] = &last;
    return count ? changes_write(u, changes, planned, &count) : 0;
}

/* ON DUPLICATE KEY UPDATE is what UPSERT does if it sets each column that the statement names. */
static int copies_check(struct run *r, const struct sql_table *t, const struct statement *s,
                        const size_t *columns)
{
    bool *named = ARENA_ARRAY(r->arena, bool, t->column_count + s->columns->count);
    size_t of;

    for (size_t i = 0; i < s->columns->count; i++)
        named[columns[i]] = columns[i] >= t->key_count;
    for (const struct name_item *i = s->copies->first; i; i = i->next) {
        of = 0;
        for (const struct name_item *j = s->columns->first; j && !bytes_equal(i->name, j->name);
             j = j->next)
            of++;
        if (of == s->columns->count)
            return run_fail(r, FAULT_UNSUPPORTED,
                            "ON DUPLICATE KEY UPDATE sets only columns that the INSERT names");
        named[columns[of]] = false;
    }
    for (size_t i = 0; i < s->columns->count; i++)
        if (named[columns[i]])
            return run_fail(r, FAULT_UNSUPPORTED,
                            "ON DUPLICATE KEY UPDATE sets every column that the INSERT names, but "
                            "those of the key: UPSERT overwrites them all");
    return 0;
}

int run_upsert(struct run *r, const struct statement *s)
{
    struct planned *rows;
    struct sql_table *t;
    struct upsert u;
    struct hints hints;
    size_t *columns = ARENA_ARRAY(r->arena, size_t, s->columns->count), n = 0;

    if (s->assignments)
        return run_fail(
            r, FAULT_UNSUPPORTED,
            "ON DUPLICATE KEY UPDATE is served with column = VALUES(column) alone: UPSERT "
            "overwrites the columns it names");
    if (s->rows->count > ROWS_MAX)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "One statement writes at most 2000 rows: send them in parts");
    RUN_TRY(hints_read(r, s->hints, &hints));
    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(columns_find(r, t, s->columns, columns));
    if (s->copies)
        RUN_TRY(copies_check(r, t, s, columns));
    u = (struct upsert){.r = r,
                        .table = t,
                        .columns = columns,
                        .count = s->columns->count,
                        .timestamp_ms = hints.timestamp_ms};
    RUN_TRY(defaults_find(&u));
    rows = ARENA_ARRAY(r->arena, struct planned, s->rows->count);
    for (const struct row_item *row = s->rows->first; row; row = row->next, n++)
        RUN_TRY(row_plan(&u, row, n + 1, &rows[n]));
    for (size_t i = 0; i < n; i++)
        RUN_TRY(transaction_enter(r, t, &rows[i].change.row.key.columns[0].value, &u.transaction));
    if (n == 1)
        return one_write(&u, rows);
    for (size_t i = 0; i < n; i += BATCH_ROWS)
        RUN_TRY(batch_write(&u, rows + i, n - i < BATCH_ROWS ? n - i : BATCH_ROWS));
    return 0;
}

/* ---- UPDATE ---- */

/* column + number, or column - number, of the column that is set. */
static bool increment_read(struct run *r, const struct table_column *column, const struct expr *e,
                           struct wr_value *out)
{
    const struct expr *number = e->right;
    struct wr_value v;

    if (e->type != EXPR_BINARY || (e->op != OP_ADD && e->op != OP_SUBTRACT) ||
        column->type != WR_BIGINT || e->left->type != EXPR_COLUMN ||
        !bytes_equal(e->left->text, column->name) || !convert_constant(r, number, &v) ||
        v.type != WR_BIGINT || v.integer == INT64_MIN)
        return false;
    *out = v;
    if (e->op == OP_SUBTRACT)
        out->integer = -v.integer;
    return true;
}

/* `computed`: its value, of the row as it is; NULL: it names no column. */
static int assignment_read(struct run *r, struct sql_table *t, const struct expr_item *item,
                           const struct wr_value *computed, int64_t timestamp_ms,
                           struct wr_cell *out)
{
    const struct table_column *column;
    struct wr_value v;
    size_t i;

    RUN_TRY(undeclared_find(r, t, item->name, "field list", &i));
    column = &t->columns[i];
    if (i < t->key_count)
        return run_fail(r, FAULT_KEY_ASSIGNED, RUN_TEXT(item->name));
    if (increment_read(r, column, item->expr, &v)) {
        *out = (struct wr_cell){.name = column->name,
                                .value = v,
                                .timestamp_ms = WR_TIMESTAMP_NONE,
                                .op = WR_CELL_INCREMENT};
        return 0;
    }
    if (computed)
        RUN_TRY(convert_value(r, column, computed, &v));
    else
        RUN_TRY(written_value(r, column, item->expr, &v));
    if (v.type == WR_NULL)
        RUN_TRY(null_check(r, t, i));
    *out = cell_of(column, &v, timestamp_ms);
    return 0;
}

/* The row that the condition names; *empty: none can be. */
static int key_read(struct run *r, const struct sql_table *t, const char *what,
                    const struct expr *where, struct wr_key *key, bool *empty)
{
    if (where_is_key(r, t, where, key, empty))
        return 0;
    return run_fail(r, FAULT_NOT_ONE_ROW, what, RUN_TEXT(t->name));
}

/* An UPDATE, once; the row is as it was when values were computed of it. */
struct update {
    struct run *r;
    const struct statement *s;
    struct sql_table *table;
    struct wr_key key;
    int64_t timestamp_ms;
    bytes transaction; /* ptr NULL: none */
    bool recomputes;   /* an assignment names a column and is no increment */
};

static bool recomputes(struct run *r, const struct sql_table *t, const struct statement *s)
{
    for (const struct expr_item *i = s->assignments->first; i; i = i->next) {
        size_t column = table_column(t, i->name);
        struct wr_value v;

        if (column != SIZE_MAX && recompute_is_needed(i->expr) &&
            !increment_read(r, &t->columns[column], i->expr, &v))
            return true;
    }
    return false;
}

/* *again: the row was changed in between. */
static int update_try(struct update *u, bool *again)
{
    struct run *r = u->r;
    size_t count = u->s->assignments->count, n = 0;
    struct wr_value *values = ARENA_ARRAY(r->arena, struct wr_value, count);
    struct wr_cell *cells = ARENA_ARRAY(r->arena, struct wr_cell, count);
    struct wr_request request = {WR_REQUEST(UPDATE_ROW), .instance = u->table->database};
    struct wr_filter unchanged = {.type = WR_FILTER_COLUMN};
    bool found = true, *missed = ARENA_NEW(r->arena, bool);

    *again = false;
    if (u->recomputes && r->deferred)
        return run_whole(r);
    if (u->recomputes)
        RUN_TRY(recompute_row(r, u->s, u->table, values, &unchanged, &found));
    if (!found)
        return 0;
    for (const struct expr_item *i = u->s->assignments->first; i; i = i->next, n++)
        RUN_TRY(assignment_read(r, u->table, i, u->recomputes ? &values[n] : NULL, u->timestamp_ms,
                                &cells[n]));
    /* A row that is not there is not made, as of SQL's UPDATE. */
    request.update_row = (struct wr_row_change){.type = WR_UPDATE,
                                                .table = u->table->name,
                                                .row = {u->key, cells, n},
                                                .condition = {WR_EXPECT_EXIST, NULL},
                                                .transaction = u->transaction};
    if ((unchanged.type != WR_FILTER_COLUMN || unchanged.column.column.ptr) &&
        !planted_unguarded_update())
        request.update_row.condition.column = &unchanged;
    RUN_TRY(run_last(r, &request, write_end, missed));
    *again = *missed && request.update_row.condition.column;
    r->out->single = !u->recomputes;
    return 0;
}

int run_update(struct run *r, const struct statement *s)
{
    struct update u = {.r = r, .s = s};
    bool empty, again = true;
    struct hints hints;

    RUN_TRY(hints_read(r, s->hints, &hints));
    RUN_TRY(table_find(r, &s->table, &u.table));
    RUN_TRY(key_read(r, u.table, "UPDATE", s->where, &u.key, &empty));
    u.timestamp_ms = hints.timestamp_ms;
    u.recomputes = recomputes(r, u.table, s);
    for (const struct expr_item *i = s->assignments->first; i; i = i->next) {
        size_t column = table_column(u.table, i->name);

        if (column < u.table->key_count)
            return run_fail(r, FAULT_KEY_ASSIGNED, RUN_TEXT(i->name));
    }
    if (!empty)
        RUN_TRY(transaction_enter(r, u.table, &u.key.columns[0].value, &u.transaction));
    for (int tries = 0; !empty && again && tries < RECOMPUTE_TRIES; tries++) {
        RUN_TRY(run_interrupted(r));
        RUN_TRY(update_try(&u, &again));
    }
    return empty || !again
               ? 0
               : run_fail(r, FAULT_BUSY, "The row is changed by others all the time: try again");
}

/* ---- DELETE ---- */

static int delete_end(struct run *r, void *of, const struct wr_reply *reply)
{
    (void)of;
    if (reply->code)
        return run_fail_reply(r, reply);
    run_written(r, &reply->row.consumed);
    run_affected(r, 1); /* nobody has looked whether it was there */
    return 0;
}

int run_delete(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(DELETE_ROW)};
    struct sql_table *t;
    bytes transaction;
    struct wr_key key;
    bool empty;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(key_read(r, t, "DELETE", s->where, &key, &empty));
    if (empty)
        return 0;
    request.instance = t->database;
    RUN_TRY(transaction_enter(r, t, &key.columns[0].value, &transaction));
    request.delete_row = (struct wr_row_change){
        .type = WR_DELETE, .table = t->name, .row = {.key = key}, .transaction = transaction};
    return run_last(r, &request, delete_end, NULL);
}
