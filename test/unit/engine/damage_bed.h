/* damage_bed.h: a folder of the RocksDB engine of which copies are damaged, and one whose damage
 * compaction comes upon. */
#ifndef TEST_ENGINE_DAMAGE_BED_H
#define TEST_ENGINE_DAMAGE_BED_H

#include "bed.h"

#include "base/rng.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define ROWS 300
#define VALUE_BYTES 120

/* The folder all damage is done to copies of: half of the rows in a table file, half in the live
 * log. */
static char original[64];
static char original_log[300], original_table[300], original_manifest[300];

static inline bytes row_value(struct ctx *c, int i)
{
    struct rng rng;
    char *v = arena_alloc(&c->arena, VALUE_BYTES);

    rng_init(&rng, (uint64_t)i);
    for (int j = 0; j < VALUE_BYTES; j++)
        v[j] = (char)('a' + rng_below(&rng, 26));
    return bytes_of(v, VALUE_BYTES);
}

static inline void put_rows(struct bed *b, int from, int to)
{
    for (int i = from; i < to; i++) {
        struct edit edit = {EDIT_PUT, arena_printf(&b->c.arena, "row%04d", i), row_value(&b->c, i)};

        assert_int_equal(bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1}),
                         E_OK);
    }
}

/* The newest file of `dir`/db whose name starts or ends so. */
static inline void find_file(const char *dir, const char *head, const char *tail, char *out,
                             size_t size)
{
    char path[100];
    struct dirent *entry;
    DIR *d;

    snprintf(path, sizeof(path), "%s/db", dir);
    d = opendir(path);
    assert_non_null(d);
    out[0] = 0;
    while ((entry = readdir(d))) {
        size_t n = strlen(entry->d_name), t = strlen(tail);
        char name[300];

        if (strncmp(entry->d_name, head, strlen(head)) != 0 || n < t ||
            strcmp(entry->d_name + n - t, tail) != 0)
            continue;
        snprintf(name, sizeof(name), "db/%s", entry->d_name);
        if (strcmp(name, out) > 0)
            snprintf(out, size, "%s", name);
    }
    closedir(d);
    assert_true(out[0]);
}

static inline int make_original(void **state)
{
    struct bed b;

    (void)state;
    bed_init(&b);
    bed_open(&b, "rocks");
    put_rows(&b, 0, ROWS / 2);
    bed_close(&b);
    bed_open(&b, "rocks"); /* recovery turns the log into a table file */
    put_rows(&b, ROWS / 2, ROWS);
    bed_close(&b);
    snprintf(original, sizeof(original), "%s", b.dir);
    find_file(original, "", ".log", original_log, sizeof(original_log));
    find_file(original, "", ".sst", original_table, sizeof(original_table));
    find_file(original, "MANIFEST", "", original_manifest, sizeof(original_manifest));
    ctx_release(&b.c);
    return 0;
}

static inline int remove_original(void **state)
{
    (void)state;
    folder_remove(original);
    return 0;
}

static inline void copy_file(const char *from, const char *to)
{
    static char block[1 << 16];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n;

    assert_true(in >= 0 && out >= 0);
    while ((n = read(in, block, sizeof(block))) > 0)
        assert_int_equal(write(out, block, (size_t)n), n);
    close(in);
    close(out);
}

static inline void copy_dir(const char *from, const char *to)
{
    struct dirent *entry;
    DIR *d = opendir(from);

    assert_non_null(d);
    mkdir(to, 0700);
    while ((entry = readdir(d))) {
        char source[400], target[400];
        struct stat st;

        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "LOG", 3) == 0)
            continue;
        snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
        snprintf(target, sizeof(target), "%s/%s", to, entry->d_name);
        stat(source, &st);
        if (S_ISDIR(st.st_mode))
            copy_dir(source, target);
        else
            copy_file(source, target);
    }
    closedir(d);
}

static inline void bed_init_copy(struct bed *b)
{
    bed_init(b);
    copy_dir(original, b->dir);
}

static inline off_t file_size(struct bed *b, const char *name)
{
    struct stat st;

    assert_int_equal(stat(bed_path(b, name), &st), 0);
    return st.st_size;
}

