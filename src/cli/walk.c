#include "cli/walk.h"

#define PAGE_ROWS 5000

struct wr_key walk_copy_key(struct arena *a, const struct wr_key *key)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, key->count);

    for (size_t i = 0; i < key->count; i++) {
        columns[i] = key->columns[i];
        columns[i].name = arena_copy(a, columns[i].name);
        if (columns[i].value.type == WR_VARCHAR || columns[i].value.type == WR_VARBINARY)
            columns[i].value.bytes = arena_copy(a, columns[i].value.bytes);
    }
    return (struct wr_key){columns, key->count};
}

struct wr_key walk_bound(struct arena *a, const struct wr_table_description *t, enum wr_type type)
{
    struct wr_key_column *columns = ARENA_ARRAY(a, struct wr_key_column, t->key_count);

    for (size_t i = 0; i < t->key_count; i++)
        columns[i] = (struct wr_key_column){.name = t->key[i].name, .value = {.type = type}};
    return (struct wr_key){columns, t->key_count};
}

int walk_table(struct ctx *c, struct client *cl, const struct wr_table_description *table,
               int32_t versions, walk_fn *fn, void *arg)
{
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = table->table,
                      .start = walk_bound(&c->arena, table, WR_INF_MIN),
                      .end = walk_bound(&c->arena, table, WR_INF_MAX),
                      .has_limit = true,
                      .limit = PAGE_ROWS,
                      .read = {.max_versions = versions, .has_max_versions = true}}};
    struct arena start, last_start;
    int code = 0;

    arena_init(&start, NULL, 0);
    while (code == 0 && request.get_range.start.count) {
        struct wr_reply reply;
        struct ctx page;

        ctx_init(&page, c->clock, NULL, NULL, 0);
        last_start = start;
        arena_init(&start, NULL, 0);
        code = client_exec(&page, cl, &request, &reply);
        if (code == 0) {
            request.get_range.start = walk_copy_key(&start, &reply.range.next);
            code = fn(&page, arg, reply.range.rows, reply.range.row_count);
        }
        if (code && code != WALK_ENOUGH)
            fail(c, code, "%s", page.text ? page.text : "ended");
        arena_release(&last_start);
        ctx_release(&page);
    }
    arena_release(&start);
    return code == WALK_ENOUGH ? 0 : code;
}
