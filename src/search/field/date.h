/* date.h: DATE fields of search indexes: texts and integers into nanoseconds since 1970-01-01 UTC,
 * and the buckets of date histograms.
 *
 * What a field can hold is 1970-01-01 00:00 to 2262-04-11 23:47:16.854775807: 0 to INT64_MAX. */
#ifndef SEARCH_FIELD_DATE_H
#define SEARCH_FIELD_DATE_H

#include "base/ctx.h"
#include "widerow_search.h"

/* The formats of a field, in the order in which they are tried. In the context's arena. */
struct date_formats;

/* E_PARAMETER: a DATE field without formats, or a format that is no epoch_second, epoch_millis,
 * epoch_micros, epoch_nanos and no pattern of the letters y M d a K h H m s S X. */
int date_formats_make(struct ctx *c, const struct wr_field_schema *field,
                      struct date_formats **out);

/* False: the text is in none of the formats, or out of the range above. Parsing is strict: two
 * letters are two digits, and nothing may follow. Without a zone it is UTC. */
bool date_of_text(const struct date_formats *f, struct wr_bytes text, int64_t *ns);

/* The integer in the unit of the first epoch format. False: the field has none, or out of range. */
bool date_of_integer(const struct date_formats *f, int64_t integer, int64_t *ns);

/* "Z", "+08", "+0800", "+08:00", up to 18 hours. */
bool date_zone_of_text(struct wr_bytes text, int64_t *ns);

/* The length of an interval of the clock (weeks and below), or of one of the calendar as if every
 * month had 30 days and every year 365. False: no such unit, or too long for 64 bits. */
bool date_interval_ns(const struct wr_date_interval *interval, int64_t *ns);

/* The start of the bucket that `ns` is in, and of the one after it. Units are those of struct
 * wr_date_interval. Weeks and below are fixed lengths, counted from 1970-01-01 00:00 in the zone;
 * years, quarters and months follow the calendar of the zone; both are moved by the offset. A value
 * below 1 counts as 1; what does not fit into 64 bits is the nearest that does. */
int64_t date_bucket(int64_t ns, int32_t unit, int32_t value, int64_t zone_ns, int64_t offset_ns);
int64_t date_bucket_next(int64_t ns, int32_t unit, int32_t value, int64_t zone_ns,
                         int64_t offset_ns);

#endif
