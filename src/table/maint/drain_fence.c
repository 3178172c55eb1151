#include "table/maint/drain_fence.h"

#include "table/catalog/route.h"
#include "table/maint/drain_io.h"

struct known_fence fence_at(struct arena *a, const struct table *index, bytes entry_key)
{
    struct known_fence f = {.index = index};
    bytes start;

    f.partition = route_bound(a, index, entry_key, &start);
    f.fence.key = settle_fence_key(a, index->schema.location.id, start);
    return f;
}

static struct known_fence *find(const struct known_fences *all, size_t count,
                                const struct known_fence *f)
{
    for (size_t i = 0; i < count; i++)
        if (all->items[i].partition == f->partition &&
            bytes_equal(all->items[i].fence.key, f->fence.key))
            return &all->items[i];
    return NULL;
}

const struct known_fence *fences_find(const struct known_fences *all, const struct known_fence *f)
{
    return find(all, all->read, f);
}

void fences_want(struct known_fences *all, const struct known_fence *f)
{
    if (find(all, all->count, f))
        return;
    if (all->count == all->room) {
        size_t room = all->room ? 2 * all->room : 16;
        struct known_fence *items = ARENA_ARRAY(all->arena, struct known_fence, room);

        if (all->count)
            memcpy(items, all->items, all->count * sizeof(*items));
        all->items = items;
        all->room = room;
    }
    all->items[all->count++] = *f;
}

int fences_read(struct ctx *c, struct known_fences *all)
{
    size_t n = all->count - all->read;
    struct drain_read *reads = ARENA_ARRAY(&c->arena, struct drain_read, n);

    for (size_t i = 0; i < n; i++)
        reads[i] = (struct drain_read){.table = all->items[all->read + i].index,
                                       .key = all->items[all->read + i].fence.key};
    TRY(drain_read_all(c, reads, n));
    for (size_t i = 0; i < n; i++)
        all->items[all->read + i].fence.value = reads[i].value;
    all->read = all->count;
    return E_OK;
}

void fences_forget(struct known_fences *all)
{
    all->count = all->read = 0;
}
