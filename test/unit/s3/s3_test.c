/* Signatures as Amazon's own examples have them, names that need care, XML, and connections that
 * are cut. */
#include "s3/s3.h"
#include "s3/sigv4.h"
#include "s3/xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <pthread.h>

#undef fail /* cmocka has its own */
#include <cmocka.h>

static struct clock clock_;

/* The two examples of "Authenticating Requests (AWS Signature Version 4)" that have no other
 * headers than we sign. */
static void test_signature(void **state)
{
    static const struct {
        const char *query, *signature;
    } examples[] = {
        {"lifecycle=", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
        {"max-keys=2&prefix=J",
         "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"}};
    struct sigv4 with = {.key_id = "AKIAIOSFODNN7EXAMPLE",
                         .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                         .region = "us-east-1"};
    char sha256[SIGV4_HEX + 1], want[300];
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    sigv4_sha256(BYTES_NONE, sha256);
    for (size_t i = 0; i < PORT_COUNT(examples); i++) {
        struct sigv4_request r = {.method = "GET",
                                  .host = "examplebucket.s3.amazonaws.com",
                                  .path = "/",
                                  .query = examples[i].query,
                                  .date = "20130524T000000Z",
                                  .sha256 = sha256};

        snprintf(want, sizeof(want),
                 "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/"
                 "aws4_request,SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature=%s",
                 examples[i].signature);
        assert_string_equal(sigv4_authorization(&a, &with, &r), want);
    }
    arena_release(&a);
}

static void test_encoding(void **state)
{
    char date[SIGV4_DATE_TEXT + 1];
    struct arena a;
    struct buf b;

    (void)state;
    arena_init(&a, NULL, 0);
    buf_init(&b, &a, 0);
    sigv4_encode(&b, BYTES_LIT("a/b c+~\xC3\xA9"), true);
    sigv4_encode(&b, BYTES_LIT("/"), false);
    buf_put_u8(&b, 0);
    assert_string_equal((const char *)b.data, "a/b%20c%2B~%C3%A9%2F");
    b.len = 0;
    sigv4_put_query(&b, "prefix", "a&b");
    sigv4_put_query(&b, "uploads", "");
    buf_put_u8(&b, 0);
    assert_string_equal((const char *)b.data, "prefix=a%26b&uploads=");
    sigv4_date(INT64_C(1709209800000000), date);
    assert_string_equal(date, "20240229T123000Z");
    arena_release(&a);
}

static void test_xml(void **state)
{
    bytes in = BYTES_LIT("<?xml version=\"1.0\"?><List xmlns=\"x\"><Keys>0</Keys><Item><Key>a&amp;b"
                         "</Key></Item><Item><Key>&lt;&#39;&#x41;</Key></Item><Open>"),
          one;
    struct arena a;

    (void)state;
    arena_init(&a, NULL, 0);
    one = xml_next(&in, "Item");
    assert_string_equal(xml_text(&a, one, "Key"), "a&b");
    one = xml_next(&in, "Item");
    assert_string_equal(xml_text(&a, one, "Key"), "<'A");
    assert_null(xml_next(&in, "Item").ptr);
    assert_null(xml_inner(in, "Open").ptr);
    assert_string_equal(xml_text(&a, in, "Nothing"), "");
    assert_string_equal(xml_text(&a, BYTES_LIT("<Key>a&b</Key>"), "Key"), "a&b");
    assert_null(xml_inner(BYTES_LIT("<"), "Key").ptr);
    assert_null(xml_inner(BYTES_LIT("<Key"), "Key").ptr);
    arena_release(&a);
}

static void test_urls(void **state)
{
    const char *bucket, *key;
    struct ctx c;

    (void)state;
    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(s3_url_parse(&c, "s3://b/a/c.csv", &bucket, &key), 0);
    assert_string_equal(bucket, "b");
    assert_string_equal(key, "a/c.csv");
    assert_int_equal(s3_url_parse(&c, "s3://b", &bucket, &key), 0);
    assert_string_equal(key, "");
    assert_int_equal(s3_url_parse(&c, "s3:///x", &bucket, &key), E_PARAMETER);
    ctx_release(&c);
}

static int load(struct ctx *c, const char *endpoint)
{
    struct s3_words words = {.endpoint = endpoint};
    struct s3_conf conf;
    int code;

    ctx_init(c, &clock_, NULL, NULL, 0);
    code = s3_conf_load(c, &words, &conf);
    if (code == 0)
        assert_string_equal(conf.endpoint, "http://127.0.0.1:9000");
    ctx_release(c);
    return code;
}

static void test_endpoints(void **state)
{
    struct ctx c;

    (void)state;
    setenv("AWS_ACCESS_KEY_ID", "a", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "b", 1);
    assert_int_equal(load(&c, "http://127.0.0.1:9000"), 0);
    assert_int_equal(load(&c, "http://127.0.0.1:9000//"), 0);
    assert_int_equal(load(&c, "127.0.0.1:9000"), E_PARAMETER);
    assert_int_equal(load(&c, "http://127.0.0.1:9000/path"), E_PARAMETER);
}

/* ---- a store that takes a request and answers, or cuts the connection after a while */

#define CONTENT "what is put"
#define SLOWLY_US 5000

struct script_store {
    int listener;
    const char *script; /* a letter a connection: 'a' answers, 'c' cuts */
};

/* The head and the content, which is the last to come. */
static void take_request(int fd)
{
    char data[8192];
    size_t len = 0;
    ssize_t n;

    while (!memmem(data, len, CONTENT, strlen(CONTENT)) && len < sizeof(data) &&
           (n = recv(fd, data + len, sizeof(data) - len, 0)) > 0)
        len += (size_t)n;
}

static void *script_store_run(void *arg)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const struct script_store *t = arg;

    for (const char *p = t->script; *p; p++) {
        int fd = accept(t->listener, NULL, NULL);

        take_request(fd);
        if (*p == 'a')
            (void)!send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL);
        else
            usleep(SLOWLY_US);
        close(fd);
    }
    return NULL;
}

