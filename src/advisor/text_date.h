/* text_date.h: dates written as text whose order as text is not the order of time. */
#ifndef ADVISOR_TEXT_DATE_H
#define ADVISOR_TEXT_DATE_H

#include "base/bytes.h"

/* The form of a column's values that are dates and do not sort by time, "DD/MM/YYYY" say. NULL:
 * they sort, or nearly all of them are no dates. `values` are different ones; *example is one of
 * that form. */
const char *text_date_unsorted(const bytes *values, size_t count, bytes *example);

#endif
