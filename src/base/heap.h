/* heap.h: an array whose first item is the last of all in some order, for who keeps the first ones
 * of many: what comes in its place goes down to where it belongs, and what is added goes up. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEAP_ITEM_MAX 64 /* bytes */

/* Above 0: `a` stands behind `b`. As of qsort_r(). */
typedef int heap_order(const void *a, const void *b, void *arg);

static inline void heap_swap(uint8_t *a, uint8_t *b, size_t size)
{
    uint8_t spare[HEAP_ITEM_MAX];

    memcpy(spare, a, size);
    memcpy(a, b, size);
    memcpy(b, spare, size);
}

/* The item at `at` may stand before one of its children. */
static inline void heap_down(void *items, size_t count, size_t size, size_t at, heap_order *order,
                             void *arg)
{
    uint8_t *list = items;

    for (;;) {
        size_t last = at;

        for (size_t child = at * 2 + 1; child <= at * 2 + 2 && child < count; child++)
            if (order(list + child * size, list + last * size, arg) > 0)
                last = child;
        if (last == at)
            return;
        heap_swap(list + at * size, list + last * size, size);
        at = last;
    }
}

/* The item at `at`, the newest one, may stand behind its parent. */
static inline void heap_up(void *items, size_t size, size_t at, heap_order *order, void *arg)
{
    uint8_t *list = items;

    while (at) {
        size_t parent = (at - 1) / 2;

        if (order(list + at * size, list + parent * size, arg) <= 0)
            return;
        heap_swap(list + at * size, list + parent * size, size);
        at = parent;
    }
}

#endif
