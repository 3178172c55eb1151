/* outbox_queue.h: the outbox records that this server has written and nobody has drained yet, in
 * the order in which they became durable.
 *
 * It is what makes an index follow soon, and no more than that: what it forgets, with its process
 * or because a table cannot be found, a walk over the records finds (maint/index_drainer.h). Any
 * thread may call anything; nothing blocks. */
#ifndef TABLE_INDEX_OUTBOX_QUEUE_H
#define TABLE_INDEX_OUTBOX_QUEUE_H

#include "table/model/table.h"

struct outbox_queue;

struct outbox_queue *outbox_queue_new(void);
void outbox_queue_free(struct outbox_queue *q); /* NULL is allowed */

/* Told when something comes into an empty queue; set before the first. It does not block. */
void outbox_queue_on_work(struct outbox_queue *q, void (*work)(void *arg), void *arg);

/* The row with these key columns has a record that is not settled, perhaps. NULL is allowed. */
void outbox_queue_add(struct outbox_queue *q, const struct table *t, bytes cols);

/* How many there are, those that were taken included, until they are added again or ended. */
size_t outbox_queue_count(const struct outbox_queue *q); /* NULL: 0 */
/* For how long the oldest of them has waited; 0: there is none. */
int64_t outbox_queue_age_ms(struct outbox_queue *q, int64_t now_ms);

/* Records of one table. */
struct outbox_taken {
    bytes instance, table;
    uint32_t id; /* the table's */
    bytes *cols;
    size_t count;
    int64_t since_ms; /* when the oldest of them came, monotonic */
};

/* Takes up to `max` of the table whose record is the oldest, each once though it came more often.
 * In the arena. False: there is none. One thread alone. */
bool outbox_queue_take(struct outbox_queue *q, struct arena *a, size_t max,
                       struct outbox_taken *out);
/* These were taken and are not drained: they go to the end. `cols` are some of out->cols. */
void outbox_queue_return(struct outbox_queue *q, const struct outbox_taken *taken,
                         const bytes *cols, size_t count);
/* What was taken is drained, or was returned. */
void outbox_queue_taken_end(struct outbox_queue *q);

#endif
