#include "search/result/sort.h"

#include "base/buf.h"
#include "search/field/geo.h"

#include <xxhash.h>

/* ---- from a request ---- */

static int check_sortable(struct ctx *c, const struct search_field *f, bytes name, bool geo)
{
    if (!f)
        return fail(c, E_PARAMETER, "[sort] field: %.*s does not exist", BYTES_FMT(name));
    if (geo ? f->type != WR_FIELD_GEO_POINT
            : (f->kind != FIELD_NUMBER && f->kind != FIELD_ORDINAL) ||
                  f->type == WR_FIELD_GEO_POINT || f->type == WR_FIELD_FUZZY_KEYWORD)
        return fail(c, E_PARAMETER, "[sort] field_name:%.*s type:%s is invalid", BYTES_FMT(name),
                    search_type_name(f->type));
    return E_OK;
}

static bool is_real(const struct search_field *f)
{
    return f->type == WR_FIELD_DOUBLE;
}

static int make_missing(struct ctx *c, const struct search_schema *s, const struct wr_sorter *from,
                        struct sort_by *by)
{
    const struct search_field *f = &s->fields[by->field], *other;
    struct document_value v = {0};

    by->missing.place = SORT_LAST;
    if (from->missing_field.ptr) {
        other = search_schema_find(s, from->missing_field, &by->missing_field);
        TRY(check_sortable(c, other, from->missing_field, false));
        if (other->kind != f->kind)
            return fail(c, E_PARAMETER,
                        "[sort] missing_field:%.*s is of another type than its field",
                        BYTES_FMT(from->missing_field));
        by->has_missing_field = true;
        by->as_real |= is_real(f) != is_real(other);
    }
    if (from->missing.type == WR_NULL)
        return E_OK;
    if (from->missing.type == WR_VARCHAR &&
        (bytes_equal(from->missing.bytes, BYTES_LIT("_first")) ||
         bytes_equal(from->missing.bytes, BYTES_LIT("_last")))) {
        by->missing.place =
            bytes_equal(from->missing.bytes, BYTES_LIT("_first")) ? SORT_FIRST : SORT_LAST;
        return E_OK;
    }
    if (!document_convert(&c->arena, f, &from->missing, &v))
        return fail(c, E_PARAMETER, "[sort] the missing_value of field %.*s does not fit its type",
                    BYTES_FMT(from->field));
    by->missing = (struct sort_value){SORT_VALUE, v.number, v.text};
    return E_OK;
}

static int make_field(struct ctx *c, const struct search_schema *s, const struct wr_sorter *from,
                      struct sort_by *by)
{
    const struct search_field *f = search_schema_find(s, from->field, &by->field);

    TRY(check_sortable(c, f, from->field, false));
    by->texts = f->kind == FIELD_ORDINAL;
    by->mode = from->mode ? from->mode : by->descending ? WR_SORT_MODE_MAX : WR_SORT_MODE_MIN;
    if (by->mode == WR_SORT_MODE_AVG && by->texts)
        by->mode = WR_SORT_MODE_MIN;
    by->as_real = by->mode == WR_SORT_MODE_AVG && !is_real(f);
    TRY(make_missing(c, s, from, by));
    if (by->as_real && !is_real(f) && by->missing.place == SORT_VALUE)
        by->missing.number = number_of_real((double)by->missing.number);
    return E_OK;
}

static int make_geo(struct ctx *c, const struct search_schema *s, const struct wr_sorter *from,
                    struct sort_by *by)
{
    const struct search_field *f = search_schema_find(s, from->field, &by->field);
    struct geo_point p;

    TRY(check_sortable(c, f, from->field, true));
    by->mode = from->mode ? from->mode : by->descending ? WR_SORT_MODE_MAX : WR_SORT_MODE_MIN;
    by->missing.place = SORT_LAST;
    if (!from->point_count || from->point_count > SORT_POINTS_MAX)
        return fail(c, E_PARAMETER, "[sort] a geo distance sort has 1 to %d points",
                    SORT_POINTS_MAX);
    for (size_t i = 0; i < from->point_count; i++)
        if (!geo_of_text(from->points[i], &p, &by->lats[i], &by->lons[i]))
            return fail(c, E_PARAMETER, "[sort] '%.*s' is no point", BYTES_FMT(from->points[i]));
    by->points = from->point_count;
    return E_OK;
}

