/* decimal.h: exact decimal numbers of up to 38 digits: text <-> sign, exponent and digits. */
#ifndef TABLE_MODEL_DECIMAL_H
#define TABLE_MODEL_DECIMAL_H

#include "base/arena.h"

#define DECIMAL_DIGITS_MAX 38

/* The number 0.d1d2… * 10^exponent with neither the first nor the last digit 0, so that equal
 * numbers are equal structs. Zero has no digits, exponent 0, and is not negative. */
struct decimal {
    bool negative;
    int exponent; /* -37 to 38 */
    int count;
    uint8_t digits[DECIMAL_DIGITS_MAX]; /* 0 to 9 */
};

/* Reads [-]digits[.digits]. False for any other text, and for more than 38 digits (zeros in front
 * of the whole part and behind the fraction do not count). */
bool decimal_parse(bytes text, struct decimal *out);

/* The shortest such text with at least `scale` digits behind the point; in the arena. */
bytes decimal_format(struct arena *a, const struct decimal *d, int scale);

/* Digits in front of the point (0 for 0.5) and behind it. */
int decimal_whole_digits(const struct decimal *d);
int decimal_scale(const struct decimal *d);

/* Below, at or above zero. */
int decimal_compare(const struct decimal *a, const struct decimal *b);

#endif
