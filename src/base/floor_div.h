/* floor_div.h: division that rounds down, below zero too, where C's rounds towards it. */
#ifndef BASE_FLOOR_DIV_H
#define BASE_FLOOR_DIV_H

#include <stdint.h>

/* b > 0. */
static inline int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

#endif
