/* survey.h: what the advisor keeps of a stream of records: figures of every column, and two
 * samples.
 *
 * Memory is bounded whatever the number of records (survey_bytes_max() says by what). One thread.
 *
 *   sample   records at even distances over the whole stream, one from each stretch of `step`: what
 *          happened when. Partitions are simulated with it.
 *   cluster  a column's: all records of a few values, chosen by hash: what stands together. Counts
 *          of combinations and duplicates are told from it. */
#ifndef ADVISOR_SURVEY_H
#define ADVISOR_SURVEY_H

#include "advisor/sketch.h"
#include "base/ctx.h"
#include "base/rng.h"
#include "record/csv.h"

#define SURVEY_COLUMNS_MAX 32
#define SURVEY_SAMPLE_MAX 65536            /* records */
#define SURVEY_SAMPLE_TEXT_MAX (32u << 20) /* bytes of their fields */
#define SURVEY_SAMPLE_FIELD_MAX 256        /* longer fields are cut */
#define SURVEY_CLUSTER_MAX 16384           /* records */

/* A column that no record has: when it was written, in milliseconds, as a table's cells say. */
#define SURVEY_WRITTEN "(written)"

struct survey_column {
    bytes name;
    size_t field;        /* its number in the records */
    uint64_t present;    /* records that have it */
    uint64_t text_bytes; /* of all its values */
    size_t len_min, len_max;
    uint64_t quoted; /* values in quotes */
    bool not_integer, not_double, padded /* a zero in front of digits */;
    struct sketch_distinct distinct;
    struct sketch_weights weights; /* bytes of the records by value */
};

struct survey_sample_cell {
    uint32_t at, len; /* in the texts; len UINT32_MAX: absent */
};

struct survey_sample {
    uint64_t step;                    /* one record of so many */
    uint64_t pick;                    /* the next one, as a number of the stream */
    uint32_t count;                   /* records */
    uint32_t *sizes;                  /* bytes of each record */
    struct survey_sample_cell *cells; /* [record][column] */
    char *texts;
    size_t text_used;
    struct rng rng;
};

struct survey_cluster {
    uint64_t limit; /* the hashes up to this one belong to it */
    uint32_t count;
    uint32_t *rows; /* [record][column]: 32 bits of the values' hashes; 0: absent */
};

struct survey {
    struct survey_column *columns;
    struct survey_cluster *clusters; /* one a column */
    size_t column_count;
    uint64_t records, bytes; /* bytes: names and values */
    struct survey_sample sample;
};

void survey_init(struct survey *s, uint64_t seed);
void survey_release(struct survey *s);

/* Adds a column; false: there are as many as can be looked at. Records that went before do not have
 * it. */
bool survey_add_column(struct survey *s, bytes name, size_t field);

/* Looks at one record. */
void survey_add(struct survey *s, const struct csv_field *fields);

/* The hash of a value as the survey counts it. */
uint64_t survey_hash(bytes value);

static inline bytes survey_sample_text(const struct survey *s, uint32_t record, size_t column)
{
    const struct survey_sample_cell *cell =
        &s->sample.cells[(size_t)record * SURVEY_COLUMNS_MAX + column];

    if (cell->len == UINT32_MAX)
        return BYTES_NONE;
    return bytes_of(s->sample.texts + cell->at, cell->len);
}

/* Records of the cluster of `cluster_column` and how many different tuples of the columns they
 * have. 0 records: that column's values are too few to choose among. */
uint32_t survey_cluster_tuples(const struct survey *s, size_t cluster_column, const size_t *columns,
                               size_t count, uint32_t *different);

#endif
