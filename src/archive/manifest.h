/* manifest.h: what the archive of a period says of itself: a JSON text beside its files
 * (doc/format.md, "The archive of a series"), written last, so that an archive with one is whole.
 */
#ifndef ARCHIVE_MANIFEST_H
#define ARCHIVE_MANIFEST_H

#include "archive/content.h"

#define MANIFEST_NAME "manifest.json"
#define MANIFEST_FORM 1
#define MANIFEST_FILES_MAX 1000
#define MANIFEST_BYTES_MAX (1u << 20)

struct manifest_file {
    bytes name; /* beside the manifest */
    uint64_t bytes, rows;
    bytes sha256; /* of its bytes, in hexadecimal digits */
};

struct manifest {
    bytes instance, series, period;
    int64_t creation_us; /* of the series */
    bytes key;           /* "card:integer,time:string" */
    int64_t versions;    /* that the table kept of a cell */
    uint64_t rows;
    bytes content; /* content.h */
    struct manifest_file *files;
    size_t file_count;
};

/* The text, in the arena. */
bytes manifest_text(struct arena *a, const struct manifest *m);

/* Back. What it points to is in the arena of c. E_PARAMETER: it is none that this version reads,
 * and why; `name` is what messages call it. */
int manifest_parse(struct ctx *c, bytes text, const char *name, struct manifest *out);

#endif
