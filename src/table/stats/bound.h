/* bound.h: keys that are named by small numbers and shared by all that mention them: the bounds of
 * key ranges in a heat map, of which most stand in many of its steps.
 *
 * Not for threads: the owner locks. */
#ifndef TABLE_STATS_BOUND_H
#define TABLE_STATS_BOUND_H

#include "base/bytes.h"

#define BOUND_MIN 0u         /* the empty key, below every other one; always there */
#define BOUND_MAX UINT32_MAX /* behind every key; no bytes */

struct bound;

struct bounds {
    struct bound **items; /* by number; NULL where one was given back */
    uint32_t count, capacity;
    uint32_t *idle; /* numbers to give out again */
    uint32_t idle_count, idle_capacity;
    size_t bytes; /* of memory */
};

void bounds_init(struct bounds *b);
void bounds_release(struct bounds *b);

/* A number for a copy of `key`, with one reference. Two calls give two numbers, also for one key.
 */
uint32_t bounds_add(struct bounds *b, bytes key);
uint32_t bounds_ref(struct bounds *b, uint32_t id);
void bounds_unref(struct bounds *b, uint32_t id);

/* Valid until the last reference goes. BOUND_MAX has no bytes. */
bytes bounds_key(const struct bounds *b, uint32_t id);

/* True if most numbers are idle, so that bounds_compact() would give memory back. */
bool bounds_sparse(const struct bounds *b);

/* Gives all bounds new numbers, without gaps: map[old] is the new one. The map is the caller's to
 * free. */
uint32_t *bounds_compact(struct bounds *b);

/* As their keys sort. */
int bounds_compare(const struct bounds *b, uint32_t x, uint32_t y);

#endif
