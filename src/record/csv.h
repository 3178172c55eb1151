/* csv.h: comma-separated values as a stream (RFC 4180).
 *
 * Records end with LF or CRLF; a field in double quotes may hold delimiters, line ends and doubled
 * quotes. Empty lines are passed over, and so is a byte order mark at the start. Stricter than many
 * readers on purpose: a quote where none may stand is an error, because the fields after it would
 * be guesses. */
#ifndef RECORD_CSV_H
#define RECORD_CSV_H

#include "base/bytes.h"

#include <sys/types.h>

#define CSV_FIELDS_MAX 2048
#define CSV_RECORD_BYTES_MAX (16 << 20)

/* Fills buf with up to n bytes. Returns how many, 0 at the end, -1 on failure (errno says). */
typedef ssize_t csv_read_fn(void *arg, void *buf, size_t n);

struct csv_field {
    bytes text;  /* without quotes; doubled quotes are single */
    bool quoted; /* tells "" (an empty text) from nothing */
};

struct wr_value;

/* A record. The fields are views, valid until the next csv_next() or csv_release(). */
struct csv_record {
    const struct csv_field *fields;
    size_t count;
    uint64_t line;   /* where it begins, from 1 */
    uint64_t offset; /* where it begins, in bytes */
    uint64_t size;   /* its bytes in the file, line end included */
    bytes raw;       /* as it is written, without the line end; ptr NULL: nobody wants that */
    const struct wr_value *values; /* of a file that is no text: `count` of them, and no fields */
};

/* The record as it is written, before its fields are unescaped where they stand. */
struct csv_raw {
    bool wanted; /* set by the caller: it costs a copy of every record */
    char *data;
    size_t capacity;
};

/* A copy that lives until the next one; BYTES_NONE where it is not wanted. */
bytes csv_raw_keep(struct csv_raw *r, const char *p, size_t n);
void csv_raw_release(struct csv_raw *r);

struct csv {
    csv_read_fn *read;
    void *arg;
    char delimiter; /* a comma, unless somebody sets another one behind csv_init() */
    char *data;     /* data[at..end) was read and not taken yet */
    size_t at, end, capacity;
    bool eof;
    uint64_t offset; /* of data[at] in the file */
    uint64_t line;   /* of data[at] */
    struct csv_field *fields;
    struct csv_raw raw;
    char message[160]; /* what CSV_BAD or CSV_FAILED was about */
};

enum csv_result {
    CSV_RECORD,
    CSV_END,
    CSV_BAD,    /* this record is malformed; the next call goes on behind it */
    CSV_FAILED, /* reading failed; further calls fail again */
};

void csv_init(struct csv *c, csv_read_fn *read, void *arg);
void csv_release(struct csv *c);

/* The next record. After CSV_BAD `out` has its line, offset and size, and no fields. */
enum csv_result csv_next(struct csv *c, struct csv_record *out);

#endif
