/* Damage to the files of the RocksDB engine: it must be refused with a text that helps, or be
 * harmless, which means that all acknowledged data are there. Never may a read give a wrong answer.
 */
#include "bed.h"

#include "base/fault.h"
#include "base/rng.h"
#include "engine/log_file.h"
#include "engine/rocks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ROWS 300
#define VALUE_BYTES 120

/* The folder all damage is done to copies of: half of the rows in a table file, half in the live
 * log. */
static char original[64];
static char original_log[300], original_table[300], original_manifest[300];

static bytes row_value(struct ctx *c, int i)
{
    struct rng rng;
    char *v = arena_alloc(&c->arena, VALUE_BYTES);

    rng_init(&rng, (uint64_t)i);
    for (int j = 0; j < VALUE_BYTES; j++)
        v[j] = (char)('a' + rng_below(&rng, 26));
    return bytes_of(v, VALUE_BYTES);
}

static void put_rows(struct bed *b, int from, int to)
{
    for (int i = from; i < to; i++) {
        struct edit edit = {EDIT_PUT, arena_printf(&b->c.arena, "row%04d", i), row_value(&b->c, i)};

        assert_int_equal(bed_apply(b, &(struct write_batch){.edits = &edit, .edit_count = 1}),
                         E_OK);
    }
}

/* The newest file of `dir`/db whose name starts or ends so. */
static void find_file(const char *dir, const char *head, const char *tail, char *out, size_t size)
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

static int make_original(void **state)
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

static int remove_original(void **state)
{
    (void)state;
    folder_remove(original);
    return 0;
}

static void copy_file(const char *from, const char *to)
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

static void copy_dir(const char *from, const char *to)
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

static void bed_init_copy(struct bed *b)
{
    bed_init(b);
    copy_dir(original, b->dir);
}

static const char *path_of(struct bed *b, const char *name)
{
    return arena_printf(&b->c.arena, "%s/%s", b->dir, name).ptr;
}

static off_t file_size(struct bed *b, const char *name)
{
    struct stat st;

    assert_int_equal(stat(path_of(b, name), &st), 0);
    return st.st_size;
}

