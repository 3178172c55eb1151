/* filter.c: filter trees.
 *
 * Rules that are easy to get wrong (doc/data-model.md, "Filters"):
 *  - A column that is missing passes unless filter_if_missing, whatever the comparator; a column of
 *    another type than the filter's value fails, also with NOT_EQUAL. Only then do NOT, AND and OR
 *    look at the outcome.
 *  - With a regular expression what it extracts takes the column's place: a text that does not
 *    match, a group that cannot be cast, and a column that is no text all count as missing. EXIST
 *    and NOT_EXIST ask whether anything came out, and do not care for filter_if_missing.
 *  - With latest_version_only false one version that matches is enough. The column is missing if no
 *    version gives a value.
 *
 * A client chooses both the expression and the text, so one can be made that takes years. PCRE2
 * bounds the steps from one starting place in the text only, and what it runs over in one step not
 * at all (".*?.*+x" looks at the rest of the text in each). Therefore expressions are compiled with
 * callouts: the matcher comes by here before each item of the expression, and now and then the
 * clock is read. Between two callouts it runs through the text once at most. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "table/model/filter.h"

#include "base/limit.h"
#include "base/turn.h"
#include "table/model/name.h"
#include "table/model/row.h"
#include "table/model/value.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pcre2.h>
#include <stdlib.h>

#define REGEX_STEPS_MAX 50000          /* of the matcher, from one starting place */
#define REGEX_HEAP_KIB_MAX 4096        /* for backtracking, in one text */
#define REGEX_CODE_BYTES_MAX (4 << 20) /* of one filter's compiled expressions */
#define REGEX_LOOK_BYTES (1 << 20)     /* of text that may go by before the clock is read */
#define REGEX_LOOK_MAX 256             /* callouts at most before that */
/* Time for all expressions of one request, however many rows, tables and filters it has. Conditions
 * are matched under a row lock, for which others wait. */
#define REGEX_READ_US_MAX 1000000
#define REGEX_CONDITION_US_MAX 250000
#define REAL_TEXT_MAX 400 /* longer than any DOUBLE that somebody wrote out */

/* One compiled expression and all PCRE2 needs to run it. */
struct regex {
    pcre2_general_context *general;
    pcre2_match_context *limits;
    pcre2_code *code;
    pcre2_match_data *match;
    locale_t locale; /* "C": the program's own may write 1.5 as 1,5 */
    uint32_t group;  /* whose text counts */
};

/* What all nodes of one tree share. */
struct filter_state {
    const struct wr_page_filter *page; /* NULL: none */
    bool has_regex;
    bool timed_out;
    size_t code_bytes; /* of compiled expressions */
    int64_t own_us;
    int64_t *spent_us; /* the request's, or own_us where there is none */
    int64_t us_max;
};

struct filter {
    const struct wr_filter *source;
    struct filter_state *state;
    struct regex *regex; /* columns; NULL: compare the value itself */
    struct filter *subs; /* composites */
};

/* ---- compiling */

static void *regex_alloc(size_t size, void *unused)
{
    (void)unused;
    return mem_alloc(size);
}

static void regex_free(void *ptr, void *unused)
{
    (void)unused;
    mem_free(ptr);
}

/* Runs when the request's arena goes. PCRE2's own free functions accept NULL. */
static void regex_release(void *arg)
{
    struct regex *x = arg;

    pcre2_match_data_free(x->match);
    pcre2_code_free(x->code);
    pcre2_match_context_free(x->limits);
    pcre2_general_context_free(x->general);
    if (x->locale)
        freelocale(x->locale);
}

/* NEVER_UTF keeps a pattern from switching on a mode that would read texts as checked UTF-8. */
static int regex_compile(struct ctx *c, struct filter_state *state, bytes pattern,
                         struct regex **out)
{
    struct regex *x = ARENA_NEW(&c->arena, struct regex);
    pcre2_compile_context *compile;
    uint32_t groups;
    size_t offset, size;
    int error;

