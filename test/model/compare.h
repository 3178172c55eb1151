/* compare.h: an expected answer against the one that came. */
#ifndef MODEL_COMPARE_H
#define MODEL_COMPARE_H

#include "widerow.h"

#include <stdbool.h>
#include <stddef.h>

/* True if they are the same: codes, rows, order, stamps, checksums, capacity, next key. Texts of
 * errors need only be there. Else `why` (size bytes) says where they part. Stamps that are open in
 * `expected` may be anything that is a stamp. */
bool compare_replies(const struct wr_reply *expected, const struct wr_reply *actual, char *why,
                     size_t size);
bool compare_rows(const struct wr_row *expected, const struct wr_row *actual, char *why,
                  size_t size);

#endif
