/* cmd_write.c: `widerow put`, `update` and `delete`: writing one row. */
#include "base/buf.h"
#include "cli/command.h"
#include "cli/console/records.h"
#include "cli/filter.h"
#include "cli/row_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define ROW_BYTES_MAX (64u << 20)

struct write_options {
    struct records_options print;
    const char *table, *pk, *attr, *input, *where, *condition;
    struct option_list remove;
    uint64_t at_ms;
    bool exists, missing;
};

#define AT(member) offsetof(struct write_options, member)
#define WHERE_ROWS                                                                                   \
    {"where-exists", NULL, "only if there is such a row", OPTION_FLAG, AT(exists), 0, 0},            \
        {"where",                                                                                    \
         "CONDITION",                                                                                \
         "only if it is true of the row that is there: 'version = 3'",                               \
         OPTION_TEXT,                                                                                \
         AT(where),                                                                                  \
         0,                                                                                          \
         0},                                                                                         \
        {"condition",                                                                                \
         "ignore|exist|not_exist",                                                                   \
         "the same as --where-exists and --where-missing",                                           \
         OPTION_TEXT,                                                                                \
         AT(condition),                                                                              \
         0,                                                                                          \
         0},                                                                                         \
        {"table", "TABLE", "the table; then the first word is a KEY", OPTION_TEXT, AT(table), 0, 0}, \
    {                                                                                                \
        "pk", "JSON", "the key as an array, '[\"86\",6771]', instead of KEYs", OPTION_TEXT,          \
            AT(pk), 0, 0                                                                             \
    }
#define CELL_ROWS                                                                                  \
    {"at",         "MS",      "the time of the cells, in milliseconds since 1970 (default: now)",  \
     OPTION_COUNT, AT(at_ms), 1,                                                                   \
     INT64_MAX},                                                                                   \
    {                                                                                              \
        "attr", "JSON", "cells as '[{\"c\":\"COLUMN\",\"v\":VALUE}]', instead of COLUMN=VALUE",    \
            OPTION_TEXT, AT(attr), 0, 0                                                            \
    }

static const struct option_row put_rows[] = {
    {"where-missing", NULL, "only if there is no such row", OPTION_FLAG, AT(missing), 0, 0},
    WHERE_ROWS,
    CELL_ROWS,
    {"input", "FILE", "the row as an object, {\"COLUMN\":VALUE,...}; - is standard input",
     OPTION_TEXT, AT(input), 0, 0},
    RECORDS_ROWS(struct write_options),
    {0},
};

static const struct option_row update_rows[] = {
    {"remove", "COLUMN", "take this column's cells away; may be given again", OPTION_LIST,
     AT(remove), 0, 0},
    WHERE_ROWS,
    CELL_ROWS,
    {"input", "FILE", "key and cells as an object, {\"COLUMN\":VALUE,...}; - is standard input",
     OPTION_TEXT, AT(input), 0, 0},
    RECORDS_ROWS(struct write_options),
    {0},
};

static const struct option_row delete_rows[] = {WHERE_ROWS, {0}};
#undef AT

/* ---- what is to be written ---- */

static int read_file(struct ctx *c, const char *path, bytes *out)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "r");
    struct buf b;
    size_t n;
    int why;

    if (!f)
        return fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(errno));
    buf_init(&b, &c->arena, 1 << 16);
    do {
        n = fread(buf_reserve(&b, 1 << 16), 1, 1 << 16, f);
        buf_commit(&b, n);
    } while (n && b.len < ROW_BYTES_MAX);
    why = ferror(f) ? errno : 0;
    if (!standard)
        fclose(f);
    *out = buf_bytes(&b);
    if (why)
        return fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(why));
    return b.len < ROW_BYTES_MAX ? 0 : fail(c, E_PARAMETER, "%s is too large for a row", path);
}

static int read_existence(struct ctx *c, const struct write_options *o, enum wr_existence *out)
{
    const char *word = o->condition;
    bool exists = o->exists || (word && strcmp(word, "exist") == 0);
    bool missing = o->missing || (word && strcmp(word, "not_exist") == 0);

    if (word && !exists && !missing && strcmp(word, "ignore") != 0)
        return fail(c, E_PARAMETER, "--condition is ignore, exist or not_exist, not '%s'", word);
    if (exists && missing)
        return fail(c, E_PARAMETER, "a row cannot both exist and be missing");
    *out = exists ? WR_EXPECT_EXIST : missing ? WR_EXPECT_NOT_EXIST : WR_IGNORE;
    return 0;
}

static int read_condition(struct ctx *c, const struct write_options *o, struct wr_condition *out)
{
    struct filter filter;

    TRY(read_existence(c, o, &out->existence));
    if (!o->where)
        return 0;
    TRY(filter_parse(c, o->where, &filter));
    out->column = filter.root;
    return 0;
}

