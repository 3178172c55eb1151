/* index_drainer.h: the thread that brings changes of rows to their indexes where a row's batch
 * cannot hold their entries (decision 35).
 *
 * It drains what this server has written (index/outbox_queue.h) as soon as that is durable, many
 * records together. Beside that it walks over the records of all tables with indexes, now and then:
 * so marks go when they are due, and what servers left that died, or stand still, is drained by the
 * others. */
#ifndef TABLE_MAINT_INDEX_DRAINER_H
#define TABLE_MAINT_INDEX_DRAINER_H

#include <stdbool.h>
#include <stdint.h>

struct wr_db;
struct index_drainer;

/* NULL: the system gives no thread, or (*needed false) none is needed, for there is one key space.
 * db->outboxes is there. */
struct index_drainer *index_drainer_start(struct wr_db *db, bool *needed);
/* No request is under way any more: what is left is drained first, if that does not take long. NULL
 * is allowed. */
void index_drainer_stop(struct index_drainer *d);

/* How far indexes are behind their tables. */
struct index_drainer_stat {
    uint64_t waiting; /* changes of rows by this server that are not in their indexes */
    uint64_t age_ms;  /* of the oldest of them */
    uint64_t left;    /* records, whoever wrote them, that the last walk did not drain */
};
/* Any thread; NULL: nothing is behind. */
void index_drainer_stat(struct index_drainer *d, struct index_drainer_stat *out);

#endif
