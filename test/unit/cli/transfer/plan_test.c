#include "cli/transfer/plan.h"

#include "cli/console/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../context.h"

static struct plan plan;

/* A record of the words in `text`; "''" stands for a quoted field with nothing in it. */
static struct csv_record record(const char *text)
{
    struct csv_field *fields = ARENA_ARRAY(&c.arena, struct csv_field, 16);
    struct csv_record r = {.fields = fields, .line = 7, .size = strlen(text)};

    for (const char *p = text;;) {
        size_t n = strcspn(p, ",");

        fields[r.count].quoted = n == 2 && p[0] == '\'';
        fields[r.count].text = bytes_of(p, fields[r.count].quoted ? 0 : n);
        r.count++;
        if (!p[n])
            return r;
        p += n + 1;
    }
}

static int parse(const char *header, const char *keys, const char *columns)
{
    struct csv_record h = record(header);

    ctx_clear(&c);
    return plan_parse(&c, &plan, &h, keys, columns);
}

static void expect_failure(const char *part)
{
    assert_int_equal(c.code, WR_E_PARAMETER);
    if (!strstr(c.text, part))
        fail_msg("'%s' is not in '%s'", part, c.text);
}

static void expect_column(const struct plan_column *column, const char *name, enum wr_type type)
{
    assert_int_equal(column->name.len, strlen(name));
    assert_memory_equal(column->name.ptr, name, strlen(name));
    assert_int_equal(column->type, type);
}

static void test_words(void **state)
{
    (void)state;
    assert_int_equal(parse("a,b,c,d", "c:integer,a", "d:double"), 0);
    assert_int_equal(plan.key_count, 2);
    expect_column(&plan.keys[0], "c", WR_BIGINT);
    assert_int_equal(plan.keys[0].field, 2);
    expect_column(&plan.keys[1], "a", PLAN_TYPE_OPEN);
    assert_int_equal(plan.column_count, 1);
    expect_column(&plan.columns[0], "d", WR_DOUBLE);

    assert_int_equal(parse("a,b,c,d", "c", NULL), 0);
    assert_int_equal(plan.column_count, 3);

    assert_true(parse("amount,b", "amuont", NULL) != 0);
    expect_failure("did you mean 'amount'");
    assert_true(parse("a,b", "a:double", NULL) != 0);
    expect_failure("no type of a key column");
    assert_true(parse("a,b", "a,a", NULL) != 0);
    expect_failure("twice");
    assert_true(parse("a,b", "a", "a") != 0);
    expect_failure("key column too");
    assert_true(parse("a,a", "a", NULL) != 0);
    expect_failure("two columns 'a'");
    assert_true(parse("a,,b", "a", NULL) != 0);
    expect_failure("has no name");
    assert_true(parse("a,b", "a:", NULL) != 0);
    assert_true(parse("a,b", "a,", NULL) != 0);
    assert_true(parse("a,b,c,d,e,f,g,h,i,j,k", "a,b,c,d,e,f,g,h,i,j,k", NULL) != 0);
    expect_failure("at most 10");
}

static void test_schema(void **state)
{
    struct wr_key_schema schema[2] = {{.name = BYTES_LIT("a"), .type = WR_VARCHAR},
                                      {.name = BYTES_LIT("b"), .type = WR_BIGINT}};

    (void)state;
    assert_int_equal(parse("x,b,a", NULL, NULL), 0);
    assert_int_equal(plan_use_schema(&c, &plan, schema, 2), 0);
    assert_int_equal(plan.key_count, 2);
    expect_column(&plan.keys[0], "a", WR_VARCHAR);
    assert_int_equal(plan.keys[0].field, 2);
    assert_int_equal(plan.column_count, 1);
    expect_column(&plan.columns[0], "x", PLAN_TYPE_OPEN);

    assert_int_equal(parse("a,b", "a,b:string", NULL), 0);
    assert_true(plan_use_schema(&c, &plan, schema, 2) != 0);
    expect_failure("is of type integer, not string");
    assert_int_equal(parse("a,b", "b,a", NULL), 0);
    assert_true(plan_use_schema(&c, &plan, schema, 2) != 0);
    expect_failure("key column 1 of the table is 'a', not 'b'");
    assert_int_equal(parse("a,b", "a", NULL), 0);
    assert_true(plan_use_schema(&c, &plan, schema, 2) != 0);
    expect_failure("--key names 1");
    assert_int_equal(parse("a,c", NULL, NULL), 0);
    assert_true(plan_use_schema(&c, &plan, schema, 2) != 0);
    expect_failure("no column 'b'");
    assert_int_equal(parse("a,b,c", NULL, "b"), 0);
    assert_true(plan_use_schema(&c, &plan, schema, 2) != 0);
    expect_failure("cannot be among --columns");
    schema[1].auto_increment = true;
    assert_int_equal(parse("a,b", NULL, NULL), 0);
    assert_true(plan_use_schema(&c, &plan, schema, 2) != 0);
    expect_failure("numbered by the server");
}

