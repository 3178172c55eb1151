/* print.h: rows and tables on stdout. */
#ifndef CLI_CONSOLE_PRINT_H
#define CLI_CONSOLE_PRINT_H

#include "base/buf.h"
#include "widerow.h"

/* A row as one line of JSON, appended: {"CardID":1,"amount":12.5}, key columns first. Values as
 * value.h has them; older versions of a column are left out. */
void print_put_row(struct buf *b, const struct wr_row *row);

/* A table's schema and settings, for people. `partitions` 0: not known. */
void print_table(const struct wr_table_description *t, size_t partitions);

/* The key of an index of that table, with what descends; `before` stands in front of it. */
void print_index_key(const struct wr_table_description *t, const struct wr_index_meta *x,
                     const char *before);

/* Whose figures were printed, if there are several servers over the same data. */
void print_servers(uint32_t servers, uint32_t silent);

#endif
