#include "sql/run/convert.h"

#include "base/floor_div.h"
#include "base/number.h"
#include "sql/calendar.h"
#include "sql/run/json_text.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DECIMAL_DIGITS_MAX 38
#define TEXT_SHOWN_MAX 64

enum converted { CONVERTED, OUT_OF_RANGE, TOO_LONG, NO_VALUE };

static const struct {
    const char *name;
    int64_t min, max;
} types[] = {
    [WR_BOOLEAN] = {"boolean", 0, 1},
    [WR_TINYINT] = {"integer", INT8_MIN, INT8_MAX},
    [WR_SMALLINT] = {"integer", INT16_MIN, INT16_MAX},
    [WR_INTEGER] = {"integer", INT32_MIN, INT32_MAX},
    [WR_BIGINT] = {"integer", INT64_MIN, INT64_MAX},
    [WR_UBIGINT] = {"integer", 0, INT64_MAX},
    [WR_FLOAT] = {"float", 0, 0},
    [WR_DOUBLE] = {"double", 0, 0},
    [WR_DECIMAL] = {"decimal", 0, 0},
    [WR_VARCHAR] = {"string", 0, 0},
    [WR_CHAR] = {"string", 0, 0},
    [WR_BINARY] = {"binary", 0, 0},
    [WR_VARBINARY] = {"binary", 0, 0},
    [WR_DATE] = {"date", 0, 0},
    [WR_TIME] = {"time", 0, 0},
    [WR_TIMESTAMP] = {"datetime", 0, 0},
    [WR_JSON] = {"json", 0, 0},
};

bytes convert_text(struct arena *a, const struct wr_value *v)
{
    switch (v->type) {
    case WR_NULL:
        return BYTES_LIT("NULL");
    case WR_BOOLEAN:
        return v->boolean ? BYTES_LIT("1") : BYTES_LIT("0");
    case WR_TINYINT:
    case WR_SMALLINT:
    case WR_INTEGER:
    case WR_BIGINT:
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return arena_printf(a, "%" PRId64, v->integer);
    case WR_UBIGINT:
        return arena_printf(a, "%" PRIu64, v->uinteger);
    case WR_FLOAT:
    case WR_DOUBLE:
        return arena_printf(a, "%.17g", v->real);
    default:
        return v->bytes;
    }
}

bytes convert_shown(struct arena *a, const struct wr_value *v)
{
    char text[CALENDAR_TEXT];
    size_t n = calendar_format(v, text);

    return n ? arena_copy(a, bytes_of(text, n)) : convert_text(a, v);
}

bool convert_has_bytes(const struct wr_value *v)
{
    return (v->type >= WR_DECIMAL && v->type <= WR_VARBINARY) || v->type == WR_JSON;
}

struct wr_value convert_copy(struct arena *a, const struct wr_value *v)
{
    struct wr_value copy = *v;

    if (convert_has_bytes(v))
        copy.bytes = arena_copy(a, v->bytes);
    return copy;
}

