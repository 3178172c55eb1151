/* import_sample.h: records from all over a file, for those who judge its columns and its keys.
 *
 * A piece of the file may begin in the middle of a record, and of CSV inside a field in quotes,
 * where line ends mean nothing. So the first record of a piece is passed over, and a piece of CSV
 * is read both ways: it counts only if one of them gives records that all have the right number of
 * fields. */
#ifndef CLI_TRANSFER_IMPORT_SAMPLE_H
#define CLI_TRANSFER_IMPORT_SAMPLE_H

#include "record/record.h"

#define IMPORT_SAMPLE_MAX 4096 /* records */

struct import_sample_of {
    int fd;
    uint64_t from, to;          /* bytes of the file; what is in front of it is known already */
    struct record_reader *json; /* gets to know the columns of the records; NULL: CSV */
    char delimiter;             /* of CSV, */
    size_t field_count;         /* and how many fields its records have */
};

/* Fills out[IMPORT_SAMPLE_MAX], in the order of the file. Returns how many. In the arena of c. */
size_t import_sample_read(struct ctx *c, const struct import_sample_of *of, struct csv_record *out);

/* A record that outlives its reader's next one, in the arena of c. */
struct csv_record import_record_copy(struct ctx *c, const struct csv_record *r);

#endif
