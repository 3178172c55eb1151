/* catalog_series.h: what changes a series and the tables of its periods in one transaction on the
 * catalog (catalog_txn.h). */
#ifndef TABLE_CATALOG_CATALOG_SERIES_H
#define TABLE_CATALOG_CATALOG_SERIES_H

#include "table/catalog/catalog_txn.h"

/* Tables for periods that have none. The owner fills in `txn` but for decide, and the numbers,
 * which stay until the end; a number that has a table or may have none any more is passed over. */
struct series_growth {
    struct catalog_txn txn;
    const int64_t *numbers;
    size_t count;
};
void catalog_series_grow(struct series_growth *g);

/* For decide(), with x->now a series, which `s` is the draft of. They change the periods' tables;
 * the caller puts `s`.
 *
 * freeze: periods below `number` take no writes from now on; whoever holds an older description of
 * their tables is refused under the row's lock. drop: they go, with their rows; E_PARAMETER if
 * some of them are not frozen, or not in the archive that the series has. follow: their tables get
 * what `s` has. */
int catalog_series_freeze(struct catalog_txn *x, struct schema *s, int64_t number);
int catalog_series_drop(struct catalog_txn *x, struct schema *s, int64_t number);
int catalog_series_follow(struct catalog_txn *x, const struct schema *s);
/* All of them, with the series. */
void catalog_series_drop_all(struct catalog_txn *x);

#endif
