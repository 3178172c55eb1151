#include "cli/transfer/resume.h"

#include "base/durable.h"
#include "base/port.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define PART_LINES 1000
#define NOTE_US 1000000
#define HEAD_BYTES 65536 /* of the file, by which it is known again */
#define TITLE "widerow import, version 1"

/* ---- which file it is ---- */

/* A file may grow, or be mended behind the place from which the import goes on: what counts is how
 * it begins, up to that place at most. */
static int identify(struct ctx *c, const struct resume *r, int fd, size_t head, uint64_t *out)
{
    const char *source = r->source;
    uint8_t *bytes_there;
    size_t have = 0;

    if (r->etag) {
        *out = XXH3_64bits(r->etag, strlen(r->etag));
        return E_OK;
    }
    bytes_there = mem_alloc(HEAD_BYTES);

    while (have < head) {
        ssize_t n = pread(fd, bytes_there + have, head - have, (off_t)have);

        if (n <= 0)
            break;
        have += (size_t)n;
    }
    *out = XXH3_64bits(bytes_there, have);
    mem_free(bytes_there);
    return have == head ? E_OK
                        : fail(c, E_PARAMETER, "%s is shorter than what was loaded of it", source);
}

/* Of a compressed file the place is one behind its compression. */
static size_t head_bytes(const struct resume *r, int fd)
{
    struct stat st;
    uint64_t most = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;

    most = most < HEAD_BYTES ? most : HEAD_BYTES;
    return (size_t)(r->offset < most ? r->offset : most);
}

/* ---- the notes ---- */

struct notes {
    char table[300];
    uint64_t offset, line, errors, head, identity;
};

static bool parse(FILE *f, struct notes *n)
{
    char title[64];

    return fgets(title, sizeof(title), f) && strcmp(title, TITLE "\n") == 0 &&
           fscanf(f,
                  "table %299s\nhead %" SCNu64 " %" SCNx64 "\noffset %" SCNu64 "\nline %" SCNu64
                  "\nleft out %" SCNu64,
                  n->table, &n->head, &n->identity, &n->offset, &n->line, &n->errors) == 6 &&
           n->head <= HEAD_BYTES;
}

static int take_notes(struct ctx *c, struct resume *r, const struct notes *n, int fd)
{
    uint64_t identity;

    if (!bytes_equal(bytes_str(n->table), r->table))
        return fail(c, E_PARAMETER, "%s is of an import into table %s; remove it to begin anew",
                    r->path, n->table);
    TRY(identify(c, r, fd, (size_t)n->head, &identity));
    if (identity != n->identity)
        return fail(c, E_PARAMETER,
                    "%s is not the file of which %s tells: remove the latter to begin anew",
                    r->source, r->path);
    r->offset = n->offset;
    r->line = n->line;
    r->errors = n->errors;
    return E_OK;
}

int resume_begin(struct ctx *c, struct resume *r, const char *source, int fd, const char *etag,
                 bytes table)
{
    const char *slash = etag ? strrchr(source, '/') : NULL;
    const char *near = slash ? slash + 1 : source;
    struct notes notes;
    struct stat st;
    FILE *f;
    bool good;

    *r = (struct resume){.path = arena_printf(&c->arena, "%s.resume", near).ptr,
                         .new_path = arena_printf(&c->arena, "%s.resume.new", near).ptr,
                         .source = source,
                         .etag = etag,
                         .table = table,
                         .saved_us = clock_mono_us(c->clock)};
    if (!etag && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
        return fail(c, E_PARAMETER, "--resume is for files: %s cannot be read a second time",
                    source);
    f = fopen(r->path, "re");
    if (!f && errno == ENOENT)
        return E_OK;
    if (!f)
        return fail(c, E_PARAMETER, "cannot read %s: %s", r->path, strerror(errno));
    good = parse(f, &notes);
    fclose(f);
    return good ? take_notes(c, r, &notes, fd)
                : fail(c, E_PARAMETER, "%s is damaged; remove it to begin anew", r->path);
}

static int write_notes(struct ctx *c, const struct resume *r, bytes text)
{
    int error = durable_replace(r->path, r->new_path, 0666, text);

    return error ? fail(c, E_PARAMETER, "cannot write %s, which --resume needs: %s", r->path,
                        strerror(error))
                 : E_OK;
}

static int note(struct ctx *c, const struct resume *r)
{
    int fd = r->etag ? -1 : open(r->source, O_RDONLY | O_CLOEXEC), code;
    size_t head = fd < 0 ? 0 : head_bytes(r, fd);
    uint64_t identity;
    char text[640];
    int n;

    if (fd < 0 && !r->etag)
        return fail(c, E_PARAMETER, "cannot read %s: %s", r->source, strerror(errno));
    code = identify(c, r, fd, head, &identity);
    if (fd >= 0)
        close(fd);
    TRY(code);
    n = snprintf(text, sizeof(text),
                 TITLE "\ntable %.*s\nhead %zu %016" PRIx64 "\noffset %" PRIu64 "\nline %" PRIu64
                       "\nleft out %" PRIu64 "\n",
                 BYTES_FMT(r->table), head, identity, r->offset, r->line, r->errors);
    return write_notes(c, r, bytes_of(text, (size_t)n));
}

/* ---- lines ---- */

struct resume_part *resume_line(struct resume *r, uint64_t offset, uint64_t line)
{
    struct resume_part *part = r->last;

    if (!r->path)
        return NULL;
    if (!part || part->lines == PART_LINES) {
        struct resume_part *next = mem_zalloc(sizeof(*next));

        next->offset = offset;
        next->line = line;
        atomic_init(&next->left, 1);
        *(part ? &part->next : &r->first) = next;
        r->last = next;
        resume_settle(part, false);
        part = next;
    }
    part->lines++;
    atomic_fetch_add(&part->left, 1);
    return part;
}

void resume_settle(struct resume_part *part, bool omitted)
{
    if (part && omitted)
        atomic_fetch_add(&part->omitted, 1);
    if (part)
        atomic_fetch_sub(&part->left, 1);
}

static void drop_first(struct resume *r)
{
    struct resume_part *part = r->first;

    r->first = part->next;
    mem_free(part);
}

/* Parts that are settled go; the first of the others is the place. */
static void go_forward(struct resume *r)
{
    while (r->first && r->first != r->last && atomic_load(&r->first->left) == 0) {
        r->errors += atomic_load(&r->first->omitted);
        drop_first(r);
    }
    if (r->first) {
        r->offset = r->first->offset;
        r->line = r->first->line;
    }
}

int resume_note(struct ctx *c, struct resume *r)
{
    int64_t now_us = clock_mono_us(c->clock);

    if (!r->path || now_us - r->saved_us < NOTE_US)
        return E_OK;
    r->saved_us = now_us;
    go_forward(r);
    return note(c, r);
}

int resume_end(struct ctx *c, struct resume *r, bool whole)
{
    int code = E_OK;

    if (!r->path)
        return E_OK;
    go_forward(r);
    if (whole)
        (void)unlink(r->path);
    else
        code = note(c, r);
    while (r->first)
        drop_first(r);
    return code;
}
