#include "cli/console/records.h"

#include "cli/console/grid.h"
#include "cli/console/print.h"
#include "record/type_name.h"
#include "cli/console/value.h"
#include "cli/console/width.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BATCH_RECORDS 1000
#define WIDTH_DEFAULT 80
#define COLUMN_WIDTH_MIN 8 /* of a column that is cut; with less the table is shown vertically */
#define SHOWN_MAX 256      /* characters of a value on a terminal, if nothing is said */
#define ALL_CELLS 3        /* the cells of a version's record: column, time, value */

enum records_format {
    FORMAT_TABLE,
    FORMAT_JSON,
    FORMAT_JSONL,
    FORMAT_CSV,
    FORMAT_VERTICAL,
    FORMAT_COUNT
};

static const char *const format_names[FORMAT_COUNT] = {"table", "json", "jsonl", "csv", "vertical"};

struct column {
    bytes name;
    enum wr_type type;
    bool mixed; /* of several types */
    bool words; /* not numbers alone */
};

/* A record of a table or of CSV, until it is printed. */
struct kept {
    size_t count;
    struct kept_value {
        size_t column;
        bytes text; /* NUL-terminated */
    } * values;
};

struct records {
    enum records_format format;
    FILE *out;
    bool paged, terminal, failed;
    size_t width, shown_max; /* of the terminal; of a value, 0: all of it */
    uint64_t count;
    struct arena names, batch; /* of the columns; of what is kept */
    struct column *columns;
    size_t column_count, column_capacity;
    bool fixed; /* the header of a CSV is out */
    struct kept kept[BATCH_RECORDS];
    size_t kept_count;
};

/* ---- where it goes ---- */

static int read_format(struct ctx *c, const char *text, enum records_format *out)
{
    const char *near;

    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(text, format_names[i]) == 0) {
            *out = (enum records_format)i;
            return 0;
        }
    near = option_nearest(text, format_names, FORMAT_COUNT);
    return fail(c, E_PARAMETER, "--format is one of " RECORDS_FORMATS ", not '%s'%s%s%s", text,
                near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col;
    return columns && strtoul(columns, NULL, 10) ? strtoul(columns, NULL, 10) : WIDTH_DEFAULT;
}

static void open_pager(struct records *r)
{
    const char *pager = getenv("WIDEROW_PAGER");
    FILE *pipe;

    if (!pager)
        pager = getenv("PAGER");
    if (!pager || !*pager)
        return;
    setenv("LESS", "FRSX", 0); /* ends at once where all fits, cuts long lines, keeps the screen */
    pipe = popen(pager, "w");
    if (!pipe)
        return;
    r->out = pipe;
    r->paged = true;
}

int records_open(struct ctx *c, const struct records_options *o, const char *usual,
                 struct records **out)
{
    bool terminal = isatty(STDOUT_FILENO);
    const char *format = o->format ? o->format : usual ? usual : terminal ? "table" : "jsonl";
    enum records_format read = FORMAT_TABLE;
    struct records *r;

    TRY(read_format(c, format, &read));
    r = mem_zalloc(sizeof(*r));
    r->format = read;
    r->out = stdout;
    r->terminal = terminal;
    r->width = terminal_width();
    r->shown_max = o->max_width ? o->max_width : terminal ? SHOWN_MAX : 0;
    arena_init(&r->names, NULL, 0);
    arena_init(&r->batch, NULL, 0);
    if (terminal)
        open_pager(r);
    *out = r;
    return 0;
}

static int records_write(struct ctx *c, struct records *r, bytes text)
{
    if (r->failed || fwrite(text.ptr, 1, text.len, r->out) == text.len)
        return 0;
    r->failed = true;
    return errno == EPIPE ? 0 : fail(c, E_NO_SPACE, "cannot write: %s", strerror(errno));
}

bool records_enough(const struct records *r)
{
    return r->failed;
}

/* ---- values for people ---- */

