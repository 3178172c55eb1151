/* Bulk: many large values past the log, on every engine that needs no cluster; and on RocksDB that
 * they never hide the loss of what was acknowledged. */
#include "bed.h"

#include "base/buf.h"
#include "base/fault.h"
#include "base/rng.h"

#include <dirent.h>
#include <sys/stat.h>

#define VALUES 300
#define VALUE_BYTES 100000

static const char *engine_name;

static int setup(void **state)
{
    return bed_set_up(state, engine_name);
}

static bool is_mem(void)
{
    return strcmp(engine_name, "mem") == 0;
}

static bytes value_of(struct bed *b, int i)
{
    uint8_t *v = arena_alloc(&b->c.arena, VALUE_BYTES);

    struct rng rng;

    rng_init(&rng, (uint64_t)i); /* nothing that could be packed */
    for (size_t j = 0; j < VALUE_BYTES; j += 8)
        store_u64(v + j, rng_next(&rng));
    return bytes_of(v, VALUE_BYTES);
}

static struct bulk *begin(struct bed *b, int count)
{
    struct bulk *bulk;

    assert_int_equal(engine_bulk(&b->c, b->e, 7, &bulk), E_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(
            bulk_put(&b->c, bulk, arena_printf(&b->c.arena, "big%06d", i), value_of(b, i)), E_OK);
    return bulk;
}

static void check_values(struct bed *b, int count, enum engine_view view)
{
    for (int i = 0; i < count; i++) {
        struct get g = {
            .key = arena_printf(&b->c.arena, "big%06d", i), .view = view, .once = i % 2 == 0};

        assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
        assert_true(g.found);
        assert_true(bytes_equal(g.value, value_of(b, i)));
        if (i % 50 == 0)
            bed_ctx_again(b);
    }
}

static size_t count_keys(struct bed *b)
{
    struct key_range range = {BYTES_LIT("big"), BYTES_LIT("bih")};
    struct page page;
    struct scan s = {.ranges = &range,
                     .range_count = 1,
                     .items_max = 10000,
                     .bytes_max = (size_t)1 << 30,
                     .pages = &page};

    assert_int_equal(engine_scan(&b->c, b->e, &s), E_OK);
    return page.count;
}

static void test_bulk(void **state)
{
    struct bed *b = *state;
    struct bulk *bulk;

    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_put(b, "c", "1"), E_OK);
    bulk = begin(b, VALUES);
    assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
    bulk_close(bulk);
    check_values(b, VALUES, VIEW_DURABLE);
    check_values(b, VALUES, VIEW_LATEST);
    if (is_mem())
        return;
    bed_close(b);
    bed_open(b, engine_name);
    check_values(b, VALUES, VIEW_DURABLE);
    bed_expect(b, "c", "1");
}

static void test_empty(void **state)
{
    struct bed *b = *state;
    struct bulk *bulk = begin(b, 0);

    assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
    bulk_close(bulk);
    bulk_close(NULL);
}

static void test_given_up(void **state)
{
    struct bed *b = *state;
    const struct key_range range = {BYTES_LIT("big"), BYTES_LIT("bih")};
    const struct partition_spec p = {.id = 7, .ranges = &range, .range_count = 1};

    bulk_close(begin(b, 20));
    assert_int_equal(engine_erase(&b->c, b->e, &p), E_OK);
    assert_int_equal(count_keys(b), 0);
}

/* Of the files whose names end so. */
static uint64_t disk_bytes(const char *dir, const char *end)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    uint64_t sum = 0;

    while (d && (entry = readdir(d))) {
        size_t n = strlen(entry->d_name), m = strlen(end);
        struct stat st;

        if (n >= m && !strcmp(entry->d_name + n - m, end) &&
            fstatat(dirfd(d), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
    }
    if (d)
        closedir(d);
    return sum;
}

/* Whether the values have files of their own or share them with others. */
static void check_erase(struct bed *b, bool own_files)
{
    const struct key_range range = {BYTES_LIT("big"), BYTES_LIT("bih")};
    const struct partition_spec p = {.id = 7, .ranges = &range, .range_count = 1};
    const char *db = arena_printf(&b->c.arena, "%s/db", b->dir).ptr;
    uint64_t size;

    db = mem_strdup(db);
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_put(b, "c", "1"), E_OK);
    if (own_files) {
        struct bulk *bulk = begin(b, VALUES);

        assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
        bulk_close(bulk);
    } else {
        for (int i = 0; i < VALUES; i++) {
            struct edit edit = {EDIT_PUT, arena_printf(&b->c.arena, "big%06d", i), value_of(b, i)};

            assert_int_equal(bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1}),
                             E_OK);
        }
        if (!is_mem()) {
            bed_close(b);
            bed_open(b, engine_name); /* the log becomes a table file */
        }
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(engine_erase(&b->c, b->e, &p), E_OK);
        assert_int_equal(count_keys(b), 0);
    }
    bed_expect(b, "a", "1");
    bed_expect(b, "c", "1");
    assert_int_equal(engine_size(&b->c, b->e, &p, &size), E_OK);
    assert_true(size < (1 << 20));
    if (!is_mem()) {
        bed_close(b);
        bed_open(b, engine_name);
        assert_int_equal(count_keys(b), 0);
        assert_true(disk_bytes(db, "") < VALUES * VALUE_BYTES / 4);
    }
    mem_free((void *)db);
}

