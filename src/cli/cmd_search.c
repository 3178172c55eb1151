/* cmd_search.c: `widerow search`: search indexes, searches, and why a row is found or not. */
#include "cli/command.h"
#include "cli/console/records.h"
#include "cli/row_words.h"
#include "cli/search_file.h"
#include "cli/search_verdict.h"
#include "cli/search_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_EVERY_US 100000
#define LIMIT_DEFAULT 10
#define PAGE_MAX 100

struct search_options {
    struct records_options print;
    const char *sort, *columns;
    uint64_t limit, ttl_s;
    bool total, detach, schema;
};

static const struct option_row search_rows[] = {
    RECORDS_ROWS(struct search_options),
    {"limit", "N", "query: at most N rows (default 10)", OPTION_COUNT,
     offsetof(struct search_options, limit), 0, INT64_MAX},
    {"sort", "FIELD,...",
     "query: by these fields, after '-' the largest first; _score: the best first; _key",
     OPTION_TEXT, offsetof(struct search_options, sort), 0, 0},
    {"columns", "COL,...", "query: only these columns besides the key (default: all)", OPTION_TEXT,
     offsetof(struct search_options, columns), 0, 0},
    {"total", NULL, "query: also how many rows there are in all", OPTION_FLAG,
     offsetof(struct search_options, total), 0, 0},
    {"ttl", "SECONDS", "create: rows leave the index when they are so old", OPTION_COUNT,
     offsetof(struct search_options, ttl_s), 1, INT32_MAX},
    {"detach", NULL, "create: do not wait until the rows that are there are in the index",
     OPTION_FLAG, offsetof(struct search_options, detach), 0, 0},
    {"schema", NULL, "describe: only the schema, as `create` reads it", OPTION_FLAG,
     offsetof(struct search_options, schema), 0, 0},
    {0},
};

static void search_defaults(void *options)
{
    ((struct search_options *)options)->limit = LIMIT_DEFAULT;
}

/* ---- list, describe, create, drop ---- */

static int search_list(struct ctx *c, struct client *cl, struct cli *cli,
                       const struct search_options *o)
{
    struct wr_request request = {.op = WR_OP_LIST_SEARCH_INDEX,
                                 .list_search_index.table =
                                     cli->argc > 1 ? bytes_str(cli->argv[1]) : BYTES_NONE};
    struct wr_reply reply;

    (void)o;
    TRY(client_exec(c, cl, &request, &reply));
    for (size_t i = 0; i < reply.search_indexes.count; i++)
        printf("%.*s\t%.*s\n", BYTES_FMT(reply.search_indexes.indexes[i].table),
               BYTES_FMT(reply.search_indexes.indexes[i].index));
    return 0;
}

static int describe_index(struct ctx *c, struct client *cl, struct cli *cli,
                          struct wr_search_index_description *out)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_SEARCH_INDEX,
                                 .describe_search_index = {.table = bytes_str(cli->argv[1]),
                                                           .index = bytes_str(cli->argv[2])}};
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    *out = reply.search_index;
    return 0;
}

static int search_describe(struct ctx *c, struct client *cl, struct cli *cli,
                           const struct search_options *o)
{
    struct wr_search_index_description d;
    struct buf b;

    TRY(describe_index(c, cl, cli, &d));
    if (!o->schema)
        search_verdict_print_index(c, &d);
    buf_init(&b, &c->arena, 1024);
    search_file_put(&b, &d.schema);
    printf("%.*s", BYTES_FMT(buf_bytes(&b)));
    return 0;
}

/* Ending this program does not end the reading of the rows. */
static int await_rows(struct ctx *c, struct client *cl, struct cli *cli)
{
    for (;;) {
        struct wr_search_index_description d;
        struct ctx step;
        int code;
        bool failed, reads;

        ctx_init(&step, c->clock, c->log, NULL, 0);
        code = describe_index(&step, cl, cli, &d);
        failed = !code && d.status == WR_SEARCH_FAILED;
        reads = !code && d.phase != WR_SEARCH_INCR;
        if (failed)
            code = fail(c, E_BUSY, "%.*s", BYTES_FMT(d.status_text));
        else if (code)
            fail(c, code, "%s", step.text);
        ctx_release(&step);
        if (code || !reads)
            return code;
        usleep(LOOK_EVERY_US);
    }
}

