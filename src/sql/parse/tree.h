/* tree.h: a statement as it was understood: what the grammar makes, and all else reads.
 *
 * A tree lives in the arena that it was parsed into. Its texts are views into the statement or lie
 * in the arena; names are without their quotes. `at` is where something stands in the statement, in
 * bytes, for the texts of errors. Lists are in the order of the statement. */
#ifndef SQL_PARSE_TREE_H
#define SQL_PARSE_TREE_H

#include "base/bytes.h"
#include "widerow.h"

struct select;
struct window;

/* ---- expressions ---- */

enum expr_type {
    EXPR_NULL,
    EXPR_INTEGER,   /* `text`: digits */
    EXPR_REAL,      /* `text`: a number with a point or an exponent */
    EXPR_TEXT,      /* `text` */
    EXPR_BLOB,      /* `text`: the bytes themselves */
    EXPR_BOOLEAN,   /* `op` is 1 or 0 */
    EXPR_PARAMETER, /* `index`: which question mark, from 0 */
    EXPR_COLUMN,    /* `text`, perhaps of the table `of` */
    EXPR_STAR,      /* all columns, perhaps of the table `of` */
    EXPR_VARIABLE,  /* @@name is `name`, @name is `@name` */
    EXPR_UNARY,     /* op left */
    EXPR_BINARY,    /* left op right */
    EXPR_IN,        /* left [NOT] IN (list), or of `select` */
    EXPR_BETWEEN,   /* left [NOT] BETWEEN list[0] AND list[1] */
    EXPR_LIKE,      /* left [NOT] LIKE right, with `index` as the escape character, 0: the usual */
    EXPR_IS_NULL,   /* left IS [NOT] NULL */
    EXPR_CALL,      /* text(list), DISTINCT if `distinct`; count(*) has one EXPR_STAR */
    EXPR_CASE,     /* CASE left WHEN list[0] THEN list[1] ... ELSE right; left, right may be NULL */
    EXPR_CAST,     /* left as the type `text` */
    EXPR_TUPLE,    /* (list) */
    EXPR_SELECT,   /* the value of `select` */
    EXPR_EXISTS,   /* `select` has a row */
    EXPR_INTERVAL, /* INTERVAL left text */
    EXPR_DEFAULT,  /* DEFAULT, as a value that is written */
};

enum expr_op {
    OP_OR,
    OP_XOR,
    OP_AND,
    OP_NOT,
    OP_EQUAL,
    OP_NULL_SAFE_EQUAL,
    OP_NOT_EQUAL,
    OP_LESS,
    OP_LESS_EQUAL,
    OP_GREATER,
    OP_GREATER_EQUAL,
    OP_ADD,
    OP_SUBTRACT,
    OP_MULTIPLY,
    OP_DIVIDE,
    OP_DIVIDE_WHOLE, /* DIV */
    OP_MODULO,
    OP_BIT_OR,
    OP_BIT_AND,
    OP_BIT_XOR,
    OP_BIT_NOT,
    OP_SHIFT_LEFT,
    OP_SHIFT_RIGHT,
    OP_NEGATE,
    OP_REGEXP,
};

#define EXPR_DEPTH_MAX 500

struct expr {
    enum expr_type type;
    enum expr_op op;
    size_t at;
    bool negated, distinct;
    uint32_t index;
    uint32_t depth; /* of what it is made of, at most EXPR_DEPTH_MAX */
    bytes text, of;
    struct expr *left, *right;
    struct expr_list *list;
    struct select *select;
    struct window *over; /* of a call; NULL: none */
};

struct expr_list {
    struct expr_item *first, *last;
    size_t count;
};

/* One of a list: in a SELECT with the name it is given, in ORDER BY with its direction, in
 * assignments with the column. */
struct expr_item {
    struct expr_item *next;
    struct expr *expr;
    bytes name;     /* ptr NULL: none */
    size_t at, end; /* of its text in the statement */
    bool descending;
};

