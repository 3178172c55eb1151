/* oracle_read.c: GetRow, BatchGetRow, GetRange and BulkExport (doc/data-model.md, "Versions",
 * "Reads", "Ranges"). partial_keys is the doors' affair and changes nothing here. */
#include "oracle_part.h"

static bool names_key(const struct oracle_table *t, bytes name)
{
    for (size_t i = 0; i < t->key_count; i++)
        if (bytes_equal(t->key[i].name, name))
            return true;
    return false;
}

static bool names_column(const struct wr_read_options *read, bytes name)
{
    for (size_t i = 0; i < read->column_count; i++)
        if (bytes_equal(read->columns[i], name))
            return true;
    return read->column_count == 0;
}

static bool in_time(const struct wr_read_options *read, int64_t ts)
{
    if (read->has_specific && ts != read->specific_ms)
        return false;
    return !read->has_start || (ts >= read->start_ms && ts < read->end_ms);
}

/* The cells of the columns that the read asks for: what filters look at. */
static size_t choose_columns(const struct wr_read_options *read, const struct oracle_row *row,
                             struct wr_cell *out)
{
    size_t n = 0;

    for (size_t i = 0; i < row->count; i++) {
        const struct wr_cell *c = &row->cells[i].cell;

        if (!names_column(read, c->name))
            continue;
        if (read->start_column.ptr && bytes_compare(c->name, read->start_column) < 0)
            continue;
        if (read->end_column.ptr && bytes_compare(c->name, read->end_column) >= 0)
            continue;
        out[n] = *c;
        if (row->cells[i].open)
            out[n].timestamp_ms = ORACLE_STAMP_OPEN;
        n++;
    }
    return n;
}

/* Of those the versions that it asks for. */
static size_t choose_versions(const struct wr_read_options *read, struct wr_cell *cells,
                              size_t count)
{
    size_t n = 0;
    int32_t versions = 0;
    bytes last = BYTES_NONE;

    for (size_t i = 0; i < count; i++) {
        if (!in_time(read, cells[i].timestamp_ms))
            continue;
        versions = last.ptr && bytes_equal(last, cells[i].name) ? versions + 1 : 1;
        last = cells[i].name;
        if (!read->has_max_versions || versions <= read->max_versions)
            cells[n++] = cells[i];
    }
    return n;
}

/* Keeps the columns that a page filter lets through. */
static size_t cut_page(const struct wr_page_filter *page, struct wr_cell *cells, size_t count)
{
    int64_t column = -1;
    size_t n = 0;
    bytes last = BYTES_NONE;

    for (size_t i = 0; i < count; i++) {
        if (!last.ptr || !bytes_equal(last, cells[i].name))
            column++;
        last = cells[i].name;
        if (column >= page->offset && column < (int64_t)page->offset + page->limit)
            cells[n++] = cells[i];
    }
    return n;
}

/* The row as this read gives it, and what of it counts as read. `row` NULL: absent. */
static void read_row(const struct oracle_table *t, const struct wr_read_options *read,
                     const struct oracle_row *row, struct arena *a, struct wr_row *out,
                     size_t *size)
{
    bool versioned = t->options.max_versions > 1 || t->options.ttl_s >= 0, key_named = false;
    bool passes;
    struct wr_cell *cells;
    struct wr_key_column *key;
    const struct wr_page_filter *page;
    size_t count;

    *out = (struct wr_row){0};
    *size = 0;
    if (!row)
        return;
    cells = ARENA_ARRAY(a, struct wr_cell, row->count + 1);
    count = choose_columns(read, row, cells);
    passes =
        !read->filter || oracle_filter_match(read->filter, row->key, t->key_count, cells, count);
    count = choose_versions(read, cells, count);
    *size = oracle_key_size(row->key, t->key_count);
    for (size_t i = 0; i < count; i++)
        *size += cells[i].name.len + oracle_value_size(&cells[i].value) + (versioned ? 8 : 0);
    for (size_t i = 0; i < read->column_count; i++)
        key_named = key_named || names_key(t, read->columns[i]);
    if (read->column_count && !count && !key_named)
        return;
    if (!passes)
        return;
    page = read->filter ? oracle_filter_page(read->filter) : NULL;
    if (page)
        count = cut_page(page, cells, count);
    key = ARENA_ARRAY(a, struct wr_key_column, t->key_count);
    for (size_t i = 0; i < t->key_count; i++)
        key[i] = row->key[i];
    *out = (struct wr_row){.key = {key, t->key_count}, .cells = cells, .cell_count = count};
}

