/* calendar.h: days of the Gregorian calendar. */
#ifndef SEARCH_FIELD_CALENDAR_H
#define SEARCH_FIELD_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

/* Days since 1970-01-01 of a month's first day; months count from 1970-01, which is 0. */
int64_t calendar_month_start(int64_t month);

/* The month that a day is in. */
int64_t calendar_month_of(int64_t day);

/* year 0 to 9999. False: there is no such day. */
bool calendar_day(int year, int month, int day_of_month, int64_t *day);

#endif
