/* size_report.c: passes, running, bytes of the running pass, writes (now, then), start, end; bytes,
 * rows, values and values above the threshold; how many of the largest follow, and of each: hash,
 * bytes, rows, reads, writes, bytes written, its key with the length in front. */
#include "table/admin/size_report.h"

#define KEY_BYTES_MAX (1u << 16)

void size_report_put(struct buf *b, const struct size_report *r)
{
    const struct size_found *f = &r->found;

    buf_put_varint(b, r->passes);
    buf_put_u8(b, r->running);
    buf_put_varint(b, r->running_bytes);
    buf_put_varint(b, r->writes);
    buf_put_varint(b, r->writes_then);
    buf_put_varint(b, (uint64_t)r->start_s);
    buf_put_varint(b, (uint64_t)r->end_s);
    buf_put_varint(b, f->bytes);
    buf_put_varint(b, f->rows);
    buf_put_varint(b, f->values);
    buf_put_varint(b, f->over);
    buf_put_varint(b, f->top_count);
    for (size_t i = 0; i < f->top_count; i++) {
        const struct size_entry *e = &f->top[i];
        const struct sampler_watch *seen = &r->traffic[i];

        buf_put_u64(b, e->hash);
        buf_put_varint(b, e->bytes);
        buf_put_varint(b, e->rows);
        buf_put_varint(b, seen->figures.n[WR_HEAT_READS]);
        buf_put_varint(b, seen->figures.n[WR_HEAT_WRITES]);
        buf_put_varint(b, seen->bytes_written);
        buf_put_counted(b, bytes_of(e->key, e->key_len));
    }
}

static bool read_entry(struct reader *r, struct size_entry *e, struct sampler_watch *seen)
{
    bytes key;

    e->hash = seen->hash = read_u64(r);
    e->bytes = read_varint(r);
    e->rows = read_varint(r);
    seen->figures.n[WR_HEAT_READS] = read_varint(r);
    seen->figures.n[WR_HEAT_WRITES] = read_varint(r);
    seen->bytes_written = read_varint(r);
    key = read_counted(r);
    e->key = (uint8_t *)(uintptr_t)key.ptr;
    e->key_len = key.len;
    return !r->bad && key.len <= KEY_BYTES_MAX;
}

bool size_report_read(bytes in, struct size_report *out)
{
    struct reader r = reader_of(in);
    struct size_found *f = &out->found;
    uint64_t n;

    *out = (struct size_report){.passes = read_varint(&r)};
    out->running = read_u8(&r);
    out->running_bytes = read_varint(&r);
    out->writes = read_varint(&r);
    out->writes_then = read_varint(&r);
    out->start_s = (int64_t)read_varint(&r);
    out->end_s = (int64_t)read_varint(&r);
    f->bytes = read_varint(&r);
    f->rows = read_varint(&r);
    f->values = read_varint(&r);
    f->over = read_varint(&r);
    n = read_varint(&r);
    if (r.bad || n > WR_SIZES_MAX)
        return false;
    for (; f->top_count < n; f->top_count++)
        if (!read_entry(&r, &f->top[f->top_count], &out->traffic[f->top_count]))
            return false;
    return true;
}

const struct size_report *size_report_last(const struct size_report *reports, size_t n)
{
    const struct size_report *last = reports;

    for (size_t i = 1; i < n; i++)
        if (reports[i].end_s > last->end_s)
            last = &reports[i];
    return last;
}

struct sampler_watch size_report_traffic(const struct size_report *reports, size_t n, uint64_t hash)
{
    struct sampler_watch sum = {.hash = hash};

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < reports[i].found.top_count; k++) {
            const struct sampler_watch *seen = &reports[i].traffic[k];

            if (seen->hash != hash)
                continue;
            for (int m = 0; m < WR_HEAT_METRICS; m++)
                sum.figures.n[m] += seen->figures.n[m];
            sum.bytes_written += seen->bytes_written;
        }
    return sum;
}
