// grammar.y: both dialects of SQL, for Lemon, which makes sql_grammar.c and .h of it in the build folder.
//
// Actions only put together what tree.h has, with the functions of build.h; what a statement means is decided by who
// reads the tree. Words that are no names unless quoted are those that keyword.def calls RESERVED: all others fall back.
%name sql_grammar
%token_prefix TOKEN_
%token_type {struct token}
%extra_argument {struct parse *p}
%include {
#include "sql/parse/build.h"

#include <assert.h>

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
}
%syntax_error { parse_unexpected(p, &TOKEN); }
%stack_overflow { parse_too_deep(p); }
%stack_size 400

%fallback ID ALLOW ASYNC AUTO_INCREMENT BEGIN BUILD CANCEL CAST CHARACTER COLLATE COLUMNS COMMENT COMMIT COMPACT CONNECTION CURRENT DATABASE DATABASES DUPLICATE END ESCAPE FILTERING FLUSH FOLLOWING FORCE FULL
  GLOBAL GRANT IDENTIFIED INCLUDE INDEXES LOCK MAPPING OFFLINE OFFSET ONLINE OVER PARTITION PRECEDING PRECISION PROCESSLIST QUERY RANGE RELEASE REVOKE ROLLBACK ROW ROWS SAVEPOINT SCHEMA SCHEMAS SESSION START SYNC
  TABLES TO TRACE TRANSACTION TRUNCATE UNBOUNDED UNLOCK USER VARIABLES WARNINGS.

%left OR.
%left XOR.
%left AND.
%right NOT.
%left EQUAL NULL_SAFE_EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL IS LIKE REGEXP IN BETWEEN.
%nonassoc ESCAPE.
%left BIT_OR.
%left BIT_AND.
%left SHIFT_LEFT SHIFT_RIGHT.
%left PLUS MINUS.
%left STAR SLASH DIV MOD.
%left BIT_XOR.
%right UNARY BIT_NOT EXCLAMATION.
%left COLLATE.

%type expr {struct expr *}
%type value {struct expr *}
%type bool_or_not {bool}
%type expr_list {struct expr_list *}
%type maybe_list {struct expr_list *}
%type case_list {struct expr_list *}
%type maybe_expr {struct expr *}
%type case_else {struct expr *}
%type like_escape {struct expr *}
%type select {struct select *}
%type select_one {struct select *}
%type items {struct expr_list *}
%type item {struct expr_item *}
%type alias {bytes}
%type from {struct from_list *}
%type from_list {struct from_list *}
%type from_one {struct from_item *}
%type join {int}
%type join_how {struct from_item}
%type where {struct expr *}
%type having {struct expr *}
%type group {struct expr_list *}
%type order {struct expr_list *}
%type order_list {struct expr_list *}
%type order_item {struct expr_item *}
%type limit {struct limit}
%type distinct {bool}
%type filtering {bool}
%type hints {struct option_list *}
%type name {struct token}
%type table {struct table_name}
%type names {struct name_list *}
%type key_names {struct name_list *}
%type key_name {struct name_item}
%type direction {bool}
%type options {struct option_list *}
%type with {struct option_list *}
%type option_value {bytes}
%type rows {struct row_list *}
%type row {struct token}
%type assignments {struct expr_list *}
%type on_duplicate {struct expr_list *}
%type if_exists {bool}
%type if_not_exists {bool}
%type definitions {struct definitions}
%type definition {struct column_definition *}
%type column_options {struct column_definition}
%type type {struct type_name}
%type key {struct key_definition *}
%type index {struct index_definition *}
%type index_using {bytes}
%type index_name {bytes}
%type index_include {struct name_list *}
%type index_mode {bool}
%type added {struct column_definition *}
%type pattern {bytes}
%type maybe_from {bytes}

input ::= statement.
input ::= statement SEMICOLON.

// ---- SELECT ----

statement ::= select(S) for_update(U). { p->out->type = STATEMENT_SELECT; p->out->select = S; p->out->for_update = U; }
%type for_update {bool}
for_update(A) ::= . { A = false; }
for_update(A) ::= FOR UPDATE. { A = true; }

select(A) ::= select_one(B). { A = B; }
select(A) ::= select(B) UNION select_one(C). { A = B; select_unite(p, A, C, false); }
select(A) ::= select(B) UNION ALL select_one(C). { A = B; select_unite(p, A, C, true); }

select_one(A) ::= SELECT(T) hints(H) distinct(D) items(I) from(F) where(W) group(G) having(V) windows(B) order(O) limit(L) filtering(X). {
    A = build_select(p, &(struct select){.at = T.at, .distinct = D, .allow_filtering = X, .hints = H, .items = I, .from = F,
        .where = W, .having = V, .windows = B, .group = G, .order = O, .limit = L.limit, .offset = L.offset});
}

distinct(A) ::= . { A = false; }
distinct(A) ::= DISTINCT. { A = true; }
distinct(A) ::= ALL. { A = false; }

filtering(A) ::= . { A = false; }
filtering(A) ::= ALLOW FILTERING. { A = true; }

hints(A) ::= . { A = NULL; }
hints(A) ::= HINT(T). { A = build_hints(p, &T); }

items(A) ::= item(I). { A = list_add_item(p, NULL, I); }
items(A) ::= items(L) COMMA item(I). { A = list_add_item(p, L, I); }

item(A) ::= STAR(T). { A = build_item(p, build_star(p, BYTES_NONE, T.at), BYTES_NONE); }
item(A) ::= name(N) DOT STAR. { A = build_item(p, build_star(p, N.text, N.at), BYTES_NONE); }
item(A) ::= expr(E) text_end(X) alias(N). { A = build_selected(p, E, N, X); }
%type text_end {size_t}
text_end(A) ::= . { A = p->ahead; }

alias(A) ::= . { A = BYTES_NONE; }
alias(A) ::= AS name(N). { A = N.text; }
alias(A) ::= AS TEXT(N). { A = N.text; }
alias(A) ::= name(N). { A = N.text; }

from(A) ::= . { A = NULL; }
from(A) ::= FROM from_list(L). { A = build_tables(L); }

