/* check.h: an archive of a period is read back whole: the bytes of each file against their hash,
 * and then its rows against their number and their content (content.h). Pieces of it are a turn
 * each. */
#ifndef ARCHIVE_CHECK_H
#define ARCHIVE_CHECK_H

#include "archive/manifest.h"
#include "s3/s3.h"

struct archive_check;

/* Gets each row, in the order of the keys; what it points to is there during the call. Not 0 ends
 * it with that code. */
typedef int archive_row_fn(struct ctx *c, void *arg, const struct wr_row *row);

/* The files are BUCKET/DIR, DIR ending with a slash or empty. All that is given must outlive it; fn
 * may be NULL. */
struct archive_check *archive_check_new(struct s3 *s3, const char *bucket, const char *dir,
                                        const struct manifest *m, archive_row_fn *fn, void *arg);
/* A turn: some MiB or some thousand rows. *ended: all is as the manifest says. E_CORRUPT: it is
 * not, and what. */
int archive_check_step(struct ctx *c, struct archive_check *k, bool *ended, uint64_t *read);
void archive_check_free(struct archive_check *k); /* NULL is allowed */

/* DIR/manifest.json of BUCKET. E_NOT_EXIST: there is none. */
int archive_manifest(struct ctx *c, struct s3 *s3, const char *bucket, const char *dir,
                     struct manifest *out);

#endif
