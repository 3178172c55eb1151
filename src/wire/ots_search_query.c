/* Queries. On the wire a query is a type and the bytes of the message of that type, so nesting is
 * ours to follow and to bound. */
#include "wire/ots_search_part.h"

#include <inttypes.h>

typedef struct wr_search_condition condition;

static int read_minimum(struct pb_reader *r, bool text, struct wr_minimum_match *out)
{
    if (text) {
        out->text = pb_bytes(r);
    } else {
        out->given = true;
        out->number = pb_int32(r);
    }
    return 0;
}

static void put_minimum(struct buf *b, unsigned number, unsigned text,
                        const struct wr_minimum_match *m)
{
    if (m->given)
        pb_put_int(b, number, m->number);
    search_put_optional(b, text, m->text);
}

static void put_weight(struct buf *b, unsigned field, const condition *q)
{
    if (q->weight != 1)
        pb_put_float(b, field, q->weight);
}

/* ---- texts */

static int read_match(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);
    int32_t operator;

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            out->match.text = pb_bytes(&r);
            break;
        case 3:
            TRY(read_minimum(&r, false, &out->match.minimum));
            break;
        case 4:
            TRY(search_enum(s, &r, 1, 2, "Operator", &operator));
            out->match.all = operator== 2;
            break;
        case 5:
            out->weight = pb_finite_float(&r);
            break;
        case 6:
            TRY(read_minimum(&r, true, &out->match.minimum));
            break;
        }
    TRY(search_end(s, &r));
    return search_need(s, out->match.text.ptr, "match query", "text");
}

static void put_match(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    pb_put_bytes(b, 2, q->match.text);
    if (q->match.minimum.given)
        pb_put_int(b, 3, q->match.minimum.number);
    if (q->match.all || q->match.minimum.given || q->match.minimum.text.ptr)
        pb_put_int(b, 4, q->match.all ? 2 : 1);
    put_weight(b, 5, q);
    search_put_optional(b, 6, q->match.minimum.text);
}

static int read_phrase(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            out->match.text = pb_bytes(&r);
            break;
        case 3:
            out->weight = pb_finite_float(&r);
            break;
        case 4:
            out->match.slop = pb_int32(&r);
            break;
        }
    TRY(search_end(s, &r));
    return search_need(s, out->match.text.ptr, "match phrase query", "text");
}

static void put_phrase(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    pb_put_bytes(b, 2, q->match.text);
    put_weight(b, 3, q);
    search_put_given(b, 4, q->match.slop);
}

/* ---- values */

static int read_term(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->field = pb_bytes(&r);
        else if (r.field == 2)
            TRY(search_value(s, &r, &out->term));
        else if (r.field == 3)
            out->weight = pb_finite_float(&r);
    TRY(search_end(s, &r));
    return search_need(s, out->term.type != WR_NULL, "term query", "term");
}

static void put_term(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    search_put_value(b, 2, &q->term);
    put_weight(b, 3, q);
}

static int read_terms(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_value *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 2), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == 1)
            out->field = pb_bytes(&r);
        else if (r.field == 2)
            TRY(search_value(s, &r, &list[n++]));
        else if (r.field == 3)
            out->weight = pb_finite_float(&r);
    out->terms = (struct wr_terms_condition){list, n};
    return search_end(s, &r);
}

static void put_terms(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    for (size_t i = 0; i < q->terms.count; i++)
        search_put_value(b, 2, &q->terms.values[i]);
    put_weight(b, 3, q);
}

static int read_range(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            TRY(search_value(s, &r, &out->range.from));
            break;
        case 3:
            TRY(search_value(s, &r, &out->range.to));
            break;
        case 4:
            out->range.include_from = pb_bool(&r);
            break;
        case 5:
            out->range.include_to = pb_bool(&r);
            break;
        }
    return search_end(s, &r);
}

static void put_range(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    search_put_value(b, 2, &q->range.from);
    search_put_value(b, 3, &q->range.to);
    if (q->range.from.type != WR_NULL)
        pb_put_int(b, 4, q->range.include_from);
    if (q->range.to.type != WR_NULL)
        pb_put_int(b, 5, q->range.include_to);
}

