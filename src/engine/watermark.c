/* watermark.c: two slots, written in turn, so that a write torn by a power cut leaves the one
 * before. Each lies in a block of its own (4096 bytes apart) for the same reason. */
#include "engine/watermark.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "engine/logs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#define SLOT_BYTES 56
#define SLOT_STEP 4096
#define FILE_BYTES (2 * SLOT_STEP)
#define SLOT_VERSION 2
#define SYNC_US 100000

static const char slot_magic[8] = "WRWATERM";

static void slot_encode(uint8_t *slot, const struct watermark *w)
{
    memcpy(slot, slot_magic, 8);
    store_u32(slot + 8, SLOT_VERSION);
    store_u32(slot + 12, 0);
    store_u64(slot + 16, w->counter);
    store_u64(slot + 24, w->sequence);
    store_u64(slot + 32, w->manifest.number);
    store_u64(slot + 40, w->manifest.size);
    store_u64(slot + 48, XXH3_64bits(slot, 48));
}

/* Takes the slot over if it is valid and newer than what w has. */
static bool slot_decode(const uint8_t *slot, struct watermark *w)
{
    if (memcmp(slot, slot_magic, 8) != 0 || load_u32(slot + 8) != SLOT_VERSION ||
        load_u64(slot + 48) != XXH3_64bits(slot, 48))
        return false;
    if (load_u64(slot + 16) >= w->counter) {
        w->counter = load_u64(slot + 16);
        w->sequence = load_u64(slot + 24);
        w->manifest.number = load_u64(slot + 32);
        w->manifest.size = load_u64(slot + 40);
    }
    return true;
}

/* A slot is smaller than any block, so a short write is an error like others. */
static int write_at(int fd, const void *data, size_t n, off_t at)
{
    ssize_t done = pwrite(fd, data, n, at);

    if (done < 0)
        return errno;
    return (size_t)done == n ? 0 : ENOSPC;
}

int watermark_create(struct ctx *c, const char *path, uint64_t sequence)
{
    uint8_t all[FILE_BYTES] = {0};
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), error;

    if (fd < 0)
        return fail(c, E_UNAVAILABLE, "Cannot make %s: %s.", path, strerror(errno));
    slot_encode(all, &(struct watermark){.counter = 1, .sequence = sequence});
    slot_encode(all + SLOT_STEP, &(struct watermark){.counter = 2, .sequence = sequence});
    error = write_at(fd, all, sizeof(all), 0);
    if (!error && fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && !error)
        error = errno;
    if (error)
        return fail(c, error == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "Cannot write %s: %s.", path,
                    strerror(error));
    return E_OK;
}

int watermark_open(struct ctx *c, const char *path, struct watermark *w)
{
    uint8_t all[FILE_BYTES] = {0};
    bool found = false;
    ssize_t n;

    *w = (struct watermark){.fd = open(path, O_RDWR | O_CLOEXEC), .clock = c->clock};
    if (w->fd < 0 && (errno == EACCES || errno == EROFS)) /* a backup that is only looked at */
        w->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (w->fd < 0 && errno == ENOENT)
        return fail(c, E_NOT_EXIST, "%s is missing", path);
    if (w->fd < 0)
        return fail(c, E_UNAVAILABLE, "Cannot open %s: %s.", path, strerror(errno));
    n = pread(w->fd, all, sizeof(all), 0);
    if (n < 0) {
        int error = errno;

        watermark_close(w);
        return fail(c, E_UNAVAILABLE, "Cannot read %s: %s.", path, strerror(error));
    }
    for (int i = 0; i < 2; i++)
        found = slot_decode(all + i * SLOT_STEP, w) || found;
    if (!found) {
        watermark_close(w);
        return fail(c, E_CORRUPT, "%s is damaged: neither of its two slots is valid", path);
    }
    return E_OK;
}

int watermark_write(struct watermark *w, uint64_t sequence)
{
    struct watermark next = *w;
    uint8_t slot[SLOT_BYTES];
    int error;

    invariant(w->fd >= 0 && sequence >= w->sequence); /* what was answered stays answered */
    next.counter++;
    next.sequence = sequence;
    slot_encode(slot, &next);
    error = write_at(w->fd, slot, sizeof(slot), (off_t)(next.counter % 2 ? 0 : SLOT_STEP));
    if (error)
        return error;
    *w = next;
    w->dirty = true;
    return 0;
}

int watermark_sync_paced(struct watermark *w)
{
    return clock_mono_us(w->clock) - w->synced_us < SYNC_US ? 0 : watermark_sync(w);
}

int watermark_sync(struct watermark *w)
{
    if (!w->dirty)
        return 0;
    if (fdatasync(w->fd) != 0)
        return errno;
    w->dirty = false;
    w->synced_us = clock_mono_us(w->clock);
    return 0;
}

int watermark_check(struct ctx *c, const struct watermark *w, const char *db)
{
    TRY(manifest_check(c, db, &w->manifest));
    return logs_check(c, db, w->sequence);
}

void watermark_close(struct watermark *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}
