/* Where settings come from, who wins, and what a wrong one is told. */
#include "server/config.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];
static char message[512];

static void write_conf(const char *name, const char *text)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

#define LOAD(c, env, ...)                                                                          \
    load((c), (char *[]){"widerowd", __VA_ARGS__, NULL}, (env) ? (char *[]){(env), NULL} : NULL)

static int load(struct config *c, char **argv, char **envp)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    message[0] = 0;
    return config_load(c, argc, argv, envp, message, sizeof(message));
}

/* Loads and expects the message to hold `says`. */
#define REFUSED(says, env, ...)                                                                    \
    do {                                                                                           \
        struct config c_;                                                                          \
        assert_int_equal(LOAD(&c_, env, __VA_ARGS__), E_PARAMETER);                                \
        if (!strstr(message, says))                                                                \
            fail_msg("'%s' does not say '%s'", message, says);                                     \
        config_release(&c_);                                                                       \
    } while (0)

static int setup(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/config_test.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command);
}

static void test_defaults(void **state)
{
    struct config c;

    (void)state;
    assert_int_equal(load(&c, (char *[]){"widerowd", "--data", dir, NULL}, NULL), 0);
    assert_int_equal(c.action, CONFIG_RUN);
    assert_string_equal(c.data, dir);
    assert_string_equal(c.engine, "rocks");
    assert_string_equal(c.http, "127.0.0.1:8600");
    assert_string_equal(c.admin, "127.0.0.1:8601");
    assert_string_equal(c.sql, "127.0.0.1:33060");
    assert_null(c.sql_source);
    assert_false(c.strict);
    assert_int_equal(c.memory, 256 << 20);
    assert_int_equal(c.limits.filters_max, 32);
    assert_int_equal(c.setting_count, 0);
    assert_null(c.file);
    assert_null(c.access_key_id);
    config_release(&c);
}

/* A server at another port than the usual one has SQL only if it is asked for. */
static void test_sql(void **state)
{
    struct config c;

    (void)state;
    assert_int_equal(LOAD(&c, (char *)NULL, "--data", dir, "--http", "0.0.0.0:8600"), 0);
    assert_string_equal(c.sql, "127.0.0.1:33060");
    config_release(&c);
    assert_int_equal(LOAD(&c, (char *)NULL, "--data", dir, "--http", "127.0.0.1:0"), 0);
    assert_string_equal(c.sql, "off");
    config_release(&c);
    assert_int_equal(
        LOAD(&c, (char *)NULL, "--data", dir, "--http", "127.0.0.1:0", "--sql", "127.0.0.1:0"), 0);
    assert_string_equal(c.sql, "127.0.0.1:0");
    assert_string_equal(c.sql_source, "--sql");
    config_release(&c);
}

static void test_flags(void **state)
{
    struct config c;

    (void)state;
    assert_int_equal(LOAD(&c, (char *)NULL, "--data", dir, "--engine=mem", "--no-sync", "--memory",
                          "2G", "--set", "filters_max=7", "--set", "filters_max=8", "--http", "a:1",
                          "--http", "b:2", "--strict=yes", "--accept-data-loss", "--port-file", "p",
                          "--set", "threads=3"),
                     0);
    assert_string_equal(c.engine, "mem");
    assert_string_equal(c.http, "b:2");
    assert_string_equal(c.port_file, "p");
    assert_true(c.no_sync && c.strict && c.accept_data_loss);
    assert_int_equal(c.memory, 2ull << 30);
    assert_int_equal(c.threads, 3);
    assert_int_equal(c.limits.filters_max, 8);
    assert_int_equal(c.limits.columns_to_get_max, 128); /* strict */
    assert_int_equal(c.setting_count, 2);
    assert_string_equal(c.settings[1].value, "8");
    config_release(&c);
}

