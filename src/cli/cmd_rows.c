/* cmd_rows.c: `widerow get` and `widerow scan`. */
#include "cli/command.h"
#include "cli/console/print.h"
#include "cli/transfer/plan.h"
#include "cli/transfer/walk.h"

#include <stdio.h>

#define PAGE_ROWS_MAX 5000

static int get(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_table_description table;
    struct wr_get_row request = {.table = bytes_str(cli->argv[0]),
                                 .read = {.max_versions = 1, .has_max_versions = true}};
    struct wr_row row;

    (void)options;
    TRY(client_describe(c, cl, request.table, &table));
    if ((size_t)cli->argc - 1 != table.key_count)
        return fail(c, E_PARAMETER, "the key of %s has %zu columns, %d values are given",
                    cli->argv[0], table.key_count, cli->argc - 1);
    TRY(plan_key(c, &table, cli->argv + 1, table.key_count, WR_NULL, &request.key));
    TRY(walk_row(c, cl, &request, &row));
    if (row.key.count == 0)
        return fail(c, WR_E_NOT_EXIST, "no such row");
    print_row(&c->arena, &row);
    return 0;
}

struct scan_options {
    uint64_t limit;
    bool backward, count;
};

static const struct option_row scan_rows[] = {
    {"limit", "N", "rows at most (default 100; 0: all)", OPTION_COUNT,
     offsetof(struct scan_options, limit), 0, UINT64_MAX},
    {"backward", NULL, "from the last row to the first", OPTION_FLAG,
     offsetof(struct scan_options, backward), 0, 0},
    {"count", NULL, "only say how many rows there are", OPTION_FLAG,
     offsetof(struct scan_options, count), 0, 0},
    {0},
};

static void scan_defaults(void *options)
{
    ((struct scan_options *)options)->limit = 100;
}

/* One page, printed. The next page's start goes to `next_arena`'s key in request->start. */
static int scan_page(struct ctx *c, struct client *cl, const struct scan_options *o,
                     struct wr_request *request, uint64_t *rows, struct arena *next_arena)
{
    struct wr_reply reply;
    struct wr_key_column *next;

    TRY(walk_page(c, cl, request, &reply));
    for (size_t i = 0; i < reply.range.row_count && !o->count; i++)
        print_row(&c->arena, &reply.range.rows[i]);
    *rows += reply.range.row_count;
    next = ARENA_ARRAY(next_arena, struct wr_key_column, reply.range.next.count);
    for (size_t i = 0; i < reply.range.next.count; i++) {
        next[i] = reply.range.next.columns[i];
        next[i].name = arena_copy(next_arena, next[i].name);
        if (next[i].value.type == WR_VARCHAR || next[i].value.type == WR_VARBINARY)
            next[i].value.bytes = arena_copy(next_arena, next[i].value.bytes);
    }
    request->get_range.start = (struct wr_key){next, reply.range.next.count};
    return 0;
}

static int scan_pages(struct ctx *c, struct client *cl, const struct scan_options *o,
                      struct wr_request *request)
{
    uint64_t rows = 0, limit = o->count || !o->limit ? UINT64_MAX : o->limit;
    struct arena key_memory, old_key_memory;
    int code = 0;

    arena_init(&key_memory, NULL, 0);
    while (code == 0 && request->get_range.start.count && rows < limit && !ferror(stdout)) {
        struct ctx page;

        ctx_init(&page, c->clock, NULL, NULL, 0);
        old_key_memory = key_memory;
        arena_init(&key_memory, NULL, 0);
        request->get_range.has_limit = true;
        request->get_range.limit =
            limit - rows < PAGE_ROWS_MAX ? (int32_t)(limit - rows) : PAGE_ROWS_MAX;
        code = scan_page(&page, cl, o, request, &rows, &key_memory);
        if (code)
            fail(c, code, "%s", page.text);
        arena_release(&old_key_memory);
        ctx_release(&page);
    }
    arena_release(&key_memory);
    if (code == 0 && o->count)
        printf("%llu\n", (unsigned long long)rows);
    return code;
}

static int scan(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct scan_options *o = options;
    struct wr_table_description table;
    struct wr_request request = {
        .op = WR_OP_GET_RANGE,
        .get_range = {.table = bytes_str(cli->argv[0]),
                      .backward = o->backward,
                      .read = {.max_versions = 1, .has_max_versions = true}}};
    struct wr_get_range *g = &request.get_range;
    size_t count = (size_t)cli->argc - 1;

    TRY(client_describe(c, cl, g->table, &table));
    if (count == table.key_count)
        return fail(c, E_PARAMETER, "that is a whole key; `widerow get` prints its row");
    TRY(plan_key(c, &table, cli->argv + 1, count, o->backward ? WR_INF_MAX : WR_INF_MIN,
                 &g->start));
    TRY(plan_key(c, &table, cli->argv + 1, count, o->backward ? WR_INF_MIN : WR_INF_MAX, &g->end));
    return scan_pages(c, cl, o, &request);
}

const struct command command_get = {
    .name = "get",
    .args = "TABLE KEY...",
    .summary = "print one row as JSON",
    .text = "One KEY for each key column, in order.",
    .argc_min = 2,
    .argc_max = 1 + WR_KEY_COLUMNS_MAX,
    .run_connected = get,
};

const struct command command_scan = {
    .name = "scan",
    .args = "TABLE [KEY...]",
    .summary = "print rows in key order, a line of JSON each",
    .text = "With KEYs, for the first key columns, only rows that begin with them.",
    .options = scan_rows,
    .options_size = sizeof(struct scan_options),
    .defaults = scan_defaults,
    .argc_min = 1,
    .argc_max = 1 + WR_KEY_COLUMNS_MAX,
    .run_connected = scan,
};
