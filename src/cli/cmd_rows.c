/* cmd_rows.c: `widerow get`, `scan` and `count`: reading rows. */
#include "cli/command.h"
#include "cli/console/records.h"
#include "cli/row_words.h"
#include "cli/read_flags.h"
#include "cli/span.h"
#include "client/walk.h"

#include <stdio.h>

#define PAGE_ROWS_MAX 5000
#define LIMIT_DEFAULT 100

/* ---- get ---- */

struct get_options {
    struct records_options print;
    struct read_flag_options select;
    const char *table, *pk;
};

static const struct option_row get_rows[] = {
    READ_FLAG_ROWS(struct get_options),
    RECORDS_ROWS(struct get_options),
    {"table", "TABLE", "the table; then the first word is a KEY", OPTION_TEXT,
     offsetof(struct get_options, table), 0, 0},
    {"pk", "JSON", "the key as an array, '[\"86\",6771]', instead of KEYs", OPTION_TEXT,
     offsetof(struct get_options, pk), 0, 0},
    {0},
};

static int get(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct get_options *o = options;
    struct wr_table_description table;
    struct wr_get_row request = {.table = BYTES_NONE};
    struct read_flags flags;
    struct records *r;
    struct wr_row row;
    int code, more;

    TRY(cli_take_table(c, cli, o->table, &request.table));
    TRY(cli_describe(c, cl, request.table, &table));
    TRY(row_words_whole_key(c, &table, o->pk, cli->argv, (size_t)cli->argc, &request.key));
    TRY(read_flags_make(c, &o->select, table.key[0].name, &flags));
    request.read = flags.read;
    TRY(walk_row(c, cl, &request, &row));
    if (row.key.count == 0)
        return fail(c, WR_E_NOT_EXIST, "no such row");
    read_flags_apply(c, &flags, &row);
    TRY(records_open(c, &o->print, NULL, &r));
    code = records_put(c, r, &row, flags.versions);
    more = records_close(c, r);
    return code ? code : more;
}

/* ---- scan and count ---- */

struct scan_options {
    struct records_options print;
    struct read_flag_options select;
    struct span_options span;
    const char *table;
    uint64_t limit;
    bool count;
};

static const struct option_row scan_rows[] = {
    {"limit", "N", "rows at most (default 100; 0: all)", OPTION_COUNT,
     offsetof(struct scan_options, limit), 0, UINT64_MAX},
    SPAN_ROWS(struct scan_options),
    {"reverse", NULL, "from the last row to the first", OPTION_FLAG,
     offsetof(struct scan_options, span.backward), 0, 0},
    {"backward", NULL, "the same", OPTION_FLAG, offsetof(struct scan_options, span.backward), 0, 0},
    READ_FLAG_ROWS(struct scan_options),
    {"count", NULL, "only say how many rows there are", OPTION_FLAG,
     offsetof(struct scan_options, count), 0, 0},
    RECORDS_ROWS(struct scan_options),
    {"table", "TABLE", "the table; then the first word is a KEY", OPTION_TEXT,
     offsetof(struct scan_options, table), 0, 0},
    {0},
};

static const struct option_row count_rows[] = {
    SPAN_ROWS(struct scan_options),
    {"filter", "CONDITION", "only rows of which it is true: 'amount > 5 and state = \"paid\"'",
     OPTION_TEXT, offsetof(struct scan_options, select.filter), 0, 0},
    {"table", "TABLE", "the table; then the first word is a KEY", OPTION_TEXT,
     offsetof(struct scan_options, table), 0, 0},
    {0},
};

static void scan_defaults(void *options)
{
    ((struct scan_options *)options)->limit = LIMIT_DEFAULT;
}

struct scan {
    const struct scan_options *options;
    struct read_flags flags;
    struct span span;
    struct records *records; /* NULL: they are counted only */
    uint64_t rows, limit;
    bool ended;
};

static int scan_rows_of(struct ctx *c, struct scan *s, const struct wr_range_result *page)
{
    for (size_t i = 0; i < page->row_count && s->rows < s->limit && !s->ended; i++) {
        struct wr_row row = page->rows[i];
        enum span_side side = span_side(&s->span, &row);

        s->ended = side == SPAN_BELOW || (s->records && records_enough(s->records));
        if (side != SPAN_WITHIN || s->ended)
            continue;
        s->rows++;
        read_flags_apply(c, &s->flags, &row);
        if (s->records)
            TRY(records_put(c, s->records, &row, s->flags.versions));
    }
    return 0;
}

/* The next page's start goes to `next`. */
static int scan_page(struct ctx *c, struct client *cl, struct scan *s, struct wr_request *request,
                     struct arena *next)
{
    struct wr_reply reply;

