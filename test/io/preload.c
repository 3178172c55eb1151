/* preload.c: a library for LD_PRELOAD that makes chosen calls on a server's files fail
 * (control.h).
 *
 * libfiu knows neither which file a call is for nor which occurrence it is, and has no fallocate;
 * hence this one. Descriptors are followed from open() on, so that a failed sync can take away
 * exactly what was written since the last good one. */
#include "control.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FDS 4096
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static struct io_control *control;

/* The files of ours that are open. A descriptor is used by whoever opened it, so its entry needs no
 * lock; `synced` may be written by two syncs at once, with the same meaning. */
static struct file {
    bool ours;
    char path[IO_PATH_MAX];
    off_t synced; /* up to here a good sync of the file has come */
} files[FDS];

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("IO_CONTROL");
    int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC) : -1;
    void *page = MAP_FAILED;

    if (fd >= 0) {
        page = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        syscall(SYS_close, fd);
    }
    if (page != MAP_FAILED)
        control = page;
}

static bool ours(const char *path)
{
    size_t n = control ? strlen(control->dir) : 0;

    return n && path && strncmp(path, control->dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static struct file *file_of(int fd)
{
    return fd >= 0 && fd < FDS && files[fd].ours ? &files[fd] : NULL;
}

static long long now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (long long)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* 0: the call may go on. Else what it is to fail with. */
static int trouble(enum io_call call, const char *path)
{
    long long none = 0;
    int n;

    if (!atomic_load(&control->armed))
        return 0;
    n = atomic_fetch_add(&control->counts[call], 1) + 1;
    if (call != control->call || n < control->nth ||
        (n > control->nth && !atomic_load(&control->sticky)))
        return 0;
    if (atomic_fetch_add(&control->fired, 1) == 0)
        snprintf(control->fired_path, sizeof(control->fired_path), "%s", path);
    atomic_compare_exchange_strong(&control->fired_us, &none, now_us());
    return control->error;
}

static bool no_space(void)
{
    return control && atomic_load(&control->full);
}

/* ---- opening and closing */

/* A file that is emptied has new contents; what an earlier sync lost of the old is no matter. */
static void forget_lost(const char *path)
{
    int count = atomic_load(&control->lost_count);

    for (int i = 0; i < count && i < IO_LOST_MAX; i++)
        if (strcmp(control->lost[i].path, path) == 0)
            control->lost[i].to = control->lost[i].from;
}

typedef int open_fn(const char *, int, ...);

static int open_tracked(open_fn *real, const char *path, int flags, mode_t mode)
{
    long long none = 0;
    size_t n = path ? strlen(path) : 0;
    struct stat st;
    int error, fd;

    if (!ours(path))
        return real(path, flags, mode);
    error = trouble(IO_open, path);
    if (!error && no_space() && (flags & O_CREAT) && access(path, F_OK) != 0)
        error = ENOSPC;
    if (error) {
        errno = error;
        return -1;
    }
    if (n > 8 && strcmp(path + n - 8, "/CURRENT") == 0 && atomic_load(&control->fired_us))
        atomic_compare_exchange_strong(&control->reopened_us, &none, now_us());
    fd = real(path, flags, mode);
    if (fd >= 0 && (flags & O_TRUNC))
        forget_lost(path);
    if (fd >= 0 && fd < FDS && n < IO_PATH_MAX) {
        memcpy(files[fd].path, path, n + 1);
        files[fd].synced = fstat(fd, &st) == 0 ? st.st_size : 0;
        files[fd].ours = true;
    }
    return fd;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return open_tracked(REAL(open), path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return open_tracked(REAL(open64), path, flags, mode);
}

/* Folders are walked relative to themselves; files are not, so the path tells as much. */
EXPORT int openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;
    int error;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    if (ours(path) && (error = trouble(IO_open, path))) {
        errno = error;
        return -1;
    }
    return REAL(openat)(dir, path, flags, mode);
}

EXPORT int close(int fd)
{
    static int (*real)(int);
    struct file *f = file_of(fd);

    if (!real)
        real = REAL(close);
    if (f)
        f->ours = false;
    return real(fd);
}

/* ---- writing and reading */

/* How many bytes the call may do; -1: none, and errno says why. */
static ssize_t allowed(enum io_call call, int fd, size_t n)
{
    struct file *f = file_of(fd);
    int error;

    if (!f)
        return (ssize_t)n;
    error = trouble(call, f->path);
    if (!error && no_space() && call != IO_read && call != IO_pread)
        error = ENOSPC;
    if (!error)
        return (ssize_t)n;
    if (error == IO_SHORT)
        return (ssize_t)(n > 1 ? n / 2 : n);
    errno = error;
    return -1;
}

EXPORT ssize_t write(int fd, const void *data, size_t n)
{
    ssize_t may = allowed(IO_write, fd, n);

    return may < 0 ? -1 : REAL(write)(fd, data, (size_t)may);
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
    ssize_t may = allowed(IO_pwrite, fd, n);

    return may < 0 ? -1 : REAL(pwrite)(fd, data, (size_t)may, at);
}

EXPORT ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
    ssize_t may = allowed(IO_pwrite, fd, n);

    return may < 0 ? -1 : REAL(pwrite64)(fd, data, (size_t)may, at);
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
    ssize_t may = allowed(IO_writev, fd, 2);

    return may < 0 ? -1 : REAL(writev)(fd, parts, may < 2 ? (count + 1) / 2 : count);
}

EXPORT ssize_t read(int fd, void *to, size_t n)
{
    ssize_t may = allowed(IO_read, fd, n);

    return may < 0 ? -1 : REAL(read)(fd, to, (size_t)may);
}

EXPORT ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    ssize_t may = allowed(IO_pread, fd, n);

    return may < 0 ? -1 : REAL(pread)(fd, to, (size_t)may, at);
}

