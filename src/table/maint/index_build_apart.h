/* index_build_apart.h: indexes of rows that are there already, where entries follow by outbox
 * records (decision 35): part of the task of index_build.h.
 *
 * An index is coming first, until every server knows of it, and then filled by all changes. When
 * every server does that, the rows are visited: each gets an outbox record as if it had just been
 * written, guarded by the row as it is, and the record is drained. Any number of servers may do all
 * of this at once without harm; a record of the progress, that its holder renews, keeps it to one.
 */
#ifndef TABLE_MAINT_INDEX_BUILD_APART_H
#define TABLE_MAINT_INDEX_BUILD_APART_H

#include "base/scheduler.h"
#include "table/catalog/peers.h"

/* What a server knows of the builds under way. One thread. */
struct builds_apart;

struct builds_apart *builds_apart_new(struct wr_db *db);
void builds_apart_free(struct builds_apart *all); /* NULL is allowed */

/* A slice of the work for an index that is not complete, as of table_slicing.run. Blocks. */
int index_build_apart(struct builds_apart *all, struct ctx *c, struct table *t,
                      const struct index *index, struct task_step *step);

/* Answers PEERS_INDEX: does this server keep the index in every description that is held here? */
peers_answer_fn index_answer;

#endif
