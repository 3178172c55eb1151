/* md5_many.h: the MD5 of several texts at a time, each in its word of a vector. A step of MD5
 * waits for the one before, so a single text leaves most of a processor idle; eight texts side by
 * side take about as long as one and a half of them one after the other with AVX2, as four without.
 */
#ifndef WIRE_MD5_MANY_H
#define WIRE_MD5_MANY_H

#include "base/bytes.h"

#define MD5_MANY 8
#define MD5_BYTES 16

/* From so many texts on it pays on this processor: fewer take less one after the other. */
size_t md5_many_least(void);

/* out[i] is the MD5 of texts[i]; at most MD5_MANY. Takes as long as for the longest of them,
 * however many are left at the end, so they should be about as long as each other. */
void md5_many(const bytes *texts, size_t count, uint8_t (*out)[MD5_BYTES]);

/* The same with what every processor can, for tests. */
void md5_many_anywhere(const bytes *texts, size_t count, uint8_t (*out)[MD5_BYTES]);

#endif
