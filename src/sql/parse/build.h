/* build.h: what the grammar's actions put trees together with. All of it lives in the arena of the
 * parse; after a fault nothing that is built counts. */
#ifndef SQL_PARSE_BUILD_H
#define SQL_PARSE_BUILD_H

#include "sql/parse/lex.h"
#include "sql/parse/tree.h"

struct parse {
    struct arena *arena;
    bytes sql;
    struct statement *out;
    bool failed;
    size_t fault_at;
    bytes fault;  /* the first one */
    size_t ahead; /* where the word begins that the parser looks at */
};

/* ---- faults ---- */

/* The first one counts. */
void parse_fail(struct parse *p, size_t at, const char *text);
void parse_unexpected(struct parse *p, const struct token *t);
void parse_too_deep(struct parse *p);

/* ---- lists; NULL is an empty one ---- */

struct expr_list *list_add(struct parse *p, struct expr_list *l, struct expr *e);
struct expr_list *list_add_item(struct parse *p, struct expr_list *l, struct expr_item *item);
struct name_list *names_add(struct parse *p, struct name_list *l, const struct name_item *n);
struct option_list *options_add(struct parse *p, struct option_list *l, bytes name, bytes value,
                                size_t at);
struct row_list *rows_add(struct parse *p, struct row_list *l, struct expr_list *values,
                          const struct token *t);

/* ---- expressions ---- */

struct expr_item *build_item(struct parse *p, struct expr *e, bytes name);
/* Of a SELECT's list: with the place of its text, after which its column is called. */
struct expr_item *build_selected(struct parse *p, struct expr *e, bytes name, size_t end);
struct expr *build_value(struct parse *p, enum expr_type type, const struct token *t);
/* _binary '...', which drivers write, is a blob; _utf8mb4 '...' a text. */
struct expr *build_introduced(struct parse *p, const struct token *charset, const struct token *t);
struct expr *build_boolean(struct parse *p, bool v, const struct token *t);
struct expr *build_parameter(struct parse *p, const struct token *t);
struct expr *build_column(struct parse *p, const struct token *of, const struct token *name);
struct expr *build_star(struct parse *p, bytes of, size_t at);
struct expr *build_unary(struct parse *p, enum expr_op op, struct expr *e, const struct token *t);
struct expr *build_binary(struct parse *p, enum expr_op op, struct expr *l, struct expr *r,
                          const struct token *t);
struct expr *build_test(struct parse *p, enum expr_type type, struct expr *e, bool negated,
                        const struct token *t);
struct expr *build_in(struct parse *p, struct expr *e, bool negated, struct expr_list *l,
                      struct select *s, const struct token *t);
struct expr *build_between(struct parse *p, struct expr *e, bool negated, struct expr *low,
                           struct expr *high, const struct token *t);
struct expr *build_like(struct parse *p, struct expr *e, bool negated, struct expr *pattern,
                        const struct expr *escape, const struct token *t);
struct expr *build_call(struct parse *p, const struct token *name, struct expr_list *l,
                        bool distinct);
/* The call with its window, if there is one. */
struct expr *build_over(struct parse *p, struct expr *call, struct window *over);
struct window *build_window(struct parse *p, const struct window *w);
void window_chain(struct window *first, struct window *w);
struct expr *build_case(struct parse *p, struct expr *e, struct expr_list *when,
                        struct expr *otherwise, const struct token *t);
/* [UN]SIGNED INT[EGER], MySQL's way to say what CAST makes with a second word. */
struct type_name build_whole_type(struct parse *p, const struct token *name,
                                  const struct token *second);
struct expr *build_cast(struct parse *p, struct expr *e, const struct type_name *type,
                        const struct token *t);
/* NULL for DUAL, which stands for no table. */
struct from_list *build_tables(struct from_list *l);
struct expr *build_tuple(struct parse *p, struct expr_list *l, const struct token *t);
struct expr *build_subselect(struct parse *p, enum expr_type type, struct select *s,
                             const struct token *t);
/* POSITION(what IN text). */
struct expr *build_position(struct parse *p, const struct token *name, struct expr *what,
                            struct expr *text);
struct expr *build_interval(struct parse *p, struct expr *e, const struct token *unit,
                            const struct token *t);

/* ---- SELECT ---- */

struct limit {
    struct expr *limit, *offset;
};

struct select *build_select(struct parse *p, const struct select *s);
void select_unite(struct parse *p, struct select *s, struct select *with, bool all);
struct from_item *build_from(struct parse *p, const struct from_item *f);
/* `how` has the join and its condition. */
struct from_list *from_add(struct parse *p, struct from_list *l, struct from_item *f,
                           const struct from_item *how);
/* A hint's text: names, each perhaps with a value in brackets. */
struct option_list *build_hints(struct parse *p, const struct token *t);

/* ---- tables ---- */

struct definitions {
    struct column_definition *columns, *last;
    struct key_definition *key;
    struct index_definition *indexes, *last_index;
};

void definitions_add(struct definitions *d, struct column_definition *c);
void definitions_add_index(struct definitions *d, struct index_definition *i);
void definitions_set_key(struct parse *p, struct definitions *d, struct key_definition *k,
                         const struct token *t);
void definition_chain(struct column_definition *first, struct column_definition *c);
struct column_definition *build_definition(struct parse *p, const struct token *name,
                                           const struct type_name *type,
                                           const struct column_definition *options);
/* column = VALUES(column), of ON DUPLICATE KEY UPDATE: no other column's value. */
struct name_list *copies_add(struct parse *p, struct name_list *l, const struct token *name,
                             const struct token *of);
/* The same by VALUES (...) AS new ... column = new.column: then NULL, and the copies are the
 * statement's; else the assignments. */
struct expr_list *copies_of_alias(struct parse *p, struct expr_list *l);
/* CASCADE or RESTRICT. */
void build_drop_how(struct parse *p, const struct token *word);
/* DOUBLE PRECISION; no other type has two words. */
struct type_name build_double(struct parse *p, const struct token *name, const struct token *word);
/* `length`, `scale`: NULL, or whole numbers. */
struct type_name build_type(struct parse *p, const struct token *name, const struct token *length,
                            const struct token *scale);
/* `hash` NULL: a plain key. */
struct key_definition *build_key(struct parse *p, const struct token *hash,
                                 struct name_list *hashed, struct name_list *columns);
struct index_definition *build_index(struct parse *p, const struct index_definition *i);

/* ---- statements ---- */

struct statement *alter(struct parse *p, const struct table_name *t, enum alter_type type);
struct statement *simple(struct parse *p, enum statement_type type, const struct token *name);
/* `password` NULL: none is said. */
struct statement *user(struct parse *p, enum statement_type type, const struct token *name,
                       const struct token *password);
/* ALTER USER u SET PASSWORD = '...'. */
void user_set(struct parse *p, const struct token *name, const struct token *what,
              const struct token *password);
struct statement *show(struct parse *p, enum show_type type);

#endif
