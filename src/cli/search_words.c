#include "cli/search_words.h"

#include "cli/console/value.h"

#include <stdlib.h>
#include <strings.h>

#define DEPTH_MAX 32
#define PARTS_MAX 64 /* of one `and` or `or` */

struct parse {
    struct ctx *c;
    const char *text, *at;
    size_t depth;
};

static int bad(struct parse *p, const char *what)
{
    return fail(p->c, E_PARAMETER,
                "%s at '%s' in \"%s\"; it is written like: title : \"red shoes\" and price < 5",
                what, *p->at ? p->at : "the end", p->text);
}

static void skip_space(struct parse *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
        p->at++;
}

static bool is_word(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '_' || ch == '.' || ch == '-' || ch == '+' || (uint8_t)ch >= 0x80;
}

static bool take(struct parse *p, const char *sign)
{
    size_t n = strlen(sign);

    skip_space(p);
    if (strncasecmp(p->at, sign, n) != 0 || (is_word(sign[0]) && is_word(p->at[n])))
        return false;
    p->at += n;
    return true;
}

static int take_field(struct parse *p, bytes *out)
{
    const char *from;

    skip_space(p);
    from = p->at;
    if (*from == '`') {
        p->at = strchr(++from, '`');
        if (!p->at)
            return fail(p->c, E_PARAMETER, "a field's name is not closed by a backquote: %s", from);
        *out = bytes_of(from, (size_t)(p->at++ - from));
        return 0;
    }
    while (is_word(*p->at))
        p->at++;
    *out = bytes_of(from, (size_t)(p->at - from));
    return out->len ? 0 : bad(p, "a field's name is missing");
}

/* A text in quotes, or a plain word. */
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
    } else {
        while (is_word(*p->at) || *p->at == ':' || *p->at == '/')
            p->at++;
    }
    if (p->at == from)
        return bad(p, "a value is missing");
    return value_of_word(p->c, "", bytes_of(from, (size_t)(p->at - from)), VALUE_TYPE_OPEN, out);
}

static int take_text(struct parse *p, bytes *out)
{
    const char *from;
    struct wr_value v;

    skip_space(p);
    from = p->at;
    TRY(take_value(p, &v));
    *out = v.type == WR_VARCHAR ? v.bytes : bytes_of(from, (size_t)(p->at - from));
    return 0;
}

/* ---- of one field ---- */

static int take_match(struct parse *p, struct wr_search_condition *q, bool all)
{
    q->type = WR_SEARCH_MATCH;
    q->match.all = all;
    return take_text(p, &q->match.text);
}

static int take_pattern(struct parse *p, struct wr_search_condition *q, enum wr_condition_type type)
{
    q->type = type;
    return take_text(p, &q->pattern);
}

static int take_range(struct parse *p, struct wr_search_condition *q, bool low, bool equal)
{
    q->type = WR_SEARCH_RANGE;
    if (low)
        q->range.include_from = equal;
    else
        q->range.include_to = equal;
    return take_value(p, low ? &q->range.from : &q->range.to);
}

static int take_circle(struct parse *p, struct wr_search_condition *q)
{
    struct wr_bytes *point = ARENA_ARRAY(&p->c->arena, struct wr_bytes, 1);
    struct wr_value metres;

    q->type = WR_SEARCH_GEO_DISTANCE;
    TRY(take_text(p, point));
    TRY(take_value(p, &metres));
    if (metres.type != WR_BIGINT && metres.type != WR_DOUBLE)
        return bad(p, "a number of metres is missing");
    q->geo = (struct wr_geo_condition){
        point, 1, metres.type == WR_DOUBLE ? metres.real : (double)metres.integer};
    return 0;
}

static int parse_field(struct parse *p, struct wr_search_condition *q)
{
    TRY(take_field(p, &q->field));
    if (take(p, "::"))
        return take_match(p, q, true);
    if (take(p, ":"))
        return take_match(p, q, false);
    if (take(p, "~")) {
        TRY(take_match(p, q, false));
        q->type = WR_SEARCH_MATCH_PHRASE;
        return 0;
    }
    if (take(p, "exists")) {
        q->type = WR_SEARCH_EXISTS;
        return 0;
    }
    if (take(p, "like"))
        return take_pattern(p, q, WR_SEARCH_WILDCARD);
    if (take(p, "starts"))
        return take_pattern(p, q, WR_SEARCH_PREFIX);
    if (take(p, "near"))
        return take_circle(p, q);
    if (take(p, ">="))
        return take_range(p, q, true, true);
    if (take(p, ">"))
        return take_range(p, q, true, false);
    if (take(p, "<="))
        return take_range(p, q, false, true);
    if (take(p, "<"))
        return take_range(p, q, false, false);
    if (!take(p, "="))
        return bad(p, "one of : :: ~ = < <= > >= like starts near exists is missing");
    q->type = WR_SEARCH_TERM;
    return take_value(p, &q->term);
}