/* PrefixQuery, SuffixQuery, WildcardQuery. */
static int read_pattern(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->field = pb_bytes(&r);
        else if (r.field == 2)
            out->pattern = pb_bytes(&r);
        else if (r.field == 3)
            out->weight = pb_finite_float(&r);
    TRY(search_end(s, &r));
    return search_need(s, out->pattern.ptr, "prefix, suffix or wildcard query", "its text");
}

static void put_pattern(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    pb_put_bytes(b, 2, q->pattern);
    put_weight(b, 3, q);
}

static int read_exists(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            out->field = pb_bytes(&r);
    return search_end(s, &r);
}

static void put_exists(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
}

/* ---- queries of queries */

static int read_list(struct search_read *s, bytes in, unsigned field, const condition **out,
                     size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    condition *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, field), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == field)
            TRY(search_read_condition(s, pb_bytes(&r), &list[n++]));
    *out = list;
    *count = n;
    return search_end(s, &r);
}

static void put_list(struct buf *b, unsigned field, const condition *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        search_put_condition(b, field, &list[i]);
}

static int read_bool(struct search_read *s, bytes in, condition *out)
{
    struct wr_bool_condition *to = &out->boolean;
    struct pb_reader r = pb_reader_of(in);

    TRY(read_list(s, in, 1, &to->must, &to->must_count));
    TRY(read_list(s, in, 2, &to->must_not, &to->must_not_count));
    TRY(read_list(s, in, 3, &to->filter, &to->filter_count));
    TRY(read_list(s, in, 4, &to->should, &to->should_count));
    while (pb_next(&r))
        if (r.field == 5 || r.field == 6)
            TRY(read_minimum(&r, r.field == 6, &to->minimum));
        else if (r.field == 7)
            out->weight = pb_finite_float(&r);
    return search_end(s, &r);
}

static void put_bool(struct buf *b, const condition *q)
{
    const struct wr_bool_condition *from = &q->boolean;

    put_list(b, 1, from->must, from->must_count);
    put_list(b, 2, from->must_not, from->must_not_count);
    put_list(b, 3, from->filter, from->filter_count);
    put_list(b, 4, from->should, from->should_count);
    put_minimum(b, 5, 6, &from->minimum);
    put_weight(b, 7, q);
}

static int read_const(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_read_query(s, pb_bytes(&r), &out->inner));
    TRY(search_end(s, &r));
    return search_need(s, out->inner, "const score query", "filter");
}

static void put_const(struct buf *b, const condition *q)
{
    search_put_condition(b, 1, q->inner);
}

/* FieldValueFactor is a message with the field's name and nothing else. */
static int read_function(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_read_query(s, pb_bytes(&r), &out->inner));
        else if (r.field == 2)
            TRY(read_exists(s, pb_bytes(&r), out));
    TRY(search_end(s, &r));
    return search_need(s, out->inner, "function score query", "query");
}

static void put_function(struct buf *b, const condition *q)
{
    size_t start;

    search_put_condition(b, 1, q->inner);
    start = pb_open(b, 2, 0);
    pb_put_bytes(b, 1, q->field);
    pb_close(b, start, 0);
}

static int read_nested(struct search_read *s, bytes in, condition *out)
{
    struct wr_nested_condition *to = &out->nested;
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            to->path = pb_bytes(&r);
            break;
        case 2:
            TRY(search_read_query(s, pb_bytes(&r), &to->query));
            break;
        case 3:
            TRY(search_enum(s, &r, 1, 5, "Score mode", &to->score_mode));
            break;
        case 4:
            out->weight = pb_finite_float(&r);
            break;
        case 5:
            TRY(search_read_inner_hits(s, pb_bytes(&r), &to->inner_hits));
            break;
        }
    TRY(search_end(s, &r));
    TRY(search_need(s, to->path.ptr, "nested query", "path"));
    return search_need(s, to->query, "nested query", "query");
}

static void put_nested(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->nested.path);
    search_put_condition(b, 2, q->nested.query);
    search_put_given(b, 3, q->nested.score_mode);
    put_weight(b, 4, q);
    search_put_inner_hits(b, 5, &q->nested.inner_hits);
}