static inline void flip_bit(struct bed *b, const char *name, off_t at, int bit)
{
    int fd = open(bed_path(b, name), O_RDWR);
    uint8_t byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= (uint8_t)(1 << bit);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* ---- what compaction comes upon */

#define LAYERS 4 /* files of level 0, all over the same keys: that many are compacted */
#define LAYER_ROWS 2000

static inline bytes layer_key(struct bed *b, int i)
{
    return arena_printf(&b->c.arena, "row%04d", i);
}

/* Row i is in file i % LAYERS, so that no file can go down by itself. */
static inline void layers_make(struct bed *b)
{
    struct edit edits[LAYER_ROWS / LAYERS];

    for (int layer = 0; layer < LAYERS; layer++) {
        size_t n = 0;

        bed_open(b, "rocks");
        for (int i = layer; i < LAYER_ROWS; i += LAYERS)
            edits[n++] = (struct edit){EDIT_PUT, layer_key(b, i), row_value(&b->c, i)};
        assert_int_equal(bed_apply(b, &(struct write_batch){.edits = edits, .edit_count = n}),
                         E_OK);
        bed_close(b);
    }
}

/* Writes until compaction has failed and storage is open again, without it. */
static inline void wait_logged(struct bed *b, const char *text)
{
    for (int i = 0; i < 2000 && !strstr(b->logged, text); i++) {
        bed_put(b, "more", "0");
        usleep(10000);
    }
    assert_non_null(strstr(b->logged, text));
}

static inline int rows_damaged(struct bed *b, int from, int to)
{
    int damaged = 0;

    for (int i = from; i < to; i++) {
        struct get g = {.key = layer_key(b, i)};
        int code = engine_get(&b->c, b->e, &g);

        if (code == E_CORRUPT) {
            damaged++;
            continue;
        }
        assert_int_equal(code, E_OK);
        assert_true(g.found);
        assert_true(bytes_equal(g.value, row_value(&b->c, i)));
    }
    return damaged;
}

static inline void erase_gap(struct bed *b, const struct key_range *gap)
{
    struct partition_spec spec = {.id = 1, .ranges = gap, .range_count = 1};

    assert_int_equal(engine_erase(&b->c, b->e, &spec), E_OK);
}

static inline void forget_logged(struct bed *b)
{
    pthread_mutex_lock(&b->lock);
    b->logged[0] = 0;
    pthread_mutex_unlock(&b->lock);
}

static inline bool lies_in(bytes key, const struct key_range *range)
{
    return bytes_compare(key, range->start) >= 0 && bytes_compare(key, range->end) < 0;
}

static inline void count_rings(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

/* Compaction has come upon a damaged block of the newest of LAYERS files, whose name is in `name`;
 * storage is open again, and has told *gap, which is in the arena of `c`. */
static inline void meet_damage(struct bed *b, struct ctx *c, char name[300], struct key_range *gap)
{
    atomic_uint rings = 0;
    struct scrub told = {0};

    layers_make(b);
    find_file(b->dir, "", ".sst", name, 300);
    flip_bit(b, name, file_size(b, name) / 3, 2);
    bed_open(b, "rocks");
    engine_watch_damage(b->e, count_rings, &rings);
    wait_logged(b, "nothing is compacted until");
    wait_logged(b, "open again, writes go on");
    assert_int_equal(atomic_load(&rings), 1);
    assert_int_equal(engine_scrub(c, b->e, &told), E_OK);
    assert_non_null(told.damage);
    assert_non_null(strstr(told.damage, name + strlen("db/")));
    assert_true(bytes_compare(told.range.start, told.range.end) < 0);
    *gap = told.range;
    assert_int_equal(engine_scrub(c, b->e, &told), E_OK);
    assert_null(told.damage);
    engine_watch_damage(b->e, NULL, NULL);
}

/* Every row is what it was; those in the gap were erased. */
static inline void expect_rows(struct bed *b, const struct key_range *gap)
{
    for (int i = 0; i < LAYER_ROWS; i++)
        if (lies_in(layer_key(b, i), gap))
            bed_expect(b, layer_key(b, i).ptr, "-");
        else
            assert_int_equal(rows_damaged(b, i, i + 1), 0);
}

#endif