    arena_on_release(&c->arena, regex_release, x);
    x->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    x->general = pcre2_general_context_create(regex_alloc, regex_free, NULL);
    x->limits = pcre2_match_context_create(x->general);
    pcre2_set_match_limit(x->limits, REGEX_STEPS_MAX);
    pcre2_set_heap_limit(x->limits, REGEX_HEAP_KIB_MAX);
    compile = pcre2_compile_context_create(x->general);
    x->code = pcre2_compile(pattern.ptr, pattern.len,
                            PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_AUTO_CALLOUT, &error, &offset,
                            compile);
    pcre2_compile_context_free(compile);
    if (!x->code) {
        PCRE2_UCHAR text[160] = "";

        pcre2_get_error_message(error, text, sizeof(text));
        return fail(c, E_PARAMETER, "Invalid regex at offset %zu: %s.", offset, (const char *)text);
    }
    /* A few characters can stand for 64 KiB of code. */
    pcre2_pattern_info(x->code, PCRE2_INFO_SIZE, &size);
    c->arena.used += size;
    state->code_bytes += size;
    if (state->code_bytes > REGEX_CODE_BYTES_MAX || (c->arena.cap && c->arena.used > c->arena.cap))
        return fail_code(c, E_MEMORY);
    x->match = pcre2_match_data_create_from_pattern(x->code, x->general);
    pcre2_pattern_info(x->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    x->group = groups > 0;
    *out = x;
    return 0;
}

static int check_regex(struct ctx *c, const struct limits *limits, const struct wr_column_filter *f)
{
    if (f->regex.len > (size_t)limits->regex_bytes_max)
        return fail(c, E_PARAMETER,
                    "The length of regex of column: '%.*s' exceeds the MaxLength:%lld with "
                    "CurrentLength:%zu.",
                    BYTES_FMT(f->column), (long long)limits->regex_bytes_max, f->regex.len);
    if (f->cast_type != WR_BIGINT && f->cast_type != WR_DOUBLE && f->cast_type != WR_VARCHAR)
        return fail(c, E_PARAMETER, "%s is an invalid type to cast the regex of column '%.*s' to.",
                    value_type_name(f->cast_type), BYTES_FMT(f->column));
    return 0;
}

/* The value to compare with obeys the rules of an attribute value. */
static int filter_check_value(struct ctx *c, const struct limits *limits,
                              const struct wr_column_filter *f)
{
    const struct wr_value *v = &f->value;

    if (!value_is_stored(v->type))
        return fail(c, E_PARAMETER, "%s is an invalid type for the filter of column '%.*s'.",
                    value_type_name(v->type), BYTES_FMT(f->column));
    if (value_is_bytes(v->type) && v->bytes.len > (size_t)limits->cell_bytes_max)
        return fail(c, E_PARAMETER,
                    "The length of attribute column: '%.*s' exceeds the MaxLength:%lld with "
                    "CurrentLength:%zu.",
                    BYTES_FMT(f->column), (long long)limits->cell_bytes_max, v->bytes.len);
    if (value_is_text(v->type) && !bytes_is_utf8(v->bytes))
        return fail(c, E_PARAMETER, "Value of column '%.*s' must be UTF8 encoding.",
                    BYTES_FMT(f->column));
    if (!value_in_range(v))
        return fail(c, E_PARAMETER, "Value of column '%.*s' is out of range for %s.",
                    BYTES_FMT(f->column), value_type_name(v->type));
    return 0;
}

static bool asks_existence(const struct wr_column_filter *f)
{
    return f->comparator == WR_EXIST || f->comparator == WR_NOT_EXIST;
}

static int compile_column(struct ctx *c, const struct limits *limits, struct filter *out)
{
    const struct wr_column_filter *f = &out->source->column;

    TRY(name_check_column(c, f->column));
    if (f->comparator < WR_EQUAL || f->comparator > WR_NOT_EXIST)
        return fail(c, E_PARAMETER, "Invalid comparator: %d.", (int)f->comparator);
    if (!asks_existence(f))
        TRY(filter_check_value(c, limits, f));
    if (!f->regex.ptr)
        return 0;
    TRY(check_regex(c, limits, f));
    out->state->has_regex = true;
    return regex_compile(c, out->state, f->regex, &out->regex);
}

static int compile_page(struct ctx *c, enum filter_use use, bool in_ands, struct filter *out)
{
    const struct wr_page_filter *f = &out->source->page;

    if (use == FILTER_CONDITION)
        return fail(c, E_PARAMETER, "ColumnPaginationFilter cannot be used in a condition.");
    if (!in_ands || out->state->page)
        return fail(c, E_PARAMETER,
                    "ColumnPaginationFilter can only be used once, alone or under AND.");
    if (f->offset < 0)
        return fail(c, E_PARAMETER,
                    "The offset of ColumnPaginationFilter must not be less than 0.");
    if (f->limit <= 0)
        return fail(c, E_PARAMETER, "The limit of ColumnPaginationFilter must be greater than 0.");
    out->state->page = f;
    return 0;
}

/* Compiles one node and what hangs below it; out->source and out->state are set. `in_ands`: nothing
 * but ANDs stands above. */
static int compile_node(struct ctx *c, const struct limits *limits, enum filter_use use,
                        bool in_ands, struct filter *out)
{
    const struct wr_composite_filter *f = &out->source->composite;

    if (out->source->type == WR_FILTER_COLUMN)
        return compile_column(c, limits, out);
    if (out->source->type == WR_FILTER_PAGE)
        return compile_page(c, use, in_ands, out);
    if (out->source->type != WR_FILTER_COMPOSITE)
        return fail(c, E_PARAMETER, "Invalid filter type: %d.", (int)out->source->type);
    if (f->combinator < WR_NOT || f->combinator > WR_OR)
        return fail(c, E_PARAMETER, "Invalid logical operator: %d.", (int)f->combinator);
    if (f->combinator == WR_NOT && f->sub_count != 1)
        return fail(c, E_PARAMETER, "Invalid NOT operator: the number of sub-filters must be 1.");
    if (f->combinator != WR_NOT && f->sub_count < 2)
        return fail(c, E_PARAMETER,
                    "Invalid AND/OR operator: the number of sub-filters must be more than 1.");
    out->subs = ARENA_ARRAY(&c->arena, struct filter, f->sub_count);
    for (size_t i = 0; i < f->sub_count; i++) {
        out->subs[i].source = &f->subs[i];
        out->subs[i].state = out->state;
        TRY(compile_node(c, limits, use, in_ands && f->combinator == WR_AND, &out->subs[i]));
    }
    return 0;
}

/* Counts nodes until there are more than `max`, and goes no deeper than that either. */
static size_t count_nodes(const struct wr_filter *f, size_t max)
{
    size_t count = 1;

    if (f->type == WR_FILTER_COMPOSITE)
        for (size_t i = 0; i < f->composite.sub_count && count <= max; i++)
            count += count_nodes(&f->composite.subs[i], max - count);
    return count;
}

int filter_compile(struct ctx *c, const struct limits *limits, const struct wr_filter *f,
                   enum filter_use use, struct filter **out)
{
    struct filter *root;

