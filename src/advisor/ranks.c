#include "advisor/ranks.h"

#include "advisor/radix.h"
#include "advisor/text_date.h"
#include "base/gregorian.h"
#include "base/port.h"

#include <math.h>
#include <stdlib.h>

/* ---- time ---- */

static bool take_number(const char **p, const char *end, int digits, int *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++) {
        if (*p == end || **p < '0' || **p > '9')
            return false;
        *out = *out * 10 + (*(*p)++ - '0');
    }
    return true;
}

static bool parse_date(bytes text, double *seconds)
{
    const char *p = text.ptr, *end = p + text.len;
    int year, month, day, hour = 0, minute = 0, second = 0;

    if (!take_number(&p, end, 4, &year) || p == end || (*p != '-' && *p != '/'))
        return false;
    p++;
    if (!take_number(&p, end, 2, &month) || p == end || (*p != '-' && *p != '/'))
        return false;
    p++;
    if (!take_number(&p, end, 2, &day) || month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    if (p != end && (*p == ' ' || *p == 'T')) {
        p++;
        if (!take_number(&p, end, 2, &hour))
            return false;
        if (p != end && *p == ':') {
            p++;
            if (!take_number(&p, end, 2, &minute))
                return false;
        }
        if (p != end && *p == ':') {
            p++;
            if (!take_number(&p, end, 2, &second))
                return false;
        }
    }
    *seconds =
        (double)(gregorian_number(year, month, day) * 86400 + hour * 3600 + minute * 60 + second);
    return true;
}

bool ranks_parse_time(bytes text, double *seconds)
{
    const double first = 946684800, last = 4102444800; /* the years 2000 and 2100 */
    char copy[24], *end;
    double v;

    if (text.len == 0 || text.len >= sizeof(copy))
        return text.len && parse_date(text, seconds);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    v = strtod(copy, &end);
    if (*end)
        return parse_date(text, seconds);
    for (double unit = 1; unit <= 1e6; unit *= 1000) {
        if (v >= first * unit && v < last * unit) {
            *seconds = v / unit;
            return true;
        }
    }
    return false;
}

/* ---- the columns ---- */

struct rank_entry {
    uint64_t key; /* a number's order, or a text's first eight bytes */
    bytes text;
    uint32_t record;
};

static int by_number(const void *left, const void *right)
{
    const struct rank_entry *a = left, *b = right;

    return a->key < b->key ? -1 : a->key > b->key;
}

static int by_text(const void *left, const void *right)
{
    const struct rank_entry *a = left, *b = right;

    return a->key < b->key ? -1 : a->key > b->key ? 1 : bytes_compare(a->text, b->text);
}

static uint64_t number_key(bytes text)
{
    const char *p = text.ptr;
    bool minus = text.len && *p == '-';
    uint64_t v = 0;

    for (size_t i = minus; i < text.len; i++)
        v = v * 10 + (uint64_t)(p[i] - '0');
    return (minus ? 0 - v : v) ^ 1ull << 63;
}

static uint64_t text_key(bytes text)
{
    uint64_t v = 0;

    for (size_t i = 0; i < 8; i++)
        v = v << 8 | (i < text.len ? bytes_u8(text)[i] : 0);
    return v;
}

static enum wr_type type_of(const struct survey_column *col)
{
    if (col->present == 0)
        return WR_VARCHAR;
    if (!col->not_integer && !col->padded)
        return WR_BIGINT;
    return !col->not_double && !col->padded ? WR_DOUBLE : WR_VARCHAR;
}

static void rank_column(struct ranks *r, size_t column, struct rank_entry *entries)
{
    struct rank_column *out = &r->columns[column];
    uint32_t n = 0;

    out->ranks = mem_zalloc(sizeof(*out->ranks) * r->count);
    for (uint32_t i = 0; i < r->count; i++) {
        bytes text = survey_sample_text(r->survey, i, column);

        if (text.ptr)
            entries[n++] = (struct rank_entry){
                out->type == WR_BIGINT ? number_key(text) : text_key(text), text, i};
    }
    qsort(entries, n, sizeof(*entries), out->type == WR_BIGINT ? by_number : by_text);
    out->values = mem_alloc(sizeof(*out->values) * n);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || !bytes_equal(entries[i].text, entries[i - 1].text))
            out->values[out->value_count++] = entries[i].text;
        out->ranks[entries[i].record] = (uint16_t)(out->value_count - 1);
    }
}

