/* rocks_write.c: from apply() to where a batch gathers (rocks_write_buffer.c) or is appended
 * (rocks_append.c). */
#include "engine/rocks.h"

#include "base/waiter.h"
#include "engine/committer.h"

#define EDIT_BYTES 8 /* in the log, about, beside its key and value */

/* Is there room for the write? What the database keeps for itself finds it always, unless it grows:
 * it is small, and others rest on it. A lease of the clock that was refused would let times past it
 * into batches that come a moment later, when there is room. */
static int admit(struct rocks *r, const struct write *w)
{
    uint64_t unsynced;

    if (w->grows && rocks_space_short(r))
        return E_NO_SPACE;
    if (w->is_system)
        return E_OK;
    unsynced = committer_unsynced_bytes(r->committer) + rocks_write_buffer_bytes(r);
    /* One batch alone may be larger than the cap. */
    return unsynced && unsynced + w->size > r->unsynced_bytes_max ? E_BUSY : E_OK;
}

/* `numbered`: edits of it are to be numbered; else NULL. */
static void submit(struct rocks *r, const struct write *w, const struct write_batch *numbered)
{
    int code = w->size ? admit(r, w) : E_OK;

    if (code) {
        rocksdb_writebatch_destroy(w->edits);
    } else if (w->guard_count || numbered) {
        /* What is applied while the guards are checked counts as later, so nobody may have seen
         * it. And nobody may draw a number between ours and their place in the log. */
        rocks_write_buffer_hold(r);
        if (numbered)
            rocks_number_edits(r, numbered, w->edits);
        code = rocks_append(r, w);
        rocks_write_buffer_release(r);
    } else {
        rocks_write_buffer_append(r);
        code = rocks_append(r, w);
    }
    if (code)
        w->done(w->arg, code);
}

/* Without those that get a number, of which *numbered tells whether there are any. */
static rocksdb_writebatch_t *batch_edits(const struct write_batch *b, bool *numbered)
{
    rocksdb_writebatch_t *edits = rocksdb_writebatch_create();

    for (size_t i = 0; i < b->edit_count; i++)
        if (b->edits[i].type == EDIT_PUT_NUMBERED)
            *numbered = true;
        else
            rocks_edit(edits, b->edits[i].type, b->edits[i].key, b->edits[i].value);
    return edits;
}

void rocks_apply(struct ctx *c, struct engine *e, const struct write_batch *b, apply_done done,
                 void *arg)
{
    struct rocks *r = PORT_CONTAINER(e, struct rocks, base);
    struct write w = {.guards = b->guards,
                      .guard_count = b->guard_count,
                      .grows = write_batch_grows(b),
                      .is_system = b->partition == PARTITION_SYSTEM,
                      .depends_on = b->depends_on,
                      .done = done,
                      .arg = arg};
    bool numbered = false;
    int code;

    (void)c;
    for (size_t i = 0; i < b->edit_count; i++)
        w.size += EDIT_BYTES + b->edits[i].key.len + b->edits[i].value.len;
    if (rocks_write_buffer_takes(b, w.size)) {
        code = admit(r, &w);
        if (!code)
            code = rocks_write_buffer_add(r, b, w.size, done, arg);
        if (code)
            done(arg, code);
        return;
    }
    if (b->edit_count)
        w.edits = batch_edits(b, &numbered);
    submit(r, &w, numbered ? b : NULL);
}

/* ---- writing and waiting */

/* Submits and sleeps until it is durable. Takes ownership of edits (NULL: a barrier). */
int rocks_write_and_wait(struct rocks *r, rocksdb_writebatch_t *edits)
{
    struct waiter waiter;
    struct write w = {.edits = edits, .done = waiter_done, .arg = &waiter};

    waiter_init(&waiter);
    if (edits)
        rocksdb_writebatch_data(edits, &w.size);
    submit(r, &w, NULL);
    return waiter_wait(&waiter);
}
