#include "search/field/geo.h"

#define LETTER_BITS 5

static const char letters[] = "0123456789bcdefghjkmnpqrstuvwxyz";

/* Bit `n` of a geohash, the first one 0: longitude and latitude take turns, longitude begins. */
static unsigned bit(uint32_t lat, uint32_t lon, int n)
{
    return (n % 2 ? lat : lon) >> (31 - n / 2) & 1;
}

void geo_hash(struct geo_point p, int precision, char out[GEO_HASH_MAX + 1])
{
    /* Cells as bits from the south pole and the date line on. */
    uint32_t lat = (uint32_t)p.lat ^ UINT32_C(0x80000000);
    uint32_t lon = (uint32_t)p.lon ^ UINT32_C(0x80000000);

    precision = precision < 1 ? 1 : precision > GEO_HASH_MAX ? GEO_HASH_MAX : precision;
    for (int i = 0; i < precision; i++) {
        unsigned letter = 0;

        for (int n = i * LETTER_BITS; n < (i + 1) * LETTER_BITS; n++)
            letter = letter << 1 | bit(lat, lon, n);
        out[i] = letters[letter];
    }
    out[precision] = 0;
}

/* Half of a side is given up for each bit. */
static void halve(double *from, double *to, bool upper)
{
    double middle = (*from + *to) / 2;

    *(upper ? from : to) = middle;
}

bool geo_hash_cell(bytes hash, struct geo_cell *out)
{
    const char *p = hash.ptr;

    if (!hash.len || hash.len > GEO_HASH_MAX)
        return false;
    *out = (struct geo_cell){.top = 90, .left = -180, .bottom = -90, .right = 180};
    for (size_t i = 0; i < hash.len; i++) {
        const char *found = p[i] ? strchr(letters, p[i]) : NULL;

        if (!found)
            return false;
        for (int n = 0; n < LETTER_BITS; n++) {
            bool upper = (found - letters) >> (LETTER_BITS - 1 - n) & 1;

            if ((i * LETTER_BITS + (size_t)n) % 2)
                halve(&out->bottom, &out->top, upper);
            else
                halve(&out->left, &out->right, upper);
        }
    }
    return true;
}
