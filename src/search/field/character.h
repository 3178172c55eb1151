/* character.h: what a character is to a text's analysis. */
#ifndef SEARCH_FIELD_CHARACTER_H
#define SEARCH_FIELD_CHARACTER_H

#include "base/bytes.h"

enum character_class {
    CHARACTER_SEPARATOR,
    CHARACTER_LETTER,
    CHARACTER_DIGIT,
    CHARACTER_MARK,      /* goes with the letter or digit before it; alone it separates */
    CHARACTER_IDEOGRAPH, /* a word of its own: Chinese characters and hiragana */
};

enum character_class character_class(int32_t c);

/* Unicode's simple mapping. */
int32_t character_lower(int32_t c);

/* The character at *at, which moves behind it; U+FFFD for what is no UTF-8. *at < text.len. */
int32_t character_next(bytes text, size_t *at);

#define CHARACTER_BYTES_MAX 4

/* Returns how many bytes it takes. */
size_t character_put(uint8_t out[CHARACTER_BYTES_MAX], int32_t c);

#endif
