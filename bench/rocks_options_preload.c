/* rocks_options_preload.c: loaded in front of librocksdb, so that widerowd opens its database with
 * other options than src/engine/rocks_options.c gives it. For measuring only (rocks_options.sh).
 *
 *   ROCKS_OPTIONS   options as RocksDB writes them in a file: "compression=kZSTD;blob_size=..."
 *   ROCKS_CACHE     bytes of the block cache */
#include <dlfcn.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>

static void *real(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (!f)
        abort();
    return f;
}

static rocksdb_options_t *changed(const rocksdb_options_t *options)
{
    rocksdb_options_t *out = rocksdb_options_create();
    const char *text = getenv("ROCKS_OPTIONS");
    char *err = NULL;

    rocksdb_get_options_from_string(options, text ? text : "", out, &err);
    if (err) {
        fprintf(stderr, "ROCKS_OPTIONS: %s\n", err);
        abort();
    }
    return out;
}

rocksdb_t *rocksdb_open(const rocksdb_options_t *options, const char *name, char **err)
{
    rocksdb_t *(*open)(const rocksdb_options_t *, const char *, char **) = real("rocksdb_open");
    rocksdb_options_t *o = changed(options);
    rocksdb_t *db = open(o, name, err);

    rocksdb_options_destroy(o);
    return db;
}

rocksdb_t *rocksdb_open_for_read_only(const rocksdb_options_t *options, const char *name,
                                      unsigned char log, char **err)
{
    rocksdb_t *(*open)(const rocksdb_options_t *, const char *, unsigned char, char **) =
        real("rocksdb_open_for_read_only");
    rocksdb_options_t *o = changed(options);
    rocksdb_t *db = open(o, name, log, err);

    rocksdb_options_destroy(o);
    return db;
}

void rocksdb_lru_cache_options_set_capacity(rocksdb_lru_cache_options_t *o, size_t capacity)
{
    void (*set)(rocksdb_lru_cache_options_t *, size_t) =
        real("rocksdb_lru_cache_options_set_capacity");
    const char *bytes = getenv("ROCKS_CACHE");

    set(o, bytes ? strtoull(bytes, NULL, 10) : capacity);
}

void rocksdb_cache_set_capacity(rocksdb_cache_t *cache, size_t capacity)
{
    void (*set)(rocksdb_cache_t *, size_t) = real("rocksdb_cache_set_capacity");
    const char *bytes = getenv("ROCKS_CACHE");

    set(cache, bytes ? strtoull(bytes, NULL, 10) : capacity);
}
