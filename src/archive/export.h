/* export.h: brings periods of series to a store: rows.parquet with all cells, their versions and
 * timestamps, read back and compared, and then a manifest (manifest.h), both under
 * PREFIX/INSTANCE/SERIES/PERIOD/.
 *
 * One period at a time; memory is a row group of EXPORT_GROUP_BYTES and a part of an upload, some
 * pages of the columns and of rows. Whatever was begun and not ended is begun anew: an object
 * appears whole or not at all.
 *
 * What has a manifest is never replaced by other rows. One with the rows that the period has is
 * read back and left as it is, or is written once more if it is damaged. One with other rows is an
 * error that somebody has to settle: it may be of another series that had this name, or of the time
 * after the backup from which this server comes. */
#ifndef ARCHIVE_EXPORT_H
#define ARCHIVE_EXPORT_H

#include "base/ctx.h"
#include "s3/s3.h"
#include "widerow.h"

#define EXPORT_GROUP_BYTES (8u << 20)

struct exporter;

struct exporter_conf {
    struct wr_db *db;
    struct clock *clock;
    struct s3_words words; /* which store; who asks it, the environment says */
    const char *under; /* s3://BUCKET/PREFIX: archives lie there or below; empty: there are none */
};

/* Texts of conf must outlive it. */
struct exporter *exporter_new(const struct exporter_conf *conf);
/* No request to the store is begun from now on, and one that is under way ends within about a
 * second. Any thread. NULL is allowed. */
void exporter_stop(struct exporter *e);
void exporter_free(struct exporter *e); /* NULL is allowed */

/* wr_archive_fn; `exporter` is one. */
int exporter_step(void *exporter, const struct wr_archive_period *period,
                  struct wr_archive_step *step);

#endif
