#include "bed.h"

#include "engine/watermark.h"

#include <fcntl.h>
#include <sys/stat.h>

struct file {
    struct clock clock;
    struct ctx c;
    char dir[FOLDER_BYTES], path[80];
};

static int setup(void **state)
{
    struct file *f = mem_zalloc(sizeof(*f));

    clock_set_init(&f->clock, 1000000);
    ctx_init(&f->c, &f->clock, NULL, NULL, 0);
    folder_make(f->dir);
    snprintf(f->path, sizeof(f->path), "%s/WATERMARK", f->dir);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct file *f = *state;

    ctx_release(&f->c);
    folder_remove(f->dir);
    mem_free(f);
    return 0;
}

static int open_code(struct file *f, struct watermark *w)
{
    ctx_clear(&f->c);
    return watermark_open(&f->c, f->path, w);
}

static uint64_t sequence_there(struct file *f)
{
    struct watermark w;
    uint64_t sequence;

    assert_int_equal(open_code(f, &w), E_OK);
    sequence = w.sequence;
    watermark_close(&w);
    return sequence;
}

static void flip(struct file *f, off_t at)
{
    int fd = open(f->path, O_RDWR);
    uint8_t byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void test_missing(void **state)
{
    struct file *f = *state;
    struct watermark w;

    assert_int_equal(open_code(f, &w), E_NOT_EXIST);
    assert_non_null(strstr(f->c.text, f->path));
}

static void test_create(void **state)
{
    struct file *f = *state;

    assert_int_equal(watermark_create(&f->c, f->path, 5), E_OK);
    assert_int_equal(sequence_there(f), 5);
    assert_int_equal(watermark_create(&f->c, f->path, 6), E_UNAVAILABLE); /* it exists */
    assert_int_equal(sequence_there(f), 5);
}

static void test_newest_slot_counts(void **state)
{
    struct file *f = *state;
    struct watermark w;

    assert_int_equal(watermark_create(&f->c, f->path, 0), E_OK);
    for (uint64_t round = 1; round < 6; round++) {
        assert_int_equal(open_code(f, &w), E_OK);
        for (uint64_t i = 0; i < round; i++)
            assert_int_equal(watermark_write(&w, round * 100 + i), 0);
        assert_int_equal(watermark_sync(&w), 0);
        watermark_close(&w);
        assert_int_equal(sequence_there(f), round * 100 + round - 1);
    }
}

/* Every flipped bit of the newest slot leaves the one before. */
static void test_damaged_slot(void **state)
{
    struct file *f = *state;
    struct watermark w;
    off_t newest;

    assert_int_equal(watermark_create(&f->c, f->path, 0), E_OK);
    assert_int_equal(open_code(f, &w), E_OK);
    watermark_write(&w, 10);
    watermark_write(&w, 20);
    newest = w.counter % 2 ? 0 : 4096;
    watermark_close(&w);
    assert_int_equal(sequence_there(f), 20);
    for (int i = 0; i < 56; i++) {
        flip(f, newest + i);
        assert_int_equal(sequence_there(f), 10);
        flip(f, newest + i);
    }
    assert_int_equal(sequence_there(f), 20);

    /* The next write goes into the damaged slot, not over the good one. */
    flip(f, newest + 30);
    assert_int_equal(open_code(f, &w), E_OK);
    watermark_write(&w, 30);
    watermark_close(&w);
    assert_int_equal(sequence_there(f), 30);
    flip(f, newest + 30);
    assert_int_equal(sequence_there(f), 10);

    flip(f, 4096 - newest + 30);
    assert_int_equal(open_code(f, &w), E_CORRUPT);
    assert_non_null(strstr(f->c.text, f->path));
}

static void test_cut_short(void **state)
{
    struct file *f = *state;
    struct watermark w;

    assert_int_equal(watermark_create(&f->c, f->path, 3), E_OK);
    assert_int_equal(truncate(f->path, 4096 + 20), 0);
    assert_int_equal(sequence_there(f), 3);
    assert_int_equal(truncate(f->path, 55), 0);
    assert_int_equal(open_code(f, &w), E_CORRUPT);
    assert_int_equal(truncate(f->path, 0), 0);
    assert_int_equal(open_code(f, &w), E_CORRUPT);
}

/* A sync at most every 100 ms. */
static void test_sync_paced(void **state)
{
    struct file *f = *state;
    struct watermark w;

    assert_int_equal(watermark_create(&f->c, f->path, 0), E_OK);
    assert_int_equal(open_code(f, &w), E_OK);
    watermark_write(&w, 1);
    assert_true(w.dirty); /* who writes it syncs nothing */
    assert_int_equal(watermark_sync_paced(&w), 0);
    assert_false(w.dirty); /* the last sync is long ago */
    watermark_write(&w, 2);
    assert_int_equal(watermark_sync_paced(&w), 0);
    assert_true(w.dirty);
    f->clock.set_us += 99999;
    watermark_write(&w, 3);
    assert_int_equal(watermark_sync_paced(&w), 0);
    assert_true(w.dirty);
    f->clock.set_us += 1;
    assert_int_equal(watermark_sync_paced(&w), 0);
    assert_false(w.dirty);
    watermark_write(&w, 5);
    assert_int_equal(watermark_sync(&w), 0);
    assert_false(w.dirty);
    watermark_close(&w);
}

/* The bytes on disk, as doc/format.md has them. */
static void test_golden(void **state)
{
    static const uint8_t golden[56] = {
        'W',  'R',  'W',  'A',  'T',  'E',  'R',  'M',
        2,    0,    0,    0,    0,    0,    0,    0,    /* magic, version, 0 */
        2,    0,    0,    0,    0,    0,    0,    0,    /* counter */
        0xF0, 0xDE, 0xBC, 0x9A, 0x78, 0x56, 0x34, 0x12, /* sequence number */
        0,    0,    0,    0,    0,    0,    0,    0,    /* MANIFEST: not known */
        0,    0,    0,    0,    0,    0,    0,    0,    /* its size */
        0x03, 0xe3, 0xd4, 0x7e, 0x9f, 0x5f, 0xa8, 0x38, /* checksum */
    };
    struct file *f = *state;
    uint8_t slot[56];
    int fd;

    assert_int_equal(watermark_create(&f->c, f->path, 0x123456789ABCDEF0), E_OK);
    fd = open(f->path, O_RDONLY);
    assert_int_equal(pread(fd, slot, sizeof(slot), 4096), 56);
    assert_int_equal(lseek(fd, 0, SEEK_END), 8192);
    close(fd);
    assert_memory_equal(slot, golden, 56);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_missing),      T(test_create),    T(test_newest_slot_counts),
        T(test_damaged_slot), T(test_cut_short), T(test_sync_paced),
        T(test_golden),
    };
#undef T

    return cmocka_run_group_tests(tests, NULL, NULL);
}