static void flip_bit(struct bed *b, const char *name, off_t at, int bit)
{
    int fd = open(path_of(b, name), O_RDWR);
    uint8_t byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= (uint8_t)(1 << bit);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

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
    const char *path = path_of(b, original_log);
    int in = open(path, O_RDWR), out = open(path_of(b, "db/900000.log"), O_WRONLY | O_CREAT, 0600);
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
        fd = open(path_of(&b, "db/000001.log"), O_WRONLY | O_CREAT, 0600);
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
        assert_int_equal(truncate(path_of(&b, original_log), file_size(&b, original_log) * i / 10),
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
    assert_int_equal(unlink(path_of(&b, original_log)), 0);
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
        assert_int_equal(unlink(path_of(&b, names[i])), 0);
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
    unlink(path_of(&b, original_table));
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
    folder_remove(path_of(&b, "db"));
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
    assert_int_equal(truncate(path_of(&b, "WATERMARK"), 0), 0);
    try_damaged(&b, &t, "empty watermark");
    assert_int_equal(t.refused, 2);
}

static void test_version_other(void **state)
{
    struct bed b;
    FILE *f;

    (void)state;
    bed_init_copy(&b);
    f = fopen(path_of(&b, "VERSION"), "w");
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
    unlink(path_of(&b, original_log));
    accept_and_go_on(&b, "accepted the loss");

    bed_init_copy(&b);
    unlink(path_of(&b, "WATERMARK"));
    accept_and_go_on(&b, "WATERMARK is unreadable");

    bed_init_copy(&b);
    unlink(path_of(&b, original_manifest));
    accept_and_go_on(&b, "collecting what can be read");

    bed_init_copy(&b);
    unlink(path_of(&b, "db/CURRENT"));
    accept_and_go_on(&b, "collecting what can be read");
}

/* ---- the folder */

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
    mkdir(path_of(&b, "db.new"), 0700);
    bed_open(&b, "rocks");
    bed_release(&b);

    bed_init(&b);
    mkdir(path_of(&b, "db.new"), 0700);
    fclose(fopen(path_of(&b, "WATERMARK"), "w"));
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

/* ---- what compaction comes upon */

#define LAYERS 4 /* files of level 0, all over the same keys: that many are compacted */
#define LAYER_ROWS 2000

static bytes layer_key(struct bed *b, int i)
{
    return arena_printf(&b->c.arena, "row%04d", i);
}

/* Row i is in file i % LAYERS, so that no file can go down by itself. */
static void layers_make(struct bed *b)
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
static void wait_logged(struct bed *b, const char *text)
{
    for (int i = 0; i < 2000 && !strstr(b->logged, text); i++) {
        bed_put(b, "more", "0");
        usleep(10000);
    }
    assert_non_null(strstr(b->logged, text));
}

static int rows_damaged(struct bed *b, int from, int to)
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

static void erase_gap(struct bed *b, const struct key_range *gap)
{
    struct partition_spec spec = {.id = 1, .ranges = gap, .range_count = 1};

    assert_int_equal(engine_erase(&b->c, b->e, &spec), E_OK);
}

static void forget_logged(struct bed *b)
{
    pthread_mutex_lock(&b->lock);
    b->logged[0] = 0;
    pthread_mutex_unlock(&b->lock);
}

static bool lies_in(bytes key, const struct key_range *range)
{
    return bytes_compare(key, range->start) >= 0 && bytes_compare(key, range->end) < 0;
}

static void count_rings(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

/* Compaction has come upon a damaged block of the newest of LAYERS files, whose name is in `name`;
 * storage is open again, and has told *gap, which is in the arena of `c`. */
static void meet_damage(struct bed *b, struct ctx *c, char name[300], struct key_range *gap)
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
static void expect_rows(struct bed *b, const struct key_range *gap)
{
    for (int i = 0; i < LAYER_ROWS; i++)
        if (lies_in(layer_key(b, i), gap))
            bed_expect(b, layer_key(b, i).ptr, "-");
        else
            assert_int_equal(rows_damaged(b, i, i + 1), 0);
}

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
    assert_int_not_equal(access(path_of(&b, name), F_OK), 0);
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

/* ---- readers while another file takes the damaged one's place */

struct readers {
    struct bed *b;
    const struct key_range *gap;
    atomic_bool stop;
    atomic_ullong good, away, wrong;
};

/* A row in the gap may be refused, be there or be gone; each other one is there, except while
 * storage is opened again. */
static bool answer_is_right(const struct readers *r, struct ctx *c, const struct get *g, int row)
{
    if (lies_in(g->key, r->gap) && (g->code == E_CORRUPT || (g->code == E_OK && !g->found)))
        return true;
    return g->code == E_OK && g->found && bytes_equal(g->value, row_value(c, row));
}

static void *read_rows(void *arg)
{
    struct readers *r = arg;
    struct bed own = {.lock = PTHREAD_MUTEX_INITIALIZER}; /* of which only the context is used */
    struct rng rng;

    rng_init(&rng, (uint64_t)(uintptr_t)&own);
    clock_real_init(&own.clock);
    own.log = (struct log){.level = 'E', .sink = bed_sink, .arg = &own, .clock = &own.clock};
    while (!atomic_load(&r->stop)) {
        int row = (int)rng_below(&rng, LAYER_ROWS);
        struct get g = {0};

        bed_ctx(&own);
        g.key = layer_key(&own, row);
        g.code = bed_wait_get(&own.c, r->b->e, &g);
        if (g.code == E_UNAVAILABLE) {
            atomic_fetch_add(&r->away, 1);
            usleep(1000);
        } else if (answer_is_right(r, &own.c, &g, row))
            atomic_fetch_add(&r->good, 1);
        else
            atomic_fetch_add(&r->wrong, 1);
        ctx_release(&own.c);
    }
    return NULL;
}

static void test_readers_while_a_file_is_replaced(void **state)
{
    struct readers readers = {0};
    pthread_t threads[3];
    struct key_range gap;
    char name[300];
    struct ctx c;
    struct bed b;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    meet_damage(&b, &c, name, &gap);
    forget_logged(&b);
    readers.b = &b;
    readers.gap = &gap;
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_rows, &readers), 0);
    while (!atomic_load(&readers.good))
        usleep(1000);
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    for (uint64_t before = atomic_load(&readers.good); atomic_load(&readers.good) < before + 100;)
        usleep(1000);
    atomic_store(&readers.stop, true);
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    print_message("%llu right answers, %llu while storage was opened again\n",
                  (unsigned long long)readers.good, (unsigned long long)readers.away);
    assert_int_equal(atomic_load(&readers.wrong), 0);
    expect_rows(&b, &gap);
    bed_release(&b);
    ctx_release(&c);
}

