/* What a search asks for of all its rows: aggregations, and groups of rows with aggregations of
 * each. On the wire each is a name, a type and the bytes of the message of that type. */
#include "wire/ots_search_part.h"

#include <math.h>

/* One that is asked for has a name. */
static int read_named(struct search_read *s, bytes in, int32_t most, const char *what,
                      struct search_named *out)
{
    TRY(search_read_named(s, in, most, what, out));
    TRY(search_need(s, out->name.ptr, what, "name"));
    return search_need(s, out->type, what, "type");
}

/* ---- aggregations */

static int read_percentiles(struct search_read *s, bytes in, struct wr_aggregation *out)
{
    struct pb_reader r = pb_reader_of(in);
    size_t n = pb_count_fixed(in, 2, sizeof(double)), at = 0;
    double *list;

    TRY(search_items(s, n, sizeof(*list), &list));
    while (pb_next(&r)) {
        bytes part = r.field == 2 ? pb_fixed(&r, sizeof(double)) : BYTES_NONE;

        for (size_t i = 0; i + sizeof(double) <= part.len; i += sizeof(double)) {
            uint64_t bits = load_u64(bytes_u8(part) + i);

            memcpy(&list[at], &bits, sizeof(bits));
            r.bad |= !isfinite(list[at++]);
        }
        if (r.field == 1)
            out->field = pb_bytes(&r);
        else if (r.field == 3)
            TRY(search_value(s, &r, &out->missing));
    }
    out->percentiles = list;
    out->percentile_count = at;
    return search_end(s, &r);
}

static int read_top_rows(struct search_read *s, bytes in, struct wr_aggregation *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1) {
            out->has_limit = true;
            out->limit = pb_int32(&r);
        } else if (r.field == 2) {
            TRY(search_read_sort(s, pb_bytes(&r), &out->sort));
        }
    return search_end(s, &r);
}

/* Of a count there is no value of rows without the field, though some clients send one. */
static int read_of_field(struct search_read *s, bytes in, struct wr_aggregation *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->field = pb_bytes(&r);
        else if (r.field == 2 && out->type != WR_AGG_COUNT)
            TRY(search_value(s, &r, &out->missing));
    return search_end(s, &r);
}

static int read_aggregation(struct search_read *s, bytes in, struct wr_aggregation *out)
{
    struct search_named named;

    TRY(read_named(s, in, WR_AGG_PERCENTILES, "Type of aggregation", &named));
    *out =
        (struct wr_aggregation){.name = named.name, .type = (enum wr_aggregation_type)named.type};
    if (out->type == WR_AGG_TOP_ROWS)
        return read_top_rows(s, named.body, out);
    if (out->type == WR_AGG_PERCENTILES)
        TRY(read_percentiles(s, named.body, out));
    else
        TRY(read_of_field(s, named.body, out));
    return search_need(s, out->field.ptr, "aggregation", "field_name");
}

int search_read_aggregations(struct search_read *s, bytes in, const struct wr_aggregation **out,
                             size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_aggregation *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 1), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_aggregation(s, pb_bytes(&r), &list[n++]));
    *out = list;
    *count = n;
    return search_end(s, &r);
}

static void put_aggregation(struct buf *b, const struct wr_aggregation *a)
{
    if (a->type == WR_AGG_TOP_ROWS) {
        if (a->has_limit)
            pb_put_int(b, 1, a->limit);
        search_put_sort(b, 2, &a->sort);
        return;
    }
    pb_put_bytes(b, 1, a->field);
    for (size_t i = 0; i < a->percentile_count; i++)
        pb_put_double(b, 2, a->percentiles[i]);
    search_put_value(b, a->type == WR_AGG_PERCENTILES ? 3 : 2, &a->missing);
}

void search_put_aggregations(struct buf *b, unsigned field, const struct wr_aggregation *list,
                             size_t n)
{
    size_t start;

    if (!n)
        return;
    start = pb_open(b, field, 0);
    for (size_t i = 0; i < n; i++) {
        size_t item = pb_open(b, 1, 0), body;

        pb_put_bytes(b, 1, list[i].name);
        pb_put_int(b, 2, list[i].type);
        body = pb_open(b, 3, 0);
        put_aggregation(b, &list[i]);
        pb_close(b, body, 0);
        pb_close(b, item, 0);
    }
    pb_close(b, start, 0);
}

/* ---- parts of groups */