int sort_make(struct ctx *c, const struct search_schema *s, const struct wr_sort *given,
              struct sort *out)
{
    const struct wr_sort *from = given->given && given->count ? given : &s->d->index_sort;
    size_t count = from->given ? from->count : 0;
    bool score_first = !count && s->has_nested;

    *out = (struct sort){.schema = s, .key_breaks = !given->no_default_key_sorter};
    if (count > SORTERS_MAX)
        return fail(c, E_PARAMETER, "[sort] there are at most %d sorters", SORTERS_MAX);
    if (score_first) {
        out->by[0] = (struct sort_by){.type = WR_SORTER_SCORE, .descending = true};
        out->count = 1;
        out->scores = true;
    }
    for (size_t i = 0; i < count; i++) {
        const struct wr_sorter *sorter = &from->sorters[i];
        struct sort_by *by = &out->by[out->count];

        *by = (struct sort_by){.type = sorter->type, .descending = sorter->order == WR_ORDER_DESC};
        switch (sorter->type) {
        case WR_SORTER_FIELD:
            TRY(make_field(c, s, sorter, by));
            break;
        case WR_SORTER_GEO:
            TRY(make_geo(c, s, sorter, by));
            break;
        case WR_SORTER_SCORE:
            out->scores = true;
            break;
        case WR_SORTER_KEY:
            by->texts = true;
            out->key_breaks = true;
            break;
        default:
            return fail(c, E_PARAMETER, "[sort] a doc sort is for inner hits only");
        }
        out->count++;
        if (sorter->type == WR_SORTER_KEY)
            break; /* no two hits are equal behind it */
    }
    if (out->count == 1 && out->by[0].type == WR_SORTER_KEY && !out->by[0].descending)
        out->count = 0;
    out->by_key = !out->count;
    out->key_breaks |= out->by_key;
    return E_OK;
}

/* ---- of a hit ---- */

static int64_t as_number(const struct sort_by *by, const struct search_field *f, int64_t number)
{
    return by->as_real && !is_real(f) ? number_of_real((double)number) : number;
}

static int64_t mean(const struct search_field *f, const int64_t *numbers, uint32_t count)
{
    double sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += is_real(f) ? real_of_number(numbers[i]) : (double)numbers[i];
    return number_of_real(sum / count);
}

static bool number_of(const struct sort_by *by, const struct search_field *f,
                      const struct segment_column *col, uint32_t doc, int64_t *out)
{
    uint32_t first = column_first(col, doc), end = column_first(col, doc + 1);

    if (first == end)
        return false;
    *out = col->numbers[first];
    if (by->mode == WR_SORT_MODE_AVG) {
        *out = mean(f, col->numbers + first, end - first);
        return true;
    }
    for (uint32_t i = first + 1; i < end; i++)
        if (by->mode == WR_SORT_MODE_MAX ? col->numbers[i] > *out : col->numbers[i] < *out)
            *out = col->numbers[i];
    *out = as_number(by, f, *out);
    return true;
}

static bool text_of(const struct sort_by *by, const struct segment_column *col, uint32_t doc,
                    bytes *out)
{
    uint32_t first = column_first(col, doc), end = column_first(col, doc + 1), best;

    if (first == end)
        return false;
    best = col->ordinals[first];
    for (uint32_t i = first + 1; i < end; i++)
        if (by->mode == WR_SORT_MODE_MAX ? col->ordinals[i] > best : col->ordinals[i] < best)
            best = col->ordinals[i];
    *out = column_term(col, best);
    return true;
}

static bool value_of(const struct sort *sort, const struct sort_by *by, size_t field,
                     const struct segment *s, uint32_t doc, struct sort_value *out)
{
    const struct segment_column *col = &s->columns[field];

    out->place = SORT_VALUE;
    return by->texts ? text_of(by, col, doc, &out->text)
                     : number_of(by, &sort->schema->fields[field], col, doc, &out->number);
}