from_list(A) ::= from_one(F). { A = from_add(p, NULL, F, &(struct from_item){.join = JOIN_NONE}); }
from_list(A) ::= from_list(L) COMMA from_one(F). { A = from_add(p, L, F, &(struct from_item){.join = JOIN_CROSS}); }
from_list(A) ::= from_list(L) join(J) from_one(F) join_how(H). {
    H.join = J;
    A = from_add(p, L, F, &H);
}

join(A) ::= JOIN. { A = JOIN_INNER; }
join(A) ::= INNER JOIN. { A = JOIN_INNER; }
join(A) ::= CROSS JOIN. { A = JOIN_CROSS; }
join(A) ::= LEFT JOIN. { A = JOIN_LEFT; }
join(A) ::= LEFT OUTER JOIN. { A = JOIN_LEFT; }
join(A) ::= RIGHT JOIN. { A = JOIN_RIGHT; }
join(A) ::= RIGHT OUTER JOIN. { A = JOIN_RIGHT; }

join_how(A) ::= . { A = (struct from_item){0}; }
join_how(A) ::= ON expr(E). { A = (struct from_item){.on = E}; }
join_how(A) ::= USING LEFT_PAREN names(N) RIGHT_PAREN. { A = (struct from_item){.using = N}; }

from_one(A) ::= table(T) alias(N). { A = build_from(p, &(struct from_item){.name = T, .alias = N}); }
from_one(A) ::= table(T) forced(I). { A = build_from(p, &(struct from_item){.name = T, .force = I}); }
from_one(A) ::= table(T) name(N) forced(I). { A = build_from(p, &(struct from_item){.name = T, .alias = N.text, .force = I}); }
from_one(A) ::= table(T) AS name(N) forced(I). { A = build_from(p, &(struct from_item){.name = T, .alias = N.text, .force = I}); }
%type forced {bytes}
forced(A) ::= FORCE INDEX LEFT_PAREN name(I) RIGHT_PAREN. { A = I.text; }
from_one(A) ::= LEFT_PAREN select(S) RIGHT_PAREN alias(N). { A = build_from(p, &(struct from_item){.select = S, .alias = N}); }

where(A) ::= . { A = NULL; }
where(A) ::= WHERE expr(E). { A = E; }
group(A) ::= . { A = NULL; }
group(A) ::= GROUP BY expr_list(L). { A = L; }
having(A) ::= . { A = NULL; }
having(A) ::= HAVING expr(E). { A = E; }
order(A) ::= . { A = NULL; }
order(A) ::= ORDER BY order_list(L). { A = L; }
order_list(A) ::= order_item(I). { A = list_add_item(p, NULL, I); }
order_list(A) ::= order_list(L) COMMA order_item(I). { A = list_add_item(p, L, I); }
order_item(A) ::= expr(E) direction(D). { A = build_item(p, E, BYTES_NONE); A->descending = D; }

direction(A) ::= . { A = false; }
direction(A) ::= ASC. { A = false; }
direction(A) ::= DESC. { A = true; }

limit(A) ::= . { A = (struct limit){NULL, NULL}; }
limit(A) ::= LIMIT value(N). { A = (struct limit){N, NULL}; }
limit(A) ::= LIMIT value(N) OFFSET value(M). { A = (struct limit){N, M}; }
limit(A) ::= LIMIT value(M) COMMA value(N). { A = (struct limit){N, M}; }

// ---- windows ----

%type over {struct window *}
over(A) ::= . { A = NULL; }
over(A) ::= OVER name(N). { A = build_window(p, &(struct window){.of = N.text, .bare = true}); }
over(A) ::= OVER LEFT_PAREN window(W) RIGHT_PAREN. { A = W; }

%type windows {struct window *}
windows(A) ::= . { A = NULL; }
windows(A) ::= WINDOW window_list(L). { A = L; }
%type window_list {struct window *}
window_list(A) ::= window_named(W). { A = W; }
window_list(A) ::= window_list(L) COMMA window_named(W). { A = L; window_chain(L, W); }
%type window_named {struct window *}
window_named(A) ::= name(N) AS LEFT_PAREN window(W) RIGHT_PAREN. { A = W; A->name = N.text; }

// A word that may be a name is taken for one where a name may stand and the word is not named in the rules of that place: so nothing
// here begins with what may be empty.
%type window {struct window *}
window(A) ::= window_rest(W). { A = build_window(p, &W); }
window(A) ::= name(N) window_rest(W). { W.of = N.text; A = build_window(p, &W); }
%type window_rest {struct window}
window_rest(A) ::= . { A = (struct window){.unit = FRAME_NONE}; }
window_rest(A) ::= window_order(W). { A = W; }
window_rest(A) ::= PARTITION BY expr_list(L). { A = (struct window){.partition = L}; }
window_rest(A) ::= PARTITION BY expr_list(L) window_order(W). { A = W; A.partition = L; }
%type window_order {struct window}
window_order(A) ::= frame(F). { A = F; }
window_order(A) ::= ORDER BY order_list(O). { A = (struct window){.order = O}; }
window_order(A) ::= ORDER BY order_list(O) frame(F). { A = F; A.order = O; }

%type frame {struct window}
frame(A) ::= frame_unit(U) frame_edge(E). { A = (struct window){.unit = U, .from = E}; }
frame(A) ::= frame_unit(U) BETWEEN frame_edge(E) AND frame_edge(F). { A = (struct window){.unit = U, .from = E, .to = F, .has_to = true}; }
%type frame_unit {enum frame_unit}
frame_unit(A) ::= ROWS. { A = FRAME_ROWS; }
frame_unit(A) ::= RANGE. { A = FRAME_RANGE; }
%type frame_edge {struct frame_edge}
frame_edge(A) ::= UNBOUNDED PRECEDING. { A = (struct frame_edge){.at = FRAME_FIRST}; }
frame_edge(A) ::= UNBOUNDED FOLLOWING. { A = (struct frame_edge){.at = FRAME_LAST}; }
frame_edge(A) ::= CURRENT ROW. { A = (struct frame_edge){.at = FRAME_CURRENT}; }
frame_edge(A) ::= frame_distance(E) PRECEDING. { A = (struct frame_edge){FRAME_BEFORE, E}; }
frame_edge(A) ::= frame_distance(E) FOLLOWING. { A = (struct frame_edge){FRAME_BEHIND, E}; }
%type frame_distance {struct expr *}
frame_distance(A) ::= value(V). { A = V; }
frame_distance(A) ::= REAL(T). { A = build_value(p, EXPR_REAL, &T); }

