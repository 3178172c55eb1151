/* raw_rocks.c: the ceiling of the engine: RocksDB alone in this process, set up as widerowd sets it
 * up for --memory 1G, with records of the same size as `widerow bench` (24-byte keys, 10 columns
 * of 100 bytes as one value).
 *
 *   raw_rocks DIR load RECORDS             makes the database
 *   raw_rocks DIR get RECORDS SECONDS      one thread; random records
 *   raw_rocks DIR direct RECORDS SECONDS CACHE_MIB   the same from READ_THREADS threads with a
 * cache of another size, past the page cache raw_rocks DIR signed RECORDS SECONDS   the same with
 * what a GetRow must compute besides: MD5 of request and answer, HMAC-SHA1 of both heads raw_rocks
 * DIR put RECORDS SECONDS      PUT_THREADS threads that each wait for a synced log raw_rocks DIR
 * iterate RECORDS SECONDS  SCAN_THREADS threads, runs of SCAN_ROWS records, each read whole
 *   raw_rocks DIR compact                  compacts a closed database, perhaps of widerowd
 *
 * A measurement prints "RATE - CPU": records a second and microseconds of CPU for each. */
#include "wire/sign.h"

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUT_THREADS 64
#define READ_THREADS 64
#define SCAN_THREADS 8
#define SCAN_ROWS 20000
#define KEY_BYTES 24
#define VALUE_BYTES 1080         /* ten columns with their names */
#define CACHE_BYTES (640u << 20) /* as widerowd has with --memory 1G, like the buffers */
#define BUFFER_BYTES (128u << 20)
#define LEVEL_BASE_BYTES (1024u << 20)
#define LEVELS 7
#define BLOCK_BYTES 8192
#define REQUEST_BYTES 120 /* of a GetRow's body */
#define HEAD_BYTES 220    /* of the text that is signed, request and answer alike */

struct run {
    rocksdb_t *db;
    uint64_t records;
    double seconds;
    size_t cache_bytes;
    bool direct; /* reads do not go through the page cache */
    struct sign_key key;
    atomic_ullong done;
    atomic_ullong sum; /* of what was read, so that the reading is not left out */
    atomic_bool failed;
};

struct worker {
    struct run *run;
    uint64_t seed;
    pthread_t thread;
};

