#include "table/model/batch_builder.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "table/model/layout.h"

void batch_add(struct batch_builder *e, enum edit_type type, bytes key, bytes value)
{
    invariant(key.len > 0 && (type != EDIT_DELETE || !value.len));
    if (e->count == e->capacity) {
        size_t capacity = e->capacity ? e->capacity * 2 : 8;
        struct edit *items = arena_alloc(e->arena, sizeof(*items) * capacity);

        if (e->count)
            memcpy(items, e->items, sizeof(*items) * e->count);
        e->items = items;
        e->capacity = capacity;
    }
    e->items[e->count++] = (struct edit){type, key, value};
    e->bytes += key.len + value.len;
}

void batch_add_guard(struct batch_builder *e, struct guard guard)
{
    invariant(guard.key.len > 0 && (!guard.absent || !guard.value.len));
    if (e->guard_count == e->guard_capacity) {
        size_t capacity = e->guard_capacity ? e->guard_capacity * 2 : 4;
        struct guard *guards = arena_alloc(e->arena, sizeof(*guards) * capacity);

        if (e->guard_count)
            memcpy(guards, e->guards, sizeof(*guards) * e->guard_count);
        e->guards = guards;
        e->guard_capacity = capacity;
    }
    e->guards[e->guard_count++] = guard;
}

void batch_add_shadow(struct batch_builder *e, size_t from, const struct schema *s)
{
    size_t end = e->count;

    invariant(from <= end);
    if (!s->shadow.id)
        return;
    for (size_t i = from; i < end; i++) {
        struct edit edit = e->items[i];
        struct buf key;

        buf_init(&key, e->arena, edit.key.len);
        layout_move_key(&key, &s->shadow, edit.key);
        batch_add(e, edit.type, buf_bytes(&key), edit.value);
    }
}
