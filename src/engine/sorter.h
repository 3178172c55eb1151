/* sorter.h: pairs of key and value that come in any order and are taken in the order of their keys,
 * within bounded memory: what does not fit goes to a file, in sorted runs, which are merged while
 * they are taken. The file has no name, so a crash leaves nothing of it, and each of its blocks has
 * a checksum.
 *
 * One thread at a time. Pairs of equal keys come out in the order in which they were put. */
#ifndef ENGINE_SORTER_H
#define ENGINE_SORTER_H

#include "engine/engine.h"

struct sorter;

#define SORTER_BLOCK_BYTES (64u << 10)
#define SORTER_BYTES_MIN (8 * SORTER_BLOCK_BYTES)
#define SORTER_BYTES_MAX (1ull << 30)

/* `path` names the file, which is made when memory is full first: nobody else uses the name, and
 * its folder is there then. `bytes_max` (from SORTER_BYTES_MIN to SORTER_BYTES_MAX) is what pairs
 * may take in memory, and later the blocks of all runs. */
struct sorter *sorter_new(const char *path, size_t bytes_max);
void sorter_free(struct sorter *s); /* NULL is allowed */

/* Copies both. E_NO_SPACE, E_UNAVAILABLE: the file cannot be written. E_UNSUPPORTED: it would come
 * to more runs than can be merged in so much memory. Give it up then. */
int sorter_put(struct ctx *c, struct sorter *s, bytes key, bytes value);

/* The next pair, valid until the next call; *ended: there is none any more. Nothing is put from the
 * first call on. E_CORRUPT: the file does not hold what was written to it. E_UNAVAILABLE. */
int sorter_take(struct ctx *c, struct sorter *s, struct kv *out, bool *ended);

/* What was put so far, of keys and values. */
uint64_t sorter_bytes(const struct sorter *s);

#endif