/* Cut to r->shown_max characters, with an ellipsis. */
static void put_cut(const struct records *r, struct buf *b, bytes text)
{
    const uint8_t *p = text.ptr;
    size_t shown = 0;

    for (size_t i = 0; i < text.len; i++) {
        bool begins = (p[i] & 0xc0) != 0x80;

        if (begins && r->shown_max && ++shown > r->shown_max) {
            buf_put_bytes(b, BYTES_LIT("\xe2\x80\xa6"));
            return;
        }
        if (p[i] < ' ' || p[i] == 0x7f)
            buf_put_bytes(b, arena_printf(b->arena, "\\x%02x", p[i]));
        else
            buf_put_u8(b, p[i]);
    }
}

/* A text without quotes, all else as it is always written. */
static bytes shown_text(struct records *r, const struct wr_value *v)
{
    struct buf whole, b;

    buf_init(&b, &r->batch, 64);
    buf_init(&whole, &r->batch, 64);
    if (v->type != WR_VARCHAR)
        value_put(&whole, v);
    put_cut(r, &b, v->type == WR_VARCHAR ? v->bytes : buf_bytes(&whole));
    buf_put_u8(&b, 0);
    return bytes_of(b.data, b.len - 1);
}

static bytes csv_text(struct records *r, const struct wr_value *v)
{
    struct buf b;

    buf_init(&b, &r->batch, 64);
    if (v->type != WR_NULL) /* nothing at all, while "" is an empty text */
        value_put_csv(&b, v);
    return buf_bytes(&b);
}

/* ---- columns ---- */

static bool is_word(enum wr_type type)
{
    return type != WR_BIGINT && type != WR_DOUBLE && type != WR_UBIGINT && type != WR_NULL;
}

static int find_column(struct ctx *c, struct records *r, bytes name, enum wr_type type,
                       size_t *hint, size_t *out)
{
    struct column *columns;

    for (size_t n = 0, i = *hint; n < r->column_count; n++, i++) {
        struct column *column = &r->columns[i % r->column_count];

        if (!bytes_equal(column->name, name))
            continue;
        if (column->type == WR_NULL)
            column->type = type;
        column->mixed |= type != WR_NULL && column->type != type;
        column->words |= is_word(type);
        *out = i % r->column_count;
        *hint = *out + 1;
        return 0;
    }
    if (r->fixed)
        return fail(c, E_PARAMETER,
                    "column %.*s is in none of the first %d rows, so it is not in the header: "
                    "take --format jsonl, or `widerow export`",
                    BYTES_FMT(name), BATCH_RECORDS);
    if (r->column_count == r->column_capacity) {
        r->column_capacity = r->column_capacity ? 2 * r->column_capacity : 16;
        columns = ARENA_ARRAY(&r->names, struct column, r->column_capacity);
        if (r->column_count)
            memcpy(columns, r->columns, r->column_count * sizeof(*columns));
        r->columns = columns;
    }
    r->columns[r->column_count] =
        (struct column){arena_copy(&r->names, name), type, false, is_word(type)};
    *out = r->column_count++;
    *hint = *out + 1;
    return 0;
}

/* ---- a table ---- */

static int put_vertical(struct ctx *c, struct records *r, const struct kept *k)
{
    size_t width = 0;
    struct buf b;

    buf_init(&b, &r->batch, 256);
    for (size_t i = 0; i < k->count; i++)
        if (r->columns[k->values[i].column].name.len > width)
            width = r->columns[k->values[i].column].name.len;
    buf_put_bytes(&b, arena_printf(&r->batch, "-[ %llu ]-\n", (unsigned long long)++r->count));
    for (size_t i = 0; i < k->count; i++) {
        bytes name = r->columns[k->values[i].column].name;

        buf_put_bytes(&b, arena_printf(&r->batch, "%-*.*s  %s\n", (int)width, BYTES_FMT(name),
                                       (const char *)k->values[i].text.ptr));
    }
    return records_write(c, r, buf_bytes(&b));
}

/* How wide each column is drawn; NULL: they cannot stand side by side. */
static size_t *share_width(struct records *r)
{
    size_t *widths = ARENA_ARRAY(&r->batch, size_t, r->column_count);

    width_begin();
    for (size_t i = 0; i < r->column_count; i++)
        widths[i] = width_of(arena_printf(&r->batch, "%.*s", BYTES_FMT(r->columns[i].name)).ptr);
    for (size_t i = 0; i < r->kept_count; i++)
        for (size_t k = 0; k < r->kept[i].count; k++) {
            const struct kept_value *v = &r->kept[i].values[k];
            size_t width = width_of(v->text.ptr);

            if (width > widths[v->column])
                widths[v->column] = width;
        }
    if (!r->terminal)
        return widths;
    if (r->column_count > r->width ||
        !width_share(widths, r->column_count, r->width + 1 - r->column_count, COLUMN_WIDTH_MIN))
        return NULL;
    return widths;
}

