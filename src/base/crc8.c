/* CRC-8 is linear: the checksum of a byte is the xor of the checksums of its bits, and the checksum
 * of a byte that k zero bytes follow is one more table. Eight tables let eight bytes go in one
 * step.
 *
 * A processor that multiplies polynomials does better: bytes in front of others may be replaced by
 * any that leave the same rest. So what has been read is kept as 16 bytes, and for each 16 that
 * follow its two halves are multiplied with what a shift so far comes to. Of many bytes, four such
 * chains go side by side, since a product takes a few cycles. The rest of the last 16 bytes comes
 * from Barrett's reduction: the quotient, from a product with the polynomial's inverse, times the
 * polynomial. Bytes that do not fill 16 go first, behind zeros. */
#include "base/crc8.h"

#include "base/buf.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

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

const uint8_t crc8_tables[8][256] = {
    TABLE(0x07, 0x0E, 0x1C, 0x38, 0x70, 0xE0, 0xC7, 0x89),
    TABLE(0x15, 0x2A, 0x54, 0xA8, 0x57, 0xAE, 0x5B, 0xB6),
    TABLE(0x6B, 0xD6, 0xAB, 0x51, 0xA2, 0x43, 0x86, 0x0B),
    TABLE(0x16, 0x2C, 0x58, 0xB0, 0x67, 0xCE, 0x9B, 0x31),
    TABLE(0x62, 0xC4, 0x8F, 0x19, 0x32, 0x64, 0xC8, 0x97),
    TABLE(0x29, 0x52, 0xA4, 0x4F, 0x9E, 0x3B, 0x76, 0xEC),
    TABLE(0xDF, 0xB9, 0x75, 0xEA, 0xD3, 0xA1, 0x45, 0x8A),
    TABLE(0x13, 0x26, 0x4C, 0x98, 0x37, 0x6E, 0xDC, 0xBF),
};

static uint8_t crc8_by_tables(uint8_t crc, const uint8_t *p, size_t n)
{
    for (; n >= 8; n -= 8, p += 8)
        crc = crc8_tables[7][crc ^ p[0]] ^ crc8_tables[6][p[1]] ^ crc8_tables[5][p[2]] ^
              crc8_tables[4][p[3]] ^ crc8_tables[3][p[4]] ^ crc8_tables[2][p[5]] ^
              crc8_tables[1][p[6]] ^ crc8_tables[0][p[7]];
    for (; n; n--, p++)
        crc = crc8_tables[0][crc ^ *p];
    return crc;
}

#ifdef __x86_64__

#define CHAINS 4
#define STEP_BYTES ((size_t)16 * CHAINS)
#define FOLDS __attribute__((target("pclmul,ssse3")))

/* x to the power of so many, modulo the polynomial. */
enum { X_64 = 0x13, X_128 = 0x02, X_192 = 0x26, X_512 = 0x10, X_576 = 0x37 };

/* x to the power of 72 divided by the polynomial, but for the highest power in it, which is 64. */
#define INVERSE 0x07156A166329DD13ull

/* The first byte has the highest powers. */
FOLDS static inline __m128i flip(__m128i v)
{
    return _mm_shuffle_epi8(v, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}

FOLDS static inline __m128i take(const uint8_t *p)
{
    return flip(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* `by`: what the low and the high half are to be multiplied with. */
FOLDS static inline __m128i fold(__m128i v, __m128i by, __m128i next)
{
    return _mm_xor_si128(
        next, _mm_xor_si128(_mm_clmulepi64_si128(v, by, 0x00), _mm_clmulepi64_si128(v, by, 0x11)));
}

/* v times x to the power of 8, modulo the polynomial. */
FOLDS static inline uint8_t rest_of(__m128i v)
{
    const __m128i by = _mm_set_epi64x((long long)INVERSE, X_64);
    __m128i q;
    uint32_t bits;

    /* Twice the high half goes to the low one; then there is no high half. */
    v = _mm_xor_si128(_mm_move_epi64(v), _mm_clmulepi64_si128(v, by, 0x01));
    v = _mm_xor_si128(_mm_move_epi64(v), _mm_clmulepi64_si128(v, by, 0x01));
    q = _mm_xor_si128(_mm_unpackhi_epi64(_mm_clmulepi64_si128(v, by, 0x10), v), v);
    bits = (uint32_t)_mm_cvtsi128_si32(q);
    return (uint8_t)(bits ^ bits << 1 ^ bits << 2); /* times the polynomial, the low byte of it */
}

/* The first n bytes, with as many zeros in front as fill 16: they leave no rest. */
FOLDS static inline __m128i first_bytes(__m128i v, size_t n)
{
    static const uint8_t from[32] = {0,    1,    2,    3,    4,    5,    6,    7,
                                     8,    9,    10,   11,   12,   13,   14,   15,
                                     0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

    return _mm_shuffle_epi8(v, _mm_loadu_si128((const __m128i *)(const void *)(from + 16 - n)));
}

/* Of at least 16 bytes. */
FOLDS static uint8_t crc8_by_folding(uint8_t crc, const uint8_t *p, size_t n)
{
    const __m128i by_512 = _mm_set_epi64x(X_576, X_512), by_128 = _mm_set_epi64x(X_192, X_128);
    size_t odd = (n - 1) % 16 + 1;
    __m128i v[CHAINS];

    v[0] = _mm_xor_si128(take(p), _mm_set_epi64x((long long)((uint64_t)crc << 56), 0));
    v[0] = first_bytes(v[0], odd);
    p += odd;
    n -= odd;
    if (n >= STEP_BYTES - 16) {
        for (int i = 1; i < CHAINS; i++)
            v[i] = take(p + 16 * (i - 1));
        for (p += STEP_BYTES - 16, n -= STEP_BYTES - 16; n >= STEP_BYTES;
             p += STEP_BYTES, n -= STEP_BYTES)
            for (int i = 0; i < CHAINS; i++)
                v[i] = fold(v[i], by_512, take(p + 16 * i));
        for (int i = 1; i < CHAINS; i++)
            v[0] = fold(v[0], by_128, v[i]);
    }
    for (; n; p += 16, n -= 16)
        v[0] = fold(v[0], by_128, take(p));
    return rest_of(v[0]);
}

uint8_t crc8(uint8_t crc, const void *ptr, size_t n)
{
    if (n >= 16 && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3"))
        return crc8_by_folding(crc, ptr, n);
    return crc8_by_tables(crc, ptr, n);
}

#else

uint8_t crc8(uint8_t crc, const void *ptr, size_t n)
{
    return crc8_by_tables(crc, ptr, n);
}

#endif

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