static void get_row(struct oracle *o, const struct wr_get_row *g, struct arena *a,
                    struct wr_reply *expected)
{
    struct oracle_table *t;
    size_t size;

    expected->code = oracle_check_table_name(g->table);
    if (!expected->code)
        expected->code = oracle_check_key_alone(o, &g->key, ORACLE_KEY_READ);
    if (!expected->code)
        expected->code = oracle_check_read_alone(o, &g->read);
    if (expected->code)
        return;
    t = oracle_find_any(o, g->table);
    expected->code = t ? oracle_check_read_filter(o, &g->read) : WR_E_NOT_EXIST;
    if (!expected->code)
        expected->code = oracle_check_key(o, t, &g->key, ORACLE_KEY_READ);
    if (expected->code)
        return;
    if (o->inside)
        expected->code = oracle_check_gate(o, t, g->key.columns);
    if (expected->code)
        return;
    read_row(t, &g->read, oracle_row_find(t, g->key.columns), a, &expected->row.row, &size);
    expected->row.consumed.read = oracle_units(size);
}

/* ---- BatchGetRow ---- */

static int check_batch(struct oracle *o, const struct wr_batch_get_row *b)
{
    size_t rows = 0;

    if (!b->table_count)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < b->table_count; i++) {
        const struct wr_table_get *g = &b->tables[i];

        if (oracle_check_table_name(g->table) || oracle_check_read_alone(o, &g->read) ||
            !g->key_count)
            return WR_E_PARAMETER;
        for (size_t k = 0; k < i; k++)
            if (bytes_equal(b->tables[k].table, g->table))
                return WR_E_PARAMETER;
        for (size_t k = 0; k < g->key_count; k++)
            if (oracle_check_key_alone(o, &g->keys[k], ORACLE_KEY_READ))
                return WR_E_PARAMETER;
        rows += g->key_count;
    }
    if (rows > (size_t)o->limits.batch_get_rows_max)
        return WR_E_PARAMETER;
    for (size_t i = 0; i < b->table_count; i++)
        if (!oracle_find_any(o, b->tables[i].table))
            return WR_E_NOT_EXIST;
    for (size_t i = 0; i < b->table_count; i++)
        if (oracle_check_read_filter(o, &b->tables[i].read))
            return WR_E_PARAMETER;
    return WR_OK;
}

static void batch_get(struct oracle *o, const struct wr_batch_get_row *b, struct arena *a,
                      struct wr_reply *expected)
{
    struct wr_table_result *tables;

    expected->code = check_batch(o, b);
    if (expected->code)
        return;
    tables = ARENA_ARRAY(a, struct wr_table_result, b->table_count);
    for (size_t i = 0; i < b->table_count; i++) {
        const struct wr_table_get *g = &b->tables[i];
        struct oracle_table *t = oracle_find_any(o, g->table);
        struct wr_row_result *rows = ARENA_ARRAY(a, struct wr_row_result, g->key_count);

        for (size_t k = 0; k < g->key_count; k++) {
            size_t size;

            rows[k].code = oracle_check_key(o, t, &g->keys[k], ORACLE_KEY_READ);
            if (rows[k].code)
                continue;
            read_row(t, &g->read, oracle_row_find(t, g->keys[k].columns), a, &rows[k].row, &size);
            rows[k].consumed.read = oracle_units(size);
        }
        tables[i] = (struct wr_table_result){g->table, rows, g->key_count};
    }
    expected->batch = (struct wr_batch_result){tables, b->table_count};
}

/* ---- GetRange ---- */

static int check_range(struct oracle *o, const struct wr_get_range *g, struct oracle_table **t)
{
    int code = oracle_check_table_name(g->table), d;

    if (!code)
        code = oracle_check_read_alone(o, &g->read);
    if (!code)
        code = oracle_check_key_alone(o, &g->start, ORACLE_KEY_BOUND);
    if (!code)
        code = oracle_check_key_alone(o, &g->end, ORACLE_KEY_BOUND);
    if (!code && g->has_limit && g->limit <= 0)
        code = WR_E_PARAMETER;
    if (code)
        return code;
    *t = oracle_find_any(o, g->table);
    if (!*t)
        return WR_E_NOT_EXIST;
    code = oracle_check_read_filter(o, &g->read);
    if (code)
        return code;
    code = oracle_check_key(o, *t, &g->start, ORACLE_KEY_BOUND);
    if (!code)
        code = oracle_check_key(o, *t, &g->end, ORACLE_KEY_BOUND);
    if (code)
        return code;
    if (o->inside)
        code = oracle_check_gate(o, *t, g->start.columns);
    if (o->inside && !code)
        code = oracle_check_gate(o, *t, g->end.columns);
    if (code)
        return code;
    d = oracle_key_compare((*t)->key, g->start.columns, g->end.columns, (*t)->key_count);
    return (g->backward ? d <= 0 : d >= 0) ? WR_E_PARAMETER : WR_OK;
}

