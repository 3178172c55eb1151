/* rocks_options.c: how RocksDB is set up. */
#include "engine/rocks.h"

#include "base/descriptor.h"

#include <dirent.h>
#include <unistd.h>

#define ZSTD_WINDOW (-14) /* RocksDB's own default */
#define ZSTD_LEVEL 1
#define LEVELS 7 /* RocksDB's own default */
/* The size of the level below level 0, in write buffers: twice the four files that are compacted
 * into it, so that a byte is written three times on its way there, and the levels below are fewer
 * (doc/decisions/0044-what-compaction-costs.md). */
#define LEVEL_BASE_BUFFERS 8
#define LEVEL0_SLOW 24 /* files of level 0, which are write buffers, from which on writes wait */
/* No compaction below level 0 is larger: RocksDB's own bound is 25 files of 64 MiB. */
#define COMPACTION_BYTES_MAX (2048 * MIB)

static rocksdb_block_based_table_options_t *table_options(struct rocks *r)
{
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

    rocksdb_block_based_options_set_block_cache(t, r->cache->lru);
    rocksdb_block_based_options_set_block_size(t, r->profile->block_bytes);
    rocksdb_block_based_options_set_filter_policy(t, rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_whole_key_filtering(t, 1);
    rocksdb_block_based_options_set_format_version(t, 5);
    /* Indexes and filters count against the cache, so that memory stays inside memory_bytes. */
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(t, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(t, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(t, 1);
    return t;
}

uint64_t rocks_buffer_bytes(uint64_t memory_bytes)
{
    return memory_bytes / 7 * 2;
}

/* How many bytes one of them has before it is written out. */
static uint64_t write_buffer_bytes(uint64_t memory_bytes)
{
    return rocks_clamp(rocks_buffer_bytes(memory_bytes) / 2, 2 * MIB, 128 * MIB);
}

static uint64_t level_base_bytes(uint64_t memory_bytes)
{
    return rocks_clamp(LEVEL_BASE_BUFFERS * write_buffer_bytes(memory_bytes), 256 * MIB,
                       1024 * MIB);
}

uint64_t rocks_compaction_bytes(uint64_t memory_bytes)
{
    uint64_t first =
        level_base_bytes(memory_bytes) + LEVEL0_SLOW * write_buffer_bytes(memory_bytes);

    return first < COMPACTION_BYTES_MAX ? COMPACTION_BYTES_MAX : first;
}

static void set_memory(rocksdb_options_t *o, uint64_t memory_bytes)
{
    uint64_t buffers = rocks_buffer_bytes(memory_bytes), buffer = write_buffer_bytes(memory_bytes);

    rocksdb_options_set_db_write_buffer_size(o, buffers);
    rocksdb_options_set_write_buffer_size(o, buffer);
    rocksdb_options_set_max_bytes_for_level_base(o, level_base_bytes(memory_bytes));
    /* Nothing else bounds those that wait for the disk: four large ones take hardly more memory
     * behind a slow one than six of 64 MiB did. */
    rocksdb_options_set_max_write_buffer_number(o, buffer > 64 * MIB ? 4 : 6);
    /* Bounds how much log there is to replay, twice, when a database is opened. */
    rocksdb_options_set_max_total_wal_size(o, rocks_clamp(2 * buffers, 16 * MIB, 256 * MIB));
}

/* Files of level 0 live for minutes, and a byte is written into the level below it several times
 * before it goes on from there: compressing them costs more than it saves. Of RocksDB's list the
 * second is that level, whatever its number. Where it is the last one the profile decides. */
static void set_compression(rocksdb_options_t *o, const struct rocks_profile *profile)
{
    int levels[LEVELS];

    for (int i = 0; i < LEVELS; i++)
        levels[i] = i > 1 ? rocksdb_lz4_compression : rocksdb_no_compression;
    rocksdb_options_set_compression_per_level(o, levels, LEVELS);
    rocksdb_options_set_bottommost_compression(o, profile->bottom);
    if (profile->bottom == rocksdb_zstd_compression)
        rocksdb_options_set_bottommost_compression_options(o, ZSTD_WINDOW, ZSTD_LEVEL, 0, 0, 1);
}

static void set_files(rocksdb_options_t *o)
{
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 1);
    rocksdb_options_set_level0_slowdown_writes_trigger(o, LEVEL0_SLOW);
    rocksdb_options_set_level0_stop_writes_trigger(o, 40);
    rocksdb_options_set_max_background_jobs(o, 2);
    rocksdb_options_set_max_open_files(o, descriptor_tables(descriptor_limit()));
    rocksdb_options_set_bytes_per_sync(o, MIB);
    rocksdb_options_set_avoid_unnecessary_blocking_io(o, 1);
    /* RocksDB's own diary would be the death of us: when the disk is full its first failed line is
     * followed by a failed assertion at the second. Nothing is at or above this level. */
    rocksdb_options_set_info_log_level(o, INFO_LOG_OFF);
    rocksdb_options_set_keep_log_file_num(o, 1);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
}

/* `verify_logs`: every synced log must be there and whole. */
int rocks_options_make(struct ctx *c, struct rocks *r, bool verify_logs)
{
    rocksdb_options_t *plain = rocksdb_options_create(), *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t;
    char *err = NULL;

    /* What has no setter in C. */
    rocksdb_get_options_from_string(plain,
                                    verify_logs ? "track_and_verify_wals_in_manifest=true"
                                                : "track_and_verify_wals_in_manifest=false",
                                    o, &err);
    rocksdb_options_destroy(plain);
    if (err) {
        rocksdb_options_destroy(o);
        return rocks_status_fail(c, err);
    }
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_wal_recovery_mode(o, rocksdb_point_in_time_recovery);
    rocksdb_options_set_manual_wal_flush(o, 1);
    set_memory(o, r->memory_bytes);
    set_compression(o, r->profile);
    set_files(o);
    t = table_options(r);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
    if (r->options)
        rocksdb_options_destroy(r->options);
    r->options = o;
    return E_OK;
}

void rocks_options_tidy(struct rocks *r)
{
    static const char begin[] = "OPTIONS-", end[] = ".dbtmp";
    DIR *d = opendir(r->folder.db);
    struct dirent *entry;

    while (d && (entry = readdir(d))) {
        size_t n = strlen(entry->d_name);

        if (n > sizeof(begin) + sizeof(end) && strncmp(entry->d_name, begin, strlen(begin)) == 0 &&
            strcmp(entry->d_name + n - strlen(end), end) == 0)
            unlinkat(dirfd(d), entry->d_name, 0);
    }
    if (d)
        closedir(d);
}
