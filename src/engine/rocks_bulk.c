/* rocks_bulk.c: large values, and many small ones, go into table files of their own in bulk/, which
 * are then taken over into the database with their place in the MANIFEST synced, and never see the
 * log. Those of one bulk are taken over together, in one record of the MANIFEST. A file is taken
 * over only without a sequence number of its own: its keys count as older than everything, which is
 * right for keys that never were there, and it may be seen through older views. The point of it is
 * the watermark. Were a sequence number given to the file, the MANIFEST would carry it, and after a
 * crash the database would claim to go so far although the log in front of it had lost acknowledged
 * writes; the check at opening would see nothing. (allow_global_seqno is off, so RocksDB refuses
 * rather than give one. That happens where a range tombstone lies, which is then compacted away, so
 * that the next try is not refused.) What a crash leaves in bulk/ is removed at opening. */
#include "engine/rocks.h"

#include "base/buf.h"
#include "base/fault.h"
#include "engine/files.h"
#include "engine/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define BULK_FILE_BYTES (128 * MIB)
#define BULK_PUSH_BYTES (4 * MIB)
#define MERGE_BYTES (2 * MIB) /* in a step */
#define SORT_PARTS 32         /* of --memory, for the pairs of one that are to be sorted */

struct bulk_file {
    struct bulk_file *next;
    char *path;
};

struct rocks_bulk {
    struct bulk base;
    struct rocks *rocks;
    rocksdb_options_t *options;
    rocksdb_envoptions_t *env;
    rocksdb_sstfilewriter_t *writer; /* NULL: no file is open */
    struct bulk_file *files;         /* the newest, which may be open, first */
    int fd;                          /* of the open file, to push it to the disk */
    uint64_t size, pushed;           /* of the open file */
    struct arena arena;
    struct buf first, last; /* the keys of all files, when there are any */
    struct sorter *sorter;  /* of keys in any order; NULL: they ascend */
};

static char *bulk_dir(struct arena *a, struct rocks *r)
{
    return (char *)arena_printf(a, "%s/bulk", r->folder.dir).ptr;
}

/* What a crash has left. */
void rocks_bulk_clear(struct ctx *c, struct rocks *r)
{
    files_remove(bulk_dir(&c->arena, r));
}

static int bulk_status(struct ctx *c, const char *what, char *err)
{
    int code = rocks_status_code(err);

    code = fail(c, code == E_NO_SPACE ? E_NO_SPACE : E_UNAVAILABLE, "Storage cannot %s: %s", what,
                err);
    rocksdb_free(err);
    return code;
}

int rocks_bulk_path(struct ctx *c, struct rocks *r, const char *ending, const char **out)
{
    if (mkdir(bulk_dir(&c->arena, r), 0700) != 0 && errno != EEXIST)
        return fail(c, errno == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "Cannot make %s: %s.",
                    bulk_dir(&c->arena, r), strerror(errno));
    *out = arena_printf(&c->arena, "%s/%06llu.%s", bulk_dir(&c->arena, r),
                        (unsigned long long)atomic_fetch_add(&r->bulk_files, 1), ending)
               .ptr;
    return E_OK;
}

static int bulk_file_open(struct ctx *c, struct rocks_bulk *b)
{
    struct rocks *r = b->rocks;
    struct bulk_file *file;
    const char *path;
    char *err = NULL;

    TRY(rocks_bulk_path(c, r, "sst", &path));
    file = mem_zalloc(sizeof(*file));
    file->path = mem_strdup(path);
    file->next = b->files;
    b->files = file;
    b->size = b->pushed = 0;
    b->writer = rocksdb_sstfilewriter_create(b->env, b->options);
    rocksdb_sstfilewriter_open(b->writer, file->path, &err);
    if (err)
        return bulk_status(c, "begin a file", err);
    b->fd = open(file->path, O_RDONLY | O_CLOEXEC);
    return E_OK;
}

