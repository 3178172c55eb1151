#include "client/client.h"
#include "client/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A client whose answers are a list of codes; the last one repeats. */
struct scripted {
    struct client base;
    const int *codes;
    size_t tries;
};

static int scripted_exec(struct ctx *c, struct client *cl, const struct wr_request *request,
                         struct wr_reply *out)
{
    struct scripted *s = PORT_CONTAINER(cl, struct scripted, base);
    int code = *s->codes;

    assert_int_equal(request->instance.len, 4);
    s->tries++;
    if (s->codes[1] >= 0)
        s->codes++;
    *out = (struct wr_reply){.op = request->op};
    return code ? fail_code(c, code) : 0;
}

static const struct client_ops scripted_ops = {.exec = scripted_exec};
static struct target target;
static struct scripted client;
static struct clock clk;

/* Runs one request against a script that ends with -1. */
static int run(enum wr_op op, bool repeatable, int64_t retry_ms, const int *codes)
{
    struct wr_request request = {.op = op};
    struct wr_reply reply;
    struct ctx c;
    int code;

    clock_real_init(&clk);
    ctx_init(&c, &clk, NULL, NULL, 0);
    target.instance = BYTES_LIT("inst");
    client = (struct scripted){.base = {.ops = &scripted_ops,
                                        .target = &target,
                                        .retry_ms = retry_ms,
                                        .repeatable = repeatable},
                               .codes = codes};
    rng_init(&client.base.rng, 1);
    code = client_exec(&c, &client.base, &request, &reply);
    assert_int_equal(c.code, code);
    ctx_release(&c);
    return code;
}

static void test_retries(void **state)
{
    static const int busy[] = {WR_E_BUSY, WR_E_CONFLICT, 0, -1};
    static const int unsure[] = {WR_E_UNSURE, 0, -1};
    static const int wrong[] = {WR_E_PARAMETER, 0, -1};

    (void)state;
    target.reached = true;
    assert_int_equal(run(WR_OP_PUT_ROW, false, 10000, busy), 0);
    assert_int_equal(client.tries, 3);
    assert_int_equal(run(WR_OP_PUT_ROW, false, 10000, wrong), WR_E_PARAMETER);
    assert_int_equal(client.tries, 1);
    /* A write that may have been applied is not repeated unasked; a read is. */
    assert_int_equal(run(WR_OP_PUT_ROW, false, 10000, unsure), WR_E_UNSURE);
    assert_int_equal(run(WR_OP_CREATE_TABLE, false, 10000, unsure), WR_E_UNSURE);
    assert_int_equal(run(WR_OP_BATCH_WRITE_ROW, true, 10000, unsure), 0);
    assert_int_equal(run(WR_OP_GET_RANGE, false, 10000, unsure), 0);
    assert_int_equal(run(WR_OP_DESCRIBE_TABLE, false, 10000, unsure), 0);
}

static void test_gives_up(void **state)
{
    static const int busy[] = {WR_E_BUSY, -1};
    static const int gone[] = {WR_E_UNAVAILABLE, -1};

    (void)state;
    target.reached = true;
    assert_int_equal(run(WR_OP_GET_ROW, false, 100, busy), WR_E_BUSY);
    assert_in_range(client.tries, 2, 20);
    assert_int_equal(run(WR_OP_GET_ROW, false, 0, busy), WR_E_BUSY);
    assert_int_equal(client.tries, 1);
    /* Nobody waits for a server that never answered. */
    target.reached = false;
    assert_int_equal(run(WR_OP_GET_ROW, false, 10000, gone), WR_E_UNAVAILABLE);
    assert_int_equal(client.tries, 1);
}

/* A client whose first tries get no answer in time, each of which takes longer than it goes on
 * trying. */
static int silent_exec(struct ctx *c, struct client *cl, const struct wr_request *request,
                       struct wr_reply *out)
{
    struct scripted *s = PORT_CONTAINER(cl, struct scripted, base);

    clk.set_us += 60000000;
    cl->timed_out = s->tries++ < (size_t)*s->codes;
    *out = (struct wr_reply){.op = request->op};
    return cl->timed_out ? ctx_fail(c, __FILE__, __LINE__, WR_E_UNSURE, "no answer") : 0;
}

static const struct client_ops silent_ops = {.exec = silent_exec};