static void test_erase(void **state)
{
    check_erase(*state, true);
}

static void test_erase_shared(void **state)
{
    check_erase(*state, false);
}

static void run_shell(const char *command)
{
    assert_int_equal(system(command), 0);
}

/* A copy of the folder as a crash would leave it; with `cut`, the live log has lost its end. */
static void crash_copy(struct bed *b, struct bed *copy, bool cut)
{
    char command[400];

    bed_init(copy);
    snprintf(command, sizeof(command), "rm -rf %s && cp -r %s %s", copy->dir, b->dir, copy->dir);
    run_shell(command);
    if (!cut)
        return;
    snprintf(command, sizeof(command),
             "f=$(ls %s/db/*.log | tail -n 1) && truncate -s $(($(stat -c %%s $f) / 2)) $f",
             copy->dir);
    run_shell(command);
}

static void check_copy(struct bed *b, bool cut, size_t keys)
{
    struct bed copy;

    crash_copy(b, &copy, cut);
    if (cut) {
        assert_int_equal(bed_try_open(&copy, engine_name), E_DATA_LOSS);
        copy.e = NULL;
    } else {
        bed_open(&copy, engine_name);
        bed_expect(&copy, "row99", "1");
        assert_int_equal(count_keys(&copy), keys);
    }
    ctx_release(&copy.c);
    if (copy.e)
        engine_close(copy.e);
    folder_remove(copy.dir);
}

/* The MANIFEST that lists the new files must not make the database look as if its log were whole.
 */
static void test_no_loss_is_hidden(void **state)
{
    struct bed *b = *state;
    struct bulk *bulk;

    if (is_mem())
        skip();
    for (int i = 0; i < 100; i++)
        assert_int_equal(bed_put(b, arena_printf(&b->c.arena, "row%02d", i).ptr, "1"), E_OK);
    check_copy(b, true, 0);
    bulk = begin(b, 30);
    check_copy(b, false, 0);
    assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
    bulk_close(bulk);
    check_copy(b, false, 30);
    check_copy(b, true, 30);
    assert_int_equal(bed_put(b, "row99", "1"), E_OK);
    check_copy(b, false, 30);
    check_copy(b, true, 30);
}

/* Unfinished files are gone with the next start. */
static void test_leftovers(void **state)
{
    struct bed *b = *state, copy;
    struct bulk *bulk;
    char path[128];

    if (is_mem())
        skip();
    bulk = begin(b, 30);
    crash_copy(b, &copy, false);
    snprintf(path, sizeof(path), "%s/bulk", copy.dir);
    assert_int_equal(access(path, F_OK), 0);
    bed_open(&copy, engine_name);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(count_keys(&copy), 0);
    bed_release(&copy);
    bulk_close(bulk);
    snprintf(path, sizeof(path), "%s/bulk", b->dir);
    assert_int_equal(disk_bytes(path, ""), 0);
}

struct asker {
    pthread_t thread;
    struct bed *bed;
    atomic_bool stop;
};

/* Asks for sizes, for which RocksDB holds on to its table files. */
static void *ask_sizes(void *arg)
{
    const struct key_range range = {BYTES_LIT("big"), BYTES_LIT("bih")};
    const struct partition_spec p = {.id = 7, .ranges = &range, .range_count = 1};
    struct asker *a = arg;
    struct ctx c;
    uint64_t size;

    ctx_init(&c, &a->bed->clock, &a->bed->log, NULL, 0);
    while (!atomic_load(&a->stop))
        assert_int_equal(engine_size(&c, a->bed->e, &p, &size), E_OK);
    ctx_release(&c);
    return NULL;
}

