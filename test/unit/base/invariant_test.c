#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/invariant.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a process that checks `value < 10` says on stderr; its wait status. */
static int check_in_child(int value, char *said, size_t size)
{
    int fds[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL); /* cmocka has a handler */
        dup2(fds[1], STDERR_FILENO);
        invariant(value < 10);
        _exit(0);
    }
    close(fds[1]);
    while (n < size - 1 && (got = read(fds[0], said + n, size - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = 0;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_what_holds_goes_on(void **state)
{
    char said[512];
    int status = check_in_child(9, said, sizeof(said));

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_string_equal(said, "");
}

static void test_what_does_not_hold_ends_the_process(void **state)
{
    char said[512];
    int status = check_in_child(10, said, sizeof(said));

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(said, "invariant_test.c:"));
    assert_non_null(strstr(said, "'value < 10' does not hold"));
}

static void test_the_condition_is_computed_once(void **state)
{
    int n = 0;

    (void)state;
    invariant(++n);
    assert_int_equal(n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_holds_goes_on),
        cmocka_unit_test(test_what_does_not_hold_ends_the_process),
        cmocka_unit_test(test_the_condition_is_computed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
