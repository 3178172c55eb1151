/* change_log_watch.h: keeps change logs as small as they may be, whatever their readers do.
 *
 * Readers trim a log as they pass. One that hangs, finds no memory or fails would let it grow for
 * ever: so a task looks at all logs every few seconds, and takes the oldest changes of one away
 * that is larger than change_log_bytes_max. Its reader is told so when he comes
 * (change_log_page.gone), and begins with the rows anew. */
#ifndef TABLE_CHANGELOG_CHANGE_LOG_WATCH_H
#define TABLE_CHANGELOG_CHANGE_LOG_WATCH_H

#include "table/core/db.h"

struct change_log_watch;

/* The task. NULL: the system gives no thread for it. */
struct change_log_watch *change_log_watch_start(struct wr_db *db);
void change_log_watch_free(struct change_log_watch *w); /* after the scheduler was stopped; or
                                                             NULL */

/* One look at all logs: the task's own, and for tests. Blocks. Any thread. */
int change_log_watch_look(struct change_log_watch *w);

struct change_log_stat {
    uint64_t bytes; /* of all logs, when they were looked at last */
    uint64_t cut;   /* how often one was larger than it may be, since the start */
};
/* `w` NULL: zeros. Any thread. */
void change_log_watch_stat(const struct change_log_watch *w, struct change_log_stat *out);

#endif
