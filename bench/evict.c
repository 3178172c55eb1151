/* evict.c: takes the files of folders out of the page cache, so that a measurement past a server's
 * own cache is one of the disk. It needs no rights beyond reading the files, and leaves each
 * process the memory it has, which a cgroup's limit would not. Dirty pages stay until they are
 * written.
 *
 *   evict MILLISECONDS FOLDER...    again and again with such a pause, until it is killed; 0: once
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OPEN_MAX_FOLDERS 16

static int evict(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    int fd = kind == FTW_F && st->st_size > 0 ? open(path, O_RDONLY) : -1;

    (void)at;
    if (fd >= 0) {
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        close(fd);
    }
    return 0; /* a file that went away meanwhile is no failure */
}

int main(int argc, char **argv)
{
    unsigned long pause_ms = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

    if (argc < 3) {
        fprintf(stderr, "usage: evict MILLISECONDS FOLDER...\n");
        return 2;
    }
    do {
        for (int i = 2; i < argc; i++)
            nftw(argv[i], evict, OPEN_MAX_FOLDERS, FTW_PHYS);
        usleep((useconds_t)pause_ms * 1000);
    } while (pause_ms);
    return 0;
}
