/* Statements, run against the engine in memory, and what they answer. */
#include "bed.h"

static void fill(struct bed *b)
{
    expect(
        b,
        "create table t (host varchar, n bigint, v double, s varchar, primary key (host, n desc))",
        "0");
    for (int i = 0; i < 30; i++) {
        char sql[200];

        snprintf(sql, sizeof(sql), "upsert into t (host, n, v, s) values ('h%d', %d, %d.5, 's%d')",
                 i / 10, i % 10, i, i % 3);
        expect(b, sql, "1");
    }
}

/* ---- tests ---- */

static void test_without_tables(void **state)
{
    static const char *const cases[][2] = {
        {"select 1", "1|1"},
        {"select 1 + 1 as two, 'x'", "two,'x'|2,x"},
        {"select mod(7, 4), 9 mod mod(7, 4)", "mod(7, 4),9 mod mod(7, 4)|3,0"},
        {"select %(7, 4)", "!9001 There is no function % with 2 arguments"},
        {"select 7 / 2, 7 div 2, 7 % 4, -7 mod 4", "7 / 2,7 div 2,7 % 4,-7 mod 4|3.5,3,3,-3"},
        {"select 1 / 0", "1 / 0|NULL"},
        {"select concat('a', 1, null)", "concat('a', 1, null)|NULL"},
        {"select (concat('a', 'b'))", "(concat('a', 'b'))|ab"},
        {"select left('gr\xc3\xbc\xc3\x9f', 3), right('gr\xc3\xbc\xc3\x9f', 2), "
         "reverse('\xc3\xbcx')",
         "left('gr\xc3\xbc\xc3\x9f', 3),right('gr\xc3\xbc\xc3\x9f', "
         "2),reverse('\xc3\xbcx')|gr\xc3\xbc,\xc3\xbc\xc3\x9f,x\xc3\xbc"},
        {"select locate('b', 'xxb'), locate('b', 'x\xc3\xbc"
         "bab', 4), locate('z', 'b'), locate('', 'a', 2) a, "
         "locate('', 'a', 3) b",
         "locate('b', 'xxb'),locate('b', 'x\xc3\xbc"
         "bab', 4),locate('z', 'b'),a,b|3,5,0,2,0"},
        {"select substr('abc', 0) a, substr('abc', 0, 2) b, substr('abc', -5) c, substr('abc', 2, "
         "-1) "
         "d, substr('abc', -2, 1) e, substr('gr\xc3\xbc\xc3\x9f', -2, 1) f, substr('abc', 3, 9) g, "
         "substr(123, 2) h",
         "a,b,c,d,e,f,g,h|,,,,b,\xc3\xbc,c,23"},
        {"select hex(substr(x'00ff10', 2, 1)) a, hex(substr(x'00ff10', -2)) b", "a,b|FF,FF10"},
        {"select right('abc', -9223372036854775808) a, locate('b', 'abc', -9223372036854775808) b",
         "a,b|,0"},
        {"select upper('\xc3\xbcx\xc3\x9f') a, lower('\xc3\x9cX') b, lower('\xe4\xb8\xad') c",
         "a,b,c|\xc3\x9cX\xc3\x9f,\xc3\xbcx,\xe4\xb8\xad"},
        {"select hex(255) a, hex(-1) b, hex('255') c, hex(15.5) d",
         "a,b,c,d|FF,FFFFFFFFFFFFFFFF,323535,10"},
        {"select char_length('a\\0b') a, char_length(x'c3bc') b", "a,b|3,2"},
        {"select cast(1.5 as signed) a, cast(-1.5 as signed) b, cast('1.9x' as signed) c, "
         "cast(9223372036854775807 as signed) d",
         "a,b,c,d|2,-2,1,9223372036854775807"},
        {"select 1e30 div 1", "!1690 BIGINT value is out of range in SUM, ABS, DIV or CAST: "
                              "SUM(CAST(... AS DOUBLE)) goes "
                              "further, with 15 digits"},
        {"select from_unixtime(1e300) a", "a|NULL"},
        {"select -(-5) a, - -5 b, -(-1.5) c, -(-9223372036854775807 - 1) d, 7 - -5 e",
         "a,b,c,d,e|5,5,1.5,9.223372036854776e+18,12"},
        {"select '10' = 10 a, 10 = '10a' b, length('ab') = '2' c, 1 + 1 in ('2', 'x') d, "
         "3 between '1' and '10' e, '10' = '10.0' f",
         "a,b,c,d,e,f|1,1,1,1,1,0"},
        {"select round(1250, -2) a, round(-1250, -2) b, round(0.15, 1) c, round(2.5) d, "
         "round(1.5, 400) e, round(1, -400) f, round(null) g",
         "a,b,c,d,e,f,g|1300,-1300,0.2,3,1.5,0,NULL"},
        {"select cast('gr\xc3\xbc\xc3\x9f' as char(3)) a, cast(12345 as char(2)) b, cast('ab' as "
         "char) c",
         "a,b,c|gr\xc3\xbc,12,ab"},
        {"select 1 from dual", "1|1"},
        {"select 1 limit 18446744073709551615 offset 0", "1|1"},
        {"select 1 limit 0", "1"},
        {"select 'a' collate utf8mb4_bin = 'a' x", "x|1"},
        {"select md5('x')", "md5('x')|9dd4e461268c8034f5c8564e155c67a6"},
        {"select length('\xc3\xbc'), char_length('\xc3\xbc')",
         "length('\xc3\xbc'),char_length('\xc3\xbc')|2,1"},
        {"select database(), user(), connection_id()",
         "database(),user(),connection_id()|inst,id1,7"},
        {"select 'A' = 'a', 'abc' like 'AB%', 'abc' like 'ab%'",
         "'A' = 'a','abc' like 'AB%','abc' like 'ab%'|0,0,1"},
        {"select true and not false, 1 xor 1", "true and not false,1 xor 1|1,0"},
        {"select case 2 when 1 then 'a' when 2 then 'b' end x", "x|b"},
        {"set names utf8mb4", "0"},
        {"select hex(_binary'a\\0b'), _utf8mb4'x' a", "hex(_binary'a\\0b'),a|610062,x"},
        {"select x'61' 'b'",
         "!1064 You have an error in your SQL syntax: line 1, column 14: this is "
         "not expected here: ''b''"},
        {"offline table nosuch", "!1146 Table 'inst.nosuch' doesn't exist"},
        {"build index i on t",
         "!9001 An index is built when it is created, and SHOW INDEX tells how "
         "far: drop it to end that"},
        {"explain analyze select 1", "!9001 EXPLAIN [PLAN] [WITH TYPE | WITHOUT IMPLEMENTATION] "
                                     "[FOR] SELECT is served: it walks as far as a page"},
        {"create user u123 identified by 'x'", "!9001 There are no users here"},
        {"grant read on database inst to u123", "!9001 There are no users here"},
        {"grant fly on database inst to u123",
         "!9001 There is no privilege 'fly': READ, WRITE, ADMIN, TRASH, SYSTEM, ALL"},
        {"selec 1", "!1064 You have an error in your SQL syntax: line 1, column 1: this is not "
                    "expected here: 'selec 1'"},
        {"select nosuch(1)", "!9001 There is no function nosuch with 1 arguments"},
        {"create table d (k bigint, c int, c varchar, primary key (k))",
         "!1060 Duplicate column name 'c'"},
        {"create table d (k bigint, k int, primary key (k))", "!1060 Duplicate column name 'k'"},
        {"set @@session.autocommit = on", "0"},
        {"select min()", "!9001 There is no function min with 0 arguments"},
        {"select a", "!1054 Unknown column 'a' in 'field list'"},
        {"use nosuch", "!1049 Unknown database 'nosuch': the access key is not for this instance"},
    };

    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        expect(*state, cases[i][0], cases[i][1]);
}

