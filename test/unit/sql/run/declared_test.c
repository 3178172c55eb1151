/* What CREATE TABLE says beyond a description: lengths, NOT NULL, DEFAULT and options; what is
 * stored of it, and what INSERT makes of it. */
#include "bed.h"

#include "../../../golden/golden.h"
#include "sql/run/annotation.h"
#include "sql/run/declared.h"

static void test_lengths(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table t (k varchar(3), c varchar(2), d decimal(4,2), f char(3), g binary(2), h "
           "varbinary(2), primary key (k))",
           "0");
    expect(b, "insert into t (k, c) values ('abc', '\xc3\xbc\xc3\xbc')", "1");
    expect(b, "insert into t (k, c) values ('abc', 'xyz')",
           "!1406 Data too long for column 'c': 3 characters of at most 2");
    expect(b, "insert into t (k, c) values ('abcd', 'x')",
           "!1406 Data too long for column 'k': 4 characters of at most 3");
    expect(b, "insert into t (k, h) values ('abc', x'010203')",
           "!1406 Data too long for column 'h': 3 characters of at most 2");
    expect(b, "insert into t (k, f) values ('abc', 'abcd')",
           "!1406 Data too long for column 'f': 4 characters of at most 3");
    expect(b, "insert into t (k, d) values ('abc', 12.345)",
           "!1264 Out of range value for column 'd': 12.345");
    expect(b, "insert into t (k, d, f, g) values ('abc', 12.34, 'x', x'010203')", "1");
    expect(b, "update t set c = 'xyz' where k = 'abc'",
           "!1406 Data too long for column 'c': 3 characters of at most 2");
    expect(b, "select concat(f, '|'), hex(g), d from t where k = 'abc'",
           "concat(f, '|'),hex(g),d|x  |,0102,12.34");
    expect(b, "select k from t where f = 'x' and k = 'abc'", "k|abc");
    expect(b, "select k from t where d > 12.3399 and c > 'xyz' and k < 'abcdef'", "k|abc");
    expect(b, "create table w (k bigint, c decimal(39, 1), primary key (k))",
           "!9001 There is no type 'decimal'(p, s) but with p from 1 to 38 and s from 0 to p");
    expect(b, "create table w (k bigint, c decimal(3, 4), primary key (k))",
           "!9001 There is no type 'decimal'(p, s) but with p from 1 to 38 and s from 0 to p");
    expect(b, "create table w (k bigint, c varchar(0), primary key (k))",
           "!9001 There is no type 'varchar' of that length: from 1 to 2097152");
}

static void test_defaults(void **state)
{
    struct bed *b = *state;

    expect(
        b,
        "create table t (k bigint, c varchar(9) not null default 'it''s', n bigint default -1, m "
        "timestamp default now(), e double, primary key (k))",
        "0");
    expect(b, "insert into t (k, e) values (1, 2)", "1");
    expect(b, "select c, n, m is null, e from t where k = 1", "c,n,m is null,e|it's,-1,0,2");
    expect(b, "insert into t (k, c, n) values (1, 'x', 5)", "1");
    expect(b, "insert into t (k, e) values (1, 3), (2, 3)", "2");
    expect(b, "select k, c, n, e from t", "k,c,n,e|1,x,5,3|2,it's,-1,3");
    expect(b, "insert into t (k, e) values (1, 4)", "1");
    expect(b, "select c, e from t where k = 1", "c,e|x,4");
    expect(b, "insert into t (k, c) values (3, null)", "!1048 Column 'c' cannot be null");
    expect(b, "update t set c = null where k = 1", "!1048 Column 'c' cannot be null");
    expect(b, "insert into t (k, e) values (4, null)", "1");
    expect(b, "select n from t where k = 4", "n|-1");
    expect(b, "update t set n = n + 1 where k = 4", "1");
    expect(
        b,
        "select COLUMN_NAME, COLUMN_DEFAULT, IS_NULLABLE, COLUMN_TYPE from "
        "information_schema.COLUMNS where TABLE_NAME = 't' and COLUMN_DEFAULT is not null",
        "COLUMN_NAME,COLUMN_DEFAULT,IS_NULLABLE,COLUMN_TYPE|c,it's,NO,varchar(9)|n,-1,YES,bigint|"
        "m,CURRENT_TIMESTAMP,YES,timestamp(3)");
    for (size_t i = 0; i < 5; i++) {
        static const char *const bad[] = {"n bigint default 'x'", "n bigint default null",
                                          "n bigint default now()", "n varchar(1) default 'xy'",
                                          "n bigint default rand()"};
        char sql[200];

        snprintf(sql, sizeof(sql), "create table w (k bigint, %s, primary key (k))", bad[i]);
        expect(b, sql,
               "!1067 Invalid default value for 'n': a constant that the column can hold, or NOW() "
               "for TIMESTAMP and DATE; not NULL, and not for key columns");
    }
}

