/* size_histogram.c
 *
 * To measure one partition is to list it, and then all questions about it are answered for a while
 * (by engines that keep partitions as objects), each but the first one, which must not come again.
 * So a partition is taken at the size it was last measured with, as one part; and one that a piece
 * may end in is listed, and at once divided at the middle, as numbers, again and again.
 *
 * Where a piece may end: below a part `lo` bytes have ended for certain, and no more than `hi` have
 * begun where it ends. If no multiple of a piece is between them, it does not matter how its bytes
 * lie. */
#include "table/admin/size_histogram.h"

#include "base/invariant.h"
#include "table/admin/size_probe.h"
#include "table/catalog/route.h"
#include "table/maint/bisect.h"

#include <stdlib.h>

#define KNOWN_MIN 16              /* of no more partitions each is listed, if known or not */
#define EMPTY_US (60 * 1000000ll) /* so long one that was found empty is taken as that, */
#define EMPTY_LISTED 1024         /* if there are more */
#define PIECES 16                 /* a part is fine if so many, of each bucket, are a piece */
#define ROUNDS 1024               /* bisections of one bin: keys with 128 bytes in common */
#define BINS_MIN 64

struct parting {
    struct call *call;
    const struct table *table;
    struct size_histogram *out;
    size_t capacity;
    bytes low, high;
    uint64_t piece, grain;
    size_t max;
    int64_t until_ms;
    uint64_t *begun, *ended; /* bytes of the parts until there, by `from` and by `to` */
    struct size_bin *by_from;
};

size_t size_bin_ranges(struct arena *a, uint32_t table, uint8_t bucket, bytes from, bytes to,
                       enum key_kind last, struct key_range ranges[SIZE_BIN_KINDS])
{
    for (int kind = KIND_RECORD; kind <= (int)last; kind++) {
        struct buf start, end;

        buf_init(&start, a, KEY_PREFIX_BYTES + from.len);
        key_put_prefix(&start, table, bucket, (enum key_kind)kind);
        buf_put_bytes(&start, from);
        buf_init(&end, a, KEY_PREFIX_BYTES + to.len);
        key_put_prefix(&end, table, bucket, (enum key_kind)(to.len ? kind : kind + 1));
        buf_put_bytes(&end, to);
        ranges[kind - KIND_RECORD] = (struct key_range){buf_bytes(&start), buf_bytes(&end)};
    }
    return (size_t)last;
}

/* What is asked takes no memory of the call's: there may be very many questions. */
static int bin_measure(struct parting *p, uint8_t bucket, bytes from, bytes to, uint64_t *out)
{
    struct ctx *c = &p->call->c, asked;
    struct key_range ranges[SIZE_BIN_KINDS];
    uint8_t first[4096];
    size_t count;
    int code;

    TRY(call_check_deadline(p->call));
    ctx_init_part(&asked, c, first, sizeof(first));
    count = size_bin_ranges(&asked.arena, p->table->schema.location.id, bucket, from, to, KIND_LAST,
                            ranges);
    code = route_size_now(&asked, p->table, ranges, count, out);
    if (code && !ctx_fail_part(c, &asked))
        fail_code(c, code);
    ctx_release(&asked);
    return code;
}

/* ---- parts ---- */

static void bin_add(struct parting *p, struct size_bin bin)
{
    struct size_histogram *out = p->out;

    assert(!bin.to.len || bytes_compare(bin.from, bin.to) <= 0);
    if (!bin.bytes)
        return;
    if (out->count == p->capacity) {
        struct size_bin *list;

        p->capacity = p->capacity ? 2 * p->capacity : BINS_MIN;
        list = ARENA_ARRAY(&p->call->c.arena, struct size_bin, p->capacity);
        if (out->count)
            memcpy(list, out->list, out->count * sizeof(*list));
        out->list = list;
    }
    out->list[out->count++] = bin;
    out->total += bin.bytes;
}

static bool is_over(const struct parting *p)
{
    return clock_mono_ms(p->call->c.clock) > p->until_ms;
}

