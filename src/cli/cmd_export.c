/* cmd_export.c: `widerow export`: a table's rows in key order as CSV, JSON Lines or Parquet.
 *
 * CSV has one type a column, and its header comes first: so a first walk over the table finds the
 * columns and their types, and a second one writes the rows, unless --columns names them. A
 * header's names carry their types ("amount:double"), and that is how `widerow import` gets back
 * what was there. Binaries stand as their bytes, in quotes. JSON Lines needs one walk, and a column
 * may have another type in each row. */
#include "cli/command.h"
#include "cli/console/print.h"
#include "cli/console/progress.h"
#include "cli/console/type_name.h"
#include "cli/console/value.h"
#include "cli/read_flags.h"
#include "cli/span.h"
#include "cli/transfer/cells.h"
#include "cli/transfer/plan.h"
#include "cli/transfer/store.h"
#include "cli/transfer/walk.h"
#include "parquet/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COLUMNS_MAX 1024
#define PARQUET_COLUMNS 500 /* attributes that get a column; others stand beside them */
#define PARQUET_NAMES 16384 /* that are counted */
#define OUT_BYTES (1u << 18)

struct export_options {
    const char *format, *output, *columns, *filter;
    struct span_options span;
    struct s3_words s3;
    bool plain_header, versions, quiet;
};

static const struct option_row export_rows[] = {
    {"format", "FORM", "csv (default), jsonl or parquet", OPTION_TEXT,
     offsetof(struct export_options, format), 0, 0},
    {"output", "FILE|s3://BUCKET/KEY", "write there instead of to standard output", OPTION_TEXT,
     offsetof(struct export_options, output), 0, 0},
    {"columns", "COL[:type],...",
     "only these attribute columns (default: all); with all their types CSV needs no first walk "
     "over "
     "the table",
     OPTION_TEXT, offsetof(struct export_options, columns), 0, 0},
    {"filter", "CONDITION", "only rows of which it is true: 'amount > 5 and state = \"paid\"'",
     OPTION_TEXT, offsetof(struct export_options, filter), 0, 0},
    SPAN_ROWS(struct export_options),
    {"plain-header", NULL, "csv: names alone in the header, without types", OPTION_FLAG,
     offsetof(struct export_options, plain_header), 0, 0},
    {"versions", NULL,
     "all versions of each cell with their timestamps, in a column of its own, " CELLS_COLUMN,
     OPTION_FLAG, offsetof(struct export_options, versions), 0, 0},
    STORE_ROWS(struct export_options),
    {"quiet", NULL, "no progress", OPTION_FLAG, offsetof(struct export_options, quiet), 0, 0},
    {0},
};

struct export_column {
    bytes name;
    enum wr_type type;
    uint64_t count; /* of cells, in the first walk */
};

struct export
{
    const struct export_options *options;
    const struct wr_table_description *table;
    struct wr_get_range range; /* what is exported */
    struct read_flags flags;
    struct export_column *columns; /* attributes, in the order of their names */
    size_t column_count;
    bool all_typed; /* --columns says what there is */
    bool beside;    /* what no column takes goes into CELLS_COLUMN */
    size_t names_max;
    struct arena *arena;
    struct progress progress;
    struct sink sink;
    FILE *out; /* of the sink */
    struct parquet *parquet;
    bool closed; /* whoever reads it has seen enough */
    uint64_t rows;
};

/* ---- columns ---- */

