/* What aggregations and groups of rows came to. */
#include "wire/ots_search_part.h"

#include <math.h>

static size_t open_named(struct buf *b, bytes name, int type, size_t *item)
{
    *item = pb_open(b, 1, 0);
    pb_put_bytes(b, 1, name);
    pb_put_int(b, 2, type);
    return pb_open(b, 3, 0);
}

static void close_named(struct buf *b, size_t body, size_t item)
{
    pb_close(b, body, 0);
    pb_close(b, item, 0);
}

static int read_named(struct search_read *s, bytes in, int32_t most, const char *what,
                      struct search_named *out)
{
    TRY(search_read_named(s, in, most, what, out));
    if (!out->name.ptr)
        out->name = BYTES_LIT("");
    return out->type ? 0 : ots_fail_reply(s->c);
}

/* ---- aggregations */

static void put_aggregation(struct buf *b, const struct wr_aggregation_result *a)
{
    switch (a->type) {
    case WR_AGG_COUNT:
    case WR_AGG_DISTINCT_COUNT:
        pb_put_int(b, 1, a->count);
        break;
    case WR_AGG_TOP_ROWS:
        search_put_rows(b, 1, a->rows, a->row_count);
        break;
    case WR_AGG_PERCENTILES:
        for (size_t i = 0; i < a->percentile_count; i++) {
            size_t start = pb_open(b, 1, 0);

            pb_put_double(b, 1, a->percentiles[i].at);
            search_put_value(b, 2, &a->percentiles[i].value);
            pb_close(b, start, 0);
        }
        break;
    default:
        pb_put_double(b, 1, a->real);
    }
}

/* Of a group they come in the reverse order, as the service has it. */
static void put_aggregations(struct buf *b, unsigned field,
                             const struct wr_aggregation_result *list, size_t n, bool reverse)
{
    size_t start;

    if (!n)
        return;
    start = pb_open(b, field, 0);
    for (size_t i = 0; i < n; i++) {
        const struct wr_aggregation_result *a = &list[reverse ? n - 1 - i : i];
        size_t item, body = open_named(b, a->name, a->type, &item);

        put_aggregation(b, a);
        close_named(b, body, item);
    }
    pb_close(b, start, 0);
}

void search_put_aggregation_results(struct buf *b, unsigned field,
                                    const struct wr_aggregation_result *list, size_t n)
{
    put_aggregations(b, field, list, n, false);
}

static int read_percentile(struct search_read *s, bytes in, struct wr_percentile *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->at = pb_double(&r);
        else if (r.field == 2)
            TRY(search_value(s, &r, &out->value));
    return search_end(s, &r);
}

static int read_items(struct search_read *s, bytes in, struct wr_aggregation_result *out)
{
    bool rows = out->type == WR_AGG_TOP_ROWS;
    struct pb_reader r = pb_reader_of(in);
    struct wr_percentile *percentiles;
    struct wr_row *row;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 1), sizeof(*row), &row));
    TRY(search_items(s, pb_count(in, 1), sizeof(*percentiles), &percentiles));
    while (pb_next(&r))
        if (r.field == 1 && rows)
            TRY(search_read_row(s, pb_bytes(&r), &row[n++]));
        else if (r.field == 1)
            TRY(read_percentile(s, pb_bytes(&r), &percentiles[n++]));
    out->rows = row;
    out->percentiles = percentiles;
    *(rows ? &out->row_count : &out->percentile_count) = n;
    return search_end(s, &r);
}

static int read_aggregation(struct search_read *s, bytes in, struct wr_aggregation_result *out)
{
    struct search_named named;
    struct pb_reader r;

    TRY(read_named(s, in, WR_AGG_PERCENTILES, "Type of aggregation", &named));
    out->name = named.name;
    out->type = (enum wr_aggregation_type)named.type;
    if (out->type == WR_AGG_TOP_ROWS || out->type == WR_AGG_PERCENTILES)
        return read_items(s, named.body, out);
    for (r = pb_reader_of(named.body); pb_next(&r);) {
        if (r.field != 1)
            continue;
        if (out->type == WR_AGG_COUNT || out->type == WR_AGG_DISTINCT_COUNT)
            out->count = pb_int64(&r);
        else
            out->real = pb_double(&r);
    }
    return search_end(s, &r);
}

