#include "sql/run/lookup.h"

#include "sql/run/order.h"

static struct wr_key key_of(struct arena *a, const struct sql_table *t, const struct table_path *p,
                            const struct wr_row *entry)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, t->key_count);

    for (size_t i = 0; i < t->key_count; i++)
        columns[i] =
            (struct wr_key_column){t->columns[i].name, entry->key.columns[p->position[i]].value};
    return (struct wr_key){columns, t->key_count};
}

/* What the statement names, what the entry is compared by, and a column of the key, so that rows
 * without any of them are seen. */
static void columns_set(struct arena *a, const struct lookup_part *p, struct wr_read_options *read)
{
    const struct sql_table *t = p->table;
    struct wr_bytes *names = ARENA_ARRAY(a, struct wr_bytes, t->column_count);

    for (size_t i = 0; i < t->column_count; i++)
        if (i == 0 || path_is_used(p->used, i) || p->path->position[i] < p->path->given)
            names[read->column_count++] = table_cell_name(&t->columns[i]);
    read->columns = names;
    if (table_reads_all(t, p->used))
        read->column_count = 0;
    span_apply(p->span, read);
}

static const struct wr_value *cell_find(const struct wr_row *row, bytes name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, name))
            return &row->cells[i].value;
    return NULL;
}

static bool is_entry_of(struct arena *a, const struct sql_table *t, const struct table_path *p,
                        const struct wr_row *entry, const struct wr_row *row)
{
    for (size_t i = 0; i < p->given; i++) {
        const struct wr_value *v, *in = &entry->key.columns[i].value;

        if (!path_is_sparse(p, t, i))
            continue;
        v = cell_find(row, t->columns[p->columns[i]].name);
        if (!v || v->type != in->type || value_order(a, v, in) != 0)
            return false;
    }
    return true;
}

static int rows_take(struct run *r, struct lookup *l, const struct lookup_part *p,
                     const struct wr_row *entries, size_t count)
{
    const struct wr_table_result *found = l->reply->code ? NULL : l->reply->batch.tables;
    struct wr_row *rows = ARENA_ARRAY(&l->arena, struct wr_row, count);

    if (!found)
        return run_fail_reply(r, l->reply);
    for (size_t i = 0; i < count; i++) {
        const struct wr_row_result *one = &found->rows[i];

        l->units += one->consumed.read;
        if (one->code)
            return run_fail(r, FAULT_STORAGE, wr_error_name(one->code), one->message);
        RUN_TRY(run_read(r, p->table->name, &one->consumed, 1));
        if (span_sees(p->span, &one->row) &&
            is_entry_of(&l->arena, p->table, p->path, &entries[i], &one->row))
            rows[l->count++] = one->row;
    }
    l->rows = rows;
    return 0;
}

struct lookup *lookup_rows(struct run *r, const struct lookup_part *p, const struct wr_row *entries,
                           size_t count)
{
    struct wr_request request = {WR_REQUEST(BATCH_GET_ROW), .instance = p->table->database};
    struct lookup *l = mem_zalloc(sizeof(*l));
    struct wr_table_get get = {.table = p->table->name, .key_count = count};
    struct wr_key *keys;

    arena_init(&l->arena, NULL, 0);
    keys = ARENA_ARRAY(&l->arena, struct wr_key, count);
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(&l->arena, p->table, p->path, &entries[i]);
    get.keys = keys;
    columns_set(&l->arena, p, &get.read);
    request.client = r->session->conf.client;
    request.deadline_ms = r->deadline_ms;
    request.gone = r->session->conf.gone;
    request.batch_get_row = (struct wr_batch_get_row){&get, 1};
    l->reply = wr_exec(r->session->conf.db, &request);
    if (!rows_take(r, l, p, entries, count))
        return l;
    lookup_free(l);
    return NULL;
}

void lookup_free(struct lookup *l)
{
    if (!l)
        return;
    wr_reply_free(l->reply);
    arena_release(&l->arena);
    mem_free(l);
}
