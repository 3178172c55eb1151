/* write_request.c: from a request (PutRow to BulkImport) to the rows of a walk: what fails it as a
 * whole is found here, before anything is locked. */
#include "table/catalog/catalog.h"
#include "table/model/change.h"
#include "table/model/meter.h"
#include "table/model/value.h"
#include "table/row/write_own.h"

#include <stdlib.h>

struct write_call *write_new(struct call *call, size_t table_count, size_t row_count)
{
    struct write_call *w = ARENA_NEW(&call->c.arena, struct write_call);

    w->call = call;
    w->tables = ARENA_ARRAY(&call->c.arena, struct write_table, table_count);
    w->rows = ARENA_ARRAY(&call->c.arena, struct write_row, row_count);
    return w;
}

void write_add_row(struct write_call *w, const struct wr_row_change *change,
                   struct wr_row_result *result)
{
    struct write_row *r = &w->rows[w->row_count++];

    r->write = w;
    r->change = change;
    r->result = result;
    r->table_at = w->table_count - 1;
}

static const char *request_change_name(enum wr_op op)
{
    return op == WR_OP_PUT_ROW ? "PutRow" : op == WR_OP_UPDATE_ROW ? "UpdateRow" : "DeleteRow";
}

static int check_type(struct ctx *c, enum wr_op op, enum wr_change_type type)
{
    enum wr_change_type want = op == WR_OP_PUT_ROW      ? WR_PUT
                               : op == WR_OP_UPDATE_ROW ? WR_UPDATE
                                                        : WR_DELETE;

    return type == want ? E_OK
                        : fail(c, E_INTERNAL, "%s was given another type of change.",
                               request_change_name(op));
}

int row_change_start(struct call *call)
{
    const struct wr_row_change *change = &call->req->put_row; /* the three share their struct */
    struct ctx *c = &call->c;
    struct write_call *w;
    struct table *t;

    TRY(check_type(c, call->req->op, change->type));
    TRY(change_check_alone(c, db_limits(call->db), change, false));
    TRY(call_open_table(call, change->table, &t));
    w = write_new(call, 1, 1);
    w->tables[w->table_count++] = (struct write_table){t, 0, 1};
    write_add_row(w, change, ARENA_NEW(&c->arena, struct wr_row_result));
    write_start(w);
    return E_OK;
}

/* ---- batches ---- */

static int check_batch_tables(struct call *call, const struct wr_table_write *tables, size_t count)
{
    struct ctx *c = &call->c;
    size_t rows = 0;

    if (!count)
        return fail(c, E_PARAMETER, "No row is specified in BatchWriteRow.");
    for (size_t i = 0; i < count; i++) {
        if (!tables[i].change_count)
            return fail(c, E_PARAMETER, "No operation is specified for table: '%.*s'.",
                        BYTES_FMT(tables[i].table));
        rows += tables[i].change_count;
    }
    if (rows > (size_t)db_limits(call->db)->batch_write_rows_max)
        return fail(c, E_PARAMETER, "Rows count exceeds the upper limit: %d.",
                    (int)db_limits(call->db)->batch_write_rows_max);
    /* Each table has a row, so there are no more tables than rows. */
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (bytes_equal(tables[i].table, tables[j].table))
                return fail(c, E_PARAMETER, "Duplicated table name: '%.*s'.",
                            BYTES_FMT(tables[i].table));
    return E_OK;
}

static int check_batch_rows(struct call *call, const struct wr_table_write *tables, size_t count)
{
    const struct limits *limits = db_limits(call->db);
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < tables[i].change_count; j++) {
            TRY(change_check_alone(&call->c, limits, &tables[i].changes[j], true));
            size += meter_request_size(&tables[i].changes[j]);
        }
    if (size > (size_t)limits->batch_write_bytes_max)
        return fail(&call->c, E_PARAMETER,
                    "The total data size of BatchWriteRow request exceeds the limit, limit size: "
                    "%lld, data size: %zu.",
                    (long long)limits->batch_write_bytes_max, size);
    return E_OK;
}

static bool same_key(const struct wr_key *a, const struct wr_key *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct wr_value *x = &a->columns[i].value, *y = &b->columns[i].value;

        /* A key with a wrong name is no row at all; it fails by itself later. */
        if (!bytes_equal(a->columns[i].name, b->columns[i].name) || x->type != y->type ||
            x->type == WR_AUTO_INCREMENT)
            return false;
        if (x->type == WR_BIGINT ? x->integer != y->integer : !bytes_equal(x->bytes, y->bytes))
            return false;
    }
    return true;
}

