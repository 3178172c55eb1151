/* write_request.c: from a request (PutRow to BulkImport) to the rows of a walk: what fails it as a
 * whole is found here, before anything is locked. */
#include "table/catalog/catalog.h"
#include "table/core/call_series.h"
#include "table/model/change.h"
#include "table/model/meter.h"
#include "table/model/value.h"
#include "table/row/write_own.h"
#include "table/model/series_place.h"

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

/* The table of a series that a row is written to: an index behind that of the series' own, which
 * has no row, and takes what is deleted in vain and what fits no table. */
static int find_period(struct ctx *c, const struct call_series *s,
                       const struct wr_row_change *change, size_t *at)
{
    enum series_place place;
    int64_t number;

    *at = 0;
    TRY(series_place(c, &s->series->schema, &change->row.key, change, &place, &number));
    if (place != SERIES_PERIOD)
        return E_OK;
    TRY(series_check_write(c, &s->series->schema, number));
    for (size_t i = 0; i < s->count; i++)
        if (s->periods[i].number == number) {
            *at = 1 + i;
            if (s->periods[i].table->schema.period.frozen)
                return series_refuse_write(c, &s->series->schema, number);
        }
    return E_OK;
}

/* A row that no period takes fails by itself. */
static void add_series_row(struct write_call *w, const struct call_series *s, size_t first,
                           const struct wr_row_change *change, struct wr_row_result *result)
{
    struct write_row *r = &w->rows[w->row_count];
    size_t at;

    write_add_row(w, change, result);
    r->table_at = first;
    if (find_period(&w->call->c, s, change, &at)) {
        write_row_fail(&w->call->c, r);
        write_row_enter(r, WRITE_ROW_DONE);
    } else {
        r->table_at += at;
    }
}

/* How many tables the rows of this one may be of. */
static size_t tables_of(const struct call *call, bytes name)
{
    const struct call_series *s = call_series_named(call->series, name);

    return s ? s->count + 1 : 1;
}

/* The rows of a batch to one table, in the order in which they are walked. */
struct batch_rows {
    const struct wr_row_change *changes;
    size_t count;
    const struct wr_row_change **sorted; /* NULL: as they came */
};

/* Adds the table, of which a reference is given, and its rows, which begin at w->row_count. */
static void add_rows(struct write_call *w, struct table *t, const struct batch_rows *b,
                     struct wr_row_result *results)
{
    const struct call_series *s = call_series_named(w->call->series, t->schema.d.table);
    size_t first = w->table_count, row = w->row_count;

    w->tables[w->table_count++] = (struct write_table){t, row, row + b->count};
    for (size_t i = 0; s && i < s->count; i++)
        w->tables[w->table_count++] =
            (struct write_table){table_ref(s->periods[i].table), row + b->count, row + b->count};
    for (size_t i = 0; i < b->count; i++) {
        const struct wr_row_change *change = b->sorted ? b->sorted[i] : &b->changes[i];
        struct wr_row_result *result = &results[change - b->changes];

        if (PORT_UNLIKELY(s != NULL))
            add_series_row(w, s, first, change, result);
        else
            write_add_row(w, change, result);
    }
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
    struct batch_rows row = {change, 1, NULL};
    struct ctx *c = &call->c;
    struct write_call *w;
    struct table *t;

    TRY(check_type(c, call->req->op, change->type));
    TRY(change_check_alone(c, db_limits(call->db), change, false));
    TRY(call_open_table(call, change->table, &t));
    w = write_new(call, tables_of(call, change->table), 1);
    add_rows(w, t, &row, ARENA_NEW(&c->arena, struct wr_row_result));
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
    if (x->type == WR_BIGINT)
        return (x->integer > y->integer) - (x->integer < y->integer);
    return bytes_compare(x->bytes, y->bytes);
}

static bool both_generated(const struct wr_value *x, const struct wr_value *y)
{
    return x->type == WR_AUTO_INCREMENT && y->type == WR_AUTO_INCREMENT;
}

