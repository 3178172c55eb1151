#include "cli/transfer/store.h"

#include "base/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW_BYTES (4u << 20)

static bool is_set(void *arg)
{
    const volatile sig_atomic_t *stop = arg;

    return *stop != 0;
}

int store_open(struct ctx *c, struct store *s, const struct s3_words *words, const char *url,
               const volatile sig_atomic_t *stop)
{
    *s = (struct store){0};
    TRY(s3_url_parse(c, url, &s->bucket, &s->key));
    TRY(s3_conf_load(c, words, &s->conf));
    return s3_open(c, &s->conf, stop ? is_set : NULL, (void *)(uintptr_t)stop, &s->s3);
}

void store_close(struct store *s)
{
    s3_close(s->s3);
    s->s3 = NULL;
}

/* ---- writing */

static ssize_t write_part(void *arg, const char *data, size_t n)
{
    struct sink *s = arg;

    if (!s->c.code && s3_upload_put(&s->c, s->upload, data, n) == 0)
        return (ssize_t)n;
    errno = EIO;
    return 0;
}

static int open_object(struct ctx *c, struct sink *s, const struct s3_words *words)
{
    cookie_io_functions_t io = {.write = write_part};

    TRY(store_open(c, &s->store, words, s->name, NULL));
    TRY(s3_upload_begin(c, s->store.s3, s->store.bucket, s->store.key, &s->upload));
    s->file = fopencookie(s, "w", io);
    return s->file ? 0 : fail(c, E_MEMORY, "%s", strerror(errno));
}

/* Opens s->new, as the only one who does: two exports to one name would write over each other's
 * rows. The lock goes with its process, so what an export left that was killed is written over.
 * Descriptor, or -1 with errno: EWOULDBLOCK, another one writes it. */
static int open_locked(const struct sink *s, mode_t mode)
{
    for (;;) {
        int fd = open(s->new, O_WRONLY | O_CREAT | O_CLOEXEC, mode), error;
        struct stat opened, named;

        if (fd < 0)
            return -1;
        /* Where files cannot be locked they are written without. */
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            error = errno;
        } else if (fstat(fd, &opened) != 0) {
            error = errno;
        } else if (stat(s->new, &named) != 0 || named.st_ino != opened.st_ino) {
            error = 0; /* meanwhile the other one was done, and this is its whole file */
        } else if (ftruncate(fd, 0) != 0) {
            error = errno;
        } else {
            return fd;
        }
        close(fd);
        errno = error;
        if (error)
            return -1;
    }
}

/* Beside what it replaces, with its mode. */
static int open_new(struct ctx *c, struct sink *s)
{
    struct stat st;
    bool is_there = stat(s->name, &st) == 0;
    char target[PATH_MAX];
    int fd;

    if (is_there && (!S_ISREG(st.st_mode) || !realpath(s->name, target)))
        return 0;
    s->target = is_there ? arena_printf(&c->arena, "%s", target).ptr : s->name;
    s->new = arena_printf(&c->arena, "%s.new", s->target).ptr;
    fd = open_locked(s, is_there ? st.st_mode & 07777 : 0666);
    if (fd < 0 && errno == EWOULDBLOCK) {
        fail(c, E_LOCKED,
             "another export is writing %s, until it is whole in %s; wait for it or name another "
             "file",
             s->name, s->new);
        s->new = NULL;
        return E_LOCKED;
    }
    s->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (s->file) {
        /* The lock is to outlast the FILE, until the file has its name. */
        s->lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        return 0;
    }
    if (fd >= 0)
        close(fd);
    s->new = NULL;
    return 0;
}

static int open_file(struct ctx *c, struct sink *s)
{
    TRY(open_new(c, s));
    if (!s->file)
        s->file = fopen(s->name, "we");
    return s->file ? 0 : fail(c, E_PARAMETER, "cannot write %s: %s", s->name, strerror(errno));
}

