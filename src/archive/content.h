/* content.h: one number for the rows of a period, by which what was read, what the archive gives
 * back and what was restored are compared: SHA-256 over the keys and the cells of all rows, with
 * types and timestamps, in the order of the keys. */
#ifndef ARCHIVE_CONTENT_H
#define ARCHIVE_CONTENT_H

#include "archive/cells.h"
#include "base/ctx.h"

#define CONTENT_TEXT 65 /* in hexadecimal digits, and a NUL */

struct content {
    struct evp_md_ctx_st *sha;
    uint64_t rows;
};

/* End what began well with content_end(). */
int content_begin(struct ctx *c, struct content *d);
/* A row: its key's columns as cells without timestamps, and its cells as cells.h has them with
 * timestamps, or nothing. */
void content_row(struct content *d, bytes key, bytes cells);
/* Frees; `hex` may be NULL. */
void content_end(struct content *d, char hex[CONTENT_TEXT]);

/* The first two arguments of content_row(), of a row; in the arena. */
bytes content_key(struct arena *a, const struct wr_row *row);
bytes content_cells(struct arena *a, const struct wr_row *row);

/* SHA-256 of bytes that come piece by piece. The same rules. */
void content_bytes(struct content *d, bytes piece);

#endif