/* A row of NULLs alone is none, so nothing was written. */
static void test_nulls(void **state)
{
    struct bed *b = *state;

    expect(b, "create table t (k bigint, c bigint, primary key (k))", "0");
    expect(b, "insert into t (k, c) values (1, null)", "0");
    expect(b, "insert into t (k, c) values (1, null), (2, 2), (3, null)", "1");
    expect(b, "select * from t", "k,c|2,2");
    expect(b, "insert into t (k, c) values (2, null), (4, 4)", "2");
    expect(b, "select k, c from t where k >= 2", "k,c|2,NULL|4,4");
}

static void test_options(void **state)
{
    struct bed *b = *state;

    expect(
        b,
        "create table t (k bigint, c bigint, primary key (k)) with (ttl = '86400', compression = "
        "'ZSTD', 'chs' = '86400', chs_l2 = 'storagetype=COLD', MUTABILITY = mutable_latest)",
        "0");
    expect(b, "show table variables from t",
           "VARIABLE_NAME,VARIABLE_VALUE|LAYOUT,plain|TTL,86400|VERSIONS,1|TRANSACTIONS,false|"
           "DYNAMIC_COLUMNS,false|"
           "COMPRESSION,ZSTD|CHS,86400|CHS_L2,storagetype=COLD|MUTABILITY,mutable_latest");
    expect(b, "alter table t set 'CHS' = '', chs_l2 = '', 'TTL' = ''", "0");
    expect(
        b, "show create table t",
        "Table,Create Table|t,CREATE TABLE `t` (\n  `k` bigint NOT NULL,\n  `c` bigint,\n  "
        "PRIMARY KEY (`k`)\n) WITH (TTL = '-1', VERSIONS = '1', COMPRESSION = 'ZSTD', MUTABILITY "
        "= 'mutable_latest')");
    expect(b, "create table u like t", "0");
    expect(b, "show table variables from u like 'COMP%'",
           "VARIABLE_NAME,VARIABLE_VALUE|COMPRESSION,ZSTD");
    expect(b, "truncate table t", "0");
    expect(b, "show table variables from t like 'COMP%'",
           "VARIABLE_NAME,VARIABLE_VALUE|COMPRESSION,ZSTD");
    expect(b, "create table w (k bigint, primary key (k)) with (colour = 'red')",
           "!9001 There is no table option 'colour': doc/sql.md has those that there are");
    expect(b, "alter table t set compression = 'zip'",
           "!9001 'zip' is no value of the table option COMPRESSION: ZSTD|SNAPPY|LZ4|NONE");
    expect(
        b, "alter table t set compaction_major_period = '1000'",
        "!9001 '1000' is no value of the table option COMPACTION_MAJOR_PERIOD: milliseconds, from "
        "3600000 on");
}

static void test_alter(void **state)
{
    struct bed *b = *state;

    expect(b, "create table t (k bigint, c bigint, primary key (k))", "0");
    expect(b, "insert into t (k, c) values (1, 1)", "1");
    expect(b, "alter table t add column d varchar(3) default 'abc', add column e char(2)", "0");
    expect(b, "insert into t (k, c) values (1, 2), (2, 2)", "2");
    expect(b, "select * from t", "k,c,d,e|1,2,NULL,NULL|2,2,abc,NULL");
    expect(b, "alter table t add d bigint", "!1060 Duplicate column name 'd'");
    expect(b, "alter table t drop column nosuch",
           "!1091 Can't DROP 'nosuch'; check that column/key exists: table 't' has no such column");
    expect(b, "alter table t drop column if exists nosuch", "0");
    expect(b, "alter table t drop column d", "0");
    expect(b, "insert into t (k, c) values (3, 3)", "1");
    expect(b, "alter table t add column d varchar", "0");
    expect(b, "insert into t (k, d) values (4, 'long enough')", "1");
    expect(b, "select d from t where k = 4", "d|long enough");
}

