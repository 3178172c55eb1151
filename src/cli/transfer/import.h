/* import.h: one run of `widerow import`: what the user asked for, and the parts that do it, in the
 * order in which they are used: the source of lines (import_source.h), the table (import_table.h),
 * and the load (import_load.h). */
#ifndef CLI_TRANSFER_IMPORT_H
#define CLI_TRANSFER_IMPORT_H

#include "cli/transfer/import_source.h"
#include "cli/transfer/loader.h"
#include "cli/transfer/resume.h"

struct import_options {
    struct s3_words s3;
    const char *table, *key, *columns, *layout, *input, *delimiter, *null, *acked, *rate, *rejects;
    uint64_t partitions, max_versions, workers, window, batch, max_errors, retry_s, seed;
    bool shuffle, create, resume, dry_run, embedded, quiet;
};

struct import {
    const struct import_options *options;
    struct client *client;
    struct import_source source;
    struct object object; /* of s3:// */
    struct plan plan;
    struct shuffle_buffer shuffle;
    struct loader loader;
    struct progress progress;
    struct resume resume;
    struct rejects rejects;
    struct rate rate;
    bytes layout;    /* of the table, once it is prepared */
    bool created;    /* the table is of this import */
    const char *dir; /* --embedded: the data folder */
};

#endif
