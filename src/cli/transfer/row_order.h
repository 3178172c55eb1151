/* row_order.h: rows of a load in the order in which they are cheap to write: by their keys, so that
 * a batch goes to one place of the table, and each batch to another place than the one before, so
 * that several at a time do not meet there. */
#ifndef CLI_TRANSFER_ROW_ORDER_H
#define CLI_TRANSFER_ROW_ORDER_H

#include "cli/transfer/plan.h"

/* Sorts rows by their first `key_count` values, rows with the same key as they came, and deals them
 * out in batches of `batch`. */
void row_order_arrange(struct import_row **rows, size_t count, size_t key_count, size_t batch);

#endif