/* Key and cells, from words, flags or a file. */
static int read_row(struct ctx *c, struct cli *cli, const struct wr_table_description *t,
                    const struct write_options *o, struct wr_row *out)
{
    size_t keys = o->pk ? 0 : t->key_count, argc = (size_t)cli->argc;
    bytes text;

    if (o->input && (argc || o->pk || o->attr))
        return fail(c, E_PARAMETER, "--input holds the whole row: leave KEYs and cells out");
    if (o->input) {
        TRY(read_file(c, o->input, &text));
        return row_words_document(c, t, text, out);
    }
    if (!o->pk && argc == 1 && cli->argv[0][0] == '{')
        return row_words_object(c, t, bytes_str(cli->argv[0]), out);
    keys = argc < keys ? argc : keys;
    TRY(row_words_whole_key(c, t, o->pk, cli->argv, keys, &out->key));
    if (o->attr)
        TRY(row_words_attr(c, bytes_str(o->attr), out));
    return row_words_cells(c, t, cli->argv + keys, argc - keys, out);
}

static void add_removals(struct ctx *c, const struct write_options *o, struct wr_row *row)
{
    size_t n = row->cell_count + o->remove.count;
    struct wr_cell *cells = ARENA_ARRAY(&c->arena, struct wr_cell, n);

    if (row->cell_count)
        memcpy(cells, row->cells, row->cell_count * sizeof(*cells));
    for (size_t i = 0; i < o->remove.count; i++)
        cells[row->cell_count + i] = (struct wr_cell){.name = bytes_str(o->remove.texts[i]),
                                                      .op = WR_CELL_DELETE_ALL,
                                                      .timestamp_ms = WR_TIMESTAMP_NONE};
    row->cells = cells;
    row->cell_count = n;
}

static void stamp(const struct write_options *o, struct wr_row *row)
{
    struct wr_cell *cells = (struct wr_cell *)(uintptr_t)row->cells; /* of the arena: ours */

    for (size_t i = 0; o->at_ms && i < row->cell_count; i++)
        if (cells[i].op == WR_CELL_PUT && cells[i].timestamp_ms == WR_TIMESTAMP_NONE)
            cells[i].timestamp_ms = (int64_t)o->at_ms;
}

static int compare_cells(const void *a, const void *b)
{
    const struct wr_cell *x = a, *y = b;
    int order = bytes_compare(x->name, y->name);

    return order ? order
                 : (x->timestamp_ms > y->timestamp_ms) - (x->timestamp_ms < y->timestamp_ms);
}

/* Two values of a column at one time are a slip of the hand: the server would keep the last. */
static int check_once(struct ctx *c, const struct wr_row *row)
{
    struct wr_cell *cells = ARENA_ARRAY(&c->arena, struct wr_cell, row->cell_count);

    if (row->cell_count < 2)
        return 0;
    memcpy(cells, row->cells, row->cell_count * sizeof(*cells));
    qsort(cells, row->cell_count, sizeof(*cells), compare_cells);
    for (size_t i = 1; i < row->cell_count; i++) {
        const struct wr_cell *one = &cells[i - 1], *other = &cells[i];

        if (!bytes_equal(one->name, other->name))
            continue;
        if (one->op == WR_CELL_DELETE_ALL || other->op == WR_CELL_DELETE_ALL ||
            one->timestamp_ms == other->timestamp_ms)
            return fail(c, E_PARAMETER, "column %.*s is given twice", BYTES_FMT(one->name));
    }
    return 0;
}

/* ---- the answer ---- */

/* What only the server knows: sums, and the number that it gave. */
static void ask_back(struct ctx *c, struct wr_row_change *w)
{
    bytes *names = ARENA_ARRAY(&c->arena, bytes, w->row.cell_count);
    size_t n = 0;

    for (size_t i = 0; i < w->row.key.count; i++)
        if (w->row.key.columns[i].value.type == WR_AUTO_INCREMENT)
            w->return_type = WR_RETURN_KEY;
    for (size_t i = 0; i < w->row.cell_count; i++)
        if (w->row.cells[i].op == WR_CELL_INCREMENT)
            names[n++] = w->row.cells[i].name;
    if (n) {
        w->return_type = WR_RETURN_AFTER_MODIFY;
        w->return_columns = names;
        w->return_column_count = n;
    }
}

static int say_back(struct ctx *c, const struct write_options *o, const struct wr_row_change *w,
                    const struct wr_reply *reply)
{
    struct wr_row row = reply->row.row;
    struct records *r;
    int code, more;

    if (w->return_type == WR_RETURN_NONE)
        return 0;
    if (!row.key.count)
        row.key = w->row.key;
    TRY(records_open(c, &o->print, NULL, &r));
    code = records_put(c, r, &row, false);
    more = records_close(c, r);
    return code ? code : more;
}

