#include "sql/run/plan.h"

#include <sqlite3.h>

#define ROWS_OF_ALL 1e9 /* of a table of which nothing is known */
#define EQUAL_KEEPS 1e-4
#define BOUND_KEEPS 1e-2
#define LOOK_UP_COST 5.0 /* of a row that is read by its key, in rows of a walk */
#define SORT_COST 2.0

/* ---- what the constraints bound ---- */

/* The usable constraint on a column with one of the operators; -1: there is none. */
static int constraint_find(const sqlite3_index_info *info, size_t column, int op, int other)
{
    for (int i = 0; i < info->nConstraint; i++)
        if (info->aConstraint[i].usable && info->aConstraint[i].iColumn == (int)column &&
            (info->aConstraint[i].op == op || info->aConstraint[i].op == other))
            return i;
    return -1;
}

/* IS may ask for NULL, and rows with that have no entry in an index. */
static int equality_find(const struct table_path *path, const sqlite3_index_info *info, size_t i)
{
    return constraint_find(info, path->columns[i], SQLITE_INDEX_CONSTRAINT_EQ,
                           path->given ? SQLITE_INDEX_CONSTRAINT_EQ : SQLITE_INDEX_CONSTRAINT_IS);
}

static int above_find(const struct table_path *path, const sqlite3_index_info *info, size_t i)
{
    return constraint_find(info, path->columns[i], SQLITE_INDEX_CONSTRAINT_GT,
                           SQLITE_INDEX_CONSTRAINT_GE);
}

static int below_find(const struct table_path *path, const sqlite3_index_info *info, size_t i)
{
    return constraint_find(info, path->columns[i], SQLITE_INDEX_CONSTRAINT_LT,
                           SQLITE_INDEX_CONSTRAINT_LE);
}

static void bounds_find(const struct table_path *path, const sqlite3_index_info *info,
                        struct plan *p)
{
    int i;

    while (p->equal < path->key_count && equality_find(path, info, p->equal) >= 0) {
        p->signs[p->length++] = PLAN_EQUAL;
        p->equal++;
    }
    if (p->equal == path->key_count)
        return;
    if ((i = above_find(path, info, p->equal)) >= 0)
        p->signs[p->length++] =
            info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_GT ? PLAN_ABOVE : PLAN_FROM;
    if ((i = below_find(path, info, p->equal)) >= 0)
        p->signs[p->length++] =
            info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_LT ? PLAN_BELOW : PLAN_TO;
}

/* Does some condition pass over rows in which the column is NULL? */
static bool rejects_null(const sqlite3_index_info *info, size_t column)
{
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != (int)column)
            continue;
        switch (info->aConstraint[i].op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
        case SQLITE_INDEX_CONSTRAINT_NE:
        case SQLITE_INDEX_CONSTRAINT_GT:
        case SQLITE_INDEX_CONSTRAINT_GE:
        case SQLITE_INDEX_CONSTRAINT_LT:
        case SQLITE_INDEX_CONSTRAINT_LE:
        case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
            return true;
        default:
            break;
        }
    }
    return false;
}

/* The first column of the index in which rows that are asked for may be NULL, so that they have no
 * entry; SIZE_MAX: none. */
static size_t sparse_column(const struct sql_table *t, const struct table_path *path,
                            const sqlite3_index_info *info)
{
    for (size_t i = 0; i < path->given; i++)
        if (path_is_sparse(path, t, i) && !rejects_null(info, path->columns[i]))
            return path->columns[i];
    return SIZE_MAX;
}

/* ---- order and cost ---- */

/* Columns that are equal in all rows may stand anywhere in ORDER BY. */
static int order_of(const struct sql_table *t, const struct table_path *path,
                    const sqlite3_index_info *info, size_t equal)
{
    int direction = 0;
    size_t next = equal;

    for (int i = 0; i < info->nOrderBy; i++) {
        size_t column = (size_t)info->aOrderBy[i].iColumn;
        int way;

        if (column == t->column_count && next == path->key_count && !info->aOrderBy[i].desc)
            continue; /* versions of a row come in their order, which way ever rows come */
        if (column >= t->column_count)
            return 0;
        if (path->position[column] < equal)
            continue;
        if (path->position[column] != next)
            return 0;
        way = info->aOrderBy[i].desc == path->descending[next] ? 1 : -1;
        if (direction && way != direction)
            return 0;
        direction = way;
        next++;
    }
    return direction ? direction : 1;
}

static void estimate(const struct table_path *path, const sqlite3_index_info *info, struct plan *p)
{
    p->rows = ROWS_OF_ALL;
    for (size_t i = 0; i < p->length; i++)
        p->rows *= p->signs[i] == PLAN_EQUAL ? EQUAL_KEEPS : BOUND_KEEPS;
    p->cost = p->rows;
    if (path->given && !p->covers)
        p->cost *= LOOK_UP_COST;
    if (info->nOrderBy && !p->order)
        p->cost *= SORT_COST;
    if (p->rows < 1 || p->equal == path->key_count)
        p->rows = 1;
}

