/* Filters. On the wire a filter is a type and the bytes of the message of that type, so nesting is
 * ours to follow and to bound. */
#include "wire/ots.h"
#include "wire/ots_part.h"

static const char text_filter[] = "Deserialize filter failed.";

static int fail_filter(struct ctx *c)
{
    return fail(c, E_PARAMETER, "%s", text_filter);
}

/* A NOT of itself. The table layer counts filters before it does anything else with them, and stops
 * when there are too many. */
static const struct wr_filter endless = {
    .type = WR_FILTER_COMPOSITE,
    .composite = {.combinator = WR_NOT, .subs = &endless, .sub_count = 1}};

static int read_filter(struct ctx *c, const Ots__Filter *from, int depth, struct wr_filter *out);

/* What a regular expression's group is turned into. Without a type it stays text. */
static int read_cast(struct ctx *c, const Ots__ValueTransferRule *rule, enum wr_type *out)
{
    *out = WR_VARCHAR;
    if (!rule->has_cast_type)
        return 0;
    switch (rule->cast_type) {
    case VT_INTEGER:
        *out = WR_BIGINT;
        return 0;
    case VT_DOUBLE:
        *out = WR_DOUBLE;
        return 0;
    case VT_STRING:
        return 0;
    case VT_BLOB:
        *out = WR_VARBINARY;
        return 0;
    case VT_NULL:
        *out = WR_NULL;
        return 0;
    default:
        return fail_filter(c);
    }
}

static int ots_filter_read_column(struct ctx *c, bytes in, struct wr_column_filter *out)
{
    const Ots__SingleColumnValueFilter *m;
    const void *message;

    TRY(pb_unpack(c, &ots__single_column_value_filter__descriptor, in, text_filter, &message));
    m = message;
    if (m->comparator < WR_EQUAL || m->comparator > WR_NOT_EXIST)
        return fail_filter(c);
    *out = (struct wr_column_filter){
        .comparator = (enum wr_comparator)m->comparator,
        .column = pb_view(m->column_name),
        .filter_if_missing = m->filter_if_missing,
        .latest_version_only = m->latest_version_only,
    };
    if (m->value_trans_rule) {
        out->regex = pb_view(m->value_trans_rule->regex);
        TRY(read_cast(c, m->value_trans_rule, &out->cast_type));
    }
    return plain_decode_value(c, pb_view(m->column_value), &out->value);
}

static int read_composite(struct ctx *c, bytes in, int depth, struct wr_composite_filter *out)
{
    const Ots__CompositeColumnValueFilter *m;
    struct wr_filter *subs;
    const void *message;

    TRY(pb_unpack(c, &ots__composite_column_value_filter__descriptor, in, text_filter, &message));
    m = message;
    if (m->combinator < WR_NOT || m->combinator > WR_OR)
        return fail_filter(c);
    TRY(ots_array(c, m->n_sub_filters, sizeof(*subs), &subs));
    for (size_t i = 0; i < m->n_sub_filters; i++)
        TRY(read_filter(c, m->sub_filters[i], depth + 1, &subs[i]));
    out->combinator = (enum wr_combinator)m->combinator;
    out->subs = subs;
    out->sub_count = m->n_sub_filters;
    return 0;
}

static int ots_filter_read_page(struct ctx *c, bytes in, struct wr_page_filter *out)
{
    const Ots__ColumnPaginationFilter *m;
    const void *message;

    TRY(pb_unpack(c, &ots__column_pagination_filter__descriptor, in, text_filter, &message));
    m = message;
    *out = (struct wr_page_filter){m->offset, m->limit};
    return 0;
}

static int read_filter(struct ctx *c, const Ots__Filter *from, int depth, struct wr_filter *out)
{
    bytes in = pb_view(from->filter);

    if (depth > OTS_FILTER_DEPTH_MAX) {
        *out = endless;
        return 0;
    }
    out->type = (enum wr_filter_type)from->type;
    switch (from->type) {
    case OTS__FILTER_TYPE__FT_SINGLE_COLUMN_VALUE:
        return ots_filter_read_column(c, in, &out->column);
    case OTS__FILTER_TYPE__FT_COMPOSITE_COLUMN_VALUE:
        return read_composite(c, in, depth, &out->composite);
    case OTS__FILTER_TYPE__FT_COLUMN_PAGINATION:
        return ots_filter_read_page(c, in, &out->page);
    default:
        return fail_filter(c);
    }
}

int ots_read_filter(struct ctx *c, bytes in, const struct wr_filter **out)
{
    struct wr_filter *filter;
    const void *message;

    TRY(pb_unpack(c, &ots__filter__descriptor, in, text_filter, &message));
    TRY(ots_array(c, 1, sizeof(*filter), &filter));
    *out = filter;
    return read_filter(c, message, 1, filter);
}

/* ---- writing */

static void ots_filter_put_value(struct buf *b, unsigned field, const struct wr_value *v)
{
    size_t n = plain_value_size(v);

    pb_put_head(b, field, n);
    plain_put_value(buf_reserve(b, n), v);
    buf_commit(b, n);
}

static void put_column(struct buf *b, const struct wr_column_filter *f)
{
    pb_put_int(b, 1, f->comparator);
    pb_put_bytes(b, 2, f->column);
    ots_filter_put_value(b, 3, &f->value);
    pb_put_int(b, 4, f->filter_if_missing);
    pb_put_int(b, 5, f->latest_version_only);
    if (f->regex.ptr) {
        size_t start = pb_open(b, 6, 0);

        pb_put_bytes(b, 1, f->regex);
        pb_put_int(b, 2, plain_type_of(f->cast_type));
        pb_close(b, start, 0);
    }
}

static void ots_filter_put_filter(struct buf *b, const struct wr_filter *filter)
{
    size_t start;

    pb_put_int(b, 1, filter->type);
    start = pb_open(b, 2, 0);
    switch (filter->type) {
    case WR_FILTER_COLUMN:
        put_column(b, &filter->column);
        break;
    case WR_FILTER_COMPOSITE:
        pb_put_int(b, 1, filter->composite.combinator);
        for (size_t i = 0; i < filter->composite.sub_count; i++)
            ots_put_filter(b, 2, &filter->composite.subs[i]);
        break;
    case WR_FILTER_PAGE:
        pb_put_int(b, 1, filter->page.offset);
        pb_put_int(b, 2, filter->page.limit);
        break;
    }
    pb_close(b, start, 0);
}

void ots_put_filter(struct buf *b, unsigned field, const struct wr_filter *filter)
{
    size_t start = pb_open(b, field, 0);

    ots_filter_put_filter(b, filter);
    pb_close(b, start, 0);
}