// ---- expressions ----

value(A) ::= INTEGER(T). { A = build_value(p, EXPR_INTEGER, &T); }
value(A) ::= QUESTION(T). { A = build_parameter(p, &T); }

%type literal {struct expr *}
literal(A) ::= value(V). { A = V; }
literal(A) ::= NULL(T). { A = build_value(p, EXPR_NULL, &T); }
literal(A) ::= TRUE(T). { A = build_boolean(p, true, &T); }
literal(A) ::= FALSE(T). { A = build_boolean(p, false, &T); }
literal(A) ::= REAL(T). { A = build_value(p, EXPR_REAL, &T); }
literal(A) ::= TEXT(T). { A = build_value(p, EXPR_TEXT, &T); }
literal(A) ::= ID(N) TEXT(T). { A = build_introduced(p, &N, &T); }
literal(A) ::= BLOB(T). { A = build_value(p, EXPR_BLOB, &T); }

// What a column may begin with.
%type constant {struct expr *}
constant(A) ::= literal(V). { A = V; }
constant(A) ::= MINUS(T) literal(V). { A = build_unary(p, OP_NEGATE, V, &T); }
constant(A) ::= ID(N) LEFT_PAREN RIGHT_PAREN. { A = build_call(p, &N, NULL, false); }

expr(A) ::= literal(V). { A = V; }
expr(A) ::= VARIABLE(T). { A = build_value(p, EXPR_VARIABLE, &T); }
expr(A) ::= name(N). { A = build_value(p, EXPR_COLUMN, &N); }
expr(A) ::= name(T) DOT name(N). { A = build_column(p, &T, &N); }
expr(A) ::= LEFT_PAREN expr(E) RIGHT_PAREN. { A = E; }
expr(A) ::= LEFT_PAREN(T) expr_list(L) COMMA expr(E) RIGHT_PAREN. { A = build_tuple(p, list_add(p, L, E), &T); }
expr(A) ::= LEFT_PAREN(T) select(S) RIGHT_PAREN. { A = build_subselect(p, EXPR_SELECT, S, &T); }
expr(A) ::= EXISTS(T) LEFT_PAREN select(S) RIGHT_PAREN. { A = build_subselect(p, EXPR_EXISTS, S, &T); }
expr(A) ::= ID(N) LEFT_PAREN distinct(D) maybe_list(L) RIGHT_PAREN over(O). { A = build_over(p, build_call(p, &N, L, D), O); }
expr(A) ::= ID(N) LEFT_PAREN distinct expr(X) IN literal(Y) RIGHT_PAREN. { A = build_position(p, &N, X, Y); }
expr(A) ::= ID(N) LEFT_PAREN distinct expr(X) IN name(Y) RIGHT_PAREN. { A = build_position(p, &N, X, build_value(p, EXPR_COLUMN, &Y)); }
expr(A) ::= ID(N) LEFT_PAREN STAR(T) RIGHT_PAREN over(O). {
    A = build_over(p, build_call(p, &N, list_add(p, NULL, build_star(p, BYTES_NONE, T.at)), false), O);
}
expr(A) ::= LEFT(N) LEFT_PAREN expr_list(L) RIGHT_PAREN. { A = build_call(p, &N, L, false); }
expr(A) ::= RIGHT(N) LEFT_PAREN expr_list(L) RIGHT_PAREN. { A = build_call(p, &N, L, false); }
expr(A) ::= MOD(N) LEFT_PAREN expr_list(L) RIGHT_PAREN. { A = build_call(p, &N, L, false); }
expr(A) ::= IF(N) LEFT_PAREN expr_list(L) RIGHT_PAREN. { A = build_call(p, &N, L, false); }
expr(A) ::= DATABASE(N) LEFT_PAREN RIGHT_PAREN. { A = build_call(p, &N, NULL, false); }
expr(A) ::= CAST(T) LEFT_PAREN expr(E) AS cast_type(Y) RIGHT_PAREN. { A = build_cast(p, E, &Y, &T); }
%type cast_type {struct type_name}
cast_type(A) ::= type(T). { A = T; }
cast_type(A) ::= UNSIGNED(N). { A = (struct type_name){.name = N.text, .at = N.at}; }
cast_type(A) ::= UNSIGNED(N) ID(I). { A = build_whole_type(p, &N, &I); }
cast_type(A) ::= ID(N) ID(I). { A = build_whole_type(p, &N, &I); }
expr(A) ::= CASE(T) maybe_expr(E) case_list(L) case_else(X) END. { A = build_case(p, E, L, X, &T); }
expr(A) ::= INTERVAL(T) expr(E) name(N). [UNARY] { A = build_interval(p, E, &N, &T); }

