/* warm_list.h: the keys that were read last, some of them, so that after a restart their blocks can
 * be read before they are asked for. A ring of bounded size, and its file.
 *
 * The file is worth little: one that is missing, damaged, or of another version is as good as none.
 * doc/format.md has its bytes.
 *
 * Threads: adding, counting and getting from any; saving and loading from one at a time. */
#ifndef ENGINE_WARM_LIST_H
#define ENGINE_WARM_LIST_H

#include "base/ctx.h"

#define WARM_KEY_BYTES 95 /* longer ones are left out */

struct warm_list;

/* For so many keys, WARM_KEY_BYTES + 1 bytes each. */
struct warm_list *warm_list_new(size_t capacity);
void warm_list_free(struct warm_list *l); /* NULL is allowed */

/* Adds a key, in place of the oldest if the ring is full. Any thread; never waits: while another
 * thread is at the list, the key is left out. */
void warm_list_add(struct warm_list *l, bytes key);

bool warm_list_is_full(const struct warm_list *l);
size_t warm_list_count(struct warm_list *l);

/* The key that was added as the `back`-th before the newest (0: the newest) into `out`, which has
 * WARM_KEY_BYTES. Its length; 0: there are not so many. */
size_t warm_list_get(struct warm_list *l, size_t back, uint8_t *out);

/* Writes the list in place of the file, by way of `path`.tmp, and syncs it. E_NO_SPACE or
 * E_UNAVAILABLE: it may be the old one still. */
int warm_list_save(struct ctx *c, struct warm_list *l, const char *path);

/* Adds what the file has, as far as it is whole, as if in the order in which it was added once. */
void warm_list_load(struct ctx *c, struct warm_list *l, const char *path);

#endif