/* ---- windows: the rows that a function looks at beside its own ---- */

enum frame_unit { FRAME_NONE, FRAME_ROWS, FRAME_RANGE };
enum frame_at { FRAME_FIRST, FRAME_BEFORE, FRAME_CURRENT, FRAME_BEHIND, FRAME_LAST };

struct frame_edge {
    enum frame_at at;
    struct expr *distance; /* of BEFORE and BEHIND, which is PRECEDING and FOLLOWING */
};

struct window {
    struct window *next; /* of the SELECT's WINDOW */
    bytes name;          /* by which that knows it; ptr NULL: it stands behind OVER */
    bytes of;            /* the one that it is or adds to; ptr NULL: none */
    bool bare;           /* OVER name: it is that one, as it is */
    struct expr_list *partition, *order;
    enum frame_unit unit; /* NONE: as the function has it without */
    struct frame_edge from, to;
    bool has_to;
};

/* ---- names and options ---- */

struct table_name {
    bytes database; /* ptr NULL: the current one */
    bytes table;
    size_t at;
};

struct name_list {
    struct name_item *first, *last;
    size_t count;
};

struct name_item {
    struct name_item *next;
    bytes name;
    size_t at;
    bool descending;
};

/* name = 'value', of WITH (...) and of SET; of a hint, name(value). */
struct option_list {
    struct option *first, *last;
};

struct option {
    struct option *next;
    bytes name, value;
    size_t at;
};

/* ---- SELECT ---- */

enum join_type { JOIN_NONE, JOIN_INNER, JOIN_LEFT, JOIN_RIGHT, JOIN_CROSS };

/* One of the tables of FROM, joined to those before it. */
struct from_item {
    struct from_item *next;
    enum join_type join;
    struct table_name name;
    struct select *select;   /* instead of a name; NULL: none */
    bytes alias;             /* ptr NULL: none */
    struct expr *on;         /* NULL: none */
    struct name_list *using; /* NULL: none */
    bytes force;             /* FORCE INDEX (it); ptr NULL: none */
};

struct from_list {
    struct from_item *first, *last;
    size_t count;
};

struct select {
    size_t at;
    bool distinct;
    bool allow_filtering; /* said behind it */
    struct option_list *hints;
    struct expr_list *items;
    struct from_list *from; /* NULL: none */
    struct expr *where, *having;
    struct window *windows; /* those with a name */
    struct expr_list *group, *order;
    struct expr *limit, *offset;
    struct select *all_of; /* UNION [ALL] with this one; NULL: none */
    bool union_all;
};

/* ---- statements ---- */

enum statement_type {
    STATEMENT_SELECT,
    STATEMENT_UPSERT,
    STATEMENT_UPDATE,
    STATEMENT_DELETE,
    STATEMENT_CREATE_TABLE,
    STATEMENT_CREATE_TABLE_LIKE,
    STATEMENT_DROP_TABLE,
    STATEMENT_DROP_MAPPING,
    STATEMENT_ALTER_TABLE,
    STATEMENT_TRUNCATE,
    STATEMENT_CREATE_INDEX,
    STATEMENT_DROP_INDEX,
    STATEMENT_ALTER_INDEX, /* `name` of `table`, to the state `pattern` */
    STATEMENT_CREATE_DATABASE,
    STATEMENT_DROP_DATABASE,
    STATEMENT_USE,
    STATEMENT_SET,
    STATEMENT_SHOW,
    STATEMENT_DESCRIBE,
    STATEMENT_EXPLAIN,     /* `name`: the word behind it; ptr NULL: none */
    STATEMENT_TRANSACTION, /* START TRANSACTION, COMMIT, ROLLBACK: `name` is the word, `pattern`
                              what is said behind it */
    STATEMENT_LOCK,        /* LOCK TABLES and UNLOCK TABLES: `name` is the word */
    STATEMENT_KILL,        /* the connection `where`; `name` is QUERY: its statement alone */
    STATEMENT_CREATE_USER, /* `name`, with the password `pattern` */
    STATEMENT_ALTER_USER,
    STATEMENT_DROP_USER,
    STATEMENT_GRANT, /* privileges `columns` on `table`, or without one on its database */
    STATEMENT_REVOKE,
    STATEMENT_TABLE_WORD,   /* OFFLINE TABLE and the like: `name` is the word */
    STATEMENT_INDEX_WORD,   /* BUILD INDEX and the like */
    STATEMENT_ALTER_SYSTEM, /* or of a database: `name` is the word */
    STATEMENT_COUNT,
};

