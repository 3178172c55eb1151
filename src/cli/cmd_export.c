/* cmd_export.c: `widerow export`: a table's rows in key order as CSV, JSON Lines or Parquet.
 *
 * CSV has one type a column, and its header comes first: so a first walk over the table finds the
 * columns and their types, and a second one writes the rows, unless --columns names them. A
 * header's names carry their types ("amount:double"), and that is how `widerow import` gets back
 * what was there. Binaries stand as their bytes, in quotes. JSON Lines and Parquet need one walk:
 * a column may have another type in each row, or is added to the file when it is met. Only where
 * Parquet's columns may be too many for the file a first walk counts them.
 *
 * Several threads read pieces of the range (walkers.h). Texts are written in the order of the
 * pieces (ordered.h), row groups as they come; the file's footer has them in order. */
#include "cli/command.h"
#include "cli/console/print.h"
#include "cli/console/progress.h"
#include "record/type_name.h"
#include "cli/console/value.h"
#include "cli/read_flags.h"
#include "cli/span.h"
#include "archive/cells.h"
#include "archive/row_file.h"
#include "archive/row_columns.h"
#include "cli/transfer/ordered.h"
#include "cli/transfer/plan.h"
#include "cli/transfer/store.h"
#include "client/walk.h"
#include "cli/transfer/walkers.h"
#include "parquet/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OUT_BYTES (1u << 18)
#define TEXT_PIECE_BYTES (16u << 20)    /* stored, of what a thread reads at a time */
#define PARQUET_PIECE_BYTES (32u << 20) /* a row group or two */
#define SAMPLE_PIECES 16                /* of which the first rows are looked at */
#define SAMPLE_ROWS 500
#define NAMES_MANY (ROW_COLUMNS_FREQUENT / 2) /* there: a walk counts the names */

struct export_options {
    const char *format, *output, *columns, *filter;
    struct span_options span;
    struct s3_words s3;
    bool plain_header, versions, quiet;
    uint64_t workers;
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
    {"workers", "N", "connections that read at the same time (default 4)", OPTION_COUNT,
     offsetof(struct export_options, workers), 1, 64},
    STORE_ROWS(struct export_options),
    {"quiet", NULL, "no progress", OPTION_FLAG, offsetof(struct export_options, quiet), 0, 0},
    {0},
};

enum export_format { EXPORT_CSV, EXPORT_JSON, EXPORT_PARQUET };

struct export
{
    const struct export_options *options;
    enum export_format format;
    const struct wr_table_description *table;
    struct target *target;
    struct wr_get_range range; /* what is exported */
    struct walkers_pieces pieces;
    struct read_flags flags;
    struct row_columns columns; /* attributes */
    bool all_typed;             /* --columns says what there is */
    struct export_worker *workers;
    struct progress progress;
    struct sink sink;
    FILE *out; /* of the sink */
    struct ordered ordered;
    atomic_bool closed; /* whoever reads it has seen enough */
};

/* A thread. */
struct export_worker {
    struct row_view view;
    struct group group;       /* of Parquet */
    struct ordered_text kept; /* of the others */
};

/* ---- columns ---- */

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
    return row_columns_add(c, &e->columns, cell.name, cell.value.type);
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
    if (o->versions) {
        e->range.read.max_versions = WALK_ALL_VERSIONS;
        return 0;
    }
    /* Names once a page, no timestamps, of whatever columns there are: doc/wire.md, "Matrix". */
    e->range.matrix = true;
    e->range.partial_keys = e->range.read.column_count == 0;
    return 0;
}

/* ---- texts ---- */

/* What became of writing. */
static int written(struct ctx *c, struct export *e, bool good)
{
    if (good)
        return 0;
    if (e->ordered.stopped)
        return WALK_ENOUGH;
    if (errno == EPIPE)
        atomic_store(&e->closed, true);
    return errno == EPIPE ? WALK_ENOUGH
                          : fail(c, E_NO_SPACE, "cannot write: %s", sink_reason(&e->sink));
}

