/* traffic.c: what a table is asked for, whatever its partitions. */
#include "table/model/partition.h"

static void route_free(struct partition_map *route)
{
    if (route)
        partition_map_release(route);
    mem_free(route);
}

struct traffic *traffic_new(void)
{
    struct traffic *t = mem_zalloc(sizeof(*t));

    atomic_init(&t->refs, 1);
    pthread_mutex_init(&t->lock, NULL);
    pthread_rwlock_init(&t->route_lock, NULL);
    return t;
}

struct traffic *traffic_ref(struct traffic *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void traffic_release(struct traffic *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (struct partition *p = t->retired, *next; p; p = next) {
        next = p->next_folded;
        partition_release(p);
    }
    pthread_mutex_destroy(&t->lock);
    pthread_rwlock_destroy(&t->route_lock);
    route_free(t->route);
    mem_free(t);
}

void traffic_reroute(struct traffic *t, const struct partition_map *m)
{
    struct partition_map *r = mem_alloc(sizeof(*r)), *old;

    partition_map_copy(r, m);
    pthread_rwlock_wrlock(&t->route_lock);
    old = t->route;
    t->route = r;
    pthread_rwlock_unlock(&t->route_lock);
    route_free(old);
}

static void add_counts(struct partition_counts *to, const struct partition_counts *from)
{
#define X(name) to->name += from->name;
    PARTITION_COUNTERS(X)
#undef X
}

/* Has `m` this page at this bound? */
static bool has_page(const struct partition_map *m, const struct map_page *p)
{
    struct partition_at *at = partition_starting(m, p->at[0].start);

    return at == &p->at[0];
}

/* A partition that stays keeps its start. */
void partition_map_adopt(struct partition_map *m, const struct partition_map *old,
                         struct traffic *t)
{
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < old->page_count; i++) {
        struct map_page *page = old->slots[i].page;

        if (has_page(m, page))
            continue;
        for (size_t j = 0; j < page->count; j++) {
            struct partition *p = page->at[j].partition;
            struct partition_at *at = partition_starting(m, page->at[j].start);

            if (!at || at->partition->id != p->id) {
                p->next_folded = t->retired;
                p->retired = true;
                t->retired = partition_ref(p);
            } else if (at->partition != p) {
                partition_release(at->partition);
                at->partition = partition_ref(p);
            }
        }
    }
    m->only = m->count == 1 ? m->slots[0].page->at[0].partition : NULL;
    pthread_mutex_unlock(&t->lock);
}

/* Retired partitions that no request holds any more are added up and go. */
static void fold(struct traffic *t)
{
    for (struct partition **at = &t->retired; *at;) {
        struct partition *p = *at;
        struct partition_counts counts = partition_counts(p);

        if (atomic_load(&p->refs) > 1) {
            at = &p->next_folded;
            continue;
        }
        add_counts(&t->counts, &counts);
        *at = p->next_folded;
        partition_release(p);
    }
}

static void add_partition(struct partition_counts *sum, const struct partition *p)
{
    struct partition_counts counts = partition_counts(p);

    add_counts(sum, &counts);
}

struct partition_counts traffic_counts(struct traffic *t, const struct partition_map *m,
                                       uint64_t *stored)
{
    struct partition_counts sum;

    *stored = 0;
    pthread_mutex_lock(&t->lock);
    fold(t);
    sum = t->counts;
    for (const struct partition *p = t->retired; p; p = p->next_folded)
        add_partition(&sum, p);
    for (size_t i = 0; i < m->page_count; i++)
        for (size_t j = 0; j < m->slots[i].page->count; j++) {
            const struct partition *p = m->slots[i].page->at[j].partition;

            if (!p->retired) /* else it is in the sum: a split has taken it out of the map since */
                add_partition(&sum, p);
            *stored += atomic_load(&p->bytes);
        }
    pthread_mutex_unlock(&t->lock);
    return sum;
}
