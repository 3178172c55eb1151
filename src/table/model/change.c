#include "table/model/change.h"

#include "table/model/filter.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/model/name.h"
#include "table/model/value.h"

#include <math.h>

static int change_check_length(struct ctx *c, const struct limits *limits,
                               const struct wr_cell *cell)
{
    const struct wr_value *v = &cell->value;

    if (!value_is_bytes(v->type) || v->bytes.len <= (size_t)limits->cell_bytes_max)
        return E_OK;
    return fail(c, E_PARAMETER,
                "The length of attribute column: '%.*s' exceeds the MaxLength:%lld with "
                "CurrentLength:%zu.",
                BYTES_FMT(cell->name), (long long)limits->cell_bytes_max, v->bytes.len);
}

static int change_check_value(struct ctx *c, const struct limits *limits,
                              const struct wr_cell *cell)
{
    const struct wr_value *v = &cell->value;

    if (v->type == WR_NULL || v->type >= WR_INF_MIN)
        return fail(c, E_PARAMETER, "%s is an invalid type for the attribute column.",
                    value_type_name(v->type));
    if ((v->type == WR_DOUBLE || v->type == WR_FLOAT) && !isfinite(v->real))
        return fail(c, E_PARAMETER, "Value of column '%.*s' must be a finite number.",
                    BYTES_FMT(cell->name));
    if (!value_is_bytes(v->type) || cell->apart)
        return E_OK;
    TRY(change_check_length(c, limits, cell));
    if (v->type == WR_VARCHAR && !bytes_is_utf8(v->bytes))
        return fail(c, E_PARAMETER, "Value of column '%.*s' must be UTF8 encoding.",
                    BYTES_FMT(cell->name));
    return E_OK;
}

static int check_timestamp(struct ctx *c, const struct wr_cell *cell)
{
    if (cell->timestamp_ms != WR_TIMESTAMP_NONE &&
        (cell->timestamp_ms < 0 || cell->timestamp_ms > STAMP_MS_MAX))
        return fail(c, E_PARAMETER, "Timestamp must be in range [0, INT64_MAX/1000).");
    return E_OK;
}

static int check_update_cell(struct ctx *c, const struct limits *limits, const struct wr_cell *cell)
{
    switch (cell->op) {
    case WR_CELL_PUT:
        return change_check_value(c, limits, cell);
    case WR_CELL_DELETE_ALL:
        if (cell->timestamp_ms != WR_TIMESTAMP_NONE)
            return fail(c, E_PARAMETER,
                        "Deleting all versions of column '%.*s' takes no timestamp.",
                        BYTES_FMT(cell->name));
        return E_OK;
    case WR_CELL_DELETE_ONE:
        if (cell->timestamp_ms == WR_TIMESTAMP_NONE)
            return fail(c, E_PARAMETER,
                        "Deleting one version of column '%.*s' needs its timestamp.",
                        BYTES_FMT(cell->name));
        return E_OK;
    case WR_CELL_INCREMENT:
        if (cell->timestamp_ms != WR_TIMESTAMP_NONE)
            return fail(c, E_PARAMETER, "Incrementing column '%.*s' takes no timestamp.",
                        BYTES_FMT(cell->name));
        if (cell->value.type != WR_BIGINT && cell->value.type != WR_DOUBLE)
            return fail(c, E_PARAMETER, "Column '%.*s' can be incremented by a number only.",
                        BYTES_FMT(cell->name));
        return change_check_value(c, limits, cell);
    }
    return fail(c, E_PARAMETER, "Column '%.*s' has an unknown operation.", BYTES_FMT(cell->name));
}

static int check_cells(struct ctx *c, const struct limits *limits,
                       const struct wr_row_change *change)
{
    const struct wr_row *row = &change->row;

    if (row->cell_count > (size_t)limits->row_change_cells_max)
        return fail(c, E_PARAMETER,
                    "The number of attribute columns exceeds the limit, limit count: %d, column "
                    "count: %zu.",
                    (int)limits->row_change_cells_max, row->cell_count);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];

        TRY(name_check_column(c, cell->name));
        for (size_t k = 0; k < row->key.count; k++)
            if (bytes_equal(cell->name, row->key.columns[k].name))
                return fail(c, E_PARAMETER,
                            "Duplicated attribute column name with primary key column: '%.*s'.",
                            BYTES_FMT(cell->name));
        if (change->type == WR_PUT && cell->op != WR_CELL_PUT)
            return fail(c, E_PARAMETER, "OpType cannot be given for column name:'%.*s' in PutRow.",
                        BYTES_FMT(cell->name));
        TRY(check_timestamp(c, cell));
        TRY(check_update_cell(c, limits, cell));
    }
    return E_OK;
}

/* The names of the cells that increment, or of all, sorted; in the arena of c. */
static const bytes *cell_names(struct ctx *c, const struct wr_row *row, bool increments,
                               size_t *count)
{
    bytes *names = arena_alloc(&c->arena, sizeof(bytes) * (row->cell_count + 1));

    *count = 0;
    for (size_t i = 0; i < row->cell_count; i++)
        if (!increments || row->cells[i].op == WR_CELL_INCREMENT)
            names[(*count)++] = row->cells[i].name;
    names_sort(names, *count);
    return names;
}

