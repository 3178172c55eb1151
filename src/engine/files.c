#include "engine/files.h"

#include "base/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20)

static int file_fail(struct ctx *c, int error, const char *what, const char *dir, const char *name)
{
    return fail(c, error == ENOSPC || error == EDQUOT ? E_NO_SPACE : E_UNAVAILABLE,
                "Cannot %s %s/%s: %s.", what, dir, name, strerror(error));
}

static bool is_file(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* Calls fn for each file, until one fails. */
static int each_file(struct ctx *c, const char *dir,
                     int (*fn)(struct ctx *c, int dir_fd, const char *name, void *arg), void *arg)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    int code = E_OK;

    if (!d)
        return fail(c, E_UNAVAILABLE, "Cannot read the folder %s: %s.", dir, strerror(errno));
    while (code == E_OK && (entry = readdir(d)))
        if (is_file(dirfd(d), entry->d_name))
            code = fn(c, dirfd(d), entry->d_name, arg);
    closedir(d);
    return code;
}

static int dir_sync(struct ctx *c, const char *dir)
{
    int error = durable_folder(dir);

    return error ? file_fail(c, error, "sync", dir, "") : E_OK;
}

struct copy {
    const char *from, *to;
    bool (*wanted)(const char *name);
    char *block;
};

/* Returns 0 or errno. */
static int copy_bytes(int in, int out, char *block)
{
    for (;;) {
        ssize_t n = read(in, block, COPY_BYTES), at = 0;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : 0;
        while (at < n) {
            ssize_t done = write(out, block + at, (size_t)(n - at));

            if (done < 0 && errno != EINTR)
                return errno;
            if (done > 0)
                at += done;
        }
    }
}

static int copy_file(struct ctx *c, int dir_fd, const char *name, void *arg)
{
    struct copy *copy = arg;
    const char *path = arena_printf(&c->arena, "%s/%s", copy->to, name).ptr;
    int in, out, error;

    if (copy->wanted && !copy->wanted(name))
        return E_OK;
    in = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return file_fail(c, errno, "read", copy->from, name);
    out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0) {
        error = errno;
        close(in);
        return file_fail(c, error, "make", copy->to, name);
    }
    error = copy_bytes(in, out, copy->block);
    if (!error && fsync(out) != 0)
        error = errno;
    (void)posix_fadvise(out, 0, 0, POSIX_FADV_DONTNEED);
    close(in);
    if (close(out) != 0 && !error)
        error = errno;
    return error ? file_fail(c, error, "copy", copy->from, name) : E_OK;
}

int files_copy(struct ctx *c, const char *from, const char *to, bool (*wanted)(const char *name))
{
    struct copy copy = {.from = from, .to = to, .wanted = wanted};
    int code;

    if (mkdir(to, 0700) != 0)
        return file_fail(c, errno, "make", to, "");
    copy.block = mem_alloc(COPY_BYTES);
    code = each_file(c, from, copy_file, &copy);
    mem_free(copy.block);
    return code ? code : dir_sync(c, to);
}

static int sync_file(struct ctx *c, int dir_fd, const char *name, void *arg)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC), error = fd < 0 ? errno : 0;

    if (fd >= 0 && fsync(fd) != 0)
        error = errno;
    if (fd >= 0)
        close(fd);
    return error ? file_fail(c, error, "sync", arg, name) : E_OK;
}

int files_sync(struct ctx *c, const char *dir)
{
    TRY(each_file(c, dir, sync_file, (void *)dir));
    return dir_sync(c, dir);
}

static int remove_file(struct ctx *c, int dir_fd, const char *name, void *arg)
{
    (void)c;
    (void)arg;
    unlinkat(dir_fd, name, 0);
    return E_OK;
}

void files_remove(const char *dir)
{
    struct ctx c;

    ctx_init(&c, NULL, NULL, NULL, 0);
    (void)each_file(&c, dir, remove_file, NULL);
    ctx_release(&c);
    rmdir(dir);
}
