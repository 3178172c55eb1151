/* hint.h: what the hints of a statement ask for. Unknown ones are passed over, as Lindorm does. */
#ifndef SQL_RUN_HINT_H
#define SQL_RUN_HINT_H

#include "sql/run/run.h"

struct hints {
    bool allow_filtering, ignore_indexes;
    bytes force_index;    /* ptr NULL: not given */
    int64_t timestamp_ms; /* WR_TIMESTAMP_NONE: not given */
};

/* A time that they give is the statement's from now on. */
int hints_read(struct run *r, const struct option_list *list, struct hints *out);

#endif