expr(A) ::= expr(L) OR(T) expr(R). { A = build_binary(p, OP_OR, L, R, &T); }
expr(A) ::= expr(L) XOR(T) expr(R). { A = build_binary(p, OP_XOR, L, R, &T); }
expr(A) ::= expr(L) AND(T) expr(R). { A = build_binary(p, OP_AND, L, R, &T); }
expr(A) ::= NOT(T) expr(E). { A = build_unary(p, OP_NOT, E, &T); }
expr(A) ::= EXCLAMATION(T) expr(E). { A = build_unary(p, OP_NOT, E, &T); }
expr(A) ::= expr(L) EQUAL(T) expr(R). { A = build_binary(p, OP_EQUAL, L, R, &T); }
expr(A) ::= expr(L) NULL_SAFE_EQUAL(T) expr(R). { A = build_binary(p, OP_NULL_SAFE_EQUAL, L, R, &T); }
expr(A) ::= expr(L) NOT_EQUAL(T) expr(R). { A = build_binary(p, OP_NOT_EQUAL, L, R, &T); }
expr(A) ::= expr(L) LESS(T) expr(R). { A = build_binary(p, OP_LESS, L, R, &T); }
expr(A) ::= expr(L) LESS_EQUAL(T) expr(R). { A = build_binary(p, OP_LESS_EQUAL, L, R, &T); }
expr(A) ::= expr(L) GREATER(T) expr(R). { A = build_binary(p, OP_GREATER, L, R, &T); }
expr(A) ::= expr(L) GREATER_EQUAL(T) expr(R). { A = build_binary(p, OP_GREATER_EQUAL, L, R, &T); }
expr(A) ::= expr(L) REGEXP(T) expr(R). { A = build_binary(p, OP_REGEXP, L, R, &T); }
expr(A) ::= expr(L) BIT_OR(T) expr(R). { A = build_binary(p, OP_BIT_OR, L, R, &T); }
expr(A) ::= expr(L) BIT_AND(T) expr(R). { A = build_binary(p, OP_BIT_AND, L, R, &T); }
expr(A) ::= expr(L) BIT_XOR(T) expr(R). { A = build_binary(p, OP_BIT_XOR, L, R, &T); }
expr(A) ::= expr(L) SHIFT_LEFT(T) expr(R). { A = build_binary(p, OP_SHIFT_LEFT, L, R, &T); }
expr(A) ::= expr(L) SHIFT_RIGHT(T) expr(R). { A = build_binary(p, OP_SHIFT_RIGHT, L, R, &T); }
expr(A) ::= expr(L) PLUS(T) expr(R). { A = build_binary(p, OP_ADD, L, R, &T); }
expr(A) ::= expr(L) MINUS(T) expr(R). { A = build_binary(p, OP_SUBTRACT, L, R, &T); }
expr(A) ::= expr(L) STAR(T) expr(R). { A = build_binary(p, OP_MULTIPLY, L, R, &T); }
expr(A) ::= expr(L) SLASH(T) expr(R). { A = build_binary(p, OP_DIVIDE, L, R, &T); }
expr(A) ::= expr(L) DIV(T) expr(R). { A = build_binary(p, OP_DIVIDE_WHOLE, L, R, &T); }
expr(A) ::= expr(L) MOD(T) expr(R). { A = build_binary(p, OP_MODULO, L, R, &T); }
expr(A) ::= MINUS(T) expr(E). [UNARY] { A = build_unary(p, OP_NEGATE, E, &T); }
expr(A) ::= PLUS expr(E). [UNARY] { A = E; }
expr(A) ::= expr(E) COLLATE name. { A = E; } // there is one: bytes
expr(A) ::= expr(E) COLLATE TEXT. { A = E; }
expr(A) ::= BIT_NOT(T) expr(E). { A = build_unary(p, OP_BIT_NOT, E, &T); }

bool_or_not(A) ::= . { A = false; }
bool_or_not(A) ::= NOT. { A = true; }

expr(A) ::= expr(L) IS(T) bool_or_not(N) NULL. { A = build_test(p, EXPR_IS_NULL, L, N, &T); }
expr(A) ::= expr(L) IN(T) LEFT_PAREN expr_list(X) RIGHT_PAREN. { A = build_in(p, L, false, X, NULL, &T); }
expr(A) ::= expr(L) NOT IN(T) LEFT_PAREN expr_list(X) RIGHT_PAREN. [IN] { A = build_in(p, L, true, X, NULL, &T); }
expr(A) ::= expr(L) IN(T) LEFT_PAREN select(S) RIGHT_PAREN. { A = build_in(p, L, false, NULL, S, &T); }
expr(A) ::= expr(L) NOT IN(T) LEFT_PAREN select(S) RIGHT_PAREN. [IN] { A = build_in(p, L, true, NULL, S, &T); }
expr(A) ::= expr(L) BETWEEN(T) expr(X) AND expr(Y). [BETWEEN] { A = build_between(p, L, false, X, Y, &T); }
expr(A) ::= expr(L) NOT BETWEEN(T) expr(X) AND expr(Y). [BETWEEN] { A = build_between(p, L, true, X, Y, &T); }
expr(A) ::= expr(L) LIKE(T) expr(R) like_escape(X). [LIKE] { A = build_like(p, L, false, R, X, &T); }
expr(A) ::= expr(L) NOT LIKE(T) expr(R) like_escape(X). [LIKE] { A = build_like(p, L, true, R, X, &T); }
like_escape(A) ::= . [LIKE] { A = NULL; }
like_escape(A) ::= ESCAPE TEXT(T). { A = build_value(p, EXPR_TEXT, &T); }

maybe_expr(A) ::= . { A = NULL; }
maybe_expr(A) ::= expr(E). { A = E; }
case_else(A) ::= . { A = NULL; }
case_else(A) ::= ELSE expr(E). { A = E; }
case_list(A) ::= WHEN expr(X) THEN expr(Y). { A = list_add(p, list_add(p, NULL, X), Y); }
case_list(A) ::= case_list(L) WHEN expr(X) THEN expr(Y). { A = list_add(p, list_add(p, L, X), Y); }
expr_list(A) ::= expr(E). { A = list_add(p, NULL, E); }
expr_list(A) ::= expr_list(L) COMMA expr(E). { A = list_add(p, L, E); }
maybe_list(A) ::= . { A = NULL; }
maybe_list(A) ::= expr_list(L). { A = L; }

// ---- names and options ----

name(A) ::= ID(T). { A = T; }
table(A) ::= name(T). { A = (struct table_name){.table = T.text, .at = T.at}; }
table(A) ::= name(D) DOT name(T). { A = (struct table_name){.database = D.text, .table = T.text, .at = D.at}; }
names(A) ::= name(T). { A = names_add(p, NULL, &(struct name_item){.name = T.text, .at = T.at}); }
names(A) ::= names(L) COMMA name(T). { A = names_add(p, L, &(struct name_item){.name = T.text, .at = T.at}); }
key_name(A) ::= name(T) direction(D). { A = (struct name_item){.name = T.text, .at = T.at, .descending = D}; }
key_names(A) ::= key_name(N). { A = names_add(p, NULL, &N); }
key_names(A) ::= key_names(L) COMMA key_name(N). { A = names_add(p, L, &N); }