static bool in_range(const struct oracle_table *t, const struct wr_get_range *g,
                     const struct oracle_row *row)
{
    int s = oracle_key_compare(t->key, row->key, g->start.columns, t->key_count);
    int e = oracle_key_compare(t->key, row->key, g->end.columns, t->key_count);

    return g->backward ? s <= 0 && e > 0 : s >= 0 && e < 0;
}

/* True if the page may end before `row` because the database steps over expired rows that are still
 * stored, and counts them: `next` is where it says it goes on. `row` NULL: the end of the range. */
static bool ends_at_ghost(const struct oracle_table *t, const struct wr_get_range *g,
                          const struct wr_key *next, const struct oracle_row *row)
{
    int d;

    if (!t->ghosts || next->count != t->key_count)
        return false;
    d = row ? oracle_key_compare(t->key, next->columns, row->key, t->key_count) : -1;
    return row && g->backward ? d >= 0 : d <= 0;
}

static void get_range(struct oracle *o, const struct wr_get_range *g, const struct wr_reply *actual,
                      struct arena *a, struct wr_reply *expected)
{
    static const struct wr_key none = {0};
    const struct wr_key *next = actual->code ? &none : &actual->range.next;
    struct oracle_table *t = NULL;
    struct wr_row *rows;
    size_t scanned = 0, total = 0, n = 0;

    expected->code = check_range(o, g, &t);
    if (expected->code)
        return;
    rows = ARENA_ARRAY(a, struct wr_row, t->row_count + 1);
    for (size_t i = 0; i < t->row_count; i++) {
        const struct oracle_row *row = t->rows[g->backward ? t->row_count - 1 - i : i];
        size_t size;

        if (!in_range(t, g, row))
            continue;
        if (ends_at_ghost(t, g, next, row)) {
            expected->range.next = *next;
            break;
        }
        if ((g->has_limit && n == (size_t)g->limit) ||
            scanned == (size_t)o->limits.range_rows_max ||
            total >= (size_t)o->limits.range_bytes_max) {
            expected->range.next = (struct wr_key){row->key, t->key_count};
            break;
        }
        read_row(t, &g->read, row, a, &rows[n], &size);
        scanned++;
        total += size;
        n += rows[n].key.count > 0;
    }
    if (!expected->range.next.count && ends_at_ghost(t, g, next, NULL))
        expected->range.next = *next;
    expected->range.rows = rows;
    expected->range.row_count = n;
    expected->range.consumed.read = oracle_units(total);
    expected->range.consumed.read_size = expected->op == WR_OP_BULK_EXPORT ? (int64_t)total : 0;
}

/* A GetRange that costs bytes instead of units. */
static void bulk_export(struct oracle *o, const struct wr_bulk_export *e,
                        const struct wr_reply *actual, struct arena *a, struct wr_reply *expected)
{
    struct wr_get_range g = {.table = e->table,
                             .start = e->start,
                             .end = e->end,
                             .read = {.columns = e->columns,
                                      .column_count = e->column_count,
                                      .has_max_versions = true,
                                      .max_versions = 1,
                                      .filter = e->filter}};
    int code = oracle_check_table_name(e->table);

    if (!code && e->matrix && !e->column_count)
        expected->code = WR_E_PARAMETER;
    else
        get_range(o, &g, actual, a, expected);
    expected->range.consumed.read = 0;
}

void oracle_read_op(struct oracle *o, const struct wr_request *req, const struct wr_reply *actual,
                    struct arena *a, struct wr_reply *expected)
{
    if (req->op == WR_OP_GET_ROW)
        get_row(o, &req->get_row, a, expected);
    else if (req->op == WR_OP_BATCH_GET_ROW)
        batch_get(o, &req->batch_get_row, a, expected);
    else if (req->op == WR_OP_BULK_EXPORT)
        bulk_export(o, &req->bulk_export, actual, a, expected);
    else
        get_range(o, &req->get_range, actual, a, expected);
}
