/* merge.c
 *
 * A binary heap of streams. When a stream has given its last row of a page and goes on, it is dry:
 * it is read on before the next row is chosen. At the start all are, and are read in one scan. With
 * a snapshot all that is read is one point in time.
 *
 * How much to read of each. With the rows spread evenly, n more rows mean about n / streams from
 * each, give or take the square root of that; so each is asked for its share and twice the
 * deviation. Then nearly no stream runs dry before the end, and little is read in vain. */
#include "table/row/merge.h"

#include "base/invariant.h"

#include "table/catalog/route.h"

#define PAGE_ROWS 512
#define PAGE_ROWS_ALONE 2048 /* of one stream, so that a walk from the disk seldom begins anew */
#define PAGE_BYTES (1u << 20)
#define PAGE_BYTES_MIN (16u << 10)

/* ---- the heap ---- */

static bytes stream_key(const struct merge *m, uint16_t stream)
{
    const struct bucket_stream *s = &m->streams[stream];

    return bytes_skip(s->page.items[s->at].key, KEY_PREFIX_BYTES);
}

static bool before(const struct merge *m, uint16_t a, uint16_t b)
{
    int r = bytes_compare(stream_key(m, a), stream_key(m, b));

    if (PORT_UNLIKELY(!r))
        return a < b;
    return m->backward ? r > 0 : r < 0;
}

static void sift_down(struct merge *m, size_t at)
{
    uint16_t moving = m->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= m->heap_count)
            break;
        if (child + 1 < m->heap_count && before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!before(m, m->heap[child], moving))
            break;
        m->heap[at] = m->heap[child];
        at = child;
    }
    m->heap[at] = moving;
}

