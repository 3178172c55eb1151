#include "cli/filter.h"

#include "cli/console/value.h"

#include <math.h>
#include <strings.h>

#define DEPTH_MAX 32
#define EXACT_MAX 9007199254740992.0 /* integers up to it are doubles, too */

struct parse {
    struct ctx *c;
    struct filter *out;
    const char *text, *at;
    size_t depth;
};

static int bad(struct parse *p, const char *what)
{
    return fail(p->c, E_PARAMETER,
                "%s at '%s' in \"%s\"; it is written like: amount > 5 and state = \"paid\"", what,
                *p->at ? p->at : "the end", p->text);
}

static void skip_space(struct parse *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
        p->at++;
}

static bool is_word(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_' || ch == '.' || ch == '-' || ch == '+' || ch == ':' || (uint8_t)ch >= 0x80;
}

static bool take_char(struct parse *p, char ch)
{
    skip_space(p);
    if (*p->at != ch)
        return false;
    p->at++;
    return true;
}

/* "and", "or", "not", in any case. */
static bool take_keyword(struct parse *p, const char *word)
{
    size_t n = strlen(word);

    skip_space(p);
    if (strncasecmp(p->at, word, n) != 0 || is_word(p->at[n]))
        return false;
    p->at += n;
    return true;
}

static struct wr_filter *combine(struct parse *p, enum wr_combinator combinator,
                                 const struct wr_filter *a, const struct wr_filter *b)
{
    struct wr_filter *subs = ARENA_ARRAY(&p->c->arena, struct wr_filter, 2);
    struct wr_filter *f = ARENA_NEW(&p->c->arena, struct wr_filter);

    subs[0] = *a;
    if (b)
        subs[1] = *b;
    f->type = WR_FILTER_COMPOSITE;
    f->composite = (struct wr_composite_filter){combinator, subs, b ? 2 : 1};
    return f;
}

static int take_column(struct parse *p, bytes *out)
{
    const char *from;

    skip_space(p);
    if (*p->at == '`') {
        from = ++p->at;
        while (*p->at && *p->at != '`')
            p->at++;
        *out = bytes_of(from, (size_t)(p->at - from));
        if (!*p->at || !out->len)
            return bad(p, "a column's name is not closed by a backquote");
        p->at++;
        return 0;
    }
    for (from = p->at; is_word(*p->at); p->at++)
        ;
    *out = bytes_of(from, (size_t)(p->at - from));
    return out->len ? 0 : bad(p, "a column's name is missing");
}

static int take_comparator(struct parse *p, enum wr_comparator *out)
{
    static const struct {
        const char *sign;
        enum wr_comparator comparator;
    } signs[] = {{"<>", WR_NOT_EQUAL},   {"!=", WR_NOT_EQUAL}, {">=", WR_GREATER_EQUAL},
                 {"<=", WR_LESS_EQUAL},  {"==", WR_EQUAL},     {"=", WR_EQUAL},
                 {">", WR_GREATER_THAN}, {"<", WR_LESS_THAN}};

    skip_space(p);
    for (size_t i = 0; i < PORT_COUNT(signs); i++)
        if (strncmp(p->at, signs[i].sign, strlen(signs[i].sign)) == 0) {
            p->at += strlen(signs[i].sign);
            *out = signs[i].comparator;
            return 0;
        }
    return bad(p, "one of = != < <= > >= is missing");
}

/* From a quote or bracket to the one that closes it, or a plain word. */
static int take_value(struct parse *p, struct wr_value *out)
{
    const char *from;

    skip_space(p);
    from = p->at;
    if (*from == '"') {
        for (p->at++; *p->at && *p->at != '"'; p->at++)
            if (*p->at == '\\' && p->at[1])
                p->at++;
        if (!*p->at++)
            return fail(p->c, E_PARAMETER, "a text is opened and never closed: %s", from);
    } else if (*from == '{') {
        p->at = strchrnul(p->at, '}');
        p->at += *p->at != 0;
    } else {
        while (is_word(*p->at))
            p->at++;
    }
    if (p->at == from)
        return bad(p, "a value is missing");
    return value_of_word(p->c, "", bytes_of(from, (size_t)(p->at - from)), VALUE_TYPE_OPEN, out);
}