static int compare_values(const struct wr_value *x, const struct wr_value *y)
{
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->type == WR_AUTO_INCREMENT)
        return 0;
    if (x->type == WR_BIGINT)
        return (x->integer > y->integer) - (x->integer < y->integer);
    return bytes_compare(x->bytes, y->bytes);
}

/* By key, those of one key as they came. */
static int compare_changes(const void *a, const void *b)
{
    const struct wr_row_change *x = *(const struct wr_row_change *const *)a;
    const struct wr_row_change *y = *(const struct wr_row_change *const *)b;
    const struct wr_key *k = &x->row.key, *l = &y->row.key;
    int d = k->count == l->count ? 0 : k->count < l->count ? -1 : 1;

    for (size_t i = 0; !d && i < k->count; i++) {
        d = bytes_compare(k->columns[i].name, l->columns[i].name);
        d = d ? d : compare_values(&k->columns[i].value, &l->columns[i].value);
    }
    return d ? d : (x > y) - (x < y);
}

/* The changes of a batch to one table, those of one row as neighbours. */
static const struct wr_row_change **by_row(struct ctx *c, const struct wr_table_write *t)
{
    const struct wr_row_change **out = arena_alloc(&c->arena, sizeof(void *) * t->change_count);

    for (size_t i = 0; i < t->change_count; i++)
        out[i] = &t->changes[i];
    qsort(out, t->change_count, sizeof(void *), compare_changes);
    return out;
}

static bool has_increment(const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (change->row.cells[i].op == WR_CELL_INCREMENT)
            return true;
    return false;
}

/* A row may stand in a batch more than once, but not with a condition (semantics, section 6). With
 * an increment its changes fail, each by itself (mark_repeated). */
static int request_check_repeated(struct call *call, const struct wr_table_write *t,
                                  const struct wr_row_change *const *sorted)
{
    struct ctx *c = &call->c;

    for (size_t i = 1; i < t->change_count; i++) {
        const struct wr_row_change *a = sorted[i], *b = sorted[i - 1];

        if (!same_key(&a->row.key, &b->row.key))
            continue;
        if (!call->db->limits.repeated_rows)
            return fail(c, E_PARAMETER, "Repeated rows are not supported in BatchModify.");
        if (a->condition.existence != WR_IGNORE || b->condition.existence != WR_IGNORE)
            return fail(c, E_PARAMETER,
                        "Repeated rows do not support row exist expectation check in BatchModify.");
        if (a->condition.column || b->condition.column)
            return fail(c, E_PARAMETER,
                        "Repeated rows do not support row condition check in BatchModify.");
    }
    return E_OK;
}

static bool repeats_a_row(const struct wr_table_write *t, const struct wr_row_change *const *sorted)
{
    for (size_t i = 1; i < t->change_count; i++)
        if (same_key(&sorted[i]->row.key, &sorted[i - 1]->row.key))
            return true;
    return false;
}

/* A row with an increment may stand in a batch once (semantics, section 6). It is no fault of the
 * other rows, and programs look for it in the rows' results: so all changes of that row fail, and
 * none of them is made. `rows` are those of the table. */
static void mark_repeated(struct write_row *rows, const struct wr_table_write *t,
                          const struct wr_row_change *const *sorted)
{
    for (size_t from = 0, to; from < t->change_count; from = to) {
        bool increments = has_increment(sorted[from]);

        for (to = from + 1; to < t->change_count; to++) {
            if (!same_key(&sorted[to]->row.key, &sorted[from]->row.key))
                break;
            increments |= has_increment(sorted[to]);
        }
        for (size_t i = from; increments && to - from > 1 && i < to; i++)
            rows[sorted[i] - t->changes].repeated = true;
    }
}

static struct wr_batch_result *batch_result(struct call *call, const struct wr_table_write *tables,
                                            size_t count, struct wr_table_result **out)
{
    struct wr_batch_result *b = &call->reply.batch;
    struct wr_table_result *results = ARENA_ARRAY(&call->c.arena, struct wr_table_result, count);

    for (size_t i = 0; i < count; i++) {
        results[i].table = arena_copy(&call->c.arena, tables[i].table);
        results[i].rows = ARENA_ARRAY(&call->c.arena, struct wr_row_result, tables[i].change_count);
        results[i].row_count = tables[i].change_count;
    }
    b->tables = results;
    b->table_count = count;
    *out = results;
    return b;
}

