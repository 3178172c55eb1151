/* db_limits.h: the limits on what comes in, which rise and fall with what tables allow.
 *
 * A request is looked at before its table is known, so what the largest table allows is let in
 * (db_limits()). The table's own limits are checked when it is known (change_check_table()). */
#ifndef TABLE_CORE_DB_LIMITS_H
#define TABLE_CORE_DB_LIMITS_H

#include "table/core/db.h"

/* The settings have changed to `given`. Any thread. */
void db_limits_give(struct wr_db *db, const struct limits *given);

/* From now on the largest cell that a table allows by a limit of its own has `cell_bytes`; 0: there
 * is no such table. Under catalog.lock, for writing. */
void db_limits_let_in(struct wr_db *db, int64_t cell_bytes);

#endif
