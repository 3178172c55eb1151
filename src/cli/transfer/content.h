/* content.h: a digest of what a table holds for those who read it, to compare two places by that
 * need not be alike otherwise (digest.h is of all that a server tells of a table).
 *
 * In it: names and types of the key columns, and of each row its key and its cells: name, type,
 * value; of each cell its newest version, or all versions with their timestamps. Left out: the
 * table's name, options, throughput, layout, partitions, indexes and streams, which columns are
 * defined, which one counts up by itself, and the order in which rows come.
 *
 * The digest is a SHA-256 over the sum of the rows' own, so ranges are read side by side. It finds
 * damage and mistakes; against somebody who makes rows so that they give a certain sum it says
 * nothing. */
#ifndef CLI_TRANSFER_CONTENT_H
#define CLI_TRANSFER_CONTENT_H

#include "cli/transfer/rate.h"
#include "client/client.h"

#define CONTENT_BYTES 32
#define CONTENT_TEXT (2 * CONTENT_BYTES + 1)

struct content_options {
    bool versions;       /* all of them, with their timestamps */
    size_t worker_count; /* pages under way at a time */
    int64_t from_ms;     /* only cells from then on, and rows that have one; 0: all */
    int64_t retry_ms;    /* how long the server may be gone; 0: CLIENT_RETRY_MS */
    struct rate *rate;   /* of rows or read capacity units; NULL: no limit */
};

struct content {
    uint64_t rows, cells; /* that are in it */
    char hex[CONTENT_TEXT];
};

/* Reads the table. Rows that are written meanwhile may be in it or not. */
int content_digest(struct ctx *c, struct target *t, bytes table, const struct content_options *o,
                   struct content *out);

#endif