static void heap_add(struct merge *m, uint16_t stream)
{
    size_t at = m->heap_count++;

    for (; at && before(m, stream, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = stream;
}

/* ---- reading on ---- */

static void merge_scan_done(struct scan *s)
{
    struct merge *m = PORT_CONTAINER(s, struct merge, scan);

    m->done(m);
}

static size_t root(size_t n)
{
    size_t r = 0;

    while (r * r < n)
        r++;
    return r;
}

/* What one stream is asked for. */
static size_t share(size_t all, size_t streams, size_t max)
{
    size_t even;

    if (streams == 1)
        return all < PAGE_ROWS_ALONE ? all : PAGE_ROWS_ALONE;
    even = all / streams + 1;
    if (even > max)
        return max;
    even += 2 * root(even);
    return even < max ? even : max;
}

static int read_on(struct merge *m, size_t rows, size_t ahead)
{
    struct key_range *ranges = ARENA_ARRAY(&m->c->arena, struct key_range, m->dry_count);
    size_t each = ahead / m->stream_count * 5 / 4;

    if (m->c->arena.cap && m->c->arena.used > m->c->arena.cap)
        return fail_code(m->c, E_MEMORY);
    for (size_t i = 0; i < m->dry_count; i++)
        ranges[i] = m->streams[m->dry[i]].range;
    m->scan = (struct scan){.view = m->view,
                            .snapshot = m->snapshot,
                            .ranges = ranges,
                            .range_count = m->dry_count,
                            .backward = m->backward,
                            .items_max = share(rows, m->stream_count, PAGE_ROWS),
                            .bytes_max = m->stream_count == 1    ? PAGE_BYTES
                                         : each < PAGE_BYTES_MIN ? PAGE_BYTES_MIN
                                         : each > PAGE_BYTES     ? PAGE_BYTES
                                                                 : each,
                            .pages = ARENA_ARRAY(&m->c->arena, struct page, m->dry_count),
                            .done = merge_scan_done};
    m->scanning = true;
    if (!m->page_c)
        return route_scan(m->c, *m->tables, &m->scan);
    invariant(m->stream_count == 1);
    ctx_clear(m->page_c);
    arena_restart(&m->page_c->arena, NULL, 0);
    return route_scan(m->page_c, *m->tables, &m->scan);
}

/* Takes the pages that were read. */
static int merge_take(struct merge *m)
{
    m->scanning = false;
    if (m->scan.code && m->page_c)
        ctx_fail_part(m->c, m->page_c); /* its text, if it has one */
    if (m->scan.code)
        return fail(m->c, m->scan.code, "%s", err_info(m->scan.code)->text);
    for (size_t i = 0; i < m->dry_count; i++) {
        struct bucket_stream *s = &m->streams[m->dry[i]];

        s->page = m->scan.pages[i];
        s->at = 0;
        s->ended = !s->page.more || !s->page.count;
        if (!s->page.count)
            continue;
        if (m->backward)
            s->range.end = arena_copy(&m->c->arena, s->page.items[s->page.count - 1].key);
        else if (!s->ended)
            s->range.start = key_after(&m->c->arena, s->page.items[s->page.count - 1].key);
        heap_add(m, m->dry[i]);
    }
    m->dry_count = 0;
    return E_OK;
}

int merge_peek(struct merge *m, size_t rows, size_t ahead, const struct kv **out)
{
    if (m->dry_count) {
        if (!m->scanning) {
            int code = read_on(m, rows ? rows : 1, ahead);

            if (code == E_LATER)
                return code;
            m->scan.code = code;
        }
        TRY(merge_take(m));
    }
    if (m->heap_count) {
        const struct bucket_stream *s = &m->streams[m->heap[0]];

        *out = &s->page.items[s->at];
    } else {
        *out = NULL;
    }
    return E_OK;
}

void merge_pop(struct merge *m)
{
    uint16_t top = m->heap[0];
    struct bucket_stream *s = &m->streams[top];

    if (++s->at < s->page.count) {
        sift_down(m, 0);
        return;
    }
    if (!s->ended)
        m->dry[m->dry_count++] = top;
    m->heap[0] = m->heap[--m->heap_count];
    if (m->heap_count)
        sift_down(m, 0);
}

const struct table *merge_table(const struct merge *m)
{
    return m->heap_count ? m->streams[m->heap[0]].table : *m->tables;
}

/* ---- the beginning ---- */

static bytes bound(struct merge *m, const struct location *p, uint8_t bucket, bytes cols, bool past)
{
    struct buf b;

    buf_init(&b, &m->c->arena, KEY_PREFIX_BYTES + cols.len + 1);
    key_put_prefix(&b, p->id, bucket, KIND_RECORD);
    buf_put_bytes(&b, cols);
    if (past)
        buf_put_u8(&b, 0);
    return buf_bytes(&b);
}

/* The streams of one table, from m->stream_count on. */
static void add_table(struct merge *m, const struct table *t, const struct wr_key *start,
                      const struct wr_key *end)
{
    const struct location *p = &t->schema.location;
    const struct wr_key *low = m->backward ? end : start, *high = m->backward ? start : end;
    struct buf from, to;
    uint8_t first;
    size_t n = layout_one_bucket(m->c, p, start, end, &first) ? 1 : p->layout.buckets;

    buf_init(&from, &m->c->arena, 64);
    buf_init(&to, &m->c->arena, 64);
    key_put_columns(m->c, &from, p->key, low->columns, low->count);
    key_put_columns(m->c, &to, p->key, high->columns, high->count);
    for (size_t i = 0; i < n; i++) {
        uint8_t bucket = (uint8_t)(n == 1 ? first : i);
        struct bucket_stream *s = &m->streams[m->stream_count];

        s->table = t;
        /* Backward the start is the upper end, and inclusive. */
        s->range.start = bound(m, p, bucket, buf_bytes(&from), m->backward);
        s->range.end = bound(m, p, bucket, buf_bytes(&to), m->backward);
        m->dry[m->dry_count++] = (uint16_t)m->stream_count++;
    }
}

void merge_start(struct merge *m, const struct wr_key *start, const struct wr_key *end)
{
    size_t most = 0;

    for (size_t i = 0; i < m->table_count; i++)
        most += m->tables[i]->schema.location.layout.buckets;
    invariant(most <= UINT16_MAX);
    m->streams = ARENA_ARRAY(&m->c->arena, struct bucket_stream, most);
    m->heap = ARENA_ARRAY(&m->c->arena, uint16_t, most);
    m->dry = ARENA_ARRAY(&m->c->arena, uint16_t, most);
    m->stream_count = m->dry_count = m->heap_count = 0;
    m->scanning = false;
    for (size_t i = 0; i < m->table_count; i++)
        add_table(m, m->tables[i], start, end);
}
