/* number.h: whole numbers out of text that came from outside. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include "base/bytes.h"

/* True if `text` is a whole number in decimal that fits: digits, perhaps behind one '-', and
 * nothing else: no '+', no blank, no NUL. strtoll() takes those, and answers the nearest number it
 * has for one that is too large. *out is set only then. */
bool number_integer(bytes text, int64_t *out);

#endif
