/* hint.h: what the hints of a statement ask for. Unknown ones are passed over, with a warning. */
#ifndef SQL_RUN_HINT_H
#define SQL_RUN_HINT_H

#include "sql/run/run.h"

struct hints {
    bool allow_filtering, ignore_indexes;
    bytes force_index;    /* ptr NULL: not given */
    int64_t timestamp_ms; /* WR_TIMESTAMP_NONE: not given */
    int64_t versions;     /* 0: not given */
    bool has_min, has_max;
    int64_t min_ms, max_ms; /* of timestamps that are read */
};

/* A time that they give is the statement's from now on. */
int hints_read(struct run *r, const struct option_list *list, struct hints *out);

#endif