static void test_moments(void **state)
{
    struct bed *b = *state;

    expect(b, "create table m (k bigint, t timestamp, d date, j json, primary key (k))", "0");
    expect(b,
           "insert into m (k, t, d, j) values (1, '2024-01-31 03:04:05.678', '2024-02-29', "
           "'{\"k\":1,\"s\":\"v\",\"l\":[1,2]}')",
           "1");
    expect(b,
           "select t + interval 1 month a, t - interval 1 hour b, date_add(d, interval 1 year) c, "
           "date_sub(t, interval 10 second) d, interval 2 day + d e from m where k = 1",
           "a,b,c,d,e|2024-02-29 03:04:05.678,2024-01-31 02:04:05.678,2025-02-28 00:00:00,"
           "2024-01-31 03:03:55.678,2024-03-02 00:00:00");
    expect(b, "select k from m where k = 1 and t > '2024-03-01' - interval 2 month", "k|1");
    expect(b, "select k from m where k = 1 and t > now() - interval 2 month", "k");
    expect(
        b,
        "select date_format(t, '%Y-%m-%d %H:%i:%s.%f %W %j %p %%') a, date_format(d, '%e.%c.%y') b "
        "from m where k = 1",
        "a,b|2024-01-31 03:04:05.678000 Wednesday 031 AM %,29.2.24");
    expect(b,
           "select datediff(t, d) a, datediff('2024-03-01', '2024-02-28') b, "
           "unix_timestamp('1970-01-02') c, cast('2024-01-01' as timestamp) d, cast(t as date) e "
           "from m where k = 1",
           "a,b,c,d,e|-29,2,86400,2024-01-01 00:00:00,2024-01-31");
    expect(b,
           "select now() + interval 1 day > now() a, now() > '2020-01-01' b, "
           "cast('x' as timestamp) c, '9999-12-31' + interval 1 year d",
           "a,b,c,d|1,1,NULL,NULL");
    expect(b, "select now() + interval 1 foo",
           "!9001 INTERVAL takes MICROSECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or "
           "YEAR");
    expect(b, "select position('b' in 'abc') a, position('z', 'abc') b", "a,b|2,0");
    expect(
        b,
        "select json_extract(j, '$.s') a, json_extract_string(j, '$.s') b, json_extract_long(j, "
        "'$.k') + 1 c, json_extract_double(j, '$.k') d, json_contains(j, '2', '$.l') e, "
        "json_contains(j, '3', '$.l') f, json_set('{\"a\":1}', '$.a', 2) g, json_object('x', 1) h "
        "from m where k = 1",
        "a,b,c,d,e,f,g,h|\"v\",v,2,1,1,0,{\"a\":2},{\"x\":1}");
    expect(b, "select json_set('broken', '$.a', 1)",
           "!3141 Invalid JSON text or path in a function of JSON: malformed JSON");
}

static void test_types(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table types (k int, b boolean, ti tinyint, si smallint, i int, bi bigint, ub "
           "bigint unsigned, f float, d double, "
           "de decimal(10,2), vc varchar, c char(4), bn binary(3), vb varbinary, da date, tm time, "
           "ts timestamp, j json, primary key (k))",
           "0");
    expect(b,
           "upsert into types (k,b,ti,si,i,bi,ub,f,d,de,vc,c,bn,vb,da,tm,ts,j) values (1, true, "
           "-128, 32767, -5, '9223372036854775807', "
           "18446744073709551615, 0.1, 0.1, -12.5, 'x', 'ab', x'01', x'00ff', '2024-02-29', "
           "'03:04:05.5', '2024-02-29 03:04:05.678', '{}')",
           "1");
    expect(b, "select b,ti,si,i,bi,ub,f,d,de,vc,c,da,tm,ts,j from types where k = 1",
           "b,ti,si,i,bi,ub,f,d,de,vc,c,da,tm,ts,j|1,-128,32767,-5,9223372036854775807,"
           "18446744073709551615,0.1,0.1,-12.5,x,ab  ,"
           "2024-02-29,03:04:05.500,2024-02-29 03:04:05.678,{}");
    /* The same through SQLite. */
    expect(b, "select b,ti,si,i,bi,ub,f,d,de,vc,c,da,tm,ts,j from types where k = 1 limit 1",
           "b,ti,si,i,bi,ub,f,d,de,vc,c,da,tm,ts,j|1,-128,32767,-5,9223372036854775807,"
           "18446744073709551615,0.1,0.1,-12.5,x,ab  ,"
           "2024-02-29,03:04:05.500,2024-02-29 03:04:05.678,{}");
    expect(b, "select hex(bn), hex(vb) from types where k = 1", "hex(bn),hex(vb)|010000,00FF");
    expect(b,
           "select k from types where k = 1 and ub > 18446744073709551614 and de < -12.4 and de > "
           "-12.51 and ts > '2024-02-29' and da = '2024-02-29'",
           "k|1");
    expect(b, "select k from types where k = 1 and de = -12.50", "k|1");
    expect(b, "select ub + 0.0 > 1, de * 2 from types where k = 1", "ub + 0.0 > 1,de * 2|1,-25");
    expect(b, "upsert into types (k, ti) values (1, 128)",
           "!1264 Out of range value for column 'ti': 128");
    expect(b, "upsert into types (k, i) values (1, 'x')",
           "!1366 Incorrect integer value: 'x' for column 'i'");
    expect(b, "upsert into types (k, da) values (1, '2023-02-29')",
           "!1292 Incorrect date value: '2023-02-29' for column 'da'");
    expect(b, "create table bad (k text, primary key (k))",
           "!9001 There is no type 'text': see doc/sql.md for those that there are");
}

