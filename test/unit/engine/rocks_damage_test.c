/* Damage to the files of the RocksDB engine: it must be refused with a text that helps, or be
 * harmless, which means that all acknowledged data are there. Never may a read give a wrong answer.
 */
#include "damage_bed.h"

#include "engine/log_file.h"

/* Reads every row by get and by scan. The number of reads that met damage; a wrong answer fails the
 * test. */
static int check_rows(struct bed *b)
{
    struct key_range all = {BYTES_LIT("row"), BYTES_LIT("rox")};
    struct page page;
    struct scan s = {.ranges = &all,
                     .range_count = 1,
                     .items_max = ROWS + 1,
                     .bytes_max = SIZE_MAX,
                     .pages = &page};
    int damaged = 0, code;

    for (int i = 0; i < ROWS; i++) {
        struct get g = {.key = arena_printf(&b->c.arena, "row%04d", i)};

        code = engine_get(&b->c, b->e, &g);
        if (code == E_CORRUPT) {
            damaged++;
            continue;
        }
        assert_int_equal(code, E_OK);
        assert_true(g.found);
        assert_true(bytes_equal(g.value, row_value(&b->c, i)));
    }
    code = engine_scan(&b->c, b->e, &s);
    if (code == E_CORRUPT)
        return damaged + 1;
    assert_int_equal(code, E_OK);
    assert_int_equal(page.count, ROWS);
    for (int i = 0; i < ROWS; i++)
        assert_true(bytes_equal(page.items[i].value, row_value(&b->c, i)));
    return damaged;
}

struct sampler {
    int refused, harmless, noticed;
};

/* Opens the damaged copy. What a refusal says must name the folder and a way on. */
static void try_damaged(struct bed *b, struct sampler *t, const char *what)
{
    char name[100];
    int code;

    snprintf(name, sizeof(name), "%s", what); /* it may live in the arena */
    code = bed_try_open(b, "rocks");

    if (code == E_OK) {
        if (check_rows(b))
            t->noticed++;
        else
            t->harmless++;
    } else {
        if (getenv("WR_SHOW"))
            print_message("%s: %s: %s\n", name, err_info(code)->name, b->c.text);
        assert_true(code == E_CORRUPT || code == E_DATA_LOSS || code == E_FORMAT);
        assert_non_null(strstr(b->c.text, b->dir));
        assert_true(strstr(b->c.text, "Restore a backup") || strstr(b->c.text, "Use the release"));
        t->refused++;
    }
    bed_release(b);
}

static struct sampler flip_many(const char *name, int count)
{
    struct sampler t = {0};
    struct rng rng;

    rng_init(&rng, 7);
    for (int i = 0; i < count; i++) {
        struct bed b;
        off_t size, at;

        bed_init_copy(&b);
        size = file_size(&b, name);
        at = count >= size ? i % size : (off_t)((double)i / count * (double)size);
        flip_bit(&b, name, at, (int)rng_below(&rng, 8));
        try_damaged(&b, &t, arena_printf(&b.c.arena, "%s at %ld", name, (long)at).ptr);
    }
    print_message("%s: %d refused, %d noticed on reading, %d harmless\n", name, t.refused,
                  t.noticed, t.harmless);
    return t;
}

static void test_undamaged(void **state)
{
    struct bed b;
    struct sampler t = {0};

    (void)state;
    bed_init_copy(&b);
    try_damaged(&b, &t, "nothing");
    assert_int_equal(t.harmless, 1);
}

static void test_log_flipped(void **state)
{
    struct sampler t = flip_many(original_log, 40);

    (void)state;
    assert_int_equal(t.noticed, 0);
    assert_true(t.refused >= 38);
}

/* Where each record of a log or MANIFEST begins. */
static int record_offsets(const char *name, off_t *at, int max)
{
    char path[400];
    struct log_file f;
    struct log_record r;
    int n = 0;

    snprintf(path, sizeof(path), "%s/%s", original, name);
    assert_true(log_file_open(&f, path));
    while (n < max && log_file_next(&f, &r))
        at[n++] = (off_t)(f.end - r.payload.len - 7);
    log_file_close(&f);
    return n;
}

/* RocksDB takes a record of some types for the end of the file. */
static void test_manifest_record_types(void **state)
{
    off_t at[64];
    int n = record_offsets(original_manifest, at, 64);
    struct sampler t = {0};

    (void)state;
    assert_true(n >= 3);
    for (int i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct bed b;

            bed_init_copy(&b);
            flip_bit(&b, original_manifest, at[i] + 6, bit);
            try_damaged(&b, &t, "type of a MANIFEST record");
        }
    assert_int_equal(t.refused, n * 8);
}

