#include "bench/bench_post.h"

#include "base/port.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char date[] = "2024-01-02T03:04:05.678Z";

static const struct bench_post_conf conf = {
    .host = "127.0.0.1:8600",
    .path = "/GetRow",
    .instance = {"local", 5},
    .key_id = {"key", 3},
    .key_secret = {"secret", 6},
};

static struct sign_header header_of(const char *head, const char *name)
{
    return (struct sign_header){bytes_str(name), bench_answer_header(head, strlen(head), name)};
}

/* What the server checks: length, digest and signature, of one body after another. */
static void test_head_is_signed(void **state)
{
    static const char *const bodies[] = {"", "some bytes", "other bytes, and more of them"};
    struct bench_post *p = mem_zalloc(sizeof(*p));

    (void)state;
    assert_true(bench_post_init(p, &conf));
    for (size_t i = 0; i < PORT_COUNT(bodies); i++) {
        char head[POST_HEAD_BYTES_MAX + 1] = "", md5[SIGN_MD5_TEXT + 1];
        char signature[SIGN_SHA1_TEXT + 1];
        struct sign_header headers[5];
        bytes length, md5_given;

        bench_post_write(p, date, bytes_str(bodies[i]), head);
        assert_int_equal(strlen(head), p->head_len);
        assert_memory_equal(head, "POST /GetRow HTTP/1.1\r\n", 23);
        assert_string_equal(head + p->head_len - 4, "\r\n\r\n");
        length = bench_answer_header(head, p->head_len, "content-length");
        assert_int_equal(strtoul(length.ptr, NULL, 10), strlen(bodies[i]));
        sign_md5(bytes_str(bodies[i]), md5);
        headers[0] = header_of(head, "x-ots-contentmd5");
        headers[1] = header_of(head, "x-ots-date");
        headers[2] = header_of(head, "x-ots-apiversion");
        headers[3] = header_of(head, "x-ots-accesskeyid");
        headers[4] = header_of(head, "x-ots-instancename");
        md5_given = headers[0].value;
        assert_true(bytes_equal(md5_given, bytes_str(md5)));
        assert_true(bytes_equal(headers[1].value, bytes_str(date)));
        assert_true(bytes_equal(headers[4].value, bytes_str("local")));
        assert_true(sign_request(&p->key, bytes_str("/GetRow"), headers, 5, signature));
        assert_true(bytes_equal(header_of(head, "x-ots-signature").value, bytes_str(signature)));
    }
    mem_free(p);
}

static void test_names_too_long(void **state)
{
    char name[POST_HEAD_BYTES_MAX];
    struct bench_post_conf longer = conf;
    struct bench_post *p = mem_zalloc(sizeof(*p));

    (void)state;
    memset(name, 'x', sizeof(name));
    longer.instance = bytes_of(name, sizeof(name));
    assert_false(bench_post_init(p, &longer));
    mem_free(p);
}

static enum bench_answer_found read_text(struct bench_answer *a, const char *text)
{
    return bench_answer_read(a, text, strlen(text));
}

/* The places of one answer are tried for the next one; what they hold may differ in any way. */
static void test_answers_in_a_row(void **state)
{
    struct bench_answer a = {0};

    (void)state;
    assert_int_equal(read_text(&a, "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX: 1\r\n\r\nbody"),
                     ANSWER_WHOLE);
    assert_int_equal(a.status, 200);
    assert_int_equal(a.body, 12);
    assert_int_equal(a.head, 45);
    /* The same layout, one digit more, another status. */
    assert_int_equal(read_text(&a, "HTTP/1.1 403 NO\r\nContent-Length: 123\r\nX: 1\r\n\r\n"),
                     ANSWER_WHOLE);
    assert_int_equal(a.status, 403);
    assert_int_equal(a.body, 123);
    assert_int_equal(a.head, 46);
    /* Another layout. */
    assert_int_equal(
        read_text(&a, "HTTP/1.1 500 Sorry\r\nY: 2\r\ncontent-length:7\r\nLonger: header\r\n\r\n"),
        ANSWER_WHOLE);
    assert_int_equal(a.status, 500);
    assert_int_equal(a.body, 7);
    /* The same place, but more headers behind it. */
    assert_int_equal(
        read_text(&a, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: 1\r\nY: 22\r\n\r\nbytes"),
        ANSWER_WHOLE);
    assert_int_equal(a.body, 5);
    assert_int_equal(a.head, 51);
}

/* However few bytes have come, the head is complete only with its last one. */
static void test_parts(void **state)
{
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    struct bench_answer a = {0};

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t n = 0; n < sizeof(text) - 1; n++)
            assert_int_equal(bench_answer_read(&a, text, n), ANSWER_PART);
        assert_int_equal(bench_answer_read(&a, text, sizeof(text) - 1), ANSWER_WHOLE);
        assert_int_equal(a.body, 3);
    }
}

static void test_strange_answers(void **state)
{
    static const char *const texts[] = {
        "SSH-2.0-OpenSSH",
        "HTTP/1.1 200 OK\r\nX: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(texts); i++) {
        struct bench_answer a = {0};

        assert_int_equal(read_text(&a, texts[i]), ANSWER_STRANGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head_is_signed),   cmocka_unit_test(test_names_too_long),
        cmocka_unit_test(test_answers_in_a_row), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_strange_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