static int flush(struct ctx *c, struct export *e, struct export_worker *w, size_t piece,
                 struct buf *b)
{
    bytes text = buf_bytes(b);

    atomic_fetch_add(&e->progress.bytes, text.len);
    b->len = 0;
    return written(c, e, ordered_put(&e->ordered, piece, &w->kept, text));
}

static void put_header(struct export *e, struct buf *b)
{
    size_t keys = e->table->key_count;
    const struct row_column_list *known = &e->columns.known;

    for (size_t i = 0; i < keys + known->count; i++) {
        bytes name = i < keys ? e->table->key[i].name : known->list[i - keys].name;
        enum wr_type type = i < keys ? e->table->key[i].type : known->list[i - keys].type;

        if (i)
            buf_put_u8(b, ',');
        value_put_csv_text(
            b, e->options->plain_header
                   ? name
                   : arena_printf(b->arena, "%.*s:%s", BYTES_FMT(name), type_name(type)));
    }
    if (e->columns.beside)
        buf_put_bytes(b, BYTES_LIT("," CELLS_COLUMN ":binary"));
    buf_put_u8(b, '\n');
}

static int put_csv_row(struct ctx *c, struct export_worker *w, struct buf *b,
                       const struct wr_row *row)
{
    const struct row_column_list *known = &w->view.known;
    bool grown = false;

    TRY(row_view_take(c, &w->view, row, &grown));
    for (size_t i = 0; i < row->key.count; i++) {
        if (i)
            buf_put_u8(b, ',');
        value_put_csv(b, &row->key.columns[i].value);
    }
    for (size_t i = 0; i < known->count; i++) {
        const struct wr_value *value = w->view.values[known->list[i].number];

        buf_put_u8(b, ',');
        if (value)
            value_put_csv(b, value);
    }
    if (w->view.columns->beside) {
        struct wr_value beside = {.type = WR_VARBINARY, .bytes = row_view_beside(c, &w->view, row)};

        buf_put_u8(b, ',');
        if (beside.bytes.len)
            value_put_csv(b, &beside);
    }
    buf_put_u8(b, '\n');
    return 0;
}

static void put_json_row(struct ctx *c, const struct export_worker *w, struct buf *b,
                         struct wr_row row)
{
    struct wr_cell *cells;

    if (w->view.columns->versions && row.cell_count) {
        cells = ARENA_ARRAY(&c->arena, struct wr_cell, row.cell_count + 1);
        memcpy(cells, row.cells, sizeof(*cells) * row.cell_count);
        cells[row.cell_count] = (struct wr_cell){
            .name = BYTES_LIT(CELLS_COLUMN),
            .value = {.type = WR_VARBINARY, .bytes = row_view_beside(c, &w->view, &row)}};
        row.cells = cells;
        row.cell_count++;
    }
    print_put_row(b, &row);
}

static int put_texts(struct ctx *c, void *arg, size_t worker, size_t piece,
                     const struct wr_row *rows, size_t count)
{
    struct export *e = arg;
    struct export_worker *w = &e->workers[worker];
    struct buf b;

    buf_init(&b, &c->arena, OUT_BYTES + (OUT_BYTES >> 2));
    for (size_t i = 0; i < count; i++) {
        struct wr_row row = rows[i];

        read_flags_apply(c, &e->flags, &row);
        if (e->format == EXPORT_JSON)
            put_json_row(c, w, &b, row);
        else
            TRY(put_csv_row(c, w, &b, &row));
        if (b.len > OUT_BYTES)
            TRY(flush(c, e, w, piece, &b));
    }
    atomic_fetch_add(&e->progress.records, count);
    return flush(c, e, w, piece, &b);
}

static int end_texts(struct ctx *c, void *arg, size_t worker, size_t piece)
{
    struct export *e = arg;

    return written(c, e, ordered_end(&e->ordered, piece, &e->workers[worker].kept));
}

static void stop_texts(void *arg)
{
    ordered_stop(&((struct export *)arg)->ordered);
}

/* ---- Parquet ---- */

