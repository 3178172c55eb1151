#include "table/search/search_rows.h"

#include "table/core/db.h"
#include "table/model/key.h"
#include "table/sync/reply_wait.h"

#define COLUMNS_MAX 128

static bool listed(const struct wr_bytes *list, size_t count, bytes name)
{
    for (size_t i = 0; i < count; i++)
        if (bytes_equal(list[i], name))
            return true;
    return false;
}

const struct wr_bytes *search_columns(struct arena *a, const struct table *t,
                                      const struct search_schema *s, size_t *count)
{
    struct wr_bytes *names = ARENA_ARRAY(a, struct wr_bytes, COLUMNS_MAX);
    size_t n = 0;

    names[n++] = t->schema.d.key[0].name;
    for (size_t i = 0; i < s->count; i++) {
        if (s->fields[i].kind == FIELD_NONE || listed(names, n, s->fields[i].column))
            continue;
        if (n == COLUMNS_MAX) {
            *count = 0;
            return NULL;
        }
        names[n++] = s->fields[i].column;
    }
    *count = n;
    return names;
}

int search_key_columns(struct ctx *c, const struct table *t, bytes key, struct wr_key *out)
{
    size_t count = t->schema.d.key_count, used;
    struct wr_key_column *columns = ARENA_ARRAY(&c->arena, struct wr_key_column, count);

    *out = (struct wr_key){columns, count};
    return key_read_columns(c, arena_copy(&c->arena, key), t->schema.d.key, count, columns, &used);
}

int search_key_of(struct ctx *c, const struct table *t, const struct wr_key *key, bytes *out)
{
    struct buf b;

    buf_init(&b, &c->arena, 64);
    TRY(key_put_columns(c, &b, t->schema.d.key, key->columns, key->count));
    *out = buf_bytes(&b);
    return E_OK;
}

struct wr_reply *search_exec(struct wr_db *db, const struct wr_request *request)
{
    struct reply_wait r;

    reply_wait_init(&r);
    db->submit(db, request, reply_wait_done, &r);
    return reply_wait_end(&r);
}

static void free_reply(void *arg)
{
    wr_reply_free(arg);
}

/* One BatchGetRow. Rows that are too large for its answer, together with those before them, are
 * left for the next: *done tells how many are there. */
static int get_page(struct ctx *c, const struct table *t, const struct wr_key *keys, size_t count,
                    const struct wr_read_options *read, const struct wr_row **rows, size_t *done)
{
    struct wr_table_get get = {
        .table = t->schema.d.table, .keys = keys, .key_count = count, .read = *read};
    struct wr_request req = {
        WR_REQUEST(BATCH_GET_ROW),
        .instance = t->schema.instance,
        .deadline_ms = c->deadline_ms,
        .batch_get_row = {.tables = &get, .table_count = 1},
    };
    struct wr_reply *reply = search_exec(t->db, &req);
    const struct wr_row_result *result;

    arena_on_release(&c->arena, free_reply, reply);
    if (reply->code)
        return fail(c, reply->code, "%s", reply->message);
    result = reply->batch.tables[0].rows;
    for (*done = 0; *done < count; ++*done) {
        const struct wr_row_result *row = &result[*done];

        if (row->code)
            return *done ? E_OK : fail(c, row->code, "%s", row->message);
        rows[*done] = row->row.key.count ? &row->row : NULL;
    }
    return E_OK;
}

int search_get_page(struct ctx *c, const struct table *t, const bytes *keys, size_t count,
                    const struct wr_bytes *columns, size_t column_count, const struct wr_row **rows,
                    size_t *done)
{
    struct wr_read_options read = {.columns = columns,
                                   .column_count = column_count,
                                   .max_versions = 1,
                                   .has_max_versions = true};
    size_t max = (size_t)t->db->limits.batch_get_rows_max, n = count < max ? count : max;
    struct wr_key *page = ARENA_ARRAY(&c->arena, struct wr_key, n);

    for (size_t i = 0; i < n; i++)
        TRY(search_key_columns(c, t, keys[i], &page[i]));
    return get_page(c, t, page, n, &read, rows, done);
}

int search_get_rows(struct ctx *c, const struct table *t, const bytes *keys, size_t count,
                    const struct wr_bytes *columns, size_t column_count, const struct wr_row **rows)
{
    for (size_t i = 0, n; i < count; i += n)
        TRY(search_get_page(c, t, keys + i, count - i, columns, column_count, rows + i, &n));
    return E_OK;
}