/* A number as a text has it, whole or not. */
static bool real_of_text(bytes text, double *out)
{
    char copy[64], *end;

    if (!text.len || text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *out = strtod(copy, &end);
    return end == copy + text.len && isfinite(*out);
}

static enum converted to_unsigned(const struct wr_value *in, uint64_t *out)
{
    char copy[32], *end;

    if (in->type == WR_UBIGINT) {
        *out = in->uinteger;
        return CONVERTED;
    }
    if (convert_has_bytes(in) && in->bytes.len && in->bytes.len < sizeof(copy) &&
        bytes_u8(in->bytes)[0] != '-' && bytes_u8(in->bytes)[0] != '+') {
        memcpy(copy, in->bytes.ptr, in->bytes.len);
        copy[in->bytes.len] = 0;
        errno = 0;
        *out = strtoull(copy, &end, 10);
        return *end ? NO_VALUE : errno ? OUT_OF_RANGE : CONVERTED;
    }
    return NO_VALUE;
}

static enum converted integer_of_real(double v, bool exact, int64_t *out)
{
    if (v != floor(v) && exact)
        return NO_VALUE;
    v = round(v); /* as MySQL does */
    if (v < -9223372036854775808.0 || v >= 9223372036854775808.0)
        return OUT_OF_RANGE;
    *out = (int64_t)v;
    return CONVERTED;
}

static enum converted to_integer(const struct wr_value *in, bool exact, int64_t *out)
{
    double real;

    switch (in->type) {
    case WR_BOOLEAN:
        *out = in->boolean;
        return CONVERTED;
    case WR_UBIGINT:
        *out = (int64_t)in->uinteger;
        return in->uinteger <= INT64_MAX ? CONVERTED : OUT_OF_RANGE;
    case WR_FLOAT:
    case WR_DOUBLE:
        return integer_of_real(in->real, exact, out);
    default:
        break;
    }
    if (!convert_has_bytes(in)) {
        *out = in->integer;
        return CONVERTED;
    }
    if (number_integer(in->bytes, out))
        return CONVERTED;
    return real_of_text(in->bytes, &real) ? integer_of_real(real, exact, out) : NO_VALUE;
}

static enum converted to_real(const struct wr_value *in, double *out)
{
    int64_t integer = 0;

    if (in->type == WR_FLOAT || in->type == WR_DOUBLE) {
        *out = in->real;
        return CONVERTED;
    }
    if (in->type == WR_UBIGINT) {
        *out = (double)in->uinteger;
        return CONVERTED;
    }
    if (convert_has_bytes(in))
        return real_of_text(in->bytes, out) ? CONVERTED : NO_VALUE;
    to_integer(in, false, &integer);
    *out = (double)integer;
    return CONVERTED;
}

/* [-]digits[.digits], with no more than the column's digits behind the point. */
static enum converted to_decimal(struct arena *a, const struct table_column *column,
                                 const struct wr_value *in, bytes *out)
{
    bytes text = in->type == WR_FLOAT || in->type == WR_DOUBLE ? arena_printf(a, "%.15g", in->real)
                                                               : convert_text(a, in);
    size_t at = text.len && bytes_u8(text)[0] == '-', digits = 0, behind = 0;
    uint32_t precision = column->length >> 8, scale = column->length & 0xff;
    bool point = false;

    for (; at < text.len; at++) {
        uint8_t c = bytes_u8(text)[at];

        if (c == '.' && !point)
            point = true;
        else if (c < '0' || c > '9')
            return NO_VALUE;
        else
            digits++, behind += point;
    }
    if (!digits || (point && !behind))
        return NO_VALUE;
    if (digits > DECIMAL_DIGITS_MAX ||
        (precision && (digits - behind > precision - scale || behind > scale)))
        return OUT_OF_RANGE;
    *out = text;
    return CONVERTED;
}

static size_t characters(bytes text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++)
        n += (bytes_u8(text)[i] & 0xc0) != 0x80;
    return n;
}

/* Longer: cut if that is what the type does; shorter: padded. */
static enum converted to_fixed(struct arena *a, const struct table_column *column, bytes in,
                               bytes *out)
{
    uint8_t pad = column->type == WR_CHAR ? ' ' : 0, *to;

    if (in.len > column->length && column->type == WR_CHAR && column->length)
        return TOO_LONG;
    *out = in;
    if (!column->length || in.len == column->length)
        return CONVERTED;
    to = arena_alloc(a, column->length);
    memset(to, pad, column->length);
    memcpy(to, in.ptr, in.len < column->length ? in.len : column->length);
    *out = bytes_of(to, column->length);
    return CONVERTED;
}

static enum converted to_text(struct arena *a, const struct table_column *column,
                              const struct wr_value *in, bytes *out)
{
    bytes text = convert_shown(a, in);
    bool binary = column->type == WR_BINARY || column->type == WR_VARBINARY;

    if (!binary && !bytes_is_utf8(text))
        return NO_VALUE;
    if (column->type == WR_CHAR || column->type == WR_BINARY)
        return to_fixed(a, column, text, out);
    *out = text;
    return column->length && text.len > column->length &&
                   (binary ? text.len : characters(text)) > column->length
               ? TOO_LONG
               : CONVERTED;
}

/* The day of a moment that is written as a text is a DATE; what is compared stays what it is. */
static bool parse_date(bytes text, bool exact, int64_t *out)
{
    if (calendar_parse_date(text, out))
        return true;
    if (exact || !calendar_parse_timestamp(text, out))
        return false;
    *out = floor_div(*out, DAY_MS);
    return true;
}