/* A page of a walk whose first `silent` tries time out. */
static int walk(int silent, int64_t retry_ms, const atomic_bool *stop, const char *text)
{
    struct wr_request request = {.op = WR_OP_GET_RANGE};
    struct wr_reply reply;
    struct ctx c;
    int code;

    clock_set_init(&clk, 1);
    ctx_init(&c, &clk, NULL, NULL, 0);
    target.reached = true;
    client = (struct scripted){
        .base = {.ops = &silent_ops, .target = &target, .retry_ms = retry_ms, .stop = stop},
        .codes = &silent};
    rng_init(&client.base.rng, 1);
    code = walk_page(&c, &client.base, &request, &reply);
    assert_int_equal(c.code, code);
    if (text)
        assert_string_equal(c.text, text);
    ctx_release(&c);
    return code;
}

static void test_walk_waits(void **state)
{
    atomic_bool stop = true;

    (void)state;
    assert_int_equal(walk(WALK_TIMEOUTS - 1, CLIENT_RETRY_MS, NULL, NULL), 0);
    assert_int_equal(client.tries, WALK_TIMEOUTS);
    assert_int_equal(walk(WALK_TIMEOUTS, CLIENT_RETRY_MS, NULL,
                          "no answer (asked 5 times for the same rows); see that the server runs "
                          "and answers, then begin again"),
                     WR_E_UNSURE);
    assert_int_equal(client.tries, WALK_TIMEOUTS);
    /* Who wants one try has one, and who stops is not held up. */
    assert_int_equal(walk(1, 0, NULL, "no answer"), WR_E_UNSURE);
    assert_int_equal(client.tries, 1);
    assert_int_equal(walk(1, CLIENT_RETRY_MS, &stop, "no answer"), WR_E_UNSURE);
    assert_int_equal(client.tries, 1);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect_target(const struct target_conf *conf, int code, const char *instance)
{
    struct target t;
    struct ctx c;

    clock_real_init(&clk);
    ctx_init(&c, &clk, NULL, NULL, 0);
    assert_int_equal(target_open(&c, conf, &t), code);
    if (code == 0)
        assert_true(bytes_equal(t.instance, bytes_str(instance)));
    target_release(&t);
    ctx_release(&c);
}

/* Which key of the server's file is taken for an instance. */
static void expect_key(const struct target_conf *conf, const char *id)
{
    struct target t;
    struct ctx c;

    clock_real_init(&clk);
    ctx_init(&c, &clk, NULL, NULL, 0);
    assert_int_equal(target_open(&c, conf, &t), 0);
    assert_true(bytes_equal(t.key_id, bytes_str(id)));
    target_release(&t);
    ctx_release(&c);
}

static void test_target(void **state)
{
    char dir[] = "/tmp/widerow-client-XXXXXX", path[64];
    struct target_conf conf = {0};

    (void)state;
    unsetenv("WIDEROW_ENDPOINT");
    unsetenv("WIDEROW_INSTANCE");
    unsetenv("WIDEROW_ACCESS_KEY_ID");
    unsetenv("WIDEROW_ACCESS_KEY_SECRET");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/credentials", dir);
    conf.data = dir;
    expect_target(&conf, WR_E_PARAMETER, NULL);
    write_file(path, "nonsense\n");
    expect_target(&conf, WR_E_PARAMETER, NULL);
    write_file(path, "# comment\nfirst id1 secret1\nsecond id2 secret2\n");
    expect_target(&conf, 0, "first");
    expect_key(&conf, "id1");
    conf.instance = "SECOND";
    expect_target(&conf, 0, "SECOND");
    expect_key(&conf, "id2");
    conf.instance = "other";
    expect_target(&conf, 0, "other");
    expect_key(&conf, "id1");
    conf.key_id = "id";
    expect_target(&conf, WR_E_PARAMETER, NULL);
    conf.key_secret = "secret";
    expect_target(&conf, 0, "other");
    conf.instance = NULL;
    expect_target(&conf, WR_E_PARAMETER, NULL);
    setenv("WIDEROW_INSTANCE", "env", 1);
    expect_target(&conf, 0, "env");
    conf.endpoint = "ftp://nowhere";
    expect_target(&conf, WR_E_PARAMETER, NULL);
    conf.endpoint = "http://127.0.0.1:8600///";
    expect_target(&conf, 0, "env");
    unsetenv("WIDEROW_INSTANCE");
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_retries),
        cmocka_unit_test(test_gives_up),
        cmocka_unit_test(test_walk_waits),
        cmocka_unit_test(test_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