static void fill_grid(struct records *r, struct grid *g, const size_t *widths)
{
    for (size_t i = 0; i < r->column_count; i++) {
        bytes name = arena_printf(&r->batch, "%.*s", BYTES_FMT(r->columns[i].name));

        grid_add_column(g, width_cut(&r->batch, name.ptr, widths[i]), !r->columns[i].words);
    }
    for (size_t i = 0; i < r->kept_count; i++) {
        grid_add_line(g);
        for (size_t k = 0; k < r->kept[i].count; k++) {
            const struct kept_value *v = &r->kept[i].values[k];

            grid_set(g, v->column, width_cut(&r->batch, v->text.ptr, widths[v->column]));
        }
    }
}

static int draw_table(struct ctx *c, struct records *r)
{
    const char *no_color = getenv("NO_COLOR");
    const size_t *widths = r->format == FORMAT_TABLE ? share_width(r) : NULL;
    struct grid *g = widths ? grid_open(r->terminal && !(no_color && *no_color)) : NULL;

    if (!g) {
        for (size_t i = 0; i < r->kept_count; i++)
            TRY(put_vertical(c, r, &r->kept[i]));
        return 0;
    }
    fill_grid(r, g, widths);
    r->failed |= !grid_draw(g, r->out);
    grid_free(g);
    r->column_count = 0; /* the next thousand have their own */
    return 0;
}

/* ---- CSV ---- */

static int put_csv_header(struct ctx *c, struct records *r)
{
    struct buf b;

    buf_init(&b, &r->batch, 256);
    for (size_t i = 0; i < r->column_count; i++) {
        if (i)
            buf_put_u8(&b, ',');
        value_put_csv_text(&b, arena_printf(&r->batch, "%.*s:%s", BYTES_FMT(r->columns[i].name),
                                            type_name(r->columns[i].type)));
    }
    buf_put_u8(&b, '\n');
    r->fixed = true;
    return records_write(c, r, buf_bytes(&b));
}

static int put_csv_record(struct ctx *c, struct records *r, const struct kept *k)
{
    bytes *fields = ARENA_ARRAY(&r->batch, bytes, r->column_count);
    struct buf b;

    buf_init(&b, &r->batch, 256);
    for (size_t i = 0; i < k->count; i++)
        fields[k->values[i].column] = k->values[i].text;
    for (size_t i = 0; i < r->column_count; i++) {
        if (i)
            buf_put_u8(&b, ',');
        buf_put_bytes(&b, fields[i]);
    }
    buf_put_u8(&b, '\n');
    return records_write(c, r, buf_bytes(&b));
}

static int put_csv(struct ctx *c, struct records *r)
{
    for (size_t i = 0; i < r->column_count; i++)
        if (r->columns[i].mixed)
            return fail(c, E_PARAMETER,
                        "column %.*s holds %s and other values, which CSV cannot keep apart: take "
                        "--format jsonl",
                        BYTES_FMT(r->columns[i].name), type_name(r->columns[i].type));
    if (!r->fixed)
        TRY(put_csv_header(c, r));
    for (size_t i = 0; i < r->kept_count; i++)
        TRY(put_csv_record(c, r, &r->kept[i]));
    return 0;
}

/* ---- records ---- */

static int print_kept(struct ctx *c, struct records *r)
{
    int code = 0;

    if (r->kept_count && !r->failed)
        code = r->format == FORMAT_CSV ? put_csv(c, r) : draw_table(c, r);
    r->kept_count = 0;
    arena_release(&r->batch);
    arena_init(&r->batch, NULL, 0);
    return code;
}

static int keep_value(struct ctx *c, struct records *r, struct kept *k, bytes name,
                      const struct wr_value *v, size_t *hint)
{
    struct kept_value *to = &k->values[k->count++];

    to->text = r->format == FORMAT_CSV ? csv_text(r, v) : shown_text(r, v);
    return find_column(c, r, name, v->type, hint, &to->column);
}