/* Makes two logs of the one: the records from byte `at` on become a log of their own. */
static void split_log(struct bed *b, off_t at)
{
    static char rest[1 << 20];
    const char *path = bed_path(b, original_log);
    int in = open(path, O_RDWR), out = open(bed_path(b, "db/900000.log"), O_WRONLY | O_CREAT, 0600);
    ssize_t n = pread(in, rest, sizeof(rest), at);

    assert_true(n > 0 && out >= 0);
    assert_int_equal(write(out, rest, (size_t)n), n);
    assert_int_equal(ftruncate(in, at), 0);
    close(in);
    close(out);
}

/* The log before the newest: its end must not be lost behind the newest, which reaches the
 * watermark. */
static void test_older_log_record_types(void **state)
{
    off_t at[ROWS];
    int n = record_offsets(original_log, at, ROWS), split = 0;
    struct sampler t = {0};
    struct bed b;

    (void)state;
    while (split < n && at[split] < LOG_BLOCK_BYTES / 2)
        split++;
    assert_in_range(split, 10, n - 10);
    assert_true(at[n - 1] < LOG_BLOCK_BYTES); /* or what is moved would not begin a block */

    bed_init_copy(&b);
    split_log(&b, at[split]);
    try_damaged(&b, &t, "two logs");
    assert_int_equal(t.harmless, 1);
    for (int i = 0; i < split; i += split - 1)
        for (int bit = 0; bit < 8; bit++) {
            bed_init_copy(&b);
            split_log(&b, at[split]);
            flip_bit(&b, original_log, at[i] + 6, bit);
            try_damaged(&b, &t, "type of a record in the older log");
        }
    assert_int_equal(t.refused, 16);
    assert_int_equal(t.harmless, 1);
}

/* A kill may leave logs whose writes have gone to table files, and a power cut may take any part of
 * such a log: nobody reads them. */
static void test_old_log_left(void **state)
{
    static const uint8_t batch[7 + 12] = {[4] = 12, [6] = LOG_WHOLE, [7] = 1, [15] = 1};
    static const uint8_t zeros[100];
    static const struct {
        const char *what;
        const void *bytes;
        size_t size;
    } logs[] = {{"an old log", batch, sizeof(batch)},
                {"an old log of zeros", zeros, sizeof(zeros)}};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(logs); i++) {
        struct sampler t = {0};
        struct bed b;
        int fd;

        bed_init_copy(&b);
        fd = open(bed_path(&b, "db/000001.log"), O_WRONLY | O_CREAT, 0600);
        assert_int_equal(write(fd, logs[i].bytes, logs[i].size), logs[i].size);
        close(fd);
        try_damaged(&b, &t, logs[i].what);
        assert_int_equal(t.harmless, 1);
    }
}

static void test_log_cut(void **state)
{
    struct sampler t = {0};

    (void)state;
    for (int i = 0; i < 10; i++) {
        struct bed b;

        bed_init_copy(&b);
        assert_int_equal(truncate(bed_path(&b, original_log), file_size(&b, original_log) * i / 10),
                         0);
        try_damaged(&b, &t, "log cut");
    }
    assert_int_equal(t.refused, 10);
}

static void test_log_deleted(void **state)
{
    struct bed b;

    (void)state;
    bed_init_copy(&b);
    assert_int_equal(unlink(bed_path(&b, original_log)), 0);
    assert_int_equal(bed_try_open(&b, "rocks"), E_DATA_LOSS);
    assert_non_null(strstr(b.c.text, "150 missing"));
    assert_non_null(strstr(b.c.text, "--accept-data-loss"));
    bed_release(&b);
}

static void test_manifest_flipped(void **state)
{
    (void)state;
    assert_int_equal(flip_many(original_manifest, 40).noticed, 0);
}

static void test_current_flipped(void **state)
{
    (void)state;
    assert_int_equal(flip_many("db/CURRENT", 16).noticed, 0);
}

static void test_table_flipped(void **state)
{
    (void)state;
    flip_many(original_table, 40);
}

static void test_files_deleted(void **state)
{
    const char *const names[] = {original_manifest, original_table, "db/CURRENT", "WATERMARK",
                                 "VERSION"};

    (void)state;
    for (size_t i = 0; i < PORT_COUNT(names); i++) {
        struct bed b;
        struct sampler t = {0};

        bed_init_copy(&b);
        assert_int_equal(unlink(bed_path(&b, names[i])), 0);
        try_damaged(&b, &t, names[i]);
        assert_int_equal(t.refused, 1);
    }
}

