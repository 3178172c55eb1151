/* column_words.h: columns as words of a command line: NAME:TYPE, and commas between them. */
#ifndef CLI_COLUMN_WORDS_H
#define CLI_COLUMN_WORDS_H

#include "base/ctx.h"
#include "widerow.h"

#define COLUMN_WORDS_MAX 256 /* defined columns */

/* Cuts off what stands in front of `mark`; `list` ptr NULL: that was the last. */
bytes words_next(bytes *list, char mark);

/* Key columns, with :desc or :auto behind the type; `key` has room for WR_KEY_COLUMNS_MAX + 1 and
 * is zeros. Views of `text`. E_PARAMETER. */
int column_words_key(struct ctx *c, const char *text, struct wr_key_schema *key, size_t *count);

/* Defined columns; room for COLUMN_WORDS_MAX + 1. `text` NULL: none. */
int column_words_defined(struct ctx *c, const char *text, struct wr_defined_column *columns,
                         size_t *count);

#endif