/* ---- scans, views that are kept, and copies meanwhile */

#define SCAN_ITEMS 97
#define VIEWS_KEPT 8

struct scanners {
    struct bed *b;
    const struct key_range *gap;
    atomic_bool stop;
    atomic_ullong passes, refused, wrong;
    atomic_ullong copies, copies_refused;
};

static void scanner_wrong(struct scanners *s, const char *what, int row)
{
    print_error("%s, row %d\n", what, row);
    atomic_fetch_add(&s->wrong, 1);
}

/* The rows from *next on (down to it, backwards) that a page passed over lie in the gap. */
static void check_page(struct scanners *s, struct bed *own, const struct page *page, bool backward,
                       int *next)
{
    int step = backward ? -1 : 1;

    for (size_t i = 0; i < page->count; i++) {
        int row = atoi((const char *)page->items[i].key.ptr + 3);

        for (; *next != row && *next >= 0 && *next < LAYER_ROWS; *next += step)
            if (!lies_in(layer_key(own, *next), s->gap))
                scanner_wrong(s, "it is missing from a page", *next);
        if (*next != row || !bytes_equal(page->items[i].value, row_value(&own->c, row)))
            scanner_wrong(s, "it is not as it was, or came twice", row);
        *next += step;
    }
}

/* All rows, page by page, at one moment. False: it was refused on the way. */
static bool scan_all(struct scanners *s, struct bed *own, struct snapshot *at, bool backward)
{
    static const char all_keys[] = "row", behind_keys[] = "rox";
    bytes start = bytes_str(all_keys), end = bytes_str(behind_keys);
    int next = backward ? LAYER_ROWS - 1 : 0;

    for (;;) {
        struct key_range range = {start, end};
        struct page page = {0};
        struct scan scan = {.ranges = &range,
                            .range_count = 1,
                            .view = VIEW_DURABLE,
                            .snapshot = at,
                            .backward = backward,
                            .items_max = SCAN_ITEMS,
                            .bytes_max = SIZE_MAX,
                            .pages = &page};
        int code = bed_scan(own, &scan);

        if (code != E_OK) {
            if (code != E_UNAVAILABLE && code != E_BUSY && code != E_CORRUPT)
                scanner_wrong(s, err_info(code)->name, next);
            return false;
        }
        check_page(s, own, &page, backward, &next);
        if (!page.more)
            break;
        if (backward)
            end = page.items[page.count - 1].key;
        else
            start = rocks_key_behind(&own->c.arena, page.items[page.count - 1].key);
    }
    for (; next >= 0 && next < LAYER_ROWS; next += backward ? -1 : 1)
        if (!lies_in(layer_key(own, next), s->gap))
            scanner_wrong(s, "it is missing at the end", next);
    return true;
}

