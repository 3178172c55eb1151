/* write.c: UPSERT, INSERT (which is UPSERT), UPDATE and DELETE of rows by their key.
 *
 * Columns that a statement does not name stay, so each row is an UpdateRow; NULL removes a column.
 * Rows of one statement are written side by side, not together: when one fails, those before it in
 * its batch and the batches before are in, and the fault says how many. */
#include "sql/run/compute.h"
#include "sql/run/convert.h"
#include "sql/run/hint.h"
#include "sql/run/where.h"

#define BATCH_ROWS 200
#define ROWS_MAX 2000

/* ---- columns ---- */

/* Which column each name is; the key must be whole, and something beside it named. */
static int columns_find(struct run *r, const struct sql_table *t, const struct name_list *names,
                        size_t *out)
{
    bool *named = ARENA_ARRAY(r->arena, bool, t->column_count + 1);
    size_t n = 0, outside = 0;

    for (const struct name_item *i = names->first; i; i = i->next) {
        RUN_TRY(table_column_find(r, t, i->name, "field list", &out[n]));
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

/* ---- UPSERT ---- */

struct upsert {
    struct run *r;
    const struct sql_table *table;
    const size_t *columns; /* of each value */
    size_t count;
    int64_t timestamp_ms;
};

static int row_make(const struct upsert *u, const struct row_item *row, size_t number,
                    struct wr_row_change *out)
{
    struct arena *a = u->r->arena;
    struct wr_key_column *key = ARENA_ARRAY(a, struct wr_key_column, u->table->key_count);
    struct wr_cell *cells = ARENA_ARRAY(a, struct wr_cell, u->count);
    const struct expr_item *item = row->values->first;
    size_t cell_count = 0;

    if (row->values->count != u->count)
        return run_fail(u->r, FAULT_COUNT, number, u->count, row->values->count);
    for (size_t i = 0; i < u->count; i++, item = item->next) {
        const struct table_column *column = &u->table->columns[u->columns[i]];
        struct wr_value v;

        RUN_TRY(compute_value(u->r, item->expr, &v));
        RUN_TRY(convert_value(u->r, column, &v, &v));
        if (u->columns[i] >= u->table->key_count)
            cells[cell_count++] = cell_of(column, &v, u->timestamp_ms);
        else if (v.type == WR_NULL)
            return run_fail(u->r, FAULT_KEY_NULL, RUN_TEXT(column->name));
        else
            key[u->columns[i]] = (struct wr_key_column){column->name, v};
    }
    *out = (struct wr_row_change){.type = WR_UPDATE,
                                  .table = u->table->name,
                                  .row = {{key, u->table->key_count}, cells, cell_count}};
    return 0;
}

static int row_write(const struct upsert *u, const struct wr_row_change *change)
{
    struct wr_request request = {WR_REQUEST(UPDATE_ROW), .instance = u->table->database};
    const struct wr_reply *reply;

    request.update_row = *change;
    RUN_TRY(run_request(u->r, &request, &reply));
    run_written(u->r, &reply->row.consumed);
    run_affected(u->r, 1);
    return 0;
}

/* The first row that failed is the statement's fault. */
static int batch_write(const struct upsert *u, const struct wr_row_change *changes, size_t count)
{
    struct wr_table_write write = {u->table->name, changes, count};
    struct wr_request request = {WR_REQUEST(BATCH_WRITE_ROW), .instance = u->table->database,
                                 .batch_write_row = {&write, 1, .atomic = false}};
    const struct wr_reply *reply;
    const struct wr_row_result *bad = NULL;

    RUN_TRY(run_request(u->r, &request, &reply));
    for (size_t i = 0; i < count; i++) {
        const struct wr_row_result *row = &reply->batch.tables[0].rows[i];

        if (row->code && !bad)
            bad = row;
        run_affected(u->r, row->code == 0);
        run_written(u->r, &row->consumed);
    }
    if (!bad)
        return 0;
    return run_fail(u->r, FAULT_STORAGE, wr_error_name(bad->code),
                    arena_printf(u->r->arena, "%s (%llu rows of the statement are written)",
                                 bad->message, (unsigned long long)u->r->out->affected)
                        .ptr);
}

int run_upsert(struct run *r, const struct statement *s)
{
    struct wr_row_change *changes;
    struct sql_table *t;
    struct upsert u;
    struct hints hints;
    size_t *columns = ARENA_ARRAY(r->arena, size_t, s->columns->count), n = 0;

    if (s->assignments)
        return run_fail(
            r, FAULT_UNSUPPORTED,
            "ON DUPLICATE KEY UPDATE is not served: UPSERT overwrites the columns it names");
    if (s->rows->count > ROWS_MAX)
        return run_fail(r, FAULT_UNSUPPORTED,
                        "One statement writes at most 2000 rows: send them in parts");
    RUN_TRY(hints_read(r, s->hints, &hints));
    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(columns_find(r, t, s->columns, columns));
    u = (struct upsert){r, t, columns, s->columns->count, hints.timestamp_ms};
    changes = ARENA_ARRAY(r->arena, struct wr_row_change, s->rows->count);
    for (const struct row_item *row = s->rows->first; row; row = row->next, n++)
        RUN_TRY(row_make(&u, row, n + 1, &changes[n]));
    if (n == 1)
        return row_write(&u, changes);
    for (size_t i = 0; i < n; i += BATCH_ROWS)
        RUN_TRY(batch_write(&u, changes + i, n - i < BATCH_ROWS ? n - i : BATCH_ROWS));
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

static int assignment_read(struct run *r, const struct sql_table *t, const struct expr_item *item,
                           int64_t timestamp_ms, struct wr_cell *out)
{
    const struct table_column *column;
    struct wr_value v;
    size_t i;

    RUN_TRY(table_column_find(r, t, item->name, "field list", &i));
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
    RUN_TRY(compute_value(r, item->expr, &v));
    RUN_TRY(convert_value(r, column, &v, &v));
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

int run_update(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(UPDATE_ROW)};
    struct wr_cell *cells = ARENA_ARRAY(r->arena, struct wr_cell, s->assignments->count);
    const struct wr_reply *reply = NULL;
    struct sql_table *t;
    struct wr_key key;
    struct hints hints;
    size_t n = 0;
    bool empty;

    RUN_TRY(hints_read(r, s->hints, &hints));
    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(key_read(r, t, "UPDATE", s->where, &key, &empty));
    for (const struct expr_item *i = s->assignments->first; i; i = i->next)
        RUN_TRY(assignment_read(r, t, i, hints.timestamp_ms, &cells[n++]));
    if (empty)
        return 0;
    request.instance = t->database;
    /* A row that is not there is not made, as of SQL's UPDATE. */
    request.update_row = (struct wr_row_change){.type = WR_UPDATE,
                                                .table = t->name,
                                                .row = {key, cells, n},
                                                .condition = {WR_EXPECT_EXIST, NULL}};
    if (run_request(r, &request, &reply)) {
        if (!reply || reply->code != WR_E_CONDITION)
            return -1;
        r->out->fault.number = 0;
        return 0;
    }
    run_written(r, &reply->row.consumed);
    run_affected(r, 1);
    return 0;
}

/* ---- DELETE ---- */

int run_delete(struct run *r, const struct statement *s)
{
    struct wr_request request = {WR_REQUEST(DELETE_ROW)};
    const struct wr_reply *reply;
    struct sql_table *t;
    struct wr_key key;
    bool empty;

    RUN_TRY(table_find(r, &s->table, &t));
    RUN_TRY(key_read(r, t, "DELETE", s->where, &key, &empty));
    if (empty)
        return 0;
    request.instance = t->database;
    request.delete_row =
        (struct wr_row_change){.type = WR_DELETE, .table = t->name, .row = {.key = key}};
    RUN_TRY(run_request(r, &request, &reply));
    run_written(r, &reply->row.consumed);
    run_affected(r, 1); /* nobody has looked whether it was there */
    return 0;
}