/* Packs what a thread has, and writes it. */
static int end_group(struct ctx *c, void *arg, size_t worker, size_t piece)
{
    struct export *e = arg;
    struct group *g = &e->workers[worker].group;
    bool good;

    if (!g->rows)
        return 0;
    group_pack(g);
    pthread_mutex_lock(&e->columns.mutex);
    errno = 0;
    parquet_add(e->columns.parquet, g, piece);
    good = !ferror(e->out);
    pthread_mutex_unlock(&e->columns.mutex);
    return written(c, e, good);
}

static int put_groups(struct ctx *c, void *arg, size_t worker, size_t piece,
                      const struct wr_row *rows, size_t count)
{
    struct export *e = arg;
    struct export_worker *w = &e->workers[worker];

    for (size_t i = 0; i < count; i++) {
        struct wr_row row = rows[i];

        read_flags_apply(c, &e->flags, &row);
        TRY(row_file_put(c, &w->view, &w->group, &row));
        if (group_is_full(&w->group, GROUP_BYTES))
            TRY(end_group(c, e, worker, piece));
    }
    atomic_fetch_add(&e->progress.records, count);
    return 0;
}

/* ---- all of it ---- */

static int note_rows(struct ctx *c, void *arg, size_t worker, size_t piece,
                     const struct wr_row *rows, size_t count)
{
    struct export *e = arg;
    bool grown = false;

    (void)piece;
    for (size_t i = 0; i < count; i++) {
        struct wr_row row = rows[i];

        read_flags_apply(c, &e->flags, &row);
        TRY(row_view_take(c, &e->workers[worker].view, &row, &grown));
    }
    return 0;
}

static void begin_views(struct export *e)
{
    for (size_t i = 0; i < e->options->workers; i++)
        row_view_init(&e->workers[i].view, &e->columns);
}

static void end_views(struct export *e)
{
    for (size_t i = 0; i < e->options->workers; i++) {
        row_view_merge(&e->workers[i].view);
        row_view_release(&e->workers[i].view);
    }
}

static int walk(struct ctx *c, struct export *e, struct walkers how)
{
    int code;

    how.target = e->target;
    how.range = e->range;
    how.pieces = &e->pieces;
    how.count = e->options->workers;
    how.arg = e;
    begin_views(e);
    code = walkers_run(c, &how);
    end_views(e);
    return code;
}

/* Looks at the first rows of some pieces. */
static int look(struct ctx *c, struct client *cl, struct export *e)
{
    size_t pieces = e->pieces.count + 1, step = (pieces + SAMPLE_PIECES - 1) / SAMPLE_PIECES;
    struct wr_request request = {.op = WR_OP_GET_RANGE, .get_range = e->range};
    struct wr_reply reply;
    int code = 0;

    request.get_range.has_limit = true;
    request.get_range.limit = SAMPLE_ROWS;
    begin_views(e);
    for (size_t i = 0; i < pieces && !code; i += step) {
        if (i)
            request.get_range.start = e->pieces.bounds[i - 1];
        code = walk_page(c, cl, &request, &reply);
        if (!code)
            code = note_rows(c, e, 0, i, reply.range.rows, reply.range.row_count);
    }
    end_views(e);
    return code;
}

/* Which columns there are. CSV has to know them all before the first row. */
static int find_columns(struct ctx *c, struct client *cl, struct export *e)
{
    const struct row_columns *k = &e->columns;

    if (e->format == EXPORT_JSON || e->all_typed)
        return 0;
    row_columns_count(&e->columns);
    if (e->format == EXPORT_PARQUET)
        TRY(look(c, cl, e));
    if (e->format == EXPORT_CSV || k->known.count > NAMES_MANY)
        TRY(walk(c, e, (struct walkers){.rows = note_rows}));
    return 0;
}