/* What was written, if it is `whole`, takes its place. */
static int end_file(struct ctx *c, struct sink *s, bool whole)
{
    int error = 0, code = 0;

    if (whole)
        error = durable_rename(s->new, s->target);
    else
        (void)unlink(s->new);
    if (error && access(s->new, F_OK) == 0)
        code = fail(c, E_NO_SPACE, "cannot name what is written %s: %s; it is in %s", s->name,
                    strerror(error), s->new);
    else if (error)
        code = fail(c, E_NO_SPACE, "cannot bring %s to the disk: %s", s->name, strerror(error));
    if (s->lock >= 0)
        close(s->lock);
    s->lock = -1;
    s->new = NULL;
    return code;
}

int sink_open(struct ctx *c, struct sink *s, const struct s3_words *words, const char *name)
{
    *s = (struct sink){.name = name, .file = name ? NULL : stdout, .lock = -1};
    ctx_init(&s->c, c->clock, NULL, NULL, 0);
    if (name && s3_is_url(name))
        return open_object(c, s, words);
    return name ? open_file(c, s) : 0;
}

const char *sink_reason(const struct sink *s)
{
    return s->c.code ? s->c.text : strerror(errno);
}

/* A file that is to take another one's place is on the disk before it does: after a power cut there
 * is the old one or the new one, and not the new name without its bytes. */
static bool close_file(const struct sink *s, bool whole)
{
    bool good = !whole || !s->new || (fflush(s->file) == 0 && fsync(fileno(s->file)) == 0);
    int error = errno;

    if (fclose(s->file) != 0)
        return false;
    errno = error;
    return good;
}

int sink_close(struct ctx *c, struct sink *s, bool whole)
{
    int code = 0;

    if (s->name && s->file && !close_file(s, whole) && whole && !s->c.code)
        code = fail(c, E_NO_SPACE, "cannot write %s: %s", s->name, strerror(errno));
    if (s->new) {
        int ended = end_file(c, s, whole && code == 0);

        code = code ? code : ended;
    }
    if (whole && s->c.code)
        code = ctx_fail_part(c, &s->c);
    if (s->upload) {
        int ended = s3_upload_end(c, s->upload, whole && code == 0);

        code = code ? code : ended;
    }
    store_close(&s->store);
    ctx_release(&s->c);
    return code;
}

/* ---- reading */

int object_open(struct ctx *c, struct object *o, const struct s3_words *words, const char *url,
                const volatile sig_atomic_t *stop)
{
    *o = (struct object){0};
    TRY(store_open(c, &o->store, words, url, stop));
    return s3_head(c, o->store.s3, o->store.bucket, o->store.key, &o->head);
}

void object_close(struct object *o)
{
    store_close(&o->store);
    mem_free(o->window);
    o->window = NULL;
}

bool object_read_at(void *arg, uint64_t offset, void *buf, size_t n, char *why, size_t why_size)
{
    struct object *o = arg;
    struct clock clock;
    struct ctx own;
    int code;

    clock_real_init(&clock);
    ctx_init(&own, &clock, NULL, NULL, 0);
    code = s3_get(&own, o->store.s3, o->store.bucket, o->store.key, o->head.etag, offset, buf, n);
    if (code)
        snprintf(why, why_size, "%s", own.text);
    ctx_release(&own);
    return code == 0;
}

ssize_t object_read(void *arg, void *buf, size_t n, char *why, size_t why_size)
{
    struct object *o = arg;

    if (o->window_at == o->window_end) {
        uint64_t left = o->head.size - o->at;
        size_t some = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;

        if (!o->window)
            o->window = mem_alloc(WINDOW_BYTES);
        if (some == 0)
            return 0;
        if (!object_read_at(o, o->at, o->window, some, why, why_size))
            return -1;
        o->at += some;
        o->window_at = 0;
        o->window_end = some;
    }
    if (n > o->window_end - o->window_at)
        n = o->window_end - o->window_at;
    memcpy(buf, o->window + o->window_at, n);
    o->window_at += n;
    return (ssize_t)n;
}
