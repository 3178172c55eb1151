#include "cli/transfer/base_tables.h"

static const struct wr_table_description *described(const struct wr_table_description *all,
                                                    size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(all[i].table, name))
            return &all[i];
    return NULL;
}

/* Is `t` the table of that index? A server that only describes indexes may have another table of
 * the name. */
static bool is_table_of(const struct wr_table_description *t, const struct wr_index_meta *index)
{
    if (!t || t->key_count < index->key_column_count)
        return false;
    for (size_t i = 0; i < index->key_column_count; i++)
        if (!bytes_equal(t->key[i].name, index->key_columns[i]))
            return false;
    return true;
}

static bool is_index(const struct wr_table_description *all, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < all[i].index_count; j++)
            if (bytes_equal(all[i].indexes[j].name, name) &&
                is_table_of(described(all, count, name), &all[i].indexes[j]))
                return true;
    return false;
}

int base_tables(struct ctx *c, struct client *cl, const bytes **names, size_t *count)
{
    struct wr_request request = {.op = WR_OP_LIST_TABLE};
    struct wr_table_description *all;
    struct wr_reply reply;
    bytes *kept;
    size_t n, made = 0;

    TRY(client_exec(c, cl, &request, &reply));
    n = reply.table_list.count;
    all = ARENA_ARRAY(&c->arena, struct wr_table_description, n);
    kept = ARENA_ARRAY(&c->arena, bytes, n);
    for (size_t i = 0; i < n; i++)
        TRY(client_describe(c, cl, reply.table_list.tables[i], &all[i]));
    for (size_t i = 0; i < n; i++)
        if (!is_index(all, n, all[i].table))
            kept[made++] = all[i].table;
    *names = kept;
    *count = made;
    return 0;
}