static double now_of(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now(void)
{
    return now_of(CLOCK_MONOTONIC);
}

/* xorshift64* */
static uint64_t next(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * 0x2545f4914f6cdd1du;
}

static void make_key(char out[KEY_BYTES + 1], uint64_t record)
{
    snprintf(out, KEY_BYTES + 1, "user%020llu", (unsigned long long)record);
}

static void make_value(char out[VALUE_BYTES], uint64_t *seed)
{
    for (size_t i = 0; i < VALUE_BYTES; i += 8) {
        uint64_t letters = next(seed) & 0x0f0f0f0f0f0f0f0fu;

        letters += 0x6161616161616161u;
        memcpy(out + i, &letters, 8);
    }
}

/* Says what failed, if something did. */
static bool failed(struct run *r, char *error)
{
    if (!error)
        return false;
    fprintf(stderr, "raw_rocks: %s\n", error);
    free(error);
    atomic_store(&r->failed, true);
    return true;
}

/* ---- writing */

static void put(struct run *r, const rocksdb_writeoptions_t *how, uint64_t record, uint64_t *seed)
{
    char key[KEY_BYTES + 1], value[VALUE_BYTES], *error = NULL;

    make_key(key, record);
    make_value(value, seed);
    rocksdb_put(r->db, how, key, KEY_BYTES, value, VALUE_BYTES, &error);
    failed(r, error);
}

static void load(struct run *r)
{
    rocksdb_writeoptions_t *how = rocksdb_writeoptions_create();
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    char *error = NULL;
    uint64_t seed = 1;

    for (uint64_t i = 0; i < r->records && !atomic_load(&r->failed); i++)
        put(r, how, i, &seed);
    rocksdb_flush(r->db, flush, &error);
    failed(r, error);
    rocksdb_flushoptions_destroy(flush);
    rocksdb_writeoptions_destroy(how);
}

static void *put_loop(void *arg)
{
    struct worker *w = arg;
    struct run *r = w->run;
    rocksdb_writeoptions_t *how = rocksdb_writeoptions_create();
    double end = now() + r->seconds;

    rocksdb_writeoptions_set_sync(how, 1);
    while (now() < end && !atomic_load(&r->failed)) {
        put(r, how, next(&w->seed) % r->records, &w->seed);
        atomic_fetch_add(&r->done, 1);
    }
    rocksdb_writeoptions_destroy(how);
    return NULL;
}

/* ---- reading */

/* Reads as much as the cache holds. */
static void warm(struct run *r)
{
    rocksdb_readoptions_t *how = rocksdb_readoptions_create();
    rocksdb_iterator_t *it = rocksdb_create_iterator(r->db, how);
    size_t seen = 0, len;

    for (rocksdb_iter_seek_to_first(it); rocksdb_iter_valid(it) && seen < r->cache_bytes;
         rocksdb_iter_next(it)) {
        rocksdb_iter_value(it, &len);
        seen += len;
    }
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(how);
}

/* What the protocol demands of a server for one request. */
static unsigned sign_both(const struct run *r, const char *value, size_t len)
{
    char request[REQUEST_BYTES] = "request", head[HEAD_BYTES] = "head";
    char md5[SIGN_MD5_TEXT + 1], signature[SIGN_SHA1_TEXT + 1];
    unsigned sum;

    sign_md5(bytes_of(request, sizeof(request)), md5);
    memcpy(head + 32, md5, sizeof(md5));
    sign_text(&r->key, bytes_of(head, sizeof(head)), signature);
    sum = (unsigned char)signature[0];
    sign_md5(bytes_of(value, len), md5);
    memcpy(head + 32, md5, sizeof(md5));
    sign_text(&r->key, bytes_of(head, sizeof(head)), signature);
    return sum + (unsigned char)signature[0];
}

static void get_loop(struct run *r, uint64_t seed, bool with_signatures)
{
    rocksdb_readoptions_t *how = rocksdb_readoptions_create();
    double end = now() + r->seconds;
    size_t len;

    for (; now() < end && !atomic_load(&r->failed); atomic_fetch_add(&r->done, 1)) {
        char key[KEY_BYTES + 1], *error = NULL;
        rocksdb_pinnableslice_t *value;
        const char *ptr;

        make_key(key, next(&seed) % r->records);
        value = rocksdb_get_pinned(r->db, how, key, KEY_BYTES, &error);
        if (failed(r, error))
            break;
        ptr = value ? rocksdb_pinnableslice_value(value, &len) : NULL;
        if (!ptr || len != VALUE_BYTES || (with_signatures && sign_both(r, ptr, len) == 0))
            atomic_store(&r->failed, true);
        rocksdb_pinnableslice_destroy(value);
    }
    rocksdb_readoptions_destroy(how);
}

static void *read_loop(void *arg)
{
    struct worker *w = arg;

    get_loop(w->run, w->seed, false);
    return NULL;
}

/* A row that nobody looks at stays where it is; one that is sent does not. */
static uint64_t sum_of(const char *p, size_t len)
{
    uint64_t sum = 0, word;

    for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        sum += word;
    }
    return sum;
}

static void *scan_loop(void *arg)
{
    struct worker *w = arg;
    struct run *r = w->run;
    rocksdb_readoptions_t *how = rocksdb_readoptions_create();
    uint64_t starts = r->records > SCAN_ROWS ? r->records - SCAN_ROWS + 1 : 1;
    double end = now() + r->seconds;

    while (now() < end && !atomic_load(&r->failed)) {
        rocksdb_iterator_t *it = rocksdb_create_iterator(r->db, how);
        char key[KEY_BYTES + 1];
        size_t key_len, len, rows = 0;
        uint64_t sum = 0;

        make_key(key, next(&w->seed) % starts);
        for (rocksdb_iter_seek(it, key, KEY_BYTES); rocksdb_iter_valid(it) && rows < SCAN_ROWS;
             rocksdb_iter_next(it), rows++) {
            const char *k = rocksdb_iter_key(it, &key_len), *v = rocksdb_iter_value(it, &len);

            sum += sum_of(k, key_len) + sum_of(v, len);
        }
        atomic_fetch_add(&r->sum, sum);
        atomic_fetch_add(&r->done, rows);
        rocksdb_iter_destroy(it);
    }
    rocksdb_readoptions_destroy(how);
    return NULL;
}

