#include "cli/transfer/import_source.h"

#include "cli/transfer/import_rows.h"
#include "cli/transfer/import_sample.h"

#include "widerow.h"

#include <errno.h>

#define GUESS_LINES 1000
#define GUESS_BYTES_MAX (8 << 20)
#define OBJECT_READ_BYTES (256u << 10) /* at once, of a column */
#define IDLE_MS 200                    /* without a line: those before it do not wait for it */

/* For CSV: first what was read to tell the format. */
static ssize_t source_read(void *arg, void *buf, size_t n)
{
    struct import_source *s = arg;
    struct record_reader *r = &s->records;

    if (*s->stop) {
        errno = ECANCELED;
        return -1;
    }
    if (r->at == r->end)
        return input_read(r->input, buf, n);
    if (n > r->end - r->at)
        n = r->end - r->at;
    memcpy(buf, r->data + r->at, n);
    r->at += n;
    return (ssize_t)n;
}

static void begin_lines(struct import_source *s)
{
    s->json = s->records.format == RECORD_JSONL;
    csv_init(&s->csv, source_read, s);
    s->csv.raw.wanted = s->records.raw.wanted = s->keep_raw;
    s->csv.delimiter = s->records.delimiter;
}

int import_source_open(struct ctx *c, struct import_source *s, int fd, const char *name,
                       const struct record_form *form)
{
    bool parquet = form->format && strcmp(form->format, "parquet") == 0;

    s->fd = fd;
    if (import_rows_is(fd) && (parquet || !form->format)) {
        TRY(import_rows_open(c, fd, name, s->stop, s->keep_raw, &s->rows));
        s->records.total_bytes = import_rows_bytes(s->rows);
        return 0;
    }
    if (parquet)
        return fail(c, E_PARAMETER,
                    "%s is not Parquet, or no file: Parquet is read from its end, which a pipe "
                    "cannot do",
                    name);
    s->records.stop = s->stop;
    TRY(record_begin(c, &s->records, fd, name, form));
    begin_lines(s);
    return 0;
}

/* Does it begin as Parquet does? */
static int tell_object(struct ctx *c, struct object *o, bool *parquet)
{
    char magic[IMPORT_PARQUET_MAGIC_BYTES], why[160];

    *parquet = false;
    if (o->head.size < sizeof(magic))
        return 0;
    if (!object_read_at(o, 0, magic, sizeof(magic), why, sizeof(why)))
        return fail(c, E_UNAVAILABLE, "%s", why);
    *parquet = memcmp(magic, PARQUET_MAGIC, sizeof(magic)) == 0;
    return 0;
}

int import_source_open_object(struct ctx *c, struct import_source *s, struct object *o,
                              const char *name, const struct record_form *form)
{
    bool wanted = form->format && strcmp(form->format, "parquet") == 0, found;
    struct parquet_source source = {
        .read = object_read_at, .arg = o, .size = o->head.size, .read_bytes = OBJECT_READ_BYTES};

    s->fd = -1;
    s->object = o;
    TRY(tell_object(c, o, &found));
    if (found && (wanted || !form->format)) {
        TRY(import_rows_open_at(c, &source, name, s->keep_raw, &s->rows));
        s->records.total_bytes = o->head.size;
        return 0;
    }
    if (wanted)
        return fail(c, E_PARAMETER, "%s is not Parquet", name);
    s->records.stop = s->stop;
    TRY(record_begin_input(c, &s->records, input_from(object_read, o), o->head.size, name, form));
    begin_lines(s);
    return 0;
}

void import_source_release(struct import_source *s)
{
    csv_release(&s->csv);
    record_release(&s->records);
    import_rows_release(s->rows);
}

const char *import_source_message(const struct import_source *s)
{
    if (s->bad)
        return s->bad;
    if (s->rows)
        return import_rows_message(s->rows);
    if (s->records.input && input_fault(s->records.input))
        return input_fault(s->records.input);
    return s->json ? s->records.message : s->csv.message;
}

