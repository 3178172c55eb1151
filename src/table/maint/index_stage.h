/* index_stage.h: builds an index from table files, where entries land with their rows and the
 * engine sorts (engine_sorts()).
 *
 * While the index is INDEX_COMING, changes leave marks (entry_mark()). When all do, the rows are
 * read as they are durable, without their locks; their entries are sorted beside the database and
 * taken over in one go, past log and write buffers, and with them the note that they were. Then the
 * index is INDEX_FULL: changes bring entries. When all do, each row with marks is visited. One that
 * was changed behind its reading has them.
 *
 * What is sorted does not survive the process, nor a failure; it is begun anew then. */
#ifndef TABLE_MAINT_INDEX_STAGE_H
#define TABLE_MAINT_INDEX_STAGE_H

#include "base/scheduler.h"
#include "table/core/db.h"

struct index_stages;

struct index_stages *index_stages_new(struct wr_db *db);
void index_stages_free(struct index_stages *all); /* NULL is allowed */

/* Around a turn of all builds: what is of indexes that had none of the two functions below called
 * goes, for they are no more. */
void index_stages_begin(struct index_stages *all);
void index_stages_end(struct index_stages *all);

/* A slice of it, of an INDEX_COMING one. *ended: the files were taken over. E_BUSY: not now, for
 * too many others are under way, or somebody still goes by a description without the index, or it
 * has failed a moment ago. E_UNSUPPORTED: it has more entries than can be sorted. */
int index_stage_slice(struct index_stages *all, struct ctx *c, struct table *t,
                      const struct index *index, struct task_step *step, bool *ended);

/* A slice of visiting the marks of an INDEX_FULL one, when no change leaves any. *ended: there are
 * none any more. */
int index_stage_marks(struct index_stages *all, struct ctx *c, struct table *t,
                      const struct index *index, struct task_step *step, bool *ended);

/* Were the index's files taken over? *expires: and the table had a time to live already when its
 * rows were read. */
int index_stage_was_taken(struct ctx *c, struct wr_db *db, const struct index *index, bool *taken,
                          bool *expires);

#endif
