/* rocks_open.c: opening a database only if it holds all that was acknowledged.
 *
 * RocksDB's recovery drops the tail of a damaged log without a word, and opens an empty database
 * when the log was deleted. So it is first opened read-only, which replays the log and changes
 * nothing; if the latest sequence number found is below the watermark (watermark.h), the engine
 * refuses. This needs all data in one column family: with several, the loss of one log can hide
 * behind another. What RocksDB overlooks although its log reaches the watermark is found before
 * (manifest.h, logs.h). */
#include "engine/rocks.h"

#include "base/buf.h"
#include "base/fault.h"

#include <dirent.h>
#include <sys/stat.h>

/* The log files with their sizes, for a message. */
static bytes log_names(struct ctx *c, struct rocks *r)
{
    struct buf b;
    DIR *d = opendir(r->folder.db);
    struct dirent *entry;

    buf_init(&b, &c->arena, 64);
    while (d && (entry = readdir(d))) {
        size_t n = strlen(entry->d_name);
        struct stat st;

        if (n < 5 || strcmp(entry->d_name + n - 4, ".log") != 0 ||
            fstatat(dirfd(d), entry->d_name, &st, 0) != 0)
            continue;
        buf_put_bytes(&b, arena_printf(&c->arena, "%s%s/%s (%lld bytes)", b.len ? ", " : "",
                                       r->folder.db, entry->d_name, (long long)st.st_size));
    }
    if (d)
        closedir(d);
    return b.len ? buf_bytes(&b) : BYTES_LIT("no file at all");
}

/* A database that does not open, in words an operator can act on. Frees err. */
static int open_fail(struct ctx *c, struct rocks *r, char *err)
{
    int code = rocks_status_code(err);
    char *manifest = strstr(err, " in file "), *table = strstr(err, ".ldb");
    size_t len = strlen(err);

    while (len && err[len - 1] == '.') /* ours comes behind */
        err[--len] = 0;
    switch (code) {
    case E_CORRUPT:
        /* RocksDB adds the file that named the damaged one, which misleads. */
        if (table)
            memcpy(table, ".sst", 4); /* the name of old it tried last */
        if (manifest && strstr(err, ".sst"))
            *manifest = 0;
        code = fail(c, code,
                    "The data in %s is damaged: %s. Restore a backup, or start again with "
                    "--accept-data-loss to go on with what can be read (copy the folder first).",
                    r->folder.dir, err);
        break;
    case E_NO_SPACE:
        code = fail(c, code, "The disk that holds %s is full: %s. Free some space and start again.",
                    r->folder.dir, err);
        break;
    case E_LOCKED:
        code =
            fail(c, code, "The database in %s is open in another process: %s.", r->folder.dir, err);
        break;
    default:
        code =
            fail(c, E_UNAVAILABLE, "The database in %s cannot be opened: %s.", r->folder.dir, err);
        break;
    }
    rocksdb_free(err);
    return code;
}

/* Opens read-only, which replays the log without changing anything. */
int rocks_open_to_read(struct ctx *c, struct rocks *r, rocksdb_t **out)
{
    char *err = NULL;

    *out = rocksdb_open_for_read_only(r->options, r->folder.db, 0, &err);
    if (err)
        return open_fail(c, r, err);
    return E_OK;
}

/* How far the log goes, and how much there is to compact. */
static int look_sequence(struct ctx *c, struct rocks *r, uint64_t *sequence, uint64_t *due)
{
    rocksdb_t *db;

    if (watermark_check(c, &r->watermark, r->folder.db) != E_OK)
        return fail(c, E_CORRUPT,
                    "The data in %s is damaged: %s. Restore a backup, or start again with "
                    "--accept-data-loss to go on with what can be read (copy the folder "
                    "first).",
                    r->folder.dir, ctx_take_reason(c));
    TRY(rocks_open_to_read(c, r, &db));
    *sequence = rocksdb_get_latest_sequence_number(db);
    *due = rocks_compaction_due(db);
    rocksdb_close(db);
    return E_OK;
}

static int loss_fail(struct ctx *c, struct rocks *r, uint64_t sequence)
{
    uint64_t acked = r->watermark.sequence;

    return fail(c, E_DATA_LOSS,
                "Acknowledged writes are missing from %s: the log reaches sequence number %llu, "
                "but writes up to %llu were acknowledged (%llu missing). Log files found: %.*s. "
                "Restore a backup, or start again with --accept-data-loss to go on with what is "
                "there (copy the folder first).",
                r->folder.dir, (unsigned long long)sequence, (unsigned long long)acked,
                (unsigned long long)(acked - sequence), BYTES_FMT(log_names(c, r)));
}

