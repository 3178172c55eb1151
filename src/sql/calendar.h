/* calendar.h: dates and times as SQL writes them, and as they are stored: days and milliseconds
 * since 1970-01-01 UTC, milliseconds since midnight. The Gregorian calendar, also before it was
 * there. Nothing here allocates. */
#ifndef SQL_CALENDAR_H
#define SQL_CALENDAR_H

#include "base/bytes.h"
#include "widerow.h"

#define DAY_MS 86400000
#define CALENDAR_TEXT 24 /* "2024-01-02 03:04:05.678" and a NUL */

/* A moment in its parts. */
struct calendar {
    int year; /* 1 to 9999 */
    int month, day;
    int hour, minute, second, ms;
};

/* The stored values that SQL can say: 0001-01-01 00:00:00 to 9999-12-31 23:59:59.999. */
#define CALENDAR_MS_MIN INT64_C(-62135596800000)
#define CALENDAR_MS_MAX INT64_C(253402300799999)

/* `ms` must be one of them; a DATE is its days times DAY_MS. */
struct calendar calendar_of_ms(int64_t ms);

/* False: there is no such day or time of day. */
bool calendar_to_ms(const struct calendar *c, int64_t *out);

/* "2024-01-02"; "03:04:05", with ".678" if there are milliseconds; both with a blank between them.
 * They end with a NUL that is not counted in what is returned. */
size_t calendar_format_date(int64_t days, char out[CALENDAR_TEXT]);
size_t calendar_format_time(int64_t ms_of_day, char out[CALENDAR_TEXT]);
size_t calendar_format_timestamp(int64_t ms, char out[CALENDAR_TEXT]);

/* The one of them that is right for a stored value. 0: it is no DATE, TIME or TIMESTAMP. */
size_t calendar_format(const struct wr_value *v, char out[CALENDAR_TEXT]);

/* The same read: months, days and hours may have one digit; a fraction of a second may have up to
 * nine digits, of which three count; a 'T' may stand for the blank, a 'Z' at the end; a timestamp
 * without a time is midnight. False: the text is something else, or no such moment exists. */
bool calendar_parse_date(bytes text, int64_t *days);
bool calendar_parse_time(bytes text, int64_t *ms_of_day);
bool calendar_parse_timestamp(bytes text, int64_t *ms);

#endif
