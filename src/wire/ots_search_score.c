/* Functions of scores. */
#include "wire/ots_search_part.h"

enum { PARAM_DATE = 1, PARAM_NUMERIC = 2, PARAM_GEO = 3 };

/* ---- reading */

static int read_field_value(struct search_read *s, bytes in, struct wr_score_function *out)
{
    struct pb_reader r = pb_reader_of(in);

    out->type = WR_SCORE_FIELD_VALUE;
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            out->factor = pb_finite_float(&r);
            break;
        case 3:
            TRY(search_enum(s, &r, 1, 10, "Modifier", &out->modifier));
            break;
        case 4:
            out->has_missing = true;
            out->missing = pb_finite(&r);
            break;
        }
    TRY(search_end(s, &r));
    return search_need(s, out->field.ptr, "field value factor", "field_name");
}

static int read_date_param(struct search_read *s, bytes in, struct wr_score_function *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->has_origin_ns = true;
            out->origin_ns = pb_int64(&r);
            break;
        case 2:
            out->origin_text = pb_bytes(&r);
            break;
        case 3:
            TRY(search_read_interval(s, pb_bytes(&r), &out->scale_interval));
            break;
        case 4:
            TRY(search_read_interval(s, pb_bytes(&r), &out->offset_interval));
            break;
        }
    return search_end(s, &r);
}

/* A place has its origin as a text, a number as one. */
static int read_number_param(struct search_read *s, bytes in, struct wr_score_function *out)
{
    struct pb_reader r = pb_reader_of(in);

    while (pb_next(&r))
        switch (r.field) {
        case 1:
            if (out->param_type == PARAM_GEO)
                out->origin_text = pb_bytes(&r);
            else
                out->origin = pb_finite(&r);
            break;
        case 2:
            out->scale = pb_finite(&r);
            break;
        case 3:
            out->offset = pb_finite(&r);
            break;
        }
    return search_end(s, &r);
}

static int read_decay(struct search_read *s, bytes in, struct wr_score_function *out)
{
    struct pb_reader r = pb_reader_of(in);
    bytes param = BYTES_LIT("");

    out->type = WR_SCORE_DECAY;
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            out->field = pb_bytes(&r);
            break;
        case 2:
            TRY(search_enum(s, &r, 1, 3, "Decay function", &out->curve));
            break;
        case 3:
            TRY(search_enum(s, &r, PARAM_DATE, PARAM_GEO, "Decay parameter", &out->param_type));
            break;
        case 4:
            param = pb_bytes(&r);
            break;
        case 5:
            out->decay = pb_finite(&r);
            break;
        case 6:
            TRY(search_enum(s, &r, 1, 4, "Multi value mode", &out->multi_value));
            break;
        }
    TRY(search_end(s, &r));
    TRY(search_need(s, out->field.ptr, "decay function", "field_name"));
    TRY(search_need(s, out->curve, "decay function", "math_function"));
    TRY(search_need(s, out->param_type, "decay function", "param_type"));
    return out->param_type == PARAM_DATE ? read_date_param(s, param, out)
                                         : read_number_param(s, param, out);
}

static int read_function(struct search_read *s, bytes in, struct wr_score_function *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (struct wr_score_function){.weight = 1, .factor = 1, .modifier = 1, .decay = 0.5};
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            TRY(read_field_value(s, pb_bytes(&r), out));
            break;
        case 2:
            out->type = WR_SCORE_RANDOM;
            break;
        case 3:
            TRY(read_decay(s, pb_bytes(&r), out));
            break;
        case 4:
            out->weight = pb_finite_float(&r);
            break;
        case 5:
            TRY(search_read_query(s, pb_bytes(&r), &out->filter));
            break;
        }
    return search_end(s, &r);
}

int search_read_functions(struct search_read *s, bytes in, struct wr_functions_condition *out)
{
    struct pb_reader r = pb_reader_of(in);
    struct wr_score_function *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, 2), sizeof(*list), &list));
    while (pb_next(&r))
        switch (r.field) {
        case 1:
            TRY(search_read_query(s, pb_bytes(&r), &out->query));
            break;
        case 2:
            TRY(read_function(s, pb_bytes(&r), &list[n++]));
            break;
        case 3:
            TRY(search_enum(s, &r, 1, 6, "Score mode", &out->score_mode));
            break;
        case 4:
            TRY(search_enum(s, &r, 1, 6, "Combine mode", &out->combine_mode));
            break;
        case 5:
            out->has_min = true;
            out->min_score = pb_finite_float(&r);
            break;
        case 6:
            out->has_max = true;
            out->max_score = pb_finite_float(&r);
            break;
        }
    out->functions = list;
    out->count = n;
    return search_end(s, &r);
}

/* ---- writing */

static void put_field_value(struct buf *b, const struct wr_score_function *f)
{
    size_t start = pb_open(b, 1, 0);

    pb_put_bytes(b, 1, f->field);
    if (f->factor != 1)
        pb_put_float(b, 2, f->factor);
    if (f->modifier != 1)
        pb_put_int(b, 3, f->modifier);
    if (f->has_missing)
        pb_put_double(b, 4, f->missing);
    pb_close(b, start, 0);
}

static void put_param(struct buf *b, const struct wr_score_function *f)
{
    size_t start = pb_open(b, 4, 0);

    if (f->param_type == PARAM_DATE) {
        if (f->has_origin_ns)
            pb_put_int(b, 1, f->origin_ns);
        search_put_optional(b, 2, f->origin_text);
        search_put_interval(b, 3, &f->scale_interval);
        search_put_interval(b, 4, &f->offset_interval);
    } else {
        if (f->param_type == PARAM_GEO)
            search_put_optional(b, 1, f->origin_text);
        else
            pb_put_double(b, 1, f->origin);
        pb_put_double(b, 2, f->scale);
        pb_put_double(b, 3, f->offset);
    }
    pb_close(b, start, 0);
}

static void put_decay(struct buf *b, const struct wr_score_function *f)
{
    size_t start = pb_open(b, 3, 0);

    pb_put_bytes(b, 1, f->field);
    pb_put_int(b, 2, f->curve);
    pb_put_int(b, 3, f->param_type);
    put_param(b, f);
    pb_put_double(b, 5, f->decay);
    search_put_given(b, 6, f->multi_value);
    pb_close(b, start, 0);
}

static void put_function(struct buf *b, const struct wr_score_function *f)
{
    size_t start = pb_open(b, 2, 0);

    if (f->type == WR_SCORE_FIELD_VALUE)
        put_field_value(b, f);
    else if (f->type == WR_SCORE_RANDOM)
        pb_put_bytes(b, 2, BYTES_LIT(""));
    else if (f->type == WR_SCORE_DECAY)
        put_decay(b, f);
    if (f->weight != 1)
        pb_put_float(b, 4, f->weight);
    if (f->filter)
        search_put_condition(b, 5, f->filter);
    pb_close(b, start, 0);
}

void search_put_functions(struct buf *b, const struct wr_functions_condition *f)
{
    if (f->query)
        search_put_condition(b, 1, f->query);
    for (size_t i = 0; i < f->count; i++)
        put_function(b, &f->functions[i]);
    search_put_given(b, 3, f->score_mode);
    search_put_given(b, 4, f->combine_mode);
    if (f->has_min)
        pb_put_float(b, 5, f->min_score);
    if (f->has_max)
        pb_put_float(b, 6, f->max_score);
}
