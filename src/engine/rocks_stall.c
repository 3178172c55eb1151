/* rocks_stall.c: the stall queue.
 *
 * A caller of apply() must not sleep, so appends say no_slowdown. When RocksDB stalls (too many
 * files to compact, say), the batch goes into a queue that the recovery thread works off in order
 * (rocks_drain.c), waiting as long as it takes, at most 2 s a batch. The contract that a LATEST
 * read sees every earlier apply() must hold meanwhile, so as long as the queue is not empty all
 * further batches and all LATEST reads queue up in it too. */
#include "engine/rocks.h"

#include "base/invariant.h"

void rocks_stalled_add(struct rocks *r, struct stalled slow)
{
    struct stalled *s = mem_alloc(sizeof(*s));

    invariant(!!slow.get + !!slow.scan + !!slow.write.done == 1);
    *s = slow;
    s->next = NULL;
    s->write.announced = 0;
    s->since_us = clock_mono_us(r->clock);
    pthread_mutex_lock(&r->lock);
    *r->stalled_end = s;
    r->stalled_end = &s->next;
    r->stalls += !s->get && !s->scan;
    atomic_fetch_add(&r->stall_count, 1);
    pthread_cond_broadcast(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

struct stalled *rocks_stalled_take(struct rocks *r)
{
    struct stalled *s;

    pthread_mutex_lock(&r->lock);
    s = r->stalled;
    if (s) {
        invariant(atomic_load(&r->stall_count)); /* it goes down when this one is done */
        r->stalled = s->next;
        if (!r->stalled)
            r->stalled_end = &r->stalled;
    }
    pthread_mutex_unlock(&r->lock);
    return s;
}
