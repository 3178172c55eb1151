/* log_written_preload.c: loaded in front of widerowd, so that each log file of RocksDB begins as a
 * file whose blocks were written before: an append then writes over zeros, and its sync has no
 * inode to write. For measuring only (log_written.sh): what stands behind the last record is not
 * told from a damaged end.
 *
 *   LOG_POOL   a folder on the same file system with files of zeros, each taken once; 0, 1, 2, … */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static atomic_int taken;

static int is_new_log(const char *path, int flags)
{
    size_t n = strlen(path);

    return (flags & O_CREAT) && n > 4 && !strcmp(path + n - 4, ".log");
}

static int take(const char *path)
{
    char from[4096];
    const char *pool = getenv("LOG_POOL");

    if (!pool)
        return 0;
    snprintf(from, sizeof from, "%s/%d", pool, atomic_fetch_add(&taken, 1));
    if (!rename(from, path))
        return 1;
    fprintf(stderr, "LOG_POOL: no file is left for %s\n", path);
    abort();
}

static int open_log(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);

    if (is_new_log(path, flags) && take(path))
        flags &= ~O_TRUNC;
    return real(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list a;
    mode_t mode = 0;

    va_start(a, flags);
    if (flags & (O_CREAT | O_TMPFILE))
        mode = va_arg(a, mode_t);
    va_end(a);
    return open_log("open", path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list a;
    mode_t mode = 0;

    va_start(a, flags);
    if (flags & (O_CREAT | O_TMPFILE))
        mode = va_arg(a, mode_t);
    va_end(a);
    return open_log("open64", path, flags, mode);
}
