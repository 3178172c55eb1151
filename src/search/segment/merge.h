/* merge.h: several segments become one, without what is gone. */
#ifndef SEARCH_SEGMENT_MERGE_H
#define SEARCH_SEGMENT_MERGE_H

#include "search/field/document.h"
#include "search/segment/view.h"

#define MERGE_SEGMENTS_MAX 64

/* Segments of one schema, of which no two hold the same key alive; at least one document is left.
 * The caller has the reference. Takes time by their size, and memory of about as much as they. */
struct segment *segment_merge(const struct search_schema *s, const struct view_segment *from,
                              size_t count);

#endif
