#include "table/model/series.h"

#include "base/invariant.h"

#include <string.h>

#define SERIES_NAME_BYTES_MAX 240 /* with a period's behind it, it is still a table's name */

/* ---- stored bytes ---- */

static void series_put_number(struct buf *b, int64_t v)
{
    buf_put_varint(b, zigzag(v));
}

static int64_t series_read_number(struct reader *r)
{
    return unzigzag(read_varint(r));
}

void series_encode(struct buf *f, const struct schema_series *s)
{
    buf_put_u8(f, (uint8_t)s->spec.by);
    buf_put_u8(f, (uint8_t)s->spec.unit);
    buf_put_counted(f, s->spec.column);
    series_put_number(f, s->spec.hot);
    series_put_number(f, s->spec.warm);
    series_put_number(f, s->spec.warm_reserved.read);
    series_put_number(f, s->spec.warm_reserved.write);
    series_put_number(f, s->frozen);
    series_put_number(f, s->gone);
    buf_put_varint(f, s->count);
    for (size_t i = 0; i < s->count; i++)
        series_put_number(f, s->periods[i]);
    if (!s->archive.len)
        return;
    buf_put_counted(f, s->archive);
    series_put_number(f, s->archived);
}

void series_decode(struct arena *a, struct reader *f, struct schema_series *out)
{
    int64_t *periods;
    uint64_t count;

    *out = (struct schema_series){.spec = {.by = (enum wr_series_by)read_u8(f)},
                                  .archived = PERIOD_NONE};
    out->spec.unit = (enum wr_series_unit)read_u8(f);
    out->spec.column = read_counted(f);
    out->spec.hot = (int32_t)series_read_number(f);
    out->spec.warm = (int32_t)series_read_number(f);
    out->spec.warm_reserved = (struct wr_throughput){.has_read = true, .has_write = true};
    out->spec.warm_reserved.read = (int32_t)series_read_number(f);
    out->spec.warm_reserved.write = (int32_t)series_read_number(f);
    out->frozen = series_read_number(f);
    out->gone = series_read_number(f);
    count = read_varint(f);
    f->bad |= count > reader_left(f) || out->spec.by < WR_SERIES_BY_MONTH ||
              out->spec.by > WR_SERIES_BY_DAY || out->spec.unit > WR_SERIES_MICROSECONDS ||
              !out->spec.column.len;
    if (f->bad)
        return;
    periods = ARENA_ARRAY(a, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        periods[i] = series_read_number(f);
        f->bad |= i && periods[i] <= periods[i - 1];
    }
    out->periods = periods;
    out->count = count;
    if (f->bad || !reader_left(f))
        return;
    out->archive = read_counted(f);
    out->archived = series_read_number(f);
}

void series_period_encode(struct buf *f, const struct schema_period *p)
{
    buf_put_varint(f, p->series);
    series_put_number(f, p->number);
    buf_put_u8(f, p->frozen);
}

void series_period_decode(struct reader *f, struct schema_period *out)
{
    uint64_t series = read_varint(f);
    uint8_t frozen;

    out->number = series_read_number(f);
    frozen = read_u8(f);
    f->bad |= !series || series > UINT32_MAX || frozen > 1;
    out->series = (uint32_t)series;
    out->frozen = frozen != 0;
}

/* ---- what may be one ---- */

static int series_refuse(struct ctx *c, const char *what)
{
    return fail(c, E_UNSUPPORTED, "A series is not made with %s.", what);
}

static int check_parts(struct ctx *c, const struct wr_create_table *t)
{
    if (t->index_count)
        return series_refuse(c, "secondary indexes");
    if (t->stream.given && t->stream.enable)
        return series_refuse(c, "a stream");
    if (t->local_transactions)
        return series_refuse(c, "local transactions");
    for (size_t i = 0; i < t->key_count; i++)
        if (t->key[i].auto_increment)
            return series_refuse(c, "an auto-increment column");
    return E_OK;
}

static int check_spec(struct ctx *c, const struct wr_series_spec *spec)
{
    if (spec->by < WR_SERIES_BY_MONTH || spec->by > WR_SERIES_BY_DAY)
        return fail(c, E_PARAMETER, "A series is by month, week or day.");
    if (spec->unit < WR_SERIES_TEXT || spec->unit > WR_SERIES_MICROSECONDS)
        return fail(c, E_PARAMETER,
                    "The times of a series are text, or seconds, milliseconds or microseconds.");
    return series_check_ages(c, spec);
}