static void test_who_wins(void **state)
{
    struct config c;
    char *env[] = {"WIDEROW_HTTP=e:2",
                   "WIDEROW_ADMIN=e:3",
                   "WIDEROW_SET=filters_max=12,regex_bytes_max=9",
                   "WIDEROW_NO_SYNC=",
                   "WIDEROW_ACCESS_KEY_ID=id",
                   "WIDEROW_ACCESS_KEY_SECRET=sec",
                   "WIDEROW_INSTANCE=inst",
                   NULL};

    (void)state;
    write_conf("widerow.conf", "# mine\n\n  http = f:1\r\nadmin=f:1\nmemory = 1G\n"
                               "filters_max = 11\nregex_bytes_max = 8\nindexes_max = 2\n"
                               "no_sync = on\nthreads = 4\nthreads = 5");
    assert_int_equal(load(&c,
                          (char *[]){"widerowd", "--data", dir, "--http", "g:4", "--set",
                                     "filters_max=13", NULL},
                          env),
                     0);
    assert_string_equal(c.http, "g:4");
    assert_string_equal(c.admin, "e:3");
    assert_int_equal(c.memory, 1 << 30);
    assert_int_equal(c.threads, 5);
    assert_true(c.no_sync); /* an empty variable is none */
    assert_int_equal(c.limits.filters_max, 13);
    assert_int_equal(c.limits.regex_bytes_max, 9);
    assert_int_equal(c.limits.indexes_max, 2);
    assert_string_equal(c.access_key_id, "id");
    assert_string_equal(c.access_key_secret, "sec");
    assert_string_equal(c.instance, "inst");
    assert_non_null(c.file);
    config_release(&c);
}

static void test_config_flag(void **state)
{
    struct config c;
    char path[128];

    (void)state;
    write_conf("other.conf", "data = /elsewhere\n");
    snprintf(path, sizeof(path), "%s/other.conf", dir);
    assert_int_equal(LOAD(&c, (char *)NULL, "--config", path), 0);
    assert_string_equal(c.data, "/elsewhere");
    config_release(&c);
    REFUSED("cannot read /no/such/file", (char *)NULL, "--config", "/no/such/file");
}

static void test_wrong_flags(void **state)
{
    (void)state;
    REFUSED("Did you mean --http?", (char *)NULL, "--htpp", "x");
    REFUSED("Did you mean --port-file?", (char *)NULL, "--portfile=x");
    REFUSED("--help lists them all", (char *)NULL, "--zzzzzzzzzz");
    REFUSED("Write --set body_bytes_max=VALUE", (char *)NULL, "--body-bytes-max", "7");
    REFUSED("'data' is not a flag", (char *)NULL, "data");
    REFUSED("--http needs a value: --http ADDR:PORT", (char *)NULL, "--http");
    REFUSED("--set needs a value: --set NAME=VALUE", (char *)NULL, "--set");
    REFUSED("not NAME=VALUE", (char *)NULL, "--set", "x");
    REFUSED("Did you mean 'filters_max'?", (char *)NULL, "--set", "filter_max=1");
    REFUSED("whole number from 1 to 1024", (char *)NULL, "--set", "filters_max=0");
    REFUSED("--memory: 'much' is not a size", (char *)NULL, "--memory", "much");
    REFUSED("is not a size", (char *)NULL, "--memory", "9999999999G");
    REFUSED("is not a size", (char *)NULL, "--memory", "-1");
    REFUSED("--http: '8600' is not ADDRESS:PORT. Write it like", (char *)NULL, "--http", "8600");
    REFUSED("--admin: 'x' is not ADDRESS:PORT. Write it like", (char *)NULL, "--admin", "x");
    REFUSED("whole number from 1 to 64", (char *)NULL, "--threads", "65");
    REFUSED("neither true nor false", (char *)NULL, "--strict=maybe");
    REFUSED("no engine 'rock'", (char *)NULL, "--engine", "rock");
    REFUSED("no log level", (char *)NULL, "--log-level", "loud");
    REFUSED("cannot be off", (char *)NULL, "--http", "off");
    REFUSED("--tls-cert is given without --tls-key", (char *)NULL, "--tls-cert", "c.pem");
    REFUSED("WIDEROW_TLS_KEY is given without --tls-cert", "WIDEROW_TLS_KEY=k.pem", "--strict");
    REFUSED("--archive: 'store' names no bucket. Write it like", (char *)NULL, "--archive",
            "store");
    REFUSED("'s3://' names no bucket", (char *)NULL, "--archive", "s3://");
    REFUSED("'s3:///old' names no bucket", (char *)NULL, "--archive", "s3:///old");
    REFUSED("whole number from 1 to 1000000", (char *)NULL, "--requests", "0");
    REFUSED("WIDEROW_THREADS: 'x'", "WIDEROW_THREADS=x", "--strict");
    REFUSED("WIDEROW_ACCESS_KEY_SECRET is not set", "WIDEROW_ACCESS_KEY_ID=x", "--strict");
    REFUSED("WIDEROW_SET: unknown setting", "WIDEROW_SET=abc=1", "--strict");
}

