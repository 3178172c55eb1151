#include "sql/parse/build.h"

#include "base/number.h"

#include <ctype.h>
#include <strings.h>

/* ---- faults ---- */

void parse_fail(struct parse *p, size_t at, const char *text)
{
    if (p->failed)
        return;
    p->failed = true;
    p->fault_at = at;
    p->fault = bytes_str(text);
}

#define NEAR_BYTES_MAX 40

void parse_unexpected(struct parse *p, const struct token *t)
{
    bytes rest = bytes_skip(p->sql, t->at < p->sql.len ? t->at : p->sql.len);
    int n = (int)(rest.len < NEAR_BYTES_MAX ? rest.len : NEAR_BYTES_MAX);

    if (p->failed)
        return;
    if (!rest.len) {
        parse_fail(p, t->at, "the statement ends too early");
        return;
    }
    while (n > 0 && (size_t)n < rest.len && (bytes_u8(rest)[n] & 0xc0) == 0x80)
        n--; /* not within a character */
    parse_fail(
        p, t->at,
        arena_printf(p->arena, "this is not expected here: '%.*s'", n, (const char *)rest.ptr).ptr);
}

void parse_too_deep(struct parse *p)
{
    parse_fail(p, 0, "the statement is nested too deep");
}

/* ---- lists ---- */

/* Of any of the lists that have a first and a last one; made with its first item. */
#define LIST_ADD(p, l, item)                                                                       \
    do {                                                                                           \
        if (!(l))                                                                                  \
            (l) = arena_zalloc((p)->arena, sizeof(*(l)));                                          \
        if ((l)->last)                                                                             \
            (l)->last->next = (item);                                                              \
        else                                                                                       \
            (l)->first = (item);                                                                   \
        (l)->last = (item);                                                                        \
    } while (0)

struct expr_list *list_add_item(struct parse *p, struct expr_list *l, struct expr_item *item)
{
    LIST_ADD(p, l, item);
    l->count++;
    return l;
}

struct expr_list *list_add(struct parse *p, struct expr_list *l, struct expr *e)
{
    return list_add_item(p, l, build_item(p, e, BYTES_NONE));
}

struct name_list *names_add(struct parse *p, struct name_list *l, const struct name_item *n)
{
    struct name_item *item = ARENA_NEW(p->arena, struct name_item);

    *item = *n;
    item->next = NULL;
    LIST_ADD(p, l, item);
    l->count++;
    return l;
}

struct option_list *options_add(struct parse *p, struct option_list *l, bytes name, bytes value,
                                size_t at)
{
    struct option *o = ARENA_NEW(p->arena, struct option);

    *o = (struct option){.name = name, .value = value, .at = at};
    LIST_ADD(p, l, o);
    return l;
}

struct row_list *rows_add(struct parse *p, struct row_list *l, struct expr_list *values,
                          const struct token *t)
{
    struct row_item *item = ARENA_NEW(p->arena, struct row_item);

    *item = (struct row_item){.values = values, .at = t->at};
    LIST_ADD(p, l, item);
    l->count++;
    return l;
}

/* ---- expressions ---- */

static uint32_t depth_of(const struct expr *e)
{
    return e ? e->depth : 0;
}