/* By key up to a column that is to be generated, those of one key as they came. */
static int compare_changes(const void *a, const void *b)
{
    const struct wr_row_change *x = *(const struct wr_row_change *const *)a;
    const struct wr_row_change *y = *(const struct wr_row_change *const *)b;
    const struct wr_key *k = &x->row.key, *l = &y->row.key;
    int d = k->count == l->count ? 0 : k->count < l->count ? -1 : 1;

    for (size_t i = 0; !d && i < k->count; i++) {
        d = bytes_compare(k->columns[i].name, l->columns[i].name);
        if (!d && both_generated(&k->columns[i].value, &l->columns[i].value))
            break;
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
 * none of them is made. `rows` are those of the table, sorted or as they came. */
static void mark_repeated(struct write_row *rows, bool are_sorted, const struct wr_table_write *t,
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
            rows[are_sorted ? i : (size_t)(sorted[i] - t->changes)].repeated = true;
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

static void release_tables(struct table **tables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_release(tables[i]);
}

static int open_tables(struct call *call, const struct wr_table_write *tables, size_t count,
                       struct table **out)
{
    for (size_t i = 0; i < count; i++)
        if (call_open_table(call, tables[i].table, &out[i])) {
            release_tables(out, i);
            return call->c.code;
        }
    return E_OK;
}

int batch_write_row_start(struct call *call)
{
    const struct wr_table_write *tables = call->req->batch_write_row.tables;
    size_t count = call->req->batch_write_row.table_count, rows = 0, most = 0;
    struct ctx *c = &call->c;
    const struct wr_row_change ***sorted = arena_alloc(&c->arena, sizeof(void *) * (count + 1));
    struct table **opened = arena_alloc(&c->arena, sizeof(void *) * (count + 1));
    struct wr_table_result *results;
    struct write_call *w;

    TRY(check_batch_tables(call, tables, count));
    TRY(check_batch_rows(call, tables, count));
    for (size_t i = 0; i < count; i++) {
        sorted[i] = by_row(c, &tables[i]);
        TRY(request_check_repeated(call, &tables[i], sorted[i]));
        rows += tables[i].change_count;
        most += tables_of(call, tables[i].table);
    }
    TRY(open_tables(call, tables, count, opened));
    for (size_t i = 0; i < count; i++)
        if (opened[i]->schema.index_count && repeats_a_row(&tables[i], sorted[i])) {
            release_tables(opened, count);
            return fail(c, E_PARAMETER,
                        "Repeated rows are not supported in BatchModify of a table with secondary "
                        "indexes.");
        }
    w = write_new(call, most, rows);
    w->atomic = call->req->batch_write_row.atomic;
    batch_result(call, tables, count, &results);
    for (size_t i = 0; i < count; i++) {
        bool ordered = !w->atomic && write_number_ordered(call->db, opened[i]);
        struct batch_rows b = {tables[i].changes, tables[i].change_count,
                               ordered ? sorted[i] : NULL};

        add_rows(w, opened[i], &b, (struct wr_row_result *)results[i].rows);
        mark_repeated(&w->rows[w->row_count - b.count], ordered, &tables[i], sorted[i]);
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
    struct batch_rows b = {t->changes, t->change_count, NULL};
    struct ctx *c = &call->c;
    struct wr_table_result *results;
    struct write_call *w;
    struct table *table;

    TRY(check_batch_tables(call, t, 1));
    TRY(check_batch_rows(call, t, 1));
    batch_result(call, t, 1, &results);
    if (call_open_table(call, t->table, &table)) {
        if (call->diverted)
            return c->code;
        for (size_t i = 0; i < t->change_count; i++) {
            struct wr_row_result *r = (struct wr_row_result *)&results->rows[i];

            r->code = c->code;
            r->message = c->text;
        }
        ctx_clear(c);
        call_finish(call);
        return E_OK;
    }
    w = write_new(call, tables_of(call, t->table), t->change_count);
    if (write_number_ordered(call->db, table))
        b.sorted = by_row(c, t);
    add_rows(w, table, &b, (struct wr_row_result *)results->rows);
    for (size_t i = 0; i < t->change_count; i++) {
        struct write_row *r = &w->rows[i];

        if (r->state != WRITE_ROW_DONE && check_defined_types(c, table, r->change)) {
            write_row_fail(c, r);
            write_row_enter(r, WRITE_ROW_DONE);
        }
    }
    write_start(w);
    return E_OK;
}
