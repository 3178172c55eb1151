/* digest.h: one number for all that tables hold, to compare two places by. */
#ifndef CLI_TRANSFER_DIGEST_H
#define CLI_TRANSFER_DIGEST_H

#include "client/client.h"

#define DIGEST_BYTES 32
#define DIGEST_TEXT (2 * DIGEST_BYTES + 1)

struct digest {
    struct evp_md_ctx_st *sha;
    uint64_t tables, rows, cells; /* that are in it */
};

/* End what began well with digest_finish(). */
int digest_init(struct ctx *c, struct digest *d);

/* Adds a table's schema and all its rows, read page by page. */
int digest_table(struct ctx *c, struct client *cl, struct digest *d, bytes name);

/* The digest in hexadecimal digits and a NUL, DIGEST_TEXT bytes; frees. */
void digest_finish(struct digest *d, char *hex);

#endif