static int read_range(struct search_read *s, bytes in, struct wr_number_range *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (struct wr_number_range){-INFINITY, INFINITY};
    while (pb_next(&r))
        if (r.field == 1)
            out->from = pb_double(&r);
        else if (r.field == 2)
            out->to = pb_double(&r);
    r.bad |= isnan(out->from) || isnan(out->to);
    return search_end(s, &r);
}

static int read_ranges(struct search_read *s, bytes in, unsigned field, struct wr_group_by *out)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_number_range *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, field), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == field)
            TRY(read_range(s, pb_bytes(&r), &list[n++]));
    out->ranges = list;
    out->range_count = n;
    return search_end(s, &r);
}

static void put_ranges(struct buf *b, unsigned field, const struct wr_group_by *g)
{
    for (size_t i = 0; i < g->range_count; i++) {
        size_t start = pb_open(b, field, 0);

        if (!isinf(g->ranges[i].from))
            pb_put_double(b, 1, g->ranges[i].from);
        if (!isinf(g->ranges[i].to))
            pb_put_double(b, 2, g->ranges[i].to);
        pb_close(b, start, 0);
    }
}

static int read_filters(struct search_read *s, bytes in, struct wr_group_by *out)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_search_condition *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 1), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_read_condition(s, pb_bytes(&r), &list[n++]));
    out->filters = list;
    out->filter_count = n;
    return search_end(s, &r);
}

static int read_origin(struct search_read *s, bytes in, struct wr_group_by *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->origin_lat = pb_finite(&r);
        else if (r.field == 2)
            out->origin_lon = pb_finite(&r);
    return search_end(s, &r);
}

static void put_origin(struct buf *b, unsigned field, const struct wr_group_by *g)
{
    size_t start = pb_open(b, field, 0);

    pb_put_double(b, 1, g->origin_lat);
    pb_put_double(b, 2, g->origin_lon);
    pb_close(b, start, 0);
}

static int read_bounds(struct search_read *s, bytes in, struct wr_group_by *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_value(s, &r, &out->range_min));
        else if (r.field == 2)
            TRY(search_value(s, &r, &out->range_max));
    return search_end(s, &r);
}

static void put_bounds(struct buf *b, unsigned field, const struct wr_group_by *g)
{
    size_t start;

    if (g->range_min.type == WR_NULL && g->range_max.type == WR_NULL)
        return;
    start = pb_open(b, field, 0);
    search_put_value(b, 1, &g->range_min);
    search_put_value(b, 2, &g->range_max);
    pb_close(b, start, 0);
}

static int read_sub_agg_sort(struct search_read *s, bytes in, struct wr_group_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->aggregation = pb_bytes(&r);
        else if (r.field == 2)
            TRY(search_read_order(s, &r, &out->order));
    TRY(search_end(s, &r));
    return search_need(s, out->aggregation.ptr, "sub_agg_sort", "sub_agg_name");
}

static int read_count_sort(struct search_read *s, bytes in, struct wr_group_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_read_order(s, &r, &out->order));
    return search_end(s, &r);
}

static int read_sorter(struct search_read *s, bytes in, struct wr_group_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r)) {
        if (r.field < WR_GROUP_SORT_KEY || r.field > WR_GROUP_SORT_AGGREGATION)
            continue;
        *out = (struct wr_group_sorter){.type = (enum wr_group_sorter_type)r.field};
        if (out->type == WR_GROUP_SORT_AGGREGATION)
            TRY(read_sub_agg_sort(s, pb_bytes(&r), out));
        else
            TRY(read_count_sort(s, pb_bytes(&r), out));
    }
    TRY(search_end(s, &r));
    return search_need(s, out->type, "group_by sorter",
                       "one of group_key_sort, row_count_sort and sub_agg_sort");
}

static int read_sorters(struct search_read *s, bytes in, struct wr_group_by *out)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_group_sorter *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 1), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_sorter(s, pb_bytes(&r), &list[n++]));
    out->sorters = list;
    out->sorter_count = n;
    return search_end(s, &r);
}

static void put_sorters(struct buf *b, unsigned field, const struct wr_group_by *g)
{
    size_t start;

    if (!g->sorter_count)
        return;
    start = pb_open(b, field, 0);
    for (size_t i = 0; i < g->sorter_count; i++) {
        const struct wr_group_sorter *sorter = &g->sorters[i];
        size_t item = pb_open(b, 1, 0), part = pb_open(b, sorter->type, 0);

        if (sorter->type == WR_GROUP_SORT_AGGREGATION)
            pb_put_bytes(b, 1, sorter->aggregation);
        pb_put_int(b, sorter->type == WR_GROUP_SORT_AGGREGATION ? 2 : 1, sorter->order);
        pb_close(b, part, 0);
        pb_close(b, item, 0);
    }
    pb_close(b, start, 0);
}

