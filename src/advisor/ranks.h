/* ranks.h: the sampled records of a survey with each value replaced by its place in the order of
 * its column, and all records in the order of time: what simulations and order checks compute with.
 */
#ifndef ADVISOR_RANKS_H
#define ADVISOR_RANKS_H

#include "advisor/survey.h"
#include "widerow.h"

struct rank_column {
    enum wr_type type; /* BIGINT: ordered as numbers; VARCHAR; DOUBLE: no key column */
    uint16_t *ranks;   /* [record]: the place among `values`; an absent value counts as the first */
    bytes *values;     /* different ones in order; views of the sample */
    uint32_t value_count;
    bool is_time; /* dates, or numbers that are seconds or milliseconds of this century */
    /* Dates as text that do not sort by time: their form, and one of them. NULL: none such. */
    const char *date_form;
    bytes date_example;
};

struct ranks {
    const struct survey *survey;
    uint32_t count;  /* records */
    uint32_t *order; /* records in the order of time */
    struct rank_column columns[SURVEY_COLUMNS_MAX];
    size_t time_column; /* SIZE_MAX: none; then the order is the stream's */
    bool ordered;       /* false: the stream's order says nothing of time */
    double seconds;     /* that the records cover; 0: not known */
    double *times;      /* [record], seconds since 1970; NULL without a time column */
};

/* `time_column`: SIZE_MAX to look for one. `stream_ordered`: records came in the order they were
 * written. `types` (may be NULL): known types, WR_NULL where they are not. */
void ranks_init(struct ranks *r, const struct survey *s, size_t time_column, bool stream_ordered,
                const enum wr_type *types);
void ranks_release(struct ranks *r);

/* Seconds since 1970 of a text like 2025-01-31, 2025-01-31 08:00:00, 2025-01-31T08:00:00.5Z, or of
 * a number of seconds, milli- or microseconds. False: it is none. */
bool ranks_parse_time(bytes text, double *seconds);

#endif
