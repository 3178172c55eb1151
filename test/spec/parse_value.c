/* parse_value.c: names, numbers, times, values and keys. */
#include "spec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool take(struct cursor *p, const char *word)
{
    if (!token_is(p->at, word))
        return false;
    p->at++;
    return true;
}

void expect(struct cursor *p, const char *word)
{
    if (!take(p, word))
        script_die(p->s, "'%s' was expected, not '%.*s'", word, BYTES_FMT(p->at->text));
}

static const struct wr_value *parse_variable(struct cursor *p)
{
    const struct wr_value *v = script_get(p->s, p->at->text);

    if (!v)
        script_die(p->s, "no variable '%.*s'", BYTES_FMT(p->at->text));
    p->at++;
    return v;
}

static int64_t number_of(struct cursor *p, const struct token *t)
{
    char *end, copy[32];

    if (t->kind != TOKEN_NUMBER || t->text.len >= sizeof(copy))
        script_die(p->s, "a number was expected, not '%.*s'", BYTES_FMT(t->text));
    memcpy(copy, t->text.ptr, t->text.len);
    copy[t->text.len] = 0;
    return strtoll(copy, &end, 10);
}

/* What follows now or a variable: +5, -10s. */
static int64_t parse_shift(struct cursor *p, bool times)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    bool plus = token_is(p->at, "+");
    int64_t n;

    if (!plus && !(p->at->kind == TOKEN_NUMBER && *bytes_u8(p->at->text) == '-'))
        return 0;
    p->at += plus;
    n = number_of(p, p->at++);
    for (size_t i = 0; times && i < PORT_COUNT(units); i++)
        if (take(p, units[i].name))
            return n * units[i].ms;
    return n;
}

int64_t parse_number(struct cursor *p)
{
    int64_t n;

    if (take(p, "$")) {
        n = parse_variable(p)->integer;
        return n + parse_shift(p, false);
    }
    n = number_of(p, p->at);
    p->at++;
    return n;
}

int64_t parse_time(struct cursor *p)
{
    if (take(p, "now"))
        return p->s->now_ms + parse_shift(p, true);
    return parse_number(p);
}

bytes parse_name(struct cursor *p)
{
    if (take(p, "$"))
        return parse_variable(p)->bytes;
    if (p->at->kind != TOKEN_WORD && p->at->kind != TOKEN_TEXT)
        script_die(p->s, "a name was expected, not '%.*s'", BYTES_FMT(p->at->text));
    return (p->at++)->text;
}

/* tinyint(5) and the like: the types that only the library carries. */
static bool parse_typed(struct cursor *p, struct wr_value *v)
{
    static const struct {
        const char *name;
        enum wr_type type;
    } types[] = {{"tinyint", WR_TINYINT},     {"smallint", WR_SMALLINT}, {"int", WR_INTEGER},
                 {"ubigint", WR_UBIGINT},     {"float", WR_FLOAT},       {"decimal", WR_DECIMAL},
                 {"char", WR_CHAR},           {"fixed", WR_BINARY},      {"date", WR_DATE},
                 {"timestamp", WR_TIMESTAMP}, {"json", WR_JSON},         {"time", WR_TIME}};

    if (!token_is(p->at + 1, "("))
        return false;
    for (size_t i = 0; i < PORT_COUNT(types); i++)
        if (take(p, types[i].name)) {
            expect(p, "(");
            *v = parse_value(p);
            expect(p, ")");
            if (types[i].type == WR_FLOAT && v->type == WR_BIGINT)
                v->real = (double)v->integer;
            v->type = types[i].type;
            return true;
        }
    return false;
}

static bool parse_constant(struct cursor *p, struct wr_value *v)
{
    if (take(p, "true"))
        *v = (struct wr_value){.type = WR_BOOLEAN, .boolean = true};
    else if (take(p, "false"))
        *v = (struct wr_value){.type = WR_BOOLEAN, .boolean = false};
    else if (take(p, "min"))
        *v = (struct wr_value){.type = WR_INF_MIN};
    else if (take(p, "max"))
        *v = (struct wr_value){.type = WR_INF_MAX};
    else if (take(p, "auto"))
        *v = (struct wr_value){.type = WR_AUTO_INCREMENT};
    else if (take(p, "null"))
        *v = (struct wr_value){.type = WR_NULL};
    else if (take(p, "nan"))
        *v = (struct wr_value){.type = WR_DOUBLE, .real = (double)NAN};
    else if (take(p, "inf"))
        *v = (struct wr_value){.type = WR_DOUBLE, .real = (double)INFINITY};
    else
        return false;
    return true;
}

struct wr_value parse_value(struct cursor *p)
{
    struct wr_value v = {.type = WR_NULL};
    char copy[64];

    if (p->at->kind == TOKEN_TEXT)
        return (struct wr_value){.type = WR_VARCHAR, .bytes = (p->at++)->text};
    if (p->at->kind == TOKEN_BINARY)
        return (struct wr_value){.type = WR_VARBINARY, .bytes = (p->at++)->text};
    if (take(p, "$")) {
        v = *parse_variable(p);
        if (v.type == WR_BIGINT)
            v.integer += parse_shift(p, false);
        return v;
    }
    if (p->at->kind != TOKEN_NUMBER) {
        if (!parse_typed(p, &v) && !parse_constant(p, &v))
            script_die(p->s, "a value was expected, not '%.*s'", BYTES_FMT(p->at->text));
        return v;
    }
    if (!memchr(p->at->text.ptr, '.', p->at->text.len) &&
        !memchr(p->at->text.ptr, 'e', p->at->text.len))
        return (struct wr_value){.type = WR_BIGINT, .integer = parse_number(p)};
    snprintf(copy, sizeof(copy), "%.*s", BYTES_FMT(p->at->text));
    p->at++;
    return (struct wr_value){.type = WR_DOUBLE, .real = strtod(copy, NULL)};
}

struct wr_key parse_key(struct cursor *p)
{
    struct wr_key_column *columns = ARENA_ARRAY(&p->s->c.arena, struct wr_key_column, 16);
    size_t n = 0;

    expect(p, "(");
    while (!take(p, ")")) {
        if (n == 16)
            script_die(p->s, "a key of more than 16 columns");
        columns[n].name = parse_name(p);
        expect(p, "=");
        columns[n++].value = parse_value(p);
    }
    return (struct wr_key){columns, n};
}