static void run_threads(struct run *r, unsigned count, void *(*loop)(void *))
{
    struct worker workers[PUT_THREADS];

    for (unsigned i = 0; i < count; i++) {
        workers[i] = (struct worker){.run = r, .seed = 1000 + i};
        if (pthread_create(&workers[i].thread, NULL, loop, &workers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

/* ---- the database */

static rocksdb_options_t *make_options(const struct run *r, rocksdb_cache_t *cache)
{
    int levels[LEVELS];
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

    for (int i = 0; i < LEVELS; i++)
        levels[i] = i > 1 ? rocksdb_lz4_compression : rocksdb_no_compression;
    rocksdb_block_based_options_set_block_cache(t, cache);
    rocksdb_block_based_options_set_block_size(t, BLOCK_BYTES);
    rocksdb_block_based_options_set_format_version(t, 5);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_compression_per_level(o, levels, LEVELS);
    rocksdb_options_set_bottommost_compression(o, rocksdb_lz4_compression);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    rocksdb_options_set_write_buffer_size(o, BUFFER_BYTES);
    rocksdb_options_set_max_bytes_for_level_base(o, LEVEL_BASE_BYTES);
    rocksdb_options_set_use_direct_reads(o, r->direct);
    rocksdb_block_based_options_destroy(t);
    return o;
}

static rocksdb_t *open_db(const struct run *r, const char *dir)
{
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(r->cache_bytes);
    rocksdb_options_t *options = make_options(r, cache);
    char *error = NULL;
    rocksdb_t *db = rocksdb_open(options, dir, &error);

    if (error)
        fprintf(stderr, "raw_rocks: %s\n", error);
    free(error);
    rocksdb_cache_destroy(cache);
    rocksdb_options_destroy(options);
    return db;
}

/* Everything into the last level, also what is there already: files that were only moved there are
 * compressed as when they were written. */
static void compact(struct run *r)
{
    rocksdb_compactoptions_t *how = rocksdb_compactoptions_create();

    rocksdb_compactoptions_set_bottommost_level_compaction(how, 2);
    rocksdb_compact_range_opt(r->db, how, NULL, 0, NULL, 0);
    rocksdb_compactoptions_destroy(how);
}

static int measure(struct run *r, const char *what)
{
    double start, cpu;
    unsigned long long done;

    if (strcmp(what, "put") != 0 && !r->direct)
        warm(r);
    start = now();
    cpu = now_of(CLOCK_PROCESS_CPUTIME_ID);
    if (strcmp(what, "get") == 0)
        get_loop(r, 7, false);
    else if (r->direct)
        run_threads(r, READ_THREADS, read_loop);
    else if (strcmp(what, "signed") == 0)
        get_loop(r, 7, true);
    else if (strcmp(what, "put") == 0)
        run_threads(r, PUT_THREADS, put_loop);
    else if (strcmp(what, "iterate") == 0)
        run_threads(r, SCAN_THREADS, scan_loop);
    else
        return 2;
    done = atomic_load(&r->done);
    cpu = now_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%.0f - %.2f\n", (double)done / (now() - start), cpu * 1e6 / (double)(done ? done : 1));
    return 0;
}

int main(int argc, char **argv)
{
    struct run r = {.records = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
                    .seconds = argc > 4 ? strtod(argv[4], NULL) : 0,
                    .direct = argc > 2 && strcmp(argv[2], "direct") == 0,
                    .cache_bytes = argc > 5 ? strtoull(argv[5], NULL, 10) << 20 : CACHE_BYTES};
    bool compacts = argc == 3 && strcmp(argv[2], "compact") == 0;
    int code = 0;

    if (!compacts && (r.records == 0 || (argc >= 5 && r.seconds <= 0) || argc > 6)) {
        fprintf(stderr, "usage: raw_rocks DIR load|get|direct|signed|put|iterate|compact "
                        "[RECORDS [SECONDS [CACHE_MIB]]]\n");
        return 2;
    }
    sign_key_init(&r.key, BYTES_LIT("secret"));
    r.db = open_db(&r, argv[1]);
    if (!r.db)
        return 1;
    if (compacts)
        compact(&r);
    else if (argc == 4 && strcmp(argv[2], "load") == 0)
        load(&r);
    else
        code = measure(&r, argv[2]);
    rocksdb_close(r.db);
    return atomic_load(&r.failed) ? 1 : code;
}
