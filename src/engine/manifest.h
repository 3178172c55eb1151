/* manifest.h: how far RocksDB's MANIFEST goes, so that a shorter one is
 * noticed.
 *
 * The MANIFEST lists the table files. RocksDB takes one whose end is missing,
 * or looks so because the length or the type of a record is damaged, for one that a
 * crash cut short, and opens the database without the table files it does not
 * know of: their rows are gone without a word. So the watermark remembers how
 * far the MANIFEST was durable when writes were acknowledged. */
#ifndef ENGINE_MANIFEST_H
#define ENGINE_MANIFEST_H

#include "base/ctx.h"

struct manifest {
    uint64_t number; /* of the file; 0: not known */
    uint64_t size;   /* up to here it is durable */
};

/* Brings *m up to date if the file in use in folder `db` is another one or has
 * grown, and makes it durable up to there. Returns 0 or errno. */
int manifest_follow(const char *db, struct manifest *m);

/* E_CORRUPT, with a text that names the file, if what is in use in `db` is
 * older than `known` or its whole records end before known->size. What RocksDB
 * notices by itself (no CURRENT, no such file, a record with a wrong checksum)
 * is left to it. */
int manifest_check(struct ctx *c, const char *db, const struct manifest *known);

/* Takes a table file off the list in `db`, which nobody has open: it is not read any more, and
 * removed when the database is opened. Returns 0 or errno. */
int manifest_drop(const char *db, int level, uint64_t number);

/* The oldest log that is still needed: all writes of older ones are in table files, and RocksDB
 * does not read those logs. 0: the MANIFEST in use in `db` does not say. */
uint64_t manifest_oldest_log(const char *db);

#endif
