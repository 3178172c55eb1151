/* Access keys: making the file, reading it again, the environment's pair, and what is refused. */
#include "server/credential.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64], path[128], message[512];
static struct clock wall;
static char logged[1024];

static void on_log(void *arg, char level, const char *line)
{
    (void)arg;
    (void)level;
    strncat(logged, line, sizeof(logged) - strlen(logged) - 1);
}

static struct log quiet = {.level = 'D', .sink = on_log, .clock = &wall};

static int setup(void **state)
{
    (void)state;
    clock_real_init(&wall);
    logged[0] = 0;
    strcpy(dir, "/tmp/credential_test.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof(path), "%s/credentials", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(dir);
}

static void write_file(const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, mode);
}

static int open_store(struct credential_store **s, const char *id, const char *secret)
{
    struct credential_conf conf = {
        .dir = dir, .instance = "Main-1", .id = id, .secret = secret, .log = &quiet};

    message[0] = 0;
    return credential_store_open(&conf, s, message, sizeof(message));
}

static void check_pair(struct credential_store *s, const char *id, const char *instance,
                       const char *secret)
{
    const struct credential *c = credential_find(s, bytes_str(id));

    if (!secret) {
        assert_null(c);
        return;
    }
    assert_non_null(c);
    assert_string_equal(c->id, id);
    assert_string_equal(c->instance, instance);
    assert_string_equal(c->secret, secret);
    credential_release(c);
}

static void test_first_start_makes_a_pair(void **state)
{
    struct credential_store *s;
    const struct credential *c;
    char id[200], secret[200];
    struct stat st;

    (void)state;
    assert_int_equal(open_store(&s, NULL, NULL), 0);
    assert_true(credential_made(s));
    assert_string_equal(credential_file(s), path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    c = credential_first(s);
    strcpy(id, c->id);
    strcpy(secret, c->secret);
    assert_string_equal(c->instance, "main-1");
    assert_int_equal(strlen(id), 24);
    assert_int_equal(strlen(secret), 40);
    credential_release(c);
    credential_store_close(s);

    assert_int_equal(open_store(&s, NULL, NULL), 0);
    assert_false(credential_made(s));
    check_pair(s, id, "main-1", secret);
    credential_store_close(s);
    assert_string_equal(logged, "");
}

static void test_environment(void **state)
{
    struct credential_store *s;

    (void)state;
    assert_int_equal(open_store(&s, "env-id", "env-secret"), 0);
    assert_true(credential_made(s));
    credential_store_close(s);
    /* It was written; another one later is used besides and not written. */
    assert_int_equal(open_store(&s, "other", "other-secret"), 0);
    check_pair(s, "env-id", "main-1", "env-secret");
    check_pair(s, "other", "main-1", "other-secret");
    assert_int_equal(credential_store_reload(s, message, sizeof(message)), 0);
    check_pair(s, "other", "main-1", "other-secret");
    credential_store_close(s);
    /* One with an id of the file wins for this start. */
    assert_int_equal(open_store(&s, "env-id", "changed"), 0);
    check_pair(s, "env-id", "main-1", "changed");
    check_pair(s, "other", NULL, NULL);
    credential_store_close(s);
    assert_int_equal(open_store(&s, NULL, NULL), 0);
    check_pair(s, "env-id", "main-1", "env-secret");
    credential_store_close(s);
}

static void test_many_pairs_and_reload(void **state)
{
    struct credential_store *s;
    const struct credential *held;
    char line[64], id[16];
    FILE *f;

    (void)state;
    f = fopen(path, "w");
    for (int i = 0; i < 100; i++) {
        snprintf(line, sizeof(line), "inst%d id%d secret%d\n", i % 7, i * 37 % 100, i);
        fputs(line, f);
    }
    fclose(f);
    chmod(path, 0600);
    assert_int_equal(open_store(&s, NULL, NULL), 0);
    for (int i = 0; i < 100; i++) {
        snprintf(id, sizeof(id), "id%d", i * 37 % 100);
        snprintf(line, sizeof(line), "secret%d", i);
        held = credential_find(s, bytes_str(id));
        assert_string_equal(held->secret, line);
        credential_release(held);
    }
    held = credential_first(s);
    assert_string_equal(held->id, "id0");
    write_file("  # a note\n\n\tABC new-id new-secret \r\n", 0600);
    assert_int_equal(credential_store_reload(s, message, sizeof(message)), 0);
    assert_string_equal(held->secret, "secret0"); /* still whole */
    credential_release(held);
    check_pair(s, "new-id", "abc", "new-secret");
    check_pair(s, "id0", NULL, NULL);
    check_pair(s, "", NULL, NULL);
    /* A bad file changes nothing. */
    write_file("abc\n", 0600);
    assert_int_equal(credential_store_reload(s, message, sizeof(message)), E_PARAMETER);
    assert_non_null(strstr(message, "line 1"));
    check_pair(s, "new-id", "abc", "new-secret");
    credential_store_close(s);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"abc id", "line 1: not \"instance access_key_id secret [grants]\""},
        {"abc id verysecret rw more", "line 1: not \"instance"},
        {"abc id verysecret more", "line 1: 'more' is no grant"},
        {"\nabc id verysecret rw:a,ro:", "line 2: 'ro:' is no grant"},
        {"\n\nabc id verysecret rw:a, ro:b", "line 3: not \"instance"},
        {"\nab id verysecret", "line 2: 'ab' is no instance name"},
        {"abcdefghijklmnopq id verysecret", "3 to 16 characters"},
        {"1abc id verysecret", "start with a letter"},
        {"abc- id verysecret", "end with a hyphen"},
        {"ab_c id verysecret", "letters, digits and hyphens"},
        {"abc i:d verysecret", "is no access key id"},
        {"abc id very\x01secret", "the secret is not"},
        {"abc id verysecret\nabc id two\n",
         "line 2: access key id 'id' stands twice for the instance 'abc'"},
        {"abc id verysecret\nabd id verysecret\nABC id verysecret\n",
         "line 3: access key id 'id' stands twice for the instance 'abc'"},
        {"abc id verysecret\nabd id verysecret2\n",
         "line 2: access key id 'id' stands twice with two secrets"},
        {"abc id verysecret\nabd id verysecret rx\n", "line 2: 'rx' is no grant"},
        {"# nothing\n", "holds no access key"},
    };
    struct credential_store *s;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(cases[i].text, 0600);
        assert_int_equal(open_store(&s, NULL, NULL), E_PARAMETER);
        assert_null(s);
        if (!strstr(message, cases[i].says))
            fail_msg("'%s' does not say '%s'", message, cases[i].says);
        assert_null(strstr(message, "verysecret"));
    }
    write_file("abc id verysecret", 0600);
    assert_int_equal(open_store(&s, "i d", "x"), E_PARAMETER);
    assert_int_equal(open_store(&s, "id2", ""), E_PARAMETER);
}