/* Values of the row as it is. */
static void test_updates(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table t (k bigint, n bigint, d double, s varchar(6), x decimal(9,2), at "
           "timestamp, j json, primary key (k))",
           "0");
    expect(b,
           "insert into t (k, n, d, s, x, at, j) values (1, 5, 1.5, 'ab', 2.5, '2024-01-31', "
           "'{\"a\":1}')",
           "1");
    expect(b,
           "update t set n = n * 2, d = d + n, s = concat(s, '!'), at = at + interval 1 day "
           "where k = 1",
           "1");
    expect(b, "select n, d, s, at from t where k = 1", "n,d,s,at|10,6.5,ab!,2024-02-01 00:00:00");
    expect(b, "update t set x = x * 2, j = json_set(j, '$.a', n) where k = 1", "1");
    expect(b, "select x, j from t where k = 1", "x,j|5,{\"a\":10}");
    expect(b, "update t set n = n + 1, s = upper(s) where k = 1", "1");
    expect(b, "select n, s from t where k = 1", "n,s|11,AB!");
    expect(b, "update t set n = k + 1 where k = 1", "1");
    expect(b, "update t set s = null where k = 1", "1");
    expect(b, "update t set s = concat(coalesce(s, 'none'), n) where k = 1", "1");
    expect(b, "select s from t where k = 1", "s|none2");
    expect(b, "update t set s = concat(s, s) where k = 1",
           "!1406 Data too long for column 's': 10 characters of at most 6");
    expect(b, "update t set n = n * 2 where k = 9", "0");
    expect(b, "update t set n = nosuch * 2 where k = 1",
           "!1054 Unknown column 'nosuch' in 'field list'");
    expect(b, "update t set n = (select max(n) from t) where k = 1",
           "!9001 UPDATE takes no sub-queries");
}

/* What is stored, which later builds read. */
static void test_form(void **state)
{
    struct run r = {.session = ((struct bed *)*state)->session};
    struct declared_column columns[] = {
        {BYTES_LIT("c"), 300, true, DEFAULT_TEXT, BYTES_LIT("it's")},
        {BYTES_LIT("m"), 0, false, DEFAULT_NOW, BYTES_LIT("")}};
    struct declared_option options[] = {{BYTES_LIT("CHS"), BYTES_LIT("86400")}};
    struct declared d = {columns, 2, options, 1, true}, back;
    struct wr_table_description t = {.table = BYTES_LIT("t")};
    struct outcome out = {.affected = 0};
    struct golden golden = {"declared", "What CREATE TABLE said of a table.", {0}};
    struct arena a;
    bytes section;

    arena_init(&a, NULL, 0);
    r.arena = &a;
    r.out = &out;
    t.annotation = annotation_with(&a, BYTES_LIT(""), ANNOTATION_MAPPING, BYTES_LIT("kept"));
    t.annotation = declared_annotation(&r, t.annotation, &d);
    assert_true(annotation_find(t.annotation, ANNOTATION_DECLARED, &golden.value));
    golden_check("declared.hex", "Section 2 of annotations.", &golden, 1);
    assert_int_equal(declared_read(&r, &t, &back), 0);
    assert_int_equal(back.column_count, 2);
    assert_int_equal(back.columns[0].length, 300);
    assert_int_equal(back.columns[1].with, DEFAULT_NOW);
    assert_true(back.dynamic);
    assert_true(bytes_equal(back.options[0].value, BYTES_LIT("86400")));
    assert_true(annotation_find(t.annotation, ANNOTATION_MAPPING, &section));
    assert_true(bytes_equal(section, BYTES_LIT("kept")));
    for (size_t n = 1; n < golden.value.len; n++) { /* cut short anywhere: said, not followed */
        t.annotation =
            annotation_with(&a, BYTES_LIT(""), ANNOTATION_DECLARED, bytes_of(golden.value.ptr, n));
        out.fault.number = 0;
        assert_int_not_equal(declared_read(&r, &t, &back), 0);
    }
    arena_release(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lengths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nulls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_alter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_updates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_form, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