static enum converted to_moment(const struct table_column *column, bool exact,
                                const struct wr_value *in, int64_t *out)
{
    bool found;

    if (in->type == column->type) {
        *out = in->integer;
        return CONVERTED;
    }
    if (in->type == WR_TIMESTAMP && column->type == WR_DATE) {
        *out = floor_div(in->integer, DAY_MS);
        return CONVERTED;
    }
    if (in->type == WR_TIMESTAMP && column->type == WR_TIME) {
        *out = (in->integer % DAY_MS + DAY_MS) % DAY_MS;
        return CONVERTED;
    }
    if (in->type == WR_DATE && column->type == WR_TIMESTAMP) {
        *out = in->integer * DAY_MS;
        return CONVERTED;
    }
    if (!convert_has_bytes(in) && column->type == WR_TIMESTAMP &&
        to_integer(in, false, out) == CONVERTED)
        return *out >= CALENDAR_MS_MIN && *out <= CALENDAR_MS_MAX ? CONVERTED : OUT_OF_RANGE;
    if (!convert_has_bytes(in))
        return NO_VALUE;
    found = column->type == WR_DATE   ? parse_date(in->bytes, exact, out)
            : column->type == WR_TIME ? calendar_parse_time(in->bytes, out)
                                      : calendar_parse_timestamp(in->bytes, out);
    return found ? CONVERTED : NO_VALUE;
}

/* `in` and `out` may be the same. `exact`: a number is not rounded. */
static enum converted convert(struct arena *a, const struct table_column *column, bool exact,
                              const struct wr_value *from, struct wr_value *out)
{
    const struct wr_value copy = *from, *in = &copy;
    enum converted how;
    int64_t integer = 0;

    *out = (struct wr_value){.type = in->type == WR_NULL ? WR_NULL : column->type};
    if (in->type == WR_NULL)
        return CONVERTED;
    switch (column->type) {
    case WR_FLOAT:
        how = to_real(in, &out->real);
        return how == CONVERTED && fabs(out->real) > FLT_MAX ? OUT_OF_RANGE : how;
    case WR_DOUBLE:
        return to_real(in, &out->real);
    case WR_DECIMAL:
        return to_decimal(a, column, in, &out->bytes);
    case WR_DATE:
    case WR_TIME:
    case WR_TIMESTAMP:
        return to_moment(column, exact, in, &out->integer);
    case WR_VARCHAR:
    case WR_CHAR:
    case WR_BINARY:
    case WR_VARBINARY:
    case WR_JSON:
        return to_text(a, column, in, &out->bytes);
    default:
        break;
    }
    if (column->type == WR_UBIGINT && to_unsigned(in, &out->uinteger) == CONVERTED)
        return CONVERTED;
    how = to_integer(in, exact, &integer);
    if (how == CONVERTED &&
        (integer < types[column->type].min || integer > types[column->type].max))
        how = OUT_OF_RANGE;
    if (column->type == WR_BOOLEAN)
        out->boolean = integer == 1;
    else
        out->integer = integer;
    return how;
}

bool convert_try(struct arena *a, const struct table_column *column, const struct wr_value *in,
                 struct wr_value *out)
{
    struct table_column any = *column;

    /* Comparing with what is longer than declared is no mistake, and such values may be there: who
     * writes without SQL minds no lengths. */
    if (any.type == WR_VARCHAR || any.type == WR_VARBINARY ||
        (any.type == WR_DECIMAL && any.declared))
        any.length = 0;
    return convert(a, &any, true, in, out) == CONVERTED;
}

/* Of a column that is not declared: as what Tablestore's cells may be. */
static int undeclared_value(struct run *r, const struct wr_value *in, struct wr_value *out)
{
    static const struct table_column real = {.type = WR_DOUBLE};

    *out = *in;
    if (in->type == WR_DECIMAL || in->type == WR_FLOAT)
        return convert_value(r, &real, in, out);
    if (in->type != WR_NULL && in->type != WR_BOOLEAN && in->type != WR_BIGINT &&
        in->type != WR_DOUBLE && in->type != WR_VARBINARY)
        *out = (struct wr_value){.type = WR_VARCHAR, .bytes = convert_shown(r->arena, in)};
    return 0;
}

