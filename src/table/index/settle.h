/* settle.h: how an entry comes to its key when its row was written in another batch (decision 35).
 *
 * At the key of an entry stands a record, or a mark that says when one went, or nothing. The later
 * stamp wins, whoever comes when and however often: a batch that settles a key is guarded by both
 * as they were read. A mark goes only with a new fence, which is guarded too, so that nobody who
 * knows the row's note from before the entry went can write it behind that.
 *
 * So whoever settles reads in this order: the fence, the row's note (outbox.h), the keys. When the
 * batch comes to nothing (E_GUARD, E_PARTITION), it begins with the fence again. A fence that was
 * read long ago is as good: the batch fails if it has moved. */
#ifndef TABLE_INDEX_SETTLE_H
#define TABLE_INDEX_SETTLE_H

#include "table/index/outbox.h"

/* What was read at a key; NULL pointers: nothing. All of it stays until the batch has landed. */
struct settle_seen {
    bytes record; /* KIND_RECORD */
    bytes mark;   /* BESIDE_MARK */
};

/* The fence of the partition of an index, and what was read there. */
struct settle_fence {
    bytes key; /* settle_fence_key() */
    bytes value;
};

/* `start`: the partition's lower bound (partition.h). In the arena. */
bytes settle_fence_key(struct arena *a, uint32_t index, bytes start);

/* Adds to *e what brings the key `cols` of the index to `stamp`: the record `value`, or with
 * value.len 0 a mark. *needed false: it is there already, and nothing was added. E_CORRUPT,
 * E_FORMAT: what was read. The caller adds the fence, once a batch. */
int settle_key(struct ctx *c, struct batch_builder *e, const struct location *p, bytes cols,
               uint64_t stamp, bytes value, const struct settle_seen *seen, bool *needed);

/* The batch lands only while the fence is as it was read. */
void settle_guard_fence(struct batch_builder *e, const struct settle_fence *fence);

/* Removes the mark at a key if it is not later than `stamp`. The batch must move the fence as well.
 */
int settle_unmark(struct ctx *c, struct batch_builder *e, const struct location *p, bytes cols,
                  uint64_t stamp, bytes mark);

/* A new fence, guarded by the one that was read. E_CORRUPT. */
int settle_move_fence(struct ctx *c, struct batch_builder *e, const struct settle_fence *fence);

#endif
