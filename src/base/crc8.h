/* crc8.h: CRC-8, polynomial x^8 + x^2 + x + 1, start 0, most significant bit first: the checksum of
 * PlainBuffer cells and rows (doc/wire.md, "Checksums"). */
#ifndef BASE_CRC8_H
#define BASE_CRC8_H

#include "base/bytes.h"
#include "base/port.h"

/* Goes on from `crc` over n bytes. */
uint8_t crc8(uint8_t crc, const void *ptr, size_t n);
uint8_t crc8_u32(uint8_t crc, uint32_t v); /* over its 4 little-endian bytes */
uint8_t crc8_u64(uint8_t crc, uint64_t v); /* over its 8 little-endian bytes */

/* crc8_tables[k][b]: the checksum of byte b followed by k zero bytes. */
extern const uint8_t crc8_tables[8][256];

static inline uint8_t crc8_byte(uint8_t crc, uint8_t byte)
{
    return crc8_tables[0][crc ^ byte];
}

/* As crc8(), for what is mostly a few bytes, such as the names of columns. */
static inline uint8_t crc8_short(uint8_t crc, const void *ptr, size_t n)
{
    const uint8_t *p = ptr;

    if (PORT_UNLIKELY(n > 8))
        return crc8(crc, ptr, n);
    for (; n; n--)
        crc = crc8_byte(crc, *p++);
    return crc;
}

#endif
