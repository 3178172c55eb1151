/* builder.h: a segment out of documents. */
#ifndef SEARCH_SEGMENT_BUILDER_H
#define SEARCH_SEGMENT_BUILDER_H

#include "search/field/document.h"
#include "search/segment/segment.h"

/* `documents` in the order of their keys, each key once; they are not needed afterwards. The
 * caller has the reference. */
struct segment *segment_build(const struct search_schema *s, const struct document *documents,
                              size_t count);

#endif