/* One text that is none would fail every later statement that reads the column as JSON. */
static int json_check(struct run *r, const struct table_column *column, bytes text)
{
    size_t at;

    return json_text_valid(text, &at) ? 0
                                      : run_fail(r, FAULT_JSON_VALUE, at, RUN_TEXT(column->name));
}

int convert_value(struct run *r, const struct table_column *column, const struct wr_value *in,
                  struct wr_value *out)
{
    const struct wr_value from = *in;
    enum converted how;
    bytes text;

    if (column->type == WR_NULL)
        return undeclared_value(r, &from, out);
    how = convert(r->arena, column, false, in, out);
    if (how == CONVERTED && column->type == WR_JSON && out->type == WR_JSON)
        return json_check(r, column, out->bytes);
    if (how == CONVERTED)
        return 0;
    text = convert_shown(r->arena, &from);
    if (how == TOO_LONG)
        return run_fail(r, FAULT_TOO_LONG, RUN_TEXT(column->name), characters(text),
                        column->length);
    if (text.len > TEXT_SHOWN_MAX)
        text.len = TEXT_SHOWN_MAX;
    if (how == OUT_OF_RANGE)
        return run_fail(r, FAULT_RANGE, RUN_TEXT(column->name), RUN_TEXT(text));
    return run_fail(
        r, column->type >= WR_DATE && column->type <= WR_TIMESTAMP ? FAULT_MOMENT : FAULT_VALUE,
        types[column->type].name, RUN_TEXT(text), RUN_TEXT(column->name));
}

/* Digits as the narrowest of the number types that has them. */
static void number_of(bytes digits, bool negative, struct arena *a, struct wr_value *out)
{
    bytes text = negative ? arena_printf(a, "-%.*s", RUN_TEXT(digits)) : digits;
    struct wr_value in = {.type = WR_VARCHAR, .bytes = text};

    out->type = WR_BIGINT;
    if (number_integer(text, &out->integer))
        return;
    out->type = WR_UBIGINT;
    if (to_unsigned(&in, &out->uinteger) == CONVERTED)
        return;
    *out = (struct wr_value){.type = WR_DECIMAL, .bytes = text};
}

static void negate(struct arena *a, struct wr_value *v)
{
    switch (v->type) {
    case WR_BIGINT:
        if (v->integer == INT64_MIN)
            *v = (struct wr_value){.type = WR_UBIGINT, .uinteger = (uint64_t)INT64_MAX + 1};
        else
            v->integer = -v->integer;
        break;
    case WR_UBIGINT:
        number_of(convert_text(a, v), true, a, v);
        break;
    case WR_DOUBLE:
        v->real = -v->real;
        break;
    default:
        break;
    }
}

bool convert_constant(struct run *r, const struct expr *e, struct wr_value *out)
{
    *out = (struct wr_value){.type = WR_NULL};
    switch (e->type) {
    case EXPR_NULL:
        return true;
    case EXPR_BOOLEAN:
        *out = (struct wr_value){.type = WR_BOOLEAN, .boolean = e->index};
        return true;
    case EXPR_INTEGER:
        number_of(e->text, false, r->arena, out);
        return true;
    case EXPR_REAL:
        /* A DECIMAL column wants every digit, so it stays a text until the column is known. */
        *out = (struct wr_value){.type = WR_DECIMAL, .bytes = e->text};
        return true;
    case EXPR_TEXT:
        *out = (struct wr_value){.type = WR_VARCHAR, .bytes = e->text};
        return true;
    case EXPR_BLOB:
        *out = (struct wr_value){.type = WR_VARBINARY, .bytes = e->text};
        return true;
    case EXPR_PARAMETER:
        *out = r->parameters[e->index];
        return true;
    case EXPR_UNARY:
        if (e->op != OP_NEGATE || !convert_constant(r, e->left, out))
            return false;
        if (out->type == WR_DECIMAL) /* never two signs: SQLite would read a comment */
            out->bytes = bytes_starts(out->bytes, BYTES_LIT("-"))
                             ? bytes_skip(out->bytes, 1)
                             : arena_printf(r->arena, "-%.*s", RUN_TEXT(out->bytes));
        else
            negate(r->arena, out);
        return out->type != WR_NULL && out->type != WR_VARCHAR;
    default:
        return false;
    }
}