/* A table file that is erased while somebody asks for its size goes from the disk, too, though
 * nothing is written afterwards. */
static void test_erase_beside_readers(void **state)
{
    const struct key_range range = {BYTES_LIT("big"), BYTES_LIT("bih")};
    const struct partition_spec p = {.id = 7, .ranges = &range, .range_count = 1};
    struct bed *b = *state;
    struct asker askers[4];
    char path[FOLDER_BYTES + 8];

    if (is_mem())
        skip();
    snprintf(path, sizeof(path), "%s/db", b->dir);
    for (size_t i = 0; i < PORT_COUNT(askers); i++) {
        askers[i] = (struct asker){.bed = b};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_sizes, &askers[i]), 0);
    }
    for (int i = 0; i < 30; i++) {
        struct bulk *bulk = begin(b, 10);

        assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
        bulk_close(bulk);
        assert_int_equal(engine_erase(&b->c, b->e, &p), E_OK);
        bed_ctx_again(b);
        while (disk_bytes(path, ".sst") > VALUE_BYTES)
            usleep(1000);
    }
    for (size_t i = 0; i < PORT_COUNT(askers); i++) {
        atomic_store(&askers[i].stop, true);
        pthread_join(askers[i].thread, NULL);
    }
}

/* Many small values in any order. */
static struct bulk *sort_begin(struct bed *b, int count)
{
    struct bulk *bulk;
    uint64_t written = 0;
    bool ended = false;

    assert_int_equal(engine_sort(&b->c, b->e, 7, &bulk), E_OK);
    for (int i = 0; i < count; i++) {
        int n = (int)((int64_t)i * 7919 % count);
        bytes key = arena_printf(&b->c.arena, "big%06d", n);

        assert_int_equal(bulk_put(&b->c, bulk, key, key), E_OK);
    }
    while (!ended)
        assert_int_equal(bulk_merge(&b->c, bulk, &written, &ended), E_OK);
    assert_int_equal(written, 18 * count);
    return bulk;
}

#define SORTED 50000 /* some runs: the bed has little memory */

static void test_sorted(void **state)
{
    struct bed *b = *state;
    struct bulk *bulk;

    assert_int_equal(engine_sorts(b->e), !is_mem());
    if (is_mem())
        return;
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    assert_int_equal(bed_put(b, "c", "1"), E_OK);
    bulk_close(sort_begin(b, SORTED)); /* given up */
    assert_int_equal(count_keys(b), 0);
    bulk = sort_begin(b, SORTED);
    assert_int_equal(count_keys(b), 0);
    assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
    bulk_close(bulk);
    bed_close(b);
    bed_open(b, engine_name);
    for (int i = 0; i < SORTED; i += 17) {
        bytes key = arena_printf(&b->c.arena, "big%06d", i);
        struct get g = {.key = key, .view = VIEW_DURABLE};

        assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
        assert_true(g.found && bytes_equal(g.value, key));
    }
    bed_expect(b, "c", "1");
}

#ifdef WR_FAULTS
static void test_full_disk(void **state)
{
    struct bed *b = *state;
    struct bulk *bulk;

    if (is_mem())
        skip();
    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    bulk = begin(b, 3);
    usleep(150000); /* the disk is asked about only now and then */
    assert_true(fault_arm("rocks_disk_full:error:1+"));
    assert_int_equal(bulk_put(&b->c, bulk, BYTES_LIT("big1"), BYTES_LIT("x")), E_NO_SPACE);
    bulk_close(bulk);
    fault_arm(NULL);
    usleep(150000);
    assert_int_equal(bed_put(b, "b", "1"), E_OK);
    assert_int_equal(count_keys(b), 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bulk, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_empty, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_given_up, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_erase, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_erase_shared, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_erase_beside_readers, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_no_loss_is_hidden, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_leftovers, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_sorted, setup, bed_tear_down),
#ifdef WR_FAULTS
        cmocka_unit_test_setup_teardown(test_full_disk, setup, bed_tear_down),
#endif
    };
    static const char *const engines[] = {"mem", "rocks"};
    int failed = 0;

    for (size_t i = 0; i < PORT_COUNT(engines); i++) {
        engine_name = engines[i];
        printf("engine %s\n", engine_name);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
