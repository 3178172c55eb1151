/* period.h: months, weeks and days as whole numbers, in UTC, and times as days. Pure.
 *
 * The proleptic Gregorian calendar, years 1 to 9999. A week begins on Monday and is named as in ISO
 * 8601. Number 0 is the period that 1970-01-01 lies in; earlier ones are below it. */
#ifndef TABLE_MODEL_PERIOD_H
#define TABLE_MODEL_PERIOD_H

#include "base/bytes.h"
#include "widerow.h"

#include <stdbool.h>

#define PERIOD_TEXT_BYTES 16     /* of a name, with its NUL */
#define PERIOD_DAY_MIN (-719162) /* 0001-01-01, in days since 1970-01-01 */
#define PERIOD_DAY_MAX 2932896   /* 9999-12-31 */
#define PERIOD_NONE INT64_MIN    /* before all periods */

/* The period that a day lies in; `day` within the bounds above. */
int64_t period_of_day(enum wr_series_by by, int64_t day);

/* Its first day; of numbers that period_of_day() gives. */
int64_t period_first_day(enum wr_series_by by, int64_t number);

/* 2025-03, 2025-W11 or 2025-03-14. */
void period_name(enum wr_series_by by, int64_t number, char out[PERIOD_TEXT_BYTES]);

/* The opposite. False: it is no such name. */
bool period_parse(enum wr_series_by by, bytes name, int64_t *number);

/* The day of a time in that unit (WR_SERIES_SECONDS to MICROSECONDS). False: out of bounds. */
bool period_day_of_number(enum wr_series_unit unit, int64_t time, int64_t *day);

/* The day of a text: YYYY-MM-DD, and behind it nothing, or T or a blank and a time of UTC. False:
 * it is none, or names another zone. */
bool period_day_of_text(bytes text, int64_t *day);

#endif