static int read_dis_max(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);

    TRY(read_list(s, in, 1, &out->dis_max.queries, &out->dis_max.count));
    while (pb_next(&r))
        if (r.field == 2)
            out->dis_max.tie_breaker = pb_finite_float(&r);
        else if (r.field == 3)
            out->weight = pb_finite_float(&r);
    return search_end(s, &r);
}

static void put_dis_max(struct buf *b, const condition *q)
{
    put_list(b, 1, q->dis_max.queries, q->dis_max.count);
    if (q->dis_max.tie_breaker != 0)
        pb_put_float(b, 2, q->dis_max.tie_breaker);
    put_weight(b, 3, q);
}

static int read_functions(struct search_read *s, bytes in, condition *out)
{
    return search_read_functions(s, in, &out->functions);
}

static void put_functions(struct buf *b, const condition *q)
{
    search_put_functions(b, &q->functions);
}

/* ---- places */

static int read_box(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);
    bytes *points;

    TRY(search_items(s, 2, sizeof(*points), &points));
    while (pb_next(&r))
        if (r.field == 1)
            out->field = pb_bytes(&r);
        else if (r.field == 2 || r.field == 3)
            points[r.field - 2] = pb_bytes(&r);
    out->geo = (struct wr_geo_condition){.points = points, .point_count = 2};
    TRY(search_end(s, &r));
    return search_need(s, points[0].ptr && points[1].ptr, "geo bounding box query",
                       "top_left and bottom_right");
}

static void put_box(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    pb_put_bytes(b, 2, q->geo.points[0]);
    pb_put_bytes(b, 3, q->geo.points[1]);
}

static int read_distance(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);
    bytes *points;

    TRY(search_items(s, 1, sizeof(*points), &points));
    while (pb_next(&r))
        if (r.field == 1)
            out->field = pb_bytes(&r);
        else if (r.field == 2)
            points[0] = pb_bytes(&r);
        else if (r.field == 3)
            out->geo.metres = pb_finite(&r);
    out->geo.points = points;
    out->geo.point_count = 1;
    TRY(search_end(s, &r));
    return search_need(s, points[0].ptr, "geo distance query", "center_point");
}

static void put_distance(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    pb_put_bytes(b, 2, q->geo.points[0]);
    pb_put_double(b, 3, q->geo.metres);
}

static int read_polygon(struct search_read *s, bytes in, condition *out)
{
    TRY(search_texts(s, in, 2, &out->geo.points, &out->geo.point_count));
    return read_exists(s, in, out);
}

static void put_polygon(struct buf *b, const condition *q)
{
    pb_put_bytes(b, 1, q->field);
    ots_put_names(b, 2, q->geo.points, q->geo.point_count);
}

/* ---- vectors */

static int read_floats(struct search_read *s, bytes in, unsigned field, const float **out,
                       size_t *count)
{
    size_t n = pb_count_fixed(in, field, sizeof(float)), at = 0;
    struct pb_reader r = pb_reader_of(in);
    float *list;

    TRY(search_items(s, n, sizeof(*list), &list));
    while (pb_next(&r)) {
        bytes part = r.field == field ? pb_fixed(&r, sizeof(float)) : BYTES_NONE;

        for (size_t i = 0; i + sizeof(float) <= part.len; i += sizeof(float)) {
            uint32_t bits = load_u32(bytes_u8(part) + i);

            memcpy(&list[at++], &bits, sizeof(bits));
        }
    }
    *out = list;
    *count = at;
    return search_end(s, &r);
}

static int read_knn(struct search_read *s, bytes in, condition *out)
{
    struct wr_knn_condition *to = &out->knn;
    struct pb_reader r = pb_reader_of(in);

    TRY(read_floats(s, in, 4, &to->vector, &to->dimension));
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            to->top_k = pb_int32(&r);
            break;
        case 5:
            TRY(search_read_query(s, pb_bytes(&r), &to->filter));
            break;
        case 6:
            out->weight = pb_finite_float(&r);
            break;
        case 7:
            to->min_score = pb_finite_float(&r);
            break;
        case 8:
            to->num_candidates = pb_int32(&r);
            break;
        }
    return search_end(s, &r);
}

