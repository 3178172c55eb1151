#include "record/record.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

static struct clock clock_;
static struct ctx c;
static struct record_reader reader;

/* Opens a text by way of a pipe or, if it is large, a file without a name. */
static int open_bytes(const char *text, size_t len, const char *format)
{
    FILE *f = tmpfile();
    int fd, code;

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    rewind(f);
    fd = dup(fileno(f));
    fclose(f);
    clock_real_init(&clock_);
    ctx_init(&c, &clock_, NULL, NULL, 0);
    code = record_open_fd(&c, &reader, fd, "the file", &(struct record_form){format, NULL});
    return code;
}

static void open_text(const char *text)
{
    assert_int_equal(open_bytes(text, strlen(text), NULL), 0);
}

static void close_text(void)
{
    record_release(&reader);
    ctx_release(&c);
}

/* The next record's fields joined by '|'; absent ones are '-', quoted ones in brackets. */
static void expect(const char *joined, uint64_t line)
{
    char got[512] = "";
    size_t len = 0;

    assert_int_equal(record_next(&reader), RECORD_OK);
    for (size_t i = 0; i < reader.column_count; i++) {
        const struct csv_field *f = &reader.fields[i];

        len += (size_t)snprintf(got + len, sizeof(got) - len,
                                !f->text.ptr ? "%s-%.*s"
                                : f->quoted  ? "%s[%.*s]"
                                             : "%s%.*s",
                                i ? "|" : "", BYTES_FMT(f->text));
    }
    assert_string_equal(got, joined);
    assert_int_equal(reader.line, line);
}

static void expect_bad(const char *part, uint64_t line)
{
    assert_int_equal(record_next(&reader), RECORD_BAD);
    if (!strstr(reader.message, part))
        fail_msg("'%s' does not say '%s'", reader.message, part);
    assert_int_equal(reader.line, line);
}

static void test_csv(void **state)
{
    (void)state;
    open_text("\xEF\xBB\xBF"
              "a,b,c\r\n1,2,3\r\n\n4,,6\n\"x,\"\"y\",\"\",\"two\nlines\"\n7,8,9");
    assert_int_equal(reader.format, RECORD_CSV);
    assert_int_equal(reader.column_count, 3);
    expect("1|2|3", 2);
    expect("4|-|6", 4);
    expect("[x,\"y]|[]|[two\nlines]", 5);
    expect("7|8|9", 7);
    assert_int_equal(record_next(&reader), RECORD_END);
    close_text();
}

static void test_csv_bad_lines_cost_themselves_alone(void **state)
{
    (void)state;
    open_text("a,b\n1\n1,2,3\n1,2\nx\"y,2\n3,4\n\"p\"q,5\n5,6\n\"never closed,1\n7,8\n");
    expect_bad("1 fields, the header has 2", 2);
    expect_bad("3 fields", 3);
    expect("1|2", 4);
    expect_bad("a quote inside a field", 5);
    expect("3|4", 6);
    expect_bad("behind a closing quote", 7);
    expect("5|6", 8);
    expect_bad("never closed", 9);
    expect("7|8", 10);
    assert_int_equal(record_next(&reader), RECORD_END);
    close_text();
}

static void test_csv_headers(void **state)
{
    (void)state;
    assert_int_not_equal(open_bytes("", 0, NULL), 0);
    assert_non_null(strstr(c.text, "empty"));
    close_text();
    assert_int_not_equal(open_bytes("a,,b\n", 5, NULL), 0);
    assert_non_null(strstr(c.text, "no name"));
    close_text();
    assert_int_not_equal(open_bytes("a,b,a\n", 6, NULL), 0);
    assert_non_null(strstr(c.text, "two columns a"));
    close_text();
    assert_int_not_equal(open_bytes("a,b\n", 4, "xml"), 0);
    assert_non_null(strstr(c.text, "csv, jsonl or dynamodb"));
    close_text();
}

