/* document.h: a row as an index sees it: the values of its fields. */
#ifndef SEARCH_DOCUMENT_H
#define SEARCH_DOCUMENT_H

#include "search/field/schema.h"

/* What counts depends on the field's kind: `number`, or else `text`. */
struct document_value {
    int64_t number;
    bytes text;
};

struct document_field {
    struct document_value *values;
    size_t count;
};

struct document {
    bytes key; /* in the order of the primary key, bytewise; no two rows have the same */
    int64_t stamp_ms;
    struct document_field *fields; /* as many as the schema has */
};

#define DOCUMENT_ELEMENTS_MAX 256
#define DOCUMENT_KEYWORD_BYTES_MAX 4096
#define DOCUMENT_FUZZY_BYTES_MAX 2048
#define DOCUMENT_TEXT_BYTES_MAX (2 << 20)

/* Fills doc->fields from the row's cells and its key, in the arena; texts are views of the row's or
 * lie in the arena. Of several versions of a cell the first counts. A value that does not fit its
 * field is left out, and so is a whole array of which one element does not fit. */
void document_fill(struct ctx *c, const struct search_schema *s, const struct wr_row *row,
                   struct document *doc);

/* False: a number with a fraction, which a LONG field takes the whole part of. */
bool document_is_whole(const struct wr_value *v);

/* One value as the field has it: from a row, or from a query. False: it does not fit. */
bool document_convert(struct arena *a, const struct search_field *f, const struct wr_value *v,
                      struct document_value *out);

/* GEO_POINT in 64 bits, ordered by latitude, and back. */
struct geo_point;
int64_t document_pack_point(const struct geo_point *p);
struct geo_point document_unpack_point(int64_t number);

#endif