static int search_create(struct ctx *c, struct client *cl, struct cli *cli,
                         const struct search_options *o)
{
    struct wr_request request = {.op = WR_OP_CREATE_SEARCH_INDEX,
                                 .create_search_index = {.table = bytes_str(cli->argv[1]),
                                                         .index = bytes_str(cli->argv[2]),
                                                         .has_ttl = o->ttl_s > 0,
                                                         .ttl_s = (int32_t)o->ttl_s}};
    struct wr_reply reply;

    TRY(search_file_read(c, cli->argv[3], &request.create_search_index.schema));
    TRY(client_exec(c, cl, &request, &reply));
    return o->detach ? 0 : await_rows(c, cl, cli);
}

static int search_drop(struct ctx *c, struct client *cl, struct cli *cli,
                       const struct search_options *o)
{
    struct wr_request request = {
        .op = WR_OP_DELETE_SEARCH_INDEX,
        .delete_search_index = {bytes_str(cli->argv[1]), bytes_str(cli->argv[2])}};
    struct wr_reply reply;

    (void)o;
    return client_exec(c, cl, &request, &reply);
}

/* ---- query ---- */

static int column_names(struct ctx *c, const char *text, struct wr_search *s)
{
    bytes *names;

    s->columns = WR_SEARCH_COLUMNS_ALL;
    if (!text)
        return 0;
    names = ARENA_ARRAY(&c->arena, bytes, strlen(text) + 1);
    for (const char *p = text; p;) {
        size_t len = strcspn(p, ",");

        if (len == 0)
            return fail(c, E_PARAMETER, "'%s': a column between two commas has no name", text);
        names[s->name_count++] = bytes_of(p, len);
        p = p[len] ? p + len + 1 : NULL;
    }
    s->names = names;
    s->columns = WR_SEARCH_COLUMNS_NAMED;
    return 0;
}

/* A row with its score as one more cell, if it has one. */
static int put_row(struct ctx *c, struct records *r, const struct wr_row *row, double score)
{
    struct wr_row with = *row;
    struct wr_cell *cells;

    if (score != score)
        return records_put(c, r, row, false);
    cells = ARENA_ARRAY(&c->arena, struct wr_cell, row->cell_count + 1);
    if (row->cell_count)
        memcpy(cells, row->cells, row->cell_count * sizeof(cells[0]));
    cells[with.cell_count++] =
        (struct wr_cell){.name = BYTES_LIT("_score"), .value = {.type = WR_DOUBLE, .real = score}};
    with.cells = cells;
    return records_put(c, r, &with, false);
}

/* Page after page, each in memory of its own but for the token. */
static int print_pages(struct ctx *c, struct client *cl, struct wr_request *request,
                       struct records *r, uint64_t limit)
{
    struct wr_search *s = &request->search;

    for (uint64_t left = limit; s->has_limit; left -= (uint64_t)s->limit) {
        struct wr_reply reply;
        struct ctx page;
        int code;

        s->limit = (int32_t)(left < PAGE_MAX ? left : PAGE_MAX);
        ctx_init(&page, c->clock, c->log, NULL, 0);
        code = client_exec(&page, cl, request, &reply);
        if (code)
            fail(c, code, "%s", page.text);
        for (size_t i = 0; !code && i < reply.search.count; i++)
            code = put_row(c, r, &reply.search.rows[i], reply.search.scores[i]);
        if (!code && s->track_total > 0)
            fprintf(stderr, "%lld rows in all\n", (long long)reply.search.total);
        s->track_total = -1;
        s->has_limit = !code && reply.search.next_token.ptr && left > (uint64_t)s->limit;
        if (s->has_limit)
            s->token = arena_copy(&c->arena, reply.search.next_token);
        ctx_release(&page);
        if (code)
            return code;
    }
    return 0;
}

