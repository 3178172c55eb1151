/* Folders that the RocksDB engine refuses with a text that helps, and those that it makes. */
#include "bed.h"

#include <sys/stat.h>
#include <sys/wait.h>

static void test_folder_refused(void **state)
{
    struct bed b;
    char path[100];

    (void)state;
    bed_init(&b);
    snprintf(path, sizeof(path), "%s/not/there", b.dir);
    b.conf.dir = path;
    assert_int_equal(bed_try_open(&b, "rocks"), E_PARAMETER);
    assert_non_null(strstr(b.c.text, "mkdir -p"));
    assert_null(strchr(b.c.text, '\n'));

    snprintf(path, sizeof(path), "%s/file", b.dir);
    fclose(fopen(path, "w"));
    assert_int_equal(bed_try_open(&b, "rocks"), E_PARAMETER);
    assert_non_null(strstr(b.c.text, "is a file"));
    snprintf(path, sizeof(path), "%s/file/below", b.dir);
    assert_int_equal(bed_try_open(&b, "rocks"), E_PARAMETER);

    b.conf.dir = b.dir; /* holds "file" */
    assert_int_equal(bed_try_open(&b, "rocks"), E_FORMAT);
    assert_non_null(strstr(b.c.text, "'file'"));

    b.conf.dir = "/proc";
    assert_int_not_equal(bed_try_open(&b, "rocks"), E_OK);
    b.conf.dir = "";
    assert_int_equal(bed_try_open(&b, "rocks"), E_PARAMETER);
    bed_release(&b);
}

static void test_folder_unwritable(void **state)
{
    struct bed b;
    int status;
    pid_t child;

    (void)state;
    if (geteuid() != 0)
        skip();
    bed_init(&b);
    child = fork(); /* another user, which nothing stops from looking */
    if (child == 0) {
        if (setuid(65534) != 0)
            _exit(9);
        b.conf.dir = "/usr";
        if (bed_try_open(&b, "rocks") != E_UNAVAILABLE || !strstr(b.c.text, "chown"))
            _exit(1);
        b.conf.dir = "/usr/widerow";
        _exit(bed_try_open(&b, "rocks") == E_UNAVAILABLE && strstr(b.c.text, "chown") ? 0 : 2);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    bed_release(&b);
}

static void test_folder_locked(void **state)
{
    struct bed b;
    struct engine *second;
    char pid[32];

    (void)state;
    bed_init(&b);
    bed_open(&b, "rocks");
    assert_int_equal(engine_open(&b.c, "rocks", &b.conf, &second), E_LOCKED);
    snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
    assert_non_null(strstr(b.c.text, pid));
    bed_release(&b);
}

/* A crash while a folder is being made, at each step: the next start finishes it. */
static void test_folder_half_made(void **state)
{
    struct bed b;

    (void)state;
    bed_init(&b);
    mkdir(bed_path(&b, "db.new"), 0700);
    bed_open(&b, "rocks");
    bed_release(&b);

    bed_init(&b);
    mkdir(bed_path(&b, "db.new"), 0700);
    fclose(fopen(bed_path(&b, "WATERMARK"), "w"));
    bed_open(&b, "rocks");
    bed_release(&b);

#ifdef WR_FAULTS
    bed_init(&b);
    fault_arm("folder_half_made:error:1"); /* VERSION is there, db.new not yet renamed */
    assert_int_equal(bed_try_open(&b, "rocks"), E_UNAVAILABLE);
    fault_arm(NULL);
    bed_open(&b, "rocks");
    assert_int_equal(bed_put(&b, "a", "1"), E_OK);
    bed_release(&b);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_unwritable), /* forks, so before any thread */
        cmocka_unit_test(test_folder_refused),
        cmocka_unit_test(test_folder_locked),
        cmocka_unit_test(test_folder_half_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
