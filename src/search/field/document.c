#include "search/field/document.h"

#include "row_value.h"
#include "search/field/geo.h"
#include "search/field/ip.h"
#include "search/field/json_array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int64_t document_pack_point(const struct geo_point *p)
{
    return (int64_t)((uint64_t)(uint32_t)p->lat << 32 | (uint32_t)p->lon);
}

struct geo_point document_unpack_point(int64_t number)
{
    return (struct geo_point){(int32_t)(number >> 32), (int32_t)(uint32_t)number};
}

/* A whole text as a number; blanks are not taken. */
static bool read_real(bytes text, double *out)
{
    char digits[64];
    char *end;

    if (!text.len || text.len >= sizeof(digits))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char ch = ((const char *)text.ptr)[i];

        if (!(ch >= '0' && ch <= '9') && (!ch || !strchr("+-.eE", ch)))
            return false;
    }
    memcpy(digits, text.ptr, text.len);
    digits[text.len] = 0;
    *out = strtod(digits, &end);
    return *end == 0 && isfinite(*out);
}

static bool read_integer(bytes text, int64_t *out)
{
    const char *p = text.ptr;
    size_t i = text.len && (p[0] == '-' || p[0] == '+');
    uint64_t v = 0, max = INT64_MAX;

    if (i == text.len)
        return false;
    max += text.len && p[0] == '-';
    for (; i < text.len; i++) {
        if (p[i] < '0' || p[i] > '9' || v > (max - (uint64_t)(p[i] - '0')) / 10)
            return false;
        v = v * 10 + (uint64_t)(p[i] - '0');
    }
    *out = p[0] == '-' ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static bool convert_long(const struct wr_value *v, int64_t *out)
{
    double real;

    switch (v->type) {
    case WR_BIGINT:
        *out = v->integer;
        return true;
    case WR_DOUBLE:
        if (!(v->real >= -0x1p63 && v->real < 0x1p63))
            return false;
        *out = (int64_t)v->real;
        return true;
    case WR_VARCHAR:
        if (read_integer(v->bytes, out))
            return true;
        if (!read_real(v->bytes, &real) || !(real >= -0x1p63 && real < 0x1p63))
            return false;
        *out = (int64_t)real;
        return true;
    default:
        return false;
    }
}

static bool convert_double(const struct wr_value *v, int64_t *out)
{
    double real = 0;

    if (v->type == WR_BIGINT)
        real = (double)v->integer;
    else if (v->type == WR_DOUBLE)
        real = v->real;
    else if (v->type != WR_VARCHAR || !read_real(v->bytes, &real))
        return false;
    if (isnan(real))
        return false;
    *out = number_of_real(real);
    return true;
}

static bool convert_boolean(const struct wr_value *v, int64_t *out)
{
    if (v->type == WR_VARCHAR && bytes_equal(v->bytes, BYTES_LIT("true")))
        *out = 1;
    else if (v->type == WR_VARCHAR && bytes_equal(v->bytes, BYTES_LIT("false")))
        *out = 0;
    else if (v->type == WR_BOOLEAN)
        *out = v->boolean;
    else
        return false;
    return true;
}

static bool convert_date(const struct search_field *f, const struct wr_value *v, int64_t *out)
{
    if (v->type == WR_BIGINT)
        return date_of_integer(f->dates, v->integer, out);
    return v->type == WR_VARCHAR && date_of_text(f->dates, v->bytes, out);
}

static bool convert_point(const struct wr_value *v, int64_t *out)
{
    struct geo_point p;
    double lat, lon;

    if (v->type != WR_VARCHAR || !geo_of_text(v->bytes, &p, &lat, &lon))
        return false;
    *out = document_pack_point(&p);
    return true;
}

/* A number as a virtual field's text: decimal, doubles in their shortest form, with a fraction. */
static bytes text_of_number(struct arena *a, const struct wr_value *v)
{
    char text[40];

    if (v->type == WR_BIGINT)
        return arena_printf(a, "%lld", (long long)v->integer);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v->real);
        if (strtod(text, NULL) == v->real)
            break;
    }
    return strpbrk(text, ".en") ? arena_printf(a, "%s", text) : arena_printf(a, "%s.0", text);
}

static bool convert_text(struct arena *a, const struct search_field *f, const struct wr_value *v,
                         bytes *out)
{
    size_t max = f->type == WR_FIELD_KEYWORD         ? DOCUMENT_KEYWORD_BYTES_MAX
                 : f->type == WR_FIELD_FUZZY_KEYWORD ? DOCUMENT_FUZZY_BYTES_MAX
                                                     : DOCUMENT_TEXT_BYTES_MAX;

    if (v->type == WR_VARCHAR)
        *out = v->bytes;
    else if (f->is_virtual && (v->type == WR_BIGINT || v->type == WR_DOUBLE))
        *out = text_of_number(a, v);
    else
        return false;
    return out->len <= max;
}

static bool convert_ip(struct arena *a, const struct wr_value *v, bytes *out)
{
    uint8_t *address = arena_alloc(a, 16);

    *out = bytes_of(address, 16);
    return v->type == WR_VARCHAR && ip_of_text(v->bytes, address);
}

