/* SQL's users: what lands in the file of access keys, and that nobody gets more than he has. */
#include "server/sql_users.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#undef fail

static char dir[64], path[128], message[512];
static struct clock wall;
static struct log quiet = {.level = 'E', .clock = &wall};
static struct credential_store *store;

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path, 0600);
}

static int set_up(void **state)
{
    struct credential_conf conf = {.dir = dir, .instance = "main", .log = &quiet};

    (void)state;
    clock_real_init(&wall);
    strcpy(dir, "/tmp/sql_users_test.XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/credentials", dir);
    write_file("# keys\n\nmain  root secret\nmain reader s2 ro:orders\nside other s3 rw:x*\nmain "
               "half s4 +rs,+w:a*\n");
    assert_int_equal(credential_store_open(&conf, &store, message, sizeof(message)), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    credential_store_close(store);
    unlink(path);
    return rmdir(dir);
}

static void expect_file(const char *expected)
{
    char text[2048] = "";
    FILE *f = fopen(path, "r");
    size_t n;

    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = 0;
    fclose(f);
    assert_string_equal(text, expected);
}

static int change(const char *by, struct user_change u)
{
    struct ctx c;
    int code;

    ctx_init(&c, &wall, NULL, NULL, 0);
    code = sql_user_change(store, bytes_str(by), &c, &u);
    snprintf(message, sizeof(message), "%s", code && c.text ? c.text : "");
    ctx_release(&c);
    return code;
}

static struct user_change of(enum user_action action, const char *user)
{
    return (struct user_change){
        .action = action, .user = bytes_str(user), .instance = BYTES_LIT("main")};
}

static int give(const char *by, const char *user, unsigned may, const char *table)
{
    struct user_change u = of(USER_GRANT, user);

    u.privileges = may;
    u.table = table ? bytes_str(table) : BYTES_NONE;
    return change(by, u);
}

static int take(const char *by, const char *user, unsigned may, const char *table)
{
    struct user_change u = of(USER_REVOKE, user);

    u.privileges = may;
    u.table = table ? bytes_str(table) : BYTES_NONE;
    return change(by, u);
}

static int make(const char *by, const char *user, const char *password)
{
    struct user_change u = of(USER_CREATE, user);

    u.password = bytes_str(password);
    return change(by, u);
}

static int set_password(const char *by, const char *user, const char *password)
{
    struct user_change u = of(USER_ALTER, user);

    u.password = bytes_str(password);
    return change(by, u);
}

#define HEAD "# keys\n\nmain  root secret\nmain reader s2 ro:orders\nside other s3 rw:x*\n"
#define FILE_BEFORE HEAD "main half s4 +rs,+w:a*\n"

/* All else in the file stays as it is, byte for byte. */
static void test_file(void **state)
{
    const struct credential *c;

    (void)state;
    assert_int_equal(make("root", "user1", "pw"), 0);
    expect_file(FILE_BEFORE "main user1 pw +\n");
    assert_int_equal(give("root", "user1", USER_MAY_READ | USER_MAY_WRITE, "orders"), 0);
    assert_int_equal(give("root", "user1", USER_MAY_READ, NULL), 0);
    expect_file(FILE_BEFORE "main user1 pw ro,+rw:orders\n");
    c = credential_find(store, BYTES_LIT("user1"));
    assert_non_null(c);
    assert_true(grants_allow(&c->grants, BYTES_LIT("orders"), GRANT_WRITE));
    assert_false(grants_allow(&c->grants, BYTES_LIT("orders"), GRANT_ADMIN));
    assert_false(grants_allow(&c->grants, BYTES_LIT("cards"), GRANT_WRITE));
    credential_release(c);
    assert_int_equal(take("root", "user1", USER_MAY_READ, NULL), 0);
    assert_int_equal(take("root", "user1", USER_MAY_READ, NULL), E_NOT_EXIST);
    assert_int_equal(take("root", "user1", USER_MAY_WRITE, "orders"), 0);
    expect_file(FILE_BEFORE "main user1 pw ro:orders\n");
    assert_int_equal(set_password("root", "user1", "other"), 0);
    assert_int_equal(set_password("user1", "user1", "own"), 0);
    expect_file(FILE_BEFORE "main user1 own ro:orders\n");
    assert_int_equal(change("root", of(USER_DROP, "user1")), 0);
    expect_file(FILE_BEFORE);
    assert_null(credential_find(store, BYTES_LIT("user1")));
}

static void test_names(void **state)
{
    static const char *const names[] = {"abc",      "abcdefghijklmnop", "lindorm", "system",
                                        "a b cdef", "abcd\n",           "",        "ab:cd"};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(names); i++)
        assert_int_equal(make("root", names[i], "pw"), E_PARAMETER);
    assert_int_equal(make("root", "user1", ""), E_PARAMETER);
    assert_int_equal(make("root", "user1", "a b"), E_PARAMETER);
    assert_int_equal(make("root", "user1", "a\nmain evil pw"), E_PARAMETER);
    assert_int_equal(make("root", "reader", "pw"), E_EXIST);
    assert_int_equal(change("root", of(USER_DROP, "nosuch")), E_NOT_EXIST);
    expect_file(FILE_BEFORE);
}

