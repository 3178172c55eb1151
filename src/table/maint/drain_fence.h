/* drain_fence.h: the fences that a drainer of outbox records knows (index_drain.h), each with the
 * partition that it was read in. The two are taken together from the map: a batch that is guarded
 * by the fence goes to that partition and no other. */
#ifndef TABLE_MAINT_DRAIN_FENCE_H
#define TABLE_MAINT_DRAIN_FENCE_H

#include "table/index/settle.h"
#include "table/model/table.h"

struct known_fence {
    const struct table *index;
    struct settle_fence fence;
    partition_id partition;
};

struct known_fences {
    struct arena *arena;
    struct known_fence *items;
    size_t count, room;
    size_t read; /* so many of them are; the others are to be read */
};

/* The fence of the partition that holds the key of an entry now, unread. */
struct known_fence fence_at(struct arena *a, const struct table *index, bytes entry_key);

/* The one that was read; NULL: none was. */
const struct known_fence *fences_find(const struct known_fences *all, const struct known_fence *f);

/* It is to be read. */
void fences_want(struct known_fences *all, const struct known_fence *f);

/* Reads those that are to be. Blocks. */
int fences_read(struct ctx *c, struct known_fences *all);

/* A guard has failed: they may have moved. */
void fences_forget(struct known_fences *all);

#endif
