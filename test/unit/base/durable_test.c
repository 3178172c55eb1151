/* A file that takes another one's place: whole or not at all, and nothing else is left. */
#include "base/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define BIG (1u << 20)

static char dir[] = "/tmp/widerow-durable-XXXXXX";

static int enter(void **state)
{
    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    unlink("a");
    rmdir("a");
    return chdir("/") == 0 && rmdir(dir) == 0 ? 0 : -1; /* fails if anything else is left */
}

static void expect_text(const char *path, const char *text)
{
    char there[64] = "";
    int fd = open(path, O_RDONLY);
    ssize_t n;

    assert_true(fd >= 0);
    n = read(fd, there, sizeof(there) - 1);
    close(fd);
    assert_int_equal(n, strlen(text));
    assert_string_equal(there, text);
}

static void test_replaces(void **state)
{
    struct stat st;
    char path[64];

    (void)state;
    umask(022);
    assert_int_equal(durable_replace("a", "a.new", 0666, BYTES_LIT("first")), 0);
    expect_text("a", "first");
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    /* What a killed one left is no hindrance, nor does its mode count. */
    assert_int_equal(close(open("a.new", O_WRONLY | O_CREAT, 0666)), 0);
    snprintf(path, sizeof(path), "%s/a", dir);
    assert_int_equal(durable_replace(path, "a.new", 0600, BYTES_LIT("second")), 0);
    expect_text("a", "second");
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(durable_replace("a", "a.new", 0600, BYTES_NONE), 0);
    expect_text("a", "");
}

/* Somebody may have put a link there, to have its target written over. */
static void test_follows_no_link(void **state)
{
    (void)state;
    assert_int_equal(durable_replace("b", "b.new", 0600, BYTES_LIT("mine")), 0);
    assert_int_equal(symlink("b", "a.new"), 0);
    assert_int_equal(durable_replace("a", "a.new", 0600, BYTES_LIT("other")), 0);
    expect_text("a", "other");
    expect_text("b", "mine");
    unlink("b");
}

static void test_no_folder(void **state)
{
    (void)state;
    assert_int_equal(durable_replace("no/a", "no/a.new", 0600, BYTES_LIT("x")), ENOENT);
    assert_int_equal(durable_folder("no"), ENOENT);
    assert_int_equal(durable_replace("a", "a.new", 0600, BYTES_LIT("x")), 0);
    assert_int_equal(durable_folder("a"), ENOTDIR);
    assert_int_equal(durable_replace("a/b", "a/b.new", 0600, BYTES_LIT("x")), ENOTDIR);
    assert_int_equal(durable_folder("."), 0);
    assert_int_equal(durable_folder("/proc"), EINVAL);
}

static void test_cannot_be_named(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0700), 0);
    assert_int_equal(durable_replace("a", "a.new", 0600, BYTES_LIT("x")), EISDIR);
    assert_int_equal(access("a.new", F_OK), -1);
    assert_int_equal(durable_rename("none", "a"), ENOENT);
    /* Nor made: a folder has the name. */
    assert_int_equal(mkdir("b.new", 0700), 0);
    assert_int_equal(durable_replace("b", "b.new", 0600, BYTES_LIT("x")), EISDIR);
    assert_int_equal(access("b", F_OK), -1);
    assert_int_equal(rmdir("b.new"), 0);
}

/* As on a full disk: a part of it was written. */
static void test_no_room(void **state)
{
    struct rlimit before, small;
    char *data = calloc(1, BIG);

    (void)state;
    assert_non_null(data);
    assert_int_equal(durable_replace("a", "a.new", 0600, BYTES_LIT("old")), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = BIG / 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(durable_replace("a", "a.new", 0600, bytes_of(data, BIG)), EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    free(data);
    expect_text("a", "old");
    assert_int_equal(access("a.new", F_OK), -1);
}

static void test_rename(void **state)
{
    (void)state;
    assert_int_equal(durable_replace("b", "b.new", 0600, BYTES_LIT("b")), 0);
    assert_int_equal(durable_rename("b", "a"), 0);
    expect_text("a", "b");
    assert_int_equal(access("b", F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replaces, enter, leave),
        cmocka_unit_test_setup_teardown(test_follows_no_link, enter, leave),
        cmocka_unit_test_setup_teardown(test_no_folder, enter, leave),
        cmocka_unit_test_setup_teardown(test_cannot_be_named, enter, leave),
        cmocka_unit_test_setup_teardown(test_no_room, enter, leave),
        cmocka_unit_test_setup_teardown(test_rename, enter, leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