static void put_knn(struct buf *b, const condition *q)
{
    const struct wr_knn_condition *from = &q->knn;

    pb_put_bytes(b, 1, q->field);
    search_put_given(b, 2, from->top_k);
    for (size_t i = 0; i < from->dimension; i++)
        pb_put_float(b, 4, (double)from->vector[i]);
    if (from->filter)
        search_put_condition(b, 5, from->filter);
    put_weight(b, 6, q);
    if (from->min_score != 0)
        pb_put_float(b, 7, from->min_score);
    search_put_given(b, 8, from->num_candidates);
}

/* ---- any */

static int read_all(struct search_read *s, bytes in, condition *out)
{
    (void)s;
    (void)in;
    (void)out;
    return 0;
}

static void put_all(struct buf *b, const condition *q)
{
    (void)b;
    (void)q;
}

static const struct codec {
    const char *name;
    bool has_field; /* its message names one, and has to */
    int (*read)(struct search_read *s, bytes in, condition *out);
    void (*put)(struct buf *b, const condition *q);
} codecs[] = {
    [WR_SEARCH_MATCH] = {"match query", true, read_match, put_match},
    [WR_SEARCH_MATCH_PHRASE] = {"match phrase query", true, read_phrase, put_phrase},
    [WR_SEARCH_TERM] = {"term query", true, read_term, put_term},
    [WR_SEARCH_RANGE] = {"range query", true, read_range, put_range},
    [WR_SEARCH_PREFIX] = {"prefix query", true, read_pattern, put_pattern},
    [WR_SEARCH_BOOL] = {"bool query", false, read_bool, put_bool},
    [WR_SEARCH_CONST_SCORE] = {"const score query", false, read_const, put_const},
    [WR_SEARCH_FUNCTION_SCORE] = {"function score query", true, read_function, put_function},
    [WR_SEARCH_NESTED] = {"nested query", false, read_nested, put_nested},
    [WR_SEARCH_WILDCARD] = {"wildcard query", true, read_pattern, put_pattern},
    [WR_SEARCH_MATCH_ALL] = {"match all query", false, read_all, put_all},
    [WR_SEARCH_GEO_BOX] = {"geo bounding box query", true, read_box, put_box},
    [WR_SEARCH_GEO_DISTANCE] = {"geo distance query", true, read_distance, put_distance},
    [WR_SEARCH_GEO_POLYGON] = {"geo polygon query", true, read_polygon, put_polygon},
    [WR_SEARCH_TERMS] = {"terms query", true, read_terms, put_terms},
    [WR_SEARCH_EXISTS] = {"exists query", true, read_exists, put_exists},
    [WR_SEARCH_KNN_VECTOR] = {"knn vector query", true, read_knn, put_knn},
    [WR_SEARCH_FUNCTIONS_SCORE] = {"functions score query", false, read_functions, put_functions},
    [WR_SEARCH_SUFFIX] = {"suffix query", true, read_pattern, put_pattern},
    [WR_SEARCH_DIS_MAX] = {"dis max query", false, read_dis_max, put_dis_max},
};

int search_read_condition(struct search_read *s, bytes in, condition *out)
{
    struct pb_reader r = pb_reader_of(in);
    const struct codec *codec;
    bytes body = BYTES_LIT("");
    int32_t type = 0;

    while (pb_next(&r))
        if (r.field == 1)
            TRY(search_enum(s, &r, WR_SEARCH_MATCH, WR_SEARCH_DIS_MAX, "Type of query", &type));
        else if (r.field == 2)
            body = pb_bytes(&r);
    TRY(search_end(s, &r));
    TRY(search_need(s, type, "query", "type"));
    codec = &codecs[type];
    *out = (condition){.type = (enum wr_condition_type)type, .weight = 1};
    TRY(search_enter(s));
    TRY(codec->read(s, body, out));
    search_leave(s);
    return search_need(s, !codec->has_field || out->field.ptr, codec->name, "field_name");
}

int search_read_query(struct search_read *s, bytes in, const condition **out)
{
    condition *one;

    TRY(search_items(s, 1, sizeof(*one), &one));
    *out = one;
    return search_read_condition(s, in, one);
}

void search_put_condition(struct buf *b, unsigned field, const condition *q)
{
    size_t start = pb_open(b, field, 0), body;

    pb_put_int(b, 1, q->type);
    body = pb_open(b, 2, 0);
    codecs[q->type].put(b, q);
    pb_close(b, body, 0);
    pb_close(b, start, 0);
}