static int read_aggregations(struct search_read *s, bytes in, bool reverse,
                             const struct wr_aggregation_result **out, size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_aggregation_result *list;
    size_t n = pb_count(in, 1), i = 0;

    TRY(search_items(s, n, sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1) {
            TRY(read_aggregation(s, pb_bytes(&r), &list[reverse ? n - 1 - i : i]));
            i++;
        }
    *out = list;
    *count = n;
    return search_end(s, &r);
}

int search_read_aggregation_results(struct search_read *s, bytes in,
                                    const struct wr_aggregation_result **out, size_t *count)
{
    return read_aggregations(s, in, false, out, count);
}

/* ---- groups: what each number of a field means, by type */

enum part {
    PART_NONE,
    PART_KEY,
    PART_VALUE,
    PART_MILLISECONDS,
    PART_FROM,
    PART_TO,
    PART_CELL,
    PART_KEYS,
    PART_NULLS,
    PART_COUNT,
    PART_AGGREGATIONS,
    PART_GROUP_BYS,
};

#define PARTS_MAX 6

static const uint8_t parts[][PARTS_MAX] = {
    [WR_GROUP_FIELD] = {0, PART_KEY, PART_COUNT, PART_AGGREGATIONS, PART_GROUP_BYS},
    [WR_GROUP_RANGE] = {0, PART_FROM, PART_TO, PART_COUNT, PART_AGGREGATIONS, PART_GROUP_BYS},
    [WR_GROUP_FILTER] = {0, PART_COUNT, PART_AGGREGATIONS, PART_GROUP_BYS},
    [WR_GROUP_GEO_DISTANCE] = {0, PART_FROM, PART_TO, PART_COUNT, PART_AGGREGATIONS,
                               PART_GROUP_BYS},
    [WR_GROUP_HISTOGRAM] = {0, PART_VALUE, PART_COUNT, PART_AGGREGATIONS, PART_GROUP_BYS},
    [WR_GROUP_DATE_HISTOGRAM] = {0, PART_MILLISECONDS, PART_COUNT, PART_AGGREGATIONS,
                                 PART_GROUP_BYS},
    [WR_GROUP_GEO_GRID] = {0, PART_KEY, PART_CELL, PART_COUNT, PART_AGGREGATIONS, PART_GROUP_BYS},
    [WR_GROUP_COMPOSITE] = {0, PART_KEYS, PART_COUNT, PART_AGGREGATIONS, PART_GROUP_BYS,
                            PART_NULLS},
};

static void put_point(struct buf *b, unsigned field, double lat, double lon)
{
    size_t start = pb_open(b, field, 0);

    pb_put_double(b, 1, lat);
    pb_put_double(b, 2, lon);
    pb_close(b, start, 0);
}

static void put_cell(struct buf *b, unsigned field, const struct wr_group *g)
{
    size_t start = pb_open(b, field, 0);

    put_point(b, 1, g->top, g->left);
    put_point(b, 2, g->bottom, g->right);
    pb_close(b, start, 0);
}

/* A distance has an open end as 0. */
static double from_of(const struct wr_group_by_result *of, const struct wr_group *g)
{
    return of->type == WR_GROUP_GEO_DISTANCE && isinf(g->range.from) ? 0 : g->range.from;
}

static void put_part(struct buf *b, enum part part, unsigned field,
                     const struct wr_group_by_result *of, const struct wr_group *g)
{
    switch (part) {
    case PART_KEY:
        pb_put_bytes(b, field, g->key);
        break;
    case PART_VALUE:
        search_put_value(b, field, &g->value);
        break;
    case PART_MILLISECONDS:
        pb_put_int(b, field, g->value.integer);
        break;
    case PART_FROM:
        pb_put_double(b, field, from_of(of, g));
        break;
    case PART_TO:
        pb_put_double(b, field, g->range.to);
        break;
    case PART_CELL:
        put_cell(b, field, g);
        break;
    case PART_KEYS:
        ots_put_names(b, field, g->keys, of->source_count);
        break;
    case PART_NULLS:
        for (size_t i = 0; i < of->source_count; i++)
            pb_put_int(b, field, !g->keys[i].ptr);
        break;
    case PART_COUNT:
        pb_put_int(b, field, g->count);
        break;
    case PART_AGGREGATIONS:
        put_aggregations(b, field, g->aggregations, g->aggregation_count, true);
        break;
    case PART_GROUP_BYS:
        search_put_group_by_results(b, field, g->group_bys, g->group_by_count);
        break;
    case PART_NONE:
        break;
    }
}

static void put_groups(struct buf *b, const struct wr_group_by_result *of)
{
    for (size_t i = 0; i < of->count; i++) {
        size_t start = pb_open(b, 1, 0);

        for (unsigned field = 1; field < PARTS_MAX; field++)
            put_part(b, parts[of->type][field], field, of, &of->groups[i]);
        pb_close(b, start, 0);
    }
    ots_put_names(b, 2, of->sources, of->source_count);
    search_put_optional(b, 3, of->next_token);
}

void search_put_group_by_results(struct buf *b, unsigned field,
                                 const struct wr_group_by_result *list, size_t n)
{
    size_t start;

    if (!n)
        return;
    start = pb_open(b, field, 0);
    for (size_t i = 0; i < n; i++) {
        size_t item, body = open_named(b, list[i].name, list[i].type, &item);

        put_groups(b, &list[i]);
        close_named(b, body, item);
    }
    pb_close(b, start, 0);
}

/* ---- and read */

static int read_point(struct search_read *s, bytes in, double *lat, double *lon)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            *lat = pb_double(&r);
        else if (r.field == 2)
            *lon = pb_double(&r);
    return search_end(s, &r);
}