bool document_is_whole(const struct wr_value *v)
{
    double real;

    if (v->type == WR_DOUBLE)
        return v->real == trunc(v->real);
    return v->type != WR_VARCHAR || !read_real(v->bytes, &real) || real == trunc(real);
}

bool document_convert(struct arena *a, const struct search_field *f, const struct wr_value *v,
                      struct document_value *out)
{
    switch (f->type) {
    case WR_FIELD_LONG:
        return convert_long(v, &out->number);
    case WR_FIELD_DOUBLE:
        return convert_double(v, &out->number);
    case WR_FIELD_BOOLEAN:
        return convert_boolean(v, &out->number);
    case WR_FIELD_DATE:
        return convert_date(f, v, &out->number);
    case WR_FIELD_GEO_POINT:
        return convert_point(v, &out->number);
    case WR_FIELD_IP:
        return convert_ip(a, v, &out->text);
    case WR_FIELD_KEYWORD:
    case WR_FIELD_FUZZY_KEYWORD:
    case WR_FIELD_TEXT:
        return convert_text(a, f, v, &out->text);
    default:
        return false;
    }
}

/* Does a cell's own type fit the field? A query's value may be of another type; a cell's not,
 * unless the field is virtual. */
static bool cell_fits(const struct search_field *f, const struct wr_value *v)
{
    if (f->is_virtual || f->is_array)
        return true;
    switch (f->type) {
    case WR_FIELD_LONG:
        return v->type == WR_BIGINT;
    case WR_FIELD_DOUBLE:
        return v->type == WR_DOUBLE || v->type == WR_BIGINT;
    case WR_FIELD_BOOLEAN:
        return v->type == WR_BOOLEAN;
    default:
        return true;
    }
}

static void fill_array(struct ctx *c, const struct search_field *f, const struct wr_value *v,
                       struct document_field *out)
{
    struct wr_value elements[DOCUMENT_ELEMENTS_MAX];
    size_t count;

    if (v->type != WR_VARCHAR ||
        !json_array_read(&c->arena, v->bytes, elements, DOCUMENT_ELEMENTS_MAX, &count))
        return;
    out->values = ARENA_ARRAY(&c->arena, struct document_value, count);
    for (size_t i = 0; i < count; i++)
        if (!document_convert(&c->arena, f, &elements[i], &out->values[i]))
            return;
    out->count = count;
}

/* A vector: a JSON array of numbers, or the floats as they are. */
static void fill_vector(struct ctx *c, const struct search_field *f, const struct wr_value *v,
                        struct document_field *out)
{
    float *floats = arena_alloc(&c->arena, f->dimension * sizeof(floats[0]));
    struct wr_value *elements;
    size_t count;

    out->values = ARENA_NEW(&c->arena, struct document_value);
    out->values->text = bytes_of(floats, f->dimension * sizeof(floats[0]));
    if (v->type == WR_VARBINARY && v->bytes.len == out->values->text.len) {
        memcpy(floats, v->bytes.ptr, v->bytes.len);
    } else {
        elements = ARENA_ARRAY(&c->arena, struct wr_value, f->dimension);
        if (v->type != WR_VARCHAR ||
            !json_array_read(&c->arena, v->bytes, elements, f->dimension, &count) ||
            count != f->dimension)
            return;
        for (size_t i = 0; i < count; i++) {
            if (elements[i].type != WR_BIGINT && elements[i].type != WR_DOUBLE)
                return;
            floats[i] = elements[i].type == WR_BIGINT ? (float)elements[i].integer
                                                      : (float)elements[i].real;
        }
    }
    for (uint32_t i = 0; i < f->dimension; i++)
        if (!isfinite(floats[i]))
            return;
    out->count = 1;
}

static void fill_field(struct ctx *c, const struct search_field *f, const struct wr_value *v,
                       struct document_field *out)
{
    if (f->kind == FIELD_NONE)
        return;
    if (f->kind == FIELD_VECTOR) {
        fill_vector(c, f, v, out);
        return;
    }
    if (f->is_array) {
        fill_array(c, f, v, out);
        return;
    }
    out->values = ARENA_NEW(&c->arena, struct document_value);
    if (cell_fits(f, v) && document_convert(&c->arena, f, v, out->values))
        out->count = 1;
}

void document_fill(struct ctx *c, const struct search_schema *s, const struct wr_row *row,
                   struct document *doc)
{
    doc->fields = ARENA_ARRAY(&c->arena, struct document_field, s->count);
    doc->stamp_ms = 0;
    for (size_t i = 0; i < row->cell_count; i++)
        if (row->cells[i].timestamp_ms > doc->stamp_ms)
            doc->stamp_ms = row->cells[i].timestamp_ms;
    for (size_t i = 0; i < s->count; i++) {
        const struct wr_value *v = row_value(row, s->fields[i].column);

        if (v)
            fill_field(c, &s->fields[i], v, &doc->fields[i]);
    }
}
