/* heat_picture.h: a heat map as a picture: on a terminal, as SVG, as PNG, as JSON. */
#ifndef CLI_CONSOLE_HEAT_PICTURE_H
#define CLI_CONSOLE_HEAT_PICTURE_H

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

#include <stdio.h>

/* "reads", "writes", "cu", "refused", "bytes". */
extern const char *const heat_metric_names[WR_HEAT_METRICS];

/* What is drawn. */
struct heat_picture {
    const char *table;
    enum wr_heat_metric metric;
    const struct wr_heat_result *heat;
};

/* How hot a cell is, 0 (nothing) to `levels` - 1 (the hottest cell of the picture), by the square
 * root, so that cells of little traffic can be told from those of none. */
unsigned heat_level(uint64_t value, uint64_t most, unsigned levels);

/* The highest value, and the sum of all, of the metric drawn. */
uint64_t heat_most(const struct heat_picture *p);
uint64_t heat_sum(const struct heat_picture *p);

/* A place in words: a key, cut to `width` characters of which the last says so, with its bucket if
 * the map has buckets. */
bytes heat_place_text(struct arena *a, const struct wr_heat_place *place, size_t width);

/* Leaves out the columns before the first one in which there was anything, but for as many as make
 * it `keep` columns. The new arrays are in the arena. */
void heat_trim(struct arena *a, struct wr_heat_result *h, size_t keep);

/* Lines for a terminal; `color`: with 256 colors, else with shades. */
void heat_draw_text(FILE *out, struct arena *a, const struct heat_picture *p, bool color);

/* A picture with axes and a legend, appended. */
void heat_draw_svg(struct buf *b, const struct heat_picture *p);

/* The field alone, `scale` pixels a cell, appended. */
void heat_draw_png(struct buf *b, const struct heat_picture *p, unsigned scale);

/* Everything of the answer, all metrics that are in it, appended. */
void heat_write_json(struct buf *b, const struct heat_picture *p);

#endif
