/* read_flags.h: which cells `get`, `scan` and `count` ask for: --columns, --filter, --versions and
 * the like. */
#ifndef CLI_READ_FLAGS_H
#define CLI_READ_FLAGS_H

#include "cli/console/option.h"
#include "cli/filter.h"

struct read_flag_options {
    const char *columns, *filter;
    uint64_t versions, since_ms, until_ms;
    bool keys_only;
};

#define READ_FLAG_ROWS(type)                                                                       \
    {"columns",                                                                                    \
     "COL,...",                                                                                    \
     "only these columns (default: all)",                                                          \
     OPTION_TEXT,                                                                                  \
     offsetof(type, select.columns),                                                               \
     0,                                                                                            \
     0},                                                                                           \
        {"keys-only", NULL, "only the key", OPTION_FLAG, offsetof(type, select.keys_only), 0, 0},  \
        {"filter",                                                                                 \
         "CONDITION",                                                                              \
         "only rows of which it is true: 'amount > 5 and state = \"paid\"'",                       \
         OPTION_TEXT,                                                                              \
         offsetof(type, select.filter),                                                            \
         0,                                                                                        \
         0},                                                                                       \
        {"versions",                                                                               \
         "N",                                                                                      \
         "N versions of each cell, newest first, with their times",                                \
         OPTION_COUNT,                                                                             \
         offsetof(type, select.versions),                                                          \
         1,                                                                                        \
         INT32_MAX},                                                                               \
        {"since",                                                                                  \
         "MS",                                                                                     \
         "only versions of this time or later, in milliseconds since 1970",                        \
         OPTION_COUNT,                                                                             \
         offsetof(type, select.since_ms),                                                          \
         0,                                                                                        \
         INT64_MAX},                                                                               \
    {                                                                                              \
        "until", "MS", "only versions of before this time", OPTION_COUNT,                          \
            offsetof(type, select.until_ms), 1, INT64_MAX                                          \
    }

struct read_flags {
    struct wr_read_options read;
    struct filter filter;
    const bytes *shown; /* columns to print; NULL: all that come */
    size_t shown_count;
    bool versions; /* a record for each version */
};

/* `key`: the table's first key column, so that a row without the columns comes, too. Memory is that
 * of c. */
int read_flags_make(struct ctx *c, const struct read_flag_options *o, bytes key,
                    struct read_flags *out);

/* Leaves out of a row what was read for the filter alone; the cells in the arena of c. */
void read_flags_apply(struct ctx *c, const struct read_flags *s, struct wr_row *row);

#endif
