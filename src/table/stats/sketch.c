/* sketch.c: entries stand in an array; `heap` orders them by count, smallest first, and `slots`
 * finds them by hash (open addressing, linear probing, at most half full). */
#include "table/stats/sketch.h"

#include "base/invariant.h"
#include <stdlib.h>

#define NO_SLOT 0 /* in slots; else the entry's index plus 1 */

struct sketch {
    size_t capacity, count, room; /* counters allowed, in use, allocated */
    uint64_t total;
    struct sketch_entry *entries;
    uint16_t *heap;     /* entries, a heap by count */
    uint16_t *position; /* of each entry in the heap */
    uint16_t *slots;
    size_t slot_count; /* a power of two, at least 2 * room */
};

static size_t sketch_slot_of(const struct sketch *s, uint64_t hash)
{
    return (size_t)(hash * 0x9E3779B97F4A7C15ull >> 20) & (s->slot_count - 1);
}

static void slot_put(struct sketch *s, size_t entry)
{
    size_t at = sketch_slot_of(s, s->entries[entry].hash);

    while (s->slots[at] != NO_SLOT)
        at = (at + 1) & (s->slot_count - 1);
    s->slots[at] = (uint16_t)(entry + 1);
}

static size_t slot_find(const struct sketch *s, uint64_t hash)
{
    size_t at = sketch_slot_of(s, hash);

    while (s->slots[at] != NO_SLOT && s->entries[s->slots[at] - 1].hash != hash)
        at = (at + 1) & (s->slot_count - 1);
    return at;
}

/* Takes the slot out and moves up those behind it that would not be found any more. */
static void slot_remove(struct sketch *s, size_t at)
{
    size_t mask = s->slot_count - 1, next = at;

    for (;;) {
        size_t home;

        next = (next + 1) & mask;
        if (s->slots[next] == NO_SLOT)
            break;
        home = sketch_slot_of(s, s->entries[s->slots[next] - 1].hash);
        if (((next - home) & mask) >= ((next - at) & mask)) {
            s->slots[at] = s->slots[next];
            at = next;
        }
    }
    s->slots[at] = NO_SLOT;
}

static void sketch_grow(struct sketch *s)
{
    size_t room = s->room ? s->room * 2 : 8;

    if (room > s->capacity)
        room = s->capacity;
    s->entries = mem_realloc(s->entries, room * sizeof(*s->entries));
    s->heap = mem_realloc(s->heap, room * sizeof(*s->heap));
    s->position = mem_realloc(s->position, room * sizeof(*s->position));
    mem_free(s->slots);
    for (s->slot_count = 16; s->slot_count < 2 * room;)
        s->slot_count *= 2;
    s->slots = mem_zalloc(s->slot_count * sizeof(*s->slots));
    s->room = room;
    invariant(s->count <= room && 2 * room <= s->slot_count);
    for (size_t i = 0; i < s->count; i++)
        slot_put(s, i);
}

struct sketch *sketch_new(size_t capacity)
{
    struct sketch *s = mem_zalloc(sizeof(*s));

    s->capacity = capacity < 1 ? 1 : capacity > 4096 ? 4096 : capacity;
    sketch_grow(s);
    return s;
}

void sketch_free(struct sketch *s)
{
    if (!s)
        return;
    mem_free(s->entries);
    mem_free(s->heap);
    mem_free(s->position);
    mem_free(s->slots);
    mem_free(s);
}

size_t sketch_bytes(const struct sketch *s)
{
    return s ? sizeof(*s) +
                   s->room * (sizeof(*s->entries) + sizeof(*s->heap) + sizeof(*s->position)) +
                   s->slot_count * sizeof(*s->slots)
             : 0;
}

uint64_t sketch_total(const struct sketch *s)
{
    return s ? s->total : 0;
}

/* ---- the heap ---- */

static void heap_set(struct sketch *s, size_t at, uint16_t entry)
{
    assert(at < s->count && entry < s->count);
    s->heap[at] = entry;
    s->position[entry] = (uint16_t)at;
}

/* A count has grown: it sinks. */
static void heap_down(struct sketch *s, size_t at)
{
    uint16_t entry = s->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < s->count &&
            s->entries[s->heap[child + 1]].count < s->entries[s->heap[child]].count)
            child++;
        if (child >= s->count || s->entries[s->heap[child]].count >= s->entries[entry].count)
            break;
        heap_set(s, at, s->heap[child]);
        at = child;
    }
    heap_set(s, at, entry);
}

