/* filter.h: --filter and --where: a condition on a row's columns, as the server takes it.
 *
 *   amount > 5 and (state = "paid" or not open = true)
 *
 * Comparators are = != < <= > >=; values stand as value.h has them, texts with spaces in quotes; a
 * column whose name is no plain word stands in backquotes. Numbers compare by what they are worth,
 * whether integers or doubles. A row without the column does not match. */
#ifndef CLI_FILTER_H
#define CLI_FILTER_H

#include "base/ctx.h"
#include "widerow.h"

#define FILTER_NODES_MAX 64

struct filter {
    struct wr_filter *root;          /* in the arena of c */
    bytes columns[FILTER_NODES_MAX]; /* that it looks at, each once */
    size_t column_count;
};

int filter_parse(struct ctx *c, const char *text, struct filter *out);

#endif