/* A table file that is gone, and nothing to restore: the rest is still to be had. */
static void test_accept_lost_table(void **state)
{
    struct bed b;

    (void)state;
    bed_init_copy(&b);
    unlink(bed_path(&b, original_table));
    b.conf.accept_data_loss = true;
    bed_open(&b, "rocks");
    bed_expect(&b, "row0000", "-");
    assert_string_not_equal(bed_get(&b, "row0299", VIEW_DURABLE), "-");
    bed_release(&b);
}

static void test_whole_database_deleted(void **state)
{
    struct bed b;
    struct sampler t = {0};

    (void)state;
    bed_init_copy(&b);
    folder_remove(bed_path(&b, "db"));
    try_damaged(&b, &t, "db deleted");
    assert_int_equal(t.refused, 1);
}

static void test_watermark_damaged(void **state)
{
    struct bed b;
    struct sampler t = {0};

    (void)state;
    /* One slot: the other speaks. */
    for (int slot = 0; slot < 2; slot++) {
        bed_init_copy(&b);
        flip_bit(&b, "WATERMARK", slot * 4096 + 26, 3);
        try_damaged(&b, &t, "one slot");
    }
    assert_int_equal(t.harmless, 2);
    bed_init_copy(&b);
    flip_bit(&b, "WATERMARK", 26, 3);
    flip_bit(&b, "WATERMARK", 4096, 3);
    try_damaged(&b, &t, "both slots");
    bed_init_copy(&b);
    assert_int_equal(truncate(bed_path(&b, "WATERMARK"), 0), 0);
    try_damaged(&b, &t, "empty watermark");
    assert_int_equal(t.refused, 2);
}

static void test_version_other(void **state)
{
    struct bed b;
    FILE *f;

    (void)state;
    bed_init_copy(&b);
    f = fopen(bed_path(&b, "VERSION"), "w");
    fputs("widerow data 2\n", f);
    fclose(f);
    assert_int_equal(bed_try_open(&b, "rocks"), E_FORMAT);
    assert_non_null(strstr(b.c.text, "'widerow data 2'"));
    assert_non_null(strstr(b.c.text, "'widerow data 1'"));
    bed_release(&b);
}

/* The loss is accepted once; then the database is as good as any. */
static void accept_and_go_on(struct bed *b, const char *word)
{
    b->conf.accept_data_loss = true;
    bed_open(b, "rocks");
    assert_non_null(strstr(b->logged, word));
    assert_int_equal(bed_put(b, "more", "1"), E_OK);
    bed_close(b);
    b->conf.accept_data_loss = false;
    bed_open(b, "rocks");
    bed_expect(b, "more", "1");
    assert_string_not_equal(bed_get(b, "row0000", VIEW_DURABLE), "-");
    bed_release(b);
}

static void test_accept_loss(void **state)
{
    struct bed b;

    (void)state;
    bed_init_copy(&b);
    flip_bit(&b, original_log, file_size(&b, original_log) / 2, 0);
    assert_int_equal(bed_try_open(&b, "rocks"), E_DATA_LOSS);
    accept_and_go_on(&b, "accepted the loss");

    bed_init_copy(&b);
    unlink(bed_path(&b, original_log));
    accept_and_go_on(&b, "accepted the loss");

    bed_init_copy(&b);
    unlink(bed_path(&b, "WATERMARK"));
    accept_and_go_on(&b, "WATERMARK is unreadable");

    bed_init_copy(&b);
    unlink(bed_path(&b, original_manifest));
    accept_and_go_on(&b, "collecting what can be read");

    bed_init_copy(&b);
    unlink(bed_path(&b, "db/CURRENT"));
    accept_and_go_on(&b, "collecting what can be read");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undamaged),
        cmocka_unit_test(test_log_flipped),
        cmocka_unit_test(test_manifest_record_types),
        cmocka_unit_test(test_older_log_record_types),
        cmocka_unit_test(test_old_log_left),
        cmocka_unit_test(test_log_cut),
        cmocka_unit_test(test_log_deleted),
        cmocka_unit_test(test_manifest_flipped),
        cmocka_unit_test(test_current_flipped),
        cmocka_unit_test(test_table_flipped),
        cmocka_unit_test(test_files_deleted),
        cmocka_unit_test(test_accept_lost_table),
        cmocka_unit_test(test_whole_database_deleted),
        cmocka_unit_test(test_watermark_damaged),
        cmocka_unit_test(test_version_other),
        cmocka_unit_test(test_accept_loss),
    };

    return cmocka_run_group_tests(tests, make_original, remove_original);
}
