/* pattern.h: wildcards: `*` is any run of characters, `?` one character. */
#ifndef SEARCH_QUERY_PATTERN_H
#define SEARCH_QUERY_PATTERN_H

#include "base/bytes.h"

/* Does the whole text match? Time grows with their lengths' product at most. */
bool pattern_matches(bytes pattern, bytes text);

/* What every text that matches begins with. */
bytes pattern_prefix(bytes pattern);

#endif
