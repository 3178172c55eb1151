/* limit.h: every limit as a member of one struct. The rows stand in limit.def. */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limits {
#define LIMIT(name, def, strict, min, max, text) int64_t name;
#include "base/limit.def"
#undef LIMIT
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
int64_t limits_value(const struct limits *l, size_t i); /* of that name */

#endif
