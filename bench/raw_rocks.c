/* raw_rocks.c: the ceiling of the engine: RocksDB alone in this process, with records of the same
 * size as `widerow bench` (24-byte keys, 10 columns of 100 bytes as one value).
 *
 * Usage: raw_rocks DIR RECORDS SECONDS. Loads the records, then prints two lines: "get RATE" of one
 * thread, and "put RATE" of PUT_THREADS threads that each wait for a synced log. */
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUT_THREADS 64
#define KEY_BYTES 24
#define VALUE_BYTES 1080 /* ten columns with their names */
#define CACHE_BYTES (192u << 20)

struct run {
    rocksdb_t *db;
    uint64_t records;
    double seconds;
    atomic_ullong done;
    atomic_bool failed;
};

struct worker {
    struct run *run;
    uint64_t seed;
    pthread_t thread;
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
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
        uint64_t letters = next(seed) & 0x0707070707070707u;

        letters += 0x6161616161616161u;
        memcpy(out + i, &letters, 8);
    }
}

static void put(struct run *r, const rocksdb_writeoptions_t *how, uint64_t record, uint64_t *seed)
{
    char key[KEY_BYTES + 1], value[VALUE_BYTES], *error = NULL;

    make_key(key, record);
    make_value(value, seed);
    rocksdb_put(r->db, how, key, KEY_BYTES, value, VALUE_BYTES, &error);
    if (error) {
        fprintf(stderr, "raw_rocks: %s\n", error);
        free(error);
        atomic_store(&r->failed, true);
    }
}

static void load(struct run *r)
{
    rocksdb_writeoptions_t *how = rocksdb_writeoptions_create();
    uint64_t seed = 1;

    for (uint64_t i = 0; i < r->records && !atomic_load(&r->failed); i++)
        put(r, how, i, &seed);
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

static double measure_puts(struct run *r)
{
    struct worker workers[PUT_THREADS];
    double start = now();

    atomic_store(&r->done, 0);
    for (unsigned i = 0; i < PUT_THREADS; i++) {
        workers[i] = (struct worker){.run = r, .seed = 1000 + i};
        if (pthread_create(&workers[i].thread, NULL, put_loop, &workers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < PUT_THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    return (double)atomic_load(&r->done) / (now() - start);
}

static double measure_gets(struct run *r)
{
    rocksdb_readoptions_t *how = rocksdb_readoptions_create();
    double start = now(), end = start + r->seconds;
    uint64_t seed = 7, done = 0;

    for (; now() < end && !atomic_load(&r->failed); done++) {
        char key[KEY_BYTES + 1], *error = NULL;
        rocksdb_pinnableslice_t *value;

        make_key(key, next(&seed) % r->records);
        value = rocksdb_get_pinned(r->db, how, key, KEY_BYTES, &error);
        if (!value || error)
            atomic_store(&r->failed, true);
        rocksdb_pinnableslice_destroy(value);
    }
    rocksdb_readoptions_destroy(how);
    return (double)done / (now() - start);
}

static rocksdb_t *open_db(const char *dir)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(CACHE_BYTES);
    char *error = NULL;
    rocksdb_t *db;

    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_set_compression(options, rocksdb_lz4_compression);
    db = rocksdb_open(options, dir, &error);
    if (error)
        fprintf(stderr, "raw_rocks: %s\n", error);
    free(error);
    rocksdb_cache_destroy(cache);
    rocksdb_block_based_options_destroy(table);
    rocksdb_options_destroy(options);
    return db;
}

int main(int argc, char **argv)
{
    struct run r = {0};

    if (argc == 4) {
        r.records = strtoull(argv[2], NULL, 10);
        r.seconds = strtod(argv[3], NULL);
    }
    if (r.records == 0 || r.seconds <= 0) {
        fprintf(stderr, "usage: raw_rocks DIR RECORDS SECONDS\n");
        return 2;
    }
    r.db = open_db(argv[1]);
    if (!r.db)
        return 1;
    load(&r);
    printf("get %.0f\n", measure_gets(&r));
    printf("put %.0f\n", measure_puts(&r));
    rocksdb_close(r.db);
    return atomic_load(&r.failed);
}