EXPORT ssize_t pread64(int fd, void *to, size_t n, off64_t at)
{
    ssize_t may = allowed(IO_pread, fd, n);

    return may < 0 ? -1 : REAL(pread64)(fd, to, (size_t)may, at);
}

/* ---- syncing */

static void zero(int fd, off_t from, off_t to)
{
    static const char zeros[4096];

    while (from < to) {
        size_t n = to - from < 4096 ? (size_t)(to - from) : 4096;

        if (syscall(SYS_pwrite64, fd, zeros, n, from) != (long)n)
            return;
        from += (off_t)n;
    }
}

static void lose(int fd, const struct file *f, off_t size)
{
    int i;

    if (control->lose == IO_KEEP || size <= f->synced)
        return;
    if (control->lose == IO_LOSE) {
        zero(fd, f->synced, size);
        return;
    }
    i = atomic_fetch_add(&control->lost_count, 1);
    if (i >= IO_LOST_MAX)
        return;
    control->lost[i].from = f->synced;
    control->lost[i].to = size;
    memcpy(control->lost[i].path, f->path, sizeof(f->path));
}

/* Bytes are on the medium whichever descriptor they were synced through: the engine and our
 * watermark both sync the MANIFEST. */
static void synced_up_to(const char *path, off_t size)
{
    for (int i = 0; i < FDS; i++)
        if (files[i].ours && files[i].synced < size && strcmp(files[i].path, path) == 0)
            files[i].synced = size;
}

static int sync_tracked(enum io_call call, int (*real)(int), int fd)
{
    struct file *f = file_of(fd);
    struct stat st = {0};
    int error, result;

    if (!f)
        return real(fd);
    fstat(fd, &st);
    error = trouble(call, f->path);
    if (error) {
        if (S_ISREG(st.st_mode))
            lose(fd, f, st.st_size);
        errno = error;
        return -1;
    }
    result = real(fd);
    if (result == 0)
        synced_up_to(f->path, st.st_size);
    return result;
}

EXPORT int fsync(int fd)
{
    return sync_tracked(IO_fsync, REAL(fsync), fd);
}

EXPORT int fdatasync(int fd)
{
    return sync_tracked(IO_fdatasync, REAL(fdatasync), fd);
}

EXPORT int sync_file_range(int fd, off64_t from, off64_t n, unsigned flags)
{
    struct file *f = file_of(fd);
    /* Without flags it does nothing but tell whether there is such a call, and cannot fail. */
    int error = f && flags ? trouble(IO_sync_file_range, f->path) : 0;

    if (error) {
        errno = error;
        return -1;
    }
    return REAL(sync_file_range)(fd, from, n, flags);
}

/* ---- the rest */

#define FAIL_IF(condition, call, path)                                                             \
    do {                                                                                           \
        int error_ = (condition) ? trouble(call, path) : 0;                                        \
        if (error_) {                                                                              \
            errno = error_;                                                                        \
            return -1;                                                                             \
        }                                                                                          \
    } while (0)

EXPORT int rename(const char *from, const char *to)
{
    FAIL_IF(ours(from), IO_rename, from);
    return REAL(rename)(from, to);
}

EXPORT int unlink(const char *path)
{
    FAIL_IF(ours(path), IO_unlink, path);
    return REAL(unlink)(path);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
    FAIL_IF(ours(path), IO_mkdir, path);
    return REAL(mkdir)(path, mode);
}

EXPORT int ftruncate(int fd, off_t size)
{
    struct file *f = file_of(fd);

    FAIL_IF(f, IO_ftruncate, f->path);
    return REAL(ftruncate)(fd, size);
}

EXPORT int ftruncate64(int fd, off64_t size)
{
    struct file *f = file_of(fd);

    FAIL_IF(f, IO_ftruncate, f->path);
    return REAL(ftruncate64)(fd, size);
}

EXPORT int fallocate(int fd, int mode, off_t from, off_t n)
{
    struct file *f = file_of(fd);

    FAIL_IF(f, IO_fallocate, f->path);
    if (f && no_space()) {
        errno = ENOSPC;
        return -1;
    }
    return REAL(fallocate)(fd, mode, from, n);
}

EXPORT int posix_fallocate(int fd, off_t from, off_t n)
{
    struct file *f = file_of(fd);
    int error = f ? trouble(IO_fallocate, f->path) : 0;

    return error ? error : f && no_space() ? ENOSPC : REAL(posix_fallocate)(fd, from, n);
}

EXPORT int statvfs(const char *path, struct statvfs *out)
{
    int result = REAL(statvfs)(path, out);

    if (result == 0 && no_space() && ours(path))
        out->f_bavail = out->f_bfree = 0;
    return result;
}
