#include "sql/parse/parse.h"

#include "base/buf.h"

#include "sql/parse/lex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static struct arena arena;

static int begin(void **state)
{
    (void)state;
    arena_init(&arena, NULL, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct statement *parsed(const char *sql)
{
    struct parse_fault fault;
    struct statement *s;
    int code = parse_statement(&arena, bytes_str(sql), &s, &fault);

    if (code)
        print_error("%s\n  %d:%d %.*s\n", sql, fault.line, fault.column, (int)fault.text.len,
                    (const char *)fault.text.ptr);
    assert_int_equal(code, E_OK);
    return s;
}

/* ---- an expression as a text that shows how it was understood ---- */

static void show(const struct expr *e, char *out, size_t size);

static void show_list(const struct expr_list *l, char *out, size_t size)
{
    size_t n = 0;

    out[0] = 0;
    for (const struct expr_item *i = l ? l->first : NULL; i; i = i->next) {
        char one[400];

        show(i->expr, one, sizeof(one));
        n += (size_t)snprintf(out + n, size - n, "%s%s", n ? " " : "", one);
    }
}

static void show(const struct expr *e, char *out, size_t size)
{
    static const char *const ops[] = {
        "or", "xor", "and", "not", "=", "<=>", "!=", "<", "<=", ">",  ">=",  "+",     "-",
        "*",  "/",   "div", "%",   "|", "&",   "^",  "~", "<<", ">>", "neg", "regexp"};
    char left[400] = "", right[400] = "", list[400] = "";

    if (e->left)
        show(e->left, left, sizeof(left));
    if (e->right)
        show(e->right, right, sizeof(right));
    show_list(e->list, list, sizeof(list));
    switch (e->type) {
    case EXPR_UNARY:
        snprintf(out, size, "(%s %s)", ops[e->op], left);
        break;
    case EXPR_BINARY:
        snprintf(out, size, "(%s %s %s)", left, ops[e->op], right);
        break;
    case EXPR_IN:
        snprintf(out, size, "(%s %sin %s)", left, e->negated ? "not " : "", list);
        break;
    case EXPR_BETWEEN:
        snprintf(out, size, "(%s %sbetween %s)", left, e->negated ? "not " : "", list);
        break;
    case EXPR_LIKE:
        snprintf(out, size, "(%s %slike %s)", left, e->negated ? "not " : "", right);
        break;
    case EXPR_IS_NULL:
        snprintf(out, size, "(%s is %snull)", left, e->negated ? "not " : "");
        break;
    case EXPR_CALL:
        snprintf(out, size, "%.*s(%s%s)", (int)e->text.len, (const char *)e->text.ptr,
                 e->distinct ? "distinct " : "", list);
        break;
    case EXPR_TUPLE:
        snprintf(out, size, "[%s]", list);
        break;
    case EXPR_PARAMETER:
        snprintf(out, size, "?%u", e->index);
        break;
    case EXPR_CASE:
        snprintf(out, size, "case(%s:%s:%s)", left, list, right);
        break;
    case EXPR_STAR:
        snprintf(out, size, "%.*s*", (int)e->of.len, (const char *)e->of.ptr);
        break;
    case EXPR_NULL:
        snprintf(out, size, "null");
        break;
    default:
        snprintf(out, size, "%.*s%s%.*s", (int)e->of.len, (const char *)e->of.ptr,
                 e->of.ptr ? "." : "", (int)e->text.len, (const char *)e->text.ptr);
    }
}

static void test_expressions(void **state)
{
    static const struct {
        const char *sql, *shown;
    } cases[] = {
        {"1 + 2 * 3 - 4", "((1 + (2 * 3)) - 4)"},
        {"a = 1 and b = 2 or c = 3", "(((a = 1) and (b = 2)) or (c = 3))"},
        {"not a = b and c", "((not (a = b)) and c)"},
        {"a || b && c", "(a or (b and c))"},
        {"-a * b ^ c", "((neg a) * (b ^ c))"},
        {"a between 1 and 2 and b", "((a between 1 2) and b)"},
        {"a not between 1 and 2 + 3", "(a not between 1 (2 + 3))"},
        {"a in (1, 2, 'x')", "(a in 1 2 x)"},
        {"a + b not in (?, ?)", "((a + b) not in ?0 ?1)"},
        {"(a, b) > (1, 'y')", "([a b] > [1 y])"},
        {"a like 'x%' escape '!' or b", "((a like x%) or b)"},
        {"t.a is not null", "(t.a is not null)"},
        {"count(*) + COUNT(DISTINCT a)", "(count(*) + COUNT(distinct a))"},
        {"case a when 1 then 'x' else 'y' end", "case(a:1 x:y)"},
        {"case when a then b when c then d end", "case(:a b c d:)"},
        {"'it''s' = \"a \\\"word\\\"\"", "(it's = a \"word\")"},
        {"a % 2 <=> b div 3 mod 4", "((a % 2) <=> ((b div 3) % 4))"},
        {"`select` . `from`", "select.from"},
        {"t.key", "t.key"},
        {"x'4142' <> 1.5e3", "(AB != 1.5e3)"},
        {"if(a, left(b, 1), right(c, 2))", "if(a left(b 1) right(c 2))"},
        {"@@session.autocommit", "session.autocommit"},
        {"a /* no */ + -- nor this\n b # nor this", "(a + b)"},
        {"a-1", "(a - 1)"},
        {"a--1", "(a - (neg 1))"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        char sql[200], shown[400];
        struct statement *s;

        snprintf(sql, sizeof(sql), "select %s\n", cases[i].sql);
        s = parsed(sql);
        assert_int_equal(s->type, STATEMENT_SELECT);
        show(s->select->items->first->expr, shown, sizeof(shown));
        assert_string_equal(shown, cases[i].shown);
    }
}

static void test_select(void **state)
{
    struct statement *s = parsed(
        "SELECT /*+ _l_allow_filtering_, _l_ts_min_(-100), _l_force_index_('idx') */ DISTINCT a AS "
        "x, t.*, count(*) n FROM db.t AS t LEFT JOIN u ON t.id = u.id, (SELECT 1) v WHERE a > ? "
        "GROUP BY a, b HAVING n > 1 ORDER BY a DESC, b LIMIT 5, ? ;");
    struct option *h = s->select->hints->first;

    (void)state;
    assert_int_equal(s->parameter_count, 2);
    assert_true(s->select->distinct);
    assert_true(bytes_equal(h->name, BYTES_LIT("_l_allow_filtering_")));
    assert_null(h->value.ptr);
    assert_true(bytes_equal(h->next->value, BYTES_LIT("-100")));
    assert_true(bytes_equal(h->next->next->value, BYTES_LIT("idx")));
    assert_int_equal(s->select->items->count, 3);
    assert_true(bytes_equal(s->select->items->first->name, BYTES_LIT("x")));
    assert_true(bytes_equal(s->select->items->last->name, BYTES_LIT("n")));
    assert_int_equal(s->select->from->count, 3);
    assert_true(bytes_equal(s->select->from->first->name.database, BYTES_LIT("db")));
    assert_int_equal(s->select->from->first->next->join, JOIN_LEFT);
    assert_int_equal(s->select->from->last->join, JOIN_CROSS);
    assert_non_null(s->select->from->last->select);
    assert_true(s->select->order->first->descending);
    assert_false(s->select->order->last->descending);
    assert_int_equal(s->select->limit->type, EXPR_PARAMETER);
    assert_int_equal(s->select->offset->type, EXPR_INTEGER);
}

static void test_create_table(void **state)
{
    struct statement *s = parsed(
        "create table if not exists db.t (host varchar(20) not null, time timestamp, n bigint "
        "unsigned, v decimal(10, 2) default -1.5, at timestamp default now(), primary key "
        "(hash32(host), host, time desc), index i1 (v desc, n) include (at), key i2 using kv (at) "
        "with (ttl='5')) with (ttl='86400', VERSIONS = 3)");
    struct column_definition *c = s->definitions;

    (void)state;
    assert_int_equal(s->type, STATEMENT_CREATE_TABLE);
    assert_true(s->if_exists);
    assert_true(c->not_null && c->type.has_length && c->type.length == 20);
    assert_true(c->next->next->type.is_unsigned);
    assert_int_equal(c->next->next->next->type.scale, 2);
    assert_int_equal(c->next->next->next->default_value->op, OP_NEGATE);
    assert_true(bytes_equal(s->key->hash, BYTES_LIT("hash32")));
    assert_int_equal(s->key->hashed->count, 1);
    assert_int_equal(s->key->columns->count, 2);
    assert_true(s->key->columns->last->descending);
    assert_int_equal(s->indexes->include->count, 1);
    assert_true(bytes_equal(s->indexes->next->kind, BYTES_LIT("kv")));
    assert_true(bytes_equal(s->options->first->value, BYTES_LIT("86400")));
    assert_true(bytes_equal(s->options->last->value, BYTES_LIT("3")));
}

/* Each is understood, as the type that it is. */
static void test_statements(void **state)
{
    static const struct {
        const char *sql;
        enum statement_type type;
    } cases[] = {
        {"UPSERT INTO t (a, b) VALUES (1, 'x'), (?, NULL)", STATEMENT_UPSERT},
        {"INSERT /*+ _l_ts_(100) */ INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2",
         STATEMENT_UPSERT},
        {"UPDATE t SET a = a + 1, b = 'y' WHERE k = 1", STATEMENT_UPDATE},
        {"DELETE FROM t WHERE k = 1 AND l = 2", STATEMENT_DELETE},
        {"CREATE TABLE a LIKE b", STATEMENT_CREATE_TABLE_LIKE},
        {"DROP TABLE IF EXISTS t", STATEMENT_DROP_TABLE},
        {"ALTER TABLE t ADD COLUMN c INT, ADD d VARCHAR", STATEMENT_ALTER_TABLE},
        {"ALTER TABLE t DROP COLUMN IF EXISTS c", STATEMENT_ALTER_TABLE},
        {"ALTER TABLE t SET 'TTL' = '86400', VERSIONS = '2'", STATEMENT_ALTER_TABLE},
        {"ALTER TABLE t COMPACT", STATEMENT_ALTER_TABLE},
        {"TRUNCATE TABLE t", STATEMENT_TRUNCATE},
        {"CREATE INDEX IF NOT EXISTS i USING KV ON t (hash8(a), a, b DESC) INCLUDE (c) SYNC",
         STATEMENT_CREATE_INDEX},
        {"DROP INDEX i ON t", STATEMENT_DROP_INDEX},
        {"CREATE DATABASE IF NOT EXISTS db1", STATEMENT_CREATE_DATABASE},
        {"DROP SCHEMA db1", STATEMENT_DROP_DATABASE},
        {"USE db1", STATEMENT_USE},
        {"SET autocommit=1, @@session.sql_mode = 'ANSI'", STATEMENT_SET},
        {"SET NAMES utf8mb4", STATEMENT_SET},
        {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", STATEMENT_SET},
        {"SHOW DATABASES", STATEMENT_SHOW},
        {"SHOW FULL TABLES FROM db LIKE 'a%'", STATEMENT_SHOW},
        {"SHOW CREATE TABLE t", STATEMENT_SHOW},
        {"SHOW INDEX FROM t", STATEMENT_SHOW},
        {"SHOW TABLE VARIABLES FROM t LIKE '%TTL%'", STATEMENT_SHOW},
        {"SHOW SESSION VARIABLES LIKE 'x'", STATEMENT_SHOW},
        {"SHOW PROCESSLIST", STATEMENT_SHOW},
        {"SHOW ENGINES", STATEMENT_SHOW},
        {"DESC t", STATEMENT_DESCRIBE},
        {"EXPLAIN SELECT 1", STATEMENT_EXPLAIN},
        {"START TRANSACTION", STATEMENT_TRANSACTION},
        {"START TRANSACTION READ ONLY", STATEMENT_TRANSACTION},
        {"START TRANSACTION WITH CONSISTENT SNAPSHOT", STATEMENT_TRANSACTION},
        {"BEGIN WORK", STATEMENT_TRANSACTION},
        {"COMMIT", STATEMENT_TRANSACTION},
        {"COMMIT AND NO CHAIN", STATEMENT_TRANSACTION},
        {"ROLLBACK TO SAVEPOINT a", STATEMENT_TRANSACTION},
        {"SELECT a FROM t WHERE k = 1 FOR UPDATE", STATEMENT_SELECT},
        {"SHOW GRANTS FOR app1", STATEMENT_SHOW},
        {"KILL QUERY 'x'", STATEMENT_KILL},
        {"SELECT * FROM t WHERE c = 1 ALLOW FILTERING", STATEMENT_SELECT},
        {"SELECT 1 UNION ALL SELECT 2 UNION SELECT 3", STATEMENT_SELECT},
        {"SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u) AND b IN (SELECT b FROM v)",
         STATEMENT_SELECT},
        {"SELECT end, start, tables, cast(a AS decimal(5,2)) FROM status", STATEMENT_SELECT},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        assert_int_equal(parsed(cases[i].sql)->type, cases[i].type);
}

static void test_faults(void **state)
{
    static const struct {
        const char *sql;
        int line, column;
        const char *text;
    } cases[] = {
        {"", 1, 1, "the statement ends too early"},
        {"select", 1, 7, "the statement ends too early"},
        {"selec 1", 1, 1, "this is not expected here: 'selec 1'"},
        {"select a\nfrom t where", 2, 13, "the statement ends too early"},
        {"select \xc3\xbc from t\n  wher x", 2, 8, "this is not expected here: 'x'"},
        {"select 'no end", 1, 8, "the quote has no end"},
        {"select /* no end", 1, 8, "the comment has no end"},
        {"select /*+ no end", 1, 8, "the hint has no end"},
        {"select 1a", 1, 8, "a name that begins with a digit needs backticks"},
        {"select x'1'", 1, 8, "x'...' holds pairs of hexadecimal digits"},
        {"select \x01", 1, 8, "no statement has this character"},
        {"select 1; select 2", 1, 11, "this is not expected here: 'select 2'"},
        {"create table t (a int primary key, b int, primary key (a), primary key (b))", 1, 60,
         "the table has two primary keys"},
        {"select a like 'b' escape 'cd'", 1, 26, "ESCAPE takes one character"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        struct parse_fault fault = {0};
        struct statement *s;

        assert_int_equal(parse_statement(&arena, bytes_str(cases[i].sql), &s, &fault), E_PARAMETER);
        assert_string_equal(fault.text.ptr, cases[i].text);
        assert_int_equal(fault.line, cases[i].line);
        assert_int_equal(fault.column, cases[i].column);
    }
}

/* Whoever walks a tree may do it by calling himself. */
static void test_depth(void **state)
{
    size_t n = 200000;
    char *sql = mem_alloc(2 * n + 20);
    struct parse_fault fault;
    struct statement *s;

    (void)state;
    strcpy(sql, "select 1");
    for (size_t i = 0; i < n; i++)
        memcpy(sql + 8 + 2 * i, "+1", 3);
    assert_int_equal(parse_statement(&arena, bytes_str(sql), &s, &fault), E_PARAMETER);
    assert_string_equal(fault.text.ptr, "the expression is nested too deep");
    /* What is deep, but not too deep, takes no longer for it. */
    sql[8 + 2 * (EXPR_DEPTH_MAX - 2)] = 0;
    assert_int_equal(parse_statement(&arena, bytes_str(sql), &s, &fault), E_OK);
    assert_int_equal(s->select->items->first->at, 7);
    strcpy(sql, "select ");
    memset(sql + 7, '(', n);
    sql[7 + n] = 0;
    assert_int_equal(parse_statement(&arena, bytes_str(sql), &s, &fault), E_PARAMETER);
    assert_string_equal(fault.text.ptr, "the statement is nested too deep");
    mem_free(sql);
}

static void test_reserved(void **state)
{
    (void)state;
    assert_true(lex_is_reserved(BYTES_LIT("select")));
    assert_true(lex_is_reserved(BYTES_LIT("XOR")));
    assert_true(lex_is_reserved(BYTES_LIT("Add")));
    assert_false(lex_is_reserved(BYTES_LIT("tables")));
    assert_false(lex_is_reserved(BYTES_LIT("name")));
    assert_false(lex_is_reserved(BYTES_LIT("")));
}

/* A statement takes some times its own bytes, however many texts are in it. */
static void test_memory(void **state)
{
    struct parse_fault fault;
    struct statement *tree;
    struct arena text, a;
    struct buf sql;

    (void)state;
    arena_init(&text, NULL, 0);
    arena_init(&a, NULL, 0);
    buf_init(&sql, &text, 1 << 20);
    buf_put_bytes(&sql, BYTES_LIT("upsert into t (k, b) values "));
    for (int i = 0; i < 2000; i++)
        buf_put_bytes(&sql, arena_printf(&text, "%s('%0200d', x'00ff')", i ? ", " : "", i));
    assert_int_equal(parse_statement(&a, buf_bytes(&sql), &tree, &fault), 0);
    assert_true(a.used < 20 * sql.len);
    arena_release(&a);
    arena_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_expressions, begin, end),
        cmocka_unit_test_setup_teardown(test_select, begin, end),
        cmocka_unit_test_setup_teardown(test_create_table, begin, end),
        cmocka_unit_test_setup_teardown(test_statements, begin, end),
        cmocka_unit_test_setup_teardown(test_faults, begin, end),
        cmocka_unit_test_setup_teardown(test_depth, begin, end),
        cmocka_unit_test(test_reserved),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
