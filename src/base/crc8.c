/* CRC-8 is linear: the checksum of a byte is the xor of the checksums of its bits, and the checksum
 * of a byte that k zero bytes follow is one more table. Eight tables let eight bytes go in one
 * step. */
#include "base/crc8.h"

#include "base/buf.h"

/* Entry b of the table whose eight single-bit entries are c0 to c7. */
#define E(b, c0, c1, c2, c3, c4, c5, c6, c7)                                                       \
    (((b)&1 ? c0 : 0) ^ ((b)&2 ? c1 : 0) ^ ((b)&4 ? c2 : 0) ^ ((b)&8 ? c3 : 0) ^                   \
     ((b)&16 ? c4 : 0) ^ ((b)&32 ? c5 : 0) ^ ((b)&64 ? c6 : 0) ^ ((b)&128 ? c7 : 0))
#define E4(b, ...)                                                                                 \
    E((b), __VA_ARGS__), E((b) + 1, __VA_ARGS__), E((b) + 2, __VA_ARGS__), E((b) + 3, __VA_ARGS__)
#define E16(b, ...)                                                                                \
    E4((b), __VA_ARGS__), E4((b) + 4, __VA_ARGS__), E4((b) + 8, __VA_ARGS__),                      \
        E4((b) + 12, __VA_ARGS__)
#define E64(b, ...)                                                                                \
    E16((b), __VA_ARGS__), E16((b) + 16, __VA_ARGS__), E16((b) + 32, __VA_ARGS__),                 \
        E16((b) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    {                                                                                              \
        E64(0, __VA_ARGS__), E64(64, __VA_ARGS__), E64(128, __VA_ARGS__), E64(192, __VA_ARGS__)    \
    }

/* tables[k][b]: the checksum of byte b followed by k zero bytes. */
static const uint8_t tables[8][256] = {
    TABLE(0x07, 0x0E, 0x1C, 0x38, 0x70, 0xE0, 0xC7, 0x89),
    TABLE(0x15, 0x2A, 0x54, 0xA8, 0x57, 0xAE, 0x5B, 0xB6),
    TABLE(0x6B, 0xD6, 0xAB, 0x51, 0xA2, 0x43, 0x86, 0x0B),
    TABLE(0x16, 0x2C, 0x58, 0xB0, 0x67, 0xCE, 0x9B, 0x31),
    TABLE(0x62, 0xC4, 0x8F, 0x19, 0x32, 0x64, 0xC8, 0x97),
    TABLE(0x29, 0x52, 0xA4, 0x4F, 0x9E, 0x3B, 0x76, 0xEC),
    TABLE(0xDF, 0xB9, 0x75, 0xEA, 0xD3, 0xA1, 0x45, 0x8A),
    TABLE(0x13, 0x26, 0x4C, 0x98, 0x37, 0x6E, 0xDC, 0xBF),
};

uint8_t crc8(uint8_t crc, const void *ptr, size_t n)
{
    const uint8_t *p = ptr;

    for (; n >= 8; n -= 8, p += 8)
        crc = tables[7][crc ^ p[0]] ^ tables[6][p[1]] ^ tables[5][p[2]] ^ tables[4][p[3]] ^
              tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
    for (; n; n--, p++)
        crc = tables[0][crc ^ *p];
    return crc;
}

uint8_t crc8_byte(uint8_t crc, uint8_t byte)
{
    return tables[0][crc ^ byte];
}

uint8_t crc8_u32(uint8_t crc, uint32_t v)
{
    uint8_t b[4];

    store_u32(b, v);
    return crc8(crc, b, 4);
}

uint8_t crc8_u64(uint8_t crc, uint64_t v)
{
    uint8_t b[8];

    store_u64(b, v);
    return crc8(crc, b, 8);
}
