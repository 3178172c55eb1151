/* match.c: whether an answer is what the script expects. Both are token lists in one language, so
 * this is a walk along both, with few liberties: what the script does not mention of timestamps,
 * costs, counts and error texts is passed over; ?x captures and ? passes over one value. */
#include "spec.h"

#include <stdlib.h>

static const struct token end_token = {TOKEN_END, {NULL, 0}};

static bool starts_option(const struct token *t)
{
    return token_is(t, "cu") || token_is(t, "size") || token_is(t, "count");
}

/* Behind the optional part that starts at t; t itself if none does. */
static const struct token *skip_optional(const struct token *t, const struct token *before)
{
    if (token_is(t, "@"))
        return t + 2;
    if (token_is(t, "count") && token_is(t + 1, "="))
        return t + 3;
    if (starts_option(t) && token_is(t + 1, "="))
        return t + 4; /* two numbers */
    if (t->kind == TOKEN_TEXT && before && before->kind == TOKEN_WORD &&
        error_of_name(before->text) > 0)
        return t + 1;
    return t;
}

static struct wr_value value_of(struct script *s, const struct token *t)
{
    struct cursor p = {s, t};

    return parse_value(&p);
}

static bool same_value(const struct wr_value *a, const struct wr_value *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == WR_BIGINT)
        return a->integer == b->integer;
    if (a->type == WR_DOUBLE)
        return a->real == b->real;
    return bytes_equal(a->bytes, b->bytes);
}

/* Error names of one Tablestore code cannot be told apart on the wire. */
static bool same_word(bytes a, bytes b)
{
    int x, y;

    if (bytes_equal(a, b))
        return true;
    x = error_of_name(a);
    y = error_of_name(b);
    return x > 0 && y > 0 && err_info(x)->http_status == err_info(y)->http_status &&
           strcmp(err_info(x)->code, err_info(y)->code) == 0;
}

static bool is_constant(const struct token *t)
{
    static const char *const words[] = {"true", "false", "null", "min", "max", "auto"};

    for (size_t i = 0; i < PORT_COUNT(words); i++)
        if (bytes_equal(t->text, bytes_str(words[i])))
            return true;
    return false;
}

static bool same_token(struct script *s, const struct token *e, const struct token *a)
{
    struct wr_value x, y;

    /* A name may be written either way. */
    if ((e->kind == TOKEN_TEXT && a->kind == TOKEN_WORD) ||
        (e->kind == TOKEN_WORD && a->kind == TOKEN_TEXT))
        return bytes_equal(e->text, a->text) && !is_constant(a);
    if (e->kind != a->kind)
        return false;
    if (e->kind == TOKEN_NUMBER) {
        x = value_of(s, e);
        y = value_of(s, a);
        return same_value(&x, &y);
    }
    return e->kind == TOKEN_WORD ? same_word(e->text, a->text) : bytes_equal(e->text, a->text);
}

/* ? or ?x against one token. */
static const struct token *capture(struct script *s, const struct token *e, const struct token *a)
{
    struct wr_value v = {.type = WR_VARCHAR, .bytes = a->text};

    e++;
    if (e->kind != TOKEN_WORD)
        return e;
    if (a->kind == TOKEN_NUMBER)
        v = value_of(s, a);
    else if (a->kind == TOKEN_BINARY)
        v.type = WR_VARBINARY;
    script_set(s, e->text, &v);
    return e + 1;
}

/* Texts in an expectation may end in "..." to leave their end open. */
static bool open_text(const struct token *e, const struct token *a)
{
    bytes t = e->text;

    if (e->kind != TOKEN_TEXT || a->kind != TOKEN_TEXT || t.len < 3 ||
        memcmp((const char *)t.ptr + t.len - 3, "...", 3) != 0)
        return false;
    t.len -= 3;
    return bytes_starts(a->text, t);
}

static bool match_from(struct script *s, const struct token *e, const struct token *a)
{
    const struct token *before = NULL;

    for (;;) {
        const struct token *option = skip_optional(a, before);

        if (token_is(e, "..."))
            return true;
        if (e->kind == TOKEN_END && a->kind == TOKEN_END)
            return true;
        if (option != a && !(e->kind == a->kind && (a->kind == TOKEN_TEXT || token_is(e, "@") ||
                                                    bytes_equal(e->text, a->text)))) {
            a = option;
            before = NULL;
            continue;
        }
        if (e->kind == TOKEN_END || a->kind == TOKEN_END)
            return false;
        before = a;
        if (token_is(e, "?")) {
            e = capture(s, e, a++);
        } else if (token_is(e, "$") || token_is(e, "now")) {
            struct cursor p = {s, e};
            struct wr_value want = {.type = WR_BIGINT}, got = value_of(s, a++);

            if (token_is(e, "now"))
                want.integer = parse_time(&p);
            else
                want = parse_value(&p);
            if (!same_value(&want, &got))
                return false;
            e = p.at;
        } else if (same_token(s, e, a) || open_text(e, a)) {
            e++;
            a++;
        } else {
            return false;
        }
    }
}

bool match(struct script *s, const struct tokens *expected, const struct tokens *actual)
{
    return match_from(s, expected->items, actual->items);
}

/* The tokens of one name=value, the value up to the next name at this depth. */
static size_t item_size(const struct token *t)
{
    size_t n = 2;
    int depth = 0;

    for (; t[n].kind != TOKEN_END; n++) {
        if (!depth && n > 2 && t[n].kind == TOKEN_WORD && token_is(&t[n + 1], "="))
            break;
        depth += token_is(&t[n], "(");
        depth -= token_is(&t[n], ")");
    }
    return n;
}

static bool match_part(struct script *s, const struct token *e, size_t en, const struct token *a,
                       size_t an)
{
    struct token *copy = ARENA_ARRAY(&s->c.arena, struct token, en + an + 2);

    memcpy(copy, e, sizeof(*e) * en);
    copy[en] = end_token;
    memcpy(copy + en + 1, a, sizeof(*a) * an);
    copy[en + 1 + an] = end_token;
    return match_from(s, copy, copy + en + 1);
}

bool match_items(struct script *s, const struct tokens *expected, const struct tokens *actual)
{
    const struct token *e = expected->items;

    if (!actual->count || !same_token(s, e, actual->items))
        return false;
    for (e++; e->kind != TOKEN_END; e += item_size(e)) {
        const struct token *a = actual->items + 1;

        while (a->kind != TOKEN_END && !bytes_equal(a->text, e->text))
            a += item_size(a);
        if (a->kind == TOKEN_END || !match_part(s, e, item_size(e), a, item_size(a)))
            return false;
    }
    return true;
}
