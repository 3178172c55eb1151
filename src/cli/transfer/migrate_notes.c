#include "cli/transfer/migrate_notes.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES_MAX (1l << 30)
#define TABLE_NAME_MAX 255

static const char *const phase_names[] = {"unknown", "filling", "follows", "done"};

static bytes head_of(struct ctx *c, const struct target *from, const struct target *to)
{
    return arena_printf(&c->arena, "widerow migrate, version 1\nfrom %s %.*s\nto %s %.*s\n",
                        from->endpoint, BYTES_FMT(from->instance), to->endpoint,
                        BYTES_FMT(to->instance));
}

/* ---- lines ---- */

static struct migrate_line *find(const struct migrate_notes *n, bytes table)
{
    for (size_t i = 0; i < n->count; i++)
        if (bytes_equal(n->lines[i].table, table))
            return &n->lines[i];
    return NULL;
}

static void keep(struct migrate_notes *n, bytes table, const struct migrate_note *note)
{
    struct migrate_line *line = find(n, table);

    if (!line) {
        n->lines = mem_realloc(n->lines, (n->count + 1) * sizeof(*n->lines));
        line = &n->lines[n->count++];
        line->table = arena_copy(&n->arena, table);
    }
    line->note = *note;
}

static bool parse_line(struct migrate_notes *n, const char *line)
{
    char table[TABLE_NAME_MAX + 1], phase[16];
    struct migrate_note note = {.phase = MIGRATE_UNKNOWN};

    if (sscanf(line, "table %255s %15s %" SCNd64 " %" SCNd64 " %" SCNd64, table, phase,
               &note.created_us, &note.place_us, &note.stream_us) != 5)
        return false;
    while (note.phase <= MIGRATE_DONE && strcmp(phase_names[note.phase], phase) != 0)
        note.phase++;
    if (note.phase > MIGRATE_DONE)
        return false;
    keep(n, bytes_str(table), &note);
    return true;
}

/* Every whole line. */
static int parse_lines(struct ctx *c, struct migrate_notes *n, bytes text)
{
    while (text.len) {
        const char *p = text.ptr, *end = memchr(p, '\n', text.len);

        if (!end)
            return 0;
        if (!parse_line(n, arena_printf(&c->arena, "%.*s", (int)(end - p), p).ptr))
            return fail(c, E_PARAMETER,
                        "%s is damaged at '%.*s'; remove it, and give --resume to go on all the "
                        "same",
                        n->path, (int)(end - p), p);
        text = bytes_skip(text, (size_t)(end - p) + 1);
    }
    return 0;
}

/* ---- the file ---- */

static int read_all(struct ctx *c, struct migrate_notes *n, bytes *out)
{
    struct stat st;
    uint8_t *text;
    ssize_t have;

    if (fstat(n->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > BYTES_MAX)
        return fail(c, E_PARAMETER, "%s is no file of notes", n->path);
    text = arena_alloc(&c->arena, (size_t)st.st_size + 1);
    have = pread(n->fd, text, (size_t)st.st_size, 0);
    if (have != st.st_size)
        return fail(c, E_PARAMETER, "cannot read %s: %s", n->path, strerror(errno));
    *out = bytes_of(text, (size_t)have);
    return 0;
}

static int append(struct ctx *c, struct migrate_notes *n, bytes text)
{
    off_t end = lseek(n->fd, 0, SEEK_END);
    int why;

    if (write(n->fd, text.ptr, text.len) == (ssize_t)text.len && fdatasync(n->fd) == 0)
        return 0;
    why = errno;
    if (ftruncate(n->fd, end) != 0) /* half a line; the next run cuts it off, too */
        why = errno;
    return fail(c, E_NO_SPACE, "cannot write %s, from which the next run would go on: %s", n->path,
                strerror(why));
}

/* Behind what a kill or a full disk has cut off the next line begins anew. */
static int cut_tail(struct ctx *c, struct migrate_notes *n, bytes text)
{
    size_t len = text.len;

    while (len && ((const char *)text.ptr)[len - 1] != '\n')
        len--;
    if (len < text.len && ftruncate(n->fd, (off_t)len) != 0)
        return fail(c, E_PARAMETER, "cannot write %s: %s", n->path, strerror(errno));
    return 0;
}

static int take_file(struct ctx *c, struct migrate_notes *n, bytes head)
{
    bytes text;

    n->fd = open(n->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (n->fd < 0)
        return fail(c, E_PARAMETER, "cannot write %s: %s; --notes says another file", n->path,
                    strerror(errno));
    if (flock(n->fd, LOCK_EX | LOCK_NB) != 0)
        return fail(c, WR_E_CONFLICT, "another migration is under way with %s", n->path);
    TRY(read_all(c, n, &text));
    if (text.len < head.len && bytes_starts(head, text)) {
        if (ftruncate(n->fd, 0) != 0)
            return fail(c, E_PARAMETER, "cannot write %s: %s", n->path, strerror(errno));
        return append(c, n, head);
    }
    if (!bytes_starts(text, head))
        return fail(c, E_PARAMETER,
                    "%s is of a migration between other servers; --notes says another file",
                    n->path);
    TRY(cut_tail(c, n, text));
    return parse_lines(c, n, bytes_skip(text, head.len));
}

int migrate_notes_open(struct ctx *c, const char *path, const struct target *from,
                       const struct target *to, struct migrate_notes *n)
{
    *n = (struct migrate_notes){.path = path, .fd = -1};
    pthread_mutex_init(&n->mutex, NULL);
    arena_init(&n->arena, NULL, 0);
    return take_file(c, n, head_of(c, from, to));
}

void migrate_notes_release(struct migrate_notes *n)
{
    if (n->fd >= 0)
        close(n->fd);
    arena_release(&n->arena);
    mem_free(n->lines);
    pthread_mutex_destroy(&n->mutex);
}

struct migrate_note migrate_notes_get(struct migrate_notes *n, bytes table)
{
    const struct migrate_line *line;
    struct migrate_note note = {.phase = MIGRATE_UNKNOWN};

    pthread_mutex_lock(&n->mutex);
    line = find(n, table);
    if (line)
        note = line->note;
    pthread_mutex_unlock(&n->mutex);
    return note;
}

int migrate_notes_put(struct ctx *c, struct migrate_notes *n, bytes table,
                      const struct migrate_note *note)
{
    bytes line = arena_printf(&c->arena, "table %.*s %s %" PRId64 " %" PRId64 " %" PRId64 "\n",
                              BYTES_FMT(table), phase_names[note->phase], note->created_us,
                              note->place_us, note->stream_us);
    int code;

    pthread_mutex_lock(&n->mutex);
    code = append(c, n, line);
    if (code == 0)
        keep(n, table, note);
    pthread_mutex_unlock(&n->mutex);
    return code;
}
