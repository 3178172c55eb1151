/* rocks_look.c: a second look at a database's files, past all caches. */
#include "engine/rocks.h"

#define LOOK_OPEN_FILES 64

/* A look that was not opened, or only half, is fine. */
void rocks_look_close(struct rocks_look *l)
{
    if (l->it)
        rocksdb_iter_destroy(l->it);
    if (l->read)
        rocksdb_readoptions_destroy(l->read);
    if (l->db)
        rocksdb_close(l->db);
    if (l->options)
        rocksdb_options_destroy(l->options);
    *l = (struct rocks_look){0};
}

static rocksdb_options_t *look_options(bool cached, char **err)
{
    rocksdb_options_t *plain = rocksdb_options_create(), *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *t = rocksdb_block_based_options_create();

    rocksdb_get_options_from_string(plain, "track_and_verify_wals_in_manifest=true", o, err);
    rocksdb_options_destroy(plain);
    rocksdb_block_based_options_set_no_block_cache(t, 1);
    rocksdb_options_set_block_based_table_factory(o, t);
    rocksdb_block_based_options_destroy(t);
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_wal_recovery_mode(o, rocksdb_point_in_time_recovery);
    rocksdb_options_set_use_direct_reads(o, !cached);
    rocksdb_options_set_max_open_files(o, LOOK_OPEN_FILES);
    rocksdb_options_set_info_log_level(o, INFO_LOG_OFF);
    rocksdb_options_set_keep_log_file_num(o, 1);
    rocksdb_options_set_stats_dump_period_sec(o, 0);
    rocksdb_options_set_stats_persist_period_sec(o, 0);
    return o;
}

/* Opens the database in `dir` read-only. False with *err set; the look is then closed. */
bool rocks_look_open(const char *dir, bool cached, struct rocks_look *l, char **err)
{
    *err = NULL;
    *l = (struct rocks_look){.options = look_options(cached, err)};
    if (!*err)
        l->db = rocksdb_open_for_read_only(l->options, dir, 0, err);
    if (*err) {
        rocks_look_close(l);
        return false;
    }
    l->read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(l->read, 1);
    rocksdb_readoptions_set_fill_cache(l->read, 0);
    rocksdb_readoptions_set_total_order_seek(l->read, 1);
    rocksdb_readoptions_set_readahead_size(l->read, READAHEAD_BYTES);
    l->it = rocksdb_create_iterator(l->db, l->read);
    return true;
}

bytes rocks_look_key(const struct rocks_look *l)
{
    bytes key;

    key.ptr = rocksdb_iter_key(l->it, &key.len);
    return key;
}

/* One that has failed may fail again where it should not. */
void rocks_look_seek(struct rocks_look *l, bytes key)
{
    rocksdb_iter_destroy(l->it);
    l->it = rocksdb_create_iterator(l->db, l->read);
    if (key.len)
        rocksdb_iter_seek(l->it, key.ptr, key.len);
    else
        rocksdb_iter_seek_to_first(l->it);
}

/* Reads on until about bytes_max, the end, or an error in *err. */
void rocks_look_read(struct rocks_look *l, uint64_t bytes_max, uint64_t *done, char **err)
{
    uint64_t n = 0;

    for (; rocksdb_iter_valid(l->it) && n < bytes_max; rocksdb_iter_next(l->it)) {
        size_t value_len;

        (void)rocksdb_iter_value(l->it, &value_len);
        n += rocks_look_key(l).len + value_len;
    }
    *done = n;
    *err = NULL;
    if (!rocksdb_iter_valid(l->it))
        rocksdb_iter_get_error(l->it, err);
}
