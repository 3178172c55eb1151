/* plant.c: an engine whose numbers are drawn before the append, which readers who follow must not
 * forgive. */
#include "life.h"

#include "base/bytes.h"
#include "engine/engine.h"
#include "table/core/db.h"

#include <string.h>
#include <unistd.h>

#define WAIT_US 300 /* of one batch in four */

static struct engine_ops planted;
static const struct engine_ops *sound;
static atomic_ullong drawn;

static uint64_t draw(struct clock *clock)
{
    uint64_t last = atomic_load(&drawn), next;

    do {
        uint64_t now = (uint64_t)clock_wall_us(clock);

        next = now > last ? now : last + 1;
    } while (!atomic_compare_exchange_weak(&drawn, &last, next));
    return next;
}

/* The edit as a put whose key has its number. */
static struct edit numbered(struct arena *a, struct clock *clock, const struct edit *edit)
{
    uint8_t *key = arena_alloc(a, edit->key.len + NUMBER_BYTES);

    memcpy(key, edit->key.ptr, edit->key.len);
    store_u64_be(key + edit->key.len, draw(clock));
    return (struct edit){EDIT_PUT, bytes_of(key, edit->key.len + NUMBER_BYTES), edit->value};
}

static void apply_late(struct ctx *c, struct engine *e, const struct write_batch *b,
                       apply_done done, void *arg)
{
    struct edit *edits = ARENA_ARRAY(&c->arena, struct edit, b->edit_count);
    struct write_batch late = *b;
    uint64_t last = 0;

    for (size_t i = 0; i < b->edit_count; i++) {
        edits[i] = b->edits[i];
        if (edits[i].type != EDIT_PUT_NUMBERED)
            continue;
        edits[i] = numbered(&c->arena, c->clock, &edits[i]);
        last = load_u64_be(bytes_u8(edits[i].key) + edits[i].key.len - NUMBER_BYTES);
    }
    late.edits = edits;
    if (last % 4 == 1)
        usleep(WAIT_US);
    sound->apply(c, e, &late, done, arg);
}

void life_plant(struct wr_db *db)
{
    sound = db->engine->ops;
    planted = *sound;
    planted.apply = apply_late;
    db->engine->ops = &planted;
}
