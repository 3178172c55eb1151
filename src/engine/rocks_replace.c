/* rocks_replace.c: another file in the place of a damaged one, if nothing is lost by it
 * (rocks_damage.c). */
#include "engine/rocks.h"

#include "base/buf.h"
#include "base/fault.h"

#include <stdlib.h>
#include <unistd.h>

#define REPLACE_BYTES_MAX (512 * MIB) /* nobody is served while they are copied */

/* What can be read of the range, above a tombstone of all of it. E_CORRUPT: not all of it can;
 * *gap is where. */
static int copy_range(struct ctx *c, rocksdb_t *db, const rocksdb_readoptions_t *o,
                      const struct key_range *range, rocksdb_sstfilewriter_t *w,
                      struct key_range *gap)
{
    rocksdb_iterator_t *it = rocksdb_create_iterator(db, o);
    struct buf last;
    char *err = NULL;
    int code;

    buf_init(&last, &c->arena, 256);
    rocksdb_sstfilewriter_delete_range(w, range->start.ptr, range->start.len, range->end.ptr,
                                       range->end.len, &err);
    for (rocks_seek_start(it, range); !err && rocksdb_iter_valid(it); rocksdb_iter_next(it)) {
        bytes key, value;

        key.ptr = rocksdb_iter_key(it, &key.len);
        value.ptr = rocksdb_iter_value(it, &value.len);
        rocksdb_sstfilewriter_put(w, key.ptr, key.len, value.ptr, value.len, &err);
        last.len = 0;
        buf_put_bytes(&last, key);
    }
    if (!err)
        rocksdb_iter_get_error(it, &err);
    if (!err)
        rocksdb_sstfilewriter_finish(w, &err);
    rocksdb_iter_destroy(it);
    if (!err)
        return E_OK;
    code = fail(c, rocks_status_code(err), "%s", err);
    rocksdb_free(err);
    rocks_damage_gap(c, db, o,
                     last.len ? rocks_key_behind(&c->arena, buf_bytes(&last)) : range->start,
                     range->end, gap);
    return code;
}

static int copy_to(struct ctx *c, struct rocks *r, rocksdb_t *db, const struct key_range *range,
                   const char *path, struct key_range *gap)
{
    rocksdb_options_t *options = rocksdb_options_create_copy(r->options);
    rocksdb_envoptions_t *env = rocksdb_envoptions_create();
    rocksdb_sstfilewriter_t *w = rocksdb_sstfilewriter_create(env, options);
    rocksdb_readoptions_t *o = rocks_range_options(range, NULL);
    char *err = NULL;
    int code;

    rocksdb_readoptions_set_fill_cache(o, 0);
    rocksdb_sstfilewriter_open(w, path, &err);
    code = err ? rocks_status_fail(c, err) : copy_range(c, db, o, range, w, gap);
    rocksdb_readoptions_destroy(o);
    rocksdb_sstfilewriter_destroy(w);
    rocksdb_envoptions_destroy(env);
    rocksdb_options_destroy(options);
    return code;
}

/* It gets a sequence number, which bulks must not have (rocks_bulk.c). Here the log has just been
 * read to its end and is in table files, so that nothing can be missing in front of it. */
static int take_over(struct ctx *c, rocksdb_t *db, const char *path)
{
    rocksdb_ingestexternalfileoptions_t *how = rocksdb_ingestexternalfileoptions_create();
    char *err = NULL;

    rocksdb_ingestexternalfileoptions_set_move_files(how, 1);
    rocksdb_ingest_external_file(db, &path, 1, how, &err);
    rocksdb_ingestexternalfileoptions_destroy(how);
    return err ? rocks_status_fail(c, err) : E_OK;
}

/* What is stored in the file's range is in another file above it. */
static int copy_above(struct ctx *c, struct rocks *r, rocksdb_t *db, const struct table_file *file,
                      struct key_range *gap)
{
    struct key_range range = {file->first, rocks_key_behind(&c->arena, file->last)};
    const char *const starts[] = {range.start.ptr}, *const ends[] = {range.end.ptr};
    const char *path;
    uint64_t size = 0;
    char *err = NULL;
    int code;

    *gap = range;
    rocksdb_approximate_sizes(db, 1, starts, &range.start.len, ends, &range.end.len, &size, &err);
    rocksdb_free(err);
    if (size > REPLACE_BYTES_MAX)
        return fail(c, E_UNSUPPORTED, "its range has %llu MiB, too many to copy while all wait",
                    (unsigned long long)(size / MIB));
    if (!rocks_space_to_compact(r, size))
        return fail(c, E_NO_SPACE, "the disk has no room for a copy of what is whole");
    TRY(rocks_bulk_path(c, r, "sst", &path));
    code = copy_to(c, r, db, &range, path, gap);
    if (code == E_OK)
        code = take_over(c, db, path);
    unlink(path); /* it is linked in db/ if it was taken over */
    if (code == E_OK)
        rocks_covered_add(r, &range);
    return code;
}

/* True: nothing needs the file any more. */
static bool is_replaced(struct ctx *c, struct rocks *r, rocksdb_t *db, const char *table,
                        struct table_file *file)
{
    struct key_range gap;

    if (!rocks_table_find(c, db, table, file)) {
        rocks_damage_forget(r, table);
        return false;
    }
    if (copy_above(c, r, db, file, &gap) == E_OK)
        return true;
    log_error(r->log,
              "storage: %s/%s is damaged: nothing is compacted until what is stored there is "
              "erased; writes and reads of all else go on: %s",
              r->folder.db, table, c->text);
    rocks_damage_stays(r, table, &gap);
    return false;
}

/* RocksDB drops no file of level 0 by itself, and others only together with all in a range. */
static void drop(struct rocks *r, const char *table, const struct table_file *file)
{
    int error = manifest_drop(r->folder.db, file->level, strtoull(table, NULL, 10));

    if (error) {
        log_error(r->log,
                  "storage: %s/%s is damaged, and cannot be taken off the list of files: %s",
                  r->folder.db, table, strerror(error));
        return;
    }
    log_warn(r->log,
             "storage: %s/%s was damaged where nothing is stored any more: another file is in its "
             "place",
             r->folder.db, table);
    rocks_damage_forget(r, table);
}

int rocks_replace(struct ctx *c, struct rocks *r, rocksdb_t **db)
{
    const char **list;
    struct table_file *files;
    size_t n, replaced = 0;
    char *err = NULL;

    list = rocks_damage_names(c, r, &n);
    files = ARENA_ARRAY(&c->arena, struct table_file, n);
    for (size_t i = 0; i < n; i++) {
        if (is_replaced(c, r, *db, list[i], &files[replaced]))
            list[replaced++] = list[i];
        ctx_clear(c);
    }
    if (!replaced)
        return E_OK;
    rocksdb_close(*db);
    (void)fault_hit(FAULT_replace_before_drop);
    for (size_t i = 0; i < replaced; i++)
        drop(r, list[i], &files[i]);
    *db = rocksdb_open(r->options, r->folder.db, &err);
    return err ? rocks_status_fail(c, err) : E_OK;
}
