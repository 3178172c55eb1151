/* gregorian.h: days of the Gregorian calendar, also before it was there, as numbers: 1970-01-01 is
 * day 0. Nothing here allocates or fails. */
#ifndef BASE_GREGORIAN_H
#define BASE_GREGORIAN_H

#include <stdbool.h>
#include <stdint.h>

struct gregorian {
    int64_t year; /* 0 is the one before 1 */
    int month;    /* 1 to 12 */
    int day;      /* 1 to 31 */
};

/* The number of a day; months are 1 to 12, and behind a month's last day the next month's count. */
int64_t gregorian_number(int64_t year, int month, int day);

/* The day of that number. */
struct gregorian gregorian_of(int64_t number);

/* Is there such a day? */
bool gregorian_has(int64_t year, int month, int day);

#endif