/* A declared type, and a column of CREATE TABLE or ALTER TABLE. */
struct type_name {
    bytes name;
    bool has_length, is_unsigned;
    uint32_t length, scale;
    size_t at;
};

struct column_definition {
    struct column_definition *next;
    bytes name;
    struct type_name type;
    struct expr *default_value; /* NULL: none */
    size_t at;
    bytes passed; /* a word that is passed over: COMMENT, COLLATE, CHARACTER; ptr NULL: none */
    bool not_null, key; /* `key`: PRIMARY KEY stands behind the column itself */
};

/* A key: columns, of which the first `hashed` may be hashed together in front. */
struct key_definition {
    struct name_list *columns;
    struct name_list *hashed; /* NULL: none */
    bytes hash;               /* hash8, hash32, hash64 */
    size_t at;
};

struct index_definition {
    struct index_definition *next;
    bytes name; /* ptr NULL: none */
    bytes kind; /* of USING; ptr NULL: none */
    struct key_definition *key;
    struct name_list *include; /* NULL: none */
    struct option_list *options;
    bool synchronous;
    size_t at;
};

enum show_type {
    SHOW_DATABASES,
    SHOW_TABLES,
    SHOW_CREATE_TABLE,
    SHOW_INDEX,
    SHOW_COLUMNS,
    SHOW_VARIABLES,
    SHOW_TABLE_VARIABLES,
    SHOW_TABLE_STATUS,
    SHOW_PROCESSLIST,
    SHOW_WARNINGS,
    SHOW_OTHER, /* `name` is the word */
};

enum alter_type { ALTER_ADD_COLUMN, ALTER_DROP_COLUMN, ALTER_SET, ALTER_COMPACT, ALTER_FLUSH };

struct row_list {
    struct row_item *first, *last;
    size_t count;
};

struct row_item {
    struct row_item *next;
    struct expr_list *values;
    size_t at;
};

struct statement {
    enum statement_type type;
    bool if_exists; /* or IF NOT EXISTS */
    struct table_name table;
    bytes name;
    struct option_list *hints; /* of DML */
    struct option_list *options;
    struct select *select;
    bool for_update; /* said behind it */
    /* UPSERT */
    struct name_list *columns;
    struct row_list *rows;
    /* UPDATE: assignments, each with its column as `name`; UPSERT: ON DUPLICATE KEY UPDATE; SET:
     * the variables */
    struct expr_list *assignments;
    struct name_list
        *copies;        /* UPSERT: the columns that ON DUPLICATE KEY UPDATE sets to VALUES() */
    bytes row_alias;    /* UPSERT: VALUES (...) AS it; ptr NULL: none */
    struct expr *where; /* also of SHOW */
    /* CREATE TABLE, ALTER TABLE */
    struct column_definition *definitions;
    struct key_definition *key;
    struct index_definition *indexes; /* CREATE INDEX: one */
    struct table_name like;
    enum alter_type alter;
    /* SHOW */
    enum show_type show;
    bool full;     /* FULL TABLES, FULL COLUMNS; of indexes: KEYS, which MySQL's drivers say */
    bytes pattern; /* ptr NULL: none */
    uint32_t parameter_count;
};

#endif
