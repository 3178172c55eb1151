/* limit.h: every limit as a member of one struct. The rows stand in limit.def.
 *
 * Members are atomic, as one thread may change them (limits_assign) while others read; each on its
 * own, so a reader may see some changed and others not yet. */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limits {
#define LIMIT(name, def, strict, min, max, whose, text) _Atomic int64_t name;
#include "base/limit.def"
#undef LIMIT
    /* No setting: the columns of the longest key of any table, which may be more than
     * key_columns_max. limits_assign() leaves it. */
    _Atomic int64_t table_key_columns;
};

/* The defaults, or with `strict` the smaller documented ones. */
void limits_init(struct limits *l, bool strict);

/* Sets one by name from decimal text. Returns NULL, or what is wrong, in `message` (size bytes). */
const char *limits_set(struct limits *l, const char *name, const char *value, char *message,
                       size_t size);

/* What a cell of `cell_bytes` needs where that is more than the usual 2 MiB: the limits on a row, a
 * batch, a body, a page and a request's memory rise with it, so that the one setting suffices.
 * Smaller cells change nothing. */
#define LIMIT_CELL_USUAL ((int64_t)2 << 20)
#define LIMIT_CELL_MOST ((int64_t)64 << 20) /* that one request may carry */
void limits_lift(struct limits *l, int64_t cell_bytes);

/* The i-th name, NULL past the last: for "did you mean" and the documentation. */
const char *limits_name(size_t i);
size_t limits_find(const char *name);                   /* past the last: there is none */
int64_t limits_value(const struct limits *l, size_t i); /* of that name */
bool limits_shared(size_t i);                           /* is it of all servers over the data? */
bool limits_of_opening(size_t i);                       /* is it read once? */

/* Member by member, while others may read `to`. */
void limits_assign(struct limits *to, const struct limits *from);

#endif
