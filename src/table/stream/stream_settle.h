/* stream_settle.h: does every server over the data go by a stream that was switched on, so that no
 * change comes without a record any more?
 *
 * A request that began by a description from before leaves none. Of its own requests a server
 * knows; a task asks the others about theirs (PEERS_STREAM). Once all have said so it is so for
 * ever. If one is silent, even once, only time tells (STREAM_SETTLES_MS): it may be paused, and
 * what it has begun may come late. */
#ifndef TABLE_STREAM_STREAM_SETTLE_H
#define TABLE_STREAM_STREAM_SETTLE_H

#include "table/catalog/peers.h"
#include "table/model/table.h"

/* Does every change that is made have a record by now? Not while somebody still goes by a
 * description from before the stream: where other servers may, not until they have said that they
 * do not, or STREAM_SETTLES_MS have passed, which no request outlives. */
#define STREAM_SETTLES_MS 60000
bool stream_is_whole(struct wr_db *db, const struct table *t);

/* Of other servers' requests: is there none, by the time alone? A table that was made with its
 * stream never had any. */
bool stream_settles_by_time(struct wr_db *db, const struct table *t);

struct stream_settle;

/* Adds the task to db->background. NULL: the system gives no thread for it. */
struct stream_settle *stream_settle_start(struct wr_db *db);
void stream_settle_free(struct stream_settle *s); /* the scheduler was stopped; or NULL */

/* Answers PEERS_STREAM: does this server go by the stream in every description that is held? */
peers_answer_fn stream_answer;

#endif