static void test_writes(void **state)
{
    struct bed *b = *state;

    expect(b, "create table w (k varchar, l bigint, a varchar, n bigint, primary key (k, l))", "0");
    expect(b, "create table w (k varchar, l bigint, primary key (k, l))",
           "!1050 Table 'w' already exists");
    expect(b, "create table if not exists w (k varchar, primary key (k))", "0");
    expect(b,
           "insert into w (k, l, a) values ('x', 1, 'one'), ('x', 2, concat('t', 'wo')), ('y', 1 + "
           "2, null)",
           "2");
    expect(b, "select * from w where k = 'x'", "k,l,a,n|x,1,one,NULL|x,2,two,NULL");
    expect(b, "insert into w (k, l, n) values ('x', 1, 5)", "1"); /* others stay */
    expect(b, "update w set n = n + 2, a = 'changed' where k = 'x' and l = 1", "1");
    expect(b, "select a, n from w where l = 1 and 'x' = k", "a,n|changed,7");
    expect(b, "update w set n = 1 where k = 'nosuch' and l = 1", "0");
    expect(b, "select * from w where k = 'nosuch' and l = 1", "k,l,a,n");
    expect(b, "update w set n = 1 where k = 'x'",
           "!9001 UPDATE needs every key column of 'w' with = in its WHERE");
    expect(b, "update w set l = 1 where k = 'x' and l = 1",
           "!9001 Key column 'l' cannot be set: a row's key does not change");
    expect(b, "delete from w where k = 'x' and l = 1", "1");
    expect(b, "delete from w where k = 'x' or l = 1",
           "!9001 DELETE needs every key column of 'w' with = in its WHERE");
    expect(b, "select l from w where k = 'x'", "l|2");
    expect(b, "insert into w (k, a) values ('x', 'y')",
           "!1364 Key column 'l' has no value: all key columns of 'w' are needed");
    expect(b, "insert into w (k, l) values ('x', 1)",
           "!9001 At least one column outside of the key is needed");
    expect(b, "insert into w (k, l, z) values ('x', 1, 1)",
           "!1054 Unknown column 'z' in 'field list'");
    expect(b, "insert into w (k, l, a, a) values ('x', 1, 1, 2)",
           "!1110 Column 'a' specified twice");
    expect(b, "insert into w (k, l, a) values ('x', 1)",
           "!1136 Column count doesn't match value count at row 1: 3 columns, 2 values");
    expect(b, "insert into w (k, l, a) values (null, 1, 'x')", "!1048 Column 'k' cannot be null");
    expect(b, "insert into nosuch (k) values (1)", "!1146 Table 'inst.nosuch' doesn't exist");
    expect(b, "alter table w add column extra bigint", "0");
    expect(b, "insert into w (k, l, extra) values ('x', 2, 9)", "1");
    expect(b, "select * from w where k = 'x' and l = 2", "k,l,a,n,extra|x,2,two,NULL,9");
    expect(b, "drop table w", "0");
    expect(b, "drop table w", "!1146 Table 'inst.w' doesn't exist");
    expect(b, "drop table if exists w", "0");
    expect(b,
           "create table one (k varchar, n bigint, v double, primary key (k, n desc), index one_v "
           "(n)) with (ttl = '-1')",
           "0");
    expect(b, "create table two like one", "0");
    expect(b, "create table two like one", "!1050 Table 'two' already exists");
    expect(b, "create table if not exists two like one", "0");
    expect(b, "create table three like nosuch", "!1146 Table 'inst.nosuch' doesn't exist");
    expect(b, "show create table two",
           "Table,Create Table|two,CREATE TABLE `two` (\n  `k` varchar NOT NULL,\n  `n` bigint NOT "
           "NULL,\n  `v` double,\n  PRIMARY KEY (`k`, `n` DESC)\n) WITH (TTL = '-1', VERSIONS = "
           "'1')");
    expect(b, "drop table kept", "!1142 the access key may not write the table kept");
}

static void test_layouts(void **state)
{
    struct bed *b = *state;

    expect(b, "create table h (k varchar, n bigint, v double, primary key (hash32(k), k, n))", "0");
    expect(b, "insert into h (k, n, v) values ('b', 1, 1), ('a', 2, 2), ('a', 1, 3), ('c', 1, 4)",
           "4");
    expect(b, "select k, n from h where k >= 'a' and k < 'c'", "k,n|a,1|a,2|b,1");
    expect(b, "show create table h",
           "Table,Create Table|h,CREATE TABLE `h` (\n  `k` varchar NOT NULL,\n  `n` bigint NOT "
           "NULL,\n  `v` double,\n  PRIMARY KEY (`k`, `n`)\n) WITH (TTL = '-1', VERSIONS = '1', "
           "LAYOUT = 'hash:16')");
    expect(b, "create table h2 (k varchar, n bigint, v double, primary key (hash8(k, n), k, n))",
           "0");
    expect(b, "select CREATE_OPTIONS from information_schema.TABLES where TABLE_NAME = 'h2'",
           "CREATE_OPTIONS|layout=splice:2+hash:16");
    expect(b,
           "create table h3 (k varchar, n bigint, primary key (k, n)) with (LAYOUT = 'time:k/5:2')",
           "!1030 Got error OTSParameterInvalid from storage engine: The key layout time needs "
           "an integer, but column 'k' is VT_STRING.");
    expect(b, "create table h3 (k varchar, n bigint, primary key (hash32(n), k, n))",
           "!9001 The hashed columns are the first ones of the key, in its order: (hash32(a), "
           "a, b)");
    expect(b, "create table h3 (k varchar, primary key (hash16(k), k))",
           "!9001 A key begins with hash8, hash32 or hash64");
    expect(b, "show table variables from h",
           "VARIABLE_NAME,VARIABLE_VALUE|LAYOUT,hash:16|TTL,-1|VERSIONS,1|TRANSACTIONS,false|"
           "DYNAMIC_COLUMNS,false");
    expect(b, "show table variables from h like '%TTL%'", "VARIABLE_NAME,VARIABLE_VALUE|TTL,-1");
    expect(b, "alter table h set VERSIONS = '4', TTL = ''", "0");
    expect(b, "show table variables from h like '%TTL%'", "VARIABLE_NAME,VARIABLE_VALUE|TTL,-1");
    expect(b, "alter table h set 'LAYOUT' = 'plain'",
           "!9001 The layout of a table that is there is changed by `widerow rekey`");
}

static void test_truncate(void **state)
{
    struct bed *b = *state;

    expect(
        b,
        "create table u (k varchar, n bigint, v bigint, w double, primary key (k, n desc), index "
        "uv (v) include (w)) with (layout = 'hash:4')",
        "0");
    expect(b, "insert into u (k, n, v) values ('a', 1, 2), ('b', 1, 3)", "2");
    expect(b, "truncate table u", "0");
    expect(b, "select count(*) from u", "count(*)|0");
    expect(b, "select k from u where v = 2", "k");
    expect(b, "show create table u",
           "Table,Create Table|u,CREATE TABLE `u` (\n  `k` varchar NOT NULL,\n  `n` bigint NOT "
           "NULL,\n  `v` bigint,\n  `w` double,\n  PRIMARY KEY (`k`, `n` DESC),\n  KEY `uv` (`v`) "
           "INCLUDE (`w`)\n) WITH (TTL = '-1', VERSIONS = '1', LAYOUT = 'hash:4')");
    expect(b, "insert into u (k, n, v) values ('c', 1, 2)", "1");
    expect(b, "select k from u where v = 2", "k|c");
    expect(b, "truncate table nosuch", "!1146 Table 'inst.nosuch' doesn't exist");
}

static void test_ranges(void **state)
{
    static const char *const cases[][2] = {
        {"select n from t where host = 'h1'", "n|9|8|7|6|5|4|3|2|1|0"},
        {"select n from t where host = 'h1' order by n", "n|0|1|2|3|4|5|6|7|8|9"},
        {"select n from t where host = 'h1' and n > 3 and n <= 6", "n|6|5|4"},
        {"select n from t where host = 'h1' and n >= 3 and n < 6 order by n", "n|3|4|5"},
        {"select n from t where host = 'h1' and n between 8 and 99", "n|9|8"},
        {"select n from t where host = 'h1' and n between 9 and 8", "n"},
        {"select n from t where host = 'h1' and n >= 8 and n <= 8", "n|8"},
        {"select n from t where host = 'h1' and n > 8 and n <= 8 order by n", "n"},
        {"select n from t where host > 'h1' and host < 'h0'", "n"},
        {"select n from t where host >= 'h1' and host <= 'h1' and n = 5", "n|5"},
        {"select n from t where host = 'h1' and n in (2, 5, 77) order by n desc", "n|5|2"},
        {"select host, n from t where host in ('h0', 'h2') and n = 3", "host,n|h0,3|h2,3"},
        {"select host, n from t where host > 'h1' and n < 1", "host,n|h2,0"},
        {"select host, n from t where host >= 'h1' and n < 1", "host,n|h1,0|h2,0"},
        {"select host from t where host < 'h1' and v > 8", "host|h0|h0"},
        {"select count(*) from t where host like 'h%'", "count(*)|30"},
        {"select count(*) from t where host like 'h1'", "count(*)|10"},
        {"select count(*) from t", "count(*)|30"},
        {"select host, count(*) c, sum(n), min(v), max(s) from t group by host order by host desc",
         "host,c,sum(n),min(v),max(s)|h2,10,45,20.5,s2|h1,10,45,10.5,s2|h0,10,45,0.5,s2"},
        {"select s, count(*) c from t group by s having c > 9 order by s limit 2",
         "s,c|s0,10|s1,10"},
        {"select distinct s from t where host = 'h0' order by s", "s|s0|s1|s2"},
        {"select n, case when n > 5 then 'high' else 'low' end as host from t where host = 'h0' "
         "having "
         "host = 'high' order by v desc limit 2",
         "n,host|9,high|8,high"},
        {"select count(*) c from t having c > 40", "c"},
        {"select host, n from t where (host, n) > ('h1', 7) and n = 9", "host,n|h1,9|h2,9"},
        {"select n from t where host = 'h0' order by v desc limit 2", "n|9|8"},
        {"select n from t where host = 'h0' limit 2, 3", "n|7|6|5"},
        {"select n from t where host = 'h0' and s = 's1'", "n|7|4|1"},
        {"select x.n from (select n, host from t where host = 'h0') x where x.n < 2", "n|1|0"},
        {"select n from t where host = 'h0' and n in (select n from t where host = 'h1' and n < 2) "
         "order by n desc",
         "n|1|0"},
        {"select n from t where host = 'h0' and n = 1.5", "n"},
        {"select n from t where host = 'h0' and n = '3'", "n|3"},
        {"select n from t where host = 5", "n"},
        {"select t.n, t.* from inst.t where host = 'h0' and n = 0", "n,host,n,v,s|0,h0,0,0.5,s0"},
    };
    struct bed *b = *state;

    fill(b);
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        expect(b, cases[i][0], cases[i][1]);
}

