/* oracle_filter.c: filters and conditions, tried the plain way (doc/data-model.md, "Filters").
 * Regular expressions go through the C library's; generated ones stay within what both dialects
 * share. */
#include "oracle_part.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>

static size_t count_nodes(const struct wr_filter *f)
{
    size_t n = 1;

    if (f->type == WR_FILTER_COMPOSITE)
        for (size_t i = 0; i < f->composite.sub_count; i++)
            n += count_nodes(&f->composite.subs[i]);
    return n;
}

static bool compile(bytes pattern, regex_t *re)
{
    char text[300];

    if (pattern.len >= sizeof(text))
        return false;
    memcpy(text, pattern.ptr, pattern.len);
    text[pattern.len] = 0;
    return regcomp(re, text, REG_EXTENDED) == 0;
}

static int check_column(const struct oracle *o, const struct wr_column_filter *f)
{
    regex_t re;

    if (oracle_check_column_name(f->column))
        return WR_E_PARAMETER;
    /* Of EXIST and NOT_EXIST the value means nothing. */
    if (f->comparator <= WR_LESS_EQUAL &&
        (f->value.type == WR_VARCHAR || f->value.type == WR_VARBINARY) &&
        f->value.bytes.len > (size_t)o->limits.cell_bytes_max)
        return WR_E_PARAMETER;
    if (!f->regex.ptr)
        return WR_OK;
    if (f->regex.len > (size_t)o->limits.regex_bytes_max || !compile(f->regex, &re))
        return WR_E_PARAMETER;
    regfree(&re);
    return WR_OK;
}

static int check_node(const struct oracle *o, const struct wr_filter *f, bool condition)
{
    switch (f->type) {
    case WR_FILTER_COLUMN:
        return check_column(o, &f->column);
    case WR_FILTER_PAGE:
        return condition || f->page.offset < 0 || f->page.limit <= 0 ? WR_E_PARAMETER : WR_OK;
    case WR_FILTER_COMPOSITE:
        if (f->composite.combinator == WR_NOT ? f->composite.sub_count != 1
                                              : f->composite.sub_count < 2)
            return WR_E_PARAMETER;
        for (size_t i = 0; i < f->composite.sub_count; i++)
            if (check_node(o, &f->composite.subs[i], condition))
                return WR_E_PARAMETER;
        return WR_OK;
    }
    return WR_E_PARAMETER;
}

int oracle_check_filter(const struct oracle *o, const struct wr_filter *f, bool condition)
{
    if (count_nodes(f) > (size_t)o->limits.filters_max)
        return WR_E_PARAMETER;
    return check_node(o, f, condition);
}

/* ---- matching ---- */

/* The first group, as the wanted type. */
static bool extract(const struct wr_column_filter *f, const struct wr_value *v,
                    struct wr_value *out)
{
    regex_t re;
    regmatch_t m[2] = {{.rm_so = 0, .rm_eo = (regoff_t)v->bytes.len}};
    char text[400];
    char *end;
    bool ok;
    size_t len;

    if (v->type != WR_VARCHAR || !compile(f->regex, &re))
        return false;
    ok = regexec(&re, v->bytes.len ? v->bytes.ptr : "", 2, m, REG_STARTEND) == 0 && m[1].rm_so >= 0;
    regfree(&re);
    if (!ok)
        return false;
    len = (size_t)(m[1].rm_eo - m[1].rm_so);
    *out = (struct wr_value){.type = f->cast_type,
                             .bytes = {(const char *)v->bytes.ptr + m[1].rm_so, len}};
    if (f->cast_type == WR_VARCHAR)
        return true;
    if (len == 0 || len >= sizeof(text))
        return false;
    memcpy(text, out->bytes.ptr, len);
    text[len] = 0;
    errno = 0;
    if (f->cast_type == WR_BIGINT)
        out->integer = strtoll(text, &end, 10);
    else
        out->real = strtod(text, &end);
    return end == text + len && !errno && (f->cast_type != WR_DOUBLE || isfinite(out->real));
}

static bool compares(enum wr_comparator how, const struct wr_value *a, const struct wr_value *b)
{
    int d;

    if (a->type != b->type)
        return false;
    d = oracle_value_compare(a, b);
    switch (how) {
    case WR_EQUAL:
        return d == 0;
    case WR_NOT_EQUAL:
        return d != 0;
    case WR_GREATER_THAN:
        return d > 0;
    case WR_GREATER_EQUAL:
        return d >= 0;
    case WR_LESS_THAN:
        return d < 0;
    case WR_LESS_EQUAL:
        return d <= 0;
    default:
        return false;
    }
}

static bool match_column(const struct wr_column_filter *f, const struct wr_key_column *key,
                         size_t key_count, const struct wr_cell *cells, size_t count)
{
    size_t seen = 0, values = 0;
    bool any = false;

    for (size_t i = 0; i < key_count + count; i++) {
        bytes name = i < key_count ? key[i].name : cells[i - key_count].name;
        struct wr_value v = i < key_count ? key[i].value : cells[i - key_count].value;
        struct wr_value group;

        if (!bytes_equal(name, f->column) || (seen && f->latest_version_only))
            continue;
        seen++;
        if (f->regex.ptr) {
            if (!extract(f, &v, &group))
                continue;
            v = group;
        }
        values++;
        any = any || compares(f->comparator, &v, &f->value);
    }
    if (f->comparator == WR_EXIST)
        return values > 0;
    if (f->comparator == WR_NOT_EXIST)
        return values == 0;
    return values ? any : !f->filter_if_missing;
}

bool oracle_filter_match(const struct wr_filter *f, const struct wr_key_column *key,
                         size_t key_count, const struct wr_cell *cells, size_t count)
{
    bool result;

    if (f->type == WR_FILTER_PAGE)
        return true;
    if (f->type == WR_FILTER_COLUMN)
        return match_column(&f->column, key, key_count, cells, count);
    result = f->composite.combinator == WR_AND;
    for (size_t i = 0; i < f->composite.sub_count; i++) {
        bool sub = oracle_filter_match(&f->composite.subs[i], key, key_count, cells, count);

        if (f->composite.combinator == WR_NOT)
            result = !sub;
        else if (f->composite.combinator == WR_AND)
            result = result && sub;
        else
            result = result || sub;
    }
    return result;
}

const struct wr_page_filter *oracle_filter_page(const struct wr_filter *f)
{
    const struct wr_page_filter *page = NULL;

    if (f->type == WR_FILTER_PAGE)
        return &f->page;
    if (f->type == WR_FILTER_COMPOSITE)
        for (size_t i = 0; i < f->composite.sub_count && !page; i++)
            page = oracle_filter_page(&f->composite.subs[i]);
    return page;
}
