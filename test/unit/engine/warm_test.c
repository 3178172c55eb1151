/* What was read lately is remembered, and read back after a start. */
#include "bed.h"

#include "base/turn.h"
#include "engine/rocks.h"
#include "engine/warm_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#define ROWS 2000
#define VALUE 1000
#define READ_TIER_CACHE 1 /* of an enum that RocksDB's C header takes but does not name */

static const char *list_path(struct bed *b)
{
    static char path[FOLDER_BYTES + 8];

    snprintf(path, sizeof(path), "%s/WARM", b->dir);
    return path;
}

static bytes key_of(char text[16], unsigned n)
{
    return bytes_of(text, (size_t)snprintf(text, 16, "key%05u", n));
}

/* ---- the list */

static void expect_newest(struct warm_list *l, size_t back, const char *want)
{
    uint8_t key[WARM_KEY_BYTES];
    size_t len = warm_list_get(l, back, key);

    assert_int_equal(len, strlen(want));
    assert_memory_equal(key, want, len);
}

static void test_ring(void **state)
{
    struct warm_list *l = warm_list_new(3);
    uint8_t key[WARM_KEY_BYTES];
    char text[16], longest[WARM_KEY_BYTES + 1] = "";

    (void)state;
    assert_int_equal(warm_list_get(l, 0, key), 0);
    warm_list_add(l, bytes_of(longest, sizeof(longest)));
    warm_list_add(l, BYTES_NONE);
    assert_int_equal(warm_list_count(l), 0);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(warm_list_is_full(l) == (i >= 3));
        warm_list_add(l, key_of(text, i));
    }
    expect_newest(l, 0, "key00004");
    expect_newest(l, 2, "key00002");
    assert_int_equal(warm_list_get(l, 3, key), 0);
    warm_list_free(l);
}

/* Version 1 to the byte. */
static void test_file(void **state)
{
    static const uint8_t golden[] = {'W',  'R',  'W',  'A',  'R',  'M',  'K',  'Y',  1,   0,
                                     0,    0,    2,    0,    0,    0,    1,    'a',  2,   'b',
                                     0xff, 0x4c, 0x7d, 0x10, 0x7a, 0x7d, 0x01, 0x3a, 0x42};
    struct bed *b = *state;
    struct warm_list *l = warm_list_new(8), *small = warm_list_new(1);
    uint8_t file[sizeof(golden) + 1], key[WARM_KEY_BYTES];
    int fd;

    warm_list_add(l, BYTES_LIT("a"));
    warm_list_add(l, BYTES_LIT("b\xff"));
    assert_int_equal(warm_list_save(&b->c, l, list_path(b)), E_OK);
    fd = open(list_path(b), O_RDWR);
    assert_int_equal(pread(fd, file, sizeof(file), 0), sizeof(golden));
    assert_memory_equal(file, golden, sizeof(golden));
    warm_list_load(&b->c, small, list_path(b)); /* the newest that have room */
    expect_newest(small, 0, "b\xff");
    /* Any bit that is wrong, any end that is missing: nothing. */
    for (size_t i = 0; i < sizeof(golden); i++) {
        struct warm_list *none = warm_list_new(8);

        file[i] ^= 0x10;
        assert_int_equal(pwrite(fd, file, sizeof(golden), 0), sizeof(golden));
        warm_list_load(&b->c, none, list_path(b));
        file[i] ^= 0x10;
        assert_int_equal(pwrite(fd, file, i, 0), i);
        assert_int_equal(ftruncate(fd, (off_t)i), 0);
        warm_list_load(&b->c, none, list_path(b));
        assert_int_equal(warm_list_get(none, 0, key), 0);
        warm_list_free(none);
    }
    close(fd);
    warm_list_free(l);
    warm_list_free(small);
}

/* ---- the engine */

static void get_row(struct bed *b, unsigned n)
{
    char text[16];
    struct get g = {.key = key_of(text, n), .view = VIEW_DURABLE};
    struct turn turn = {0}; /* as a client's request has one */

    bed_ctx_again(b);
    b->c.turn = &turn;
    assert_int_equal(engine_get(&b->c, b->e, &g), E_OK);
    assert_true(g.found);
    b->c.turn = NULL;
}