/* COUNT, MIN, MAX and SUM of a range are the same with and without SQLite, which serves them where
 * a condition says nothing. */
static void test_aggregates(void **state)
{
    static const char *const conditions[] = {
        "host = 'h1'",
        "host > 'h0'",
        "host >= 'h1' and host < 'h2'",
        "host > 'h0' and host <= 'h1'",
        "host > 'h1' and host < 'h1'",
        "host >= 'h1' and host <= 'h1'",
        "host = 'h1' and n > 3",
        "host = 'h1' and n >= 3 and n < 8",
        "host = 'h1' and 3 < n and 8 >= n",
        "host = 'h1' and n > 3 and n < 4",
        "host = 'h1' and n between 2 and 5",
        "host = 'h1' and n between 5 and 2",
        "host = 'h1' and n > 9223372036854775807",
        "host = 'h1' and n <= 9223372036854775807",
        "host = 'h1' and n >= -9223372036854775808",
        "host = 'h1' and n < -9223372036854775808",
        "host = 'h1' and n = 4 and n > 2",
        "host = 'h1' and host = 'h2'",
        "host = 'nosuch'",
        "host = '' and n > 1",
        "n > 3 and host = 'h2'",
        "host > 1",
        "host = 'h1' and n > 2.5",
        "host = 'h1' and n > null",
    };
    struct bed *b = *state;
    char sql[400], same[420];
    struct arena a;

    fill(b);
    expect(b, "upsert into t (host, n, s) values ('h1', 77, 'no v')", "1");
    arena_init(&a, NULL, 0);
    for (size_t i = 0; i < PORT_COUNT(conditions); i++) {
        const char *names =
            "count(*) a, count(v) b, min(s) c, max(n) d, sum(n) e, sum(v) f, max(v) g, "
            "sum(length(s)) h, count(length(s)) i, max(length(host)) j";

        snprintf(sql, sizeof(sql), "select %s from t where %s", names, conditions[i]);
        snprintf(same, sizeof(same), "%s limit 1", sql);
        expect(b, sql, answer(b, &a, same, NULL, 0));
    }
    arena_release(&a);
    expect(b, "select count(*), min(host), sum(n) from t", "count(*),min(host),sum(n)|31,h0,212");
    expect(b, "select sum(s) from t where host = 'h1'", "sum(s)|0");
    expect(b, "select sum(nosuch) from t", "!1054 Unknown column 'nosuch' in 'field list'");
    expect(b, "upsert into t (host, n, v) values ('big', 9223372036854775807, 1)", "1");
    expect(b, "upsert into t (host, n, v) values ('big', 1, 1)", "1");
    expect(b, "select sum(n) from t where host = 'big'",
           "!1690 BIGINT value is out of range in SUM, ABS, DIV or CAST: SUM(CAST(... AS DOUBLE)) "
           "goes "
           "further, with 15 digits");
    /* More than a page. */
    for (int i = 0; i < 9000; i += 1500) {
        char many[40000];
        size_t n = (size_t)snprintf(many, sizeof(many), "upsert into t (host, n, v) values ");

        for (int k = i; k < i + 1500; k++)
            n += (size_t)snprintf(many + n, sizeof(many) - n, "%s('many', %d, 1)", k > i ? "," : "",
                                  k);
        expect(b, many, "1500");
    }
    expect(b, "select count(*), sum(v), min(n), max(n) from t where host = 'many' and n > 10",
           "count(*),sum(v),min(n),max(n)|8989,8989,11,8999");
}

/* What SHOW CREATE TABLE tells makes the same table again. */
static void test_shown_tables(void **state)
{
    static const char *const tables[] = {
        "create table t (k varchar(9), n bigint, v double, primary key (hash32(k), k, n desc))",
        "create table t (k varchar, n bigint, v double, primary key (hash8(k, n), k, n))",
        "create table t (k varchar, n bigint, v bigint, w varchar, x double, primary key (k, n), "
        "index by_v (hash32(v), v, w desc) include (x), key by_w (w))",
        "create table t (k varchar, v varchar(20) not null default 'it''s \\\\ `x`', d timestamp "
        "default now(), p decimal(10,2), primary key (k)) with (ttl = '86400', versions = '3', "
        "compression = 'ZSTD', dynamic_columns = 'true')",
        "create table t (k bigint, `a ``b` bigint, v char(3), primary key (k, `a ``b`)) with "
        "(layout = 'time:k/5:2')",
        "create table t (k varchar, v bigint, primary key (k)) with (transactions = 'true')",
    };
    static const char head[] = "Table,Create Table|t,";
    struct bed *b = *state;
    struct arena a;

    for (size_t i = 0; i < PORT_COUNT(tables); i++) {
        const char *shown;

        arena_init(&a, NULL, 0);
        expect(b, tables[i], "0");
        shown = answer(b, &a, "show create table t", NULL, 0);
        assert_memory_equal(shown, head, strlen(head));
        expect(b, "drop table t", "0");
        expect(b, shown + strlen(head), "0");
        expect(b, "show create table t", shown);
        expect(b, "drop table t", "0");
        arena_release(&a);
    }
}

/* What MySQL's tables are made with is passed over, and said. */
static void test_passed_options(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table p (k bigint, v varchar collate utf8mb4_general_ci, primary key (k)) "
           "engine=InnoDB default charset=utf8mb4 collate utf8mb4_bin",
           "0");
    expect(b, "show warnings",
           "Level,Code,Message|Warning,1266,Using storage engine Widerow for table 'p'|"
           "Warning,1235,collate of column 'v' is passed over: texts are UTF-8 and compared by "
           "bytes, and comments are not kept");
    expect(b, "create table q (k bigint, primary key (k)) engine=widerow charset utf8", "0");
    expect(b, "show warnings", "Level,Code,Message");
    expect(b, "create table r (k bigint, primary key (k)) engine=innodb nope=1",
           "!9001 There is no table option 'nope': doc/sql.md has those that there are");
}

