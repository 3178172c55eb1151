/* json_text.h: whether a text is JSON, as a column of that type must have it. */
#ifndef SQL_RUN_JSON_TEXT_H
#define SQL_RUN_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* One value of RFC 8259, nested at most 1000 deep, and nothing else. False: `at` is the offset, in
 * bytes, of what is wrong, the text's length where something is missing. UTF-8 is not looked at. */
bool json_text_valid(bytes text, size_t *at);

#endif
