#include "cli/transfer/import_rows.h"

#include "cli/console/value.h"
#include "cli/transfer/import_sample.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAMPLE_PLACES 63

struct import_rows {
    int fd;
    const volatile sig_atomic_t *stop;
    bool keep_raw;
    struct parquet_reader *reader;
    const struct parquet_footer *footer;
    uint64_t bytes;
    uint64_t told;  /* bytes of the file that records have said to be their size */
    struct ctx raw; /* of the record's JSON */
};

static bool read_file(void *arg, uint64_t offset, void *buf, size_t n, char *why, size_t why_size)
{
    const struct import_rows *r = arg;
    size_t have = 0;

    while (have < n && !*r->stop) {
        ssize_t got = pread(r->fd, (char *)buf + have, n - have, (off_t)(offset + have));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            snprintf(why, why_size, "%s", got ? strerror(errno) : "the file has become shorter");
            return false;
        }
        have += (size_t)got;
    }
    if (have < n)
        snprintf(why, why_size, "interrupted");
    return have == n;
}

bool import_rows_is(int fd)
{
    char magic[IMPORT_PARQUET_MAGIC_BYTES];
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
           memcmp(magic, PARQUET_MAGIC, sizeof(magic)) == 0;
}

static int begin(struct ctx *c, struct import_rows *r, const struct parquet_source *source,
                 const char *name)
{
    ctx_init(&r->raw, c->clock, NULL, NULL, 0);
    r->bytes = source->size;
    TRY(parquet_reader_open(c, source, name, PARQUET_PAGE_BYTES_MAX, &r->reader));
    r->footer = parquet_reader_footer(r->reader);
    return 0;
}

int import_rows_open(struct ctx *c, int fd, const char *name, const volatile sig_atomic_t *stop,
                     bool keep_raw, struct import_rows **out)
{
    struct import_rows *r = mem_zalloc(sizeof(*r));
    struct parquet_source source = {.read = read_file, .arg = r};
    struct stat st;

    *out = r;
    r->fd = fd;
    r->stop = stop;
    r->keep_raw = keep_raw;
    if (fstat(fd, &st) != 0)
        return fail(c, E_PARAMETER, "cannot read %s: %s", name, strerror(errno));
    source.size = (uint64_t)st.st_size;
    return begin(c, r, &source, name);
}

int import_rows_open_at(struct ctx *c, const struct parquet_source *source, const char *name,
                        bool keep_raw, struct import_rows **out)
{
    struct import_rows *r = mem_zalloc(sizeof(*r));

    *out = r;
    r->fd = -1;
    r->keep_raw = keep_raw;
    return begin(c, r, source, name);
}

void import_rows_release(struct import_rows *r)
{
    if (!r)
        return;
    parquet_reader_close(r->reader);
    ctx_release(&r->raw);
    if (r->fd > STDIN_FILENO)
        close(r->fd);
    mem_free(r);
}

struct parquet_reader *import_rows_reader(struct import_rows *r)
{
    return r->reader;
}

uint64_t import_rows_bytes(const struct import_rows *r)
{
    return r->bytes;
}

struct csv_record import_rows_header(struct ctx *c, const struct import_rows *r)
{
    size_t count = r->footer->leaf_count;
    struct csv_field *fields = ARENA_ARRAY(&c->arena, struct csv_field, count);
    struct wr_value *values = ARENA_ARRAY(&c->arena, struct wr_value, count);

    for (size_t i = 0; i < count; i++) {
        fields[i] = (struct csv_field){.text = r->footer->leaves[i].name};
        values[i] = (struct wr_value){.type = r->footer->leaves[i].type};
    }
    return (struct csv_record){.fields = fields, .count = count, .values = values};
}

/* {"id":1,"name":"x"}: as it could be loaded, mended. */
static bytes json_of(struct import_rows *r, const struct wr_value *values)
{
    struct buf b;

    ctx_release(&r->raw);
    ctx_init(&r->raw, r->raw.clock, NULL, NULL, 0);
    buf_init(&b, &r->raw.arena, 0);
    buf_put_u8(&b, '{');
    for (size_t i = 0; i < r->footer->leaf_count; i++) {
        if (values[i].type == WR_NULL)
            continue;
        if (b.len > 1)
            buf_put_u8(&b, ',');
        value_put_string(&b, r->footer->leaves[i].name);
        buf_put_u8(&b, ':');
        value_put(&b, &values[i]);
    }
    buf_put_u8(&b, '}');
    return buf_bytes(&b);
}

enum csv_result import_rows_next(struct import_rows *r, struct csv_record *out)
{
    uint64_t row = parquet_reader_row(r->reader), upto;
    const struct wr_value *values;
    enum parquet_result result = parquet_reader_next(r->reader, &values);

    if (result == PARQUET_END)
        return CSV_END;
    if (result == PARQUET_FAILED)
        return CSV_FAILED;
    upto = (uint64_t)((double)r->bytes * (double)(row + 1) / (double)r->footer->rows);
    *out = (struct csv_record){.values = values,
                               .count = r->footer->leaf_count,
                               .line = row + 1,
                               .offset = row,
                               .size = upto > r->told ? upto - r->told : 0};
    r->told = upto > r->told ? upto : r->told;
    if (r->keep_raw)
        out->raw = json_of(r, values);
    return result == PARQUET_BAD ? CSV_BAD : CSV_RECORD;
}

const char *import_rows_message(const struct import_rows *r)
{
    return parquet_reader_message(r->reader);
}

/* The first rows of row groups from all over the file: nothing else of it can be had at once. */
size_t import_rows_sample(struct ctx *c, struct import_rows *r, struct csv_record *out, size_t max)
{
    size_t groups = r->footer->group_count, count = 0;
    size_t places = groups < SAMPLE_PLACES ? groups : SAMPLE_PLACES;
    uint64_t told = r->told;

    for (size_t i = 0; i < places && places > 1; i++) {
        size_t group = places > 1 ? (groups - 1) * i / (places - 1) : 0;
        uint64_t rows = r->footer->groups[group].rows, want = max / places;
        struct csv_record record;

        parquet_reader_seek(r->reader, group);
        for (uint64_t n = 0; n < want && n < rows; n++)
            if (import_rows_next(r, &record) == CSV_RECORD)
                out[count++] = import_record_copy(c, &record);
    }
    parquet_reader_seek(r->reader, 0);
    r->told = told;
    return count;
}
