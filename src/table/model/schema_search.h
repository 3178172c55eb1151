/* schema_search.h: the search indexes in a table's description, as stored bytes. */
#ifndef TABLE_MODEL_SCHEMA_SEARCH_H
#define TABLE_MODEL_SCHEMA_SEARCH_H

#include "base/buf.h"
#include "table/model/schema.h"

/* The payload of a field of the description (doc/format.md), and back. What is read are views of
 * the stored bytes, lists lie in the arena. f->bad: it is damaged. */
void schema_put_search(struct buf *f, const struct schema_search *s);
void schema_read_search(struct arena *a, struct reader *f, struct schema_search *out);

/* The index of that name; NULL: there is none. */
const struct schema_search *schema_search_find(const struct schema *s, bytes name);

#endif
