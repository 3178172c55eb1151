#include "archive/row_columns.h"

#include "record/type_name.h"

#include <stdlib.h>

void row_columns_init(struct row_columns *r, struct arena *a, bool beside, bool timed)
{
    *r = (struct row_columns){.arena = a,
                              .max = beside ? ROW_NAMES_MAX : ROW_COLUMNS_MAX,
                              .beside = beside,
                              .timed = timed};
    r->list = ARENA_ARRAY(a, struct row_column, r->max + 1);
}

/* Where a name stands or belongs. */
static size_t find_place(const struct row_columns *r, bytes name, bool *found)
{
    size_t low = 0, high = r->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = bytes_compare(r->list[middle].name, name);

        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

static int mixed_types(struct ctx *c, const struct row_column *column, enum wr_type other)
{
    return fail(c, E_PARAMETER,
                "column %.*s holds %s and %s values, which CSV and Parquet cannot keep apart; "
                "export it with --format jsonl",
                BYTES_FMT(column->name), type_name(column->type), type_name(other));
}

static bool is_cells(bytes name)
{
    return bytes_equal(name, BYTES_LIT(CELLS_COLUMN));
}

int row_columns_note(struct ctx *c, struct row_columns *r, const struct wr_cell *cell)
{
    bool found;
    size_t at = find_place(r, cell->name, &found);

    if (found)
        r->list[at].count++;
    if (found && r->list[at].type != cell->value.type && !r->beside)
        return mixed_types(c, &r->list[at], cell->value.type);
    if (found)
        return 0;
    if (r->beside && (r->count == r->max || is_cells(cell->name)))
        return 0;
    if (r->count == r->max)
        return fail(c, E_PARAMETER,
                    "the rows have more than %d different columns; name some with --columns, or "
                    "export with --format jsonl",
                    ROW_COLUMNS_MAX);
    memmove(&r->list[at + 1], &r->list[at], sizeof(*r->list) * (r->count - at));
    r->list[at] = (struct row_column){arena_copy(r->arena, cell->name), cell->value.type, 1};
    r->count++;
    return 0;
}

static int more_frequent(const void *left, const void *right)
{
    const struct row_column *a = left, *b = right;

    return (a->count < b->count) - (a->count > b->count);
}

static int by_name(const void *left, const void *right)
{
    const struct row_column *a = left, *b = right;

    return bytes_compare(a->name, b->name);
}

void row_columns_keep(struct row_columns *r)
{
    if (!r->beside || r->count <= ROW_COLUMNS_FREQUENT)
        return;
    qsort(r->list, r->count, sizeof(*r->list), more_frequent);
    r->count = ROW_COLUMNS_FREQUENT;
    qsort(r->list, r->count, sizeof(*r->list), by_name);
}

bytes row_columns_beside(struct ctx *c, const struct row_columns *r, const struct wr_row *row)
{
    bool found;
    struct buf b;

    buf_init(&b, &c->arena, 0);
    cells_begin(&b);
    for (size_t i = 0; i < row->cell_count && r->beside; i++) {
        const struct wr_cell *cell = &row->cells[i];
        size_t at = find_place(r, cell->name, &found);

        if (r->timed || !found || r->list[at].type != cell->value.type)
            cells_put(&b, cell, r->timed);
    }
    return b.len > 1 ? buf_bytes(&b) : BYTES_NONE;
}

int row_columns_take(struct ctx *c, const struct row_columns *r, const struct wr_row *row,
                     size_t *cell, size_t i, const struct wr_value **out)
{
    int order = -1;

    *out = NULL;
    /* Both the cells and the columns are in the order of their names. */
    while (*cell < row->cell_count &&
           (order = bytes_compare(row->cells[*cell].name, r->list[i].name)) < 0) {
        /* It came after the first walk, or nobody wants it. */
        ++*cell;
    }
    if (*cell == row->cell_count || order != 0)
        return 0;
    *out = &row->cells[(*cell)++].value;
    if ((*out)->type == r->list[i].type)
        return 0;
    if (!r->beside)
        return mixed_types(c, &r->list[i], (*out)->type);
    *out = NULL;
    return 0;
}