static void bulk_writer_free(struct rocks_bulk *b)
{
    if (b->writer)
        rocksdb_sstfilewriter_destroy(b->writer);
    b->writer = NULL;
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

/* The file is whole and on the medium. */
static int bulk_file_end(struct ctx *c, struct rocks_bulk *b)
{
    char *err = NULL;

    rocksdb_sstfilewriter_finish(b->writer, &err);
    bulk_writer_free(b);
    return err ? bulk_status(c, "end a file", err) : E_OK;
}

/* Is there room for more? */
static int bulk_check(struct ctx *c, struct rocks_bulk *b)
{
    int code = atomic_load(&b->rocks->failed);

    if (!code && rocks_space_short(b->rocks))
        code = E_NO_SPACE;
    return code ? fail_code(c, code) : E_OK;
}

static int bulk_add(struct ctx *c, struct rocks_bulk *b, bytes key, bytes value)
{
    char *err = NULL;

    if (b->writer && b->size >= BULK_FILE_BYTES)
        TRY(bulk_file_end(c, b));
    if (!b->writer)
        TRY(bulk_file_open(c, b));
    rocksdb_sstfilewriter_put(b->writer, key.ptr, key.len, value.len ? value.ptr : "", value.len,
                              &err);
    if (err)
        return bulk_status(c, "write a file", err);
    b->size += key.len + value.len;
    if (!b->first.len)
        buf_put_bytes(&b->first, key);
    b->last.len = 0;
    buf_put_bytes(&b->last, key);
    /* The disk is to be busy while more comes in, and not only when the file ends. */
    if (b->fd >= 0 && b->size - b->pushed >= BULK_PUSH_BYTES) {
        sync_file_range(b->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
        b->pushed = b->size;
    }
    return E_OK;
}

static int rocks_bulk_put(struct ctx *c, struct bulk *bulk, bytes key, bytes value)
{
    struct rocks_bulk *b = PORT_CONTAINER(bulk, struct rocks_bulk, base);

    TRY(bulk_check(c, b));
    return b->sorter ? sorter_put(c, b->sorter, key, value) : bulk_add(c, b, key, value);
}

static int rocks_bulk_merge(struct ctx *c, struct bulk *bulk, uint64_t *written, bool *ended)
{
    struct rocks_bulk *b = PORT_CONTAINER(bulk, struct rocks_bulk, base);
    uint64_t end = *written + MERGE_BYTES;
    struct kv pair;

    TRY(bulk_check(c, b));
    for (; *written < end; *written += pair.key.len + pair.value.len) {
        TRY(sorter_take(c, b->sorter, &pair, ended));
        if (*ended)
            return E_OK;
        TRY(bulk_add(c, b, pair.key, pair.value));
    }
    return E_OK;
}

static int bulk_take_over(struct ctx *c, struct rocks_bulk *b, const char *const *paths, size_t n)
{
    rocksdb_ingestexternalfileoptions_t *how = rocksdb_ingestexternalfileoptions_create();
    struct entry in;
    char *err = NULL;
    int code = rocks_enter(c, b->rocks, VIEW_LATEST, &in);

    if (code == E_OK) {
        rocksdb_ingestexternalfileoptions_set_move_files(how, 1);
        rocksdb_ingestexternalfileoptions_set_snapshot_consistency(how, 0);
        rocksdb_ingestexternalfileoptions_set_allow_global_seqno(how, 0);
        rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(how, 0);
        rocksdb_ingest_external_file(in.handle->db, paths, n, how, &err);
        rocks_leave(&in);
    }
    rocksdb_ingestexternalfileoptions_destroy(how);
    if (err && strstr(err, "Global seqno is required"))
        rocks_covered_add(b->rocks,
                          &(struct key_range){buf_bytes(&b->first),
                                              rocks_key_behind(&c->arena, buf_bytes(&b->last))});
    return err ? bulk_status(c, "take over a file", err) : code;
}

static int rocks_bulk_finish(struct ctx *c, struct bulk *bulk)
{
    struct rocks_bulk *b = PORT_CONTAINER(bulk, struct rocks_bulk, base);
    const char **paths;
    size_t n = 0;
    int code = atomic_load(&b->rocks->failed);

    if (code)
        return fail_code(c, code);
    if (b->writer)
        TRY(bulk_file_end(c, b));
    for (struct bulk_file *file = b->files; file; file = file->next)
        n++;
    if (!n)
        return E_OK;
    paths = ARENA_ARRAY(&c->arena, const char *, n);
    for (struct bulk_file *file = b->files; file; file = file->next)
        paths[--n] = file->path;
    for (struct bulk_file *file = b->files; file; file = file->next)
        n++;
    if (fault_hit(FAULT_bulk_before_ingest))
        return fail(c, E_UNAVAILABLE, "A fault was asked for.");
    TRY(bulk_take_over(c, b, paths, n));
    (void)fault_hit(FAULT_bulk_after_ingest);
    return E_OK;
}

static void rocks_bulk_close(struct bulk *bulk)
{
    struct rocks_bulk *b = PORT_CONTAINER(bulk, struct rocks_bulk, base);
    struct bulk_file *next;

    bulk_writer_free(b);
    for (struct bulk_file *file = b->files; file; file = next) {
        next = file->next;
        unlink(file->path); /* gone already if it was taken over */
        mem_free(file->path);
        mem_free(file);
    }
    sorter_free(b->sorter);
    rocksdb_envoptions_destroy(b->env);
    rocksdb_options_destroy(b->options);
    arena_release(&b->arena);
    mem_free(b);
}

static const struct bulk_ops rocks_bulk_ops = {
    .put = rocks_bulk_put, .finish = rocks_bulk_finish, .close = rocks_bulk_close};
static const struct bulk_ops rocks_sort_ops = {.put = rocks_bulk_put,
                                               .finish = rocks_bulk_finish,
                                               .close = rocks_bulk_close,
                                               .merge = rocks_bulk_merge};

static struct rocks_bulk *bulk_new(struct rocks *r, const struct bulk_ops *ops)
{
    struct rocks_bulk *b = mem_zalloc(sizeof(*b));

    b->base.ops = ops;
    b->rocks = r;
    b->fd = -1;
    arena_init(&b->arena, NULL, 0);
    buf_init(&b->first, &b->arena, 0);
    buf_init(&b->last, &b->arena, 256);
    b->env = rocksdb_envoptions_create();
    b->options = rocksdb_options_create_copy(r->options);
    return b;
}

int rocks_bulk(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct rocks_bulk *b;
    int code = atomic_load(&r->failed);

    (void)partition;
    if (code)
        return fail_code(c, code);
    b = bulk_new(r, &rocks_bulk_ops);
    /* Large values are mostly packed already; compaction packs them if it pays. */
    rocksdb_options_set_compression(b->options, rocksdb_no_compression);
    rocksdb_options_set_bottommost_compression(b->options, rocksdb_no_compression);
    *out = &b->base;
    return E_OK;
}

int rocks_sort(struct ctx *c, struct engine *e, partition_id partition, struct bulk **out)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    uint64_t bytes_max = rocks_clamp(r->memory_bytes / SORT_PARTS, SORTER_BYTES_MIN, 128 * MIB);
    struct rocks_bulk *b;
    const char *path;
    int code = atomic_load(&r->failed);

    (void)partition;
    if (code)
        return fail_code(c, code);
    TRY(rocks_bulk_path(c, r, "sort", &path));
    b = bulk_new(r, &rocks_sort_ops);
    b->sorter = sorter_new(path, bytes_max);
    *out = &b->base;
    return E_OK;
}
