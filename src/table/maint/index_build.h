/* index_build.h: fills an index that was made on a table with rows, while the table is used. A task
 * in the background does it; index_build.c has the scheme. A build survives a restart and goes on
 * where it was; one whose index or table is dropped meanwhile ends by itself. */
#ifndef TABLE_MAINT_INDEX_BUILD_H
#define TABLE_MAINT_INDEX_BUILD_H

#include <stdbool.h>

struct wr_db;

/* Registers the task with db->background. Where writes keep indexes. False: the system gives no
 * thread. */
bool index_build_start(struct wr_db *db);

#endif
