/* index_build.h: fills an index that was made on a table with rows, while the table is used. A task
 * in the background does it; index_build.c has the scheme. A build survives a restart and goes on
 * where it was; one whose index or table is dropped meanwhile ends by itself. */
#ifndef TABLE_MAINT_INDEX_BUILD_H
#define TABLE_MAINT_INDEX_BUILD_H

struct index_builder;
struct wr_db;

/* Registers the task with db->background. Where writes keep indexes. NULL: the system gives no
 * thread. */
struct index_builder *index_builder_start(struct wr_db *db);

/* An index has come that is to be built. NULL is allowed. */
void index_builder_wake(struct index_builder *b);

/* After the scheduler was stopped. NULL is allowed. */
void index_builder_free(struct index_builder *b);

#endif