/* ---- groups: what each number of a field means, by type */

enum part {
    PART_NONE,
    PART_FIELD,
    PART_SIZE,
    PART_SUGGESTED_SIZE,
    PART_SORT,
    PART_MIN_COUNT,
    PART_RANGES,
    PART_ORIGIN,
    PART_FILTERS,
    PART_INTERVAL,
    PART_OFFSET,
    PART_MISSING,
    PART_BOUNDS,
    PART_DATE_INTERVAL,
    PART_DATE_OFFSET,
    PART_TIME_ZONE,
    PART_PRECISION,
    PART_SOURCES,
    PART_TOKEN,
    PART_AGGREGATIONS,
    PART_GROUP_BYS,
};

#define PARTS_MAX 11

static const uint8_t parts[][PARTS_MAX] = {
    [WR_GROUP_FIELD] = {0, PART_FIELD, PART_SIZE, PART_SORT, PART_AGGREGATIONS, PART_GROUP_BYS,
                        PART_MIN_COUNT},
    [WR_GROUP_RANGE] = {0, PART_FIELD, PART_RANGES, PART_AGGREGATIONS, PART_GROUP_BYS},
    [WR_GROUP_FILTER] = {0, PART_FILTERS, PART_AGGREGATIONS, PART_GROUP_BYS},
    [WR_GROUP_GEO_DISTANCE] = {0, PART_FIELD, PART_ORIGIN, PART_RANGES, PART_AGGREGATIONS,
                               PART_GROUP_BYS},
    [WR_GROUP_HISTOGRAM] = {0, PART_FIELD, PART_INTERVAL, PART_MISSING, PART_MIN_COUNT, PART_SORT,
                            PART_BOUNDS, PART_AGGREGATIONS, PART_GROUP_BYS, PART_OFFSET},
    [WR_GROUP_DATE_HISTOGRAM] = {0, PART_FIELD, PART_DATE_INTERVAL, PART_BOUNDS, PART_MISSING,
                                 PART_MIN_COUNT, PART_TIME_ZONE, PART_SORT, PART_AGGREGATIONS,
                                 PART_GROUP_BYS, PART_DATE_OFFSET},
    [WR_GROUP_GEO_GRID] = {0, PART_FIELD, PART_PRECISION, PART_SIZE, PART_AGGREGATIONS,
                           PART_GROUP_BYS},
    [WR_GROUP_COMPOSITE] = {0, PART_SOURCES, PART_SIZE, PART_NONE, PART_AGGREGATIONS,
                            PART_GROUP_BYS, PART_TOKEN, PART_SUGGESTED_SIZE},
};

static int read_part(struct search_read *s, enum part part, struct pb_reader *r, bytes in,
                     struct wr_group_by *out)
{
    switch (part) {
    case PART_FIELD:
        out->field = pb_bytes(r);
        return 0;
    case PART_SIZE:
        out->has_size = true;
        out->size = pb_int32(r);
        return 0;
    case PART_SUGGESTED_SIZE:
        out->has_suggested_size = true;
        out->suggested_size = pb_int32(r);
        return 0;
    case PART_SORT:
        return read_sorters(s, pb_bytes(r), out);
    case PART_MIN_COUNT:
        out->has_min_count = true;
        out->min_count = pb_int64(r);
        return 0;
    case PART_RANGES: /* all at once, with the first */
        return out->ranges ? 0 : read_ranges(s, in, r->field, out);
    case PART_ORIGIN:
        return read_origin(s, pb_bytes(r), out);
    case PART_FILTERS:
        return out->filters ? 0 : read_filters(s, in, out);
    case PART_INTERVAL:
        return search_value(s, r, &out->interval);
    case PART_OFFSET:
        return search_value(s, r, &out->offset);
    case PART_MISSING:
        return search_value(s, r, &out->missing);
    case PART_BOUNDS:
        return read_bounds(s, pb_bytes(r), out);
    case PART_DATE_INTERVAL:
        return search_read_interval(s, pb_bytes(r), &out->date_interval);
    case PART_DATE_OFFSET:
        return search_read_interval(s, pb_bytes(r), &out->date_offset);
    case PART_TIME_ZONE:
        out->time_zone = pb_bytes(r);
        return 0;
    case PART_PRECISION:
        return search_enum(s, r, 1, 12, "Precision", &out->precision);
    case PART_SOURCES:
        return search_read_group_bys(s, pb_bytes(r), &out->sources, &out->source_count);
    case PART_TOKEN:
        out->next_token = pb_bytes(r);
        return 0;
    case PART_AGGREGATIONS:
        return search_read_aggregations(s, pb_bytes(r), &out->aggregations,
                                        &out->aggregation_count);
    case PART_GROUP_BYS:
        return search_read_group_bys(s, pb_bytes(r), &out->group_bys, &out->group_by_count);
    case PART_NONE:
        break;
    }
    return 0;
}

