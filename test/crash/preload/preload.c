/* preload.c: a library for LD_PRELOAD that records what a server writes and syncs, or shifts its
 * clock.
 *
 *     CRASH_RECORD=FILE            record into FILE (record.h) ...
 *     CRASH_RECORD_DIR=DIR         ... what happens to files below DIR
 *     CRASH_CLOCK_SHIFT_S=N        the time of day is N seconds later than it is
 *     CRASH_CLOCK_FILE=FILE        it is later by so many microseconds as the file's first 8 bytes
 * say, at any time
 *
 * A change and its record are made under one lock, so that the order of the records is the order of
 * the changes. A sync is not: it is recorded when it begins and when it has ended, and writes may
 * come between. */
#include "record.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FDS 4096
#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int record_fd = -1;
static const char *record_dir;
static size_t record_dir_len;
static uint64_t handles[FDS]; /* 0: not a file of ours */
static uint64_t handle_last;
static long clock_shift_s;
static const volatile int64_t *clock_shift_us; /* another process changes it */

static void clock_file_map(const char *name)
{
    int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);

    if (page != MAP_FAILED)
        clock_shift_us = page;
    if (fd >= 0)
        syscall(SYS_close, fd);
}

__attribute__((constructor)) static void begin(void)
{
    const char *file = getenv("CRASH_RECORD"), *shift = getenv("CRASH_CLOCK_SHIFT_S");

    record_dir = getenv("CRASH_RECORD_DIR");
    clock_shift_s = shift ? strtol(shift, NULL, 10) : 0;
    clock_file_map(getenv("CRASH_CLOCK_FILE"));
    if (!file || !record_dir)
        return;
    record_dir_len = strlen(record_dir);
    record_fd =
        (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    /* A number that no descriptor of the server will be mistaken for. */
    if (record_fd >= 0) {
        int high = fcntl(record_fd, F_DUPFD_CLOEXEC, 900);

        if (high >= 0) {
            syscall(SYS_close, record_fd);
            record_fd = high;
        }
    }
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static bool ours(const char *path)
{
    return record_fd >= 0 && path && strncmp(path, record_dir, record_dir_len) == 0 &&
           (path[record_dir_len] == '/' || path[record_dir_len] == 0);
}

static uint64_t handle_of(int fd)
{
    return fd >= 0 && fd < FDS ? handles[fd] : 0;
}

/* Under the lock. One write, so that a reader of the file's size sees whole records only. */
static void record(enum record_type type, uint64_t handle, uint64_t offset, const void *data,
                   size_t size)
{
    struct record_header h = {RECORD_MAGIC, type, handle, offset, size};
    struct iovec parts[2] = {{&h, sizeof(h)}, {(void *)data, size}};
    int error = errno;

    if (syscall(SYS_writev, record_fd, parts, size ? 2 : 1) != (long)(sizeof(h) + size)) {
        static const char text[] = "preload: cannot record\n";

        syscall(SYS_write, 2, text, sizeof(text) - 1);
        abort();
    }
    errno = error;
}

/* ---- opening and closing */

static int open_recorded(int (*real)(const char *, int, ...), const char *path, int flags,
                         mode_t mode)
{
    struct stat st;
    bool existed, changes = flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC);
    uint64_t what = 0;
    int fd;

    if (!ours(path))
        return real(path, flags, mode);
    pthread_mutex_lock(&lock);
    existed = stat(path, &st) == 0;
    fd = real(path, flags, mode);
    if (fd >= 0 && fd < FDS) {
        handles[fd] = 0;
        if (!existed)
            what |= RECORD_CREATED;
        if ((flags & O_TRUNC) && changes)
            what |= RECORD_EMPTIED;
        if (changes || (existed && S_ISDIR(st.st_mode))) {
            handles[fd] = (uint64_t)getpid() << 32 | ++handle_last;
            record(RECORD_OPEN, handles[fd], what, path, strlen(path));
        }
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_recorded(REAL(open), path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_recorded(REAL(open), path, flags, mode);
}

EXPORT int creat(const char *path, mode_t mode)
{
    return open_recorded(REAL(open), path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

EXPORT int close(int fd)
{
    static int (*real)(int);

    if (!real)
        real = REAL(close);
    if (handle_of(fd)) {
        pthread_mutex_lock(&lock);
        handles[fd] = 0;
        pthread_mutex_unlock(&lock);
    }
    return real(fd);
}

/* ---- writing */

static void record_write(uint64_t handle, int64_t at, const void *data, ssize_t n)
{
    if (n > 0)
        record(RECORD_WRITE, handle, (uint64_t)at, data, (size_t)n);
}

/* Where write() is going to put its bytes. */
static int64_t position(int fd)
{
    struct stat st;

    if (fcntl(fd, F_GETFL) & O_APPEND)
        return fstat(fd, &st) == 0 ? (int64_t)st.st_size : 0;
    return (int64_t)lseek(fd, 0, SEEK_CUR);
}

EXPORT ssize_t write(int fd, const void *data, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    ssize_t done;
    int64_t at;

    if (!real)
        real = REAL(write);
    if (!handle_of(fd))
        return real(fd, data, n);
    pthread_mutex_lock(&lock);
    at = position(fd);
    done = real(fd, data, n);
    record_write(handles[fd], at, data, done);
    pthread_mutex_unlock(&lock);
    return done;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
    ssize_t done = 0;

    if (!handle_of(fd))
        return REAL(writev)(fd, parts, count);
    /* Part by part; a server may do so, too. */
    for (int i = 0; i < count; i++) {
        ssize_t n = write(fd, parts[i].iov_base, parts[i].iov_len);

        if (n < 0)
            return done ? done : n;
        done += n;
        if ((size_t)n < parts[i].iov_len)
            break;
    }
    return done;
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    static ssize_t (*real)(int, const void *, size_t, off_t);
    ssize_t done;

    if (!real)
        real = REAL(pwrite);
    if (!handle_of(fd))
        return real(fd, data, n, at);
    pthread_mutex_lock(&lock);
    done = real(fd, data, n, at);
    record_write(handles[fd], at, data, done);
    pthread_mutex_unlock(&lock);
    return done;
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    return pwrite(fd, data, n, at);
}

EXPORT int ftruncate(int fd, off_t size)
{
    int result;

    if (!handle_of(fd))
        return REAL(ftruncate)(fd, size);
    pthread_mutex_lock(&lock);
    result = REAL(ftruncate)(fd, size);
    if (result == 0)
        record(RECORD_TRUNCATE, handles[fd], (uint64_t)size, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int ftruncate64(int fd, off64_t size)
{
    return ftruncate(fd, size);
}

/* ---- syncing */

static int sync_recorded(int (*real)(int), int fd)
{
    uint64_t handle;
    int result;

    if (!handle_of(fd))
        return real(fd);
    pthread_mutex_lock(&lock);
    handle = handles[fd];
    record(RECORD_SYNC_BEGIN, handle, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    result = real(fd);
    pthread_mutex_lock(&lock);
    record(RECORD_SYNC_END, handle, result != 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int fsync(int fd)
{
    return sync_recorded(REAL(fsync), fd);
}

EXPORT int fdatasync(int fd)
{
    return sync_recorded(REAL(fdatasync), fd);
}

/* ---- names */

EXPORT int rename(const char *from, const char *to)
{
    char both[2048];
    int result;
    size_t n;

    if (!ours(from) || !ours(to) || strlen(from) + strlen(to) + 2 > sizeof(both))
        return REAL(rename)(from, to);
    n = strlen(from) + 1;
    memcpy(both, from, n);
    memcpy(both + n, to, strlen(to) + 1);
    n += strlen(to) + 1;
    pthread_mutex_lock(&lock);
    result = REAL(rename)(from, to);
    if (result == 0)
        record(RECORD_RENAME, 0, 0, both, n);
    pthread_mutex_unlock(&lock);
    return result;
}

EXPORT int unlink(const char *path)
{
    int result;

    if (!ours(path))
        return REAL(unlink)(path);
    pthread_mutex_lock(&lock);
    result = REAL(unlink)(path);
    if (result == 0)
        record(RECORD_UNLINK, 0, 0, path, strlen(path));
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- time */

EXPORT int clock_gettime(clockid_t which, struct timespec *out)
{
    static int (*real)(clockid_t, struct timespec *);
    int result;

    if (!real)
        real = REAL(clock_gettime);
    result = real(which, out);
    if (result != 0 || (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE))
        return result;
    out->tv_sec += clock_shift_s;
    if (clock_shift_us) {
        int64_t us = *clock_shift_us, ns;

        out->tv_sec += us / 1000000;
        ns = out->tv_nsec + us % 1000000 * 1000;
        out->tv_sec += ns < 0 ? -1 : ns >= 1000000000;
        out->tv_nsec = (long)(ns < 0 ? ns + 1000000000 : ns % 1000000000);
    }
    return result;
}
