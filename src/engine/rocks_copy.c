/* rocks_copy.c: backups. A backup is RocksDB's checkpoint: table files linked (or copied, to
 * another disk), the log copied, as of one moment, without keeping writers out. VERSION and a
 * WATERMARK that says how far the copy goes are written behind it, so that a copy which is not
 * whole is refused. */
#include "engine/rocks.h"

#include "engine/files.h"

#include <errno.h>
#include <stdio.h>

/* RocksDB's own copy of the database as of now. */
int rocks_checkpoint_make(struct ctx *c, struct rocks *r, const char *dir, uint64_t *durable)
{
    rocksdb_checkpoint_t *checkpoint;
    struct entry in;
    char *err = NULL;

    TRY(rocks_enter(c, r, VIEW_DURABLE, &in));
    *durable = in.view->sequence;
    checkpoint = rocksdb_checkpoint_object_create(in.handle->db, &err);
    if (!err) {
        rocksdb_checkpoint_create(checkpoint, dir, 0, &err);
        rocksdb_checkpoint_object_destroy(checkpoint);
    }
    rocks_leave(&in);
    if (!err)
        return E_OK;
    if (rocks_status_code(err) == E_CORRUPT) /* a compaction has failed, so no flush works */
        rocks_fail(r, E_CORRUPT, "cannot make a copy", err);
    return rocks_status_fail(c, err);
}

/* How far the copy in `dir` goes: at least as far as what was acknowledged when it was begun. */
static int checkpoint_check(struct ctx *c, const char *dir, uint64_t durable, uint64_t *sequence)
{
    struct rocks_look l;
    char *err;

    if (!rocks_look_open(dir, true, &l, &err))
        return rocks_status_fail(c, err);
    *sequence = rocksdb_get_latest_sequence_number(l.db);
    rocks_look_close(&l);
    if (*sequence < durable)
        return fail(c, E_INTERNAL,
                    "The copy in %s goes to sequence number %llu, but %llu were acknowledged.", dir,
                    (unsigned long long)*sequence, (unsigned long long)durable);
    return E_OK;
}

/* The copy's own watermark: how far it goes, and its MANIFEST. */
static int checkpoint_mark(struct ctx *c, const struct folder *f, uint64_t sequence)
{
    struct watermark w;
    int error;

    TRY(watermark_create(c, f->watermark, sequence));
    TRY(watermark_open(c, f->watermark, &w));
    error = manifest_follow(f->db, &w.manifest);
    if (!error)
        error = watermark_write(&w, sequence);
    if (!error)
        error = watermark_sync(&w);
    watermark_close(&w);
    if (error)
        return fail(c, error == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "Cannot write %s: %s.",
                    f->watermark, strerror(error));
    return E_OK;
}

static int checkpoint_fill(struct ctx *c, struct rocks *r, struct folder *f)
{
    uint64_t durable, sequence = 0;

    TRY(rocks_checkpoint_make(c, r, f->db, &durable));
    TRY(rocks_profile_write(c, r, f->db));
    TRY(checkpoint_check(c, f->db, durable, &sequence));
    TRY(files_sync(c, f->db));
    TRY(checkpoint_mark(c, f, sequence));
    return folder_stamp(c, f);
}

int rocks_checkpoint(struct ctx *c, struct engine *e, const char *dir)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct folder f;
    bool made_dir;
    int code = atomic_load(&r->failed);

    if (code)
        return fail(c, code, "Storage is not writable now: try again when it is.");
    TRY(folder_open_target(c, dir, &f, &made_dir));
    code = checkpoint_fill(c, r, &f);
    if (code) {
        files_remove(
            arena_printf(&c->arena, "%s.tmp", f.db).ptr); /* RocksDB's, before it is done */
        files_remove(f.db);
        folder_abandon(&f, made_dir);
    } else {
        folder_close(&f);
    }
    return code;
}

static int backup_fail(struct ctx *c, const struct folder *f, const char *why)
{
    return fail(c, E_CORRUPT, "The backup %s is damaged: %s.", f->dir, why);
}

/* Verifies the database in `db`, which is the folder's or a copy of it, up to the watermark. */
static int folder_verify(struct ctx *c, const struct folder *f, const char *db)
{
    struct watermark w;
    struct rocks_look l;
    uint64_t sequence = 0, done;
    char *err;
    bytes table;

    if (watermark_open(c, f->watermark, &w) != E_OK)
        return backup_fail(c, f, ctx_take_reason(c));
    watermark_close(&w);
    if (watermark_check(c, &w, db) != E_OK)
        return backup_fail(c, f, rocks_text_moved(c, ctx_take_reason(c), db, f->db));
    if (rocks_look_open(db, true, &l, &err)) {
        sequence = rocksdb_get_latest_sequence_number(l.db);
        rocks_look_seek(&l, BYTES_NONE);
        rocks_look_read(&l, UINT64_MAX, &done, &err);
        rocks_look_close(&l);
    }
    if (err) {
        int code = rocks_status_code(err);

        table = rocks_table_named(c, err);
        fail(c, code == E_BUSY || code == E_NO_SPACE ? code : E_CORRUPT,
             "The backup %s is damaged%s%.*s: %s", f->dir, table.len ? ", in db/" : "",
             BYTES_FMT(table), rocks_text_moved(c, err, db, f->db));
        rocksdb_free(err);
        return c->code;
    }
    if (sequence < w.sequence)
        return fail(c, E_DATA_LOSS,
                    "The backup %s is not complete: it reaches sequence number %llu of %llu.",
                    f->dir, (unsigned long long)sequence, (unsigned long long)w.sequence);
    return E_OK;
}

/* RocksDB's lock and diary are of no use in a copy. */
static bool copy_wanted(const char *name)
{
    return strcmp(name, "LOCK") != 0 && !strncmp(name, "LOG", 3) == 0;
}

static int restore_fill(struct ctx *c, const struct folder *from, struct folder *to,
                        const char *db_copy)
{
    struct watermark w;
    int code = watermark_open(c, from->watermark, &w);

    if (code)
        return backup_fail(c, from, ctx_take_reason(c));
    watermark_close(&w);
    TRY(files_copy(c, from->db, db_copy, copy_wanted));
    TRY(folder_verify(c, from, db_copy));
    if (rename(db_copy, to->db) != 0)
        return fail(c, E_UNAVAILABLE, "Cannot rename %s: %s.", db_copy, strerror(errno));
    TRY(checkpoint_mark(c, to, w.sequence));
    return folder_stamp(c, to);
}

int rocks_restore(struct ctx *c, const struct engine_conf *conf, const char *dir)
{
    struct folder from, to;
    const char *db_copy;
    bool made_dir;
    int code;

    TRY(folder_open_source(c, dir, &from));
    if (!*conf->dir) {
        code = folder_verify(c, &from, from.db);
    } else {
        code = folder_open_target(c, conf->dir, &to, &made_dir);
        if (code == E_OK) {
            /* A name that folder_open() does not know, so that half a copy is refused. */
            db_copy = arena_printf(&c->arena, "%s.copy", to.db).ptr;
            code = restore_fill(c, &from, &to, db_copy);
            if (code) {
                files_remove(db_copy);
                files_remove(to.db);
                folder_abandon(&to, made_dir);
            } else {
                folder_close(&to);
            }
        }
    }
    folder_close(&from);
    return code;
}
