/* json_array.h: a JSON array of plain values, as arrays stand in cells. */
#ifndef SEARCH_JSON_ARRAY_H
#define SEARCH_JSON_ARRAY_H

#include "base/arena.h"
#include "widerow.h"

/* The elements: VARCHAR (a view, or in the arena), BIGINT (a number without fraction or exponent
 * that fits), DOUBLE, BOOLEAN; null is left out. False: it is no such array, or has more than `max`
 * elements. */
bool json_array_read(struct arena *a, bytes text, struct wr_value *out, size_t max, size_t *count);

#endif
