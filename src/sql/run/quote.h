/* quote.h: names and texts of SQL in quotes. */
#ifndef SQL_RUN_QUOTE_H
#define SQL_RUN_QUOTE_H

#include "base/buf.h"

/* Appends the text between two of these quotes; a quote in it stands twice. */
static inline void quote_put(struct buf *b, bytes text, char quote)
{
    buf_put_u8(b, (uint8_t)quote);
    for (size_t i = 0; i < text.len; i++) {
        if (bytes_u8(text)[i] == (uint8_t)quote)
            buf_put_u8(b, (uint8_t)quote);
        buf_put_u8(b, bytes_u8(text)[i]);
    }
    buf_put_u8(b, (uint8_t)quote);
}

#endif