    *out = NULL;
    if (!f)
        return 0;
    if (count_nodes(f, (size_t)limits->filters_max) > (size_t)limits->filters_max)
        return fail(c, E_PARAMETER, "The count of filter exceeds the max: %lld.",
                    (long long)limits->filters_max);
    root = ARENA_NEW(&c->arena, struct filter);
    root->source = f;
    root->state = ARENA_NEW(&c->arena, struct filter_state);
    root->state->spent_us = c->turn ? &c->turn->matched_us : &root->state->own_us;
    root->state->us_max = use == FILTER_READ ? REGEX_READ_US_MAX : REGEX_CONDITION_US_MAX;
    TRY(compile_node(c, limits, use, true, root));
    *out = root;
    return 0;
}

/* ---- extracting values by regular expression */

/* One search, as its callouts see it. */
struct watch {
    struct ctx *c;
    const struct filter *f;
    int64_t start_us;
    uint32_t looked, look_max; /* callouts since the clock was read, and when it is read */
};

/* Else what went wrong is recorded in c. */
static bool in_time(struct watch *w)
{
    struct filter_state *state = w->f->state;
    int64_t now_us = clock_mono_us(w->c->clock);

    state->timed_out |= turn_check_deadline(w->c, now_us) != E_OK ||
                        *state->spent_us + now_us - w->start_us > state->us_max;
    if (state->timed_out)
        fail(w->c, E_PARAMETER, "The regex of column '%.*s' takes too long.",
             BYTES_FMT(w->f->source->column.column));
    return !state->timed_out;
}

/* Called by PCRE2 before each item of the expression. Anything but 0 ends the search. */
static int regex_watch(pcre2_callout_block *block, void *arg)
{
    struct watch *w = arg;

    (void)block;
    if (++w->looked < w->look_max)
        return 0;
    w->looked = 0;
    return in_time(w) ? 0 : PCRE2_ERROR_CALLOUT;
}

/* Searches the text; true if it matched. What is past a limit counts as not matched. */
static bool regex_search(struct ctx *c, const struct filter *f, bytes text)
{
    const struct regex *x = f->regex;
    size_t look = REGEX_LOOK_BYTES / (text.len + 1) + 1;
    struct watch w = {.c = c,
                      .f = f,
                      .start_us = clock_mono_us(c->clock),
                      .look_max = look < REGEX_LOOK_MAX ? (uint32_t)look : REGEX_LOOK_MAX};
    int result;

    if (!in_time(&w))
        return false;
    pcre2_set_callout(x->limits, regex_watch, &w);
    result = pcre2_match(x->code, text.ptr, text.len, 0, 0, x->match, x->limits);
    *f->state->spent_us += clock_mono_us(c->clock) - w.start_us;
    return result >= 0;
}

/* The whole text as a number, by the rules of the C locale but without hexadecimal, "inf", "nan"
 * and spaces. */
static bool number_text_ok(bytes text, const char *allowed)
{
    for (size_t i = 0; i < text.len; i++)
        if (!bytes_u8(text)[i] || !strchr(allowed, bytes_u8(text)[i]))
            return false;
    return text.len > 0 && text.len <= REAL_TEXT_MAX;
}

static bool cast_integer(bytes text, int64_t *out)
{
    char copy[REAL_TEXT_MAX + 1], *end;

    if (!number_text_ok(text, "+-0123456789"))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    errno = 0;
    *out = strtoll(copy, &end, 10);
    return !errno && !*end && end != copy;
}

static bool cast_real(const struct regex *x, bytes text, double *out)
{
    char copy[REAL_TEXT_MAX + 1], *end;

    if (!number_text_ok(text, "+-0123456789.eE"))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    *out = x->locale ? strtod_l(copy, &end, x->locale) : strtod(copy, &end);
    return !*end && end != copy && isfinite(*out);
}

/* What the node compares of a stored value; false if there is nothing to compare. */
static bool extract(struct ctx *c, const struct filter *f, const struct wr_value *stored,
                    struct wr_value *out)
{
    const size_t *vector;
    bytes group;

