/* What the operator's port says of tasks in the background. */
#include "server/admin.h"

#include "base/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail /* the name is ctx.h's in this house */

#include <curl/curl.h>

#include "../folder.h"

static struct {
    char dir[FOLDER_BYTES];
    struct clock clock;
    struct log log;
    struct wr_db *db;
    struct server_stat stat;
    struct admin admin;
    struct http *http;
    char answer[65536];
    size_t answered;
} t;

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    (void)arg;
    assert_true(t.answered + size * n < sizeof(t.answer));
    memcpy(t.answer + t.answered, data, size * n);
    t.answered += size * n;
    t.answer[t.answered] = 0;
    return size * n;
}

/* The page is in t.answer. */
static long get(const char *path)
{
    CURL *curl = curl_easy_init();
    char url[256];
    long status = 0;

    t.answered = 0;
    t.answer[0] = 0;
    snprintf(url, sizeof(url), "http://%s%s", http_address(t.http), path);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    assert_int_equal(curl_easy_perform(curl), CURLE_OK);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    return status;
}

static void run(struct wr_request *req)
{
    struct wr_reply *reply;

    req->instance = (struct wr_bytes){"test", 4};
    reply = wr_exec(t.db, req);
    assert_int_equal(reply->code, WR_OK);
    wr_reply_free(reply);
}

static void create(void)
{
    struct wr_key_schema key = {.name = {"k", 1}, .type = WR_BIGINT};
    struct wr_request req = {WR_REQUEST(CREATE_TABLE)};

    req.create_table = (struct wr_create_table){
        .table = {"t", 1},
        .key = &key,
        .key_count = 1,
        .options = {.given = WR_HAS_TTL | WR_HAS_MAX_VERSIONS, .ttl_s = -1, .max_versions = 1}};
    run(&req);
}

static void rekey(void)
{
    struct wr_request req = {WR_REQUEST(REKEY_TABLE)};

    req.rekey_table = (struct wr_rekey_table){{"t", 1}, WR_REKEY_START, {"hash:4", 6}};
    run(&req);
}

static int set_up(void **state)
{
    struct wr_options options = {WR_OPTIONS, .dir = t.dir};
    struct http_conf conf = {.address = "127.0.0.1:0",
                             .body_bytes_max = 4096,
                             .clock = &t.clock,
                             .log = &t.log,
                             .request_timeout_ms = 10000,
                             .on_request = admin_on_request,
                             .arg = &t.admin};
    char message[256] = "";

    (void)state;
    folder_make(t.dir);
    clock_real_init(&t.clock);
    t.log = (struct log){.level = 'W', .clock = &t.clock};
    wr_open(&options, &t.db, message, sizeof(message));
    assert_string_equal(message, "");
    t.admin = (struct admin){.db = t.db, .stat = &t.stat, .clock = &t.clock};
    assert_int_equal(http_open(&conf, &t.http, message, sizeof(message)), 0);
    t.admin.front = t.http;
    curl_global_init(CURL_GLOBAL_ALL);
    create();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    http_close(t.http, 1000);
    wr_close(t.db);
    folder_remove(t.dir);
    return 0;
}

static void tasks_stand_behind_a_query(void **state)
{
    (void)state;
    assert_int_equal(get("/readyz"), 200);
    assert_string_equal(t.answer, "ready\n");
    assert_int_equal(get("/readyz?tasks"), 200);
    assert_non_null(strstr(t.answer, "ready\ntask "));
    assert_non_null(strstr(t.answer, "\ntask sweep: "));
    assert_non_null(strstr(t.answer, "\ntask scrub: idle, 0 steps\n"));
}

static void a_task_that_fails_is_named(void **state)
{
    (void)state;
    assert_true(fault_arm("rekey_page:error:1+"));
    rekey();
    do {
        usleep(5000);
        assert_int_equal(get("/readyz"), 200); /* requests are served all the same */
    } while (strcmp(t.answer, "ready\n") == 0);
    assert_string_equal(t.answer,
                        "ready, but the task rekey fails: table 't': a page is not copied, as "
                        "WR_FAULT says\n");
    do
        assert_int_equal(get("/metrics"), 200);
    while (!strstr(t.answer, "widerow_task_state{task=\"rekey\"} 3\n")); /* not while it is tried */
    assert_null(strstr(t.answer, "widerow_task_failures_total{task=\"rekey\"} 0\n"));
    assert_non_null(strstr(t.answer, "widerow_task_failures_total{task=\"sweep\"} 0\n"));
    fault_arm(NULL);
    do {
        usleep(5000);
        get("/readyz");
    } while (strcmp(t.answer, "ready\n") != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_stand_behind_a_query),
        cmocka_unit_test(a_task_that_fails_is_named),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