/* A try that is cut takes longer than there is patience: a store that has answered is tried three
 * times all the same, as one that goes slowly may be cut more than once. */
static void test_slow_cuts(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct script_store store = {socket(AF_INET, SOCK_STREAM, 0), "accaccc"};
    socklen_t n = sizeof(at);
    char endpoint[64];
    struct s3_conf conf = {
        .endpoint = endpoint, .region = "us-east-1", .key_id = "a", .secret = "b"};
    pthread_t thread;
    struct s3 *s;
    struct ctx c;

    (void)state;
    assert_int_equal(bind(store.listener, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(store.listener, 8), 0);
    getsockname(store.listener, (struct sockaddr *)&at, &n);
    snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%d", ntohs(at.sin_port));
    pthread_create(&thread, NULL, script_store_run, &store);
    ctx_init(&c, &clock_, NULL, NULL, 0);
    assert_int_equal(s3_open(&c, &conf, NULL, NULL, &s), 0);
    s3_set_retry(s, 0);
    assert_int_equal(s3_put(&c, s, "b", "k", BYTES_LIT(CONTENT)), 0);
    assert_int_equal(s3_put(&c, s, "b", "k", BYTES_LIT(CONTENT)), 0);
    assert_int_equal(s3_retries(s), 2);
    assert_int_equal(s3_put(&c, s, "b", "k", BYTES_LIT(CONTENT)), E_UNAVAILABLE);
    pthread_join(thread, NULL);
    close(store.listener);
    s3_close(s);
    ctx_release(&c);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signature), cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_xml),       cmocka_unit_test(test_urls),
        cmocka_unit_test(test_endpoints), cmocka_unit_test(test_slow_cuts),
    };

    clock_real_init(&clock_);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