/* Many numbers could be seconds: they are only if the column's name says so. */
static bool named_like_time(bytes name)
{
    static const char *const hints[] = {"time", "date",    "stamp", "_at",
                                        "ts",   "created", "when",  SURVEY_WRITTEN};
    char lower[256];

    if (name.len >= sizeof(lower))
        return false;
    for (size_t i = 0; i < name.len; i++)
        lower[i] = (char)(bytes_u8(name)[i] | 0x20 * (bytes_u8(name)[i] != '_'));
    lower[name.len] = 0;
    for (size_t i = 0; i < PORT_COUNT(hints); i++)
        if (strstr(lower, hints[i]))
            return true;
    return false;
}

/* True if nearly every value is a time. */
static bool holds_times(const struct rank_column *col, bytes name)
{
    uint32_t step = col->value_count / 256 + 1, good = 0, seen = 0;
    double seconds;

    if (col->type != WR_VARCHAR && !named_like_time(name))
        return false;

    for (uint32_t i = 0; i < col->value_count; i += step, seen++)
        good += ranks_parse_time(col->values[i], &seconds);
    return col->value_count >= 2 && good * 100 >= seen * 99;
}

/* ---- the order of time ---- */

static uint64_t time_key(double seconds)
{
    return (uint64_t)(int64_t)(seconds * 1e6) ^ 1ull << 63;
}

static void order_by_time(struct ranks *r)
{
    uint64_t *keys;
    double before = 0;

    r->times = mem_zalloc(sizeof(*r->times) * (r->count + 1));
    keys = mem_alloc(sizeof(*keys) * (r->count + 1));
    for (uint32_t i = 0; i < r->count; i++) {
        bytes text = survey_sample_text(r->survey, i, r->time_column);

        if (!text.ptr || !ranks_parse_time(text, &r->times[i]))
            r->times[i] = before;
        before = r->times[i];
        keys[i] = time_key(before);
    }
    radix_sort(keys, r->order, r->count);
    if (r->count)
        r->seconds = r->times[r->order[r->count - 1]] - r->times[r->order[0]];
    r->ordered = true;
    mem_free(keys);
}

void ranks_init(struct ranks *r, const struct survey *s, size_t time_column, bool stream_ordered,
                const enum wr_type *types)
{
    struct rank_entry *entries = mem_alloc(sizeof(*entries) * (s->sample.count + 1));
    size_t written = SIZE_MAX;

    *r = (struct ranks){.survey = s, .count = s->sample.count, .ordered = stream_ordered};
    r->order = mem_alloc(sizeof(*r->order) * (r->count + 1));
    for (uint32_t i = 0; i < r->count; i++)
        r->order[i] = i;
    r->time_column = time_column;
    for (size_t i = 0; i < s->column_count; i++) {
        struct rank_column *col = &r->columns[i];

        col->type = types && types[i] != WR_NULL ? types[i] : type_of(&s->columns[i]);
        rank_column(r, i, entries);
        col->is_time = holds_times(col, s->columns[i].name);
        if (col->type == WR_VARCHAR)
            col->date_form = text_date_unsorted(col->values, col->value_count, &col->date_example);
        if (!col->is_time)
            continue;
        if (bytes_equal(s->columns[i].name, BYTES_LIT(SURVEY_WRITTEN)))
            written = i;
        else if (r->time_column == SIZE_MAX)
            r->time_column = i;
    }
    if (r->time_column == SIZE_MAX)
        r->time_column = written;
    mem_free(entries);
    if (r->time_column != SIZE_MAX)
        order_by_time(r);
}

void ranks_release(struct ranks *r)
{
    for (size_t i = 0; i < r->survey->column_count; i++) {
        mem_free(r->columns[i].ranks);
        mem_free(r->columns[i].values);
    }
    mem_free(r->order);
    mem_free(r->times);
}