static void test_defined_columns(void **state)
{
    const struct wr_defined_column defined[] = {{BYTES_LIT("said"), WR_DOUBLE},
                                                {BYTES_LIT("open"), WR_DOUBLE},
                                                {BYTES_LIT("headed"), WR_DOUBLE},
                                                {BYTES_LIT("absent"), WR_VARCHAR}};

    (void)state;
    assert_int_equal(parse("k,said,open,headed:integer,free", "k", "said:string,open,headed,free"),
                     0);
    plan_use_defined(&plan, defined, 4);
    expect_column(&plan.columns[0], "said", WR_VARCHAR);
    expect_column(&plan.columns[1], "open", WR_DOUBLE);
    expect_column(&plan.columns[2], "headed", PLAN_TYPE_OPEN);
    expect_column(&plan.columns[3], "free", PLAN_TYPE_OPEN);

    assert_int_equal(parse("k,open", "k", NULL), 0);
    plan.json = true; /* values say what they are */
    plan_use_defined(&plan, defined, 4);
    expect_column(&plan.columns[0], "open", PLAN_TYPE_OPEN);
}

static void guess(const char *header, const char *keys, const char *first, const char *second)
{
    struct csv_record r;

    assert_int_equal(parse(header, keys, NULL), 0);
    r = record(first);
    plan_guess(&plan, &r);
    r = record(second);
    plan_guess(&plan, &r);
    plan_guess_end(&plan);
}

static void test_guess(void **state)
{
    (void)state;
    guess("k,i,d,b,s,z,e,n", "k", "1,-5,1.5,true,x,007,,0", "2,,2e3,false,1,008,,0.5");
    expect_column(&plan.keys[0], "k", WR_BIGINT);
    expect_column(&plan.columns[0], "i", WR_BIGINT);
    expect_column(&plan.columns[1], "d", WR_DOUBLE);
    expect_column(&plan.columns[2], "b", WR_BOOLEAN);
    expect_column(&plan.columns[3], "s", WR_VARCHAR);
    expect_column(&plan.columns[4], "z", WR_VARCHAR);
    expect_column(&plan.columns[5], "e", WR_VARCHAR);
    expect_column(&plan.columns[6], "n", WR_DOUBLE);
    guess("k", "k", "1.5", "2");
    expect_column(&plan.keys[0], "k", WR_VARCHAR);
    guess("k", "k", "9223372036854775807", "-9223372036854775808");
    expect_column(&plan.keys[0], "k", WR_BIGINT);
    guess("k", "k", "9223372036854775808", "1");
    expect_column(&plan.keys[0], "k", WR_VARCHAR);
}

static void test_values(void **state)
{
    static const char *const no_integers[] = {"",   "-",  "1.0", "9223372036854775808",
                                              "+1", " 1", "x",   "-9223372036854775809"};
    static const char *const no_doubles[] = {"",      "nan",   "inf", "0x1p3",
                                             "1e999", "1.5.2", " 1",  "-"};
    struct wr_value v;

    (void)state;
    assert_true(value_of_text(BYTES_LIT("-9223372036854775808"), WR_BIGINT, &v));
    assert_true(v.integer == INT64_MIN);
    assert_true(value_of_text(BYTES_LIT("9223372036854775807"), WR_BIGINT, &v));
    assert_true(v.integer == INT64_MAX);
    assert_true(value_of_text(BYTES_LIT("007"), WR_BIGINT, &v));
    assert_int_equal(v.integer, 7);
    for (size_t i = 0; i < PORT_COUNT(no_integers); i++)
        assert_false(value_of_text(bytes_str(no_integers[i]), WR_BIGINT, &v));
    assert_true(value_of_text(BYTES_LIT("-2.5e-3"), WR_DOUBLE, &v));
    assert_true(v.real == -2.5e-3);
    for (size_t i = 0; i < PORT_COUNT(no_doubles); i++)
        assert_false(value_of_text(bytes_str(no_doubles[i]), WR_DOUBLE, &v));
    assert_true(value_of_text(BYTES_LIT("true"), WR_BOOLEAN, &v) && v.boolean);
    assert_true(value_of_text(BYTES_LIT("false"), WR_BOOLEAN, &v) && !v.boolean);
    assert_false(value_of_text(BYTES_LIT("TRUE"), WR_BOOLEAN, &v));
    assert_false(value_of_text(BYTES_LIT("\xff"), WR_VARCHAR, &v));
    assert_true(value_of_text(BYTES_LIT("\xff"), WR_VARBINARY, &v));
}

