#include "cli/transfer/rejects.h"

#include "base/buf.h"
#include "cli/console/value.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool rejects_is_input(int input_fd, const char *path)
{
    struct stat a, b;

    return fstat(input_fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int rejects_open(struct ctx *c, struct rejects *r, const char *path, int input_fd, bool goes_on)
{
    *r = (struct rejects){.path = path, .fd = -1};
    if (!path)
        return 0;
    if (rejects_is_input(input_fd, path))
        return fail(c, E_PARAMETER, "--rejects would write over the file that is read, %s", path);
    r->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (goes_on ? 0 : O_TRUNC), 0666);
    if (r->fd < 0)
        return fail(c, E_PARAMETER, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

void rejects_close(struct rejects *r)
{
    if (r->path && r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

/* A reason shows a piece of the record, which may be no UTF-8, or end inside a character. */
static bytes readable(struct arena *a, bytes reason)
{
    bytes copy = arena_copy(a, reason);

    for (size_t i = 0; i < copy.len && !bytes_is_utf8(reason); i++)
        if (((char *)copy.ptr)[i] & 0x80)
            ((char *)copy.ptr)[i] = '?';
    return copy;
}

bool rejects_put(struct rejects *r, uint64_t line, const char *reason, bytes raw)
{
    struct wr_value record = {bytes_is_utf8(raw) ? WR_VARCHAR : WR_VARBINARY, {.bytes = raw}};
    struct arena arena;
    struct buf b;
    bytes left;

    arena_init(&arena, NULL, 0);
    buf_init(&b, &arena, raw.len + 256);
    buf_put_bytes(&b, arena_printf(&arena, "{\"line\":%llu,\"reason\":", (unsigned long long)line));
    value_put_string(&b, readable(&arena, bytes_str(reason)));
    buf_put_bytes(&b, BYTES_LIT(",\"record\":"));
    value_put(&b, &record);
    buf_put_bytes(&b, BYTES_LIT("}\n"));
    left = buf_bytes(&b);
    while (left.len) {
        ssize_t n = write(r->fd, left.ptr, left.len);

        if (n < 0 && errno != EINTR)
            break;
        left = bytes_skip(left, n < 0 ? 0 : (size_t)n);
    }
    arena_release(&arena);
    return left.len == 0;
}