static double nearest(const struct sort_by *by, int64_t number)
{
    struct geo_point p = document_unpack_point(number);
    double best = 0;

    for (size_t i = 0; i < by->points; i++) {
        double d = geo_metres(by->lats[i], by->lons[i], geo_lat(p), geo_lon(p));

        best = i == 0 || d < best ? d : best;
    }
    return best;
}

static void geo_value(const struct sort_by *by, const struct segment_column *col, uint32_t doc,
                      struct sort_value *out)
{
    uint32_t first = column_first(col, doc), end = column_first(col, doc + 1);
    double best = 0, sum = 0;

    if (first == end) {
        *out = by->missing;
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        double d = nearest(by, col->numbers[i]);

        sum += d;
        if (i == first || (by->mode == WR_SORT_MODE_MAX ? d > best : d < best))
            best = d;
    }
    out->place = SORT_VALUE;
    out->number = number_of_real(by->mode == WR_SORT_MODE_AVG ? sum / (end - first) : best);
}

void sort_values(const struct sort *sort, const struct segment *s, uint32_t doc, float score,
                 struct sort_value *out)
{
    for (size_t i = 0; i < sort->count; i++, out++) {
        const struct sort_by *by = &sort->by[i];

        switch (by->type) {
        case WR_SORTER_SCORE:
            *out = (struct sort_value){SORT_VALUE, number_of_real(score), BYTES_NONE};
            break;
        case WR_SORTER_KEY:
            *out = (struct sort_value){SORT_VALUE, 0, segment_key(s, doc)};
            break;
        case WR_SORTER_GEO:
            geo_value(by, &s->columns[by->field], doc, out);
            break;
        default:
            if (!value_of(sort, by, by->field, s, doc, out) &&
                !(by->has_missing_field && value_of(sort, by, by->missing_field, s, doc, out)))
                *out = by->missing;
        }
    }
}

int sort_compare(const struct sort *sort, const struct sort_value *a, const struct sort_value *b)
{
    for (size_t i = 0; i < sort->count; i++) {
        const struct sort_by *by = &sort->by[i];
        int r;

        if (a[i].place != b[i].place)
            return a[i].place < b[i].place ? -1 : 1;
        if (a[i].place != SORT_VALUE)
            continue;
        r = by->texts ? bytes_compare(a[i].text, b[i].text)
                      : (a[i].number > b[i].number) - (a[i].number < b[i].number);
        if (r)
            return by->descending ? -r : r;
    }
    return 0;
}

/* ---- tokens ----
 *
 *   version 1 | sorters, each as below | key_breaks | values | key | checksum of all before (4)
 *
 * So a token needs nothing of the server that gave it, nor of the segments that were there. */

#define TOKEN_VERSION 1

static void put_value(struct buf *b, const struct sort_by *by, const struct sort_value *v)
{
    buf_put_u8(b, (uint8_t)v->place);
    if (v->place != SORT_VALUE)
        return;
    if (by->texts)
        buf_put_counted(b, v->text);
    else
        buf_put_u64(b, (uint64_t)v->number);
}

static void read_value(struct reader *r, const struct sort_by *by, struct sort_value *v)
{
    *v = (struct sort_value){.place = read_u8(r)};
    if (v->place > SORT_LAST)
        r->bad = true;
    if (v->place != SORT_VALUE)
        return;
    if (by->texts)
        v->text = read_counted(r);
    else
        v->number = (int64_t)read_u64(r);
}

static void put_real(struct buf *b, double v)
{
    buf_put_u64(b, (uint64_t)number_of_real(v));
}

