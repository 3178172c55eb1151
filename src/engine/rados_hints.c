#include "engine/rados_hints.h"

#include <pthread.h>

#define CHAINS 256

struct hint_list {
    partition_id id;
    struct hint_list *next;          /* in the chain */
    struct hint_list *newer, *older; /* by use */
    bytes *keys;                     /* ascending; each owned */
    size_t count, bytes;
};

struct rados_hints {
    pthread_mutex_t lock;
    struct hint_list *chains[CHAINS];
    struct hint_list *newest, *oldest;
    size_t bytes, bytes_max;
};

struct rados_hints *rados_hints_new(size_t bytes_max)
{
    struct rados_hints *h = mem_zalloc(sizeof(*h));

    pthread_mutex_init(&h->lock, NULL);
    h->bytes_max = bytes_max;
    return h;
}

static struct hint_list **slot(struct rados_hints *h, partition_id id)
{
    struct hint_list **at = &h->chains[(id ^ id >> 8) % CHAINS];

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

static void use_unlink(struct rados_hints *h, struct hint_list *l)
{
    *(l->newer ? &l->newer->older : &h->newest) = l->older;
    *(l->older ? &l->older->newer : &h->oldest) = l->newer;
}

static void use_link(struct rados_hints *h, struct hint_list *l)
{
    l->newer = NULL;
    l->older = h->newest;
    *(h->newest ? &h->newest->newer : &h->oldest) = l;
    h->newest = l;
}

static void list_free(struct rados_hints *h, struct hint_list *l)
{
    *slot(h, l->id) = l->next;
    use_unlink(h, l);
    h->bytes -= l->bytes;
    for (size_t i = 0; i < l->count; i++)
        mem_free((void *)l->keys[i].ptr);
    mem_free(l->keys);
    mem_free(l);
}

void rados_hints_free(struct rados_hints *h)
{
    if (!h)
        return;
    while (h->newest)
        list_free(h, h->newest);
    pthread_mutex_destroy(&h->lock);
    mem_free(h);
}

/* The index of the first key at or above `key`. */
static size_t find(const struct hint_list *l, bytes key)
{
    size_t low = 0, high = l->count;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (bytes_compare(l->keys[mid], key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bytes rados_hints_before(struct rados_hints *h, struct arena *a, partition_id id, bytes floor,
                         bytes stop, size_t want)
{
    size_t steps = want / HINT_STEP + 2, at;
    struct hint_list *l;
    bytes hint = floor;

    pthread_mutex_lock(&h->lock);
    l = *slot(h, id);
    if (l) {
        use_unlink(h, l);
        use_link(h, l);
        at = stop.len ? find(l, stop) : l->count;
        if (at >= steps && bytes_compare(l->keys[at - steps], floor) > 0) {
            bytes key = l->keys[at - steps];
            uint8_t *copy = arena_alloc(a, key.len + 1);

            memcpy(copy, key.ptr, key.len);
            copy[key.len] = 0;
            hint = bytes_of(copy, key.len);
        }
    }
    pthread_mutex_unlock(&h->lock);
    return hint;
}

static bytes key_copy(bytes key)
{
    uint8_t *copy = mem_alloc(key.len);

    memcpy(copy, key.ptr, key.len);
    return bytes_of(copy, key.len);
}

void rados_hints_replace(struct rados_hints *h, partition_id id, bytes after, bytes stop,
                         const bytes *keys, size_t count)
{
    struct hint_list **at, *l;
    size_t from, to, total = 0;
    bytes *merged;

    pthread_mutex_lock(&h->lock);
    at = slot(h, id);
    if (!*at) {
        *at = mem_zalloc(sizeof(**at));
        (*at)->id = id;
        use_link(h, *at);
    }
    l = *at;
    from = find(l, after);
    to = stop.len ? find(l, stop) : l->count;
    merged = mem_alloc(sizeof(*merged) * (l->count - (to - from) + count + 1));
    for (size_t i = 0; i < from; i++)
        merged[i] = l->keys[i];
    for (size_t i = 0; i < count; i++)
        merged[from + i] = key_copy(keys[i]);
    for (size_t i = to; i < l->count; i++)
        merged[from + count + i - to] = l->keys[i];
    for (size_t i = from; i < to; i++)
        mem_free((void *)l->keys[i].ptr);
    mem_free(l->keys);
    l->keys = merged;
    l->count = l->count - (to - from) + count;
    for (size_t i = 0; i < l->count; i++)
        total += l->keys[i].len + sizeof(bytes) + 16;
    h->bytes += total - l->bytes;
    l->bytes = total;
    while (h->bytes > h->bytes_max && h->oldest != h->newest)
        list_free(h, h->oldest);
    pthread_mutex_unlock(&h->lock);
}

void rados_hints_forget(struct rados_hints *h, partition_id id)
{
    struct hint_list *l;

    pthread_mutex_lock(&h->lock);
    l = *slot(h, id);
    if (l)
        list_free(h, l);
    pthread_mutex_unlock(&h->lock);
}