static int begin_output(struct ctx *c, struct export *e)
{
    struct ordered_text none = {0};
    struct buf header;

    row_columns_keep_frequent(&e->columns);
    if (e->format == EXPORT_PARQUET)
        return row_file_open(c, e->out, e->table, &e->columns);
    e->columns.closed = true;
    ordered_init(&e->ordered, e->out);
    if (e->format == EXPORT_JSON)
        return 0;
    buf_init(&header, &c->arena, 0);
    put_header(e, &header);
    return written(c, e, ordered_put(&e->ordered, 0, &none, buf_bytes(&header)));
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

static int export_steps(struct ctx *c, struct client *cl, struct export *e)
{
    struct walkers how = {.rows = put_texts, .end = end_texts, .stop = stop_texts};
    uint64_t piece = e->format == EXPORT_PARQUET ? PARQUET_PIECE_BYTES : TEXT_PIECE_BYTES;
    int code;

    e->target = cl->target;
    e->pieces.count = 0;
    if (e->options->workers > 1)
        walkers_cut(c, cl, e->table, &e->range, piece, &e->pieces);
    TRY(find_columns(c, cl, e));
    code = begin_output(c, e);
    if (e->format == EXPORT_PARQUET)
        how = (struct walkers){.rows = put_groups, .end = end_group};
    if (code == 0)
        code = walk(c, e, how);
    if (e->columns.parquet)
        parquet_close(e->columns.parquet, code == 0);
    else
        ordered_destroy(&e->ordered);
    return code == WALK_ENOUGH ? 0 : code;
}

static int export_walk(struct ctx *c, struct client *cl, struct export *e)
{
    size_t n = e->options->workers;
    int code;

    e->workers = mem_zalloc(sizeof(*e->workers) * n);
    code = export_steps(c, cl, e);
    for (size_t i = 0; i < n; i++) {
        group_release(&e->workers[i].group);
        ordered_text_release(&e->workers[i].kept);
    }
    mem_free(e->workers);
    return code;
}

static int parse_format(struct ctx *c, struct export *e)
{
    static const char *const names[] = {"csv", "jsonl", "parquet"};

    for (size_t i = 0; i < PORT_COUNT(names); i++)
        if (strcmp(e->options->format, names[i]) == 0) {
            e->format = (enum export_format)i;
            return 0;
        }
    return fail(c, E_PARAMETER, "--format is csv, jsonl or parquet, not '%s'", e->options->format);
}

static int export_to_sink(struct ctx *c, struct client *cl, struct export *e)
{
    const struct export_options *o = e->options;
    int code = sink_open(c, &e->sink, &o->s3, o->output), closed;

    e->out = e->sink.file;
    if (code == 0)
        code = end_output(c, e, export_walk(c, cl, e));
    closed = sink_close(c, &e->sink, code == 0);
    return code ? code : closed;
}

static int export_run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    const struct export_options *o = options;
    struct wr_table_description table;
    struct export e = {.options = o, .table = &table};
    char count[PROGRESS_TEXT];
    int code;

    TRY(parse_format(c, &e));
    if (e.format == EXPORT_PARQUET && !o->output && isatty(STDOUT_FILENO))
        return fail(c, E_PARAMETER, "Parquet is nothing to look at: give --output FILE, or a pipe");
    TRY(cli_describe(c, cl, bytes_str(cli->argv[0]), &table));
    row_columns_init(&e.columns, table.key_count,
                     o->versions || (e.format == EXPORT_PARQUET && !o->columns), o->versions);
    code = choose(c, &e, cli);
    if (code == 0) {
        progress_start(&e.progress, c->clock, 0, o->quiet);
        code = export_to_sink(c, cl, &e);
        progress_end(&e.progress);
    }
    row_columns_release(&e.columns);
    if (code == 0 && !o->quiet)
        fprintf(stderr, "%s: %s rows in %.1f s\n", cli->argv[0],
                progress_format_count(atomic_load(&e.progress.records), count),
                progress_seconds(&e.progress));
    return code;
}

static void export_defaults(void *options)
{
    struct export_options *o = options;

    o->format = "csv";
    o->workers = 4;
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
        "columns (zstd), for pandas, DuckDB, Spark and `widerow import`.\n"
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
