/* projection.h: is an index what its table's rows make of it? Included behind cmocka.
 *
 * The rows are those that a client reads, and their entries are worked out here once more; the
 * index is what is stored under its id. Columns of either key are integers, so are those that are
 * defined, but for texts. */
#ifndef UNIT_TABLE_INDEX_PROJECTION_H
#define UNIT_TABLE_INDEX_PROJECTION_H

#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/key.h"
#include "table/model/row.h"
#include "table/sync/wait.h"

static const struct wr_cell *projection_cell(const struct wr_row *row, bytes name)
{
    return cells_find(row->cells, row->cell_count, name);
}

static bool same_value(const struct wr_value *a, const struct wr_value *b)
{
    return a->type == b->type &&
           (a->type == WR_BIGINT ? a->integer == b->integer : bytes_equal(a->bytes, b->bytes));
}

/* The value that the row has in a column of the index's key; NULL: none that can stand there. */
static const struct wr_value *projection_value(const struct schema *s, struct index_column from,
                                               const struct wr_row *row)
{
    const struct wr_cell *cell;

    if (from.is_key)
        return &row->key.columns[from.at].value;
    cell = projection_cell(row, s->d.defined[from.at].name);
    return cell && cell->value.type == s->d.defined[from.at].type ? &cell->value : NULL;
}

static bool projection_has_key(const struct schema *s, const struct index *x,
                               const struct wr_row *row, const struct wr_key_column *key)
{
    for (size_t i = 0; i < x->location.key_count; i++) {
        const struct wr_value *v = projection_value(s, x->from[i], row);

        if (!v || (key && !same_value(v, &key[i].value)))
            return false;
    }
    return true;
}

static bool projection_has_cells(const struct index *x, const struct wr_row *row,
                                 const struct row *entry)
{
    size_t n = 0;

    for (size_t i = 0; i < x->covered_count; i++) {
        const struct wr_cell *cell = projection_cell(row, x->covered[i]);

        if (!cell)
            continue;
        if (n == entry->cell_count || !bytes_equal(entry->cells[n].name, cell->name) ||
            entry->cells[n].timestamp_ms != cell->timestamp_ms ||
            !same_value(&entry->cells[n].value, &cell->value))
            return false;
        n++;
    }
    return n == entry->cell_count;
}

/* All rows of the table, as a client reads them. The reply is the caller's. */
static struct wr_reply *projection_rows(struct wr_db *db, const struct schema *s)
{
    struct wr_key_column low[8], high[8];
    struct wr_request req = {.op = WR_OP_GET_RANGE, .instance = s->instance};

    for (size_t i = 0; i < s->d.key_count; i++) {
        low[i] = (struct wr_key_column){s->d.key[i].name, {.type = WR_INF_MIN}};
        high[i] = (struct wr_key_column){s->d.key[i].name, {.type = WR_INF_MAX}};
    }
    req.get_range = (struct wr_get_range){.table = s->d.table,
                                          .start = {low, s->d.key_count},
                                          .end = {high, s->d.key_count},
                                          .read = {.has_max_versions = true, .max_versions = 1}};
    return wr_exec(db, &req);
}

/* The number of rows that one index and the table differ in. *entries: how many there are. */
static size_t projection_differs(struct wr_db *db, const struct table *t, const struct index *x,
                                 const struct wr_reply *rows, size_t *entries)
{
    struct key_range ranges[64];
    struct page pages[64] = {0};
    struct scan scan = {.view = VIEW_LATEST,
                        .ranges = ranges,
                        .range_count = x->location.layout.buckets,
                        .items_max = 100000,
                        .bytes_max = 1 << 28,
                        .pages = pages};
    size_t expected = 0, wrong = 0, found = 0;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    for (size_t i = 0; i < scan.range_count; i++)
        ranges[i] =
            (struct key_range){key_prefix(&c.arena, x->location.id, (uint8_t)i, KIND_RECORD),
                               key_prefix(&c.arena, x->location.id, (uint8_t)i, KIND_LAST + 1)};
    assert_int_equal(wait_scan(&c, db->engine, &scan), 0);
    for (size_t i = 0; i < rows->range.row_count; i++)
        expected += projection_has_key(&t->schema, x, &rows->range.rows[i], NULL);
    for (size_t i = 0; i < scan.range_count; i++)
        for (size_t j = 0; j < pages[i].count; j++) {
            struct wr_key_column key[WR_KEY_COLUMNS_MAX];
            struct row entry;
            bool is_one = false;
            size_t used;

            if (bytes_u8(pages[i].items[j].key)[KEY_PREFIX_BYTES - 1] == KIND_CHANGE)
                continue; /* marks and fences (settle.h) */
            found++;
            assert_int_equal(key_read_columns(&c,
                                              bytes_skip(pages[i].items[j].key, KEY_PREFIX_BYTES),
                                              x->location.key, x->location.key_count, key, &used),
                             0);
            assert_int_equal(row_decode(&c, pages[i].items[j].value, &entry), 0);
            for (size_t k = 0; k < rows->range.row_count && !is_one; k++)
                is_one = projection_has_key(&t->schema, x, &rows->range.rows[k], key) &&
                         projection_has_cells(x, &rows->range.rows[k], &entry);
            wrong += !is_one;
        }
    ctx_release(&c);
    *entries = found;
    return wrong + (found > expected ? found - expected : expected - found);
}

/* Of all indexes of the table. Nobody writes meanwhile. */
static PORT_UNUSED size_t projection_check(struct wr_db *db, bytes instance, bytes table,
                                           size_t *entries)
{
    size_t wrong = 0, count;
    struct wr_reply *rows;
    struct table *t;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    assert_int_equal(catalog_find(&c, db->catalog, instance, table, &t), 0);
    rows = projection_rows(db, &t->schema);
    assert_int_equal(rows->code, 0);
    assert_int_equal(rows->range.next.count, 0); /* else it is a piece */
    *entries = 0;
    for (size_t i = 0; i < t->schema.index_count; i++) {
        wrong += projection_differs(db, t, &t->schema.indexes[i], rows, &count);
        *entries += count;
    }
    wr_reply_free(rows);
    table_release(t);
    ctx_release(&c);
    return wrong;
}

#endif