static void own_bed(struct bed *own, struct bed *b)
{
    *own = (struct bed){.lock = PTHREAD_MUTEX_INITIALIZER, .e = b->e};
    clock_real_init(&own->clock);
    own->log = (struct log){.level = 'E', .sink = bed_sink, .arg = own, .clock = &own->clock};
    bed_ctx(own);
}

static void *scan_rows(void *arg)
{
    struct scanners *s = arg;
    struct bed own;

    own_bed(&own, s->b);
    for (int i = 0; !atomic_load(&s->stop); i++) {
        struct snapshot *at = NULL;

        bed_ctx_again(&own);
        if (engine_snapshot(&own.c, own.e, NULL, &at) == E_OK &&
            scan_all(s, &own, at, i % 2 == 1)) {
            atomic_fetch_add(&s->passes, 1);
        } else {
            atomic_fetch_add(&s->refused, 1);
            usleep(1000);
        }
        snapshot_release(at);
    }
    ctx_release(&own.c);
    return NULL;
}

/* A copy that is made has no damage that it does not tell of, and all rows. */
static void *copy_rows(void *arg)
{
    struct scanners *s = arg;
    struct bed own;

    own_bed(&own, s->b);
    while (!atomic_load(&s->stop)) {
        struct bed copy;
        int code;

        bed_init(&copy);
        folder_remove(copy.dir);
        bed_ctx_again(&own);
        code = engine_checkpoint(&own.c, own.e, copy.dir);
        if (code == E_OK) {
            struct engine_conf check = {.dir = "", .clock = &own.clock};

            bed_ctx_again(&own);
            code = engine_restore(&own.c, "rocks", &check, copy.dir);
        }
        if (code == E_OK) {
            bed_open(&copy, "rocks");
            copy.partition = s->b->partition;
            if (!scan_all(s, &copy, NULL, false))
                scanner_wrong(s, "a copy that was found whole is not", 0);
            atomic_fetch_add(&s->copies, 1);
        } else {
            if (code != E_CORRUPT && code != E_UNAVAILABLE && code != E_BUSY)
                scanner_wrong(s, own.c.text, 0);
            atomic_fetch_add(&s->copies_refused, 1);
        }
        bed_release(&copy);
        usleep(1000);
    }
    ctx_release(&own.c);
    return NULL;
}

/* Views that nobody gives back keep neither the damaged file nor writers waiting. */
static void test_scans_while_a_file_is_replaced(void **state)
{
    struct scanners s = {0};
    struct snapshot *kept[VIEWS_KEPT] = {0};
    pthread_t threads[4];
    struct key_range gap;
    char name[300];
    struct ctx c, holder;
    struct bed b;
    unsigned long long passes, copies;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    meet_damage(&b, &c, name, &gap);
    ctx_init(&holder, &b.clock, NULL, NULL, 0);
    for (int i = 0; i < VIEWS_KEPT; i++)
        assert_int_equal(engine_snapshot(&holder, b.e, NULL, &kept[i]), E_OK);
    forget_logged(&b);
    s.b = &b;
    s.gap = &gap;
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i + 1 < PORT_COUNT(threads) ? scan_rows : copy_rows, &s),
                         0);
    while (!atomic_load(&s.refused) || !atomic_load(&s.copies_refused))
        usleep(1000);
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    assert_int_not_equal(access(path_of(&b, name), F_OK), 0);
    passes = atomic_load(&s.passes);
    copies = atomic_load(&s.copies);
    while (atomic_load(&s.passes) < passes + 30 || atomic_load(&s.copies) < copies + 2)
        usleep(1000);
    atomic_store(&s.stop, true);
    for (size_t i = 0; i < PORT_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    print_message("%llu passes, %llu refused, %llu copies, %llu refused\n", s.passes, s.refused,
                  s.copies, s.copies_refused);
    assert_int_equal(atomic_load(&s.wrong), 0);
    for (int i = 0; i < VIEWS_KEPT; i++)
        snapshot_release(kept[i]);
    expect_rows(&b, &gap);
    ctx_release(&holder);
    bed_release(&b);
    ctx_release(&c);
}

