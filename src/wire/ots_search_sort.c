/* Sorting, and what is told of a row besides: highlights, and hits among its children. */
#include "wire/ots_search_part.h"

int search_read_order(struct search_read *s, struct pb_reader *r, enum wr_order *out)
{
    int32_t order;

    TRY(search_enum(s, r, WR_ORDER_ASC, WR_ORDER_DESC, "Order", &order));
    *out = (enum wr_order)order;
    return 0;
}

static int read_sorter_order(struct search_read *s, struct pb_reader *r, struct wr_sorter *out)
{
    out->order_given = true;
    return search_read_order(s, r, &out->order);
}

static int read_mode(struct search_read *s, struct pb_reader *r, struct wr_sorter *out)
{
    int32_t mode;

    TRY(search_enum(s, r, 0, 2, "Sort mode", &mode));
    out->mode = (enum wr_sort_mode)(mode + WR_SORT_MODE_MIN);
    return 0;
}

static int read_nested_filter(struct search_read *s, bytes in, struct wr_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->nested_path = pb_bytes(&r);
        else if (r.field == 2)
            TRY(search_read_query(s, pb_bytes(&r), &out->nested_filter));
    TRY(search_end(s, &r));
    TRY(search_need(s, out->nested_path.ptr, "nested_filter", "path"));
    return search_need(s, out->nested_filter, "nested_filter", "filter");
}

static void put_nested_filter(struct buf *b, unsigned field, const struct wr_sorter *sorter)
{
    size_t start;

    if (!sorter->nested_path.ptr)
        return;
    start = pb_open(b, field, 0);
    pb_put_bytes(b, 1, sorter->nested_path);
    search_put_condition(b, 2, sorter->nested_filter);
    pb_close(b, start, 0);
}

static int read_field_sort(struct search_read *s, bytes in, struct wr_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            TRY(read_sorter_order(s, &r, out));
            break;
        case 3:
            TRY(read_mode(s, &r, out));
            break;
        case 4:
            TRY(read_nested_filter(s, pb_bytes(&r), out));
            break;
        case 5:
            TRY(search_value(s, &r, &out->missing));
            break;
        case 6:
            out->missing_field = pb_bytes(&r);
            break;
        }
    TRY(search_end(s, &r));
    return search_need(s, out->field.ptr, "field sort", "field_name");
}

static int read_geo_sort(struct search_read *s, bytes in, struct wr_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);
    int32_t type;

    TRY(search_texts(s, in, 2, &out->points, &out->point_count));
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 3:
            TRY(read_sorter_order(s, &r, out));
            break;
        case 4:
            TRY(read_mode(s, &r, out));
            break;
        case 5:
            TRY(search_enum(s, &r, 0, 1, "Geo distance type", &type));
            out->plane = type == 1;
            break;
        case 6:
            TRY(read_nested_filter(s, pb_bytes(&r), out));
            break;
        }
    TRY(search_end(s, &r));
    TRY(search_need(s, out->field.ptr, "geo distance sort", "field_name"));
    return search_need(s, out->point_count, "geo distance sort", "points");
}

static int read_plain_sort(struct search_read *s, bytes in, struct wr_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_sorter_order(s, &r, out));
    return search_end(s, &r);
}

static int read_sorter(struct search_read *s, bytes in, struct wr_sorter *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r)) {
        if (r.field < WR_SORTER_FIELD || r.field > WR_SORTER_DOC)
            continue;
        *out = (struct wr_sorter){.type = (enum wr_sorter_type)r.field};
        if (out->type == WR_SORTER_FIELD)
            TRY(read_field_sort(s, pb_bytes(&r), out));
        else if (out->type == WR_SORTER_GEO)
            TRY(read_geo_sort(s, pb_bytes(&r), out));
        else
            TRY(read_plain_sort(s, pb_bytes(&r), out));
        if (out->type == WR_SORTER_SCORE && !out->order_given)
            out->order = WR_ORDER_DESC;
    }
    TRY(search_end(s, &r));
    return search_need(s, out->type, "sorter",
                       "one of field, geo distance, score, pk and doc sort");
}

int search_read_sort(struct search_read *s, bytes in, struct wr_sort *out)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_sorter *list;
    size_t n = 0;

    *out = (struct wr_sort){.given = true};
    TRY(search_items(s, pb_count(in, 1), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_sorter(s, pb_bytes(&r), &list[n++]));
        else if (r.field == 2)
            out->no_default_key_sorter = pb_bool(&r);
    out->sorters = list;
    out->count = n;
    return search_end(s, &r);
}

static void put_order(struct buf *b, unsigned field, const struct wr_sorter *sorter)
{
    if (sorter->order_given || sorter->order != WR_ORDER_ASC)
        pb_put_int(b, field, sorter->order);
}

