/* A folder keeps the profile of its table files that it was made with. */
#include "bed.h"

#include "engine/rocks.h"

#include <fcntl.h>

#define ROWS 2000
#define VALUE 1000

static const char *profile_path(const char *dir)
{
    static char path[300];

    snprintf(path, sizeof(path), "%s/db/PROFILE", dir);
    return path;
}

static void write_profile(const char *dir, const char *text)
{
    FILE *f = fopen(profile_path(dir), "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void expect_profile(const char *dir, const char *want)
{
    char text[8] = "";
    int fd = open(profile_path(dir), O_RDONLY);

    assert_int_equal(fd < 0, !want);
    if (!want)
        return;
    assert_int_equal(read(fd, text, sizeof(text)), strlen(want));
    assert_memory_equal(text, want, strlen(want));
    close(fd);
}

/* Rows, and all of them in the last level. What RocksDB says of its table files. */
static char *compacted(struct bed *b)
{
    struct rocks *r = PORT_CONTAINER(b->e, struct rocks, base);
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    rocksdb_compactoptions_t *o = rocksdb_compactoptions_create();
    char *err = NULL;

    bed_fill(b, "k", 0, ROWS, VALUE);
    rocksdb_flush(r->handle->db, flush, &err);
    assert_null(err);
    rocksdb_compactoptions_set_bottommost_level_compaction(o, 2);
    rocksdb_compact_range_opt(r->handle->db, o, NULL, 0, NULL, 0);
    rocksdb_compactoptions_destroy(o);
    rocksdb_flushoptions_destroy(flush);
    return rocksdb_property_value(r->handle->db, "rocksdb.aggregated-table-properties");
}

/* What the properties of the one table file name. */
static void expect_compression(struct bed *b, const char *want)
{
    struct rocks *r = PORT_CONTAINER(b->e, struct rocks, base);
    const rocksdb_livefiles_t *files = rocksdb_livefiles(r->handle->db);
    char path[400], *data = mem_alloc(ROWS * VALUE * 2);
    FILE *f;
    size_t n;

    assert_int_equal(rocksdb_livefiles_count(files), 1);
    snprintf(path, sizeof(path), "%s/db%s", b->dir, rocksdb_livefiles_name(files, 0));
    rocksdb_livefiles_destroy(files);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(data, 1, ROWS * VALUE * 2, f);
    fclose(f);
    for (size_t i = 0; i < 2; i++) {
        const char *name = i ? "ZSTD" : "LZ4";

        assert_int_equal(memmem(data, n, name, strlen(name)) != NULL, !strcmp(name, want));
    }
    mem_free(data);
}

static void expect_files(struct bed *b, size_t block_bytes, const char *compression)
{
    char *text = compacted(b);
    const char *blocks = strstr(text, "# data blocks=");
    unsigned long n = blocks ? strtoul(blocks + strlen("# data blocks="), NULL, 10) : 0;

    assert_in_range(n, ROWS * VALUE / block_bytes, ROWS * (VALUE + 100) / block_bytes * 5 / 4);
    rocksdb_free(text);
    expect_compression(b, compression);
}

static void test_new_folder(void **state)
{
    struct bed *b = *state;

    expect_files(b, 8192, "LZ4");
    expect_profile(b->dir, "1\n");
    bed_close(b);
    bed_open(b, "rocks");
    expect_files(b, 8192, "LZ4");
}

/* A folder of a build that wrote no number goes on as it was; so does its backup. */
static void test_older_folder(void **state)
{
    struct bed *b = *state;
    char copy[FOLDER_BYTES + 8];

    bed_close(b);
    unlink(profile_path(b->dir));
    bed_open(b, "rocks");
    expect_files(b, 16384, "ZSTD");
    snprintf(copy, sizeof(copy), "%s.copy", b->dir);
    bed_ctx_again(b);
    assert_int_equal(engine_checkpoint(&b->c, b->e, copy), E_OK);
    expect_profile(copy, NULL);
    folder_remove(copy);
}

static void test_copies_keep_it(void **state)
{
    struct bed *b = *state;
    char copy[FOLDER_BYTES + 8], restored[FOLDER_BYTES + 16];
    struct engine_conf conf = b->conf;

    snprintf(copy, sizeof(copy), "%s.copy", b->dir);
    snprintf(restored, sizeof(restored), "%s.restored", b->dir);
    bed_ctx_again(b);
    assert_int_equal(engine_checkpoint(&b->c, b->e, copy), E_OK);
    expect_profile(copy, "1\n");
    conf.dir = restored;
    assert_int_equal(engine_restore(&b->c, "rocks", &conf, copy), E_OK);
    expect_profile(restored, "1\n");
    folder_remove(copy);
    folder_remove(restored);
}

/* Nobody is kept out for it: every table file says how it is read. */
static void test_unknown_profile(void **state)
{
    struct bed *b = *state;

    assert_int_equal(bed_put(b, "a", "1"), E_OK);
    bed_close(b);
    write_profile(b->dir, "7\n");
    bed_open(b, "rocks");
    bed_expect(b, "a", "1");
    expect_files(b, 8192, "LZ4");
    bed_close(b);
    write_profile(b->dir, "");
    bed_open(b, "rocks");
    bed_expect(b, "a", "1");
    expect_files(b, 16384, "ZSTD");
}

static int setup(void **state)
{
    return bed_set_up(state, "rocks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_new_folder, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_older_folder, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_copies_keep_it, setup, bed_tear_down),
        cmocka_unit_test_setup_teardown(test_unknown_profile, setup, bed_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
