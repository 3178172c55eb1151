#include "search/segment/parts.h"

#include "base/buf.h"
#include "base/invariant.h"

#include <inttypes.h>
#include <pthread.h>

struct part {
    uint64_t at, len; /* in the image; len 0: there is nothing to it */
    uint8_t *data;    /* NULL: not in memory */
    uint32_t holds;
    bool loading;
    struct part *newer, *older; /* of those in memory that nobody holds */
    struct segment *segment;
    size_t number;
};

struct parts {
    struct part_cache *cache;
    const struct search_schema *schema;
    uint8_t *head; /* what the table is a view of */
    struct segment_head read;
    size_t count;
    struct part list[];
};

struct part_cache {
    pthread_mutex_t lock;
    pthread_cond_t loaded;
    uint64_t bytes_max, bytes;
    struct part *newest, *oldest; /* that nobody holds */
};

struct part_set part_set_all(const struct search_schema *s)
{
    struct part_set set = {0};

    for (size_t i = 0; i < s->count + PART_FIELDS; i++)
        part_set_add(&set, i);
    return set;
}

struct part_cache *part_cache_new(uint64_t bytes_max)
{
    struct part_cache *p = mem_zalloc(sizeof(*p));

    p->bytes_max = bytes_max;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->loaded, NULL);
    return p;
}

void part_cache_free(struct part_cache *p)
{
    if (!p)
        return;
    invariant(!p->bytes);
    pthread_cond_destroy(&p->loaded);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

uint64_t part_cache_bytes(struct part_cache *p)
{
    uint64_t n;

    pthread_mutex_lock(&p->lock);
    n = p->bytes;
    pthread_mutex_unlock(&p->lock);
    return n;
}

/* ---- under the lock ---- */

static void list_add(struct part_cache *c, struct part *p)
{
    p->older = c->newest;
    p->newer = NULL;
    if (c->newest)
        c->newest->newer = p;
    else
        c->oldest = p;
    c->newest = p;
}

static void list_remove(struct part_cache *c, struct part *p)
{
    if (p->newer)
        p->newer->older = p->older;
    else
        c->newest = p->older;
    if (p->older)
        p->older->newer = p->newer;
    else
        c->oldest = p->newer;
}

/* What it was made of is not there any more. */
static void forget(struct part_cache *c, struct part *p)
{
    list_remove(c, p);
    segment_forget(p->segment, p->number);
    mem_free(p->data);
    p->data = NULL;
    c->bytes -= p->len;
}

static void make_room(struct part_cache *c, uint64_t len)
{
    while (c->oldest && c->bytes + len > c->bytes_max)
        forget(c, c->oldest);
}

/* Takes the bytes over; false: they are not what the head says. */
static bool use(struct part *p, uint8_t *data)
{
    struct parts *all = p->segment->parts;
    struct image image = {.data = data,
                          .len = all->read.len,
                          .from = p->at,
                          .to = p->at + p->len,
                          .documents = all->read.documents,
                          .count = all->read.sections,
                          .table = all->read.table};

    if (!segment_use(p->segment, &image, p->number, all->schema))
        return false;
    p->data = data;
    return true;
}

/* ---- opening ---- */

static size_t part_of(const uint8_t *row)
{
    uint32_t section = load_u32(row), field = load_u32(row + 4);

    if (field != IMAGE_FIELD_NONE)
        return PART_FIELDS + field;
    return section == SECTION_STAMPS ? PART_STAMPS : PART_KEYS;
}

/* Where each part is in the image; false: the table is damaged. */
static bool find_parts(struct parts *all)
{
    for (uint32_t i = 0; i < all->read.sections; i++) {
        const uint8_t *row = all->read.table + (size_t)i * IMAGE_ROW;
        uint64_t at = load_u64(row + 8), len = load_u64(row + 16);
        size_t number = part_of(row);
        struct part *p;

        if (number >= all->count || at > all->read.len || len > all->read.len - at || (at & 7))
            return false;
        p = &all->list[number];
        if (!p->len) {
            p->at = at;
            p->len = len ? len : 1;
            continue;
        }
        p->len =
            (at + len > p->at + p->len ? at + len : p->at + p->len) - (at < p->at ? at : p->at);
        p->at = at < p->at ? at : p->at;
    }
    return true;
}

static void parts_free(struct segment *s)
{
    struct part_cache *c = s->parts->cache;

    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < s->parts->count; i++) {
        invariant(!s->parts->list[i].holds && !s->parts->list[i].loading);
        if (s->parts->list[i].data)
            forget(c, &s->parts->list[i]);
    }
    pthread_mutex_unlock(&c->lock);
    mem_free(s->parts->head);
    mem_free(s->parts);
}

