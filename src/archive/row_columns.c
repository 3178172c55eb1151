#include "archive/row_columns.h"

#include "base/bytes_short.h"
#include "record/type_name.h"
#include "archive/cells.h"

#include <stdlib.h>

void row_columns_init(struct row_columns *k, size_t key_count, bool beside, bool versions)
{
    *k = (struct row_columns){.beside = beside,
                              .versions = versions,
                              .key_count = key_count,
                              .max = beside ? ROW_COLUMNS_FREQUENT : ROW_COLUMNS_MAX};
    pthread_mutex_init(&k->mutex, NULL);
    arena_init(&k->arena, NULL, 0);
    k->known.list = ARENA_ARRAY(&k->arena, struct row_column, ROW_NAMES_MAX + 1);
}

void row_columns_release(struct row_columns *k)
{
    pthread_mutex_destroy(&k->mutex);
    arena_release(&k->arena);
}

/* Where a name stands or belongs. */
static size_t find_place(const struct row_column_list *known, bytes name, bool *found)
{
    size_t low = 0, high = known->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int r = bytes_compare(known->list[middle].name, name);

        if (r == 0) {
            *found = true;
            return middle;
        }
        if (r < 0)
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

/* With the mutex. */
static int add(struct ctx *c, struct row_columns *k, bytes name, enum wr_type type)
{
    struct row_column_list *known = &k->known;
    struct row_column column = {.type = type, .number = known->count};
    bool found;
    size_t at = find_place(known, name, &found);

    if (found && known->list[at].type != type && !k->beside)
        return mixed_types(c, &known->list[at], type);
    if (found || (k->beside && (known->count >= k->max || is_cells(name))))
        return 0;
    if (known->count >= k->max)
        return fail(c, E_PARAMETER,
                    "the rows have more than %d different columns; name some with --columns, or "
                    "export with --format jsonl",
                    ROW_COLUMNS_MAX);
    if (k->parquet && !parquet_takes(type))
        return fail(c, E_PARAMETER, "column %.*s is of type %s, which export does not write",
                    BYTES_FMT(name), type_name(type));
    column.name = arena_copy(&k->arena, name);
    memmove(&known->list[at + 1], &known->list[at], sizeof(*known->list) * (known->count - at));
    known->list[at] = column;
    known->count++;
    if (k->parquet)
        parquet_insert(k->parquet, &(struct parquet_column){column.name, type, false},
                       k->key_count + at);
    return 0;
}

int row_columns_add(struct ctx *c, struct row_columns *k, bytes name, enum wr_type type)
{
    return add(c, k, name, type);
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

void row_columns_count(struct row_columns *k)
{
    k->max = k->beside ? ROW_NAMES_MAX : ROW_COLUMNS_MAX;
    k->counted = k->beside;
}

void row_columns_keep_frequent(struct row_columns *k)
{
    struct row_column_list *known = &k->known;

    if (k->beside && known->count > ROW_COLUMNS_FREQUENT) {
        qsort(known->list, known->count, sizeof(*known->list), more_frequent);
        known->count = ROW_COLUMNS_FREQUENT;
        qsort(known->list, known->count, sizeof(*known->list), by_name);
    }
    for (size_t i = 0; i < known->count; i++)
        known->list[i].number = i;
    k->max = k->beside ? ROW_COLUMNS_FREQUENT : ROW_COLUMNS_MAX;
    k->counted = false;
}

/* ---- a thread's view */

/* With the mutex, but at the beginning. */
static void refresh(struct row_view *v)
{
    const struct row_column_list *all = &v->columns->known;
    struct row_column_list *own = &v->known;

    if (own->count < all->count) {
        struct row_column *list = mem_alloc(sizeof(*list) * all->count);

        for (size_t i = 0, j = 0; i < all->count; i++) {
            bool same = j < own->count && own->list[j].number == all->list[i].number;

            list[i] = all->list[i];
            list[i].count = same ? own->list[j++].count : 0;
        }
        mem_free(own->list);
        *own = (struct row_column_list){list, all->count};
    }
}

void row_view_init(struct row_view *v, struct row_columns *k)
{
    *v = (struct row_view){.columns = k};
    pthread_mutex_lock(&k->mutex);
    refresh(v);
    pthread_mutex_unlock(&k->mutex);
}

void row_view_release(struct row_view *v)
{
    mem_free(v->known.list);
    mem_free(v->values);
    *v = (struct row_view){0};
}

void row_view_merge(struct row_view *v)
{
    struct row_columns *k = v->columns;

    pthread_mutex_lock(&k->mutex);
    refresh(v);
    for (size_t i = 0; i < v->known.count; i++) {
        k->known.list[i].count += v->known.list[i].count;
        v->known.list[i].count = 0;
    }
    pthread_mutex_unlock(&k->mutex);
}

/* A name that this view does not know. *grown: it does now. */
static int meet(struct ctx *c, struct row_view *v, const struct wr_cell *cell, bool *grown)
{
    struct row_columns *k = v->columns;
    size_t before = v->known.count;
    int code;

    if (k->closed || (k->beside && (before >= k->max || is_cells(cell->name))))
        return 0;
    pthread_mutex_lock(&k->mutex);
    code = add(c, k, cell->name, cell->value.type);
    refresh(v);
    pthread_mutex_unlock(&k->mutex);
    *grown |= v->known.count > before;
    return code;
}

static void clear_values(struct row_view *v, size_t first)
{
    size_t wanted = first + v->known.count + 1;

    if (v->values_size < wanted) {
        v->values_size = wanted * 2;
        v->values = mem_realloc(v->values, sizeof(*v->values) * v->values_size);
    }
    for (size_t i = first; i < wanted; i++)
        v->values[i] = NULL;
}

/* Mostly they are the same. */
static int compare_names(bytes a, bytes b)
{
    return bytes_equal_short(a, b) ? 0 : bytes_compare(a, b);
}

/* Both the cells and the columns are in the order of their names, so both only go forward. *again:
 * a new column has come, the row begins anew. */
static int take_cells(struct ctx *c, struct row_view *v, const struct wr_row *row, bool *again)
{
    size_t at = 0, taken = 0, first = v->columns->first;

    clear_values(v, first);
    for (size_t i = 0; i < row->cell_count && !*again; i++) {
        const struct wr_cell *cell = &row->cells[i];
        const struct row_column *column;
        int r = 1;

        while (at < v->known.count && (r = compare_names(v->known.list[at].name, cell->name)) < 0)
            at++;
        if (at == v->known.count || r != 0) {
            TRY(meet(c, v, cell, again));
            continue;
        }
        column = &v->known.list[at];
        if (column->type != cell->value.type && !v->columns->beside)
            return mixed_types(c, column, cell->value.type);
        if (column->type == cell->value.type && !v->values[first + column->number]) {
            v->values[first + column->number] = &cell->value;
            taken++;
        }
    }
    v->whole = taken == row->cell_count;
    return 0;
}

int row_view_take(struct ctx *c, struct row_view *v, const struct wr_row *row, bool *grown)
{
    size_t first = v->columns->first;
    bool again;

    do {
        again = false;
        TRY(take_cells(c, v, row, &again));
        *grown |= again;
    } while (again);
    for (size_t i = 0; i < v->known.count && v->columns->counted; i++)
        v->known.list[i].count += v->values[first + v->known.list[i].number] != NULL;
    return 0;
}

bytes row_view_beside(struct ctx *c, const struct row_view *v, const struct wr_row *row)
{
    const struct row_columns *k = v->columns;
    bool found;
    struct buf b;

    if (!k->beside || (v->whole && !k->versions))
        return BYTES_NONE;
    buf_init(&b, &c->arena, 0);
    cells_begin(&b);
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];
        size_t at = find_place(&v->known, cell->name, &found);

        if (k->versions || !found || v->known.list[at].type != cell->value.type)
            cells_put(&b, cell, k->versions);
    }
    return b.len > 1 ? buf_bytes(&b) : BYTES_NONE;
}
