#include "search/segment/head.h"

#include "base/buf.h"

bytes segment_head_make(struct arena *a, const struct segment *s)
{
    struct image image;
    struct buf b;

    image_view(&image, s->image, s->len);
    buf_init(&b, a, 256 + image.count * IMAGE_ROW);
    buf_put_u64(&b, s->len);
    buf_put_u32(&b, s->documents);
    buf_put_u32(&b, image.count);
    buf_put(&b, image.table, image.count * (size_t)IMAGE_ROW);
    buf_put_u32(&b, (uint32_t)s->field_count);
    for (size_t f = 0; f < s->field_count; f++) {
        buf_put_u64(&b, s->columns[f].stats.documents);
        buf_put_u64(&b, s->columns[f].stats.tokens);
    }
    buf_put_counted(&b, s->first);
    buf_put_counted(&b, s->last);
    return buf_bytes(&b);
}

bool segment_head_read(bytes stored, struct segment_head *out)
{
    struct reader r = reader_of(stored);

    out->len = read_u64(&r);
    out->documents = read_u32(&r);
    out->sections = read_u32(&r);
    out->table = read_bytes(&r, out->sections * (size_t)IMAGE_ROW).ptr;
    out->fields = read_u32(&r);
    out->stats = read_bytes(&r, out->fields * sizeof(struct segment_stats)).ptr;
    out->first = read_counted(&r);
    out->last = read_counted(&r);
    return !r.bad && !reader_left(&r);
}
