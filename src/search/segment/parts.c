#include "search/segment/parts.h"

#include "base/buf.h"
#include "base/invariant.h"

#include <inttypes.h>
#include <pthread.h>

#define SLICE SIZE_MAX /* the number of what is no part of its own */
#define SLICE_BUCKETS 64

/* Or a slice of one. */
struct part {
    uint64_t at, len; /* in the image; len 0: there is nothing to it */
    uint8_t *data;    /* NULL: not in memory */
    uint32_t holds;
    bool loading;
    bool spare;                 /* goes first when it is dropped */
    struct part *newer, *older; /* of those in memory that nobody holds */
    struct segment *segment;
    size_t number;
    struct part *next; /* of the slices in its bucket */
};

struct parts {
    struct part_cache *cache;
    const struct search_schema *schema;
    uint8_t *head; /* what the table is a view of */
    struct segment_head read;
    struct part *slices[SLICE_BUCKETS];
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

    for (size_t i = 0; i < part_count(s->count); i++)
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

static void list_add_oldest(struct part_cache *c, struct part *p)
{
    p->newer = c->oldest;
    p->older = NULL;
    if (c->oldest)
        c->oldest->older = p;
    else
        c->newest = p;
    c->oldest = p;
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

static uint64_t cost(const struct part *p)
{
    return p->number == SLICE ? p->len + sizeof(*p) : p->len;
}

static struct part **bucket_of(const struct parts *all, uint64_t at)
{
    return (struct part **)&all->slices[(at * 0x9E3779B97F4A7C15ull) >> 58];
}

static void slice_free(struct part *p)
{
    struct part **at = bucket_of(p->segment->parts, p->at);

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    mem_free(p->data);
    mem_free(p);
}

/* What it was made of is not there any more. */
static void forget(struct part_cache *c, struct part *p)
{
    list_remove(c, p);
    c->bytes -= cost(p);
    if (p->number == SLICE) {
        slice_free(p);
        return;
    }
    segment_forget(p->segment, p->number);
    mem_free(p->data);
    p->data = NULL;
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

    if (p->number != SLICE && !segment_use(p->segment, &image, p->number, all->schema))
        return false;
    p->data = data;
    return true;
}

/* ---- opening ---- */

static enum field_part part_of_section(uint32_t section)
{
    switch (section) {
    case SECTION_TERM_ENDS:
    case SECTION_TERMS:
    case SECTION_TERM_DOCS:
    case SECTION_POST_AT:
    case SECTION_POSITION_AT:
    case SECTION_SKIP_AT:
    case SECTION_SKIPS:
    case SECTION_ORDER_VALUES:
    case SECTION_ORDER_DOCS:
        return PART_TERMS;
    case SECTION_POSTS:
    case SECTION_FREQS:
    case SECTION_POSITIONS:
        return PART_POSTS;
    case SECTION_SAMPLE_ENDS:
    case SECTION_SAMPLES:
        return PART_SAMPLES;
    default:
        return PART_VALUES;
    }
}

static size_t part_of(const uint8_t *row)
{
    uint32_t section = load_u32(row), field = load_u32(row + 4);

    if (field != IMAGE_FIELD_NONE)
        return part_of_field(field, part_of_section(section));
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

        if (load_u32(row) == SECTION_STATS) /* the head has them */
            continue;
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
    for (size_t i = 0; i < SLICE_BUCKETS; i++)
        while (s->parts->slices[i]) {
            invariant(!s->parts->slices[i]->holds);
            forget(c, s->parts->slices[i]);
        }
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
    size_t count = part_count(schema->count);
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

static bool is_posts(size_t number)
{
    return number >= PART_FIELDS && (number - PART_FIELDS) % FIELD_PARTS == PART_POSTS;
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
        if (!is_posts(i)) /* of which searches need little */
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
    make_room(cache, cost(p));
    cache->bytes += cost(p);
    pthread_mutex_unlock(&cache->lock);
    data = mem_alloc(p->len);
    rc = s->owner->read(c, s->owner, s, p->at, p->len, data);
    pthread_mutex_lock(&cache->lock);
    p->loading = false;
    if (!rc && !use(p, data))
        rc = fail(c, E_CORRUPT, "segment %" PRIu64 ": part %zu is not what its head says",
                  (uint64_t)s->id, p->number);
    if (rc) {
        cache->bytes -= cost(p);
        mem_free(data);
    }
    pthread_cond_broadcast(&cache->loaded);
    return rc;
}

/* Under the lock, also below. */
static void unhold(struct part_cache *cache, struct part *p)
{
    invariant(p->holds);
    if (--p->holds)
        return;
    if (!p->data && p->number == SLICE)
        slice_free(p);
    else if (p->data && p->spare)
        list_add_oldest(cache, p);
    else if (p->data)
        list_add(cache, p);
}

/* Who waits holds it already: so a slice stays until all who wait have seen that it can't be read.
 */
static int hold(struct ctx *c, struct part_cache *cache, struct part *p)
{
    int rc = E_OK;

    if (p->data && !p->holds)
        list_remove(cache, p);
    p->holds++;
    p->spare = false;
    while (p->loading)
        pthread_cond_wait(&cache->loaded, &cache->lock);
    if (!p->data)
        rc = load(c, cache, p);
    if (rc)
        unhold(cache, p);
    return rc;
}

static void drop(struct part_cache *cache, struct part *p)
{
    unhold(cache, p);
    make_room(cache, 0);
}

static bool wanted(const struct parts *all, const struct part_set *set, size_t i)
{
    return (set->bits[i / 64] >> i % 64 & 1) && all->list[i].len;
}

static void drop_some(struct segment *s, const struct part_set *set, size_t count)
{
    struct part_cache *cache = s->parts->cache;

    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < count; i++)
        if (wanted(s->parts, set, i))
            drop(cache, &s->parts->list[i]);
    pthread_mutex_unlock(&cache->lock);
}

int parts_hold(struct ctx *c, struct segment *s, const struct part_set *set)
{
    for (size_t i = 0; s->parts && i < s->parts->count; i++) {
        int rc;

        if (!wanted(s->parts, set, i))
            continue;
        pthread_mutex_lock(&s->parts->cache->lock);
        rc = hold(c, s->parts->cache, &s->parts->list[i]);
        pthread_mutex_unlock(&s->parts->cache->lock);
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

/* ---- one after the other ---- */

struct held_part {
    struct held_part *next;
    struct part *part;
};

static void note(struct ctx *c, struct part *p, struct held_parts *held)
{
    struct held_part *h = ARENA_NEW(&c->arena, struct held_part);

    *h = (struct held_part){held->first, p};
    held->first = h;
}

int parts_hold_one(struct ctx *c, const struct segment *s, size_t part, struct held_parts *held)
{
    struct part *p;
    int rc;

    if (!s->parts || !s->parts->list[part].len)
        return E_OK;
    p = &s->parts->list[part];
    pthread_mutex_lock(&s->parts->cache->lock);
    rc = hold(c, s->parts->cache, p);
    pthread_mutex_unlock(&s->parts->cache->lock);
    if (!rc)
        note(c, p, held);
    return rc;
}

bool parts_hold_there(struct ctx *c, const struct segment *s, size_t part, struct held_parts *held)
{
    struct part *p;
    bool there;

    if (!s->parts)
        return true;
    p = &s->parts->list[part];
    pthread_mutex_lock(&s->parts->cache->lock);
    there = p->data != NULL;
    if (there && !p->holds++) {
        list_remove(s->parts->cache, p);
        p->spare = s->parts->cache->bytes > s->parts->cache->bytes_max / 4 * 3;
    }
    pthread_mutex_unlock(&s->parts->cache->lock);
    if (there)
        note(c, p, held);
    return there;
}

/* The start of a section whose part is in memory. */
static const void *section_base(const struct segment *s, enum section section, size_t field)
{
    const struct segment_column *col = field == IMAGE_FIELD_NONE ? NULL : &s->columns[field];

    switch (section) {
    case SECTION_KEYS:
        return s->keys;
    case SECTION_KEY_ENDS:
        return s->key_ends;
    case SECTION_TERM_ENDS:
        return col->term_ends;
    case SECTION_TERMS:
        return col->terms;
    case SECTION_TERM_DOCS:
        return col->term_docs;
    case SECTION_POST_AT:
        return col->post_at;
    case SECTION_POSITION_AT:
        return col->position_at;
    case SECTION_SKIP_AT:
        return col->skip_at;
    case SECTION_SKIPS:
        return col->skips;
    case SECTION_ORDER_VALUES:
        return col->order_values;
    case SECTION_ORDER_DOCS:
        return col->order_docs;
    case SECTION_POSTS:
        return col->posts;
    case SECTION_FREQS:
        return col->freqs;
    default:
        invariant(section == SECTION_POSITIONS);
        return col->positions;
    }
}

/* Where a section begins in the image, and its length. */
static bool find_section(const struct parts *all, enum section section, size_t field, uint64_t *at,
                         uint64_t *len)
{
    for (uint32_t i = 0; i < all->read.sections; i++) {
        const uint8_t *row = all->read.table + (size_t)i * IMAGE_ROW;

        if (load_u32(row) != (uint32_t)section || load_u32(row + 4) != (uint32_t)field)
            continue;
        *at = load_u64(row + 8);
        *len = load_u64(row + 16);
        return true;
    }
    return false;
}

bool parts_has(const struct segment *s, size_t part)
{
    return s->parts->list[part].len != 0;
}

uint64_t parts_section_bytes(const struct segment *s, enum section section, size_t field)
{
    uint64_t at, len;

    return find_section(s->parts, section, field, &at, &len) ? len : 0;
}

/* Under the lock. */
static struct part *slice_of(const struct segment *s, uint64_t at, uint64_t len)
{
    struct part **bucket = bucket_of(s->parts, at), *p = *bucket;

    while (p && !(p->at == at && p->len == len))
        p = p->next;
    if (!p) {
        p = mem_zalloc(sizeof(*p));
        p->at = at;
        p->len = len;
        p->segment = s->parts->list[0].segment;
        p->number = SLICE;
        p->next = *bucket;
        *bucket = p;
    }
    return p;
}

int parts_slice(struct ctx *c, const struct segment *s, enum section section, size_t field,
                uint64_t at, uint64_t to, struct held_parts *held, const void **out)
{
    static const uint64_t nothing;
    struct part_cache *cache;
    struct part *whole, *p;
    uint64_t start, len;
    int rc;

    if (!s->parts) {
        *out = (const uint8_t *)section_base(s, section, field) + at;
        return E_OK;
    }
    if (!find_section(s->parts, section, field, &start, &len))
        return fail(c, E_CORRUPT, "segment %" PRIu64 ": it has no section %d of field %zu",
                    (uint64_t)s->id, (int)section, field);
    to = to == UINT64_MAX ? len : to;
    if (at > to || to > len)
        return fail(c, E_CORRUPT, "segment %" PRIu64 ": section %d of field %zu is too short",
                    (uint64_t)s->id, (int)section, field);
    *out = &nothing;
    if (at == to)
        return E_OK;
    cache = s->parts->cache;
    whole =
        &s->parts->list[field == IMAGE_FIELD_NONE ? PART_KEYS
                                                  : part_of_field(field, part_of_section(section))];
    pthread_mutex_lock(&cache->lock);
    p = whole->data ? whole : slice_of(s, start + at, to - at);
    rc = hold(c, cache, p);
    pthread_mutex_unlock(&cache->lock);
    if (rc)
        return rc;
    note(c, p, held);
    *out = p == whole ? (const uint8_t *)section_base(s, section, field) + at : p->data;
    return E_OK;
}

void held_drop(const struct segment *s, struct held_parts *held)
{
    struct part_cache *cache;

    if (!held->first)
        return;
    cache = s->parts->cache;
    pthread_mutex_lock(&cache->lock);
    for (const struct held_part *h = held->first; h; h = h->next)
        drop(cache, h->part);
    pthread_mutex_unlock(&cache->lock);
    held->first = NULL;
}