static void release_tables(struct write_call *w)
{
    for (size_t i = 0; i < w->table_count; i++)
        table_release(w->tables[i].table);
}

int batch_write_row_start(struct call *call)
{
    const struct wr_table_write *tables = call->req->batch_write_row.tables;
    size_t count = call->req->batch_write_row.table_count;
    struct ctx *c = &call->c;
    const struct wr_row_change ***sorted = arena_alloc(&c->arena, sizeof(void *) * (count + 1));
    struct wr_table_result *results;
    struct write_call *w;
    size_t rows = 0;

    TRY(check_batch_tables(call, tables, count));
    TRY(check_batch_rows(call, tables, count));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = by_row(c, &tables[i]);
        TRY(request_check_repeated(call, &tables[i], sorted[i]));
        rows += tables[i].change_count;
    }
    w = write_new(call, count, rows);
    w->atomic = call->req->batch_write_row.atomic;
    for (size_t i = 0; i < count; i++) {
        struct table *t;
        int code = call_open_table(call, tables[i].table, &t);

        if (code) {
            release_tables(w);
            return code;
        }
        w->tables[w->table_count++] =
            (struct write_table){t, w->row_count, w->row_count + tables[i].change_count};
        w->row_count += tables[i].change_count;
    }
    w->row_count = w->table_count = 0;
    batch_result(call, tables, count, &results);
    for (size_t i = 0; i < count; i++)
        if (w->tables[i].table->schema.index_count && repeats_a_row(&tables[i], sorted[i])) {
            w->table_count = count;
            release_tables(w);
            return fail(c, E_PARAMETER,
                        "Repeated rows are not supported in BatchModify of a table with secondary "
                        "indexes.");
        }
    for (size_t i = 0; i < count; i++) {
        w->table_count++;
        for (size_t j = 0; j < tables[i].change_count; j++)
            write_add_row(w, &tables[i].changes[j], (struct wr_row_result *)&results[i].rows[j]);
        mark_repeated(&w->rows[w->row_count - tables[i].change_count], &tables[i], sorted[i]);
    }
    write_start(w);
    return E_OK;
}

/* ---- BulkImport ---- */

static bool defined_type(const struct table *t, bytes name, enum wr_type *type)
{
    for (size_t i = 0; i < t->schema.d.defined_count; i++)
        if (bytes_equal(t->schema.d.defined[i].name, name)) {
            *type = t->schema.d.defined[i].type;
            return true;
        }
    return false;
}

/* A cell of a defined column has that column's type; the row fails by itself otherwise. */
static int check_defined_types(struct ctx *c, const struct table *t,
                               const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *cell = &change->row.cells[i];
        enum wr_type type;

        if (cell->op == WR_CELL_PUT && defined_type(t, cell->name, &type) &&
            type != cell->value.type)
            return fail(c, E_PARAMETER, "Invalid column type for column %.*s expect %s actual %s",
                        BYTES_FMT(cell->name), value_type_name(type),
                        value_type_name(cell->value.type));
    }
    return E_OK;
}

/* BulkImport: no conditions; a missing table fails every row instead of the request; cost is
 * counted in bytes. */
int bulk_import_start(struct call *call)
{
    const struct wr_table_write *t = &call->req->bulk_import.table;
    struct ctx *c = &call->c;
    struct wr_table_result *results;
    struct write_call *w;
    struct table *table;

    TRY(check_batch_tables(call, t, 1));
    TRY(check_batch_rows(call, t, 1));
    batch_result(call, t, 1, &results);
    if (call_open_table(call, t->table, &table)) {
        for (size_t i = 0; i < t->change_count; i++) {
            struct wr_row_result *r = (struct wr_row_result *)&results->rows[i];

            r->code = c->code;
            r->message = c->text;
        }
        ctx_clear(c);
        call_finish(call);
        return E_OK;
    }
    w = write_new(call, 1, t->change_count);
    w->tables[w->table_count++] = (struct write_table){table, 0, t->change_count};
    for (size_t i = 0; i < t->change_count; i++) {
        write_add_row(w, &t->changes[i], (struct wr_row_result *)&results->rows[i]);
        if (check_defined_types(c, table, &t->changes[i])) {
            write_row_fail(c, &w->rows[i]);
            write_row_enter(&w->rows[i], WRITE_ROW_DONE);
        }
    }
    write_start(w);
    return E_OK;
}