option_value(A) ::= TEXT(T). { A = T.text; }
option_value(A) ::= INTEGER(T). { A = T.text; }
option_value(A) ::= name(T). { A = T.text; }
option_value(A) ::= TRUE(T). { A = T.text; }
option_value(A) ::= FALSE(T). { A = T.text; }
options(A) ::= name(N) EQUAL option_value(V). { A = options_add(p, NULL, N.text, V, N.at); }
options(A) ::= TEXT(N) EQUAL option_value(V). { A = options_add(p, NULL, N.text, V, N.at); }
options(A) ::= options(L) COMMA name(N) EQUAL option_value(V). { A = options_add(p, L, N.text, V, N.at); }
options(A) ::= options(L) COMMA TEXT(N) EQUAL option_value(V). { A = options_add(p, L, N.text, V, N.at); }
%type in_brackets {struct option_list *}
in_brackets(A) ::= . { A = NULL; }
in_brackets(A) ::= WITH LEFT_PAREN options(O) RIGHT_PAREN. { A = O; }
with(A) ::= in_brackets(O). { A = O; }
with(A) ::= WITH options(O). { A = O; }
with(A) ::= engine_options(O). { A = O; }

// Tablestore's: ENGINE = 'tablestore', ENGINE_ATTRIBUTE = '{...}', and MySQL's, with or without commas: CHARACTER SET utf8 is
// CHARACTER here.
%type engine_options {struct option_list *}
engine_options(A) ::= engine_option(O). { A = options_add(p, NULL, O.name, O.value, O.at); }
engine_options(A) ::= engine_options(L) engine_option(O). { A = options_add(p, L, O.name, O.value, O.at); }
engine_options(A) ::= engine_options(L) COMMA engine_option(O). { A = options_add(p, L, O.name, O.value, O.at); }
%type engine_option {struct option}
engine_option(A) ::= one_option(O). { A = O; }
engine_option(A) ::= DEFAULT one_option(O). { A = O; }
%type one_option {struct option}
one_option(A) ::= name(N) option_value(V). { A = (struct option){.name = N.text, .value = V, .at = N.at}; }
one_option(A) ::= name(N) EQUAL option_value(V). { A = (struct option){.name = N.text, .value = V, .at = N.at}; }
one_option(A) ::= name(N) SET option_value(V). { A = (struct option){.name = N.text, .value = V, .at = N.at}; }
one_option(A) ::= name(N) SET EQUAL option_value(V). { A = (struct option){.name = N.text, .value = V, .at = N.at}; }

// ---- rows ----

statement ::= upsert_word hints(H) INTO table(T) LEFT_PAREN names(N) RIGHT_PAREN VALUES rows(R) row_alias on_duplicate(D). {
    p->out->type = STATEMENT_UPSERT;
    p->out->hints = H;
    p->out->table = T;
    p->out->columns = N;
    p->out->rows = R;
    p->out->assignments = D;
}
upsert_word ::= UPSERT.
upsert_word ::= INSERT.
%type row_values {struct expr_list *}
row_values(A) ::= row_value(E). { A = list_add(p, NULL, E); }
row_values(A) ::= row_values(L) COMMA row_value(E). { A = list_add(p, L, E); }
%type row_value {struct expr *}
row_value(A) ::= expr(E). { A = E; }
row_value(A) ::= DEFAULT(T). { A = build_value(p, EXPR_DEFAULT, &T); }
row_alias ::= .
row_alias ::= AS name(N). { p->out->row_alias = N.text; }
rows(A) ::= LEFT_PAREN(T) row_values(L) RIGHT_PAREN. { A = rows_add(p, NULL, L, &T); }
rows(A) ::= rows(R) COMMA LEFT_PAREN(T) row_values(L) RIGHT_PAREN. { A = rows_add(p, R, L, &T); }
on_duplicate(A) ::= . { A = NULL; }
on_duplicate(A) ::= ON DUPLICATE KEY UPDATE assignments(L). { A = copies_of_alias(p, L); }
on_duplicate(A) ::= ON DUPLICATE KEY UPDATE copies(L). { A = NULL; p->out->copies = L; }
%type copies {struct name_list *}
copies(A) ::= name(N) EQUAL VALUES LEFT_PAREN name(V) RIGHT_PAREN. { A = copies_add(p, NULL, &N, &V); }
copies(A) ::= copies(L) COMMA name(N) EQUAL VALUES LEFT_PAREN name(V) RIGHT_PAREN. { A = copies_add(p, L, &N, &V); }
assignments(A) ::= name(N) EQUAL row_value(E). { A = list_add_item(p, NULL, build_item(p, E, N.text)); A->last->at = N.at; }
assignments(A) ::= assignments(L) COMMA name(N) EQUAL row_value(E). { A = list_add_item(p, L, build_item(p, E, N.text)); A->last->at = N.at; }

statement ::= UPDATE hints(H) table(T) SET assignments(L) where(W). {
    p->out->type = STATEMENT_UPDATE;
    p->out->hints = H;
    p->out->table = T;
    p->out->assignments = L;
    p->out->where = W;
}
statement ::= DELETE hints(H) FROM table(T) where(W). {
    p->out->type = STATEMENT_DELETE;
    p->out->hints = H;
    p->out->table = T;
    p->out->where = W;
}

// ---- tables ----

if_exists(A) ::= . { A = false; }
if_exists(A) ::= IF EXISTS. { A = true; }
if_not_exists(A) ::= . { A = false; }
if_not_exists(A) ::= IF NOT EXISTS. { A = true; }

statement ::= CREATE TABLE if_not_exists(X) table(T) LEFT_PAREN definitions(D) RIGHT_PAREN with(O). {
    p->out->type = STATEMENT_CREATE_TABLE;
    p->out->if_exists = X;
    p->out->table = T;
    p->out->definitions = D.columns;
    p->out->key = D.key;
    p->out->indexes = D.indexes;
    p->out->options = O;
}
statement ::= CREATE TABLE if_not_exists(X) table(T) LIKE table(L). {
    p->out->type = STATEMENT_CREATE_TABLE_LIKE;
    p->out->if_exists = X;
    p->out->table = T;
    p->out->like = L;
}

