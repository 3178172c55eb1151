/* import_source.h: the lines of the file that an import reads: CSV or JSON Lines, or the rows of
 * Parquet, whose number is their place.
 *
 * The first lines may be read ahead, for those who guess types from them, and are handed out again
 * in their order. One thread. */
#ifndef CLI_TRANSFER_IMPORT_SOURCE_H
#define CLI_TRANSFER_IMPORT_SOURCE_H

#include "cli/transfer/store.h"
#include "record/record.h"

struct import_source {
    /* Set by the caller. */
    const volatile sig_atomic_t *stop; /* reading fails when it is set */
    bool keep_raw;                     /* records are wanted as they are written, too */

    struct record_reader records; /* reads JSON Lines; of CSV it only told the format */
    struct csv csv;
    struct import_rows *rows; /* of Parquet; NULL: it is none */
    struct object *object;    /* that is read; NULL: it is a file */
    bool json;
    bool hurry;         /* no line has to be read ahead */
    int fd;             /* of the file, which the reader owns */
    size_t field_count; /* CSV: of the header */
    struct csv_record
        *sample;         /* from behind the first lines, all good; of a feed or a compressed */
    size_t sample_count; /* file there are none (import_sample.h) */
    struct csv_record *ahead;
    const char **ahead_bad; /* what is wrong with that one; NULL: nothing */
    size_t ahead_count, ahead_at;
    const char *bad; /* the last one was of these; NULL: it was read just now */
    bool has_next;   /* what was said when reading ahead ended */
    enum csv_result next_result;
    struct csv_record next;
};

/* Reads the beginning of `fd`, which becomes the source's. `name` is what messages call it. Release
 * it in any case. */
int import_source_open(struct ctx *c, struct import_source *s, int fd, const char *name,
                       const struct record_form *form);
/* The same of an object that is open, which stays the caller's. */
int import_source_open_object(struct ctx *c, struct import_source *s, struct object *object,
                              const char *name, const struct record_form *form);
void import_source_release(struct import_source *s);

/* The names of the columns. JSON Lines has those of its first lines, which are read ahead, and
 * those in `keys` and `columns`, lists "NAME[:type],NAME[:type]" or NULL. */
int import_source_header(struct ctx *c, struct import_source *s, const char *name, const char *keys,
                         const char *columns, struct csv_record *header);

/* Parquet: the key that `widerow export` has noted in the file, as --key has it; else NULL. */
const char *import_source_key(struct ctx *c, const struct import_source *s);

/* What is done with a column of Parquet, before anything is read: nobody wants it, or texts of its
 * dates and times. Others pass over it. */
void import_source_omit(struct import_source *s, size_t field);
void import_source_as_text(struct import_source *s, size_t field);

/* Reads the first lines of CSV or Parquet, and a sample of the others; only those that are there,
 * if nothing is guessed from them (hurry). They stand in the arena of c. */
void import_source_read_ahead(struct ctx *c, struct import_source *s);

/* The next line. CSV_FAILED while import_source_is_idle(): it has not come yet. */
enum csv_result import_source_next(struct import_source *s, struct csv_record *out);
bool import_source_is_idle(const struct import_source *s);

/* What was wrong with the last one. */
const char *import_source_message(const struct import_source *s);

#endif