static void check_grants(struct credential_store *s, const char *id, bool reads, bool writes)
{
    const struct credential *c = credential_find(s, bytes_str(id));

    assert_non_null(c);
    assert_int_equal(grants_allow(&c->grants, BYTES_LIT("cards_1"), GRANT_READ), reads);
    assert_int_equal(grants_allow(&c->grants, BYTES_LIT("cards_1"), GRANT_WRITE), writes);
    credential_release(c);
}

static void test_grants(void **state)
{
    struct credential_store *s;
    const struct credential *held;

    (void)state;
    write_file("abc all x\nabc full x rw\nabc reader x ro\nabc cards x rw:cards*,orders*\t\r\n"
               "abc logs x ro:logs\nabc env x ro\n",
               0600);
    assert_int_equal(open_store(&s, "env", "env-secret"), 0);
    check_grants(s, "all", true, true);
    check_grants(s, "full", true, true);
    check_grants(s, "reader", true, false);
    check_grants(s, "cards", true, true);
    check_grants(s, "logs", false, false);
    check_grants(s, "env", true, true); /* the environment's own */
    held = credential_find(s, BYTES_LIT("cards"));
    write_file("abc cards x ro:cards_1\n", 0600);
    assert_int_equal(credential_store_reload(s, message, sizeof(message)), 0);
    check_grants(s, "cards", true, false);
    assert_true(grants_allow(&held->grants, BYTES_LIT("orders"), GRANT_WRITE)); /* still whole */
    credential_release(held);
    write_file("abc cards x rw\nabc other x rx\n", 0600);
    assert_int_equal(credential_store_reload(s, message, sizeof(message)), E_PARAMETER);
    assert_non_null(strstr(message, "line 2: 'rx' is no grant"));
    check_grants(s, "cards", true, false);
    credential_store_close(s);
}