static void heap_up(struct sketch *s, size_t at)
{
    uint16_t entry = s->heap[at];

    while (at && s->entries[s->heap[(at - 1) / 2]].count > s->entries[entry].count) {
        heap_set(s, at, s->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(s, at, entry);
}

/* ---- counting ---- */

static void set_key(struct sketch_entry *e, uint64_t hash, bytes key)
{
    e->hash = hash;
    e->key_len = (uint8_t)(key.len < SKETCH_KEY_BYTES ? key.len : SKETCH_KEY_BYTES);
    memcpy(e->key, key.ptr, e->key_len);
    memset(e->figures, 0, sizeof(e->figures));
}

/* The entry of a key that is not there yet: a new one, or that of the rarest key, whose count it
 * takes over: so much the key may have occurred before without being seen. */
static size_t take_entry(struct sketch *s, uint64_t hash, bytes key)
{
    size_t entry;

    invariant(s->count <= s->room && s->room <= s->capacity);
    if (s->count < s->capacity) {
        if (s->count == s->room)
            sketch_grow(s);
        entry = s->count++;
        s->entries[entry] = (struct sketch_entry){.count = 0};
        set_key(&s->entries[entry], hash, key);
        heap_set(s, entry, (uint16_t)entry);
        heap_up(s, entry);
    } else {
        entry = s->heap[0];
        slot_remove(s, slot_find(s, s->entries[entry].hash));
        s->entries[entry].error = s->entries[entry].count;
        set_key(&s->entries[entry], hash, key);
    }
    slot_put(s, entry);
    return entry;
}

void sketch_add(struct sketch *s, uint64_t hash, bytes key, uint64_t weight,
                const uint64_t figures[SKETCH_FIGURES])
{
    uint16_t slot = s->slots[slot_find(s, hash)];
    size_t entry = slot != NO_SLOT ? (size_t)slot - 1 : take_entry(s, hash, key);

    invariant(s->heap[s->position[entry]] == entry);
    s->total += weight;
    s->entries[entry].count += weight;
    for (size_t i = 0; i < SKETCH_FIGURES; i++)
        s->entries[entry].figures[i] += figures[i];
    heap_down(s, s->position[entry]);
}

/* ---- several together ---- */

struct sketch *sketch_of(const struct sketch_entry *entries, size_t n, bool whole)
{
    struct sketch *s = sketch_new(n + whole);

    for (size_t i = 0; i < n && i < s->capacity; i++) {
        size_t at = take_entry(s, entries[i].hash, bytes_of(entries[i].key, entries[i].key_len));

        s->entries[at] = entries[i];
        s->total += entries[i].count;
        heap_down(s, s->position[at]);
    }
    return s;
}

bool sketch_is_whole(const struct sketch *s)
{
    return !s || s->count < s->capacity;
}

static const struct sketch_entry *sketch_find(const struct sketch *s, uint64_t hash)
{
    uint16_t slot = s->slots[slot_find(s, hash)];

    return slot != NO_SLOT ? &s->entries[slot - 1] : NULL;
}

/* What a key that is not in the sketch may have been counted at most. */
static uint64_t unseen(const struct sketch *s)
{
    return s->count == s->capacity ? s->entries[s->heap[0]].count : 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct sketch_entry *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : (x->hash > y->hash) - (x->hash < y->hash);
}

/* Adds what the other sketches know of the entry; false if one before `own` has it and so has given
 * it already. */
static bool add_others(struct sketch_entry *e, struct sketch *const *sketches, size_t count,
                       size_t own)
{
    for (size_t i = 0; i < count; i++) {
        const struct sketch_entry *other;

        if (i == own || !sketches[i])
            continue;
        other = sketch_find(sketches[i], e->hash);
        if (other && i < own)
            return false;
        e->count += other ? other->count : unseen(sketches[i]);
        e->error += other ? other->error : unseen(sketches[i]);
        for (size_t k = 0; other && k < SKETCH_FIGURES; k++)
            e->figures[k] += other->figures[k];
    }
    return true;
}

size_t sketch_top(struct sketch *const *sketches, size_t count, struct arena *a, size_t max,
                  struct sketch_entry **out)
{
    size_t room = 0, n = 0;

    for (size_t i = 0; i < count; i++)
        room += sketches[i] ? sketches[i]->count : 0;
    *out = ARENA_ARRAY(a, struct sketch_entry, room + 1);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; sketches[i] && k < sketches[i]->count; k++) {
            (*out)[n] = sketches[i]->entries[k];
            n += add_others(&(*out)[n], sketches, count, i);
        }
    qsort(*out, n, sizeof(**out), compare_entries);
    return n < max ? n : max;
}