static void test_user_variables(void **state)
{
    struct bed *b = *state;
    struct arena a;
    char *sql;

    expect(b, "set @a = 1, @`b` = 2",
           "!1064 You have an error in your SQL syntax: line 1, column 14: this is not expected "
           "here: '`b` = 2'");
    expect(b, "set @a = 1.5, @B = null, @c = x'00', @d = date('2024-01-02'), @e = true", "0");
    expect(b, "select @A + 1 x, @b is null y, hex(@c) z, @d, @e",
           "x,y,z,@d,@e|2.5,1,00,2024-01-02,1");
    expect(b, "set @a = concat(@d, 'x')", "0");
    expect(b, "select @a", "@a|2024-01-02x");
    arena_init(&a, NULL, 0);
    sql = arena_alloc(&a, 9100);
    memset(sql, 'v', 9100);
    memcpy(sql, "set @f = '", 10);
    memcpy(sql + 9000, "'", 2);
    expect(b, sql,
           "!9001 Variables of a session take 8 KiB at most: give values with the statement, by "
           "question marks");
    memcpy(sql + 5000, "'", 2);
    expect(b, sql, "0");
    expect(b, sql, "0"); /* in the place of the former one */
    session_reset(b->session);
    expect(b, "select @a, @f", "@a,@f|NULL,NULL");
    arena_release(&a);
}

/* Of the last statement but SHOW WARNINGS itself. */
static void test_warnings(void **state)
{
    static const char none[] = "Level,Code,Message";
    static const char hint[] =
        "Level,Code,Message|Warning,1064,Optimizer hint syntax error near '_l_alow_filtering_': "
        "there is no such hint here, and it was passed over";
    struct bed *b = *state;

    expect(b, "create table t (k varchar, v bigint, primary key (k))", "0");
    expect(b, "show warnings", none);
    expect(b, "select /*+ _l_alow_filtering_ */ v from t where k = 'a'", "v");
    expect(b, "show warnings", hint);
    expect(b, "show warnings", hint);
    expect(b, "show errors", none);
    expect(b, "upsert /*+ _l_alow_filtering_ */ into t (k, v) values ('a', 1)", "1");
    expect(b, "show warnings", hint);
    expect(b, "select v from t where k = 'a'", "v|1");
    expect(b, "show warnings", none);
    expect(b, "select /*+ _L_Allow_Filtering_, _l_hot_only_(true) */ k from t where v = 1", "k|a");
    expect(b, "show warnings", none);
    expect(b, "select w from t where k = 'a'", "!1054 Unknown column 'w' in 'field list'");
    expect(b, "show errors", "Level,Code,Message|Error,1054,Unknown column 'w' in 'field list'");
    expect(b, "show warnings", "Level,Code,Message|Error,1054,Unknown column 'w' in 'field list'");
    expect(b, "show tables", "Tables_in_inst|t");
    expect(b, "show warnings", none);
}

static void test_refusals(void **state)
{
    static const char *const refused[][2] = {
        {"select * from t where n = 1", "create an index: CREATE INDEX t_n ON t (n), "},
        {"select * from t where v = 1", "create an index: CREATE INDEX t_v ON t (v), "},
        {"select * from t where v > 1 and s >= 'a'",
         "create an index: CREATE INDEX t_v ON t (v), "},
        {"select * from t where host = 'h0' or v = 1",
         "create an index: CREATE INDEX t_v ON t (v), "},
        {"select * from t where substr(host, 1, 2) = 'h0'", ""},
        {"select * from t where host like '%1'", ""},
    };
    struct bed *b = *state;

    fill(b);
    for (size_t i = 0; i < PORT_COUNT(refused); i++) {
        char answer[600];

        snprintf(answer, sizeof(answer),
                 "!9001 Detect inefficient query: %s This query may be a full table scan and thus "
                 "may have unpredictable performance. Add a "
                 "bound on the first key column 'host', %sor permit it with the "
                 "hint /*+ _l_allow_filtering_ */ (mariadb sends it with --comments)",
                 refused[i][0], refused[i][1]);
        expect(b, refused[i][0], answer);
    }
    expect(b, "select /*+ _l_allow_filtering_ */ host from t where n = 1 and v > 5", "host|h1|h2");
    expect(b, "select host from t where n = 1 and v > 5 allow filtering", "host|h1|h2");
    expect(b, "select a.n from t a join t b on a.n = b.n",
           "!9001 JOIN is not allowed in Lindorm SQL");
    expect(b, "select 1 union select 2", "!9001 UNION is not allowed");
}

/* What an index serves is what the table says, whatever the path. */
static void test_indexes(void **state)
{
    static const char *const cases[][2] = {
        {"select host, n from t where s = 's1' and host = 'h0'", "host,n|h0,7|h0,4|h0,1"},
        {"select host, n, v from t where s = 's1' and n = 4", "host,n,v|h0,4,4.5"},
        {"select v from t where s > 's1' and v < 6", "v|5.5|2.5"},
        {"select v from t where s in ('s0', 's2') and n > 8 order by v", "v|9.5|29.5"},
        {"select count(*) from t where s like 's%'", "count(*)|30"},
        {"select host from t where n = 3", "host|h0|h1|h2"},
        {"select n from t where n between 8 and 9 and s = 's0' order by n", "n|8|9"},
        {"select s from t where s >= 's2' order by s desc limit 2", "s|s2|s2"},
        {"select s from t where s = null", "s"},
    };
    struct bed *b = *state;

    fill(b);
    expect(b, "create index ts on t (s) sync", "0");
    expect(b, "create index on t (n) include (v) sync", "0");
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        expect(b, cases[i][0], cases[i][1]);
    /* Rows are written anew and go. */
    expect(b, "upsert into t (host, n, s) values ('h0', 1, 's9')", "1");
    expect(b, "delete from t where host = 'h1' and n = 4", "1");
    expect(b, "upsert into t (host, n, s) values ('h2', 4, null)", "1");
    expect(b, "select host, n from t where s = 's1' and n < 5", "host,n|h0,4|h1,3|h1,0|h2,2");
    expect(b, "select n, v from t where s = 's9'", "n,v|1,1.5");
    expect(b, "create index ts on t (n)",
           "!1061 Duplicate key name 'ts': an index or a table has it");
    expect(b, "create index if not exists ts on t (n)", "0");
    expect(b, "create table aging (k varchar, v varchar, primary key (k)) with (ttl = '86400')",
           "0");
    expect(b, "create index on aging (v)",
           "!9001 A table has a TTL or indexes, not both: ALTER TABLE … SET TTL = '' takes the "
           "TTL away");
    expect(b, "alter table aging set ttl = ''", "0");
    expect(b, "create index on aging (v)", "0");
    expect(b, "drop index nosuch on t",
           "!1091 Can't DROP 'nosuch'; check that column/key exists: table 't' has no such index");
    expect(b, "drop index if exists nosuch on t", "0");
    expect(b, "alter index ts on t active", "0");
    expect(
        b, "select /*+ _l_force_index_('nosuch') */ n from t where s = 's9'",
        "!1176 Key 'nosuch' doesn't exist in the tables of the statement: SHOW INDEX names those "
        "that there are");
    expect(b, "select /*+ _l_force_index_('ts') */ n from t where s = 's9' and host = 'h0'", "n|1");
    expect(b, "drop index ts on t", "0");
    expect(b,
           "create table u (k varchar, a varchar, b bigint, c double, primary key (k), index ua "
           "(a, b) include (c))",
           "0");
    expect(b, "show index from u",
           "TABLE_SCHEMA,DATA_TABLE,INDEX_NAME,INDEX_STATE,INDEX_PROGRESS,INDEX_TYPE,INDEX_COVERED,"
           "INDEX_COLUMN,INDEX_TTL,INDEX_DESCRIPTION|inst,u,ua,ACTIVE,DONE,SECONDARY,TRUE,a,b,-1,"
           "INCLUDE (c)");
    expect(
        b, "show create table u",
        "Table,Create Table|u,CREATE TABLE `u` (\n  `k` varchar NOT NULL,\n  `a` varchar,\n  `b` "
        "bigint,\n  `c` double,\n  PRIMARY KEY (`k`),\n  KEY `ua` (`a`, `b`) INCLUDE (`c`)\n) "
        "WITH (TTL = '-1', VERSIONS = '1')");
    expect(
        b,
        "insert into u (k, a, b, c) values ('1', 'x', 1, 1), ('2', 'x', null, 2), ('3', 'x', 3, 3)",
        "3");
    /* A row without b has no entry: the index serves only who asks for rows with one. */
    expect(b, "select k, c from u where a = 'x' and b is not null", "k,c|1,1|3,3");
    expect(b, "select k from u where a = 'x' and b > 1", "k|3");
    expect(b, "select /*+ _l_force_index_('ua') */ k from u where a = 'x'", "k|1|3");
    expect(b, "select k from u where a = 'x'",
           "!9001 Detect inefficient query: select k from u where a = 'x' This query may be a full "
           "table scan and thus may have unpredictable performance. Add a bound on the first key "
           "column 'k', or the condition 'b IS NOT NULL', for index 'ua' has no entry of rows "
           "without it, or permit it with the hint /*+ _l_allow_filtering_ */ (mariadb sends it "
           "with --comments)");
    expect(b, "select /*+ _l_allow_filtering_ */ k from u where a = 'x'", "k|1|2|3");
    expect(b, "select /*+ _l_ignore_index_, _l_allow_filtering_ */ k from u where b = 3", "k|3");
    expect(b, "insert into u (k, a) values ('1', 'y'), ('1', 'z')",
           "!1030 Got error OTSParameterInvalid from storage engine: Repeated rows are not "
           "supported in BatchModify of a table with secondary indexes.");
}