/* ---- bulks where another file stands in */

static int bulk_try(struct bed *b, bytes key)
{
    struct bulk *bulk;
    int code;

    bed_ctx_again(b);
    code = engine_bulk(&b->c, b->e, 1, &bulk);
    if (code != E_OK)
        return code;
    code = bulk_put(&b->c, bulk, key, BYTES_LIT("large"));
    if (code == E_OK)
        code = bulk_finish(&b->c, bulk);
    bulk_close(bulk);
    return code;
}

/* What the range tombstone of a repair, or of an erasure, covers takes bulks again. */
static void wait_bulk(struct bed *b, const char *key)
{
    int code = bulk_try(b, bytes_str(key));

    for (int i = 0; i < 2000 && code != E_OK; i++) {
        usleep(10000);
        code = bulk_try(b, bytes_str(key));
    }
    if (code != E_OK)
        print_error("%s\n", b->c.text);
    assert_int_equal(code, E_OK);
    bed_expect(b, key, "large");
}

static void test_bulk_where_a_file_was_replaced(void **state)
{
    struct key_range gap;
    char name[300];
    struct ctx c;
    struct bed b;

    (void)state;
    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    meet_damage(&b, &c, name, &gap);
    forget_logged(&b);
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    wait_bulk(&b, arena_printf(&c.arena, "%.*s-new", BYTES_FMT(gap.start)).ptr);
    expect_rows(&b, &gap);
    bed_release(&b);
    ctx_release(&c);
}

/* Somebody's view keeps the tombstone until all is in the last level, where compaction passes over
 * it. */
static void test_bulk_where_much_was_erased(void **state)
{
    const struct key_range range = {BYTES_LIT("big"), BYTES_LIT("bih")};
    const struct partition_spec p = {.id = 1, .ranges = &range, .range_count = 1};
    struct snapshot *kept;
    struct ctx holder;
    struct bed b;

    (void)state;
    bed_init(&b);
    bed_open(&b, "rocks");
    bed_fill(&b, "big", 0, 12000, 100);
    ctx_init(&holder, &b.clock, NULL, NULL, 0);
    assert_int_equal(engine_snapshot(&holder, b.e, NULL, &kept), E_OK);
    assert_int_equal(engine_erase(&b.c, b.e, &p), E_OK);
    assert_int_not_equal(bulk_try(&b, BYTES_LIT("big000007-new")), E_OK);
    snapshot_release(kept);
    wait_bulk(&b, "big000007-new");
    ctx_release(&holder);
    bed_release(&b);
}

/* ---- a kill between */

#define KILLED "killed" /* as the first argument: this is the process that dies */

/* What it tells before. */
struct killed {
    char name[300];
    size_t lens[2];
    char keys[2][64]; /* of the gap */
};

/* With WR_FAULT. */
static int be_killed(const char *dir)
{
    struct killed k = {0};
    struct key_range gap;
    struct ctx c;
    struct bed b;

    ctx_init(&c, NULL, NULL, NULL, 0);
    bed_init(&b);
    folder_remove(b.dir);
    snprintf(b.dir, sizeof(b.dir), "%s", dir);
    meet_damage(&b, &c, k.name, &gap);
    k.lens[0] = gap.start.len;
    k.lens[1] = gap.end.len;
    if (gap.start.len > sizeof(k.keys[0]) || gap.end.len > sizeof(k.keys[1]))
        return 1;
    memcpy(k.keys[0], gap.start.ptr, gap.start.len);
    memcpy(k.keys[1], gap.end.ptr, gap.end.len);
    if (write(STDOUT_FILENO, &k, sizeof(k)) != sizeof(k))
        return 1;
    erase_gap(&b, &gap);
    wait_logged(&b, "another file is in its place");
    return 2;
}

/* What is written to standard output while a folder is filled goes to the other end. */
static struct killed run_killed(struct bed *b, const char *fault)
{
    struct killed k = {0};
    int pipes[2], status;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        struct rlimit no_core = {0, 0};

