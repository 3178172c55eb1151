/* token.h: a token in the making. */
#ifndef SEARCH_FIELD_TOKEN_H
#define SEARCH_FIELD_TOKEN_H

#include "base/bytes.h"

#define TOKEN_MAX 32766 /* bytes */

struct token {
    size_t len;
    bool too_long; /* it has no text any more */
    uint8_t text[TOKEN_MAX];
};

static inline void token_begin(struct token *t)
{
    t->len = 0;
    t->too_long = false;
}

void token_put(struct token *t, int32_t c);

#endif