#define EXPLAINED "TABLE,ACCESS,BOUNDS,WALKS,PARTITIONS,ROWS,READ_CU,REFUSED"

/* READ_CU of a statement that is refused is of the table's size, which is measured in the
 * background: a table that is new, or was a moment ago, has none. */
static void expect_explained_refusal(struct bed *b)
{
    static const char head[] = EXPLAINED "|t,full scan,,1,1,NULL,";
    static const char tail[] =
        ",Detect inefficient query: select v from t where v = 1 This query may be a full table "
        "scan and thus may have unpredictable performance. Add a bound on the first key column "
        "'host', create an index: CREATE INDEX t_v ON t (v), or permit it with the hint /*+ "
        "_l_allow_filtering_ */ (mariadb sends it with --comments)";
    const char *text, *units;
    struct arena a;

    arena_init(&a, NULL, 0);
    text = answer(b, &a, "explain select v from t where v = 1", NULL, 0);
    assert_true(strncmp(text, head, strlen(head)) == 0);
    units = text + strlen(head);
    assert_true(strncmp(units, "NULL,", 5) == 0 || strncmp(units, "about ", 6) == 0);
    assert_string_equal(strchr(units, ','), tail);
    arena_release(&a);
}

static void test_explain(void **state)
{
    static const char *const cases[][2] = {
        {"explain select * from t where host = 'h1' and n = 3",
         EXPLAINED "|t,get,host = h1 and n = 3,1,1,1,1,no"},
        /* A row at an open end may be read, too. */
        {"explain select n from t where host = 'h1' and n > 3 order by n",
         EXPLAINED "|t,key range,host = h1 and n > 3,1,1,7,1,no"},
        {"explain select n from t where host in ('h0', 'h1')",
         EXPLAINED "|t,key range,host = h0,2,1,20,2,no"},
        {"explain select count(*) from t", EXPLAINED "|t,full scan,,1,1,30,1,no"},
        {"explain select v from t where s = 's1'",
         EXPLAINED "|t,index ts, then rows by key,s = s1,1,1,10,11,no"},
        {"explain select host from t where s > 's1'", EXPLAINED "|t,index ts,s > s1,1,1,10,1,no"},
        {"explain select 1", EXPLAINED},
        {"explain select x from t", "!1054 Unknown column 'x' in 'field list'"},
    };
    struct bed *b = *state;

    fill(b);
    expect(b, "create index ts on t (s) sync", "0");
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        expect(b, cases[i][0], cases[i][1]);
    expect_explained_refusal(b);
    for (int i = 0; i < 150; i++) {
        char sql[100];

        snprintf(sql, sizeof(sql), "upsert into t (host, n, v) values ('many', %d, 1)", i);
        expect(b, sql, "1");
    }
    expect(b, "explain select v from t where host = 'many'",
           EXPLAINED "|t,key range,host = many,1,1,at least 100,at least 1,no");
    expect(b, "select count(v) from t where host = 'many'", "count(v)|150");
}