static bool is_cached(struct bed *b, unsigned n)
{
    struct rocks *r = PORT_CONTAINER(b->e, struct rocks, base);
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();
    rocksdb_pinnableslice_t *slice;
    char text[16], *err = NULL;
    bytes key = key_of(text, n);

    rocksdb_readoptions_set_read_tier(o, READ_TIER_CACHE);
    slice = rocksdb_get_pinned(r->handle->db, o, key.ptr, key.len, &err);
    rocksdb_pinnableslice_destroy(slice);
    rocksdb_readoptions_destroy(o);
    rocksdb_free(err);
    return !err;
}

static struct warm step(struct bed *b, uint64_t bytes_max)
{
    struct warm w = {.bytes_max = bytes_max};

    bed_ctx_again(b);
    assert_int_equal(engine_warm(&b->c, b->e, &w), E_OK);
    return w;
}

/* Rows in table files, some of which were read, and a server that was closed and opened again. */
static void fill_read_and_reopen(struct bed *b)
{
    char text[16], value[VALUE];

    bed_open(b, "rocks");
    for (unsigned i = 0; i < ROWS; i++) {
        struct rocks *r = PORT_CONTAINER(b->e, struct rocks, base);
        rocksdb_writeoptions_t *o = rocksdb_writeoptions_create();
        bytes key = key_of(text, i);
        char *err = NULL;

        memset(value, (int)i, sizeof(value));
        rocksdb_put(r->handle->db, o, key.ptr, key.len, value, sizeof(value), &err);
        assert_null(err);
        rocksdb_writeoptions_destroy(o);
    }
    bed_ctx_again(b);
    bed_put(b, "last", "published");
    for (unsigned i = 0; i < 10; i++)
        get_row(b, i * 100);
    bed_close(b);
    bed_open(b, "rocks");
    assert_false(is_cached(b, 900));
}

static void test_read_back(void **state)
{
    struct bed *b = *state;
    struct warm w;

    fill_read_and_reopen(b);
    w = step(b, 1);
    assert_true(w.bytes && !w.ended);
    assert_true(is_cached(b, 900)); /* the newest first */
    assert_false(is_cached(b, 0));
    while (!step(b, 1 << 20).ended)
        ;
    for (unsigned i = 0; i < 10; i++)
        assert_true(is_cached(b, i * 100));
    assert_false(is_cached(b, 1950));
    /* Nothing was read since, and it is remembered as it was. */
    bed_close(b);
    bed_open(b, "rocks");
    assert_false(is_cached(b, 0));
    while (!step(b, 1 << 20).ended)
        ;
    assert_true(is_cached(b, 0));
}

static void test_gives_way(void **state)
{
    struct bed *b = *state;
    struct rocks *r;

    fill_read_and_reopen(b);
    r = PORT_CONTAINER(b->e, struct rocks, base);
    atomic_fetch_add(&r->disk_reads, 1);
    assert_true(step(b, 1 << 20).gave_way);
    assert_false(is_cached(b, 900));
    assert_false(step(b, 1).gave_way);
    assert_true(is_cached(b, 900));
}

/* It is worth nothing: without it, or with another one, the folder opens. */
static void test_damaged_list(void **state)
{
    struct bed *b = *state;

    fill_read_and_reopen(b);
    bed_close(b);
    assert_int_equal(truncate(list_path(b), 30), 0);
    bed_open(b, "rocks");
    assert_true(step(b, 1 << 20).ended);
    bed_close(b);
    unlink(list_path(b));
    bed_open(b, "rocks");
    assert_true(step(b, 1 << 20).ended);
    bed_expect(b, "last", "published");
}

static int setup(void **state)
{
    return bed_set_up(state, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),
        cmocka_unit_test_setup_teardown(test_file, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_read_back, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_gives_way, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_list, setup, bed_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