/* Opens the database if it holds all that was acknowledged. */
int rocks_db_open(struct ctx *c, struct rocks *r, struct handle **out)
{
    uint64_t seen, sequence, due;
    char *err = NULL;
    bool compacts;
    rocksdb_t *db;
    int error;

    if (fault_hit(FAULT_rocks_reopen))
        return fail(c, E_UNAVAILABLE, "A fault was asked for.");
    TRY(look_sequence(c, r, &seen, &due));
    if (seen < r->watermark.sequence)
        return loss_fail(c, r, seen);
    compacts = rocks_space_to_compact(r, due) && !rocks_damage_is(r);
    rocksdb_options_set_disable_auto_compactions(r->options, !compacts);
    db = rocksdb_open(r->options, r->folder.db, &err);
    rocks_options_tidy(r);
    if (err)
        return open_fail(c, r, err);
    if (rocks_damage_is(r))
        TRY(rocks_replace(c, r, &db));
    sequence = rocksdb_get_latest_sequence_number(db);
    if (sequence < r->watermark.sequence) {
        /* The log was whole a moment ago: somebody else has been at it. */
        rocksdb_close(db);
        return loss_fail(c, r, sequence);
    }
    rocks_write_buffer_hold(r);
    error = rocks_numbers_open(c, r, db);
    rocks_write_buffer_release(r);
    if (error != E_OK) {
        rocksdb_close(db);
        return error;
    }
    /* Each opening makes a new MANIFEST. */
    error = rocks_mark(r, r->watermark.sequence);
    if (!error)
        error = watermark_sync(&r->watermark);
    if (error) {
        rocksdb_close(db);
        return fail(c, E_UNAVAILABLE, "Cannot write %s: %s.", r->folder.watermark, strerror(error));
    }
    *out = rocks_handle_new(r, db, true); /* opening flushes what the logs had */
    atomic_store(&(*out)->compaction_off, !compacts);
    return E_OK;
}

/* Makes what a new folder needs (folder.h has the order). */
int rocks_make_new(struct ctx *c, struct rocks *r)
{
    char *err = NULL;
    rocksdb_t *db;

    TRY(folder_clear(c, &r->folder));
    rocksdb_destroy_db(r->options, r->folder.db_new, &err);
    if (err)
        return open_fail(c, r, err);
    rocksdb_options_set_create_if_missing(r->options, 1);
    db = rocksdb_open(r->options, r->folder.db_new, &err);
    rocksdb_options_set_create_if_missing(r->options, 0);
    if (err)
        return open_fail(c, r, err);
    rocksdb_close(db);
    TRY(rocks_profile_write(c, r, r->folder.db_new));
    TRY(folder_sync(c, r->folder.db_new));
    TRY(watermark_create(c, r->folder.watermark, 0));
    return folder_finish(c, &r->folder);
}

/* Opens and closes, to see how far the data go after recovery has dropped what it must. */
static int open_once(struct ctx *c, struct rocks *r, uint64_t *sequence)
{
    char *err = NULL;
    rocksdb_t *db = rocksdb_open(r->options, r->folder.db, &err);

    if (err)
        return open_fail(c, r, err);
    *sequence = rocksdb_get_latest_sequence_number(db);
    rocksdb_close(db);
    return E_OK;
}

/* Finds a way to open what is there, from the gentlest on. */
static int accept_damage(struct ctx *c, struct rocks *r, uint64_t *seen)
{
    struct stat st;
    uint64_t due;
    char *err = NULL;

    if (look_sequence(c, r, seen, &due) == E_OK)
        return E_OK;
    log_warn(r->log, "storage: told to go on in spite of this: %s", c->text);
    ctx_clear(c);
    if (stat(r->folder.db, &st) != 0)
        return fail(c, E_CORRUPT,
                    "%s is missing, and with it all data. Restore a backup, or begin with an empty "
                    "data folder.",
                    r->folder.db);
    /* A log that was synced may be gone, so do without looking for those. Not read-only: RocksDB
     * then forgets which logs there should be, which the packaged library asserts it can. */
    TRY(rocks_options_make(c, r, false));
    if (manifest_check(c, r->folder.db, &r->watermark.manifest) == E_OK &&
        open_once(c, r, seen) == E_OK)
        return rocks_options_make(c, r, true);
    ctx_clear(c);
    r->watermark.manifest = (struct manifest){0};
    /* Collects every table file and log that can be read. Rows whose deletion was already forgotten
     * come back if a file from before it still lies about, hence the last resort. */
    log_warn(r->log, "storage: collecting what can be read; deleted rows may come back");
    rocksdb_repair_db(r->options, r->folder.db, &err);
    if (err)
        return open_fail(c, r, err);
    TRY(open_once(c, r, seen));
    return rocks_options_make(c, r, true);
}

/* Opens what is there, and lets the watermark be what is really found. */
int rocks_accept_loss(struct ctx *c, struct rocks *r)
{
    uint64_t seen, before = 0;
    bool known;

    known = watermark_open(c, r->folder.watermark, &r->watermark) == E_OK;
    ctx_clear(c);
    TRY(accept_damage(c, r, &seen));
    if (known) {
        before = r->watermark.sequence;
        if (before <= seen)
            return E_OK;
        watermark_close(&r->watermark);
    }
    TRY(folder_clear(c, &r->folder));
    TRY(watermark_create(c, r->folder.watermark, seen));
    TRY(folder_sync(c, r->folder.dir));
    if (known)
        log_warn(r->log,
                 "storage: accepted the loss of acknowledged writes: sequence numbers %llu to %llu "
                 "are gone",
                 (unsigned long long)seen + 1, (unsigned long long)before);
    else
        log_warn(r->log,
                 "storage: accepted that WATERMARK is unreadable: taking what was found, up to "
                 "sequence number %llu",
                 (unsigned long long)seen);
    return watermark_open(c, r->folder.watermark, &r->watermark);
}

int rocks_load_watermark(struct ctx *c, struct rocks *r)
{
    int code = watermark_open(c, r->folder.watermark, &r->watermark);

    if (code != E_NOT_EXIST && code != E_CORRUPT)
        return code;
    return fail(c, E_CORRUPT,
                "%s, so nobody can tell whether acknowledged writes are missing. Restore a backup, "
                "or start again with --accept-data-loss to go on with what is there.",
                ctx_take_reason(c));
}
