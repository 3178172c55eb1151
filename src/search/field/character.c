#include "search/field/character.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#define JOINER_FIRST 0x200c /* ZWNJ and ZWJ: within a word they are part of it */
#define JOINER_LAST 0x200d
#define HIRAGANA_FIRST 0x3041
#define HIRAGANA_LAST 0x309f
#define ITERATION_MARK 0x3005 /* repeats the Chinese character before it */

static bool is_ideograph(int32_t c)
{
    if (c >= 0x4e00 && c <= 0x9fff)
        return true;
    return c >= ITERATION_MARK && u_isalpha(c) &&
           (c == ITERATION_MARK || (c >= HIRAGANA_FIRST && c <= HIRAGANA_LAST) ||
            u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC));
}

enum character_class character_class(int32_t c)
{
    uint32_t type;

    if (c < 0x80) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            return CHARACTER_LETTER;
        return c >= '0' && c <= '9' ? CHARACTER_DIGIT : CHARACTER_SEPARATOR;
    }
    if (is_ideograph(c))
        return CHARACTER_IDEOGRAPH;
    type = U_MASK(u_charType(c));
    if (type & (U_GC_L_MASK | U_GC_NL_MASK))
        return CHARACTER_LETTER;
    if (type & U_GC_ND_MASK)
        return CHARACTER_DIGIT;
    if (type & U_GC_M_MASK || (c >= JOINER_FIRST && c <= JOINER_LAST))
        return CHARACTER_MARK;
    return CHARACTER_SEPARATOR;
}

int32_t character_lower(int32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
    return u_tolower(c);
}

int32_t character_next(bytes text, size_t *at)
{
    const uint8_t *s = text.ptr;
    size_t i = *at;
    UChar32 c;

    U8_NEXT_OR_FFFD(s, i, text.len, c);
    *at = i;
    return c;
}

size_t character_put(uint8_t out[CHARACTER_BYTES_MAX], int32_t c)
{
    size_t i = 0;

    U8_APPEND_UNSAFE(out, i, c);
    return i;
}