int series_check_ages(struct ctx *c, const struct wr_series_spec *spec)
{
    if (spec->hot < 0 || spec->warm < 0 || (spec->warm && !spec->hot))
        return fail(
            c, E_PARAMETER,
            "The numbers of hot and warm periods are 0 or more, and warm ones (%d) need hot "
            "ones (%d) before them.",
            (int)spec->warm, (int)spec->hot);
    if (spec->warm_reserved.read < 0 || spec->warm_reserved.write < 0)
        return fail(c, E_PARAMETER, "Reserved throughput of warm periods cannot be negative.");
    return E_OK;
}

/* Stores may take a/../b for b. */
static bool has_dots(bytes path)
{
    const char *at = path.ptr, *end = at + path.len;

    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at)), *stop = slash ? slash : end;

        if ((stop - at == 1 && at[0] == '.') || (stop - at == 2 && at[0] == '.' && at[1] == '.'))
            return true;
        at = stop + 1;
    }
    return false;
}

int series_check_archive(struct ctx *c, bytes archive)
{
    static const char scheme[] = "s3://";
    bytes name = archive;

    if (!archive.len)
        return E_OK;
    if (bytes_starts(archive, bytes_str(scheme)))
        name = bytes_skip(archive, strlen(scheme));
    if (name.len == archive.len || !name.len || *bytes_u8(name) == '/' ||
        archive.len > SERIES_ARCHIVE_BYTES_MAX || memchr(archive.ptr, 0, archive.len) ||
        !bytes_is_utf8(archive) || has_dots(name))
        return fail(c, E_PARAMETER,
                    "The archive of a series is s3://BUCKET/PREFIX, of at most %d bytes, and no "
                    "part of it is . or ...",
                    SERIES_ARCHIVE_BYTES_MAX);
    return E_OK;
}

static int check_time_type(struct ctx *c, const struct wr_series_spec *spec, enum wr_type type)
{
    enum wr_type wanted = spec->unit == WR_SERIES_TEXT ? WR_VARCHAR : WR_BIGINT;

    if (type == wanted)
        return E_OK;
    return fail(c, E_PARAMETER,
                "The time column '%.*s' of a series is an INTEGER (in seconds, milliseconds or "
                "microseconds) or a STRING (a date as text), and its unit has to say so.",
                BYTES_FMT(spec->column));
}

int series_check(struct ctx *c, const struct wr_create_table *t, const struct wr_series_spec *spec)
{
    TRY(check_spec(c, spec));
    TRY(check_parts(c, t));
    if (t->table.len > SERIES_NAME_BYTES_MAX)
        return fail(c, E_PARAMETER, "The name of a series has at most %d bytes.",
                    SERIES_NAME_BYTES_MAX);
    for (size_t i = 0; i < t->key_count; i++)
        if (bytes_equal(t->key[i].name, spec->column))
            return check_time_type(c, spec, t->key[i].type);
    if (!spec->column.len)
        return fail(c, E_PARAMETER, "A series needs the name of its time column.");
    if (!(t->options.given & WR_HAS_ALLOW_UPDATE) || t->options.allow_update)
        return fail(c, E_PARAMETER,
                    "The time column '%.*s' is no key column: then the series needs "
                    "allow_update=false, for an update would have to move rows between periods.",
                    BYTES_FMT(spec->column));
    for (size_t i = 0; i < t->defined_count; i++)
        if (bytes_equal(t->defined[i].name, spec->column))
            return check_time_type(c, spec, t->defined[i].type);
    return E_OK;
}

/* ---- the list ---- */

int64_t series_kept(const struct schema_series *s)
{
    for (size_t i = 0; i < s->count && s->archive.len; i++)
        if (s->periods[i] >= s->archived)
            return s->periods[i];
    return INT64_MAX;
}

size_t series_find(const struct schema_series *s, int64_t number)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->periods[i] == number)
            return i;
    return s->count;
}

void series_add(struct arena *a, struct schema_series *s, int64_t number)
{
    int64_t *periods = ARENA_ARRAY(a, int64_t, s->count + 1);
    size_t at = 0;

    invariant(series_find(s, number) == s->count);
    while (at < s->count && s->periods[at] < number) {
        periods[at] = s->periods[at];
        at++;
    }
    periods[at] = number;
    for (; at < s->count; at++)
        periods[at + 1] = s->periods[at];
    s->periods = periods;
    s->count++;
}

void series_remove(struct arena *a, struct schema_series *s, int64_t number)
{
    int64_t *periods = ARENA_ARRAY(a, int64_t, s->count);
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->periods[i] != number)
            periods[n++] = s->periods[i];
    s->periods = periods;
    s->count = n;
}