/* Part i becomes one that is fine, at its beginning, and another one behind it. */
static int split_one(struct parting *p, size_t i)
{
    struct size_bin bin = p->out->list[i];

    for (int round = 0; round < ROUNDS && bin.bytes > p->grain && !is_over(p); round++) {
        bytes low = bytes_compare(bin.from, p->low) > 0 ? bin.from : p->low;
        bytes high = bin.to.len && bytes_compare(bin.to, p->high) < 0 ? bin.to : p->high;
        bytes middle;
        uint64_t below;

        if (!bisect_midpoint(&p->call->c.arena, low, high, &middle))
            break;
        TRY(bin_measure(p, bin.bucket, bin.from, middle, &below));
        if (!below) {
            bin.from = middle;
        } else if (below >= bin.bytes) {
            bin.to = middle;
        } else {
            struct size_bin behind = bin;

            behind.from = bin.to = middle;
            behind.bytes -= below;
            bin.bytes = below;
            invariant(p->out->total >= behind.bytes);
            p->out->total -= behind.bytes;
            bin_add(p, behind);
        }
    }
    bin.fine = true;
    p->out->list[i] = bin;
    return E_OK;
}

/* ---- partitions ---- */

/* The buckets that a partition has rows of: [first, last]. */
static void buckets_of(const struct parting *p, size_t i, size_t *first, size_t *last)
{
    bytes start = partition_at(&p->table->partitions, i)->start;
    bytes end = partition_end(&p->table->partitions, i);

    *first = start.len ? *bytes_u8(start) : 0;
    *last = !end.len ? p->table->schema.location.layout.buckets - 1u
                     : *bytes_u8(end) - (size_t)(end.len == 1);
}

/* What partition i has of a bucket. */
static struct size_bin bin_of(const struct parting *p, size_t i, size_t bucket)
{
    bytes start = partition_at(&p->table->partitions, i)->start;
    bytes end = partition_end(&p->table->partitions, i);

    return (struct size_bin){
        .from = start.len && *bytes_u8(start) == bucket ? bytes_skip(start, 1) : BYTES_NONE,
        .to = end.len && *bytes_u8(end) == bucket ? bytes_skip(end, 1) : BYTES_NONE,
        .partition = i,
        .bucket = (uint8_t)bucket};
}

/* Adds its parts, each fine. */
static int list_partition(struct parting *p, size_t i)
{
    struct partition *at = partition_at(&p->table->partitions, i)->partition;
    uint64_t stored = 0, written = partition_counts(at).write_bytes;
    size_t before = p->out->count, first, last;

    buckets_of(p, i, &first, &last);
    for (size_t b = first; b <= last; b++) {
        struct size_bin bin = bin_of(p, i, b);

        TRY(bin_measure(p, bin.bucket, bin.from, bin.to, &bin.bytes));
        stored += bin.bytes;
        bin_add(p, bin);
    }
    partition_measured(at, stored, written, clock_mono_us(p->call->c.clock));
    for (size_t k = before; k < p->out->count; k++)
        TRY(split_one(p, k));
    return E_OK;
}

/* Other servers may have written since; many are not listed again and again for that. */
static bool is_empty(const struct parting *p, const struct partition *at)
{
    int64_t measured_us = atomic_load(&at->measured_us);

    return p->table->partitions.count > EMPTY_LISTED && measured_us &&
           clock_mono_us(p->call->c.clock) - measured_us < EMPTY_US &&
           partition_counts(at).write_bytes == atomic_load(&at->measured_at);
}

/* What it holds, by the last measuring, and of which bucket. */
static bool is_known(const struct parting *p, size_t i, struct size_bin *out)
{
    const struct partition *at = partition_at(&p->table->partitions, i)->partition;
    size_t first, last;

    if (p->table->partitions.count <= KNOWN_MIN)
        return false;
    buckets_of(p, i, &first, &last);
    *out = bin_of(p, i, first);
    out->bytes = atomic_load(&at->bytes);
    return out->bytes ? first == last : is_empty(p, at);
}

/* Of very many most are empty, and to list those one by one would take longer than a request may:
 * they are found first, many at a time. */
static int probe_unknown(struct parting *p)
{
    size_t count = p->table->partitions.count, n = 0, *which;
    struct size_bin bin;

    if (count <= EMPTY_LISTED)
        return E_OK;
    which = ARENA_ARRAY(&p->call->c.arena, size_t, count);
    for (size_t i = 0; i < count; i++)
        if (!is_known(p, i, &bin))
            which[n++] = i;
    return size_probe(p->call, p->table, which, n);
}