/* Where a name stands or belongs. */
static size_t find_place(const struct export *e, bytes name, bool *found)
{
    size_t low = 0, high = e->column_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int r = bytes_compare(e->columns[middle].name, name);

        if (r == 0) {
            *found = true;
            return middle;
        }
        if (r < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

static int mixed_types(struct ctx *c, const struct export_column *column, enum wr_type other)
{
    return fail(c, E_PARAMETER,
                "column %.*s holds %s and %s values, which CSV and Parquet cannot keep apart; "
                "export it with --format jsonl",
                BYTES_FMT(column->name), type_name(column->type), type_name(other));
}

static bool is_cells(bytes name)
{
    return bytes_equal(name, BYTES_LIT(CELLS_COLUMN));
}

static int note_cell(struct ctx *c, struct export *e, const struct wr_cell *cell)
{
    bool found;
    size_t at = find_place(e, cell->name, &found);

    if (found)
        e->columns[at].count++;
    if (found && e->columns[at].type != cell->value.type && !e->beside)
        return mixed_types(c, &e->columns[at], cell->value.type);
    if (found)
        return 0;
    if (e->beside && (e->column_count == e->names_max || is_cells(cell->name)))
        return 0;
    if (e->column_count == e->names_max)
        return fail(c, E_PARAMETER,
                    "the rows have more than %d different columns; name some with --columns, or "
                    "export with --format jsonl",
                    COLUMNS_MAX);
    memmove(&e->columns[at + 1], &e->columns[at], sizeof(*e->columns) * (e->column_count - at));
    e->columns[at] = (struct export_column){arena_copy(e->arena, cell->name), cell->value.type, 1};
    e->column_count++;
    return 0;
}

static int note_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct export *e = arg;

    for (size_t r = 0; r < count; r++) {
        struct wr_row row = rows[r];

        read_flags_apply(c, &e->flags, &row);
        for (size_t i = 0; i < row.cell_count; i++)
            TRY(note_cell(c, e, &row.cells[i]));
    }
    return 0;
}

static int more_frequent(const void *left, const void *right)
{
    const struct export_column *a = left, *b = right;

    return (a->count < b->count) - (a->count > b->count);
}

static int by_name(const void *left, const void *right)
{
    const struct export_column *a = left, *b = right;

    return bytes_compare(a->name, b->name);
}

/* Of Parquet the most frequent ones. */
static void keep_frequent(struct export *e)
{
    if (!e->beside || e->column_count <= PARQUET_COLUMNS)
        return;
    qsort(e->columns, e->column_count, sizeof(*e->columns), more_frequent);
    e->column_count = PARQUET_COLUMNS;
    qsort(e->columns, e->column_count, sizeof(*e->columns), by_name);
}

/* One word of --columns; its name goes to *name. */
static int parse_column(struct ctx *c, struct export *e, bytes word, bytes *name)
{
    const char *colon = word.len ? memchr(word.ptr, ':', word.len) : NULL;
    struct wr_cell cell = {.name = word};

    if (colon)
        cell.name.len = (size_t)(colon - (const char *)word.ptr);
    *name = cell.name;
    e->all_typed &= colon != NULL;
    if (!colon)
        return 0;
    if (!type_parse(bytes_skip(word, cell.name.len + 1), &cell.value.type))
        return fail(c, E_PARAMETER,
                    "--columns: '%.*s' is not NAME:type; types are integer, double, string, "
                    "boolean and binary",
                    BYTES_FMT(word));
    return note_cell(c, e, &cell);
}

/* The names alone, with commas, go to *names. */
static int parse_columns(struct ctx *c, struct export *e, const char **names)
{
    bytes list = bytes_str(e->options->columns);
    struct buf b;

    buf_init(&b, &c->arena, list.len + 1);
    e->all_typed = true;
    while (list.len) {
        const char *p = list.ptr, *comma = memchr(p, ',', list.len);
        bytes word = bytes_of(p, comma ? (size_t)(comma - p) : list.len), name;

        list = comma ? bytes_skip(list, word.len + 1) : BYTES_NONE;
        TRY(parse_column(c, e, word, &name));
        if (b.len)
            buf_put_u8(&b, ',');
        buf_put_bytes(&b, name);
    }
    buf_put_u8(&b, 0);
    *names = (const char *)b.data;
    return 0;
}

/* Which rows, and what of them. */
static int choose(struct ctx *c, struct export *e, struct cli *cli)
{
    const struct export_options *o = e->options;
    struct read_flag_options select = {.filter = o->filter};
    struct span span;

    if (o->columns)
        TRY(parse_columns(c, e, &select.columns));
    TRY(span_make(c, e->table, &o->span, cli->argv + 1, (size_t)cli->argc - 1, &span));
    TRY(read_flags_make(c, &select, e->table->key[0].name, &e->flags));
    e->range = (struct wr_get_range){
        .table = e->table->table, .start = span.start, .end = span.end, .read = e->flags.read};
    if (o->versions)
        e->range.read.max_versions = WALK_ALL_VERSIONS;
    return 0;
}

/* ---- rows ---- */

/* What no column takes of a row; all of it with its timestamps, if versions are wanted. ptr NULL:
 * nothing. */
static bytes take_beside(struct ctx *c, const struct export *e, const struct wr_row *row)
{
    bool versions = e->options->versions, found;
    struct buf b;

    buf_init(&b, &c->arena, 0);
    cells_begin(&b);
    for (size_t i = 0; i < row->cell_count && e->beside; i++) {
        const struct wr_cell *cell = &row->cells[i];
        size_t at = find_place(e, cell->name, &found);

        if (versions || !found || e->columns[at].type != cell->value.type)
            cells_put(&b, cell, versions);
    }
    return b.len > 1 ? buf_bytes(&b) : BYTES_NONE;
}

static void put_header(struct export *e, struct buf *b)
{
    for (size_t i = 0; i < e->table->key_count + e->column_count; i++) {
        bool key = i < e->table->key_count;
        bytes name = key ? e->table->key[i].name : e->columns[i - e->table->key_count].name;
        enum wr_type type = key ? e->table->key[i].type : e->columns[i - e->table->key_count].type;

        if (i)
            buf_put_u8(b, ',');
        value_put_csv_text(
            b, e->options->plain_header
                   ? name
                   : arena_printf(b->arena, "%.*s:%s", BYTES_FMT(name), type_name(type)));
    }
    if (e->beside)
        buf_put_bytes(b, BYTES_LIT("," CELLS_COLUMN ":binary"));
    buf_put_u8(b, '\n');
}

/* The value of column i, NULL: there is none. Both the cells and the columns are in the order of
 * their names, so *cell only goes forward. */
static int take_cell(struct ctx *c, const struct export *e, const struct wr_row *row, size_t *cell,
                     size_t i, const struct wr_value **out)
{
    int r = -1;

    *out = NULL;
    while (*cell < row->cell_count &&
           (r = bytes_compare(row->cells[*cell].name, e->columns[i].name)) < 0) {
        /* It came after the first walk, or --columns leaves it out. */
        ++*cell;
    }
    if (*cell == row->cell_count || r != 0)
        return 0;
    *out = &row->cells[(*cell)++].value;
    if ((*out)->type == e->columns[i].type)
        return 0;
    if (!e->beside)
        return mixed_types(c, &e->columns[i], (*out)->type);
    *out = NULL;
    return 0;
}

static int put_csv_row(struct ctx *c, struct export *e, struct buf *b, const struct wr_row *row)
{
    const struct wr_value *value;
    size_t cell = 0;

    for (size_t i = 0; i < row->key.count; i++) {
        if (i)
            buf_put_u8(b, ',');
        value_put_csv(b, &row->key.columns[i].value);
    }
    for (size_t i = 0; i < e->column_count; i++) {
        buf_put_u8(b, ',');
        TRY(take_cell(c, e, row, &cell, i, &value));
        if (value)
            value_put_csv(b, value);
    }
    if (e->beside) {
        struct wr_value beside = {.type = WR_VARBINARY, .bytes = take_beside(c, e, row)};

        buf_put_u8(b, ',');
        if (beside.bytes.len)
            value_put_csv(b, &beside);
    }
    buf_put_u8(b, '\n');
    return 0;
}

/* ---- Parquet ---- */

/* "id:integer,at:integer" */
static bytes key_note(struct ctx *c, const struct wr_table_description *table)
{
    struct buf b;

    buf_init(&b, &c->arena, 0);
    for (size_t i = 0; i < table->key_count; i++) {
        if (i)
            buf_put_u8(&b, ',');
        buf_put_bytes(&b, table->key[i].name);
        buf_put_u8(&b, ':');
        buf_put_bytes(&b, bytes_str(type_name(table->key[i].type)));
    }
    return buf_bytes(&b);
}

static int open_parquet(struct ctx *c, struct export *e)
{
    size_t keys = e->table->key_count, count = keys + e->column_count;
    struct parquet_column *columns = ARENA_ARRAY(&c->arena, struct parquet_column, count + 1);

    for (size_t i = 0; i < count; i++) {
        columns[i] =
            i < keys ? (struct parquet_column){e->table->key[i].name, e->table->key[i].type, true}
                     : (struct parquet_column){e->columns[i - keys].name, e->columns[i - keys].type,
                                               false};
        if (!parquet_takes(columns[i].type))
            return fail(c, E_PARAMETER, "column %.*s is of type %s, which export does not write",
                        BYTES_FMT(columns[i].name), type_name(columns[i].type));
    }
    if (e->beside)
        columns[count++] = (struct parquet_column){BYTES_LIT(CELLS_COLUMN), WR_VARBINARY, false};
    e->parquet = parquet_open(e->out, columns, count, key_note(c, e->table));
    return 0;
}

static int put_parquet_row(struct ctx *c, struct export *e, const struct wr_row *row)
{
    const struct wr_value *values[WR_KEY_COLUMNS_MAX + COLUMNS_MAX + 1];
    struct wr_value beside = {.type = WR_VARBINARY, .bytes = take_beside(c, e, row)};
    size_t cell = 0, keys = row->key.count;

    for (size_t i = 0; i < keys; i++)
        values[i] = &row->key.columns[i].value;
    for (size_t i = 0; i < e->column_count; i++)
        TRY(take_cell(c, e, row, &cell, i, &values[keys + i]));
    values[keys + e->column_count] = beside.bytes.len ? &beside : NULL;
    parquet_put(e->parquet, values);
    return 0;
}

static int flush(struct ctx *c, struct export *e, struct buf *b)
{
    if (b->len && fwrite(b->data, 1, b->len, e->out) != b->len) {
        e->closed = errno == EPIPE;
        return e->closed ? WALK_ENOUGH
                         : fail(c, E_NO_SPACE, "cannot write: %s", sink_reason(&e->sink));
    }
    atomic_fetch_add(&e->progress.bytes, b->len);
    b->len = 0;
    return 0;
}

static bool has_format(const struct export *e, const char *name)
{
    return strcmp(e->options->format, name) == 0;
}

static void put_json_row(struct ctx *c, const struct export *e, struct buf *b, struct wr_row row)
{
    struct wr_cell *cells;

    if (e->options->versions && row.cell_count) {
        cells = ARENA_ARRAY(&c->arena, struct wr_cell, row.cell_count + 1);
        memcpy(cells, row.cells, sizeof(*cells) * row.cell_count);
        cells[row.cell_count] =
            (struct wr_cell){.name = BYTES_LIT(CELLS_COLUMN),
                             .value = {.type = WR_VARBINARY, .bytes = take_beside(c, e, &row)}};
        row.cells = cells;
        row.cell_count++;
    }
    print_put_row(b, &row);
}

static int put_rows(struct ctx *c, void *arg, const struct wr_row *rows, size_t count)
{
    struct export *e = arg;
    struct buf b;

    buf_init(&b, &c->arena, OUT_BYTES);
    for (size_t i = 0; i < count; i++) {
        struct wr_row row = rows[i];

        read_flags_apply(c, &e->flags, &row);
        if (has_format(e, "jsonl"))
            put_json_row(c, e, &b, row);
        else if (e->parquet)
            TRY(put_parquet_row(c, e, &row));
        else
            TRY(put_csv_row(c, e, &b, &row));
        if (b.len > OUT_BYTES)
            TRY(flush(c, e, &b));
    }
    e->rows += count;
    atomic_fetch_add(&e->progress.records, count);
    return flush(c, e, &b);
}

static int end_output(struct ctx *c, struct export *e, int code)
{
    if (code == 0 && !e->closed && fflush(e->out) != 0)
        e->closed = errno == EPIPE;
    if (e->closed)
        return 0;
    if (code == 0 && ferror(e->out))
        return fail(c, E_NO_SPACE, "cannot write: %s", sink_reason(&e->sink));
    return code;
}

/* What stands in front of the rows. */
static int begin_output(struct ctx *c, struct client *cl, struct export *e)
{
    struct buf header;

    if (has_format(e, "jsonl"))
        return 0;
    if (!e->all_typed)
        TRY(walk_range(c, cl, &e->range, note_rows, e));
    keep_frequent(e);
    if (has_format(e, "parquet"))
        return open_parquet(c, e);
    buf_init(&header, &c->arena, 0);
    put_header(e, &header);
    return flush(c, e, &header);
}

static int export_steps(struct ctx *c, struct client *cl, struct export *e)
{
    int code = begin_output(c, cl, e);

    if (code == 0)
        code = walk_range(c, cl, &e->range, put_rows, e);
    if (e->parquet)
        parquet_close(e->parquet, code == 0);
    return code;
}

static int export_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct export_options *o = options;
    struct wr_table_description table;
    struct export e = {.options = o, .table = &table, .arena = &c->arena};
    char count[PROGRESS_TEXT];
    int code, closed;

    if (!has_format(&e, "csv") && !has_format(&e, "jsonl") && !has_format(&e, "parquet"))
        return fail(c, E_PARAMETER, "--format is csv, jsonl or parquet, not '%s'", o->format);
    if (has_format(&e, "parquet") && !o->output && isatty(STDOUT_FILENO))
        return fail(c, E_PARAMETER, "Parquet is nothing to look at: give --output FILE, or a pipe");
    TRY(cli_describe(c, cl, bytes_str(cli->argv[0]), &table));
    e.beside = o->versions || (has_format(&e, "parquet") && !o->columns);
    e.names_max = e.beside ? PARQUET_NAMES : COLUMNS_MAX;
    e.columns = ARENA_ARRAY(&c->arena, struct export_column, e.names_max + 1);
    TRY(choose(c, &e, cli));
    progress_start(&e.progress, c->clock, 0, o->quiet);
    code = sink_open(c, &e.sink, &o->s3, o->output);
    e.out = e.sink.file;
    if (code == 0)
        code = end_output(c, &e, export_steps(c, cl, &e));
    closed = sink_close(c, &e.sink, code == 0);
    code = code ? code : closed;
    progress_end(&e.progress);
    if (code == 0 && !o->quiet)
        fprintf(stderr, "%s: %s rows in %.1f s\n", cli->argv[0],
                progress_format_count(e.rows, count), progress_seconds(&e.progress));
    return code;
}

