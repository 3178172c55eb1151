/* rocks_drain.c: the recovery thread works off the stall queue (rocks_stall.c), in order.
 *
 * It passes once through the exclusive gate before it begins, and from then on is the only one that
 * writes: whoever comes queues up behind. It may thus wait inside RocksDB without holding the gate.
 */
#include "engine/rocks.h"

#include "base/fault.h"

#define STALL_US_MAX 2000000
#define STALL_POLL_US 2000

static bool write_stopped(struct rocks *r)
{
    return fault_hit(FAULT_rocks_stall) || rocks_property(r->handle, "rocksdb.is-write-stopped");
}

static int stalled_write(struct rocks *r, struct stalled *s)
{
    for (;;) {
        int code = rocks_append_now(r, &s->write, false);

        if (code != E_BUSY)
            return code;
        if (clock_mono_us(r->clock) - s->since_us > STALL_US_MAX)
            return E_BUSY;
        /* A slowed-down RocksDB refuses no_slowdown for as long as the slowdown lasts, but takes a
         * waiting write after a moment. A stopped one would not come back, so that is waited for
         * here, where the time can be watched. */
        if (!write_stopped(r))
            return rocks_append_now(r, &s->write, true);
        rocks_sleep_us(STALL_POLL_US);
    }
}

/* True: the queue was empty for a moment after it, so that writers may have gone past. */
static bool stalled_run(struct rocks *r, struct stalled *s)
{
    bool empty;

    if (s->get) {
        s->get->code = rocks_get_now(s->c, r, s->get);
        empty = atomic_fetch_sub(&r->stall_count, 1) == 1;
        s->get->done(s->get);
    } else if (s->scan) {
        s->scan->code = rocks_scan_now(s->c, r, s->scan, 0);
        empty = atomic_fetch_sub(&r->stall_count, 1) == 1;
        s->scan->done(s->scan);
    } else {
        bool is_aborted = rocks_is_aborted(r, s->write.depends_on);
        int code = is_aborted ? E_BUSY : stalled_write(r, s);

        if (code != E_OK && s->write.count && !is_aborted)
            rocks_write_buffer_abort(r);
        if (s->write.edits)
            rocksdb_writebatch_destroy(s->write.edits);
        empty = atomic_fetch_sub(&r->stall_count, 1) == 1;
        if (code != E_OK)
            s->write.done(s->write.arg, code);
    }
    return empty;
}

void rocks_stalled_drain(struct rocks *r)
{
    struct stalled *s;
    bool empty = false;

    /* Whoever still saw an empty queue has appended when this returns. */
    pthread_rwlock_wrlock(&r->gate);
    pthread_rwlock_unlock(&r->gate);
    while (!empty) {
        if (!(s = rocks_stalled_take(r)))
            return;
        empty = stalled_run(r, s);
        mem_free(s);
    }
}
