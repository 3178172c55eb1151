/* grid.h: a table drawn with lines for a terminal, by libsmartcols, which is loaded when the first
 * one is drawn: commands that draw none do not wait for it. */
#ifndef CLI_CONSOLE_GRID_H
#define CLI_CONSOLE_GRID_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stdio.h>

struct grid;

/* Loads the library and the locale in which it counts columns. NULL: it is not there. `width`:
 * of the terminal, 0: there is none and nothing is cut; `color`: the heads are bold. */
struct grid *grid_open(size_t width, bool color);

/* Columns first, in their order. `right`: numbers. */
void grid_add_column(struct grid *g, const char *name, bool right);

/* Then lines, and their cells, by column. Texts are copied; they have no line ends. */
void grid_add_line(struct grid *g);
void grid_set(struct grid *g, size_t column, const char *text);

/* False: it could not be written. */
bool grid_draw(struct grid *g, FILE *out);
void grid_free(struct grid *g); /* NULL is allowed */

#endif
