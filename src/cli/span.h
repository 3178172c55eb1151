/* span.h: which rows a scan is of: the first key columns' values, and --prefix, --from and --to for
 * the column behind them. */
#ifndef CLI_SPAN_H
#define CLI_SPAN_H

#include "cli/console/option.h"
#include "base/ctx.h"
#include "widerow.h"

struct span_options {
    const char *prefix, *from, *to;
    bool backward;
};

#define SPAN_ROWS(type)                                                                            \
    {"prefix",                                                                                     \
     "TEXT",                                                                                       \
     "only rows whose next key column begins with it",                                             \
     OPTION_TEXT,                                                                                  \
     offsetof(type, span.prefix),                                                                  \
     0,                                                                                            \
     0},                                                                                           \
        {"from",                                                                                   \
         "VALUE",                                                                                  \
         "only rows whose next key column is at least this",                                       \
         OPTION_TEXT,                                                                              \
         offsetof(type, span.from),                                                                \
         0,                                                                                        \
         0},                                                                                       \
    {                                                                                              \
        "to", "VALUE", "only rows whose next key column is less than this", OPTION_TEXT,           \
            offsetof(type, span.to), 0, 0                                                          \
    }

struct span {
    struct wr_key start, end; /* of GetRange: inclusive, exclusive */
    /* Backward over the last key column a range that has its lower end and lacks its upper one
     * cannot be said in one; then rows are judged here. */
    const struct wr_value *least, *below; /* NULL: no matter */
    size_t column;                        /* that they are about */
};

/* `words` are the values of the first `count` key columns. Memory is that of c. */
int span_make(struct ctx *c, const struct wr_table_description *t, const struct span_options *o,
              char **words, size_t count, struct span *out);

enum span_side { SPAN_ABOVE, SPAN_WITHIN, SPAN_BELOW };

/* Where a row lies; all rows behind one SPAN_BELOW, backward, do so, too. */
enum span_side span_side(const struct span *s, const struct wr_row *row);

#endif
