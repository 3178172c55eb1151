/* print.h: rows and tables on stdout. */
#ifndef CLI_CONSOLE_PRINT_H
#define CLI_CONSOLE_PRINT_H

#include "base/buf.h"
#include "widerow.h"

/* A row as one line of JSON: {"CardID":1,"amount":12.5}, key columns first. Binary values are
 * {"binary":"<hex>"}, older versions of a column are left out. */
void print_row(struct arena *a, const struct wr_row *row);

/* A table's schema and settings, for people. `partitions` 0: not known. */
void print_table(const struct wr_table_description *t, size_t partitions);

/* The JSON text of a value, appended. It shows the type too: only a double has a point or an
 * exponent, so `widerow import` makes the same value of it. */
void print_value(struct buf *b, const struct wr_value *v);

/* Whose figures were printed, if there are several servers over the same data. */
void print_servers(uint32_t servers, uint32_t silent);

#endif
