/* grid.h: a table drawn with lines for a terminal, by libsmartcols, which is loaded when the first
 * one is drawn: commands that draw none do not wait for it. */
#ifndef CLI_CONSOLE_GRID_H
#define CLI_CONSOLE_GRID_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdio.h>

struct grid;

/* Loads the library. NULL: it is not there. `color`: the heads are bold. Nothing is cut (width.h
 * does that), and width_begin() was called. */
struct grid *grid_open(bool color);

/* Columns first, in their order. `right`: numbers. */
void grid_add_column(struct grid *g, const char *name, bool right);

/* Then lines, and their cells, by column. Texts are copied; they have no line ends. */
void grid_add_line(struct grid *g);
void grid_set(struct grid *g, size_t column, const char *text);

/* False: it could not be written. */
bool grid_draw(struct grid *g, FILE *out);
void grid_free(struct grid *g); /* NULL is allowed */

#endif
