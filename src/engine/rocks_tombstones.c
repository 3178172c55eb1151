/* rocks_tombstones.c: is there a range tombstone?
 *
 * Iterators of what is cached leave rows out unless they ignore range tombstones (decision 31), so
 * ranges are asked of memory only while there is none. Two write them: drop_covered() in
 * rocks_drop.c, between rocks_tombstones_begin() and rocks_tombstones_end(), and rocks_replace.c
 * into a table file, before anybody has the database. That there is none any more is proved: what
 * the write buffers had at that moment is flushed, and then no table file of the database has one.
 * Until then, and so after each opening, there may be one. Files that are taken over whole
 * (rocks_bulk.c) have none, and nobody has keys where they go.
 *
 * The table files are looked at directly. RocksDB has their number as a property, but reads what is
 * not in memory for it under the lock that every write takes.
 *
 * A reader has a view first and asks then. A tombstone older than the view was written before it
 * asks, and the doubt was raised before that. Where the doubt is gone again, no table file has the
 * tombstone, so none has what it hid from the view either. One that is younger hides nothing from
 * the view. Without a view (VIEW_LATEST) an iterator is as young as its making, so that it could
 * see a tombstone of after the question: such ranges are never asked of memory.
 *
 * An erasure holds its handle while it writes, and storage is reopened only when nobody holds one
 * (rocks_recovery.c). So the tombstone is in the database whose doubt it raised, or in its log,
 * and then in the next handle's, which begins with doubt.
 */
#include "engine/rocks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE_US_MIN 10000000
#define PAUSE_US_MAX 600000000
#define FOOTER_BYTES 53 /* from the format's version 1 on */
#define FOOTER_MAGIC 0x88e241b785f4cff7u
#define INDEX_BYTES_MAX 4096

/* Values of tombstones.doubt. */
enum { DOUBT_NONE, DOUBT_TABLES, DOUBT_ALL };

void rocks_tombstones_init(struct tombstones *t, bool buffered)
{
    atomic_init(&t->doubt, buffered ? DOUBT_ALL : DOUBT_TABLES);
    atomic_init(&t->running, 0);
}

void rocks_tombstones_begin(struct handle *h)
{
    /* In this order: see prove(). Each has a value of its own. */
    atomic_fetch_add(&h->tombstones.running, 1);
    atomic_fetch_add(&h->tombstones.doubt, DOUBT_ALL);
}

void rocks_tombstones_end(struct handle *h)
{
    atomic_fetch_sub(&h->tombstones.running, 1);
}

/* ---- a table file */

/* Seven bits a byte, the lowest first, as in RocksDB's files. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool names(const uint8_t *index, size_t len, const char *block)
{
    return memmem(index, len, block, strlen(block)) != NULL;
}

/* True only if the index of the file's meta blocks is as we know it and names none of range
 * tombstones. It is never compressed, has each name in full, and has no keys of ours. */
static bool file_has_none(int fd)
{
    uint8_t footer[FOOTER_BYTES], index[INDEX_BYTES_MAX];
    const uint8_t *handle = footer + 1; /* behind the checksum's type */
    uint64_t magic = 0, at, len;
    struct stat st;

    if (fstat(fd, &st) != 0 || st.st_size < FOOTER_BYTES ||
        pread(fd, footer, sizeof(footer), st.st_size - FOOTER_BYTES) != FOOTER_BYTES)
        return false;
    for (int i = 1; i <= 8; i++)
        magic = magic << 8 | footer[FOOTER_BYTES - i];
    if (magic != FOOTER_MAGIC || !take_varint(&handle, footer + FOOTER_BYTES, &at) ||
        !take_varint(&handle, footer + FOOTER_BYTES, &len) || len > sizeof(index) ||
        at > (uint64_t)st.st_size || pread(fd, index, len, (off_t)at) != (ssize_t)len)
        return false;
    return names(index, len, "rocksdb.properties") && !names(index, len, "rocksdb.range_del");
}

static bool table_has_none(const struct rocks *r, const char *name)
{
    int dir = open(r->folder.db, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = dir < 0 ? -1 : openat(dir, name + 1, O_RDONLY | O_CLOEXEC); /* behind its slash */
    bool none = fd >= 0 && file_has_none(fd);

    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    return none;
}

/* ---- the proof */

/* Files are made from files, and from write buffers: those of one moment will do. A file that has
 * gone meanwhile leaves the doubt, and so does storage that is wanted for something else. */
static bool tables_have_none(struct rocks *r, struct handle *h)
{
    const rocksdb_livefiles_t *files = rocksdb_livefiles(h->db);
    int i = 0, count = rocksdb_livefiles_count(files);

    while (i < count && !atomic_load(&r->failed) && !rocks_closing(r) &&
           table_has_none(r, rocksdb_livefiles_name(files, i)))
        i++;
    rocksdb_livefiles_destroy(files);
    return i == count;
}

static bool flush(struct handle *h)
{
    rocksdb_flushoptions_t *o = rocksdb_flushoptions_create();
    char *err = NULL;
    bool done;

    rocksdb_flush(h->db, o, &err);
    rocksdb_flushoptions_destroy(o);
    done = !err;
    rocksdb_free(err);
    return done;
}

/* `doubt` was read before it was seen that nobody writes a tombstone: all that began before have
 * been written, and are flushed here or in tables; one that begins later changes the doubt. */
static void prove(struct rocks *r, struct handle *h, unsigned doubt)
{
    if ((doubt == DOUBT_TABLES || flush(h)) && tables_have_none(r, h))
        atomic_compare_exchange_strong(&h->tombstones.doubt, &doubt, DOUBT_NONE);
}

void rocks_tombstones_look(struct rocks *r, struct handle *h)
{
    struct tombstones *t = &h->tombstones;
    unsigned doubt = atomic_load(&t->doubt);

    if (doubt == DOUBT_NONE || atomic_load(&t->running))
        return;
    if (doubt != t->looked_at)
        t->pause_us = t->next_us = 0;
    t->looked_at = doubt;
    if (clock_mono_us(r->clock) < t->next_us)
        return;
    prove(r, h, doubt);
    t->pause_us = (int64_t)rocks_clamp((uint64_t)t->pause_us * 2, PAUSE_US_MIN, PAUSE_US_MAX);
    t->next_us = clock_mono_us(r->clock) + t->pause_us;
}
