/* watermark.h: the file that remembers how far writes have been acknowledged.
 *
 * It holds one number that only grows: the log sequence number up to which everything has been
 * answered as durable. When a database is opened and its log ends before it, acknowledged writes
 * are missing and the engine refuses to start. doc/format.md, "Watermark file", has every byte.
 *
 * Not thread-safe: one thread at a time. */
#ifndef ENGINE_WATERMARK_H
#define ENGINE_WATERMARK_H

#include "base/ctx.h"
#include "engine/manifest.h"

struct watermark {
    int fd;
    uint64_t counter;         /* of the slot written last */
    uint64_t sequence;        /* in that slot */
    struct manifest manifest; /* likewise; what the next write is to say */
    int64_t synced_us;        /* clock_mono_us() of the last fdatasync */
    bool dirty;               /* written since then */
    struct clock *clock;
};

/* Makes the file `path`, which must not exist, with `sequence` in both slots, and syncs it. The
 * caller syncs the folder. */
int watermark_create(struct ctx *c, const char *path, uint64_t sequence);

/* Reads the newest valid slot. E_NOT_EXIST: there is no such file; E_CORRUPT: no slot is valid;
 * both with a text that names the file. On success w is open and must be closed. */
int watermark_open(struct ctx *c, const char *path, struct watermark *w);

/* Writes `sequence` and w->manifest into the older slot, without syncing it. Returns 0 or errno. */
int watermark_write(struct watermark *w, uint64_t sequence);

/* Syncs what has been written if the last time was 100 ms ago. To be called behind each write, and
 * watermark_sync() when none has come for 100 ms: what a power cut can take is the newest 100 ms of
 * this number, never of the data. Returns 0 or errno. */
int watermark_sync_paced(struct watermark *w);

/* Syncs what has been written. Returns 0 or errno. */
int watermark_sync(struct watermark *w);

/* E_CORRUPT, with a text that names the file, if the database in `db` has lost some of what w
 * remembers in a way that RocksDB does not notice (manifest.h, logs.h). What it does notice, and a
 * log that ends too early, is left to whoever opens it. */
int watermark_check(struct ctx *c, const struct watermark *w, const char *db);

void watermark_close(struct watermark *w);

#endif
