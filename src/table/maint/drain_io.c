#include "table/maint/drain_io.h"

#include "table/catalog/route.h"
#include "table/core/db.h"
#include "table/sync/wait.h"

/* What bounds the memory of one call. */
#define READS_AT_ONCE 512
#define BATCHES_AT_ONCE 512

/* One that was not answered where it was asked for: its partition was split, or is busy. */
static int read_alone(struct ctx *c, struct drain_read *r, struct get *g)
{
    ctx_clear(c);
    *g = (struct get){.key = r->key, .view = VIEW_DURABLE};
    return route_get_now(c, r->table, g);
}

static int read_some(struct ctx *c, struct drain_read *reads, size_t count)
{
    struct get *gets = ARENA_ARRAY(&c->arena, struct get, count);

    for (size_t i = 0; i < count; i++)
        gets[i] = (struct get){.partition = route_find(reads[i].table, reads[i].key),
                               .key = reads[i].key,
                               .view = VIEW_DURABLE};
    wait_get_many(c, reads->table->db->engine, gets, count);
    ctx_clear(c);
    for (size_t i = 0; i < count; i++) {
        if (gets[i].code)
            TRY(read_alone(c, &reads[i], &gets[i]));
        reads[i].value = gets[i].found ? arena_copy(&c->arena, gets[i].value) : BYTES_NONE;
    }
    return E_OK;
}

int drain_read_all(struct ctx *c, struct drain_read *reads, size_t count)
{
    for (size_t i = 0; i < count; i += READS_AT_ONCE)
        TRY(read_some(c, reads + i, count - i < READS_AT_ONCE ? count - i : READS_AT_ONCE));
    return E_OK;
}

static struct drain_batch *add_batch(struct drain_batches *all)
{
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 64;
        struct drain_batch *items = ARENA_ARRAY(all->arena, struct drain_batch, room);

        if (all->count)
            memcpy(items, all->items, all->count * sizeof(*items));
        all->items = items;
        all->room = room;
    }
    return &all->items[all->count++];
}

struct batch_builder *drain_batch_of(struct drain_batches *all, size_t owner,
                                     partition_id partition)
{
    struct drain_batch *b;

    for (size_t i = all->count; i > 0 && all->items[i - 1].owner == owner; i--)
        if (all->items[i - 1].partition == partition)
            return &all->items[i - 1].edits;
    b = add_batch(all);
    *b = (struct drain_batch){
        .owner = owner, .partition = partition, .edits = {.arena = all->arena}};
    return &b->edits;
}

static void apply_some(struct ctx *c, struct engine *e, struct drain_batch *items, size_t count)
{
    struct write_batch batches[BATCHES_AT_ONCE];
    int codes[BATCHES_AT_ONCE] = {0};
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (items[i].edits.count)
            batches[n++] = (struct write_batch){.partition = items[i].partition,
                                                .guards = items[i].edits.guards,
                                                .guard_count = items[i].edits.guard_count,
                                                .edits = items[i].edits.items,
                                                .edit_count = items[i].edits.count};
    if (n)
        wait_apply_many(c, e, batches, n, codes);
    n = 0;
    for (size_t i = 0; i < count; i++)
        items[i].code = items[i].edits.count ? codes[n++] : E_OK;
}

void drain_apply_all(struct ctx *c, struct engine *e, struct drain_batches *all)
{
    for (size_t i = 0; i < all->count; i += BATCHES_AT_ONCE)
        apply_some(c, e, all->items + i,
                   all->count - i < BATCHES_AT_ONCE ? all->count - i : BATCHES_AT_ONCE);
    ctx_clear(c);
}