static void test_rows(void **state)
{
    struct csv_record r = record("12,x,,''");
    struct import_row *row;
    char message[200];

    (void)state;
    assert_int_equal(parse("n,s,e,q", "s:string,n:integer", "e:string,q:string"), 0);
    row = plan_row(&plan, &r, message, sizeof(message));
    assert_non_null(row);
    assert_int_equal(row->line, 7);
    assert_int_equal(row->source_bytes, 8);
    assert_int_equal(row->values[0].type, WR_VARCHAR);
    assert_memory_equal(row->values[0].bytes.ptr, "x", 1);
    assert_int_equal(row->values[1].integer, 12);
    assert_int_equal(row->values[2].type, WR_NULL);
    assert_int_equal(row->values[3].type, WR_VARCHAR);
    assert_int_equal(row->values[3].bytes.len, 0);
    assert_int_equal(row->bytes, 2 + 9 + 1);
    mem_free(row);

    r = record("12x,x,,");
    assert_null(plan_row(&plan, &r, message, sizeof(message)));
    assert_string_equal(message, "column n: '12x' is no integer");
    r = record(",x,,");
    assert_null(plan_row(&plan, &r, message, sizeof(message)));
    r = record("1,x,");
    assert_null(plan_row(&plan, &r, message, sizeof(message)));
    assert_string_equal(message, "3 fields, the header has 4");
}

/* A field with nothing in it is no key; two quotes are an empty text, unless quotes say nothing in
 * this file. */
static void test_empty_keys(void **state)
{
    struct csv_record r, header = record("s,e");
    struct csv_field quoted[2];
    struct import_row *row;
    char message[200];

    (void)state;
    assert_int_equal(parse("s,e", "s:string", "e:string"), 0);
    r = record(",x");
    assert_null(plan_row(&plan, &r, message, sizeof(message)));
    assert_non_null(strstr(message, "key column s: there is no value"));
    r = record("'',x");
    row = plan_row(&plan, &r, message, sizeof(message));
    assert_non_null(row);
    mem_free(row);
    for (size_t i = 0; i < 2; i++)
        quoted[i] = (struct csv_field){header.fields[i].text, true};
    header.fields = quoted;
    ctx_clear(&c);
    assert_int_equal(plan_parse(&c, &plan, &header, "s:string", "e:string"), 0);
    assert_null(plan_row(&plan, &r, message, sizeof(message)));
    assert_non_null(strstr(message, "key column s: there is no value"));
}

/* A line of JSON: texts in quotes, all else as it is written. */
static void test_any(void **state)
{
    static const enum wr_type types[] = {WR_VARCHAR, WR_BIGINT, WR_DOUBLE, WR_BOOLEAN,
                                         WR_VARBINARY};
    struct csv_field fields[] = {
        {BYTES_LIT("1"), false},     {BYTES_LIT("5"), true},
        {BYTES_LIT("5"), false},     {BYTES_LIT("5.0"), false},
        {BYTES_LIT("false"), false}, {BYTES_LIT("{\"binary\":\"00ff\"}"), false}};
    struct import_row *row;
    char message[200];

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(types); i++) {
        struct csv_field pair[2] = {fields[0], fields[i + 1]};
        struct csv_record r = {.fields = pair, .count = 2, .size = 64};

        assert_int_equal(parse("k,v", "k:integer", "v:any"), 0);
        plan.json = true;
        row = plan_row(&plan, &r, message, sizeof(message));
        assert_non_null(row);
        assert_int_equal(row->values[1].type, types[i]);
        mem_free(row);
    }
    /* Guessed where texts and numbers, or integers and doubles, stand in one column. */
    for (size_t mixed = 0; mixed < 2; mixed++) {
        struct csv_field one[2] = {fields[0], fields[mixed ? 1 : 2]},
                         two[2] = {fields[0], fields[3]};
        struct csv_record first = {.fields = one, .count = 2}, second = {.fields = two, .count = 2};

        assert_int_equal(parse("k,v", "k:integer", NULL), 0);
        plan.json = true;
        plan_guess(&plan, &first);
        plan_guess(&plan, &second);
        plan_guess_end(&plan);
        assert_true(plan.columns[0].any);
        assert_string_equal(plan_column_type(&plan.columns[0]), "any");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),           cmocka_unit_test(test_schema),
        cmocka_unit_test(test_defined_columns), cmocka_unit_test(test_guess),
        cmocka_unit_test(test_values),          cmocka_unit_test(test_rows),
        cmocka_unit_test(test_empty_keys),      cmocka_unit_test(test_any),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
