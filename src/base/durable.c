#include "base/durable.h"

#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int write_all(int fd, bytes data)
{
    while (data.len) {
        ssize_t n = write(fd, data.ptr, data.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        data = bytes_skip(data, (size_t)n);
    }
    return 0;
}

int durable_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error;

    if (fd < 0)
        return errno;
    error = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return error;
}

/* As far as the folder lets it. */
static int sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *first = slash ? path : ".";
    size_t n = slash > path ? (size_t)(slash - path) : 1; /* of the root its slash */
    char *folder = mem_alloc(n + 1);
    int error;

    memcpy(folder, first, n);
    folder[n] = 0;
    error = durable_folder(folder);
    mem_free(folder);
    return error == EACCES || error == EINVAL ? 0 : error;
}

int durable_rename(const char *made, const char *path)
{
    return rename(made, path) == 0 ? sync_folder_of(path) : errno;
}

/* Returns 0 when the file is on the disk. */
static int write_file(int fd, bytes data)
{
    int error = write_all(fd, data);

    if (!error && fsync(fd) != 0)
        error = errno;
    if (close(fd) != 0 && !error)
        error = errno;
    return error;
}

int durable_replace(const char *path, const char *made, mode_t mode, bytes data)
{
    int fd, error;

    if (unlink(made) != 0 && errno != ENOENT)
        return errno;
    fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return errno;
    error = write_file(fd, data);
    if (!error)
        error = durable_rename(made, path);
    if (error)
        unlink(made); /* which is gone if it has its name */
    return error;
}