        setrlimit(RLIMIT_CORE, &no_core);
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        setenv("WR_FAULT", fault, 1);
        execl("/proc/self/exe", "rocks_damage_test", KILLED, b->dir, (char *)NULL);
        _exit(4);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &k, sizeof(k)), sizeof(k));
    close(pipes[0]);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return k;
}

/* Another file was taken over, and the damaged one is still on the list: both are there, what was
 * erased stays so, and when compaction comes upon the damage again, it is done again. */
static void test_killed_before_the_damaged_file_goes(void **state)
{
    struct key_range gap;
    struct killed k;
    struct bed b;

    (void)state;
#ifndef WR_FAULTS
    skip();
#endif
    bed_init(&b);
    k = run_killed(&b, "replace_before_drop:crash:1");
    gap.start = bytes_of(k.keys[0], k.lens[0]);
    gap.end = bytes_of(k.keys[1], k.lens[1]);
    assert_int_equal(access(path_of(&b, k.name), F_OK), 0);
    bed_open(&b, "rocks");
    expect_rows(&b, &gap);
    wait_logged(&b, "another file is in its place");
    wait_logged(&b, "open again, writes go on");
    assert_null(strstr(b.logged, "nothing is compacted until"));
    expect_rows(&b, &gap);
    assert_int_not_equal(access(path_of(&b, k.name), F_OK), 0);
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
    assert_int_equal(log_file_append(path_of(b, name), bytes_of(entry, n)), 0);
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

/* What a log says after an entry was appended, wherever in a block it lands. */
static void test_log_append(void **state)
{
    static const char entry[] = "an entry of some length";
    static const size_t left[] = {0, 6, 7, 8, 29, 30, 31};
    static uint8_t zeros[LOG_BLOCK_BYTES];
    struct log_file f;
    uint8_t head[100];
    struct bed b;
    size_t have;

    (void)state;
    bed_init(&b);
    for (size_t i = 0; i < PORT_COUNT(left); i++) {
        const char *path = path_of(&b, "log");
        size_t first = LOG_BLOCK_BYTES - 7 - left[i];

        unlink(path);
        close(open(path, O_WRONLY | O_CREAT, 0600));
        assert_int_equal(log_file_append(path, bytes_of(zeros, first)), 0);
        assert_int_equal(log_file_append(path, bytes_str(entry)), 0);
        assert_true(log_file_open(&f, path));
        assert_true(log_file_entry(&f, head, sizeof(head), &have));
        assert_true(log_file_entry(&f, head, sizeof(head), &have));
        assert_true(bytes_equal(bytes_of(head, have), bytes_str(entry)));
        assert_int_equal(f.end, f.size);
        log_file_close(&f);
    }
    bed_release(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_unwritable), /* forks, so before any thread */
        cmocka_unit_test(test_undamaged),
        cmocka_unit_test(test_log_flipped),
        cmocka_unit_test(test_older_log_record_types),
        cmocka_unit_test(test_manifest_record_types),
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
        cmocka_unit_test(test_compaction_meets_damage),
        cmocka_unit_test(test_damage_told_late),
        cmocka_unit_test(test_readers_while_a_file_is_replaced),
        cmocka_unit_test(test_scans_while_a_file_is_replaced),
        cmocka_unit_test(test_bulk_where_a_file_was_replaced),
        cmocka_unit_test(test_bulk_where_much_was_erased),
        cmocka_unit_test(test_killed_before_the_damaged_file_goes),
        cmocka_unit_test(test_scrub_names_the_right_range),
        cmocka_unit_test(test_log_append),
        cmocka_unit_test(test_folder_refused),
        cmocka_unit_test(test_folder_locked),
        cmocka_unit_test(test_folder_half_made),
    };

    if (argc == 3 && strcmp(argv[1], KILLED) == 0)
        return be_killed(argv[2]);
    return cmocka_run_group_tests(tests, make_original, remove_original);
}
