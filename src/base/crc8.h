/* crc8.h: CRC-8, polynomial x^8 + x^2 + x + 1, start 0, most significant bit first: the checksum of
 * PlainBuffer cells and rows (doc/wire.md, "Checksums"). */
#ifndef BASE_CRC8_H
#define BASE_CRC8_H

#include "base/bytes.h"

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

#endif
