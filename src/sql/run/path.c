#include "sql/run/path.h"

static void path_init(struct run *r, const struct sql_table *t, struct table_path *p, bytes name)
{
    *p = (struct table_path){.name = name,
                             .position = ARENA_ARRAY(r->arena, size_t, t->column_count),
                             .included = ARENA_ARRAY(r->arena, bool, t->column_count)};
    for (size_t i = 0; i < t->column_count; i++)
        p->position[i] = SIZE_MAX;
}

static void path_of_table(struct run *r, const struct sql_table *t, struct table_path *p)
{
    size_t *columns = ARENA_ARRAY(r->arena, size_t, t->key_count);
    bool *descending = ARENA_ARRAY(r->arena, bool, t->key_count);

    path_init(r, t, p, t->name);
    p->columns = columns;
    p->descending = descending;
    p->key_count = t->key_count;
    for (size_t i = 0; i < t->key_count; i++) {
        columns[i] = p->position[i] = i;
        descending[i] = t->columns[i].descending;
    }
    for (size_t i = t->key_count; i < t->column_count; i++)
        p->included[i] = true;
}

/* The column that the statement knows by the name that the table has; SIZE_MAX: it knows none, or
 * one of another type. */
static size_t column_of(const struct sql_table *t, bytes name)
{
    const struct wr_table_description *d = t->description;
    size_t column = table_column(t, name);

    if (column == SIZE_MAX || column < t->key_count)
        return column;
    for (size_t i = 0; i < d->defined_count; i++)
        if (bytes_equal(d->defined[i].name, name) && d->defined[i].type == t->columns[column].type)
            return column;
    return SIZE_MAX;
}

/* False: the statement does not see all of its key. */
static bool path_of_index(struct run *r, const struct sql_table *t, const struct wr_index_meta *ix,
                          struct table_path *p)
{
    size_t *columns = ARENA_ARRAY(r->arena, size_t, ix->key_column_count + t->key_count);
    bool *descending = ARENA_ARRAY(r->arena, bool, ix->key_column_count + t->key_count);

    path_init(r, t, p, ix->name);
    p->columns = columns;
    p->descending = descending;
    p->hashed = ix->hashed;
    p->given = ix->key_column_count;
    p->building = ix->sync_phase == 1;
    p->partial = ix->partial;
    for (size_t i = 0; i < p->given; i++) {
        size_t column = column_of(t, ix->key_columns[i]);

        if (column == SIZE_MAX)
            return false;
        p->position[column] = p->key_count;
        descending[p->key_count] = t->columns[column].descending != (ix->descending >> i & 1);
        columns[p->key_count++] = column;
    }
    for (size_t i = 0; i < t->key_count; i++)
        if (p->position[i] == SIZE_MAX) {
            p->position[i] = p->key_count;
            descending[p->key_count] = t->columns[i].descending;
            columns[p->key_count++] = i;
        }
    for (size_t i = 0; i < ix->defined_column_count; i++) {
        size_t column = column_of(t, ix->defined_columns[i]);

        if (column != SIZE_MAX)
            p->included[column] = true;
    }
    return true;
}

const struct table_path *paths_of(struct run *r, const struct sql_table *t, size_t *count)
{
    const struct wr_table_description *d = t->description;
    struct table_path *paths = ARENA_ARRAY(r->arena, struct table_path, d->index_count + 1);

    path_of_table(r, t, &paths[0]);
    *count = 1;
    for (size_t i = 0; i < d->index_count; i++)
        *count += path_of_index(r, t, &d->indexes[i], &paths[*count]);
    return paths;
}

const struct table_path *path_find(const struct table_path *paths, size_t count, bytes index)
{
    for (size_t i = 1; i < count; i++)
        if (bytes_equal(paths[i].name, index))
            return &paths[i];
    return NULL;
}

bool path_covers(const struct table_path *p, const struct sql_table *t, uint64_t used)
{
    for (size_t i = 0; i < t->column_count; i++)
        if (path_is_used(used, i) && p->position[i] == SIZE_MAX && !p->included[i])
            return false;
    return true;
}
