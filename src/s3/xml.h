/* xml.h: of the XML that stores answer with, the little that is wanted: texts of elements, which
 * have no attributes that count and no other namespaces. What is no XML gives nothing. Pure. */
#ifndef S3_XML_H
#define S3_XML_H

#include "base/arena.h"

/* What stands in the first element of that name, as it is written; ptr NULL: there is none. */
bytes xml_inner(bytes in, const char *name);

/* The same; *in goes on behind it. */
bytes xml_next(bytes *in, const char *name);

/* Its text, with the five entities and those of numbers undone; "" for none. In `a`. */
const char *xml_text(struct arena *a, bytes in, const char *name);

#endif