static void export_defaults(void *options)
{
    ((struct export_options *)options)->format = "csv";
}

const struct command command_export = {
    .name = "export",
    .group = GROUP_FILES,
    .args = "TABLE [KEY...]",
    .summary = "write a table's rows, in key order, as CSV, JSON Lines or Parquet",
    .text =
        "With KEYs, for the first key columns, only rows that begin with them.\n\n"
        "CSV begins with a header of names and types (\"CardID:integer,amount:double\"), from\n"
        "which `widerow import` makes the same rows again, binary values included; a cell that is\n"
        "not there is an empty field, an empty text is \"\". A column must have one type in all\n"
        "rows. JSON Lines has no such bound; binaries are {\"base64\":\"...\"}. Parquet has CSV's\n"
        "columns (zstd, plain pages), for pandas, DuckDB, Spark and `widerow import`.\n"
        "Names beyond the 500 most frequent, and other types than their column's, stand in a\n"
        "binary column of Parquet, " CELLS_COLUMN
        ", from which import takes them back. The newest\n"
        "version of each cell is written; with --versions all of them stand in such a column.",
    .example = "widerow export orders --output orders.csv\n"
               "widerow export orders ann --from 1700000000 --columns amount --filter 'amount > 5'",
    .options = export_rows,
    .options_size = sizeof(struct export_options),
    .defaults = export_defaults,
    .argc_min = 1,
    .argc_max = 1 + WR_KEY_COLUMNS_MAX,
    .run_connected = export_run,
};