static void test_jsonl(void **state)
{
    (void)state;
    open_text("{\"a\": 1, \"b\": \"x\\n\\u00e9\\ud83d\\ude00\\\"\"}\n"
              "{\"b\":\"y\",\"a\":-2.5e3}\n"
              "{\"c\":[1,{\"d\":\"]}\"}],\"a\":null,\"b\":true}\n"
              "{}\n");
    assert_int_equal(reader.format, RECORD_JSONL);
    expect("1|[x\n\xC3\xA9\xF0\x9F\x98\x80\"]", 1);
    expect("-2.5e3|[y]", 2);
    expect("-|true|[1,{\"d\":\"]}\"}]", 3);
    expect("-|-|-", 4);
    assert_int_equal(record_next(&reader), RECORD_END);
    close_text();
}

static void test_jsonl_bad_lines(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[1]",        "{\"a\"}",     "{\"a\":}",        "{\"a\":1",
        "{\"a\":1}x", "{\"a\":\"x}", "{\"a\":\"\\x\"}", "{\"a\":\"\\ud800\"}",
        "{\"a\":[1}", "{a:1}",       "{\"a\":nope!"};

    for (size_t i = 0; i < PORT_COUNT(bad); i++) {
        char text[128];

        snprintf(text, sizeof(text), "{\"a\":0}\n%s\n{\"a\":2}\n", bad[i]);
        open_text(text);
        expect("0", 1);
        expect_bad("", 2);
        expect("2", 3);
        close_text();
    }
}

/* Records that cross the ends of the read buffer. */
static void test_long_files(void **state)
{
    (void)state;
    enum { RECORDS = 150000 };
    char *text = mem_alloc(RECORDS * 40);
    size_t len = (size_t)sprintf(text, "n,quoted\n");

    for (int i = 0; i < RECORDS; i++)
        len +=
            (size_t)sprintf(text + len, i % 3 ? "%d,\"a \"\"%d\"\"\n\"\n" : "%d,plain%d\n", i, i);
    assert_int_equal(open_bytes(text, len, NULL), 0);
    for (int i = 0; i < RECORDS; i++) {
        char number[16];

        assert_int_equal(record_next(&reader), RECORD_OK);
        snprintf(number, sizeof(number), "%d", i);
        assert_true(bytes_equal(reader.fields[0].text, bytes_str(number)));
        assert_int_equal(reader.fields[1].quoted, i % 3 != 0);
    }
    assert_int_equal(record_next(&reader), RECORD_END);
    assert_int_equal(reader.offset + 0, len);
    close_text();
    mem_free(text);
}

/* Many binaries, which all become longer than they are written. */
static void test_dynamodb(void **state)
{
    (void)state;
    open_text("{ \"Item\" : { \"a\" : { \"B\" : \"\" }, "
              "\"b\":{\"B\":\"AA==\"},\"c\":{\"B\":\"\"},\"d\":{\"N\":"
              "\"5\"}}}\n"
              "{\"Item\":{\"d\":{\"S\":\"5\"},\"e\":{\"NS\":[\"1\"]},\"b\":{\"NULL\":true}}}\n"
              "{\"Item\":{}}\n");
    assert_true(reader.dynamodb);
    expect("{\"base64\":\"\"}|{\"base64\":\"AA==\"}|{\"base64\":\"\"}|5", 1);
    expect("-|-|-|[5]|{\"NS\":[\"1\"]}", 2);
    expect("-|-|-|-|-", 3);
    assert_int_equal(record_next(&reader), RECORD_END);
    close_text();
    open_text("{\"Item\":{\"a\":{\"T\":1}}}\n");
    assert_false(reader.dynamodb);
    close_text();
    open_text("{\"Item\":{\"a\":{\"S");
    assert_false(reader.dynamodb);
    close_text();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dynamodb),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_bad_lines_cost_themselves_alone),
        cmocka_unit_test(test_csv_headers),
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_jsonl_bad_lines),
        cmocka_unit_test(test_long_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