/* ---- of several ---- */

static int parse_or(struct parse *p, struct wr_search_condition *q);

static int parse_not(struct parse *p, struct wr_search_condition *q)
{
    struct wr_search_condition *inner = ARENA_NEW(&p->c->arena, struct wr_search_condition);

    inner->weight = 1;
    q->type = WR_SEARCH_BOOL;
    q->boolean.must_not = inner;
    q->boolean.must_not_count = 1;
    return 0;
}

static int parse_one(struct parse *p, struct wr_search_condition *q)
{
    if (++p->depth > DEPTH_MAX)
        return bad(p, "too many brackets");
    *q = (struct wr_search_condition){.weight = 1};
    if (take(p, "not")) {
        TRY(parse_not(p, q));
        TRY(parse_one(p, (struct wr_search_condition *)q->boolean.must_not));
    } else if (take(p, "(")) {
        TRY(parse_or(p, q));
        if (!take(p, ")"))
            return bad(p, "a ) is missing");
    } else if (take(p, "*")) {
        q->type = WR_SEARCH_MATCH_ALL;
    } else {
        TRY(parse_field(p, q));
    }
    p->depth--;
    return 0;
}

/* Parts with `word` between them; one alone stays itself. */
static int parse_list(struct parse *p, const char *word,
                      int (*part)(struct parse *p, struct wr_search_condition *q),
                      struct wr_search_condition *q)
{
    struct wr_search_condition list[PARTS_MAX], *kept;
    size_t count = 0;

    do {
        if (count == PARTS_MAX)
            return bad(p, "too many parts");
        TRY(part(p, &list[count++]));
    } while (take(p, word));
    if (count == 1) {
        *q = list[0];
        return 0;
    }
    kept = ARENA_ARRAY(&p->c->arena, struct wr_search_condition, count);
    memcpy(kept, list, count * sizeof(list[0]));
    *q = (struct wr_search_condition){.type = WR_SEARCH_BOOL, .weight = 1};
    if (word[0] == 'a') {
        q->boolean.must = kept;
        q->boolean.must_count = count;
    } else {
        q->boolean.should = kept;
        q->boolean.should_count = count;
    }
    return 0;
}

static int parse_and(struct parse *p, struct wr_search_condition *q)
{
    return parse_list(p, "and", parse_one, q);
}

static int parse_or(struct parse *p, struct wr_search_condition *q)
{
    return parse_list(p, "or", parse_and, q);
}

int search_words_parse(struct ctx *c, const char *text, struct wr_search_condition **out)
{
    struct parse p = {.c = c, .text = text, .at = text};

    *out = ARENA_NEW(&c->arena, struct wr_search_condition);
    TRY(parse_or(&p, *out));
    skip_space(&p);
    return *p.at ? bad(&p, "'and' or 'or' is missing") : 0;
}

int search_words_sort(struct ctx *c, const char *text, struct wr_sort *out)
{
    struct wr_sorter *list = ARENA_ARRAY(&c->arena, struct wr_sorter, strlen(text) + 1);
    size_t count = 0;

    for (const char *p = text; p;) {
        bool down = *p == '-';
        size_t len = strcspn(p += down, ",");
        struct wr_sorter *s = &list[count++];

        *s = (struct wr_sorter){.type = WR_SORTER_FIELD,
                                .field = bytes_of(p, len),
                                .order = down ? WR_ORDER_DESC : WR_ORDER_ASC,
                                .order_given = true};
        if (!len)
            return fail(c, E_PARAMETER, "'%s': a field between two commas has no name", text);
        if (bytes_equal(s->field, BYTES_LIT("_score"))) {
            s->type = WR_SORTER_SCORE;
            s->order = down ? WR_ORDER_ASC : WR_ORDER_DESC;
        } else if (bytes_equal(s->field, BYTES_LIT("_key"))) {
            s->type = WR_SORTER_KEY;
        }
        p = p[len] ? p + len + 1 : NULL;
    }
    *out = (struct wr_sort){.given = true, .sorters = list, .count = count};
    return 0;
}