struct segment *segment_open_stored(bytes head, const struct search_schema *schema, uint64_t number,
                                    struct segment_owner *owner, struct part_cache *cache)
{
    size_t count = schema->count + PART_FIELDS;
    struct parts *all = mem_zalloc(sizeof(*all) + count * sizeof(all->list[0]));
    struct segment *s;

    all->cache = cache;
    all->schema = schema;
    all->count = count;
    all->head = memcpy(mem_alloc(head.len + 1), head.ptr, head.len);
    if (!segment_head_read(bytes_of(all->head, head.len), &all->read) ||
        all->read.fields != schema->count || !find_parts(all)) {
        mem_free(all->head);
        mem_free(all);
        return NULL;
    }
    s = mem_zalloc(sizeof(*s) + schema->count * sizeof(s->columns[0]));
    s->refs = 1;
    s->id = number;
    s->owner = owner;
    s->parts = all;
    s->close = parts_free;
    s->len = all->read.len;
    s->documents = all->read.documents;
    s->first = all->read.first;
    s->last = all->read.last;
    s->field_count = schema->count;
    for (size_t f = 0; f < schema->count; f++)
        memcpy(&s->columns[f].stats, all->read.stats + f * sizeof(struct segment_stats),
               sizeof(struct segment_stats));
    for (size_t i = 0; i < count; i++) {
        all->list[i].segment = s;
        all->list[i].number = i;
    }
    return s;
}

void parts_fill(struct segment *s, const uint8_t *image)
{
    struct part_cache *c = s->parts->cache;

    for (size_t i = 0; i < s->parts->count; i++) {
        struct part *p = &s->parts->list[i];
        uint8_t *data;

        if (!p->len)
            continue;
        data = memcpy(mem_alloc(p->len), image + p->at, p->len);
        pthread_mutex_lock(&c->lock);
        make_room(c, p->len);
        if (c->bytes + p->len <= c->bytes_max && !p->data && !p->loading && use(p, data)) {
            c->bytes += p->len;
            list_add(c, p);
            data = NULL;
        }
        pthread_mutex_unlock(&c->lock);
        mem_free(data);
    }
}

/* ---- holding ---- */

/* Under the lock, which is released while storage is read. */
static int load(struct ctx *c, struct part_cache *cache, struct part *p)
{
    struct segment *s = p->segment;
    uint8_t *data;
    int rc;

    p->loading = true;
    make_room(cache, p->len);
    cache->bytes += p->len;
    pthread_mutex_unlock(&cache->lock);
    data = mem_alloc(p->len);
    rc = s->owner->read(c, s->owner, s, p->at, p->len, data);
    pthread_mutex_lock(&cache->lock);
    p->loading = false;
    if (!rc && !use(p, data))
        rc = fail(c, E_CORRUPT, "segment %" PRIu64 ": part %zu is not what its head says",
                  (uint64_t)s->id, p->number);
    if (rc) {
        cache->bytes -= p->len;
        mem_free(data);
    }
    pthread_cond_broadcast(&cache->loaded);
    return rc;
}

static int hold(struct ctx *c, struct part_cache *cache, struct part *p)
{
    int rc = E_OK;

    pthread_mutex_lock(&cache->lock);
    while (p->loading)
        pthread_cond_wait(&cache->loaded, &cache->lock);
    if (!p->data)
        rc = load(c, cache, p);
    else if (!p->holds)
        list_remove(cache, p);
    if (!rc)
        p->holds++;
    pthread_mutex_unlock(&cache->lock);
    return rc;
}

static void drop(struct part_cache *cache, struct part *p)
{
    pthread_mutex_lock(&cache->lock);
    invariant(p->holds);
    if (!--p->holds)
        list_add(cache, p);
    make_room(cache, 0);
    pthread_mutex_unlock(&cache->lock);
}

static bool wanted(const struct parts *all, const struct part_set *set, size_t i)
{
    return (set->bits[i / 64] >> i % 64 & 1) && all->list[i].len;
}

static void drop_some(struct segment *s, const struct part_set *set, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wanted(s->parts, set, i))
            drop(s->parts->cache, &s->parts->list[i]);
}

int parts_hold(struct ctx *c, struct segment *s, const struct part_set *set)
{
    for (size_t i = 0; s->parts && i < s->parts->count; i++) {
        int rc;

        if (!wanted(s->parts, set, i))
            continue;
        rc = hold(c, s->parts->cache, &s->parts->list[i]);
        if (rc) {
            drop_some(s, set, i);
            return rc;
        }
    }
    return E_OK;
}

void parts_drop(struct segment *s, const struct part_set *set)
{
    if (s->parts)
        drop_some(s, set, s->parts->count);
}
