/* simulate.c: every record becomes one 64-bit key, bucket | rank | rank | rank, which sorts as the
 * table does. Cutting the sorted keys into equal parts gives the partitions, as the size rule would
 * in the long run; no partition key is ever divided. */
#include "advisor/simulate.h"

#include "advisor/bucket.h"
#include "advisor/radix.h"
#include "base/port.h"

#include <math.h>

#define SPAN_CELLS 1000 /* the key range is measured in */

static uint64_t tuple_of(const struct ranks *r, const size_t *columns, size_t count,
                         uint32_t record)
{
    uint64_t tuple = 0;

    for (size_t i = 0; i < count; i++)
        tuple = tuple << 16 | r->columns[columns[i]].ranks[record];
    return tuple;
}

/* keys[record] = bucket | ranks of its columns. */
static void put_keys(const struct ranks *r, const size_t *columns, size_t count,
                     struct layout_form layout, uint64_t *keys)
{
    enum wr_type types[SIMULATE_PARTS_MAX];
    char text[LAYOUT_FORM_BYTES];
    struct bucket_layout *buckets;
    struct ctx c;

    ctx_init(&c, NULL, NULL, NULL, 0);
    for (size_t i = 0; i < count; i++)
        types[i] = r->columns[columns[i]].type;
    buckets = bucket_layout_new(&c, layout_form_format(layout, text), types, count);
    for (uint32_t record = 0; record < r->count; record++) {
        bytes texts[SIMULATE_PARTS_MAX];

        for (size_t i = 0; i < count; i++)
            texts[i] = survey_sample_text(r->survey, record, columns[i]);
        keys[record] = tuple_of(r, columns, count, record);
        if (buckets)
            keys[record] |= (uint64_t)bucket_of(buckets, texts, record) << 48;
    }
    ctx_release(&c);
}

/* Cuts the sorted keys into parts of about equal size: place[record] is its partition. */
static void partition_keys(const uint64_t *keys, const uint32_t *records, uint32_t n,
                           uint32_t partitions, uint8_t *place, struct simulation *out)
{
    uint32_t p = 0, start = 0;

    out->filled = n > 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i > start && keys[i] != keys[i - 1] && p + 1 < partitions &&
            i - start >= (n - start) / (partitions - p)) {
            p++;
            start = i;
            out->filled++;
        }
        place[records[i]] = (uint8_t)p;
    }
}

/* The most frequent key of a sorted list. */
static void find_largest(const uint64_t *keys, uint32_t n, struct simulation *out)
{
    for (uint32_t i = 0, start = 0; i < n; i++) {
        if (i == 0 || keys[i] != keys[i - 1]) {
            start = i;
            out->different++;
        }
        if (i + 1 - start > out->largest_seen) {
            out->largest_seen = i + 1 - start;
            out->largest_key = keys[i];
        }
    }
    out->largest = n ? (double)out->largest_seen / n : 0;
}

static void add_loads(const struct ranks *r, const uint8_t *place, struct simulation *out)
{
    double sum = 0;

    for (uint32_t w = 0; w < out->windows; w++) {
        uint32_t from = (uint32_t)((uint64_t)r->count * w / out->windows);
        uint32_t to = (uint32_t)((uint64_t)r->count * (w + 1) / out->windows);
        double peak = 0;

        for (uint32_t i = from; i < to; i++)
            out->load[w][place[r->order[i]]] += 1.0f / (float)(to - from);
        for (uint32_t p = 0; p < out->partitions; p++)
            peak = out->load[w][p] > peak ? out->load[w][p] : peak;
        peak *= out->partitions;
        sum += peak;
        out->worst = peak > out->worst ? peak : out->worst;
    }
    out->peak_to_mean = out->windows ? sum / out->windows : 1;
    out->wasted = out->peak_to_mean > 1 ? 1 - 1 / out->peak_to_mean : 0;
}

/* The place below which the part `q` of the counted records lies, in cells. */
static uint32_t quantile(const uint32_t *cells, uint32_t total, double q)
{
    uint32_t below = 0, at = 0;

    while (at + 1 < SPAN_CELLS && below + cells[at] <= (uint32_t)(total * q))
        below += cells[at++];
    return at;
}

/* How far apart in the table's order the middle 80 % of each window's records lie, and whether they
 * move along it. `where` is each record's place in the order. */
static void add_span(const struct ranks *r, const uint32_t *where, struct simulation *out)
{
    double sum = 0, xy = 0, n = r->count, middle = (n - 1) / 2;

    for (uint32_t w = 0; w < out->windows; w++) {
        uint32_t from = (uint32_t)((uint64_t)r->count * w / out->windows);
        uint32_t to = (uint32_t)((uint64_t)r->count * (w + 1) / out->windows);
        uint32_t cells[SPAN_CELLS] = {0};

        for (uint32_t i = from; i < to; i++)
            cells[(uint64_t)where[r->order[i]] * SPAN_CELLS / r->count]++;
        sum += (double)(quantile(cells, to - from, 0.9) - quantile(cells, to - from, 0.1)) /
               SPAN_CELLS;
    }
    for (uint32_t i = 0; i < r->count; i++)
        xy += (i - middle) * (where[r->order[i]] - middle);
    out->span = out->windows ? sum / out->windows : 1;
    out->rise = n > 1 ? xy / (n * (n * n - 1) / 12) : 0;
}

/* Places of records in the sorted order; equal keys share the middle of theirs. */
static void note_places(const uint64_t *keys, const uint32_t *records, uint32_t n, uint32_t *where)
{
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && keys[to] == keys[from]; to++)
            ;
        for (uint32_t i = from; i < to; i++)
            where[records[i]] = (from + to - 1) / 2;
    }
}

void simulate(const struct ranks *r, const size_t *columns, size_t count, struct layout_form layout,
              uint32_t partitions, struct simulation *out)
{
    uint64_t *keys = mem_alloc(sizeof(*keys) * (r->count + 1));
    uint32_t *records = mem_alloc(sizeof(*records) * (r->count + 1));
    uint32_t *where = mem_alloc(sizeof(*where) * (r->count + 1));
    uint8_t *place = mem_zalloc(r->count + 1);

    memset(out, 0, sizeof(*out));
    out->partitions = partitions;
    out->windows = r->count / SIMULATE_WINDOW_MIN;
    out->windows = out->windows > SIMULATE_WINDOWS ? SIMULATE_WINDOWS : out->windows;
    out->windows = out->windows || r->count == 0 ? out->windows : 1;
    put_keys(r, columns, count, layout, keys);
    for (uint32_t i = 0; i < r->count; i++)
        records[i] = i;
    radix_sort(keys, records, r->count);
    find_largest(keys, r->count, out);
    partition_keys(keys, records, r->count, partitions, place, out);
    note_places(keys, records, r->count, where);
    add_loads(r, place, out);
    add_span(r, where, out);
    mem_free(keys);
    mem_free(records);
    mem_free(where);
    mem_free(place);
}

double simulate_left(const struct ranks *r, const size_t *columns, size_t count, size_t more,
                     uint32_t *seen)
{
    struct simulation whole;
    uint32_t *counts = mem_zalloc(sizeof(*counts) * 65536), most = 0;

    simulate(r, columns, count, (struct layout_form){LAYOUT_FORM_PLAIN, 0}, 1, &whole);
    *seen = whole.largest_seen;
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t *at = &counts[r->columns[more].ranks[i]];

        if (tuple_of(r, columns, count, i) == whole.largest_key && ++*at > most)
            most = *at;
    }
    mem_free(counts);
    return *seen ? (double)most / *seen : 1;
}