/* The next one of the file. */
static enum csv_result source_take(struct import_source *s, struct csv_record *out)
{
    static const enum csv_result results[] = {[RECORD_OK] = CSV_RECORD,
                                              [RECORD_END] = CSV_END,
                                              [RECORD_BAD] = CSV_BAD,
                                              [RECORD_FAILED] = CSV_FAILED};
    struct record_reader *r = &s->records;
    uint64_t before = r->offset;
    enum csv_result result;

    if (s->rows)
        return import_rows_next(s->rows, out);
    if (!s->json)
        return csv_next(&s->csv, out);
    result = results[record_next(r)];
    *out = (struct csv_record){.fields = r->fields,
                               .count = r->column_count,
                               .line = r->line,
                               .offset = before,
                               .size = r->offset - before};
    if (result == CSV_RECORD || result == CSV_BAD)
        out->raw = r->record_text;
    return result;
}

/* The last line did not fail, it has not come yet. */
bool import_source_is_idle(const struct import_source *s)
{
    return !s->rows && input_is_idle(s->records.input);
}

/* Rows are read from the first one again behind a sample, so that comes first. */
static void read_rows_ahead(struct ctx *c, struct import_source *s)
{
    s->sample = ARENA_ARRAY(&c->arena, struct csv_record, IMPORT_SAMPLE_MAX);
    s->sample_count = import_rows_sample(c, s->rows, s->sample, IMPORT_SAMPLE_MAX);
}

/* Records from behind the first lines, if the file can be read there. */
static void read_sample(struct ctx *c, struct import_source *s)
{
    struct import_sample_of of = {.fd = s->fd,
                                  .from = s->json ? s->records.offset : s->csv.offset,
                                  .to = s->records.total_bytes,
                                  .json = s->json ? &s->records : NULL,
                                  .delimiter = s->csv.delimiter,
                                  .field_count = s->field_count};

    if (s->hurry || s->has_next || s->rows || s->object || of.from >= of.to || *s->stop)
        return;
    s->sample = ARENA_ARRAY(&c->arena, struct csv_record, IMPORT_SAMPLE_MAX);
    s->sample_count = import_sample_read(c, &of, s->sample);
}

/* Reads the first lines; only those that are there, if nothing is guessed from them. */
void import_source_read_ahead(struct ctx *c, struct import_source *s)
{
    size_t size = 0;

    if (s->rows && !s->hurry)
        read_rows_ahead(c, s);
    s->ahead = ARENA_ARRAY(&c->arena, struct csv_record, GUESS_LINES);
    s->ahead_bad = ARENA_ARRAY(&c->arena, const char *, GUESS_LINES);
    while (s->ahead_count < GUESS_LINES && size < GUESS_BYTES_MAX) {
        s->next_result = source_take(s, &s->next);
        if (import_source_is_idle(s) && s->hurry)
            break;
        if (import_source_is_idle(s))
            continue;
        if (s->next_result == CSV_END || s->next_result == CSV_FAILED) {
            s->has_next = true;
            break;
        }
        size += s->next.size + s->next.count * sizeof(struct csv_field);
        if (s->next_result == CSV_BAD)
            s->ahead_bad[s->ahead_count] =
                arena_printf(&c->arena, "%s", import_source_message(s)).ptr;
        s->ahead[s->ahead_count++] = import_record_copy(c, &s->next);
    }
    read_sample(c, s);
}

/* Columns that the user names need not be among the first lines. */
static int add_names(struct ctx *c, struct record_reader *r, const char *words)
{
    for (const char *p = words, *end; p; p = *end ? end + 1 : NULL) {
        end = strchrnul(p, ',');
        if (!record_add_column(r, bytes_of(p, strcspn(p, ":,"))))
            return fail(c, E_PARAMETER, "more than %d columns", RECORD_COLUMNS_MAX);
    }
    return 0;
}

/* All with as many fields as there are columns. */
static void pad(struct ctx *c, struct csv_record *records, size_t count, size_t columns)
{
    for (size_t i = 0; i < count; i++) {
        struct csv_field *fields = ARENA_ARRAY(&c->arena, struct csv_field, columns);

        for (size_t k = 0; k < columns; k++)
            fields[k] = k < records[i].count ? records[i].fields[k] : (struct csv_field){0};
        records[i].fields = fields;
        records[i].count = columns;
    }
}