static int search_query(struct ctx *c, struct client *cl, struct cli *cli,
                        const struct search_options *o)
{
    struct wr_request request = {.op = WR_OP_SEARCH,
                                 .search = {.table = bytes_str(cli->argv[1]),
                                            .index = bytes_str(cli->argv[2]),
                                            .has_limit = true,
                                            .track_total = o->total ? INT32_MAX : -1}};
    struct wr_search_condition *query;
    struct records *r;
    int code, more;

    TRY(search_words_parse(c, cli->argv[3], &query));
    request.search.query = query;
    TRY(column_names(c, o->columns, &request.search));
    if (o->sort)
        TRY(search_words_sort(c, o->sort, &request.search.sort));
    TRY(records_open(c, &o->print, NULL, &r));
    code = print_pages(c, cl, &request, r, o->limit);
    more = records_close(c, r);
    return code ? code : more;
}

/* ---- explain ---- */

static int search_explain(struct ctx *c, struct client *cl, struct cli *cli,
                          const struct search_options *o)
{
    struct search_verdict v = {
        .client = cl, .table = bytes_str(cli->argv[1]), .index = bytes_str(cli->argv[2])};

    (void)o;
    TRY(search_words_parse(c, cli->argv[3], &v.query));
    TRY(cli_describe(c, cl, v.table, &v.description));
    TRY(describe_index(c, cl, cli, &v.state));
    TRY(row_words_whole_key(c, &v.description, NULL, cli->argv + 4, (size_t)cli->argc - 4, &v.key));
    return search_verdict_print(c, &v);
}

/* ---- the command ---- */

struct search_action {
    const char *name, *words;
    int argc_min, argc_max;
    int (*run)(struct ctx *c, struct client *cl, struct cli *cli, const struct search_options *o);
};

static const struct search_action actions[] = {
    {"list", "[TABLE]", 1, 2, search_list},
    {"create", "TABLE INDEX FILE", 4, 4, search_create},
    {"describe", "TABLE INDEX", 3, 3, search_describe},
    {"drop", "TABLE INDEX", 3, 3, search_drop},
    {"query", "TABLE INDEX CONDITION", 4, 4, search_query},
    {"explain", "TABLE INDEX CONDITION KEY...", 5, 8, search_explain},
};

static int search_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    for (size_t i = 0; i < PORT_COUNT(actions); i++) {
        const struct search_action *a = &actions[i];

        if (strcmp(cli->argv[0], a->name) != 0)
            continue;
        if (cli->argc < a->argc_min || cli->argc > a->argc_max)
            return fail(c, E_PARAMETER, "widerow search %s is followed by %s", a->name, a->words);
        return a->run(c, cl, cli, options);
    }
    return fail(c, E_PARAMETER, "'%s' is none of list, create, describe, drop, query and explain",
                cli->argv[0]);
}

const struct command command_search = {
    .name = "search",
    .group = GROUP_TABLES,
    .args = "list [TABLE] | create TABLE INDEX FILE | describe TABLE INDEX | drop TABLE INDEX | "
            "query TABLE INDEX CONDITION | explain TABLE INDEX CONDITION KEY...",
    .summary = "search indexes of a table, searches, and why a row is found or not",
    .text =
        "create reads the fields from a file of JSON and waits until the rows that are there are\n"
        "in the index; describe --schema prints such a file.\n"
        "\n"
        "A condition is written like\n"
        "  title : \"red shoes\"      a text with one of the words (:: with all, ~ as a phrase)\n"
        "  tag = new and price >= 5   terms and ranges; and, or, not, ( )\n"
        "  tag like \"a*\"   tag starts \"ab\"   price exists   place near \"30.2,120.1\" 5000\n"
        "  *                        every row\n"
        "\n"
        "explain says of one row whether the condition finds it, each part of it, with scores;\n"
        "and if not, whether the row and the index are there and how far the index is.",
    .example =
        "widerow search create goods goods_index schema.json\n"
        "widerow search query goods goods_index 'title : shoes and price < 50' --sort -price\n"
        "widerow search explain goods goods_index 'title : shoes' 4711",
    .options = search_rows,
    .options_size = sizeof(struct search_options),
    .defaults = search_defaults,
    .argc_min = 1,
    .argc_max = 8,
    .run_connected = search_run,
};
