/* width.h: how many columns of a terminal texts take, and cutting them to what there is room for.
 * Texts are UTF-8; wide characters (CJK) take two columns, combining ones none. */
#ifndef CLI_CONSOLE_WIDTH_H
#define CLI_CONSOLE_WIDTH_H

#include "base/arena.h"

#include <stdbool.h>

/* Sets the locale by which characters are measured; before all else here. */
void width_begin(void);

size_t width_of(const char *text);

/* The text, or as much of it as fits with an ellipsis behind it, in `a`. */
const char *width_cut(struct arena *a, const char *text, size_t width);

/* Makes the widest of `widths` narrower, none below `least`, until their sum is at most `room`.
 * False: there is too little room. */
bool width_share(size_t *widths, size_t count, size_t room, size_t least);

#endif