definitions(A) ::= definition(D). { A = (struct definitions){0}; definitions_add(&A, D); }
definitions(A) ::= definitions(L) COMMA definition(D). { A = L; definitions_add(&A, D); }
definitions(A) ::= definitions(L) COMMA PRIMARY(T) KEY LEFT_PAREN key(K) RIGHT_PAREN. { A = L; definitions_set_key(p, &A, K, &T); }
definitions(A) ::= definitions(L) COMMA index(I). { A = L; definitions_add_index(&A, I); }

definition(A) ::= name(N) type(Y) column_options(O). { A = build_definition(p, &N, &Y, &O); }
definition(A) ::= name(N) name(D) PRECISION(W) column_options(O). {
    struct type_name type = build_double(p, &D, &W);
    A = build_definition(p, &N, &type, &O);
}
column_options(A) ::= . { A = (struct column_definition){0}; }
column_options(A) ::= column_options(B) NOT NULL. { A = B; A.not_null = true; }
column_options(A) ::= column_options(B) NULL. { A = B; }
column_options(A) ::= column_options(B) PRIMARY KEY. { A = B; A.key = true; }
column_options(A) ::= column_options(B) DEFAULT constant(E). { A = B; A.default_value = E; }
column_options(A) ::= column_options(B) COMMENT(T) TEXT. { A = B; A.passed = T.text; }
column_options(A) ::= column_options(B) COLLATE(T) option_value. { A = B; A.passed = T.text; }
column_options(A) ::= column_options(B) CHARACTER(T) SET option_value. { A = B; A.passed = T.text; }
column_options(A) ::= column_options(B) AUTO_INCREMENT(T). { A = B; parse_fail(p, T.at, "there is no AUTO_INCREMENT: the program gives rows their keys, a UUID say, as numbers that rise would all go to one place"); }

type(A) ::= name(N). { A = (struct type_name){.name = N.text, .at = N.at}; }
type(A) ::= name(N) UNSIGNED. { A = (struct type_name){.name = N.text, .at = N.at, .is_unsigned = true}; }
type(A) ::= name(N) LEFT_PAREN INTEGER(L) RIGHT_PAREN. { A = build_type(p, &N, &L, NULL); }
type(A) ::= name(N) LEFT_PAREN INTEGER(L) COMMA INTEGER(S) RIGHT_PAREN. { A = build_type(p, &N, &L, &S); }

key(A) ::= key_names(L). { A = build_key(p, NULL, NULL, L); }
key(A) ::= name(H) LEFT_PAREN names(N) RIGHT_PAREN COMMA key_names(L). { A = build_key(p, &H, N, L); }

index(A) ::= index_word(T) index_name(N) index_using(U) LEFT_PAREN key(K) RIGHT_PAREN index_include(I) in_brackets(O). {
    A = build_index(p, &(struct index_definition){.name = N, .kind = U, .key = K, .include = I, .options = O, .at = T.at});
}
%type index_word {struct token}
index_word(A) ::= KEY(T). { A = T; }
index_word(A) ::= INDEX(T). { A = T; }
index_name(A) ::= . { A = BYTES_NONE; }
index_name(A) ::= name(N). { A = N.text; }
index_using(A) ::= . { A = BYTES_NONE; }
index_using(A) ::= USING name(N). { A = N.text; }
index_include(A) ::= . { A = NULL; }
index_include(A) ::= INCLUDE LEFT_PAREN names(L) RIGHT_PAREN. { A = L; }
index_mode(A) ::= . { A = false; }
index_mode(A) ::= ASYNC. { A = false; }
index_mode(A) ::= SYNC. { A = true; }

statement ::= CREATE INDEX(T) if_not_exists(X) index_name(N) index_using(U) ON table(B) LEFT_PAREN key(K) RIGHT_PAREN index_include(I) index_mode(M) with(O). {
    p->out->type = STATEMENT_CREATE_INDEX;
    p->out->if_exists = X;
    p->out->table = B;
    p->out->indexes = build_index(p, &(struct index_definition){.name = N, .kind = U, .key = K, .include = I, .options = O,
        .synchronous = M, .at = T.at});
}
statement ::= DROP INDEX if_exists(X) name(N) ON table(T). {
    p->out->type = STATEMENT_DROP_INDEX;
    p->out->if_exists = X;
    p->out->name = N.text;
    p->out->table = T;
}
statement ::= ALTER INDEX if_exists(X) name(N) ON table(T) name(S). {
    p->out->type = STATEMENT_ALTER_INDEX;
    p->out->if_exists = X;
    p->out->name = N.text;
    p->out->table = T;
    p->out->pattern = S.text;
}
statement ::= DROP MAPPING TABLE if_exists(X) table(T). {
    p->out->type = STATEMENT_DROP_MAPPING;
    p->out->if_exists = X;
    p->out->table = T;
}
// MySQL's CASCADE and RESTRICT mean nothing there either.
drop_how ::= .
drop_how ::= ID(W). { build_drop_how(p, &W); }
statement ::= DROP TABLE if_exists(X) table(T) drop_how. {
    p->out->type = STATEMENT_DROP_TABLE;
    p->out->if_exists = X;
    p->out->table = T;
}
statement ::= TRUNCATE TABLE table(T). { p->out->type = STATEMENT_TRUNCATE; p->out->table = T; }