static int read_cell(struct search_read *s, bytes in, struct wr_group *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_point(s, pb_bytes(&r), &out->top, &out->left));
        else if (r.field == 2)
            TRY(read_point(s, pb_bytes(&r), &out->bottom, &out->right));
    return search_end(s, &r);
}

/* One text a source; those that are null say so in another field. */
static int read_keys(struct search_read *s, bytes in, size_t sources, struct wr_group *out)
{
    struct pb_reader r = pb_reader_of(in);
    size_t keys = 0, nulls = 0;
    bytes *list;

    TRY(search_items(s, sources, sizeof(*list), &list));
    r.bad = pb_count(in, 1) != sources || (pb_count(in, 5) && pb_count(in, 5) != sources);
    while (pb_next(&r))
        if (r.field == 1)
            list[keys++] = pb_bytes(&r);
    TRY(search_end(s, &r));
    for (r = pb_reader_of(in); pb_next(&r);)
        if (r.field == 5) {
            if (pb_bool(&r))
                list[nulls] = BYTES_NONE;
            nulls++;
        }
    out->keys = list;
    return search_end(s, &r);
}

static int read_part(struct search_read *s, enum part part, struct pb_reader *r,
                     struct wr_group *out)
{
    switch (part) {
    case PART_KEY:
        out->key = pb_bytes(r);
        return 0;
    case PART_VALUE:
        return search_value(s, r, &out->value);
    case PART_MILLISECONDS:
        out->value = (struct wr_value){.type = WR_BIGINT, .integer = pb_int64(r)};
        return 0;
    case PART_FROM:
        out->range.from = pb_double(r);
        return 0;
    case PART_TO:
        out->range.to = pb_double(r);
        return 0;
    case PART_CELL:
        return read_cell(s, pb_bytes(r), out);
    case PART_COUNT:
        out->count = pb_int64(r);
        return 0;
    case PART_AGGREGATIONS:
        return read_aggregations(s, pb_bytes(r), true, &out->aggregations, &out->aggregation_count);
    case PART_GROUP_BYS:
        return search_read_group_by_results(s, pb_bytes(r), &out->group_bys, &out->group_by_count);
    default:
        return 0;
    }
}

static int read_group(struct search_read *s, bytes in, const struct wr_group_by_result *of,
                      struct wr_group *out)
{
    struct pb_reader r = pb_reader_of(in);

    if (of->type == WR_GROUP_COMPOSITE)
        TRY(read_keys(s, in, of->source_count, out));
    while (pb_next(&r))
        if (r.field < PARTS_MAX)
            TRY(read_part(s, parts[of->type][r.field], &r, out));
    return search_end(s, &r);
}

static int read_group_by(struct search_read *s, bytes in, struct wr_group_by_result *out)
{
    struct wr_group *groups;
    struct search_named named;
    struct pb_reader r;
    size_t n = 0;

    TRY(read_named(s, in, WR_GROUP_COMPOSITE, "Type of group_by", &named));
    out->name = named.name;
    out->type = (enum wr_group_by_type)named.type;
    TRY(search_enter(s));
    TRY(search_texts(s, named.body, 2, &out->sources, &out->source_count));
    TRY(search_items(s, pb_count(named.body, 1), sizeof(*groups), &groups));
    for (r = pb_reader_of(named.body); pb_next(&r);)
        if (r.field == 1)
            TRY(read_group(s, pb_bytes(&r), out, &groups[n++]));
        else if (r.field == 3)
            out->next_token = pb_bytes(&r);
    search_leave(s);
    out->groups = groups;
    out->count = n;
    return search_end(s, &r);
}

int search_read_group_by_results(struct search_read *s, bytes in,
                                 const struct wr_group_by_result **out, size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_group_by_result *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 1), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_group_by(s, pb_bytes(&r), &list[n++]));
    *out = list;
    *count = n;
    return search_end(s, &r);
}
