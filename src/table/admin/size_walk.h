/* size_walk.h: one walk over a table that adds up what each partition key value takes. */
#ifndef TABLE_ADMIN_SIZE_WALK_H
#define TABLE_ADMIN_SIZE_WALK_H

#include "table/core/db.h"

/* A partition key value. `key`: bucket byte and encoded columns. */
struct size_entry {
    uint64_t bytes, rows;
    uint64_t hash; /* of the encoded columns */
    uint8_t *key;
    size_t key_len;
};

struct size_found {
    struct size_entry top[WR_SIZES_MAX]; /* largest first */
    size_t top_count;
    uint64_t bytes, rows, values;
    uint64_t over; /* values above warn_bytes */
};

void size_found_release(struct size_found *f);

struct size_walk;

/* A walk over the rows of the table at its location of now. The table is not referenced. */
struct size_walk *size_walk_new(struct wr_db *db, const struct table *t, uint64_t warn_bytes);
void size_walk_free(struct size_walk *w); /* NULL is allowed */

/* Reads a page and adds it up; *bytes: how many were read. `t` is any version of the table whose
 * rows lie at that location, used during the call. A failed step may be tried again. When *ended,
 * size_walk_found() is complete. Blocks. */
int size_walk_step(struct ctx *c, struct size_walk *w, const struct table *t, uint64_t *bytes,
                   bool *ended);

/* What was found so far; the caller may take it over by clearing it. */
struct size_found *size_walk_found(struct size_walk *w);

#endif