static uint32_t deeper(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t depth_of_list(const struct expr_list *l)
{
    uint32_t depth = 0;

    for (const struct expr_item *i = l ? l->first : NULL; i; i = i->next)
        depth = deeper(depth, depth_of(i->expr));
    return depth;
}

static struct expr *build_expr(struct parse *p, const struct expr *e)
{
    struct expr *out = ARENA_NEW(p->arena, struct expr);
    uint32_t depth = deeper(depth_of(e->left), depth_of(e->right));

    depth = deeper(depth, depth_of_list(e->list));
    if (e->over)
        depth =
            deeper(depth, deeper(depth_of_list(e->over->partition), depth_of_list(e->over->order)));
    *out = *e;
    out->depth = depth + 1;
    if (out->depth > EXPR_DEPTH_MAX)
        parse_fail(p, e->at, "the expression is nested too deep");
    return out;
}

struct expr_item *build_item(struct parse *p, struct expr *e, bytes name)
{
    struct expr_item *item = ARENA_NEW(p->arena, struct expr_item);

    *item = (struct expr_item){.expr = e, .name = name, .at = e ? e->at : 0};
    return item;
}

/* Where the first word of an expression stands. */
static size_t leftmost(const struct expr *e)
{
    size_t at = e->at;

    while ((e = e->left))
        at = e->at < at ? e->at : at;
    return at;
}

/* Brackets around parts are no part of the tree: those that are closed in the text are opened in
 * front of it. */
static size_t brackets_open(bytes sql, size_t at, size_t end)
{
    int open = 0;

    for (size_t i = end; i > at; i--)
        open += bytes_u8(sql)[i - 1] == ')' ? 1 : bytes_u8(sql)[i - 1] == '(' ? -1 : 0;
    while (open > 0 && at > 0) {
        at--;
        open -= bytes_u8(sql)[at] == '(';
    }
    return at;
}

struct expr_item *build_selected(struct parse *p, struct expr *e, bytes name, size_t end)
{
    struct expr_item *item = build_item(p, e, name);

    while (end > 0 && isspace(bytes_u8(p->sql)[end - 1]))
        end--;
    item->end = end;
    item->at = brackets_open(p->sql, leftmost(e), end);
    return item;
}

struct expr *build_value(struct parse *p, enum expr_type type, const struct token *t)
{
    return build_expr(p, &(struct expr){.type = type, .at = t->at, .text = t->text});
}

struct expr *build_introduced(struct parse *p, const struct token *charset, const struct token *t)
{
    bool binary = bytes_equal(charset->text, BYTES_LIT("_binary"));

    if (!binary && !bytes_equal(charset->text, BYTES_LIT("_utf8mb4")) &&
        !bytes_equal(charset->text, BYTES_LIT("_utf8")))
        parse_unexpected(p, t);
    return build_value(p, binary ? EXPR_BLOB : EXPR_TEXT, t);
}

struct expr *build_boolean(struct parse *p, bool v, const struct token *t)
{
    return build_expr(p, &(struct expr){.type = EXPR_BOOLEAN, .at = t->at, .index = v});
}

struct expr *build_parameter(struct parse *p, const struct token *t)
{
    return build_expr(
        p, &(struct expr){.type = EXPR_PARAMETER, .at = t->at, .index = p->out->parameter_count++});
}

struct expr *build_column(struct parse *p, const struct token *of, const struct token *name)
{
    return build_expr(
        p, &(struct expr){.type = EXPR_COLUMN, .at = of->at, .of = of->text, .text = name->text});
}

struct expr *build_star(struct parse *p, bytes of, size_t at)
{
    return build_expr(p, &(struct expr){.type = EXPR_STAR, .at = at, .of = of});
}

struct expr *build_unary(struct parse *p, enum expr_op op, struct expr *e, const struct token *t)
{
    return build_expr(p, &(struct expr){.type = EXPR_UNARY, .op = op, .at = t->at, .left = e});
}

struct expr *build_binary(struct parse *p, enum expr_op op, struct expr *l, struct expr *r,
                          const struct token *t)
{
    return build_expr(
        p, &(struct expr){.type = EXPR_BINARY, .op = op, .at = t->at, .left = l, .right = r});
}

struct expr *build_test(struct parse *p, enum expr_type type, struct expr *e, bool negated,
                        const struct token *t)
{
    return build_expr(p, &(struct expr){.type = type, .at = t->at, .left = e, .negated = negated});
}

struct expr *build_in(struct parse *p, struct expr *e, bool negated, struct expr_list *l,
                      struct select *s, const struct token *t)
{
    return build_expr(
        p,
        &(struct expr){
            .type = EXPR_IN, .at = t->at, .left = e, .negated = negated, .list = l, .select = s});
}

struct expr *build_between(struct parse *p, struct expr *e, bool negated, struct expr *low,
                           struct expr *high, const struct token *t)
{
    return build_expr(p, &(struct expr){.type = EXPR_BETWEEN,
                                        .at = t->at,
                                        .left = e,
                                        .negated = negated,
                                        .list = list_add(p, list_add(p, NULL, low), high)});
}

struct expr *build_like(struct parse *p, struct expr *e, bool negated, struct expr *pattern,
                        const struct expr *escape, const struct token *t)
{
    if (escape && escape->text.len != 1)
        parse_fail(p, escape->at, "ESCAPE takes one character");
    return build_expr(
        p, &(struct expr){.type = EXPR_LIKE,
                          .at = t->at,
                          .left = e,
                          .negated = negated,
                          .right = pattern,
                          .index = escape && escape->text.len ? bytes_u8(escape->text)[0] : 0});
}

struct expr *build_call(struct parse *p, const struct token *name, struct expr_list *l,
                        bool distinct)
{
    return build_expr(p, &(struct expr){.type = EXPR_CALL,
                                        .at = name->at,
                                        .text = name->text,
                                        .list = l,
                                        .distinct = distinct});
}

struct expr *build_over(struct parse *p, struct expr *call, struct window *over)
{
    if (!over)
        return call;
    call->over = over;
    return build_expr(p, call);
}

struct window *build_window(struct parse *p, const struct window *w)
{
    struct window *out = ARENA_NEW(p->arena, struct window);

    *out = *w;
    return out;
}

void window_chain(struct window *first, struct window *w)
{
    while (first->next)
        first = first->next;
    first->next = w;
}

struct expr *build_case(struct parse *p, struct expr *e, struct expr_list *when,
                        struct expr *otherwise, const struct token *t)
{
    return build_expr(
        p, &(struct expr){
               .type = EXPR_CASE, .at = t->at, .left = e, .list = when, .right = otherwise});
}

static bool is_word(const struct token *t, const char *word)
{
    return t->text.len == strlen(word) && strncasecmp(t->text.ptr, word, t->text.len) == 0;
}

struct type_name build_whole_type(struct parse *p, const struct token *name,
                                  const struct token *second)
{
    bool is_whole = is_word(name, "signed") || is_word(name, "unsigned");

    if (!is_whole || !(is_word(second, "int") || is_word(second, "integer")))
        parse_fail(p, second->at, "CAST takes one word for a type, or SIGNED or UNSIGNED INTEGER");
    return (struct type_name){.name = name->text, .at = name->at};
}

struct expr *build_cast(struct parse *p, struct expr *e, const struct type_name *type,
                        const struct token *t)
{
    return build_expr(p, &(struct expr){.type = EXPR_CAST,
                                        .at = t->at,
                                        .left = e,
                                        .text = type->name,
                                        .index = type->has_length ? type->length : 0});
}

struct from_list *build_tables(struct from_list *l)
{
    const struct from_item *f = l ? l->first : NULL;
    bool dual = f && !f->next && !f->select && !f->name.database.ptr && f->name.table.len == 4 &&
                strncasecmp(f->name.table.ptr, "dual", 4) == 0;

    return dual ? NULL : l;
}

struct expr *build_tuple(struct parse *p, struct expr_list *l, const struct token *t)
{
    return build_expr(p, &(struct expr){.type = EXPR_TUPLE, .at = t->at, .list = l});
}

struct expr *build_subselect(struct parse *p, enum expr_type type, struct select *s,
                             const struct token *t)
{
    return build_expr(p, &(struct expr){.type = type, .at = t->at, .select = s});
}

struct expr *build_position(struct parse *p, const struct token *name, struct expr *what,
                            struct expr *text)
{
    if (name->text.len != strlen("POSITION") ||
        strncasecmp(name->text.ptr, "POSITION", name->text.len) != 0)
        parse_unexpected(p, name);
    return build_call(p, name, list_add(p, list_add(p, NULL, what), text), false);
}

struct expr *build_interval(struct parse *p, struct expr *e, const struct token *unit,
                            const struct token *t)
{
    return build_expr(
        p, &(struct expr){.type = EXPR_INTERVAL, .at = t->at, .left = e, .text = unit->text});
}

/* ---- SELECT ---- */

struct select *build_select(struct parse *p, const struct select *s)
{
    struct select *out = ARENA_NEW(p->arena, struct select);

    *out = *s;
    return out;
}

void select_unite(struct parse *p, struct select *s, struct select *with, bool all)
{
    (void)p;
    while (s->all_of)
        s = s->all_of;
    s->all_of = with;
    s->union_all = all;
}

struct from_item *build_from(struct parse *p, const struct from_item *f)
{
    struct from_item *out = ARENA_NEW(p->arena, struct from_item);

    *out = *f;
    return out;
}

struct from_list *from_add(struct parse *p, struct from_list *l, struct from_item *f,
                           const struct from_item *how)
{
    f->join = how->join;
    f->on = how->on;
    f->using = how->using;
    LIST_ADD(p, l, f);
    l->count++;
    return l;
}

/* What stands in brackets: one word or text without its quotes, or several as they are written, so
 * that a sign is not lost. */
static bytes hint_value(struct parse *p, struct lexer *l, struct token *t)
{
    bytes value = BYTES_LIT("");
    size_t first = 0, words = 0;
    int token;

    while ((token = lex_next(l, t)) > 0 && !bytes_equal(t->text, BYTES_LIT(")"))) {
        first = words++ ? first : t->at;
        value = t->text;
    }
    if (token <= 0)
        parse_fail(p, l->at, "the hint's bracket has no end");
    return words < 2 || token <= 0 ? value : bytes_of(bytes_u8(l->sql) + first, t->at - first);
}

struct option_list *build_hints(struct parse *p, const struct token *t)
{
    struct lexer l = {.sql = t->text, .arena = p->arena};
    struct option_list *out = NULL;
    struct token word;
    int token = lex_next(&l, &word);

    while (token > 0) {
        bytes name = word.text, value = BYTES_NONE;

        token = lex_next(&l, &word);
        if (token > 0 && bytes_equal(word.text, BYTES_LIT("("))) {
            value = hint_value(p, &l, &word);
            token = lex_next(&l, &word);
        }
        if (!bytes_equal(name, BYTES_LIT(",")))
            out = options_add(p, out, name, value, t->at);
    }
    return out;
}

/* ---- tables ---- */

void definitions_add(struct definitions *d, struct column_definition *c)
{
    if (d->last)
        d->last->next = c;
    else
        d->columns = c;
    d->last = c;
}

void definitions_add_index(struct definitions *d, struct index_definition *i)
{
    if (d->last_index)
        d->last_index->next = i;
    else
        d->indexes = i;
    d->last_index = i;
}

void definitions_set_key(struct parse *p, struct definitions *d, struct key_definition *k,
                         const struct token *t)
{
    if (d->key)
        parse_fail(p, t->at, "the table has two primary keys");
    d->key = k;
    k->at = t->at;
}

void definition_chain(struct column_definition *first, struct column_definition *c)
{
    while (first->next)
        first = first->next;
    first->next = c;
}

struct column_definition *build_definition(struct parse *p, const struct token *name,
                                           const struct type_name *type,
                                           const struct column_definition *options)
{
    struct column_definition *out = ARENA_NEW(p->arena, struct column_definition);

    *out = *options;
    out->name = name->text;
    out->type = *type;
    out->at = name->at;
    return out;
}

static uint32_t length_of(struct parse *p, const struct token *t)
{
    int64_t v = 0;

    if (t && (!number_integer(t->text, &v) || v > INT32_MAX))
        parse_fail(p, t->at, "the length is too large");
    return (uint32_t)v;
}

struct name_list *copies_add(struct parse *p, struct name_list *l, const struct token *name,
                             const struct token *of)
{
    if (!bytes_equal(name->text, of->text))
        parse_fail(p, of->at, "VALUES has the value of the column that is set, and of no other");
    return names_add(p, l, &(struct name_item){.name = name->text});
}

struct expr_list *copies_of_alias(struct parse *p, struct expr_list *l)
{
    bytes alias = p->out->row_alias;
    struct name_list *copies = NULL;

    for (const struct expr_item *i = l->first; i; i = i->next)
        if (!alias.ptr || i->expr->type != EXPR_COLUMN || !bytes_equal(i->expr->of, alias))
            return l;
    for (const struct expr_item *i = l->first; i; i = i->next)
        copies = copies_add(p, copies, &(struct token){.text = i->name},
                            &(struct token){.text = i->expr->text, .at = i->expr->at});
    p->out->copies = copies;
    return NULL;
}

void build_drop_how(struct parse *p, const struct token *word)
{
    if (!is_word(word, "cascade") && !is_word(word, "restrict"))
        parse_unexpected(p, word);
}

struct type_name build_double(struct parse *p, const struct token *name, const struct token *word)
{
    if (!is_word(name, "double") || !is_word(word, "precision"))
        parse_unexpected(p, word);
    return (struct type_name){.name = name->text, .at = name->at};
}

struct type_name build_type(struct parse *p, const struct token *name, const struct token *length,
                            const struct token *scale)
{
    return (struct type_name){.name = name->text,
                              .at = name->at,
                              .has_length = true,
                              .length = length_of(p, length),
                              .scale = length_of(p, scale)};
}

struct key_definition *build_key(struct parse *p, const struct token *hash,
                                 struct name_list *hashed, struct name_list *columns)
{
    struct key_definition *out = ARENA_NEW(p->arena, struct key_definition);

    *out = (struct key_definition){.columns = columns, .hashed = hashed};
    out->at = columns->first->at;
    if (hash) {
        out->hash = hash->text;
        out->at = hash->at;
    }
    return out;
}

struct index_definition *build_index(struct parse *p, const struct index_definition *i)
{
    struct index_definition *out = ARENA_NEW(p->arena, struct index_definition);

    *out = *i;
    return out;
}

/* ---- statements ---- */

struct statement *alter(struct parse *p, const struct table_name *t, enum alter_type type)
{
    p->out->type = STATEMENT_ALTER_TABLE;
    p->out->table = *t;
    p->out->alter = type;
    return p->out;
}

struct statement *simple(struct parse *p, enum statement_type type, const struct token *name)
{
    p->out->type = type;
    p->out->name = name->text;
    return p->out;
}

struct statement *user(struct parse *p, enum statement_type type, const struct token *name,
                       const struct token *password)
{
    simple(p, type, name);
    p->out->pattern = password ? password->text : BYTES_NONE;
    return p->out;
}

void user_set(struct parse *p, const struct token *name, const struct token *what,
              const struct token *password)
{
    if (what->text.len != strlen("PASSWORD") ||
        strncasecmp(what->text.ptr, "PASSWORD", what->text.len) != 0)
        parse_unexpected(p, what);
    user(p, STATEMENT_ALTER_USER, name, password);
}

struct statement *show(struct parse *p, enum show_type type)
{
    p->out->type = STATEMENT_SHOW;
    p->out->show = type;
    return p->out;
}