/* ---- in which of them a piece may end ---- */

static int compare_to(const void *a, const void *b)
{
    const struct size_bin *x = a, *y = b;

    if (!x->to.len || !y->to.len)
        return (int)!x->to.len - (int)!y->to.len;
    return bytes_compare(x->to, y->to);
}

static int compare_from(const void *a, const void *b)
{
    return bytes_compare(((const struct size_bin *)a)->from, ((const struct size_bin *)b)->from);
}

/* The parts by both ends, and the sums of what they hold. */
static void sort_bins(struct parting *p)
{
    struct size_histogram *out = p->out;
    uint64_t ended = 0, begun = 0;

    p->by_from = ARENA_ARRAY(&p->call->c.arena, struct size_bin, out->count + 1);
    p->begun = ARENA_ARRAY(&p->call->c.arena, uint64_t, out->count + 1);
    p->ended = ARENA_ARRAY(&p->call->c.arena, uint64_t, out->count + 1);
    if (!out->count)
        return;
    qsort(out->list, out->count, sizeof(*out->list), compare_to);
    memcpy(p->by_from, out->list, out->count * sizeof(*out->list));
    qsort(p->by_from, out->count, sizeof(*out->list), compare_from);
    for (size_t i = 0; i < out->count; i++) {
        p->ended[i + 1] = ended += out->list[i].bytes;
        p->begun[i + 1] = begun += p->by_from[i].bytes;
    }
}

static uint64_t ended_until(const struct parting *p, bytes key)
{
    size_t low = 0, high = p->out->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bytes to = p->out->list[middle].to;

        if (to.len && bytes_compare(to, key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return p->ended[low];
}

static uint64_t begun_below(const struct parting *p, bytes key)
{
    size_t low = 0, high = p->out->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (!key.len || bytes_compare(p->by_from[middle].from, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return p->begun[low];
}

static bool is_doubtful(const struct parting *p, const struct size_bin *bin)
{
    uint64_t lo, hi;

    if (bin->fine || bin->bytes <= p->grain)
        return false;
    lo = ended_until(p, bin->from) / p->piece;
    hi = begun_below(p, bin->to) / p->piece;
    return lo < hi && lo < p->max;
}

/* Those are listed, while there is time. *more: some were, and it may be others now. */
static int list_doubtful(struct parting *p, bool *more)
{
    struct size_histogram *out = p->out;
    struct size_bin *doubtful = ARENA_ARRAY(&p->call->c.arena, struct size_bin, out->count + 1);
    size_t count = 0, kept = 0;

    sort_bins(p);
    for (size_t i = 0; i < out->count; i++)
        if (is_doubtful(p, &out->list[i]))
            doubtful[count++] = out->list[i];
    for (size_t i = 0, k = 0; i < out->count; i++) {
        if (k < count && out->list[i].partition == doubtful[k].partition)
            out->total -= doubtful[k++].bytes;
        else
            out->list[kept++] = out->list[i];
    }
    out->count = kept;
    for (size_t k = 0; k < count; k++) {
        if (is_over(p))
            bin_add(p, doubtful[k]);
        else
            TRY(list_partition(p, doubtful[k].partition));
    }
    *more = count != 0;
    return E_OK;
}

int size_histogram_find(struct call *call, const struct table *t, bytes low, bytes high,
                        uint64_t piece, size_t max, struct size_histogram *out)
{
    size_t buckets = t->schema.location.layout.buckets;
    struct parting p = {.call = call,
                        .table = t,
                        .out = out,
                        .low = low,
                        .high = high,
                        .piece = piece,
                        .grain = piece / PIECES / buckets,
                        .max = max,
                        .until_ms = clock_mono_ms(call->c.clock) + SIZE_HISTOGRAM_MS};
    bool more = true;

    *out = (struct size_histogram){0};
    TRY(probe_unknown(&p));
    for (size_t i = 0; i < t->partitions.count; i++) {
        struct size_bin bin;

        if (is_known(&p, i, &bin))
            bin_add(&p, bin);
        else
            TRY(list_partition(&p, i));
    }
    while (more && !is_over(&p))
        TRY(list_doubtful(&p, &more));
    sort_bins(&p);
    return E_OK;
}
