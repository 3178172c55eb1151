#include "client/profile.h"

#include "base/buf.h"
#include "base/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (1 << 20)

struct member {
    const char *name;
    size_t offset;
};

static const struct member members[] = {{"endpoint", offsetof(struct profile, endpoint)},
                                        {"instance", offsetof(struct profile, instance)},
                                        {"key_id", offsetof(struct profile, key_id)},
                                        {"key_secret", offsetof(struct profile, key_secret)},
                                        {"ca_file", offsetof(struct profile, ca_file)}};

static const char **member_of(struct profile *p, size_t i)
{
    return (const char **)((char *)p + members[i].offset);
}

const char *profile_path(struct arena *a)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && *config == '/')
        return arena_printf(a, "%s/widerow/profiles", config).ptr;
    return home && *home ? arena_printf(a, "%s/.config/widerow/profiles", home).ptr : NULL;
}

/* The whole file; *out ptr NULL: there is none. */
static int read_all(struct ctx *c, struct arena *a, bytes *out)
{
    const char *path = profile_path(a);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat st;
    char *text;
    ssize_t n;

    *out = BYTES_NONE;
    if (fd < 0)
        return !path || errno == ENOENT
                   ? 0
                   : fail(c, E_PARAMETER, "cannot read %s: %s", path, strerror(errno));
    if (fstat(fd, &st) == 0 && (st.st_mode & 077)) {
        close(fd);
        return fail(c, E_PERMISSION, "%s holds secrets and others may read it: chmod 600 it", path);
    }
    text = arena_alloc(a, FILE_BYTES_MAX);
    n = read(fd, text, FILE_BYTES_MAX);
    close(fd);
    if (n < 0 || n == FILE_BYTES_MAX)
        return fail(c, E_PARAMETER, "%s cannot be read, or is too large", path);
    *out = bytes_of(text, (size_t)n);
    return 0;
}

/* Cuts off a line, without its end. */
static bytes next_line(bytes *text)
{
    const char *p = text->ptr, *end = memchr(p, '\n', text->len);
    bytes line = bytes_of(p, end ? (size_t)(end - p) : text->len);

    *text = bytes_skip(*text, line.len + (end != NULL));
    return line;
}

static bool is_head(bytes line)
{
    return line.len > 2 && *(const char *)line.ptr == '[';
}

static bool is_head_of(bytes line, const char *name)
{
    size_t n = strlen(name);

    return line.len == n + 2 && is_head(line) && memcmp((const char *)line.ptr + 1, name, n) == 0;
}

static void take_member(struct arena *a, bytes line, struct profile *p)
{
    for (size_t i = 0; i < PORT_COUNT(members); i++) {
        bytes start = arena_printf(a, "%s = ", members[i].name);

        if (bytes_starts(line, start))
            *member_of(p, i) = arena_printf(a, "%.*s", BYTES_FMT(bytes_skip(line, start.len))).ptr;
    }
}

int profile_read(struct ctx *c, struct arena *a, const char *name, struct profile *out, bool *found)
{
    bool within = false;
    bytes text;

    *found = false;
    *out = (struct profile){0};
    TRY(read_all(c, a, &text));
    while (text.len) {
        bytes line = next_line(&text);

        if (is_head(line))
            within = is_head_of(line, name);
        else if (within)
            take_member(a, line, out);
        *found |= within;
    }
    return 0;
}

static void make_folders(const char *path)
{
    char part[4096];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        mkdir(part, 0700);
    }
}

static int write_all(struct ctx *c, bytes text)
{
    const char *path = profile_path(&c->arena);
    int error;

    if (!path)
        return fail(c, E_PARAMETER, "there is no home folder for profiles: HOME is not set");
    make_folders(path);
    error = durable_replace(path, arena_printf(&c->arena, "%s.new", path).ptr, 0600, text);
    return error ? fail(c, E_NO_SPACE, "cannot write %s: %s", path, strerror(error)) : 0;
}

int profile_write(struct ctx *c, const char *name, const struct profile *p)
{
    struct profile copy = *p;
    bool within = false;
    struct buf b;
    bytes text;

    TRY(read_all(c, &c->arena, &text));
    buf_init(&b, &c->arena, 4096);
    while (text.len) {
        bytes line = next_line(&text);

        if (is_head(line))
            within = is_head_of(line, name);
        if (!within) {
            buf_put_bytes(&b, line);
            buf_put_u8(&b, '\n');
        }
    }
    buf_put_bytes(&b, arena_printf(&c->arena, "[%s]\n", name));
    for (size_t i = 0; i < PORT_COUNT(members); i++)
        if (*member_of(&copy, i))
            buf_put_bytes(
                &b, arena_printf(&c->arena, "%s = %s\n", members[i].name, *member_of(&copy, i)));
    return write_all(c, buf_bytes(&b));
}
