#include "cli/transfer/import_split.h"

#include <stdlib.h>

#define USUAL_BYTES (64ull << 20)
#define USUAL_MAX 16
#define KEY_BYTES_MAX 1024 /* longer ones no table takes */
#define ORDERED_MIN 100    /* records that tell an order */

size_t import_split_wanted(const struct import *im)
{
    const struct import_options *o = im->options;
    uint64_t usual = im->source.records.total_bytes / USUAL_BYTES;

    if (!bytes_equal(im->layout, BYTES_LIT("plain")))
        return 1;
    if (o->partitions)
        return o->partitions;
    return usual < 1 ? 1 : usual > USUAL_MAX ? USUAL_MAX : (size_t)usual;
}

static int compare(const void *left, const void *right)
{
    const struct wr_value *a = left, *b = right;

    if (a->type == WR_BIGINT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    return bytes_compare(a->bytes, b->bytes);
}

/* The first key column's value of a record; false: it has none, or none that a table takes. */
static bool value_of(struct ctx *c, const struct import *im, const struct csv_record *record,
                     struct wr_value *out)
{
    char message[256];
    struct import_row *row = plan_row(&im->plan, record, message, sizeof(message));

    if (!row)
        return false;
    *out = row->values[0];
    if (out->type != WR_BIGINT)
        out->bytes = arena_copy(&c->arena, out->bytes);
    mem_free(row);
    return out->type == WR_BIGINT || out->bytes.len <= KEY_BYTES_MAX;
}

/* In the order of the file. The first lines alone say what the file begins with, so they count only
 * where there is no sample of all of it. */
static size_t take_values(struct ctx *c, const struct import *im, struct wr_value **out)
{
    const struct import_source *s = &im->source;
    size_t count = s->sample_count ? s->sample_count : s->ahead_count, n = 0;
    struct wr_value *values = ARENA_ARRAY(&c->arena, struct wr_value, count + 1);

    for (size_t i = 0; i < count; i++)
        if (s->sample_count || !s->ahead_bad[i])
            n += value_of(c, im, s->sample_count ? &s->sample[i] : &s->ahead[i], &values[n]);
    *out = values;
    return n;
}

size_t import_split_points(struct ctx *c, const struct import *im, size_t wanted,
                           const struct wr_partition_range **out)
{
    struct wr_partition_range *ranges = ARENA_ARRAY(&c->arena, struct wr_partition_range, wanted);
    struct wr_value *values, *last = NULL;
    size_t n = take_values(c, im, &values), count = 1;

    *out = ranges;
    if (n)
        qsort(values, n, sizeof(*values), compare);
    ranges[0].begin.type = WR_INF_MIN;
    for (size_t i = 1; i < wanted && n; i++) {
        struct wr_value *at = &values[n * i / wanted];

        /* The lowest value of all would leave the partition below it empty. */
        if (compare(at, last ? last : &values[0]) == 0)
            continue;
        last = at;
        ranges[count - 1].end = *at;
        ranges[count++].begin = *at;
    }
    ranges[count - 1].end.type = WR_INF_MAX;
    return count > 1 ? count : 0;
}

bool import_split_is_ordered(const struct import *im)
{
    const struct import_source *s = &im->source;
    bool rises = false;
    struct wr_value *values;
    struct ctx own;
    size_t n;

    if (s->sample_count + s->ahead_count < ORDERED_MIN)
        return false;
    ctx_init(&own, NULL, NULL, NULL, 0);
    n = take_values(&own, im, &values);
    for (size_t i = 1; i < n; i++) {
        int order = compare(&values[i - 1], &values[i]);

        rises |= order < 0;
        if (order > 0)
            n = 0;
    }
    ctx_release(&own);
    return rises && n >= ORDERED_MIN;
}
