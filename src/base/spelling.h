/* spelling.h: which of the names that there are was most likely meant by one that there is not. */
#ifndef BASE_SPELLING_H
#define BASE_SPELLING_H

#include <stddef.h>

struct spelling {
    const char *text;
    const char *nearest; /* of the names offered so far; NULL: none is near */
    size_t distance;     /* a name must be nearer than this */
};

/* `text` is what was written; it and the names are not copied. */
void spelling_init(struct spelling *s, const char *text);

/* Of names that are equally near the first is kept. Very long ones are far from everything. */
void spelling_offer(struct spelling *s, const char *name);

#endif
