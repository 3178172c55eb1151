#include "base/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static long pid_read(int fd)
{
    char text[32] = "";

    return pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

static int pid_write(int fd)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    errno = 0;
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)n, 0) == n)
        return 0;
    errno = errno ? errno : ENOSPC;
    return -1;
}

int lock_file_take(const char *path, long *holder)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), error;

    *holder = 0;
    if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) == 0 && pid_write(fd) == 0))
        return fd;
    error = errno;
    if (error == EWOULDBLOCK)
        *holder = pid_read(fd);
    close(fd);
    errno = error;
    return -1;
}