static int note_column(struct parse *p, bytes name)
{
    struct filter *f = p->out;

    for (size_t i = 0; i < f->column_count; i++)
        if (bytes_equal(f->columns[i], name))
            return 0;
    if (f->column_count == FILTER_NODES_MAX)
        return fail(p->c, E_PARAMETER, "more than %d columns in one condition", FILTER_NODES_MAX);
    f->columns[f->column_count++] = name;
    return 0;
}

/* The same comparison for numbers of the other type; false: there is none. A double that is no
 * whole number lies between two integers. */
static bool as_other_number(struct wr_column_filter *f)
{
    double real = f->value.real, whole = floor(real);

    if (f->value.type == WR_BIGINT) {
        if (f->value.integer > (int64_t)EXACT_MAX || f->value.integer < -(int64_t)EXACT_MAX)
            return false;
        f->value = (struct wr_value){.type = WR_DOUBLE, .real = (double)f->value.integer};
        return true;
    }
    if (f->value.type != WR_DOUBLE || fabs(real) > EXACT_MAX)
        return false;
    f->value = (struct wr_value){.type = WR_BIGINT, .integer = (int64_t)whole};
    if (whole == real)
        return true;
    if (f->comparator == WR_LESS_THAN || f->comparator == WR_LESS_EQUAL)
        f->comparator = WR_LESS_EQUAL;
    else if (f->comparator == WR_GREATER_THAN || f->comparator == WR_GREATER_EQUAL)
        f->comparator = WR_GREATER_THAN;
    else if (f->comparator == WR_NOT_EQUAL)
        *f = (struct wr_column_filter){
            WR_GREATER_EQUAL, f->column, {WR_BIGINT, {.integer = INT64_MIN}}, true, true,
            BYTES_NONE,       0};
    else
        return false;
    return true;
}

static int parse_comparison(struct parse *p, struct wr_filter **out)
{
    struct wr_filter *f = ARENA_NEW(&p->c->arena, struct wr_filter), both;

    f->type = WR_FILTER_COLUMN;
    f->column = (struct wr_column_filter){.filter_if_missing = true, .latest_version_only = true};
    TRY(take_column(p, &f->column.column));
    TRY(take_comparator(p, &f->column.comparator));
    TRY(take_value(p, &f->column.value));
    TRY(note_column(p, f->column.column));
    *out = f;
    both = *f;
    if (as_other_number(&both.column))
        *out = combine(p, WR_OR, f, &both);
    return 0;
}

static int parse_or(struct parse *p, struct wr_filter **out);

static int parse_one(struct parse *p, struct wr_filter **out)
{
    if (++p->depth > DEPTH_MAX)
        return bad(p, "too many brackets");
    if (take_keyword(p, "not")) {
        TRY(parse_one(p, out));
        *out = combine(p, WR_NOT, *out, NULL);
    } else if (take_char(p, '(')) {
        TRY(parse_or(p, out));
        if (!take_char(p, ')'))
            return bad(p, "a ) is missing");
    } else {
        TRY(parse_comparison(p, out));
    }
    p->depth--;
    return 0;
}

static int parse_and(struct parse *p, struct wr_filter **out)
{
    struct wr_filter *more;

    TRY(parse_one(p, out));
    while (take_keyword(p, "and")) {
        TRY(parse_one(p, &more));
        *out = combine(p, WR_AND, *out, more);
    }
    return 0;
}

static int parse_or(struct parse *p, struct wr_filter **out)
{
    struct wr_filter *more;

    TRY(parse_and(p, out));
    while (take_keyword(p, "or")) {
        TRY(parse_and(p, &more));
        *out = combine(p, WR_OR, *out, more);
    }
    return 0;
}

int filter_parse(struct ctx *c, const char *text, struct filter *out)
{
    struct parse p = {.c = c, .out = out, .text = text, .at = text};

    out->column_count = 0;
    TRY(parse_or(&p, &out->root));
    skip_space(&p);
    return *p.at ? bad(&p, "'and' or 'or' is missing") : 0;
}