/* A column that is incremented takes part in nothing else of the same request. */
static int check_increments(struct ctx *c, const struct wr_row *row)
{
    const bytes *names = NULL, *at;
    size_t count = 0;

    for (size_t i = 0; i < row->cell_count; i++) {
        if (row->cells[i].op != WR_CELL_INCREMENT || row->cell_count == 1)
            continue;
        if (!names)
            names = cell_names(c, row, false, &count);
        at = names_find(names, count, row->cells[i].name);
        if (at + 1 < names + count && bytes_equal(at[1], *at))
            return fail(c, E_PARAMETER,
                        "Column '%.*s' cannot be incremented and changed otherwise in one request.",
                        BYTES_FMT(row->cells[i].name));
    }
    return E_OK;
}

/* What is to be returned are columns that the request increments. */
static int check_return_columns(struct ctx *c, const struct wr_row_change *change)
{
    size_t count;
    const bytes *names = cell_names(c, &change->row, true, &count);

    for (size_t i = 0; i < change->return_column_count; i++)
        if (!names_find(names, count, change->return_columns[i]))
            return fail(c, E_PARAMETER, "Return column '%.*s' is not incremented by the request.",
                        BYTES_FMT(change->return_columns[i]));
    return E_OK;
}

static int check_return(struct ctx *c, const struct wr_row_change *change)
{
    switch (change->return_type) {
    case WR_RETURN_NONE:
        return E_OK;
    case WR_RETURN_KEY:
        if (change->return_column_count)
            return fail(c, E_PARAMETER, "Return columns can be named only with RT_AFTER_MODIFY.");
        return E_OK;
    case WR_RETURN_AFTER_MODIFY:
        if (change->type != WR_UPDATE)
            return fail(c, E_PARAMETER, "RT_AFTER_MODIFY is for UpdateRow only.");
        return check_return_columns(c, change);
    }
    return fail(c, E_PARAMETER, "Unknown return type.");
}

static const char *change_name(enum wr_change_type type)
{
    return type == WR_PUT ? "PutRow" : type == WR_UPDATE ? "UpdateRow" : "DeleteRow";
}

static int check_size(struct ctx *c, const struct limits *limits,
                      const struct wr_row_change *change)
{
    size_t size = meter_request_size(change);

    if (size <= (size_t)limits->row_change_bytes_max)
        return E_OK;
    return fail(c, E_PARAMETER,
                "The total data size of %s request exceeds the limit, limit size: %lld, data "
                "size: %zu.",
                change_name(change->type), (long long)limits->row_change_bytes_max, size);
}

int change_check_alone(struct ctx *c, const struct limits *limits,
                       const struct wr_row_change *change, bool many)
{
    struct filter *condition;

    if (change->type != WR_PUT && change->type != WR_UPDATE && change->type != WR_DELETE)
        return fail(c, E_PARAMETER, "Unknown type of row change.");
    if (change->condition.existence < WR_IGNORE ||
        change->condition.existence > WR_EXPECT_NOT_EXIST)
        return fail(c, E_PARAMETER, "Unknown row existence expectation.");
    /* A placeholder of an auto-increment column is legal in puts and updates; whether the column is
     * one is for the table to say. */
    TRY(key_check_alone(c, limits, &change->row.key,
                        change->type == WR_DELETE ? KEY_READ : KEY_WRITE));
    TRY(check_cells(c, limits, change));
    if (change->type == WR_UPDATE && change->row.cell_count == 0)
        return fail(c, E_PARAMETER, "Attribute column is missing.");
    if (change->type == WR_DELETE && change->row.cell_count)
        return fail(c, E_PARAMETER, "Attribute columns cannot be given in DeleteRow.");
    if (change->type == WR_UPDATE)
        TRY(check_increments(c, &change->row));
    TRY(check_return(c, change));
    TRY(filter_compile(c, limits, change->condition.column, FILTER_CONDITION, &condition));
    return many ? E_OK : check_size(c, limits, change);
}

int change_check_indexed(struct ctx *c, const struct wr_row_change *change)
{
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (change->row.cells[i].timestamp_ms != WR_TIMESTAMP_NONE)
            return fail(c, E_PARAMETER,
                        "Timestamp cannot be given for column '%.*s', because the table has "
                        "secondary indexes.",
                        BYTES_FMT(change->row.cells[i].name));
    return E_OK;
}

int change_check_table(struct ctx *c, const struct limits *limits, const struct table *table,
                       const struct wr_row_change *change, bool many)
{
    int64_t own = table->schema.d.options.cell_bytes_max;
    struct limits l = *limits;

    if (own)
        l.cell_bytes_max = own;
    limits_lift(&l, l.cell_bytes_max);
    for (size_t i = 0; i < change->row.cell_count; i++)
        if (change->row.cells[i].op == WR_CELL_PUT)
            TRY(change_check_length(c, &l, &change->row.cells[i]));
    return many ? E_OK : check_size(c, &l, change);
}