static int send_row(struct ctx *c, struct client *cl, const struct write_options *o,
                    struct wr_request *request, struct wr_row_change *w)
{
    struct wr_reply reply;
    int code;

    ask_back(c, w);
    code = client_exec(c, cl, request, &reply);
    if (code != WR_E_CONDITION)
        return code ? code : say_back(c, o, w, &reply);
    ctx_clear(c);
    return fail(c, code, "nothing was written: %s",
                w->condition.existence == WR_EXPECT_NOT_EXIST ? "there is such a row"
                : w->condition.column ? "the condition is not true of the row"
                                      : "there is no such row");
}

static int write_row(struct ctx *c, struct client *cl, struct cli *cli,
                     const struct write_options *o, struct wr_request *request,
                     struct wr_row_change *w)
{
    struct wr_table_description table;

    TRY(cli_take_table(c, cli, o->table, &w->table));
    TRY(cli_describe(c, cl, w->table, &table));
    TRY(read_row(c, cli, &table, o, &w->row));
    TRY(read_condition(c, o, &w->condition));
    if (o->remove.count)
        add_removals(c, o, &w->row);
    stamp(o, &w->row);
    TRY(check_once(c, &w->row));
    if (w->type == WR_UPDATE && !w->row.cell_count)
        return fail(c, E_PARAMETER, "what is to change? Give COLUMN=VALUE or --remove COLUMN");
    if (w->type == WR_DELETE && w->row.cell_count)
        return fail(c, E_PARAMETER,
                    "delete takes a whole row; `widerow update --remove COLUMN` takes a cell");
    for (size_t i = 0; i < w->row.cell_count; i++)
        if (w->type == WR_PUT && w->row.cells[i].op == WR_CELL_INCREMENT)
            return fail(c, E_PARAMETER, "put replaces the row; `widerow update` adds to a number");
    return send_row(c, cl, o, request, w);
}

static int put(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_request r = {.op = WR_OP_PUT_ROW, .put_row = {.type = WR_PUT}};

    return write_row(c, cl, cli, options, &r, &r.put_row);
}

static int update(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_request r = {.op = WR_OP_UPDATE_ROW, .update_row = {.type = WR_UPDATE}};

    return write_row(c, cl, cli, options, &r, &r.update_row);
}

static int delete (struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_request r = {.op = WR_OP_DELETE_ROW, .delete_row = {.type = WR_DELETE}};

    return write_row(c, cl, cli, options, &r, &r.delete_row);
}

const struct command command_put = {
    .name = "put",
    .group = GROUP_ROWS,
    .args = "TABLE KEY... [COLUMN=VALUE...]",
    .summary = "write a row, in place of the one that is there",
    .text =
        "One KEY for each key column, in order (auto: the server numbers it, and the row's key\n"
        "is printed), then its cells: 5 is an integer, 5.0 a double, true a boolean, all else "
        "a\nstring; COLUMN:type=VALUE says it (`widerow help values`). A row may also be given "
        "as\n`get` prints it, '{\"COLUMN\":VALUE,...}'. The exit code is 4 if a --where was not "
        "true.",
    .example = "widerow put orders ann 1700000000 amount=12.5 state=paid note:string=007\n"
               "widerow put orders ann 1700000000 amount=1 --where-missing\n"
               "widerow get orders ann 1700000000 | widerow put copy --input -",
    .options = put_rows,
    .options_size = sizeof(struct write_options),
    .argc_max = 1024,
    .run_connected = put,
};

const struct command command_update = {
    .name = "update",
    .group = GROUP_ROWS,
    .args = "TABLE KEY... COLUMN=VALUE... [--remove COLUMN]",
    .summary = "change cells of a row, and leave its others",
    .text = "Values are as for `put`. COLUMN+=NUMBER adds to what is there and prints the sum. A\n"
            "row that is not there is made, unless --where-exists.",
    .example = "widerow update orders ann 1700000000 state=sent --where 'state = \"paid\"'\n"
               "widerow update orders ann 1700000000 visits+=1 --remove note",
    .options = update_rows,
    .options_size = sizeof(struct write_options),
    .argc_max = 1024,
    .run_connected = update,
};

const struct command command_delete = {
    .name = "delete",
    .group = GROUP_ROWS,
    .args = "TABLE KEY...",
    .summary = "delete a row",
    .text = "A row that is not there is no error, unless --where-exists.",
    .example = "widerow delete orders ann 1700000000 --where 'state = \"sent\"'",
    .options = delete_rows,
    .options_size = sizeof(struct write_options),
    .argc_max = 1024,
    .run_connected = delete,
};