/* What each key must not be able to do. */
static void test_powers(void **state)
{
    (void)state;
    /* Without SYSTEM: nothing but one's own password. */
    assert_int_equal(make("reader", "user1", "pw"), E_PERMISSION);
    assert_int_equal(give("reader", "reader", USER_MAY_WRITE, "orders"), E_PERMISSION);
    assert_int_equal(set_password("reader", "root", "pw"), E_PERMISSION);
    assert_int_equal(change("reader", of(USER_DROP, "half")), E_PERMISSION);
    assert_int_equal(take("reader", "half", USER_MAY_READ, NULL), E_PERMISSION);
    /* With SYSTEM, no more than one has: reading all, and writing a*. */
    assert_int_equal(make("half", "user1", "pw"), 0);
    assert_int_equal(give("half", "user1", USER_MAY_READ, "orders"), 0);
    assert_int_equal(give("half", "user1", USER_MAY_WRITE, "abc"), 0);
    assert_int_equal(give("half", "user1", USER_MAY_WRITE, "orders"), E_PERMISSION);
    assert_int_equal(give("half", "user1", USER_MAY_WRITE, NULL), E_PERMISSION);
    assert_int_equal(give("half", "half", USER_MAY_ALL, NULL), E_PERMISSION);
    assert_int_equal(set_password("half", "root", "pw"), E_PERMISSION);
    assert_int_equal(set_password("half", "reader", "pw"), 0);
    assert_int_equal(change("half", of(USER_DROP, "root")), E_PERMISSION);
    assert_int_equal(take("half", "root", USER_MAY_ALL, NULL), E_PERMISSION);
    /* Of another database: root has nothing to say there. */
    assert_int_equal(set_password("root", "other", "pw"), E_PERMISSION);
    assert_int_equal(change("root", of(USER_DROP, "other")), E_PERMISSION);
    /* Nor does anybody shut himself out. */
    assert_int_equal(change("root", of(USER_DROP, "root")), E_PARAMETER);
    assert_int_equal(take("root", "root", USER_MAY_SYSTEM, NULL), E_PARAMETER);
    assert_int_equal(change("nobody", of(USER_DROP, "reader")), E_PERMISSION);
}

static void test_databases(void **state)
{
    struct user_change u = {.action = USER_CREATE_DATABASE, .instance = BYTES_LIT("fresh")};

    (void)state;
    assert_int_equal(change("reader", u), E_PERMISSION);
    assert_int_equal(change("root", u), 0);
    assert_int_equal(change("root", u), E_EXIST);
    expect_file(FILE_BEFORE "fresh root secret rw\n");
    u.instance = BYTES_LIT("SIDE"); /* somebody else's */
    assert_int_equal(change("root", u), E_EXIST);
    u.instance = BYTES_LIT("a b");
    assert_int_not_equal(change("root", u), 0);
    u.instance = BYTES_LIT("Default");
    assert_int_equal(change("root", u), E_PARAMETER);
    u = (struct user_change){.action = USER_DROP_DATABASE, .instance = BYTES_LIT("fresh")};
    assert_int_equal(change("half", u), E_PERMISSION);
    assert_int_equal(change("root", u), 0);
    expect_file(FILE_BEFORE);
    u.instance = BYTES_LIT("main");
    assert_int_equal(change("root", u), E_PARAMETER);
    assert_non_null(strstr(message, "the only one"));
}

static size_t seen_by(const char *by)
{
    struct user_grant *list;
    struct arena a;
    size_t n;

    arena_init(&a, NULL, 0);
    n = sql_user_grants(store, bytes_str(by), &a, &list);
    arena_release(&a);
    return n;
}

static void test_list(void **state)
{
    (void)state;
    assert_int_equal(seen_by("root"), 4);
    assert_int_equal(seen_by("reader"), 1);
    assert_int_equal(seen_by("other"), 1);
    assert_int_equal(seen_by("half"), 4);
    assert_int_equal(seen_by("nobody"), 0);
}

/* A file that was damaged by hand is left alone, and so are the keys. */
static void test_damaged(void **state)
{
    (void)state;
    write_file("main root\n");
    assert_int_not_equal(make("root", "user1", "pw"), 0);
    expect_file("main root\n");
    assert_int_equal(seen_by("root"), 4);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_powers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_databases, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