statement ::= ALTER TABLE table(T) added(D). { alter(p, &T, ALTER_ADD_COLUMN)->definitions = D; }
added(A) ::= ADD definition(D). { A = D; }
added(A) ::= ADD COLUMN definition(D). { A = D; }
added(A) ::= added(L) COMMA ADD definition(D). { A = L; definition_chain(A, D); }
added(A) ::= added(L) COMMA ADD COLUMN definition(D). { A = L; definition_chain(A, D); }
statement ::= ALTER TABLE table(T) DROP COLUMN if_exists(X) name(N). { alter(p, &T, ALTER_DROP_COLUMN)->name = N.text; p->out->if_exists = X; }
statement ::= ALTER TABLE table(T) DROP name(N). { alter(p, &T, ALTER_DROP_COLUMN)->name = N.text; }
statement ::= ALTER TABLE table(T) SET options(O). { alter(p, &T, ALTER_SET)->options = O; }
statement ::= ALTER TABLE table(T) COMPACT. { alter(p, &T, ALTER_COMPACT); }
statement ::= ALTER TABLE table(T) FLUSH. { alter(p, &T, ALTER_FLUSH); }

// Forms of older versions of Lindorm, and what it has around a table.
statement ::= OFFLINE(N) TABLE table(T). { simple(p, STATEMENT_TABLE_WORD, &N)->table = T; }
statement ::= ONLINE(N) TABLE table(T). { simple(p, STATEMENT_TABLE_WORD, &N)->table = T; }
statement ::= BUILD(N) INDEX name ON table(T). { simple(p, STATEMENT_INDEX_WORD, &N)->table = T; }
statement ::= TRACE(N) INDEX name ON table(T). { simple(p, STATEMENT_INDEX_WORD, &N)->table = T; }
statement ::= CANCEL(N) BUILD INDEX name ON table(T). { simple(p, STATEMENT_INDEX_WORD, &N)->table = T; }
statement ::= ALTER ID(N) SET options. { simple(p, STATEMENT_ALTER_SYSTEM, &N); }
statement ::= ALTER database_word(N) name SET options. { simple(p, STATEMENT_ALTER_SYSTEM, &N); }

// ---- users ----

%type user {struct token}
user(A) ::= name(N). { A = N; }
user(A) ::= TEXT(T). { A = T; }
statement ::= CREATE USER if_not_exists(X) user(U) IDENTIFIED BY TEXT(P). { user(p, STATEMENT_CREATE_USER, &U, &P)->if_exists = X; }
statement ::= ALTER USER user(U) IDENTIFIED BY TEXT(P). { user(p, STATEMENT_ALTER_USER, &U, &P); }
statement ::= ALTER USER user(U) SET name(N) EQUAL TEXT(P). { user_set(p, &U, &N, &P); }
statement ::= DROP USER if_exists(X) user(U). { user(p, STATEMENT_DROP_USER, &U, NULL)->if_exists = X; }
statement ::= GRANT privileges(L) ON privilege_on(T) TO user(U). { user(p, STATEMENT_GRANT, &U, NULL)->table = T; p->out->columns = L; }
statement ::= REVOKE privileges(L) ON privilege_on(T) FROM user(U). { user(p, STATEMENT_REVOKE, &U, NULL)->table = T; p->out->columns = L; }
%type privileges {struct name_list *}
%type privilege {struct name_item}
privileges(A) ::= privilege(N). { A = names_add(p, NULL, &N); }
privileges(A) ::= privileges(L) COMMA privilege(N). { A = names_add(p, L, &N); }
privilege(A) ::= name(N). { A = (struct name_item){.name = N.text, .at = N.at}; }
privilege(A) ::= ALL(N). { A = (struct name_item){.name = N.text, .at = N.at}; }
%type privilege_on {struct table_name}
privilege_on(A) ::= database_word name(N). { A = (struct table_name){.database = N.text, .at = N.at}; }
privilege_on(A) ::= TABLE table(T). { A = T; }
privilege_on(A) ::= table(T). { A = T; }
privilege_on(A) ::= name(N) DOT STAR. { A = (struct table_name){.database = N.text, .at = N.at}; }
statement ::= SHOW ID(N) FOR user(U). { show(p, SHOW_OTHER)->name = N.text; p->out->pattern = U.text; }

// ---- databases, sessions, information ----

%type database_word {struct token}

database_word(A) ::= DATABASE(N). { A = N; }
database_word(A) ::= SCHEMA(N). { A = N; }
statement ::= CREATE database_word if_not_exists(X) name(N). { simple(p, STATEMENT_CREATE_DATABASE, &N)->if_exists = X; }
statement ::= DROP database_word if_exists(X) name(N). { simple(p, STATEMENT_DROP_DATABASE, &N)->if_exists = X; }
statement ::= USE name(N). { simple(p, STATEMENT_USE, &N); }
statement ::= START(N) TRANSACTION. { simple(p, STATEMENT_TRANSACTION, &N); }
statement ::= START(N) TRANSACTION name name(M). { simple(p, STATEMENT_TRANSACTION, &N)->pattern = M.text; }
statement ::= START(N) TRANSACTION WITH name name(M). { simple(p, STATEMENT_TRANSACTION, &N)->pattern = M.text; }
statement ::= BEGIN(N) work(M). { simple(p, STATEMENT_TRANSACTION, &N)->pattern = M; }
statement ::= COMMIT(N) work(M). { simple(p, STATEMENT_TRANSACTION, &N)->pattern = M; }
statement ::= ROLLBACK(N) work(M). { simple(p, STATEMENT_TRANSACTION, &N)->pattern = M; }
statement ::= SAVEPOINT(N) name. { simple(p, STATEMENT_TRANSACTION, &N); }
statement ::= RELEASE(N) SAVEPOINT name. { simple(p, STATEMENT_TRANSACTION, &N); }
statement ::= LOCK(N) TABLES locks. { simple(p, STATEMENT_LOCK, &N); }
statement ::= LOCK(N) TABLE locks. { simple(p, STATEMENT_LOCK, &N); }
statement ::= UNLOCK(N) TABLES. { simple(p, STATEMENT_LOCK, &N); }
locks ::= table words.
locks ::= table AS name words.
locks ::= locks COMMA table words.
locks ::= locks COMMA table AS name words.
%type work {bytes}
work(A) ::= . { A = BYTES_NONE; }
work(A) ::= name(N). { A = N.text; }
work(A) ::= AND words. { A = BYTES_LIT("AND"); }
work(A) ::= TO words. { A = BYTES_LIT("TO"); }
statement ::= KILL QUERY(N) expr(E). { simple(p, STATEMENT_KILL, &N)->where = E; }
statement ::= KILL CONNECTION expr(E). { p->out->type = STATEMENT_KILL; p->out->where = E; }
statement ::= KILL expr(E). { p->out->type = STATEMENT_KILL; p->out->where = E; }

