#include "search/field/token.h"
#include "search/field/character.h"

void token_put(struct token *t, int32_t c)
{
    uint8_t encoded[CHARACTER_BYTES_MAX];
    size_t n = character_put(encoded, c);

    if (t->too_long || n > sizeof(t->text) - t->len) {
        t->too_long = true;
        return;
    }
    memcpy(t->text + t->len, encoded, n);
    t->len += n;
}