static int keep(struct ctx *c, struct records *r, const struct wr_row *row)
{
    struct kept *k = &r->kept[r->kept_count++];
    size_t hint = 0;

    k->count = 0;
    k->values = ARENA_ARRAY(&r->batch, struct kept_value, row->key.count + row->cell_count);
    for (size_t i = 0; i < row->key.count; i++)
        TRY(keep_value(c, r, k, row->key.columns[i].name, &row->key.columns[i].value, &hint));
    for (size_t i = 0; i < row->cell_count; i++)
        if (i == 0 || !bytes_equal(row->cells[i].name, row->cells[i - 1].name))
            TRY(keep_value(c, r, k, row->cells[i].name, &row->cells[i].value, &hint));
    return r->kept_count == BATCH_RECORDS || r->format == FORMAT_VERTICAL ? print_kept(c, r) : 0;
}

static int put_json(struct ctx *c, struct records *r, const struct wr_row *row)
{
    struct buf b;

    buf_init(&b, &r->batch, 256);
    if (r->format == FORMAT_JSON)
        buf_put_bytes(&b, r->count ? BYTES_LIT(" ,") : BYTES_LIT("[ "));
    r->count++;
    print_put_row(&b, row);
    TRY(records_write(c, r, buf_bytes(&b)));
    return b.len > 1 << 16 || r->count % BATCH_RECORDS == 0 ? print_kept(c, r) : 0;
}

static int put_one(struct ctx *c, struct records *r, const struct wr_row *row)
{
    if (r->format == FORMAT_JSON || r->format == FORMAT_JSONL)
        return put_json(c, r, row);
    return keep(c, r, row);
}

/* A record for each version of a cell. */
static int put_versions(struct ctx *c, struct records *r, const struct wr_row *row)
{
    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];
        struct wr_cell cells[ALL_CELLS] = {
            {.name = BYTES_LIT("column"), .value = {.type = WR_VARCHAR, .bytes = cell->name}},
            {.name = BYTES_LIT("time"),
             .value = {.type = WR_BIGINT, .integer = cell->timestamp_ms}},
            {.name = BYTES_LIT("value"), .value = cell->value}};
        struct wr_row one = {.key = row->key, .cells = cells, .cell_count = ALL_CELLS};

        TRY(put_one(c, r, &one));
    }
    return 0;
}

int records_put(struct ctx *c, struct records *r, const struct wr_row *row, bool all)
{
    return all ? put_versions(c, r, row) : put_one(c, r, row);
}

int records_close(struct ctx *c, struct records *r)
{
    int code = 0;

    if (!r)
        return 0;
    code = print_kept(c, r);
    if (code == 0 && r->format == FORMAT_JSON)
        code = records_write(c, r, r->count ? BYTES_LIT("]\n") : BYTES_LIT("[]\n"));
    if (r->paged)
        pclose(r->out);
    arena_release(&r->names);
    arena_release(&r->batch);
    mem_free(r);
    return code;
}

/* ---- records that are made ---- */

static struct wr_value *add_cell(struct record *r, const char *name)
{
    assert(r->count < RECORD_CELLS_MAX);
    r->cells[r->count].name = bytes_str(name);
    return &r->cells[r->count++].value;
}

void record_text(struct record *r, const char *name, bytes text)
{
    *add_cell(r, name) = (struct wr_value){.type = WR_VARCHAR, .bytes = text};
}

void record_integer(struct record *r, const char *name, int64_t v)
{
    *add_cell(r, name) = (struct wr_value){.type = WR_BIGINT, .integer = v};
}

int records_put_record(struct ctx *c, struct records *r, const struct record *record)
{
    struct wr_row row = {.cells = record->cells, .cell_count = record->count};

    return records_put(c, r, &row, false);
}

int records_print_one(struct ctx *c, const struct records_options *o, const struct record *record)
{
    struct records *r;
    int code, more;

    TRY(records_open(c, o, NULL, &r));
    code = records_put_record(c, r, record);
    more = records_close(c, r);
    return code ? code : more;
}