static void put_mode(struct buf *b, unsigned field, const struct wr_sorter *sorter)
{
    if (sorter->mode != WR_SORT_MODE_NONE)
        pb_put_int(b, field, (int)sorter->mode - WR_SORT_MODE_MIN);
}

static void put_field_sort(struct buf *b, const struct wr_sorter *sorter)
{
    pb_put_bytes(b, 1, sorter->field);
    put_order(b, 2, sorter);
    put_mode(b, 3, sorter);
    put_nested_filter(b, 4, sorter);
    search_put_value(b, 5, &sorter->missing);
    search_put_optional(b, 6, sorter->missing_field);
}

static void put_geo_sort(struct buf *b, const struct wr_sorter *sorter)
{
    pb_put_bytes(b, 1, sorter->field);
    ots_put_names(b, 2, sorter->points, sorter->point_count);
    put_order(b, 3, sorter);
    put_mode(b, 4, sorter);
    if (sorter->plane)
        pb_put_int(b, 5, 1);
    put_nested_filter(b, 6, sorter);
}

static void put_sorter(struct buf *b, const struct wr_sorter *sorter)
{
    size_t start = pb_open(b, 1, 0), part = pb_open(b, sorter->type, 0);

    if (sorter->type == WR_SORTER_FIELD)
        put_field_sort(b, sorter);
    else if (sorter->type == WR_SORTER_GEO)
        put_geo_sort(b, sorter);
    else if (sorter->type == WR_SORTER_SCORE)
        pb_put_int(b, 1, sorter->order); /* left out it would be the other one */
    else
        put_order(b, 1, sorter);
    pb_close(b, part, 0);
    pb_close(b, start, 0);
}

void search_put_sort(struct buf *b, unsigned field, const struct wr_sort *sort)
{
    size_t start;

    if (!sort->given)
        return;
    start = pb_open(b, field, 0);
    for (size_t i = 0; i < sort->count; i++)
        put_sorter(b, &sort->sorters[i]);
    if (sort->no_default_key_sorter)
        pb_put_int(b, 2, 1);
    pb_close(b, start, 0);
}

/* ---- highlights */

static int read_highlight_field(struct search_read *s, bytes in, struct wr_highlight_field *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            out->fragments = pb_int32(&r);
            break;
        case 3:
            out->fragment_size = pb_int32(&r);
            break;
        case 4:
            out->pre_tag = pb_bytes(&r);
            break;
        case 5:
            out->post_tag = pb_bytes(&r);
            break;
        case 6:
            TRY(search_enum(s, &r, 1, 2, "Order of fragments", &out->order));
            break;
        }
    TRY(search_end(s, &r));
    return search_need(s, out->field.ptr, "highlight", "field_name");
}

int search_read_highlight(struct search_read *s, bytes in, struct wr_highlight *out)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_highlight_field *list;
    size_t n = 0;

    *out = (struct wr_highlight){.given = true};
    TRY(search_items(s, pb_count(in, 1), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            TRY(read_highlight_field(s, pb_bytes(&r), &list[n++]));
        else if (r.field == 2)
            TRY(search_enum(s, &r, 1, 2, "Highlight encoder", &out->encoder));
    out->fields = list;
    out->count = n;
    return search_end(s, &r);
}

void search_put_highlight(struct buf *b, unsigned field, const struct wr_highlight *h)
{
    size_t start, part;

    if (!h->given)
        return;
    start = pb_open(b, field, 0);
    for (size_t i = 0; i < h->count; i++) {
        const struct wr_highlight_field *f = &h->fields[i];

        part = pb_open(b, 1, 0);
        pb_put_bytes(b, 1, f->field);
        search_put_given(b, 2, f->fragments);
        search_put_given(b, 3, f->fragment_size);
        search_put_optional(b, 4, f->pre_tag);
        search_put_optional(b, 5, f->post_tag);
        search_put_given(b, 6, f->order);
        pb_close(b, part, 0);
    }
    search_put_given(b, 2, h->encoder);
    pb_close(b, start, 0);
}

int search_read_inner_hits(struct search_read *s, bytes in, struct wr_inner_hits *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (struct wr_inner_hits){.given = true, .limit = -1};
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            TRY(search_read_sort(s, pb_bytes(&r), &out->sort));
            break;
        case 2:
            out->offset = pb_int32(&r);
            break;
        case 3:
            out->limit = pb_int32(&r);
            break;
        case 4:
            TRY(search_read_highlight(s, pb_bytes(&r), &out->highlight));
            break;
        }
    return search_end(s, &r);
}

void search_put_inner_hits(struct buf *b, unsigned field, const struct wr_inner_hits *h)
{
    size_t start;

    if (!h->given)
        return;
    start = pb_open(b, field, 0);
    search_put_sort(b, 1, &h->sort);
    pb_put_int(b, 2, h->offset);
    if (h->limit != -1)
        pb_put_int(b, 3, h->limit);
    search_put_highlight(b, 4, &h->highlight);
    pb_close(b, start, 0);
}