/* What a key may do at an instance: "" none, else whether it reads and writes cards_1. */
static const char *powers(struct credential_store *s, const char *id, const char *instance)
{
    const struct credential *c = credential_find(s, bytes_str(id)), *there;
    const char *result = "no key";

    if (!c)
        return result;
    there = credential_at(c, bytes_str(instance));
    if (there) {
        assert_string_equal(there->id, id);
        assert_string_equal(there->secret, c->secret);
        assert_int_equal(strlen(there->instance), strlen(instance));
    }
    result = !there                                                            ? ""
             : grants_allow(&there->grants, BYTES_LIT("cards_1"), GRANT_WRITE) ? "rw"
             : grants_allow(&there->grants, BYTES_LIT("cards_1"), GRANT_READ)  ? "ro"
                                                                               : "-";
    credential_release(c);
    return result;
}

static void test_one_key_for_several_instances(void **state)
{
    struct credential_store *s;
    const struct credential *held;

    (void)state;
    write_file("south wide wide-secret ro\nnorth narrow narrow-secret\nnorth wide wide-secret\n"
               "East wide wide-secret ro:logs\nwest other wide-secret\n",
               0600);
    assert_int_equal(open_store(&s, NULL, NULL), 0);
    assert_string_equal(powers(s, "wide", "north"), "rw");
    assert_string_equal(powers(s, "wide", "SOUTH"), "ro");
    assert_string_equal(powers(s, "wide", "east"), "-");
    assert_string_equal(powers(s, "wide", "west"), "");
    assert_string_equal(powers(s, "narrow", "north"), "rw");
    assert_string_equal(powers(s, "narrow", "south"), "");
    assert_string_equal(powers(s, "other", "west"), "rw");
    assert_string_equal(powers(s, "other", "north"), ""); /* the same secret is not the same key */
    assert_string_equal(powers(s, "wid", "north"), "no key");
    held = credential_first(s); /* the file's first line, though another instance sorts first */
    assert_string_equal(held->instance, "south");
    /* One instance is taken away; who holds the key still has what it had. */
    write_file("south wide wide-secret rw\n", 0600);
    assert_int_equal(credential_store_reload(s, message, sizeof(message)), 0);
    assert_string_equal(powers(s, "wide", "south"), "rw");
    assert_string_equal(powers(s, "wide", "north"), "");
    assert_non_null(credential_at(held, BYTES_LIT("north")));
    credential_release(held);
    credential_store_close(s);
}

/* The environment's key keeps what the file gives it elsewhere, unless the secret is another. */
static void test_environment_and_several_instances(void **state)
{
    struct credential_store *s;

    (void)state;
    write_file("main-1 env env-secret ro\nsouth env env-secret ro\nsouth other x\n", 0600);
    assert_int_equal(open_store(&s, "env", "env-secret"), 0);
    assert_string_equal(powers(s, "env", "main-1"), "rw");
    assert_string_equal(powers(s, "env", "south"), "ro");
    assert_string_equal(powers(s, "other", "south"), "rw");
    credential_store_close(s);
    assert_int_equal(open_store(&s, "env", "changed"), 0);
    assert_string_equal(powers(s, "env", "main-1"), "rw");
    assert_string_equal(powers(s, "env", "south"), "");
    assert_string_equal(powers(s, "other", "south"), "rw");
    credential_store_close(s);
}

static void test_open_file_warns(void **state)
{
    struct credential_store *s;

    (void)state;
    write_file("abc id verysecret", 0644);
    assert_int_equal(open_store(&s, NULL, NULL), 0);
    assert_non_null(strstr(logged, "chmod 600"));
    assert_null(strstr(logged, "verysecret"));
    credential_store_close(s);
}

static void test_without_folder(void **state)
{
    struct credential_conf conf = {.instance = "memory", .log = &quiet};
    struct credential_store *s;
    const struct credential *c;

    (void)state;
    assert_int_equal(credential_store_open(&conf, &s, message, sizeof(message)), 0);
    assert_null(credential_file(s));
    assert_true(credential_made(s));
    c = credential_first(s);
    assert_string_equal(c->instance, "memory");
    assert_ptr_equal(credential_at(c, BYTES_LIT("MEMory")), c);
    assert_null(credential_at(c, BYTES_LIT("memor")));
    assert_null(credential_at(c, BYTES_LIT("memorx")));
    assert_null(credential_at(c, BYTES_LIT("")));
    credential_release(c);
    assert_int_equal(credential_store_reload(s, message, sizeof(message)), 0);
    credential_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_start_makes_a_pair, setup, teardown),
        cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_pairs_and_reload, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_grants, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_key_for_several_instances, setup, teardown),
        cmocka_unit_test_setup_teardown(test_environment_and_several_instances, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open_file_warns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_folder, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