static int read_group_by(struct search_read *s, bytes in, struct wr_group_by *out)
{
    struct pb_reader r;
    struct search_named named;

    TRY(read_named(s, in, WR_GROUP_COMPOSITE, "Type of group_by", &named));
    *out = (struct wr_group_by){.name = named.name, .type = (enum wr_group_by_type)named.type};
    TRY(search_enter(s));
    for (r = pb_reader_of(named.body); pb_next(&r);)
        if (r.field < PARTS_MAX)
            TRY(read_part(s, parts[named.type][r.field], &r, named.body, out));
    search_leave(s);
    TRY(search_end(s, &r));
    return search_need(
        s, out->field.ptr || out->type == WR_GROUP_FILTER || out->type == WR_GROUP_COMPOSITE,
        "group_by", "field_name");
}

int search_read_group_bys(struct search_read *s, bytes in, const struct wr_group_by **out,
                          size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_group_by *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 1), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_group_by(s, pb_bytes(&r), &list[n++]));
    *out = list;
    *count = n;
    return search_end(s, &r);
}

static void put_part(struct buf *b, enum part part, unsigned field, const struct wr_group_by *g)
{
    switch (part) {
    case PART_FIELD:
        search_put_optional(b, field, g->field);
        break;
    case PART_SIZE:
        if (g->has_size)
            pb_put_int(b, field, g->size);
        break;
    case PART_SUGGESTED_SIZE:
        if (g->has_suggested_size)
            pb_put_int(b, field, g->suggested_size);
        break;
    case PART_SORT:
        put_sorters(b, field, g);
        break;
    case PART_MIN_COUNT:
        if (g->has_min_count)
            pb_put_int(b, field, g->min_count);
        break;
    case PART_RANGES:
        put_ranges(b, field, g);
        break;
    case PART_ORIGIN:
        put_origin(b, field, g);
        break;
    case PART_FILTERS:
        for (size_t i = 0; i < g->filter_count; i++)
            search_put_condition(b, field, &g->filters[i]);
        break;
    case PART_INTERVAL:
        search_put_value(b, field, &g->interval);
        break;
    case PART_OFFSET:
        search_put_value(b, field, &g->offset);
        break;
    case PART_MISSING:
        search_put_value(b, field, &g->missing);
        break;
    case PART_BOUNDS:
        put_bounds(b, field, g);
        break;
    case PART_DATE_INTERVAL:
        search_put_interval(b, field, &g->date_interval);
        break;
    case PART_DATE_OFFSET:
        search_put_interval(b, field, &g->date_offset);
        break;
    case PART_TIME_ZONE:
        search_put_optional(b, field, g->time_zone);
        break;
    case PART_PRECISION:
        search_put_given(b, field, g->precision);
        break;
    case PART_SOURCES:
        search_put_group_bys(b, field, g->sources, g->source_count);
        break;
    case PART_TOKEN:
        search_put_optional(b, field, g->next_token);
        break;
    case PART_AGGREGATIONS:
        search_put_aggregations(b, field, g->aggregations, g->aggregation_count);
        break;
    case PART_GROUP_BYS:
        search_put_group_bys(b, field, g->group_bys, g->group_by_count);
        break;
    case PART_NONE:
        break;
    }
}

void search_put_group_bys(struct buf *b, unsigned field, const struct wr_group_by *list, size_t n)
{
    size_t start;

    if (!n)
        return;
    start = pb_open(b, field, 0);
    for (size_t i = 0; i < n; i++) {
        size_t item = pb_open(b, 1, 0), body;

        pb_put_bytes(b, 1, list[i].name);
        pb_put_int(b, 2, list[i].type);
        body = pb_open(b, 3, 0);
        for (unsigned at = 1; at < PARTS_MAX; at++)
            put_part(b, parts[list[i].type][at], at, &list[i]);
        pb_close(b, body, 0);
        pb_close(b, item, 0);
    }
    pb_close(b, start, 0);
}
