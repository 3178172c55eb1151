#include "sql/run/heap.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

/* SQLite has one allocator for the process, and so there is one of these. */
static sqlite3_mem_methods plain; /* SQLite's own */
static atomic_llong bound, taken;
static _Thread_local int64_t own; /* of the thread; what another one frees is that one's */

static bool is_refused(int64_t more)
{
    int64_t max = atomic_load_explicit(&bound, memory_order_relaxed);

    return max && own + more > HEAP_SMALL_BYTES &&
           atomic_load_explicit(&taken, memory_order_relaxed) + more > max / 4 * 3;
}

static void count(int64_t more)
{
    own += more;
    atomic_fetch_add_explicit(&taken, more, memory_order_relaxed);
}

static void *on_malloc(int size)
{
    void *p = is_refused(size) ? NULL : plain.xMalloc(size);

    if (p)
        count(plain.xSize(p));
    return p;
}

static void on_free(void *p)
{
    if (p)
        count(-(int64_t)plain.xSize(p));
    plain.xFree(p);
}

static void *on_realloc(void *p, int size)
{
    int64_t was = plain.xSize(p);
    void *out;

    if (size > was && is_refused(size - was))
        return NULL;
    out = plain.xRealloc(p, size);
    if (out)
        count(plain.xSize(out) - was);
    return out;
}

void heap_bound(int64_t max)
{
    sqlite3_mem_methods counted;

    if (!plain.xMalloc && !sqlite3_config(SQLITE_CONFIG_GETMALLOC, &plain)) {
        counted = plain;
        counted.xMalloc = on_malloc;
        counted.xFree = on_free;
        counted.xRealloc = on_realloc;
        sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
    }
    atomic_store(&bound, max);
    sqlite3_hard_heap_limit64(max);
}

bool heap_is_short(void)
{
    sqlite3_int64 most = sqlite3_hard_heap_limit64(-1);

    return most > 0 && sqlite3_memory_used() > most / 2;
}
