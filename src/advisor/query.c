#include "advisor/query.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

static bytes trim(bytes b)
{
    const char *p = b.ptr, *end = p + b.len;

    while (p != end && (*p == ' ' || *p == '\t'))
        p++;
    while (p != end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    return bytes_of(p, (size_t)(end - p));
}

/* ---- parsing: what is not understood is refused, with the place where that begins ---- */

struct parser {
    struct ctx *c;
    const char *text; /* all of --query's value, for places in it */
    const bytes *names;
    size_t name_count;
};

static int PORT_PRINTF(3, 4) refuse(const struct parser *p, const char *at, const char *fmt, ...)
{
    va_list args;
    bytes why;

    va_start(args, fmt);
    why = arena_vprintf(&p->c->arena, fmt, args);
    va_end(args);
    return fail(p->c, E_PARAMETER, "--query \"%s\", at character %zu: %.*s", p->text,
                (size_t)(at - p->text) + 1, BYTES_FMT(why));
}

static bool same_word(bytes word, const char *other)
{
    return word.len == strlen(other) && strncasecmp(word.ptr, other, word.len) == 0;
}

/* Up to the next blank, or what only an operator or a quote may be. */
static bytes first_word(bytes b)
{
    const char *p = b.ptr;
    size_t n = 0;

    while (n < b.len && !strchr(" \t=<>!()'\"", p[n]))
        n++;
    return bytes_of(p, n);
}

/* The column whose name begins the part, the longest one, for names may hold blanks; in other
 * letter case if only one has it so. SIZE_MAX: none. */
static size_t find_column(const struct parser *p, bytes part)
{
    size_t found = SIZE_MAX;
    bool exact = false, twice = false;

    for (size_t i = 0; i < p->name_count; i++) {
        bytes name = p->names[i];
        bool whole =
            part.len == name.len ||
            (part.len > name.len && strchr(" \t=<>!()'\"", ((const char *)part.ptr)[name.len]));
        bool same = whole && memcmp(part.ptr, name.ptr, name.len) == 0;
        size_t best = found == SIZE_MAX ? 0 : p->names[found].len;

        if (!whole || strncasecmp(part.ptr, name.ptr, name.len) != 0 || name.len < best)
            continue;
        if (name.len == best && found != SIZE_MAX && (exact || !same)) {
            twice |= !exact;
            continue;
        }
        found = i;
        exact = same;
        twice = false;
    }
    return twice ? SIZE_MAX : found;
}

static int unknown_column(const struct parser *p, bytes part)
{
    bytes list = BYTES_NONE, name = first_word(part);

    for (size_t i = 0; i < p->name_count && list.len < 400; i++)
        list = arena_printf(&p->c->arena, "%.*s%s%.*s", BYTES_FMT(list), i ? ", " : "",
                            BYTES_FMT(p->names[i]));
    return refuse(p, part.ptr, "there is no column '%.*s'; there are %.*s", BYTES_FMT(name),
                  BYTES_FMT(list));
}

/* What stands behind "COL=": nothing, one word, or something in quotes. Which value is asked for
 * makes no difference to a key. */
static int check_value(const struct parser *p, bytes value)
{
    const char *v = value.ptr, *close;
    bytes word = first_word(value), rest;

    if (value.len == 0)
        return 0;
    if (*v == '\'' || *v == '"') {
        close = memchr(v + 1, *v, value.len - 1);
        if (!close)
            return refuse(p, v,
                          "a quote is opened and not closed in this condition (a value with "
                          "a comma may be left out: \"COL=\")");
        word.len = (size_t)(close + 1 - v);
    }
    rest = trim(bytes_skip(value, word.len));
    if (rest.len == 0)
        return 0;
    if (same_word(word, "and") || same_word(word, "or"))
        rest = value;
    word = first_word(rest);
    return refuse(
        p, rest.ptr,
        "'%.*s' is not understood: behind \"COL=\" there may be one value; conditions are "
        "joined by commas, queries by ';'",
        BYTES_FMT(word.len ? word : bytes_of(rest.ptr, 1)));
}

static bool is_named(const struct query *q, size_t column)
{
    for (size_t i = 0; i < q->equal_count; i++)
        if (q->equal[i] == column)
            return true;
    return q->range == column;
}

/* One of "COL=", "COL = value", "COL range", "COL desc". */
static int parse_part(const struct parser *p, bytes part, struct query *q)
{
    size_t column = find_column(p, part);
    bytes rest;
    bool equal;

    if (column == SIZE_MAX)
        return unknown_column(p, part);
    rest = trim(bytes_skip(part, p->names[column].len));
    equal = rest.len && *(const char *)rest.ptr == '=';
    if (equal)
        TRY(check_value(p, trim(bytes_skip(rest, 1))));
    else if (!same_word(rest, "range") && !same_word(rest, "desc"))
        return refuse(p, rest.len ? rest.ptr : part.ptr,
                      "'%.*s' is neither \"COL=\" (one value) nor \"COL range\" (in order) nor "
                      "\"COL desc\" (newest first)",
                      BYTES_FMT(part));
    if (is_named(q, column))
        return refuse(p, part.ptr, "column '%.*s' is named twice in one query",
                      BYTES_FMT(p->names[column]));
    if (equal && q->equal_count == QUERY_PARTS_MAX)
        return refuse(p, part.ptr, "more than %d conditions", QUERY_PARTS_MAX);
    if (!equal && q->range != SIZE_MAX)
        return refuse(p, part.ptr, "two ranges in '%.*s'; rows have one order", BYTES_FMT(q->text));
    if (equal)
        q->equal[q->equal_count++] = column;
    else
        q->range = column;
    return 0;
}

/* What stands before the next `separator`; *rest is moved behind it. */
static bytes split_at(bytes *rest, char separator)
{
    const char *p = rest->ptr, *at = memchr(p, separator, rest->len);
    bytes part = at ? bytes_of(p, (size_t)(at - p)) : *rest;

    *rest = bytes_skip(*rest, part.len + (at != NULL));
    return trim(part);
}

static int parse_query(const struct parser *p, bytes one, struct query *q)
{
    bool more = true;

    *q = (struct query){.text = one, .range = SIZE_MAX};
    while (more) {
        const char *comma = memchr(one.ptr, ',', one.len);
        bytes part = split_at(&one, ',');

        if (part.len == 0)
            return refuse(p, comma ? comma : one.ptr, "a condition is missing beside the comma");
        TRY(parse_part(p, part, q));
        more = comma != NULL;
    }
    return 0;
}

int query_parse(struct ctx *c, const char *text, const bytes *names, size_t name_count,
                struct query *queries, size_t *count)
{
    const struct parser p = {c, text, names, name_count};
    bytes rest = bytes_str(text);
    size_t before = *count;

    while (rest.len) {
        bytes one = split_at(&rest, ';');

        if (one.len == 0)
            continue;
        if (*count == QUERIES_MAX)
            return fail(c, E_PARAMETER, "--query: more than %d queries", QUERIES_MAX);
        TRY(parse_query(&p, one, &queries[*count]));
        ++*count;
    }
    return *count > before ? 0 : fail(c, E_PARAMETER, "--query \"%s\": there is no query", text);
}

static bool is_equal(const struct query *q, size_t column)
{
    for (size_t i = 0; i < q->equal_count; i++)
        if (q->equal[i] == column)
            return true;
    return false;
}

enum reach query_reach(const struct query *q, const size_t *columns, size_t count, size_t partition,
                       struct layout_form layout)
{
    size_t fixed = 0, wanted = q->equal_count + (q->range != SIZE_MAX), served;
    bool ranged;

    while (fixed < count && is_equal(q, columns[fixed]))
        fixed++;
    ranged = fixed < count && columns[fixed] == q->range && !q->unordered;
    served = fixed + ranged;
    if (served == 0)
        return REACH_LOST;
    if (served < wanted)
        return REACH_PARTITION;
    if (fixed >= (layout.kind == LAYOUT_FORM_RANDOM ? count : partition))
        return REACH_RANGE;
    return layout_form_buckets(layout) ? REACH_MERGE : REACH_ORDER;
}

const char *reach_name(enum reach reach)
{
    static const char *const names[] = {"range", "order", "merge", "filter", "lost"};

    return names[reach];
}

const char *reach_text(enum reach reach)
{
    static const char *const texts[] = {
        "one range in one partition",
        "one range, in order, over several partitions",
        "one range in each bucket, merged in order by the server",
        "one range that holds more than asked for; the rest is filtered out",
        "lost: every row of the table is read",
    };

    return texts[reach];
}