    if (!f->regex) {
        *out = *stored;
        return true;
    }
    if (!value_is_text(stored->type) || !regex_search(c, f, stored->bytes))
        return false;
    vector = pcre2_get_ovector_pointer(f->regex->match) + 2 * f->regex->group;
    if (vector[0] == PCRE2_UNSET || vector[0] > vector[1])
        return false;
    group = bytes_of((const char *)stored->bytes.ptr + vector[0], vector[1] - vector[0]);
    out->type = f->source->column.cast_type;
    if (out->type == WR_BIGINT)
        return cast_integer(group, &out->integer);
    if (out->type == WR_DOUBLE)
        return cast_real(f->regex, group, &out->real);
    out->bytes = group;
    return true;
}

/* ---- matching */

static bool compares(enum wr_comparator comparator, const struct wr_value *v,
                     const struct wr_value *with)
{
    int r;

    if (v->type != with->type)
        return false;
    r = value_compare(v, with);
    switch (comparator) {
    case WR_EQUAL:
        return r == 0;
    case WR_NOT_EQUAL:
        return r != 0;
    case WR_GREATER_THAN:
        return r > 0;
    case WR_GREATER_EQUAL:
        return r >= 0;
    case WR_LESS_THAN:
        return r < 0;
    case WR_LESS_EQUAL:
        return r <= 0;
    default:
        return false;
    }
}

/* Looks at one version of the column; true if that settles the matter. */
static bool match_version(struct ctx *c, const struct filter *f, const struct wr_value *stored,
                          bool *seen)
{
    const struct wr_column_filter *source = &f->source->column;
    struct wr_value v;

    if (!extract(c, f, stored, &v))
        return false;
    *seen = true;
    return asks_existence(source) || compares(source->comparator, &v, &source->value);
}

static bool match_column(struct ctx *c, const struct filter *f, const struct wr_key *key,
                         const struct wr_cell *cells, size_t cell_count)
{
    const struct wr_column_filter *source = &f->source->column;
    bool seen = false, matched = false;
    const struct wr_cell *first = cells_find(cells, cell_count, source->column);

    for (size_t i = 0; key && i < key->count && !seen; i++)
        if (bytes_equal(key->columns[i].name, source->column))
            matched = match_version(c, f, &key->columns[i].value, &seen);
    for (const struct wr_cell *cell = first; first && cell < cells + cell_count && !matched;
         cell++) {
        if (cell > first &&
            (source->latest_version_only || !bytes_equal(cell->name, source->column)))
            break;
        matched = match_version(c, f, &cell->value, &seen);
    }
    if (source->comparator == WR_EXIST)
        return seen;
    if (source->comparator == WR_NOT_EXIST)
        return !seen;
    return seen ? matched : !source->filter_if_missing;
}

static bool match_node(struct ctx *c, const struct filter *f, const struct wr_key *key,
                       const struct wr_cell *cells, size_t cell_count)
{
    const struct wr_composite_filter *source = &f->source->composite;
    bool is_or;

    if (f->source->type == WR_FILTER_COLUMN)
        return match_column(c, f, key, cells, cell_count);
    if (f->source->type == WR_FILTER_PAGE)
        return true;
    if (source->combinator == WR_NOT)
        return !match_node(c, &f->subs[0], key, cells, cell_count);
    is_or = source->combinator == WR_OR;
    for (size_t i = 0; i < source->sub_count; i++)
        if (match_node(c, &f->subs[i], key, cells, cell_count) == is_or)
            return is_or;
    return !is_or;
}

bool filter_match(struct ctx *c, const struct filter *f, const struct wr_key *key,
                  const struct wr_cell *cells, size_t cell_count)
{
    return !f || (match_node(c, f, key, cells, cell_count) && !f->state->timed_out);
}

bool filter_has_regex(const struct filter *f)
{
    return f && f->state->has_regex;
}

/* ---- pages */

size_t filter_page(const struct filter *f, struct wr_cell *cells, size_t cell_count)
{
    const struct wr_page_filter *page = f ? f->state->page : NULL;
    size_t kept = 0, column = 0;

    if (!page)
        return cell_count;
    for (size_t i = 0; i < cell_count; i++) {
        if (i && !bytes_equal(cells[i].name, cells[i - 1].name))
            column++;
        if (column < (size_t)page->offset)
            continue;
        if (column - (size_t)page->offset >= (size_t)page->limit)
            break;
        cells[kept++] = cells[i];
    }
    return kept;
}
