/* resume.h: how far an import has come, in a file beside what it reads: so that a run that was
 * killed, interrupted or refused goes on where the last one may have left something out.
 *
 * A line is settled when its row was acknowledged, or it was left out as --max-errors allows. What
 * is noted, at most a second old, is the place before which all lines are settled. Rows behind it
 * may have been written already; they are written again, which changes nothing.
 *
 * One thread reads lines and calls all functions but resume_settle(), which any thread calls. */
#ifndef CLI_TRANSFER_RESUME_H
#define CLI_TRANSFER_RESUME_H

#include "base/ctx.h"

#include <stdatomic.h>

/* Some lines that follow each other in the file. */
struct resume_part {
    struct resume_part *next;
    uint64_t offset, line; /* of its first line */
    atomic_size_t left;    /* lines that are not settled, and one while it may get more */
    atomic_size_t omitted; /* lines that were left out */
    size_t lines;
};

struct resume {
    const char *path, *new_path; /* of the notes; NULL: none are kept */
    const char *source;
    const char *etag; /* of an object, by which it is known; NULL: it is a file */
    bytes table;
    uint64_t offset, line; /* of the first line that counts; 0: of the file */
    uint64_t errors;       /* lines that were left out before it */
    struct resume_part *first, *last;
    int64_t saved_us; /* monotonic */
};

/* Reads the notes of an earlier run on this file (`source`, open as fd) into this table, if there
 * are any. `etag`: NULL, or it is an object, whose notes stand in the working folder. In the arena
 * of c. E_PARAMETER: they are of another file or table, the file has changed, or they cannot be
 * read. */
int resume_begin(struct ctx *c, struct resume *r, const char *source, int fd, const char *etag,
                 bytes table);

/* A line is read: what to settle later; NULL where no notes are kept. */
struct resume_part *resume_line(struct resume *r, uint64_t offset, uint64_t line);
/* NULL is allowed. `omitted`: it was left out. */
void resume_settle(struct resume_part *part, bool omitted);

/* Notes how far it is, if a second has passed since that was done last. */
int resume_note(struct ctx *c, struct resume *r);

/* Nobody settles lines any more. `whole`: all were loaded, and the notes go; else they are made. */
int resume_end(struct ctx *c, struct resume *r, bool whole);

#endif
