/* RFC 1321, written for vectors: word w of a vector belongs to text w. The compiler makes rotations
 * and the four functions of three words one instruction each where the processor has them. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "wire/md5_many.h"

#include <assert.h>
#include <openssl/md5.h>
#include <string.h>

#define BLOCK ((size_t)MD5_CBLOCK)

typedef uint32_t words __attribute__((vector_size(4 * MD5_MANY)));

/* The state of all texts: a, b, c, d, of each a word a text. */
struct sums {
    uint32_t word[4][MD5_MANY];
};

/* Sums are taken in the order that stands here: a step is as long as its chain of operations, and
 * the compiler's own order makes that longer by one. */
#pragma GCC optimize("no-tree-reassoc")

/* Inlined into functions for several processors. */
#define FOR_EACH_PROCESSOR static inline __attribute__((always_inline))

static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

#define MIX(...) __builtin_shufflevector(__VA_ARGS__)

/* Eight words of each text, from byte `at` on, as eight vectors of a word of each: a transposition
 * of pairs, of pairs of pairs, of halves. */
FOR_EACH_PROCESSOR void turn(words m[8], const uint8_t *const p[MD5_MANY], size_t at)
{
    words r[8], t[8];

#pragma GCC unroll 8
    for (int l = 0; l < 8; l++)
        memcpy(&r[l], p[l] + at, sizeof(r[l]));
#pragma GCC unroll 4
    for (int l = 0; l < 8; l += 2) {
        t[l] = MIX(r[l], r[l + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[l + 1] = MIX(r[l], r[l + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma GCC unroll 2
    for (int l = 0; l < 8; l += 4)
#pragma GCC unroll 2
        for (int k = 0; k < 2; k++) {
            r[l + 2 * k] = MIX(t[l + k], t[l + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            r[l + 2 * k + 1] = MIX(t[l + k], t[l + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
#pragma GCC unroll 4
    for (int l = 0; l < 4; l++) {
        m[l] = MIX(r[l], r[l + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        m[l + 4] = MIX(r[l], r[l + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

#define ROTATED(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define F(x, y, z) ((((y) ^ (z)) & (x)) ^ (z))
#define G(x, y, z) (((y) & ~(z)) + ((x) & (z)))
#define H(x, y, z) ((x) ^ ((y) ^ (z)))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))

/* What is known before b is added first: f(b, c, d) is what the step before ends with. For the same
 * reason the function G has its parts added, which have no bit in common, and H takes x last. */
#define STEP(f, a, b, c, d, w, i, s)                                                               \
    do {                                                                                           \
        a = (a + (m[(w) % 16] + sine[i])) + f(b, c, d);                                            \
        a = ROTATED(a, s) + b;                                                                     \
    } while (0)

/* Four steps of a round: the first takes word `w`, each that follows the one `by` further on. */
#define STEPS(f, i, w, by, s0, s1, s2, s3)                                                         \
    do {                                                                                           \
        STEP(f, a, b, c, d, w, i, s0);                                                             \
        STEP(f, d, a, b, c, (w) + (by), (i) + 1, s1);                                              \
        STEP(f, c, d, a, b, (w) + 2 * (by), (i) + 2, s2);                                          \
        STEP(f, b, c, d, a, (w) + 3 * (by), (i) + 3, s3);                                          \
    } while (0)

FOR_EACH_PROCESSOR void add(struct sums *s, const uint8_t *const p[MD5_MANY], size_t blocks)
{
    words a, b, c, d, m[16];
    const uint32_t *sine = sines;

    /* Read from memory a sine is in all words by one instruction, as a constant by three. */
    __asm__("" : "+r"(sine));

    memcpy(&a, s->word[0], sizeof(a));
    memcpy(&b, s->word[1], sizeof(b));
    memcpy(&c, s->word[2], sizeof(c));
    memcpy(&d, s->word[3], sizeof(d));
    for (size_t n = 0; n < blocks; n++) {
        words a0 = a, b0 = b, c0 = c, d0 = d;

        turn(m, p, n * BLOCK);
        turn(m + 8, p, n * BLOCK + BLOCK / 2);
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += 4)
            STEPS(F, i, i, 1, 7, 12, 17, 22);
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += 4)
            STEPS(G, 16 + i, 5 * i + 1, 5, 5, 9, 14, 20);
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += 4)
            STEPS(H, 32 + i, 3 * i + 5, 3, 4, 11, 16, 23);
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += 4)
            STEPS(I, 48 + i, 7 * i, 7, 6, 10, 15, 21);
        a += a0;
        b += b0;
        c += c0;
        d += d0;
    }
    memcpy(s->word[0], &a, sizeof(a));
    memcpy(s->word[1], &b, sizeof(b));
    memcpy(s->word[2], &c, sizeof(c));
    memcpy(s->word[3], &d, sizeof(d));
}

static void add_anywhere(struct sums *s, const uint8_t *const p[MD5_MANY], size_t blocks)
{
    add(s, p, blocks);
}

#ifdef __x86_64__

__attribute__((target("avx512vl"))) static void
add_with_avx512(struct sums *s, const uint8_t *const p[MD5_MANY], size_t blocks)
{
    add(s, p, blocks);
}

__attribute__((target("avx2"))) static void
add_with_avx2(struct sums *s, const uint8_t *const p[MD5_MANY], size_t blocks)
{
    add(s, p, blocks);
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512vl");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

#else

#define add_with_avx512 add_anywhere
#define add_with_avx2 add_anywhere

static bool has_avx512(void)
{
    return false;
}

static bool has_avx2(void)
{
    return false;
}

#endif

size_t md5_many_least(void)
{
    return has_avx512() || has_avx2() ? 2 : 6;
}

typedef void add_fn(struct sums *s, const uint8_t *const p[MD5_MANY], size_t blocks);

/* The sum of text `l`: of what was added, and then of what follows. */
static void finish(const struct sums *s, size_t l, bytes text, size_t done, uint8_t *out)
{
    MD5_CTX ctx = {.A = s->word[0][l],
                   .B = s->word[1][l],
                   .C = s->word[2][l],
                   .D = s->word[3][l],
                   .Nl = (uint32_t)((uint64_t)done << 3),
                   .Nh = (uint32_t)((uint64_t)done >> 29)};

    MD5_Update(&ctx, bytes_u8(text) + done, text.len - done);
    MD5_Final(out, &ctx);
}

/* How many texts have a whole block behind the first `done`; the one of them with the least is
 * `*shortest`. */
static size_t longer_than(size_t done, const bytes *texts, size_t count, size_t *shortest)
{
    size_t longer = 0, least = SIZE_MAX;

    for (size_t l = 0; l < count; l++) {
        size_t blocks = texts[l].len / BLOCK;

        longer += blocks > done;
        if (blocks > done && blocks < least) {
            least = blocks;
            *shortest = l;
        }
    }
    return longer;
}

/* Side by side up to the end of the shortest, then of the next, and so on. Where there is no text,
 * or no more of it, another one's words go along for nothing. Fewer than `few` go one by one. */
static void sum_by(add_fn *add_blocks, size_t few, const bytes *texts, size_t count,
                   uint8_t (*out)[MD5_BYTES])
{
    static const uint32_t begin[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const uint8_t *p[MD5_MANY];
    size_t done = 0, shortest = 0;
    struct sums s;

    assert(count && count <= MD5_MANY);
    for (size_t l = 0; l < MD5_MANY; l++)
        for (size_t w = 0; w < 4; w++)
            s.word[w][l] = begin[w];
    while (longer_than(done, texts, count, &shortest) >= few) {
        size_t until = texts[shortest].len / BLOCK;

        for (size_t l = 0; l < count; l++)
            if (texts[l].len / BLOCK == done)
                finish(&s, l, texts[l], done * BLOCK, out[l]);
        for (size_t l = 0; l < MD5_MANY; l++) {
            bool has = l < count && texts[l].len / BLOCK > done;

            p[l] = bytes_u8(texts[has ? l : shortest]) + done * BLOCK;
        }
        add_blocks(&s, p, until - done);
        done = until;
    }
    for (size_t l = 0; l < count; l++)
        if (texts[l].len / BLOCK >= done)
            finish(&s, l, texts[l], done * BLOCK, out[l]);
}

void md5_many(const bytes *texts, size_t count, uint8_t (*out)[MD5_BYTES])
{
    sum_by(has_avx512() ? add_with_avx512
           : has_avx2() ? add_with_avx2
                        : add_anywhere,
           md5_many_least(), texts, count, out);
}

void md5_many_anywhere(const bytes *texts, size_t count, uint8_t (*out)[MD5_BYTES])
{
    sum_by(add_anywhere, 1, texts, count, out);
}
