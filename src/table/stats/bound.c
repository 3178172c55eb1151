#include "table/stats/bound.h"

#include "base/invariant.h"
#include "base/port.h"

struct bound {
    uint32_t refs;
    uint32_t len;
    uint8_t key[];
};

#define HEAP_OVERHEAD 16 /* what an allocation takes besides its bytes, about */

void bounds_init(struct bounds *b)
{
    *b = (struct bounds){.count = 1, .capacity = 16};
    b->items = mem_zalloc(b->capacity * sizeof(*b->items));
    b->bytes = b->capacity * sizeof(*b->items);
}

void bounds_release(struct bounds *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        mem_free(b->items[i]);
    mem_free(b->items);
    mem_free(b->idle);
    *b = (struct bounds){0};
}

static size_t bound_bytes(size_t len)
{
    return sizeof(struct bound) + len + HEAP_OVERHEAD;
}

static uint32_t bound_take_number(struct bounds *b)
{
    if (b->idle_count)
        return b->idle[--b->idle_count];
    if (b->count == b->capacity) {
        b->bytes += b->capacity * sizeof(*b->items);
        b->capacity *= 2;
        b->items = mem_realloc(b->items, b->capacity * sizeof(*b->items));
    }
    return b->count++;
}

uint32_t bounds_add(struct bounds *b, bytes key)
{
    uint32_t id = bound_take_number(b);
    struct bound *item = mem_alloc(sizeof(*item) + key.len);

    item->refs = 1;
    item->len = (uint32_t)key.len;
    memcpy(item->key, key.ptr, key.len);
    b->items[id] = item;
    b->bytes += bound_bytes(key.len);
    return id;
}

uint32_t bounds_ref(struct bounds *b, uint32_t id)
{
    if (id != BOUND_MIN && id != BOUND_MAX)
        b->items[id]->refs++;
    return id;
}

void bounds_unref(struct bounds *b, uint32_t id)
{
    if (id == BOUND_MIN || id == BOUND_MAX)
        return;
    invariant(id < b->count && b->items[id] && b->items[id]->refs > 0);
    if (--b->items[id]->refs)
        return;
    b->bytes -= bound_bytes(b->items[id]->len);
    mem_free(b->items[id]);
    b->items[id] = NULL;
    if (b->idle_count == b->idle_capacity) {
        b->bytes -= b->idle_capacity * sizeof(*b->idle);
        b->idle_capacity = b->idle_capacity ? b->idle_capacity * 2 : 16;
        b->idle = mem_realloc(b->idle, b->idle_capacity * sizeof(*b->idle));
        b->bytes += b->idle_capacity * sizeof(*b->idle);
    }
    b->idle[b->idle_count++] = id;
}

bool bounds_sparse(const struct bounds *b)
{
    return b->idle_count > 256 && b->idle_count > b->count / 2;
}

uint32_t *bounds_compact(struct bounds *b)
{
    uint32_t *map = mem_zalloc(b->count * sizeof(*map)), count = 1;

    for (uint32_t i = 1; i < b->count; i++)
        if (b->items[i]) {
            map[i] = count;
            b->items[count++] = b->items[i];
        }
    b->bytes -= b->capacity * sizeof(*b->items) + b->idle_capacity * sizeof(*b->idle);
    mem_free(b->idle);
    b->idle = NULL;
    b->idle_count = b->idle_capacity = 0;
    invariant(count <= b->count);
    b->count = count;
    b->capacity = count + count / 4 + 16;
    b->items = mem_realloc(b->items, b->capacity * sizeof(*b->items));
    b->bytes += b->capacity * sizeof(*b->items);
    return map;
}

bytes bounds_key(const struct bounds *b, uint32_t id)
{
    if (id == BOUND_MIN || id == BOUND_MAX)
        return bytes_of("", 0);
    return bytes_of(b->items[id]->key, b->items[id]->len);
}

int bounds_compare(const struct bounds *b, uint32_t x, uint32_t y)
{
    if (x == y)
        return 0;
    if (x == BOUND_MAX || y == BOUND_MAX)
        return x == BOUND_MAX ? 1 : -1;
    return bytes_compare(bounds_key(b, x), bounds_key(b, y));
}
