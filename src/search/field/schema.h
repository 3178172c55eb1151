/* schema.h: the fields of an index, as they are searched: what each is made of, and how. */
#ifndef SEARCH_FIELD_SCHEMA_H
#define SEARCH_FIELD_SCHEMA_H

#include "base/ctx.h"
#include "search/field/analyzer.h"
#include "search/field/date.h"
#include "widerow.h"

/* How the values of a field are kept in a segment. */
enum field_kind {
    FIELD_NUMBER,  /* 64-bit integers whose order is that of the values: LONG, DOUBLE, BOOLEAN,
                      DATE, and GEO_POINT, whose order is that of the latitudes */
    FIELD_ORDINAL, /* bytes, each distinct one once: KEYWORD, FUZZY_KEYWORD, IP */
    FIELD_TEXT,    /* tokens */
    FIELD_VECTOR,  /* 32-bit floats, as many as the field has dimensions: VECTOR */
    FIELD_NONE,    /* nothing is kept: NESTED, JSON, FLATTENED */
};

struct search_field {
    bytes name;
    bytes column; /* of the table, where its values come from */
    enum wr_field_type type;
    enum field_kind kind;
    bool is_array;
    bool is_virtual;
    bool stored; /* RETURN_ALL_FROM_INDEX gives it */
    struct analyzer analyzer;
    struct date_formats *dates;
    uint32_t dimension; /* VECTOR */
    int32_t metric;     /* as of wr_vector_options */
};

/* Immutable; lives as long as the arena it was made in. */
struct search_schema {
    const struct wr_search_schema *d;
    struct search_field *fields;
    size_t count;
    bool has_nested;
    uint64_t *asked; /* of one search's own copy: a bit for each field that was looked for */
};

#define SEARCH_VECTORS_MAX 5
#define SEARCH_FIELDS_MAX 1000
#define SEARCH_DIMENSION_MAX 4096

/* Checks a schema and makes it ready. E_PARAMETER with a text. `d` stays where it is. */
int search_schema_make(struct ctx *c, const struct wr_search_schema *d, struct search_schema **out);

/* The field of that name and its place; NULL: there is none. */
const struct search_field *search_schema_find(const struct search_schema *s, bytes name,
                                              size_t *at);

/* "long", "keyword" and so on, as error texts have them. */
const char *search_type_name(enum wr_field_type type);

/* A deep copy in the arena. */
struct wr_search_schema search_schema_copy(struct arena *a, const struct wr_search_schema *d);

/* Doubles as integers of the same order, and back; -0.0 is 0.0. */
static inline int64_t number_of_real(double v)
{
    int64_t n;

    v += 0.0;
    memcpy(&n, &v, sizeof(n));
    return n ^ (int64_t)((uint64_t)(n >> 63) >> 1);
}

static inline double real_of_number(int64_t n)
{
    double v;

    n ^= (int64_t)((uint64_t)(n >> 63) >> 1);
    memcpy(&v, &n, sizeof(v));
    return v;
}

#endif
