/* sketch.h: which keys occur most often, in memory that does not grow with the number of keys: the
 * space-saving sketch (Metwally, Agrawal, El Abbadi 2005).
 *
 * With K counters and N counted in all, a key's count is too high by at most its `error`, which is
 * at most N / K, and never too low; every key that occurs more than N / K times is there.
 *
 * A key is told by its hash; its bytes are only kept to be shown, and may have been cut. Not for
 * threads: the owner locks. */
#ifndef TABLE_STATS_SKETCH_H
#define TABLE_STATS_SKETCH_H

#include "base/arena.h"

#define SKETCH_KEY_BYTES 72 /* of a key that are kept */
#define SKETCH_FIGURES 5

struct sketch_entry {
    uint64_t hash;
    uint64_t count;                   /* at least the true one */
    uint64_t error;                   /* `count` is too high by at most this */
    uint64_t figures[SKETCH_FIGURES]; /* since the key came in: lower bounds */
    uint8_t key_len;
    uint8_t key[SKETCH_KEY_BYTES];
};

struct sketch;

/* `capacity` counters, 1 to 4096. They are allocated as they are needed. */
struct sketch *sketch_new(size_t capacity);
void sketch_free(struct sketch *s);          /* NULL is allowed */
size_t sketch_bytes(const struct sketch *s); /* of memory */

/* One with these entries, each another key, as another process has given them; `whole`: there are
 * no others. */
struct sketch *sketch_of(const struct sketch_entry *entries, size_t n, bool whole);
/* Does it hold every key that was ever counted? NULL does. */
bool sketch_is_whole(const struct sketch *s);

/* Counts `weight` occurrences of a key. */
void sketch_add(struct sketch *s, uint64_t hash, bytes key, uint64_t weight,
                const uint64_t figures[SKETCH_FIGURES]);

/* All that was counted. */
uint64_t sketch_total(const struct sketch *s);

/* The `max` most frequent keys of several sketches taken together (NULL ones are empty), most
 * frequent first, in the arena. The errors of a merged entry add up. Returns how many. */
size_t sketch_top(struct sketch *const *sketches, size_t count, struct arena *a, size_t max,
                  struct sketch_entry **out);

#endif