/* Keys that descend, and hashed ones: how they are said, shown, kept and read. */
static void test_ordered_indexes(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table t (k varchar, n bigint, a bigint, s varchar, v double, primary key (k, n "
           "desc), index ta (a desc, s) include (v))",
           "0");
    expect(b,
           "insert into t (k, n, a, s, v) values ('k', 1, 5, 'x', 1), ('k', 2, 7, 'y', 2), ('k', "
           "3, 7, 'x', 3), ('l', 1, -1, 'z', 4)",
           "4");
    expect(b, "create index th on t (hash64(s, a), s, a desc) sync", "0");
    expect(b, "create index tn on t (n, a desc) sync", "0"); /* n ascends there */
    expect(b, "select a, s, v from t where a > 0 and s > '' order by a desc, s",
           "a,s,v|7,x,3|7,y,2|5,x,1");
    expect(b, "select a, s, v from t where a > 0 and s > '' order by a, s desc",
           "a,s,v|5,x,1|7,y,2|7,x,3");
    expect(b, "select a, s from t where a >= 5 and a < 7 and s > ''", "a,s|5,x");
    expect(b, "select a, s from t where a <= 7 and s > '' order by a desc, s limit 2",
           "a,s|7,x|7,y");
    expect(b, "select /*+ _l_force_index_(th) */ v from t where s = 'x' and a = 7", "v|3");
    expect(b, "select /*+ _l_force_index_(th) */ s, a from t where s >= 'x' and s <= 'y'",
           "s,a|x,7|x,5|y,7");
    expect(b, "select /*+ _l_force_index_(tn) */ n, a from t where n < 3 order by n, a desc",
           "n,a|1,5|1,-1|2,7");
    expect(b, "show index from t",
           "TABLE_SCHEMA,DATA_TABLE,INDEX_NAME,INDEX_STATE,INDEX_PROGRESS,INDEX_TYPE,INDEX_COVERED,"
           "INDEX_COLUMN,INDEX_TTL,INDEX_DESCRIPTION|inst,t,ta,ACTIVE,DONE,SECONDARY,TRUE,a "
           "DESC,s,-1,INCLUDE (v)|inst,t,th,ACTIVE,DONE,SECONDARY,FALSE,hash32(s,a),s,a DESC,-1,"
           "|inst,t,tn,ACTIVE,DONE,SECONDARY,FALSE,n,a DESC,-1,");
    expect(b, "truncate table t", "0");
    expect(b, "show create table t",
           "Table,Create Table|t,CREATE TABLE `t` (\n  `k` varchar NOT NULL,\n  `n` bigint NOT "
           "NULL,\n  `a` bigint,\n  `s` varchar,\n  `v` double,\n  PRIMARY KEY (`k`, `n` DESC),\n"
           "  KEY `ta` (`a` DESC, `s`) INCLUDE (`v`),\n  KEY `th` (hash32(`s`, `a`), `s`, `a` "
           "DESC),\n  KEY `tn` (`n`, `a` DESC)\n) WITH (TTL = '-1', VERSIONS = '1')");
    expect(b, "create index tx on t (hash32(a), s, a)",
           "!9001 The hashed columns are the first ones of the key, in its order: (hash32(a), a, "
           "b)");
    expect(b,
           "select SEQ_IN_INDEX, COLUMN_NAME, COLLATION from information_schema.STATISTICS where "
           "INDEX_NAME = 'ta'",
           "SEQ_IN_INDEX,COLUMN_NAME,COLLATION|1,a,D|2,s,A");
}

#define SAY(b, a, answer, ...) expect(b, arena_printf(a, __VA_ARGS__).ptr, answer)

static const struct indexed_type {
    const char *type, *values[3]; /* ascending, as literals */
} indexed_types[] = {
    {"boolean", {"false", "true", "true"}},
    {"tinyint", {"-128", "0", "127"}},
    {"smallint", {"-32768", "-1", "32767"}},
    {"int", {"-2147483648", "-7", "2147483647"}},
    {"bigint unsigned", {"0", "9223372036854775807", "18446744073709551615"}},
    {"float", {"-1.5", "-0.25", "1024.5"}},
    {"double", {"-1e300", "0.1", "3"}},
    {"decimal(10, 2)", {"-12.50", "0.01", "99999999.99"}},
    {"char(4)", {"'a'", "'ab'", "'b'"}},
    {"binary(3)", {"x'00'", "x'0001'", "x'ff'"}},
    {"varbinary", {"x''", "x'00'", "x'0001'"}},
    {"date", {"'1969-12-31'", "'1970-01-01'", "'2024-02-29'"}},
    {"time", {"'00:00:00'", "'00:00:00.001'", "'23:59:59.999'"}},
    {"timestamp", {"'1969-12-31 23:59:59'", "'1970-01-01'", "'2024-02-29 03:04:05.678'"}},
};

static void check_index(struct bed *b, struct arena *a, const struct indexed_type *t,
                        const char *index)
{
    const char *const *v = t->values;
    bool two = strcmp(v[1], v[2]) == 0;

    SAY(b, a, "k|2", "select /*+ _l_force_index_(%s) */ k from t where c = %s order by k limit 1",
        index, v[0]);
    SAY(b, a, two ? "k|2" : "k|2|3",
        "select /*+ _l_force_index_(%s) */ k from t where c < %s order by c, k", index, v[2]);
    SAY(b, a, "n,k|1,1|3,3",
        "select /*+ _l_force_index_(%s) */ n, k from t where c >= %s order by c desc, k", index,
        v[1]);
}

static void check_index_type(struct bed *b, struct arena *a, const struct indexed_type *t)
{
    const char *const *v = t->values;

    SAY(b, a, "0",
        "create table t (k bigint, c %s, n bigint, primary key (k), index tc (c), index td (c "
        "desc) include (n))",
        t->type);
    SAY(b, a, "4",
        "insert into t (k, c, n) values (1, %s, 1), (2, %s, 2), (3, %s, 3), (4, null, 4)", v[2],
        v[0], v[1]);
    check_index(b, a, t, "tc");
    check_index(b, a, t, "td");
    SAY(b, a, "0", "create table k (c %s, n bigint, v bigint, primary key (c, n))", t->type);
    SAY(b, a, "3", "insert into k (c, n, v) values (%s, 1, 1), (%s, 2, 2), (%s, 3, 3)", v[2], v[0],
        v[1]);
    SAY(b, a, "n|2", "select n from k where c = %s order by n limit 1", v[0]);
    SAY(b, a, "n|1|3", "select n from k where c >= %s order by c desc, n", v[1]);
    SAY(b, a, "0", "drop table k");
    SAY(b, a, "0", "create index ts on t (c, n) sync");
    SAY(b, a, "k|3", "select /*+ _l_force_index_(ts) */ k from t where c = %s and n = 3", v[1]);
    SAY(b, a, "1", "update t set c = %s where k = 2", v[1]);
    SAY(b, a, "1", "update t set c = null where k = 1");
    SAY(b, a, "k|2|3", "select k from t where c >= %s order by k", v[0]);
    SAY(b, a, "k", "select k from t where c = %s", v[0]);
    SAY(b, a, "0", "truncate table t");
    SAY(b, a, "0", "drop table t");
}

/* Each type that a key can have, as an index's key: rows are found by their values and by bounds,
 * NULL has no entry, and what a row had before does not find it. */
static void test_index_types(void **state)
{
    struct bed *b = *state;
    struct arena a;

    arena_init(&a, NULL, 0);
    for (size_t i = 0; i < PORT_COUNT(indexed_types); i++)
        check_index_type(b, &a, &indexed_types[i]);
    arena_release(&a);
    expect(b, "create table j (k bigint, j json, primary key (k))", "0");
    expect(
        b, "create index ij on j (j)",
        "!9001 Column 'j' of index 'ij' is JSON, which no key can have: keep what rows are found "
        "by in a column of another type");
    /* The nearest FLOAT is above 0.1. */
    expect(b, "create table f (k bigint, c float, primary key (k), index fc (c))", "0");
    expect(b, "insert into f (k, c) values (1, 0.1), (2, 0.3)", "2");
    expect(b, "select /*+ _l_ignore_index_, _l_allow_filtering_ */ k from f where c > 0.1",
           "k|1|2");
    expect(b, "select /*+ _l_force_index_(fc) */ k from f where c > 0.1 order by k", "k|1|2");
}

static void index_of_later_writes(struct bed *b)
{
    struct wr_request request = {WR_REQUEST(CREATE_INDEX), .instance = BYTES_LIT("inst")};
    bytes column = BYTES_LIT("s");
    struct wr_reply *reply;

    request.create_index.table = BYTES_LIT("t");
    request.create_index.index = (struct wr_index_meta){
        .name = BYTES_LIT("later"), .key_columns = &column, .key_column_count = 1};
    reply = wr_exec(b->db, &request);
    assert_int_equal(reply->code, 0);
    wr_reply_free(reply);
}

/* Nobody is told less than there is. */
static void test_partial_index(void **state)
{
    struct bed *b = *state;

    fill(b);
    index_of_later_writes(b);
    expect(
        b, "select n from t where s = 's1' and v < 5",
        "!9001 Detect inefficient query: select n from t where s = 's1' and v < 5 This query may "
        "be a full table scan and thus may have unpredictable performance. Add a bound on the "
        "first key column 'host', or create index 'later' anew, for it has no entry of rows from "
        "before it, or permit it with the hint /*+ _l_allow_filtering_ */ (mariadb sends it with "
        "--comments)");
    expect(b, "upsert into t (host, n, s) values ('h1', 1, 's1')", "1");
    expect(b, "select /*+ _l_force_index_(later) */ n from t where s = 's1'", "n|1");
}

/* A grant may be taken away while a statement runs: each page asks, by indexes as well. */
static void test_status(void **state)
{
    struct bed *b = *state;

    fill(b);
    expect(b, "show status like '%last%'",
           "Variable_name,Value|Widerow_last_read_units,0|Widerow_last_write_units,1");
    expect(b, "select v from t where host = 'h1' and n = 2", "v|12.5");
    expect(b, "show session status like 'Widerow_%'",
           "Variable_name,Value|Widerow_last_read_units,1|Widerow_last_write_units,0|"
           "Widerow_read_units,1|Widerow_write_units,30");
    expect(b, "insert into t (host, n, v) values ('a', 1, 1), ('a', 2, 2)", "2");
    expect(b, "show status like '%last_write%'", "Variable_name,Value|Widerow_last_write_units,2");
    expect(b, "delete from t where host = 'a' and n = 1", "1");
    expect(b, "show status like '%last_write%'", "Variable_name,Value|Widerow_last_write_units,1");
    expect(b, "show status like 'Widerow\\_last\\_w%'",
           "Variable_name,Value|Widerow_last_write_units,1");
    expect(b, "show status like 'Widerow\\_las\\_%'", "Variable_name,Value");
}

static void test_grants(void **state)
{
    struct bed *b = *state;

    expect(b, "create table closed (k varchar, v varchar, primary key (k), index closed_v (v))",
           "0");
    expect(b, "insert into closed (k, v) values ('a', 'b')", "1");
    expect(b, "select k from closed where k > ''",
           "!1142 the access key may not read the table closed any more");
    expect(b, "select v from closed where v = 'b'",
           "!1142 the access key may not read the table closed any more");
    expect(b, "select v from closed where k = 'a'", "v|b");
}

static void test_parameters(void **state)
{
    struct wr_value values[] = {{.type = WR_VARCHAR, .bytes = BYTES_LIT("h1")},
                                {.type = WR_BIGINT, .integer = 4}};
    struct bed *b = *state;

    fill(b);
    expect_with(b, "select v from t where host = ? and n = ?", values, 2, "v|14.5");
    expect_with(b, "select v from t where host = ? and n > ? limit 2", values, 2, "v|19.5|18.5");
    expect_with(b, "select ?, ?", values, 2, "?,?|h1,4");
    expect_with(b, "select ?", values, 2,
                "!9001 The statement has another number of question marks than values were given");
}

static void test_information(void **state)
{
    struct bed *b = *state;

    expect(b,
           "create table a1 (k int, v decimal(5,1), primary key (k)) with (ttl = '86400', versions "
           "= '3')",
           "0");
    expect(b, "create table b1 (k char(3) primary key, v json)", "0");
    expect(b, "show tables", "Tables_in_inst|a1|b1");
    expect(b, "show tables like 'a%'", "Tables_in_inst|a1");
    expect(b, "show databases", "Database|information_schema|inst");
    expect(b, "describe b1",
           "TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,TYPE,IS_PRIMARY_KEY,SORT_ORDER|inst,b1,k,CHAR(3),"
           "true,ASC|inst,b1,v,JSON,false,none");
    expect(b, "show create table a1",
           "Table,Create Table|a1,CREATE TABLE `a1` (\n  `k` integer NOT NULL,\n  `v` "
           "decimal(5,1),\n  "
           "PRIMARY KEY (`k`)\n) WITH (TTL = '86400', VERSIONS = '3')");
    expect(b, "use other", "0");
    expect(b, "show tables", "Tables_in_other");
    expect(b, "select count(*) from inst.a1", "count(*)|0");
    expect(b, "select * from a1", "!1146 Table 'other.a1' doesn't exist");
}

/* What drivers and tools ask. */
static void test_information_schema(void **state)
{
    static const char *const cases[][2] = {
        {"select schema_name from information_schema.schemata",
         "schema_name|inst|information_schema"},
        {"select TABLE_NAME, TABLE_TYPE, ENGINE from INFORMATION_SCHEMA.TABLES where TABLE_SCHEMA "
         "= "
         "'inst' order by TABLE_NAME",
         "TABLE_NAME,TABLE_TYPE,ENGINE|a,BASE TABLE,Widerow|b,BASE TABLE,Widerow"},
        {"select count(*) from information_schema.TABLES where TABLE_SCHEMA = 'other'",
         "count(*)|0"},
        {"select c.column_name, data_type, column_type, column_key, is_nullable, "
         "character_maximum_length, numeric_precision, numeric_scale from "
         "information_schema.columns "
         "c where table_name = 'a' order by ordinal_position",
         "column_name,data_type,column_type,column_key,is_nullable,character_maximum_length,"
         "numeric_"
         "precision,numeric_scale|k,varchar,varchar(2097152),PRI,NO,2097152,NULL,NULL|n,bigint,"
         "bigint,"
         "PRI,NO,NULL,19,0|d,decimal,decimal(10,2),,YES,NULL,10,2|s,varchar,varchar(2097152),MUL,"
         "YES,"
         "2097152,NULL,NULL|b,tinyint,tinyint(1),,YES,NULL,3,0"},
        {"select INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE, COLLATION from "
         "information_schema.STATISTICS where TABLE_NAME = 'a' order by NON_UNIQUE, SEQ_IN_INDEX",
         "INDEX_NAME,SEQ_IN_INDEX,COLUMN_NAME,NON_UNIQUE,COLLATION|PRIMARY,1,k,0,A|PRIMARY,2,n,0,D|"
         "a_s,"
         "1,s,1,A"},
        {"select CONSTRAINT_NAME, COLUMN_NAME from information_schema.KEY_COLUMN_USAGE where "
         "TABLE_NAME = 'b'",
         "CONSTRAINT_NAME,COLUMN_NAME|PRIMARY,k"},
        {"select count(*) from information_schema.VIEWS", "count(*)|0"},
        {"select WORD from information_schema.KEYWORDS where RESERVED = 1 and WORD like 'UP%'",
         "WORD|UPDATE|UPSERT"},
        {"select * from information_schema.NOSUCH",
         "!1146 Table 'information_schema.NOSUCH' doesn't exist"},
        {"select nosuch from information_schema.TABLES",
         "!1054 Unknown column 'nosuch' in 'field list'"},
        {"insert into information_schema.TABLES (TABLE_NAME) values ('x')",
         "!1049 Unknown database 'information_schema': the access key is not for this instance"},
        {"show full tables from inst like 'a%'", "Tables_in_inst,Table_type|a,BASE TABLE"},
        {"show columns from b",
         "Field,Type,Null,Key,Default,Extra|k,char(3),NO,PRI,NULL,|v,json,YES,,NULL,"},
        {"show full columns from b like 'v'", "Field,Type,Collation,Null,Key,Default,Extra,"
                                              "Privileges,Comment|v,json,NULL,YES,,NULL,,select,"
                                              "insert,update,"},
        {"show columns from nosuch", "!1146 Table 'inst.nosuch' doesn't exist"},
        {"show keys from b",
         "Table,Non_unique,Key_name,Seq_in_index,Column_name,Collation,Cardinality,Sub_part,Packed,"
         "Null,"
         "Index_type,Comment,Index_comment|b,0,PRIMARY,1,k,A,NULL,NULL,NULL,,BTREE,,"},
        {"show processlist", "Id,User,Host,db,Command,Time,State,Info"},
        {"show engines",
         "Engine,Support,Comment,Transactions,XA,Savepoints|Widerow,DEFAULT,Wide tables,NO,NO,NO"},
        {"show databases like 'in%t'", "Database|inst"},
        {"kill 5", "!1094 Unknown thread id: 5: SHOW PROCESSLIST tells those of your access key"},
        {"kill query 'x'", "!9001 KILL [QUERY] takes the number of a connection"},
    };
    struct bed *b = *state;

    expect(
        b,
        "create table a (k varchar, n bigint, d decimal(10,2), s varchar, b boolean, primary key "
        "(k, n desc), index a_s (s))",
        "0");
    expect(b, "create table b (k char(3) primary key, v json)", "0");
    for (size_t i = 0; i < PORT_COUNT(cases); i++)
        expect(b, cases[i][0], cases[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_layouts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ranges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_aggregates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shown_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_warnings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_passed_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_user_variables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_indexes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ordered_indexes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_index_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_partial_index, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_explain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_status, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parameters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_information, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_information_schema, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
