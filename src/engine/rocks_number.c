/* rocks_number.c: numbers in the order of the log, for EDIT_PUT_NUMBERED.
 *
 * A number is drawn where nothing can come between it and its place in the log: a small batch draws
 * it when it joins the write buffer, under that one's lock; any other while the buffers are held.
 * Appends follow one another in the same order, through the stall queue too, and a read view shows
 * a prefix of the log. A batch that comes to nothing leaves a gap.
 *
 * A number is a time: microseconds since 1970 by the wall clock, or one more than the last if the
 * clock has not moved since, or was set back. Each append that carries numbers also puts the last
 * of them at a key of the engine's own, in the same record of the log: whoever has seen a number
 * finds it there after any crash, and what is drawn then is above it, whatever the clock says by
 * then. Numbers that a crash took back with their record were never seen at VIEW_DURABLE, and may
 * be drawn again. A folder in which nothing is numbered holds nothing of this. */
#include "engine/rocks.h"

#include "base/buf.h"

static const uint8_t number_key[] = {0, 0, 0, 0, 0, 0, 'n', 'u', 'm', 'b', 'e', 'r'};

_Static_assert(ENGINE_OWN_BYTES == 6, "the key begins with so many zeros");

int rocks_numbers_open(struct ctx *c, struct rocks *r, rocksdb_t *db)
{
    rocksdb_readoptions_t *o = rocksdb_readoptions_create();
    char *err = NULL;
    size_t len;
    char *value = rocksdb_get(db, o, (const char *)number_key, sizeof(number_key), &len, &err);

    rocksdb_readoptions_destroy(o);
    if (err)
        return rocks_status_fail(c, err);
    if (value && len != NUMBER_BYTES) {
        rocksdb_free(value);
        return fail(c, E_CORRUPT, "The last number in %s has %zu bytes, not 8. Restore a backup.",
                    r->folder.dir, len);
    }
    if (value)
        r->number = load_u64_be((const uint8_t *)value);
    rocksdb_free(value);
    return E_OK;
}

uint64_t rocks_number_draw(struct rocks *r)
{
    r->number = number_after(r->number, r->clock);
    return r->number;
}

void rocks_number_mark(rocksdb_writebatch_t *edits, uint64_t number)
{
    uint8_t value[NUMBER_BYTES];

    store_u64_be(value, number);
    rocks_edit(edits, EDIT_PUT, bytes_of(number_key, sizeof(number_key)),
               bytes_of(value, sizeof(value)));
}

void rocks_number_edits(struct rocks *r, const struct write_batch *b, rocksdb_writebatch_t *edits)
{
    for (size_t i = 0; i < b->edit_count; i++) {
        const struct edit *e = &b->edits[i];
        uint8_t number[NUMBER_BYTES];
        const char *key[2] = {e->key.ptr, (const char *)number};
        const char *value = e->value.len ? e->value.ptr : "";

        if (e->type != EDIT_PUT_NUMBERED)
            continue;
        store_u64_be(number, rocks_number_draw(r));
        rocksdb_writebatch_putv(edits, 2, key, (const size_t[]){e->key.len, sizeof(number)}, 1,
                                &value, &e->value.len);
    }
    rocks_number_mark(edits, r->number);
}