    TRY(walk_page(c, cl, request, &reply));
    TRY(scan_rows_of(c, s, &reply.range));
    request->get_range.start = walk_copy_key(next, &reply.range.next);
    return 0;
}

static int scan_pages(struct ctx *c, struct client *cl, struct scan *s, struct wr_request *request)
{
    struct arena key_memory, old_key_memory;
    int code = 0;

    arena_init(&key_memory, NULL, 0);
    while (code == 0 && request->get_range.start.count && s->rows < s->limit && !s->ended) {
        uint64_t left = s->limit - s->rows;
        struct ctx page;

        ctx_init(&page, c->clock, NULL, NULL, 0);
        old_key_memory = key_memory;
        arena_init(&key_memory, NULL, 0);
        request->get_range.has_limit = true;
        /* One more, for a bound that is judged here (span.h). */
        request->get_range.limit = left < PAGE_ROWS_MAX ? (int32_t)left + 1 : PAGE_ROWS_MAX;
        code = scan_page(&page, cl, s, request, &key_memory);
        if (code)
            fail(c, code, "%s", page.text);
        arena_release(&old_key_memory);
        ctx_release(&page);
    }
    arena_release(&key_memory);
    return code;
}

static int scan_table(struct ctx *c, struct client *cl, struct cli *cli,
                      const struct scan_options *o, struct scan *s)
{
    struct wr_request request = {.op = WR_OP_GET_RANGE};
    struct wr_get_range *g = &request.get_range;
    struct wr_table_description table;

    TRY(cli_take_table(c, cli, o->table, &g->table));
    TRY(cli_describe(c, cl, g->table, &table));
    TRY(span_make(c, &table, &o->span, cli->argv, (size_t)cli->argc, &s->span));
    TRY(read_flags_make(c, &o->select, table.key[0].name, &s->flags));
    g->start = s->span.start;
    g->end = s->span.end;
    g->backward = o->span.backward;
    g->read = s->flags.read;
    if (!o->count)
        TRY(records_open(c, &o->print, NULL, &s->records));
    return scan_pages(c, cl, s, &request);
}

static int count(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct scan_options *o = options;
    struct scan s = {.options = o, .limit = UINT64_MAX};

    o->count = true;
    o->select.keys_only = !o->select.columns && !o->select.versions;
    TRY(scan_table(c, cl, cli, o, &s));
    printf("%llu\n", (unsigned long long)s.rows);
    return 0;
}

static int scan(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct scan_options *o = options;
    struct scan s = {.options = o, .limit = o->limit ? o->limit : UINT64_MAX};
    int code, more;

    if (o->count)
        return count(c, cl, cli, options);
    code = scan_table(c, cl, cli, o, &s);
    more = records_close(c, s.records);
    return code ? code : more;
}

const struct command command_get = {
    .name = "get",
    .group = GROUP_ROWS,
    .args = "TABLE KEY...",
    .summary = "print one row",
    .text = "One KEY for each key column, in order. Values are printed as `widerow help values`\n"
            "says, and read so. The exit code is 3 if there is no such row.",
    .example = "widerow get orders ann 1700000000\n"
               "widerow get orders ann 1700000000 --columns amount,state --format json",
    .options = get_rows,
    .options_size = sizeof(struct get_options),
    .argc_max = 1 + WR_KEY_COLUMNS_MAX,
    .run_connected = get,
};

const struct command command_scan = {
    .name = "scan",
    .group = GROUP_ROWS,
    .args = "TABLE [KEY...]",
    .summary = "print rows in key order",
    .text =
        "With KEYs, for the first key columns, only rows that begin with them. What is printed\n"
        "into a file or pipe, JSON Lines, `widerow import` takes back.",
    .example = "widerow scan orders ann --from 1700000000 --reverse --limit 10\n"
               "widerow scan orders --filter 'amount > 5 and state = \"paid\"' --columns amount\n"
               "widerow scan orders --limit 0 | widerow import - --table copy --create --key "
               "user:string,at:integer",
    .options = scan_rows,
    .options_size = sizeof(struct scan_options),
    .defaults = scan_defaults,
    .argc_max = 1 + WR_KEY_COLUMNS_MAX,
    .run_connected = scan,
};

const struct command command_count = {
    .name = "count",
    .group = GROUP_ROWS,
    .args = "TABLE [KEY...]",
    .summary = "count rows, by reading their keys",
    .text = "With KEYs, for the first key columns, only rows that begin with them.",
    .example = "widerow count orders ann",
    .options = count_rows,
    .options_size = sizeof(struct scan_options),
    .argc_max = 1 + WR_KEY_COLUMNS_MAX,
    .run_connected = count,
};
