/* Copies of a database's folder, and the scrub. */
#include "bed.h"

#include "base/fault.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#define ROWS 2000
#define VALUE 2000

static int setup(void **state)
{
    return bed_set_up(state, "rocks");
}

static const char *beside(struct bed *b, const char *name)
{
    static char path[2][100];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s-%s", b->dir, name);
    return path[turn];
}

static int checkpoint(struct bed *b, const char *dir)
{
    bed_ctx_again(b);
    return engine_checkpoint(&b->c, b->e, dir);
}

static int restore(struct bed *b, const char *from, const char *to)
{
    struct engine_conf conf = {.dir = to, .clock = &b->clock};

    bed_ctx_again(b);
    return engine_restore(&b->c, "rocks", &conf, from);
}

/* The largest table file of a folder. */
static void largest_table(const char *dir, char *out, size_t size)
{
    char db[200], path[400];
    off_t most = 0;
    struct dirent *entry;
    DIR *d;

    snprintf(db, sizeof(db), "%s/db", dir);
    d = opendir(db);
    assert_non_null(d);
    while ((entry = readdir(d))) {
        struct stat st;

        if (!strstr(entry->d_name, ".sst"))
            continue;
        snprintf(path, sizeof(path), "%s/%.100s", db, entry->d_name);
        if (stat(path, &st) == 0 && st.st_size > most) {
            most = st.st_size;
            snprintf(out, size, "%s", path);
        }
    }
    closedir(d);
    assert_true(most > 0);
}

static void flip_middle(const char *path)
{
    int fd = open(path, O_RDWR);
    off_t at = lseek(fd, 0, SEEK_END) / 2;
    uint8_t byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 4;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* A whole pass. Returns the damage it found, and its bytes. */
static int pass(struct bed *b, uint64_t *bytes_done, char *damage, size_t size)
{
    int found = 0;
    bool ended = false;

    *bytes_done = 0;
    while (!ended) {
        struct scrub s = {.bytes_max = 65536};

        bed_ctx_again(b);
        assert_int_equal(engine_scrub(&b->c, b->e, &s), E_OK);
        *bytes_done += s.bytes;
        if (s.damage) {
            found++;
            snprintf(damage, size, "%s", s.damage);
            assert_true(bytes_compare(s.range.start, s.range.end) < 0);
        }
        ended = s.ended;
    }
    return found;
}

static void test_copy_and_restore(void **state)
{
    struct bed *b = *state, copy;
    const char *to = beside(b, "copy"), *restored;

    bed_fill(b, "k", 0, ROWS, VALUE);
    assert_int_equal(bed_put(b, "a", "before"), E_OK);
    assert_int_equal(checkpoint(b, to), E_OK);
    assert_int_equal(bed_put(b, "a", "after"), E_OK);
    assert_int_equal(checkpoint(b, to), E_PARAMETER);
    restored = beside(b, "restored");
    assert_int_equal(restore(b, to, ""), E_OK);
    assert_int_equal(restore(b, to, restored), E_OK);
    assert_int_equal(restore(b, to, restored), E_PARAMETER);
    assert_int_equal(restore(b, b->dir, beside(b, "x")), E_LOCKED);
    bed_init(&copy);
    copy.conf.dir = beside(b, "restored");
    bed_open(&copy, "rocks");
    bed_expect(&copy, "a", "before");
    bed_expect(b, "a", "after");
    assert_int_equal(bed_put(&copy, "b", "1"), E_OK);
    bed_close(&copy);
    bed_open(&copy, "rocks");
    bed_expect(&copy, "b", "1");
    bed_release(&copy);
    folder_remove(beside(b, "copy"));
    folder_remove(beside(b, "restored"));
}

static void test_half_a_copy(void **state)
{
    struct bed *b = *state, copy;
    char path[200];

    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(checkpoint(b, beside(b, "copy")), E_OK);
    snprintf(path, sizeof(path), "%s/VERSION", beside(b, "copy"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(restore(b, beside(b, "copy"), ""), E_FORMAT);
    bed_init(&copy);
    copy.conf.dir = beside(b, "copy");
    assert_int_equal(bed_try_open(&copy, "rocks"), E_FORMAT);
    bed_release(&copy);
    folder_remove(beside(b, "copy"));
}

static void test_damaged_copy(void **state)
{
    struct bed *b = *state;
    char path[500];
    struct stat st;

    bed_fill(b, "k", 0, ROWS, VALUE);
    assert_int_equal(checkpoint(b, beside(b, "copy")), E_OK);
    largest_table(beside(b, "copy"), path, sizeof(path));
    flip_middle(path);
    assert_int_equal(restore(b, beside(b, "copy"), ""), E_CORRUPT);
    assert_non_null(strstr(b->c.text, strrchr(path, '/') + 1));
    assert_int_equal(restore(b, beside(b, "copy"), beside(b, "restored")), E_CORRUPT);
    assert_int_not_equal(stat(beside(b, "restored"), &st), 0);
    folder_remove(beside(b, "copy"));
}

static void test_scrub(void **state)
{
    struct bed *b = *state;
    char path[500], damage[1000] = "", scrub[100];
    uint64_t bytes_done;
    struct stat st;

    assert_int_equal(pass(b, &bytes_done, damage, sizeof(damage)), 0);
    assert_int_equal(bytes_done, 0);
    bed_fill(b, "k", 0, ROWS, VALUE);
    assert_int_equal(pass(b, &bytes_done, damage, sizeof(damage)), 0);
    assert_true(bytes_done >= ROWS * VALUE);
    largest_table(b->dir, path, sizeof(path));
    flip_middle(path);
    assert_int_equal(pass(b, &bytes_done, damage, sizeof(damage)), 1);
    assert_true(strncmp(damage, path, strlen(path)) == 0);
    snprintf(scrub, sizeof(scrub), "%s/scrub", b->dir);
    assert_int_not_equal(stat(scrub, &st), 0);
}

static void test_scrub_waits_for_space(void **state)
{
    struct bed *b = *state;
    struct scrub s = {.bytes_max = 65536};

    if (!fault_arm("rocks_disk_full:error:1+"))
        skip();     /* built without faults */
    usleep(150000); /* the disk is looked at every 100 ms */
    bed_ctx_again(b);
    assert_int_equal(engine_scrub(&b->c, b->e, &s), E_BUSY);
}

static void test_no_files(void **state)
{
    struct bed b;
    struct scrub s = {.bytes_max = 1};

    (void)state;
    bed_init(&b);
    bed_open(&b, "mem");
    assert_int_equal(checkpoint(&b, beside(&b, "copy")), E_UNSUPPORTED);
    bed_ctx_again(&b);
    assert_int_equal(engine_scrub(&b.c, b.e, &s), E_UNSUPPORTED);
    bed_ctx_again(&b);
    assert_int_equal(engine_restore(&b.c, "mem", &b.conf, "x"), E_UNSUPPORTED);
    bed_release(&b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, bed_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_copy_and_restore),      T(test_half_a_copy),
        T(test_damaged_copy),          T(test_scrub),
        T(test_scrub_waits_for_space), cmocka_unit_test(test_no_files),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
