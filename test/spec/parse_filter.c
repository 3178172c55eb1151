/* parse_filter.c: filters and column conditions.
 *
 *   a = 5    b exists    t regex "x([0-9]+)" as integer > 3 required any_version
 *   and(f f ...)  or(f f ...)  not(f)  page(offset limit)  31 of f  combine(9 f) */
#include "parse.h"

#define SUBS_MAX 1100

static void parse_node(struct cursor *p, struct wr_filter *out);

static enum wr_comparator parse_comparator(struct cursor *p)
{
    static const struct {
        const char *name;
        enum wr_comparator comparator;
    } all[] = {{"=", WR_EQUAL},          {"!=", WR_NOT_EQUAL},     {">", WR_GREATER_THAN},
               {">=", WR_GREATER_EQUAL}, {"<", WR_LESS_THAN},      {"<=", WR_LESS_EQUAL},
               {"exists", WR_EXIST},     {"missing", WR_NOT_EXIST}};

    for (size_t i = 0; i < PORT_COUNT(all); i++)
        if (take(p, all[i].name))
            return all[i].comparator;
    expect(p, "op");
    return (enum wr_comparator)parse_number(p);
}

static void parse_column(struct cursor *p, struct wr_filter *out)
{
    struct wr_column_filter *f = &out->column;

    out->type = WR_FILTER_COLUMN;
    f->latest_version_only = true;
    f->column = parse_name(p);
    if (take(p, "regex")) {
        f->regex = parse_value(p).bytes;
        expect(p, "as");
        f->cast_type = parse_type(p);
    }
    f->comparator = parse_comparator(p);
    if (f->comparator == WR_EXIST || f->comparator == WR_NOT_EXIST)
        f->value = (struct wr_value){.type = WR_BIGINT};
    else
        f->value = parse_value(p);
    for (;;) {
        if (take(p, "required"))
            f->filter_if_missing = true;
        else if (take(p, "any_version"))
            f->latest_version_only = false;
        else
            return;
    }
}

static void parse_composite(struct cursor *p, int combinator, struct wr_filter *out)
{
    struct wr_filter *subs = ARENA_ARRAY(&p->s->c.arena, struct wr_filter, SUBS_MAX);
    size_t n = 0;

    out->type = WR_FILTER_COMPOSITE;
    out->composite.combinator = (enum wr_combinator)combinator;
    while (!take(p, ")")) {
        int64_t times = 1;

        if (p->at->kind == TOKEN_NUMBER) {
            times = parse_number(p);
            expect(p, "of");
        }
        parse_node(p, &subs[n]);
        for (n++; times > 1 && n < SUBS_MAX; times--, n++)
            subs[n] = subs[n - 1];
    }
    out->composite.subs = subs;
    out->composite.sub_count = n;
}

static void parse_node(struct cursor *p, struct wr_filter *out)
{
    static const char *const names[] = {"combine", "not", "and", "or"};

    if (p->at->kind == TOKEN_WORD && token_is(p->at + 1, "(")) {
        for (int i = 0; i < 4; i++)
            if (token_is(p->at, names[i])) {
                p->at += 2;
                parse_composite(p, i ? i : (int)parse_number(p), out);
                return;
            }
        if (token_is(p->at, "page")) {
            p->at += 2;
            out->type = WR_FILTER_PAGE;
            out->page.offset = (int32_t)parse_number(p);
            out->page.limit = (int32_t)parse_number(p);
            expect(p, ")");
            return;
        }
    }
    parse_column(p, out);
}

const struct wr_filter *parse_filter(struct cursor *p)
{
    struct wr_filter *f = ARENA_NEW(&p->s->c.arena, struct wr_filter);

    parse_node(p, f);
    return f;
}