static bool may_use(const struct sql_table *t, const struct table_path *path,
                    const struct plan_wishes *w, const sqlite3_index_info *info,
                    const struct plan *p)
{
    if (!path->given)
        return !w->force_index.ptr && (p->length || !w->conditions || w->allow_filtering);
    if (path->building || w->ignore_indexes)
        return false;
    if (w->force_index.ptr)
        return bytes_equal(w->force_index, path->name) &&
               (p->length || !w->conditions || w->allow_filtering);
    return p->length && !path->partial && sparse_column(t, path, info) == SIZE_MAX;
}

bool plan_looks_up(const struct sql_table *t, const struct table_path *path,
                   const struct plan_wishes *w, uint64_t used)
{
    return path->given && (w->versions || !path_covers(path, t, used));
}

bool plan_choose(const struct sql_table *t, const struct table_path *paths, size_t path_count,
                 const struct plan_wishes *wishes, const struct sqlite3_index_info *info,
                 struct plan *out)
{
    struct plan_wishes w = *wishes;
    bool found = false;

    if (!path_find(paths, path_count, w.force_index)) /* it is another table's */
        w.force_index = BYTES_NONE;
    for (size_t i = 0; i < path_count; i++) {
        struct plan p = {.path = i, .covers = !plan_looks_up(t, &paths[i], &w, info->colUsed)};

        bounds_find(&paths[i], info, &p);
        p.order = order_of(t, &paths[i], info, p.equal);
        estimate(&paths[i], info, &p);
        if (!may_use(t, &paths[i], &w, info, &p) || (found && p.cost >= out->cost))
            continue;
        *out = p;
        found = true;
    }
    return found;
}

static int constraint_of(const struct table_path *path, const struct plan *p, size_t i,
                         const sqlite3_index_info *info)
{
    size_t column = i < p->equal ? i : p->equal;

    switch (p->signs[i]) {
    case PLAN_EQUAL:
        return equality_find(path, info, column);
    case PLAN_ABOVE:
    case PLAN_FROM:
        return above_find(path, info, column);
    default:
        return below_find(path, info, column);
    }
}

void plan_use(const struct table_path *path, const struct plan *p, const struct plan_wishes *w,
              struct sqlite3_index_info *info)
{
    for (size_t i = 0; i < p->length; i++)
        info->aConstraintUsage[constraint_of(path, p, i, info)].argvIndex = (int)i + 1;
    info->orderByConsumed = info->nOrderBy && p->order;
    info->estimatedCost = p->cost;
    info->estimatedRows = (sqlite3_int64)p->rows;
    if (p->equal == path->key_count && !w->versions)
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
}

/* ---- advice ---- */

static bool may_be_indexed(enum wr_type type)
{
    return type != WR_NULL && type != WR_JSON;
}

/* What keeps an index of which the first column is bounded from use, or NULL. */
static bytes advice_on_index(struct arena *a, const struct sql_table *t,
                             const struct table_path *path, const sqlite3_index_info *info)
{
    struct plan p = {.path = 0};
    size_t sparse;

    bounds_find(path, info, &p);
    if (!p.length)
        return BYTES_NONE;
    if (path->building)
        return arena_printf(a, "wait until SHOW INDEX says that index '%.*s' is ACTIVE, ",
                            RUN_TEXT(path->name));
    if (path->partial)
        return arena_printf(a,
                            "or create index '%.*s' anew, for it has no entry of rows from before "
                            "it, ",
                            RUN_TEXT(path->name));
    sparse = sparse_column(t, path, info);
    if (sparse == SIZE_MAX)
        return BYTES_NONE;
    return arena_printf(
        a,
        "or the condition '%.*s IS NOT NULL', for index '%.*s' has no entry of rows "
        "without it, ",
        RUN_TEXT(t->columns[sparse].name), RUN_TEXT(path->name));
}

/* The column that an index would best begin with: one that equals something, else one with bounds.
 */
static size_t column_to_index(const struct sql_table *t, const sqlite3_index_info *info)
{
    size_t bounded = SIZE_MAX;

    for (size_t i = 1; i < t->column_count; i++) {
        if (!may_be_indexed(t->columns[i].type))
            continue;
        if (constraint_find(info, i, SQLITE_INDEX_CONSTRAINT_EQ, SQLITE_INDEX_CONSTRAINT_EQ) >= 0)
            return i;
        if (bounded == SIZE_MAX &&
            (constraint_find(info, i, SQLITE_INDEX_CONSTRAINT_GT, SQLITE_INDEX_CONSTRAINT_GE) >=
                 0 ||
             constraint_find(info, i, SQLITE_INDEX_CONSTRAINT_LT, SQLITE_INDEX_CONSTRAINT_LE) >= 0))
            bounded = i;
    }
    return bounded;
}

bytes plan_advice(struct arena *a, const struct sql_table *t, const struct table_path *paths,
                  size_t path_count, const struct sqlite3_index_info *info)
{
    size_t column;

    for (size_t i = 1; i < path_count; i++) {
        bytes advice = advice_on_index(a, t, &paths[i], info);

        if (advice.ptr)
            return advice;
    }
    column = column_to_index(t, info);
    if (column == SIZE_MAX)
        return BYTES_LIT("");
    return arena_printf(a, "create an index: CREATE INDEX %.*s_%.*s ON %.*s (%.*s), ",
                        RUN_TEXT(t->name), RUN_TEXT(t->columns[column].name), RUN_TEXT(t->name),
                        RUN_TEXT(t->columns[column].name));
}