static void test_wrong_files(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"# x\n\nhtp = 1\n", "line 3: unknown setting 'htp'. Did you mean 'http'?"},
        {"http\n", "line 1: 'http' is not 'name = value'"},
        {"threads = 0\n", "line 1: '0' is not a whole number"},
        {"\nfilters_max = x\n", "line 2: filters_max: 'x'"},
        {"data = /x\n", "cannot be set in the data folder"},
        {"qqqqqqqqqqqq = 1", "line 1: unknown setting 'qqqqqqqqqqqq'. --help"},
    };

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(cases); i++) {
        write_conf("widerow.conf", cases[i].text);
        REFUSED(cases[i].says, (char *)NULL, "--data", dir);
        assert_non_null(strstr(message, dir)); /* names the file */
    }
    unlink("widerow.conf");
}

static void test_help(void **state)
{
    struct config c;
    bytes text;

    (void)state;
    assert_int_equal(LOAD(&c, (char *)NULL, "--help", "--nonsense"), 0);
    assert_int_equal(c.action, CONFIG_HELP);
    text = config_help(&c.arena);
    assert_non_null(memmem(text.ptr, text.len, "--port-file FILE", 16));
    assert_non_null(memmem(text.ptr, text.len, "body_bytes_max", 14));
    config_release(&c);
    assert_int_equal(LOAD(&c, (char *)NULL, "--version"), 0);
    assert_int_equal(c.action, CONFIG_VERSION);
    config_release(&c);
}

/* One environment may serve servers of several engines. */
static void test_options_of_another_engine(void **state)
{
    char *env[] = {"WIDEROW_CEPH_CONF=/none/ceph.conf", "WIDEROW_POOL=p", "WIDEROW_NAMESPACE=n",
                   NULL};
    struct config c;

    (void)state;
    assert_int_equal(load(&c, (char *[]){"widerowd", "--data", dir, NULL}, env), 0);
    assert_string_equal(c.ceph_conf, "");
    assert_string_equal(c.pool, "");
    assert_string_equal(c.namespace, "");
    config_release(&c);
    assert_int_equal(
        load(&c, (char *[]){"widerowd", "--data", dir, "--engine", "rados", NULL}, env), 0);
    assert_string_equal(c.ceph_conf, "/none/ceph.conf");
    assert_string_equal(c.pool, "p");
    config_release(&c);
    /* A flag is meant for this server: the engine refuses it by name. */
    assert_int_equal(load(&c, (char *[]){"widerowd", "--data", dir, "--pool", "q", NULL}, env), 0);
    assert_string_equal(c.pool, "q");
    config_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_options_of_another_engine, setup, teardown),
        cmocka_unit_test_setup_teardown(test_defaults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sql, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_config_flag, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_flags, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_help, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
