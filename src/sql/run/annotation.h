/* annotation.h: what SQL keeps with a table that the table layer does not know: sections of its
 * annotation (doc/format.md). Whoever changes a section keeps the others. */
#ifndef SQL_RUN_ANNOTATION_H
#define SQL_RUN_ANNOTATION_H

#include "base/arena.h"
#include "widerow.h"

enum annotation_section {
    ANNOTATION_MAPPING = 1,  /* mapping.h */
    ANNOTATION_DECLARED = 2, /* declared.h */
};

/* A view of the section; ptr NULL: there is none. False: the annotation is damaged. */
bool annotation_find(bytes annotation, enum annotation_section section, bytes *out);

/* The same annotation with another payload of that section, in the arena; ptr NULL: without it. A
 * damaged one has no sections that could be kept. Never without ptr. */
bytes annotation_with(struct arena *a, bytes annotation, enum annotation_section section,
                      bytes payload);

#endif