/* The columns of JSON Lines are those of the first lines and of the sample; a record that ends
 * early has no cells in the columns that came later. */
static int json_header(struct ctx *c, struct import_source *s, const char *name, const char *keys,
                       const char *columns, struct csv_record *header)
{
    struct csv_field *names;

    TRY(add_names(c, &s->records, keys));
    TRY(add_names(c, &s->records, columns));
    s->hurry = keys && columns && s->records.total_bytes == 0;
    import_source_read_ahead(c, s);
    if (s->has_next && s->next_result == CSV_FAILED && !s->ahead_count)
        return fail(c, E_PARAMETER, "%s: %s", name, import_source_message(s));
    if (!s->records.column_count)
        return fail(c, E_PARAMETER, "there is no record in %s%s%s", name,
                    s->ahead_count ? "; line 1: " : "", s->ahead_count ? s->ahead_bad[0] : "");
    names = ARENA_ARRAY(&c->arena, struct csv_field, s->records.column_count);
    for (size_t i = 0; i < s->records.column_count; i++)
        names[i].text = s->records.names[i];
    /* No types: a name is as it stands there, with its colons. */
    *header = (struct csv_record){
        .fields = names,
        .count = s->records.column_count,
        .values = memset(ARENA_ARRAY(&c->arena, struct wr_value, s->records.column_count), 0,
                         sizeof(struct wr_value) * s->records.column_count)};
    pad(c, s->ahead, s->ahead_count, header->count);
    pad(c, s->sample, s->sample_count, header->count);
    return 0;
}

enum csv_result import_source_next(struct import_source *s, struct csv_record *out)
{
    s->bad = NULL;
    if (s->ahead_at < s->ahead_count) {
        s->bad = s->ahead_bad[s->ahead_at];
        *out = s->ahead[s->ahead_at++];
        return s->bad ? CSV_BAD : CSV_RECORD;
    }
    if (s->has_next) {
        s->has_next = false;
        *out = s->next;
        return s->next_result;
    }
    return source_take(s, out);
}

/* Lines that end with CR alone would all be one. */
static int check_line_ends(struct ctx *c, const char *name, const struct csv_record *header)
{
    for (size_t i = 0; i < header->count; i++) {
        const struct csv_field *f = &header->fields[i];

        if (f->text.len && !f->quoted && memchr(f->text.ptr, '\r', f->text.len))
            return fail(c, E_PARAMETER,
                        "the lines of %s end with CR alone; make it LF: tr '\\r' '\\n' <FILE | "
                        "widerow … -",
                        name);
    }
    return 0;
}

int import_source_header(struct ctx *c, struct import_source *s, const char *name, const char *keys,
                         const char *columns, struct csv_record *header)
{
    if (s->rows) {
        *header = import_rows_header(c, s->rows);
        s->field_count = header->count;
        return 0;
    }
    if (s->json) {
        input_set_patience(s->records.input, IDLE_MS);
        return json_header(c, s, name, keys, columns, header);
    }
    switch (csv_next(&s->csv, header)) {
    case CSV_RECORD:
        TRY(check_line_ends(c, name, header));
        s->field_count = header->count;
        input_set_patience(s->records.input, IDLE_MS); /* behind the header */
        return 0;
    case CSV_END:
        return fail(c, E_PARAMETER, "%s is empty; it needs a header line", name);
    default:
        return fail(c, E_PARAMETER, "%s, line 1: %s", name, s->csv.message);
    }
}

const char *import_source_key(struct ctx *c, const struct import_source *s)
{
    bytes note =
        s->rows ? parquet_reader_footer(import_rows_reader(s->rows))->key_note : BYTES_NONE;

    return note.len ? arena_printf(&c->arena, "%.*s", BYTES_FMT(note)).ptr : NULL;
}

void import_source_omit(struct import_source *s, size_t field)
{
    if (s->rows)
        parquet_reader_omit(import_rows_reader(s->rows), field);
}

void import_source_as_text(struct import_source *s, size_t field)
{
    if (s->rows)
        parquet_reader_as_text(import_rows_reader(s->rows), field);
}
