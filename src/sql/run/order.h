/* order.h: numbers that SQLite's own do not hold, as bytes that sort as the numbers do: BIGINT
 * UNSIGNED in 8 bytes, DECIMAL in as many as it has digits. Equal numbers have equal bytes, however
 * they were written ("1.50" and "1.5"). */
#ifndef SQL_RUN_ORDER_H
#define SQL_RUN_ORDER_H

#include "base/arena.h"
#include "widerow.h"

bytes order_of_unsigned(struct arena *a, uint64_t v);
uint64_t order_to_unsigned(bytes key);

/* `text`: [-]digits[.digits]. */
bytes order_of_decimal(struct arena *a, bytes text);
/* Without zeros that say nothing. */
bytes order_to_decimal(struct arena *a, bytes key);

/* How two values of one type are ordered: below 0, 0 or above. The arena is for DECIMAL. */
int value_order(struct arena *a, const struct wr_value *x, const struct wr_value *y);

#endif
