#include "engine/log_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 7
#define NO_BLOCK UINT64_MAX

bool log_file_open(struct log_file *f, const char *path)
{
    struct stat st;

    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0)
        return false;
    if (fstat(f->fd, &st) != 0) {
        close(f->fd);
        return false;
    }
    f->size = (uint64_t)st.st_size;
    f->end = 0;
    f->block = NO_BLOCK;
    return true;
}

void log_file_close(struct log_file *f)
{
    close(f->fd);
}

static bool load(struct log_file *f, uint64_t block)
{
    uint64_t want = f->size - block < LOG_BLOCK_BYTES ? f->size - block : LOG_BLOCK_BYTES;

    if (f->block == block)
        return true;
    f->block = NO_BLOCK;
    if (pread(f->fd, f->bytes, want, (off_t)block) != (ssize_t)want)
        return false;
    f->block = block;
    return true;
}

bool log_file_next(struct log_file *f, struct log_record *r)
{
    uint64_t at = f->end, left = LOG_BLOCK_BYTES - at % LOG_BLOCK_BYTES, length;
    const uint8_t *header;

    if (left < HEADER_BYTES) {
        at += left;
        left = LOG_BLOCK_BYTES;
    }
    if (at + HEADER_BYTES > f->size || !load(f, at - at % LOG_BLOCK_BYTES))
        return false;
    header = f->bytes + at % LOG_BLOCK_BYTES;
    length = (uint64_t)header[4] | (uint64_t)header[5] << 8;
    if (header[6] < LOG_WHOLE || header[6] > LOG_LAST || HEADER_BYTES + length > left ||
        at + HEADER_BYTES + length > f->size)
        return false;
    r->part = header[6];
    r->payload = bytes_of((const char *)header + HEADER_BYTES, length);
    f->end = at + HEADER_BYTES + length;
    return true;
}

static size_t head_add(uint8_t *head, size_t size, size_t have, bytes part)
{
    size_t n = size - have < part.len ? size - have : part.len;

    memcpy(head + have, part.ptr, n);
    return have + n;
}

bool log_file_entry(struct log_file *f, uint8_t *head, size_t size, size_t *have)
{
    struct log_record r;

    if (!log_file_next(f, &r) || (r.part != LOG_WHOLE && r.part != LOG_FIRST))
        return false;
    *have = head_add(head, size, 0, r.payload);
    while (r.part == LOG_FIRST || r.part == LOG_MIDDLE) {
        if (!log_file_next(f, &r) || (r.part != LOG_MIDDLE && r.part != LOG_LAST))
            return false;
        *have = head_add(head, size, *have, r.payload);
    }
    return true;
}
