#include "cli/query.h"

#include <stdio.h>
#include <strings.h>

static bytes trim(bytes b)
{
    const char *p = b.ptr, *end = p + b.len;

    while (p != end && *p == ' ')
        p++;
    while (p != end && end[-1] == ' ')
        end--;
    return bytes_of(p, (size_t)(end - p));
}

/* By its name, or by its name in other letter case if only one has it. */
static size_t find_column(bytes name, const bytes *names, size_t count)
{
    size_t found = SIZE_MAX;

    for (size_t i = 0; i < count; i++)
        if (bytes_equal(name, names[i]))
            return i;
    for (size_t i = 0; i < count; i++) {
        if (name.len == names[i].len && strncasecmp(name.ptr, names[i].ptr, name.len) == 0) {
            if (found != SIZE_MAX)
                return SIZE_MAX;
            found = i;
        }
    }
    return found;
}

static int unknown_column(struct ctx *c, bytes name, const bytes *names, size_t count)
{
    bytes list = BYTES_NONE;

    for (size_t i = 0; i < count && list.len < 400; i++)
        list = arena_printf(&c->arena, "%.*s%s%.*s", BYTES_FMT(list), i ? ", " : "",
                            BYTES_FMT(names[i]));
    return fail(c, E_PARAMETER, "--query: there is no column '%.*s'; there are %.*s",
                BYTES_FMT(name), BYTES_FMT(list));
}

/* One of "COL=", "COL = value", "COL range", "COL desc". */
static int parse_part(struct ctx *c, bytes part, const bytes *names, size_t name_count,
                      struct query *q)
{
    const char *p = part.ptr, *equals = memchr(p, '=', part.len), *space;
    bytes name, word;
    size_t column;

    if (equals) {
        name = trim(bytes_of(p, (size_t)(equals - p)));
    } else {
        space = memchr(p, ' ', part.len);
        name = space ? bytes_of(p, (size_t)(space - p)) : part;
        word = space ? trim(bytes_skip(part, (size_t)(space - p))) : BYTES_NONE;
        if (!(word.len == 5 && strncasecmp(word.ptr, "range", 5) == 0) &&
            !(word.len == 4 && strncasecmp(word.ptr, "desc", 4) == 0))
            return fail(c, E_PARAMETER,
                        "--query: '%.*s' is neither \"COL=\" (one value) nor \"COL range\" (in "
                        "order) nor \"COL desc\" (newest first)",
                        BYTES_FMT(part));
    }
    column = find_column(name, names, name_count);
    if (column == SIZE_MAX)
        return unknown_column(c, name, names, name_count);
    if (equals && q->equal_count == QUERY_PARTS_MAX)
        return fail(c, E_PARAMETER, "--query: more than %d conditions", QUERY_PARTS_MAX);
    if (!equals && q->range != SIZE_MAX)
        return fail(c, E_PARAMETER, "--query: two ranges in '%.*s'; rows have one order",
                    BYTES_FMT(q->text));
    if (equals)
        q->equal[q->equal_count++] = column;
    else
        q->range = column;
    return 0;
}

/* What stands before the next `separator`; *rest is moved behind it. */
static bytes cut(bytes *rest, char separator)
{
    const char *p = rest->ptr, *at = memchr(p, separator, rest->len);
    bytes part = at ? bytes_of(p, (size_t)(at - p)) : *rest;

    *rest = bytes_skip(*rest, part.len + (at != NULL));
    return trim(part);
}

int query_parse(struct ctx *c, const char *text, const bytes *names, size_t name_count,
                struct query *queries, size_t *count)
{
    bytes rest = bytes_str(text);

    while (rest.len) {
        bytes one = cut(&rest, ';');
        struct query *q = &queries[*count];

        if (one.len == 0)
            continue;
        if (*count == QUERIES_MAX)
            return fail(c, E_PARAMETER, "--query: more than %d queries", QUERIES_MAX);
        *q = (struct query){.text = one, .range = SIZE_MAX};
        while (one.len) {
            bytes part = cut(&one, ',');

            if (part.len)
                TRY(parse_part(c, part, names, name_count, q));
        }
        ++*count;
    }
    return 0;
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
    ranged = fixed < count && columns[fixed] == q->range;
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