statement ::= SET settings(L). { p->out->type = STATEMENT_SET; p->out->assignments = L; }
%type settings {struct expr_list *}
%type setting {struct expr_item *}
settings(A) ::= setting(I). { A = list_add_item(p, NULL, I); }
settings(A) ::= settings(L) COMMA setting(I). { A = list_add_item(p, L, I); }
setting(A) ::= VARIABLE(N) EQUAL set_to(E). { A = build_item(p, E, N.text); }
setting(A) ::= VARIABLE(N) ASSIGN set_to(E). { A = build_item(p, E, N.text); }
setting(A) ::= name(N) EQUAL set_to(E). { A = build_item(p, E, N.text); }
setting(A) ::= scope name(N) EQUAL set_to(E). { A = build_item(p, E, N.text); }
setting(A) ::= name(N) expr(E). { A = build_item(p, E, N.text); }
setting(A) ::= scope TRANSACTION(N) words. { A = build_item(p, build_value(p, EXPR_NULL, &N), N.text); }
%type set_to {struct expr *}
set_to(A) ::= expr(E). { A = E; }
set_to(A) ::= DEFAULT(T). { A = build_value(p, EXPR_NULL, &T); }
set_to(A) ::= ON(T). { A = build_value(p, EXPR_TEXT, &T); }
scope ::= SESSION.
scope ::= GLOBAL.
words ::= name.
words ::= words name.

pattern(A) ::= . { A = BYTES_NONE; }
pattern(A) ::= LIKE TEXT(T). { A = T.text; }
pattern(A) ::= WHERE expr(E). { A = BYTES_NONE; p->out->where = E; }
maybe_from(A) ::= . { A = BYTES_NONE; }
maybe_from(A) ::= FROM name(N). { A = N.text; }
maybe_from(A) ::= IN name(N). { A = N.text; }
statement ::= SHOW DATABASES pattern(P). { show(p, SHOW_DATABASES)->pattern = P; }
statement ::= SHOW SCHEMAS pattern(P). { show(p, SHOW_DATABASES)->pattern = P; }
statement ::= SHOW TABLES maybe_from(D) pattern(P). { show(p, SHOW_TABLES)->pattern = P; p->out->table.database = D; }
statement ::= SHOW FULL TABLES maybe_from(D) pattern(P). { show(p, SHOW_TABLES)->pattern = P; p->out->full = true; p->out->table.database = D; }
statement ::= SHOW CREATE TABLE table(T). { show(p, SHOW_CREATE_TABLE)->table = T; }
statement ::= SHOW index_words(F) of_table(T) where(W). { show(p, SHOW_INDEX)->table = T; p->out->full = F; p->out->where = W; }
statement ::= SHOW columns_words(F) of_table(T) pattern(P). { show(p, SHOW_COLUMNS)->table = T; p->out->pattern = P; p->out->full = F; }
%type columns_words {bool}
columns_words(A) ::= COLUMNS. { A = false; }
columns_words(A) ::= FULL COLUMNS. { A = true; }
%type index_words {bool}
%type of_table {struct table_name}
of_table(A) ::= FROM table(T) maybe_from(D). { A = T; if (D.ptr) A.database = D; }
of_table(A) ::= IN table(T) maybe_from(D). { A = T; if (D.ptr) A.database = D; }
statement ::= SHOW VARIABLES pattern(P). { show(p, SHOW_VARIABLES)->pattern = P; }
statement ::= SHOW ID VARIABLES pattern(P). { show(p, SHOW_VARIABLES)->pattern = P; }
statement ::= SHOW scope VARIABLES pattern(P). { show(p, SHOW_VARIABLES)->pattern = P; }
statement ::= SHOW TABLE VARIABLES FROM table(T) pattern(P). { show(p, SHOW_TABLE_VARIABLES)->table = T; p->out->pattern = P; }
statement ::= SHOW PROCESSLIST. { show(p, SHOW_PROCESSLIST); }
statement ::= SHOW FULL PROCESSLIST. { show(p, SHOW_PROCESSLIST); }
statement ::= SHOW WARNINGS. { show(p, SHOW_WARNINGS); }
statement ::= SHOW ID(N) maybe_from(D) pattern(P). { show(p, SHOW_OTHER)->name = N.text; p->out->pattern = P; p->out->table.database = D; }
statement ::= SHOW ID(N) ID pattern(P). { show(p, SHOW_OTHER)->name = N.text; p->out->pattern = P; }
statement ::= SHOW ID(N) SET pattern(P). { show(p, SHOW_OTHER)->name = N.text; p->out->pattern = P; }
statement ::= SHOW TABLE ID maybe_from(D) pattern(P). { show(p, SHOW_TABLE_STATUS)->table.database = D; p->out->pattern = P; }
statement ::= SHOW scope ID(N) pattern(P). { show(p, SHOW_OTHER)->name = N.text; p->out->pattern = P; }
index_words(A) ::= INDEX. { A = false; }
index_words(A) ::= INDEXES. { A = false; }
index_words(A) ::= KEYS. { A = true; }
statement ::= describe_word table(T). { p->out->type = STATEMENT_DESCRIBE; p->out->table = T; }
describe_word ::= DESCRIBE.
describe_word ::= DESC.
statement ::= EXPLAIN ID(N) plan_words select(S). { simple(p, STATEMENT_EXPLAIN, &N)->select = S; }
plan_words ::= .
plan_words ::= plan_words ID.
plan_words ::= plan_words FOR.
plan_words ::= plan_words WITH ID.
statement ::= EXPLAIN WITH ID(N) FOR select(S). { simple(p, STATEMENT_EXPLAIN, &N)->select = S; }
statement ::= EXPLAIN select(S). { p->out->type = STATEMENT_EXPLAIN; p->out->select = S; }
statement ::= EXPLAIN FOR select(S). { p->out->type = STATEMENT_EXPLAIN; p->out->select = S; }
