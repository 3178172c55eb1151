/* rados_room.c: whether the pool is full.
 *
 * A full pool takes no new objects and no bytes in them, but still every change of an omap, which
 * is where rows are: until OSDs are so full that they drop writes, and nothing goes on. So rows
 * would be acknowledged, truly, into a pool that comes ever nearer to that. What tells in time is
 * the making of an empty object, which is removed again; servers may disturb one another at it,
 * when one of them learns nothing that time. It is asked in passing, by writes and by who wants to
 * know our state, never more often than every few seconds. */
#include "engine/rados.h"

#include <errno.h>

#define ROOM_OBJECT "room"
#define ROOM_EVERY_MS 5000
#define FULL_EVERY_MS 1000 /* while it is full: clients wait for the end of that */

static void look_end(struct rados *r)
{
    atomic_store(&r->room_asking, false);
    rados_release(r);
}

static bool room_operate(struct rados *r, rados_write_op_t op, rados_callback_t done)
{
    rados_completion_t completion;
    int result;

    rados_aio_create_completion2(r, done, &completion);
    rados_sent(r);
    result = rados_aio_write_op_operate(op, r->pool, completion, ROOM_OBJECT, NULL,
                                        LIBRADOS_OPERATION_FULL_TRY);
    rados_release_write_op(op);
    if (!result)
        return true;
    rados_aio_release(completion);
    rados_answered(r, result);
    return false;
}

static void on_removed(rados_completion_t completion, void *arg)
{
    struct rados *r = arg;

    rados_answered(r, rados_aio_get_return_value(completion));
    rados_aio_release(completion);
    look_end(r);
}

static void on_made(rados_completion_t completion, void *arg)
{
    struct rados *r = arg;
    int result = rados_aio_get_return_value(completion);
    rados_write_op_t op;

    rados_answered(r, result);
    rados_aio_release(completion);
    if (result == -ENOSPC || result == -EDQUOT)
        rados_room_learn(r, true);
    else if (!result)
        rados_room_learn(r, false);
    if (result && result != -EEXIST) {
        look_end(r);
        return;
    }
    op = rados_create_write_op();
    rados_write_op_remove(op);
    if (!room_operate(r, op, on_removed))
        look_end(r);
}

void rados_room_look(struct rados *r)
{
    int64_t now = clock_mono_ms(r->clock), last = atomic_load(&r->room_asked_ms);
    rados_write_op_t op;

    if (now - last < (atomic_load(&r->full) ? FULL_EVERY_MS : ROOM_EVERY_MS) ||
        !atomic_compare_exchange_strong(&r->room_asked_ms, &last, now) ||
        atomic_exchange(&r->room_asking, true))
        return;
    rados_hold(r);
    op = rados_create_write_op();
    rados_write_op_create(op, LIBRADOS_CREATE_EXCLUSIVE, NULL);
    if (!room_operate(r, op, on_made))
        look_end(r);
}
