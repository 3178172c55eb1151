#include "engine/manifest.h"

#include "base/buf.h"
#include "engine/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES_MAX 4096
#define EDIT_HEAD_BYTES 512 /* more than those three take */

/* An edit of the MANIFEST is a list of tags with their values, always in one order, of which the
 * first three come first. */
enum edit_tag {
    EDIT_DATABASE_ID = 8193,
    EDIT_COMPARATOR = 1,
    EDIT_LOG_NUMBER = 2,
    EDIT_DELETED_FILE = 6 /* its level and number */
};

/* The number of the MANIFEST that CURRENT names; 0: it names none. */
static uint64_t current_number(const char *db)
{
    char path[PATH_BYTES_MAX], text[64] = "";
    ssize_t n = -1;
    int fd = -1;

    if (snprintf(path, sizeof(path), "%s/CURRENT", db) < (int)sizeof(path))
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = pread(fd, text, sizeof(text) - 1, 0);
        close(fd);
    }
    return n > 9 && strncmp(text, "MANIFEST-", 9) == 0 ? strtoull(text + 9, NULL, 10) : 0;
}

static bool file_path(const char *db, uint64_t number, char path[PATH_BYTES_MAX])
{
    return snprintf(path, PATH_BYTES_MAX, "%s/MANIFEST-%06llu", db, (unsigned long long)number) <
           PATH_BYTES_MAX;
}

/* Syncs the file and says how long it is. */
static int sync_size(const char *path, uint64_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;
    struct stat st;

    if (fd < 0)
        return errno;
    /* First the size: what comes after it need not be durable. */
    if (fstat(fd, &st) != 0 || fdatasync(fd) != 0)
        error = errno;
    close(fd);
    *size = (uint64_t)st.st_size;
    return error;
}

int manifest_follow(const char *db, struct manifest *m)
{
    char path[PATH_BYTES_MAX];
    struct manifest now;
    struct stat st;

    /* Nearly always: the same file, no longer than before. */
    if (m->number && file_path(db, m->number, path) && stat(path, &st) == 0 &&
        (uint64_t)st.st_size == m->size)
        return 0;
    now.number = current_number(db);
    if (!now.number || !file_path(db, now.number, path))
        return 0;
    int error = sync_size(path, &now.size);

    /* Replaced by the next one between two calls: that one is for the next time.
     */
    if (error == ENOENT)
        return 0;
    if (!error)
        *m = now;
    return error;
}

int manifest_check(struct ctx *c, const char *db, const struct manifest *known)
{
    uint64_t number = current_number(db);
    char path[PATH_BYTES_MAX];
    struct log_record r;
    struct log_file f;

    if (!known->number || !number || !file_path(db, number, path))
        return E_OK;
    if (number < known->number)
        return fail(c, E_CORRUPT,
                    "%s/CURRENT names MANIFEST-%06llu, but MANIFEST-%06llu was in "
                    "use already",
                    db, (unsigned long long)number, (unsigned long long)known->number);
    if (number > known->number)
        return E_OK; /* made at the last start, which ended before it could be
                        remembered */
    if (!log_file_open(&f, path))
        return E_OK;
    while (log_file_next(&f, &r))
        ;
    log_file_close(&f);
    if (f.end >= known->size)
        return E_OK;
    return fail(c, E_CORRUPT, "%s can be read up to byte %llu only, but had %llu bytes", path,
                (unsigned long long)f.end, (unsigned long long)known->size);
}

/* The log number that the edit tells; 0: none. */
static uint64_t edit_log_number(bytes edit)
{
    struct reader r = reader_of(edit);

    while (!r.bad)
        switch (read_varint(&r)) {
        case EDIT_DATABASE_ID:
        case EDIT_COMPARATOR:
            read_counted(&r);
            break;
        case EDIT_LOG_NUMBER:
            return read_varint(&r);
        default:
            return 0;
        }
    return 0;
}

uint64_t manifest_oldest_log(const char *db)
{
    uint64_t number = current_number(db), oldest = 0, told;
    uint8_t head[EDIT_HEAD_BYTES];
    char path[PATH_BYTES_MAX];
    struct log_file f;
    size_t have;

    if (!number || !file_path(db, number, path) || !log_file_open(&f, path))
        return 0;
    while (log_file_entry(&f, head, sizeof(head), &have)) {
        told = edit_log_number(bytes_of((const char *)head, have));
        oldest = told > oldest ? told : oldest;
    }
    log_file_close(&f);
    return oldest;
}

int manifest_drop(const char *db, int level, uint64_t number)
{
    uint64_t manifest = current_number(db);
    char path[PATH_BYTES_MAX];
    uint8_t room[64];
    struct arena a;
    struct buf b;
    int error;

    if (!manifest || !file_path(db, manifest, path))
        return ENOENT;
    arena_init(&a, room, sizeof(room));
    buf_init(&b, &a, 0);
    buf_put_varint(&b, EDIT_DELETED_FILE);
    buf_put_varint(&b, (uint64_t)level);
    buf_put_varint(&b, number);
    error = log_file_append(path, buf_bytes(&b));
    arena_release(&a);
    return error;
}