static void put_sorter(struct buf *b, const struct sort *sort, const struct sort_by *by)
{
    buf_put_u8(b, (uint8_t)by->type);
    buf_put_u8(b, by->descending);
    if (by->type != WR_SORTER_FIELD && by->type != WR_SORTER_GEO)
        return;
    buf_put_counted(b, sort->schema->fields[by->field].name);
    buf_put_u8(b, (uint8_t)by->mode);
    buf_put_u8(b, by->as_real);
    put_value(b, by, &by->missing);
    buf_put_u8(b, by->has_missing_field);
    if (by->has_missing_field)
        buf_put_counted(b, sort->schema->fields[by->missing_field].name);
    buf_put_varint(b, by->points);
    for (size_t i = 0; i < by->points; i++) {
        put_real(b, by->lats[i]);
        put_real(b, by->lons[i]);
    }
}

static void read_sorter(struct reader *r, const struct search_schema *s, struct sort_by *by)
{
    const struct search_field *f;

    *by = (struct sort_by){.type = read_u8(r), .descending = read_u8(r)};
    by->texts = by->type == WR_SORTER_KEY;
    if (by->type != WR_SORTER_FIELD && by->type != WR_SORTER_GEO) {
        r->bad |= by->type != WR_SORTER_SCORE && by->type != WR_SORTER_KEY;
        return;
    }
    f = search_schema_find(s, read_counted(r), &by->field);
    if (!f || (f->kind != FIELD_NUMBER && f->kind != FIELD_ORDINAL) ||
        (by->type == WR_SORTER_GEO && f->type != WR_FIELD_GEO_POINT)) {
        r->bad = true;
        return;
    }
    by->texts = f->kind == FIELD_ORDINAL;
    by->mode = read_u8(r);
    by->as_real = read_u8(r);
    read_value(r, by, &by->missing);
    by->has_missing_field = read_u8(r);
    if (by->has_missing_field) {
        const struct search_field *other =
            search_schema_find(s, read_counted(r), &by->missing_field);

        r->bad |= !other || other->kind != f->kind;
    }
    by->points = read_varint(r);
    r->bad |= by->points > SORT_POINTS_MAX || (by->type == WR_SORTER_GEO && !by->points);
    for (size_t i = 0; !r->bad && i < by->points; i++) {
        by->lats[i] = real_of_number((int64_t)read_u64(r));
        by->lons[i] = real_of_number((int64_t)read_u64(r));
    }
}

bytes sort_token(struct arena *a, const struct sort *sort, const struct sort_value *values,
                 bytes key)
{
    struct buf b;

    buf_init(&b, a, 128);
    buf_put_u8(&b, TOKEN_VERSION);
    buf_put_u8(&b, (uint8_t)sort->count);
    for (size_t i = 0; i < sort->count; i++)
        put_sorter(&b, sort, &sort->by[i]);
    buf_put_u8(&b, sort->key_breaks);
    for (size_t i = 0; i < sort->count; i++)
        put_value(&b, &sort->by[i], &values[i]);
    buf_put_counted(&b, key);
    buf_put_u32(&b, (uint32_t)XXH3_64bits(b.data, b.len));
    return buf_bytes(&b);
}

int sort_read_token(struct ctx *c, const struct search_schema *s, bytes token, struct sort *sort,
                    struct sort_value *values, bytes *key)
{
    struct reader r = reader_of(token);
    size_t count;

    *sort = (struct sort){.schema = s};
    if (token.len < 8 || load_u32(r.end - 4) != (uint32_t)XXH3_64bits(token.ptr, token.len - 4))
        return fail(c, E_PARAMETER, "Invalid token of a search: it is not as it was given.");
    r.end -= 4;
    r.bad = read_u8(&r) != TOKEN_VERSION;
    count = read_u8(&r);
    r.bad |= count > SORTERS_MAX;
    for (size_t i = 0; !r.bad && i < count; i++) {
        read_sorter(&r, s, &sort->by[i]);
        sort->scores |= sort->by[i].type == WR_SORTER_SCORE;
        sort->count++;
    }
    sort->key_breaks = read_u8(&r);
    for (size_t i = 0; !r.bad && i < count; i++)
        read_value(&r, &sort->by[i], &values[i]);
    *key = read_counted(&r);
    if (r.bad || reader_left(&r))
        return fail(c, E_PARAMETER, "Invalid token of a search: it is of another index.");
    sort->by_key = !count;
    return E_OK;
}
