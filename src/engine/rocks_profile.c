/* rocks_profile.c: how a folder's table files are made. A folder keeps the profile that it was made
 * with, so that a new release does not let the data of an old one grow. Every table file says
 * itself how it is to be read, so any build reads any of them.
 * doc/decisions/0032-what-a-cold-read-costs.md has the figures. */
#include "engine/rocks.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* In the order of their numbers. A row stays as it is; a new one goes to the end. */
static const struct rocks_profile profiles[] = {
    {16384, rocksdb_zstd_compression}, /* 0: smallest; of folders without a number */
    {8192, rocksdb_lz4_compression},   /* 1: a cold read takes a third of the processor time */
};

#define NEWEST (PORT_COUNT(profiles) - 1)

static const char *profile_path(struct ctx *c, const char *db)
{
    return arena_printf(&c->arena, "%s/PROFILE", db).ptr;
}

void rocks_profile_read(struct ctx *c, struct rocks *r)
{
    const char *path = profile_path(c, r->folder.db);
    int fd = r->folder.made ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t number = r->folder.made ? 0 : NEWEST;
    char digit;

    if (fd >= 0 && read(fd, &digit, 1) == 1 && digit >= '0' && digit <= '9')
        number = (size_t)(digit - '0');
    if (fd >= 0)
        close(fd);
    r->profile =
        &profiles[number < NEWEST ? number : NEWEST]; /* a later build's: ours is nearest */
}

int rocks_profile_write(struct ctx *c, const struct rocks *r, const char *db)
{
    const char *path = profile_path(c, db);
    char line[] = {(char)('0' + (r->profile - profiles)), '\n'};
    int fd, error = 0;

    if (r->profile == profiles)
        return E_OK;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(c, E_UNAVAILABLE, "Cannot make %s: %s.", path, strerror(errno));
    if (write(fd, line, sizeof(line)) != sizeof(line) || fsync(fd) != 0)
        error = errno ? errno : ENOSPC;
    close(fd);
    return error ? fail(c, error == ENOSPC ? E_NO_SPACE : E_UNAVAILABLE, "Cannot write %s: %s.",
                        path, strerror(error))
                 : E_OK;
}
