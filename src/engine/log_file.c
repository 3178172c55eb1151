#include "engine/log_file.h"

#include "base/buf.h"

#include <errno.h>
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

/* CRC-32C in the form that RocksDB stores. */
static uint32_t checksum(const uint8_t *p, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

static void put_record(struct buf *b, enum log_part part, bytes payload)
{
    uint8_t *p = buf_reserve(b, HEADER_BYTES + payload.len);

    p[4] = (uint8_t)payload.len;
    p[5] = (uint8_t)(payload.len >> 8);
    p[6] = (uint8_t)part;
    memcpy(p + HEADER_BYTES, payload.ptr, payload.len);
    store_u32(p, checksum(p + 6, 1 + payload.len));
    buf_commit(b, HEADER_BYTES + payload.len);
}

/* The entry as it stands in a log from byte `at` on. */
static void put_entry(struct buf *b, uint64_t at, bytes entry)
{
    static const uint8_t padding[HEADER_BYTES];
    bool first = true, last = false;

    while (!last) {
        size_t left = LOG_BLOCK_BYTES - (size_t)((at + b->len) % LOG_BLOCK_BYTES), n;

        if (left < HEADER_BYTES) {
            buf_put(b, padding, left);
            continue;
        }
        left -= HEADER_BYTES;
        n = entry.len < left ? entry.len : left;
        last = n == entry.len;
        put_record(b,
                   first  ? (last ? LOG_WHOLE : LOG_FIRST)
                   : last ? LOG_LAST
                          : LOG_MIDDLE,
                   bytes_of(entry.ptr, n));
        entry = bytes_of(bytes_u8(entry) + n, entry.len - n);
        first = false;
    }
}

int log_file_append(const char *path, bytes entry)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC), error = 0;
    uint8_t room[256];
    struct arena a;
    struct stat st;
    struct buf b;
    ssize_t n;

    if (fd < 0)
        return errno;
    arena_init(&a, room, sizeof(room));
    buf_init(&b, &a, 0);
    if (fstat(fd, &st) != 0) {
        error = errno;
    } else {
        put_entry(&b, (uint64_t)st.st_size, entry);
        n = write(fd, b.data, b.len);
        if (n < 0 || fdatasync(fd) != 0)
            error = errno;
        else if ((size_t)n < b.len)
            error = ENOSPC;
    }
    arena_release(&a);
    close(fd);
    return error;
}
