/* Damage that the RocksDB engine comes upon while it is open: by compaction, and by the scrub. */
#include "damage_bed.h"

#include "engine/log_file.h"

/* A damaged block that compaction meets: writes go on, and so does what else is stored; the keys
 * are told; and when they are erased the file goes, and compaction goes on. */
static void test_compaction_meets_damage(void **state)
{
    struct key_range gap;
    char name[300];
    struct ctx c;
    struct bed b;
    int damaged, left = 0;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    meet_damage(&b, &c, name, &gap);
    assert_int_equal(bed_put(&b, "more", "1"), E_OK);
    bed_expect(&b, "more", "1");
    damaged = rows_damaged(&b, 0, LAYER_ROWS);
    assert_in_range(damaged, 1, LAYER_ROWS / LAYERS);
    for (int i = 0; i < LAYER_ROWS; i++) {
        if (!lies_in(layer_key(&b, i), &gap))
            assert_int_equal(rows_damaged(&b, i, i + 1), 0);
        else
            left++;
    }
    assert_true(left >= damaged && left < LAYER_ROWS / 2);

    forget_logged(&b);
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    assert_int_equal(bed_put(&b, "more", "2"), E_OK);
    expect_rows(&b, &gap);
    assert_int_not_equal(access(bed_path(&b, name), F_OK), 0);
    bed_close(&b);
    bed_open(&b, "rocks"); /* its list of files is whole */
    bed_expect(&b, "more", "2");
    bed_release(&b);
    ctx_release(&c);
}

/* Who hears of it late is told at once. */
static void test_damage_told_late(void **state)
{
    atomic_uint rings = 0;
    struct scrub told = {0};
    char name[300];
    struct bed b;

    (void)state;
    bed_init(&b);
    layers_make(&b);
    find_file(b.dir, "", ".sst", name, sizeof(name));
    flip_bit(&b, name, file_size(&b, name) / 3, 2);
    bed_open(&b, "rocks");
    wait_logged(&b, "nothing is compacted until");
    engine_watch_damage(b.e, count_rings, &rings);
    assert_int_equal(atomic_load(&rings), 1);
    bed_ctx_again(&b);
    assert_int_equal(engine_scrub(&b.c, b.e, &told), E_OK);
    assert_non_null(told.damage);
    engine_watch_damage(b.e, count_rings, &rings);
    assert_int_equal(atomic_load(&rings), 1); /* there is nothing new */
    bed_release(&b);
}

/* ---- the scrub */

#define NUMBER_FAR 1000000 /* between files whose names end alike: "000012.sst", "1000012.sst" */
#define NUMBER_TRIES 16
#define NEXT_FILE_NUMBER 3 /* of a MANIFEST's edit: what comes next */

static int file_number(const char *name)
{
    return atoi(name + strlen("db/"));
}

/* The next table file of the closed folder gets about that number. */
static void number_next(struct bed *b, uint64_t next)
{
    uint8_t entry[11] = {NEXT_FILE_NUMBER};
    char name[300];
    size_t n = 1;

    for (; next >= 0x80; next >>= 7)
        entry[n++] = (uint8_t)(next | 0x80);
    entry[n++] = (uint8_t)next;
    find_file(b->dir, "MANIFEST", "", name, sizeof(name));
    assert_int_equal(log_file_append(bed_path(b, name), bytes_of(entry, n)), 0);
}

static void bulk_one(struct bed *b, const char *key)
{
    struct bulk *bulk;

    assert_int_equal(engine_bulk(&b->c, b->e, 1, &bulk), E_OK);
    assert_int_equal(bulk_put(&b->c, bulk, bytes_str(key), BYTES_LIT("1")), E_OK);
    assert_int_equal(bulk_finish(&b->c, bulk), E_OK);
    bulk_close(bulk);
}

/* A folder with a file that has the rows, whose name is in `name`, and another one, listed behind
 * it, whose name ends so and which has other keys. */
static void make_namesakes(struct bed *b, char name[300])
{
    for (int i = 0; i < NUMBER_TRIES; i++) {
        char other[300];
        int low;

        bed_init_copy(b);
        find_file(b->dir, "", ".sst", name, 300);
        low = file_number(name);
        number_next(b, (uint64_t)(NUMBER_FAR + low - i));
        bed_open(b, "rocks");
        bulk_one(b, "zzz");
        find_file(b->dir, "", ".sst", other, sizeof(other)); /* the newest */
        if (file_number(other) == NUMBER_FAR + low)
            return;
        bed_release(b);
    }
    assert_true(false); /* no number fits */
}

static void test_scrub_names_the_right_range(void **state)
{
    struct scrub s = {.bytes_max = 1 << 20};
    char name[300];
    struct bed b;

    (void)state;
    make_namesakes(&b, name);
    bed_close(&b);
    flip_bit(&b, name, file_size(&b, name) / 3, 2);
    bed_open(&b, "rocks");
    while (!s.damage) {
        bed_ctx_again(&b);
        assert_int_equal(engine_scrub(&b.c, b.e, &s), E_OK);
        assert_false(s.ended && !s.damage);
    }
    assert_non_null(strstr(s.damage, name + strlen("db/")));
    assert_true(bytes_compare(s.range.start, BYTES_LIT("row0000")) >= 0);
    assert_true(bytes_compare(s.range.start, s.range.end) < 0);
    assert_true(bytes_compare(s.range.end, BYTES_LIT("row0300")) < 0);
    bed_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compaction_meets_damage),
        cmocka_unit_test(test_damage_told_late),
        cmocka_unit_test(test_scrub_names_the_right_range),
    };

    return cmocka_run_group_tests(tests, make_original, remove_original);
}
