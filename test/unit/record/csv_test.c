#include "record/csv.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <errno.h>

#include <cmocka.h>

/* A file in memory, handed out `step` bytes at a time. */
struct text {
    const char *at;
    size_t left, step;
    bool broken;
};

static ssize_t text_read(void *arg, void *buf, size_t n)
{
    struct text *t = arg;

    if (t->broken && t->left == 0) {
        errno = EIO;
        return -1;
    }
    if (n > t->step)
        n = t->step;
    if (n > t->left)
        n = t->left;
    memcpy(buf, t->at, n);
    t->at += n;
    t->left -= n;
    return (ssize_t)n;
}

static struct csv csv;
static struct text text;

static void open_text(const char *s, size_t step)
{
    text = (struct text){s, strlen(s), step, false};
    csv_init(&csv, text_read, &text);
}

/* Asserts that the next record has these fields, joined by '|'; quoted ones in brackets. */
static void expect(const char *joined, uint64_t line)
{
    struct csv_record r;
    char got[512] = "";
    size_t len = 0;

    assert_int_equal(csv_next(&csv, &r), CSV_RECORD);
    for (size_t i = 0; i < r.count; i++)
        len += (size_t)snprintf(got + len, sizeof(got) - len,
                                r.fields[i].quoted ? "%s[%.*s]" : "%s%.*s", i ? "|" : "",
                                (int)r.fields[i].text.len, (const char *)r.fields[i].text.ptr);
    assert_string_equal(got, joined);
    assert_int_equal(r.line, line);
}

static void expect_bad(const char *part, uint64_t line)
{
    struct csv_record r;

    assert_int_equal(csv_next(&csv, &r), CSV_BAD);
    assert_non_null(strstr(csv.message, part));
    assert_int_equal(r.line, line);
}

static void expect_end(void)
{
    struct csv_record r;

    assert_int_equal(csv_next(&csv, &r), CSV_END);
    assert_int_equal(csv_next(&csv, &r), CSV_END);
    csv_release(&csv);
}

static void test_plain(void **state)
{
    (void)state;
    for (size_t step = 1; step < 30; step++) {
        open_text("a,b,c\r\n1,,3\n\n\r\n,\nlast", step);
        expect("a|b|c", 1);
        expect("1||3", 2);
        expect("|", 5);
        expect("last", 6);
        expect_end();
    }
}

static void test_quotes(void **state)
{
    (void)state;
    for (size_t step = 1; step < 40; step++) {
        open_text("\"a\",\"b,b\",\"\"\n\"say \"\"hi\"\"\",\"two\nlines\r\n\"\n\"\"\"\"\nend,\"\"",
                  step);
        expect("[a]|[b,b]|[]", 1);
        expect("[say \"hi\"]|[two\nlines\r\n]", 2);
        expect("[\"]", 5);
        expect("end|[]", 6);
        expect_end();
    }
}

static void test_mark(void **state)
{
    (void)state;
    for (size_t step = 1; step < 8; step++) {
        open_text("\xEF\xBB\xBF"
                  "a,b\n1,2\n",
                  step);
        expect("a|b", 1);
        expect("1|2", 2);
        expect_end();
    }
}

static void test_empty(void **state)
{
    (void)state;
    open_text("", 10);
    expect_end();
    open_text("\n\n", 10);
    expect_end();
}

/* A misplaced quote spoils its own record only. */
static void test_bad(void **state)
{
    (void)state;
    open_text("ok,1\na\"b,2\n\"x\"y,3\nfine,4\n\"open,5\nfine,6\n", 7);
    expect("ok|1", 1);
    expect_bad("does not begin", 2);
    expect_bad("closing quote", 3);
    expect("fine|4", 4);
    expect_bad("never closed", 5);
    expect_end();
}

static void test_position(void **state)
{
    struct csv_record r;

    (void)state;
    open_text("a,b\r\n\n\"x\ny\",1\nz,2", 3);
    assert_int_equal(csv_next(&csv, &r), CSV_RECORD);
    assert_int_equal(r.offset, 0);
    assert_int_equal(r.size, 5);
    assert_int_equal(csv_next(&csv, &r), CSV_RECORD);
    assert_int_equal(r.offset, 6);
    assert_int_equal(r.size, 8);
    assert_int_equal(r.line, 3);
    assert_int_equal(csv_next(&csv, &r), CSV_RECORD);
    assert_int_equal(r.line, 5);
    assert_int_equal(r.size, 3);
    expect_end();
}

static void test_many_fields(void **state)
{
    static char line[2 * CSV_FIELDS_MAX + 8];
    struct csv_record r;

    (void)state;
    memset(line, ',', CSV_FIELDS_MAX - 1);
    memcpy(line + CSV_FIELDS_MAX - 1, "\nx\n", 4);
    open_text(line, 4096);
    assert_int_equal(csv_next(&csv, &r), CSV_RECORD);
    assert_int_equal(r.count, CSV_FIELDS_MAX);
    expect("x", 2);
    expect_end();

    memset(line, ',', CSV_FIELDS_MAX);
    memcpy(line + CSV_FIELDS_MAX, "\nx\n", 4);
    open_text(line, 4096);
    expect_bad("fields", 1);
    expect("x", 2);
    expect_end();
}

static void test_broken_file(void **state)
{
    struct csv_record r;

    (void)state;
    open_text("a,b\n1,", 10);
    text.broken = true;
    expect("a|b", 1);
    assert_int_equal(csv_next(&csv, &r), CSV_FAILED);
    assert_non_null(strstr(csv.message, "reading failed"));
    assert_int_equal(csv_next(&csv, &r), CSV_FAILED);
    csv_release(&csv);
}

static ssize_t endless_read(void *arg, void *buf, size_t n)
{
    (void)arg;
    memset(buf, 'x', n);
    return (ssize_t)n;
}

static void test_endless_record(void **state)
{
    struct csv_record r;

    (void)state;
    csv_init(&csv, endless_read, NULL);
    assert_int_equal(csv_next(&csv, &r), CSV_FAILED);
    assert_non_null(strstr(csv.message, "more than"));
    csv_release(&csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_position),
        cmocka_unit_test(test_many_fields),
        cmocka_unit_test(test_broken_file),
        cmocka_unit_test(test_endless_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
