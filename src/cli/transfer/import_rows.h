/* import_rows.h: the rows of a Parquet file as records of an import: typed values instead of texts.
 * Their place is their number, from 0, and their line that from 1. One thread. */
#ifndef CLI_TRANSFER_IMPORT_ROWS_H
#define CLI_TRANSFER_IMPORT_ROWS_H

#include "parquet/reader.h"
#include "record/record.h"

#define IMPORT_PARQUET_MAGIC_BYTES 4

struct import_rows;

/* Does the file begin as Parquet does, and can it be read at any place? */
bool import_rows_is(int fd);

/* `fd` becomes its own; `stop` as import_source has it. Release it in any case. `keep_raw`: records
 * are wanted as JSON, too. */
int import_rows_open(struct ctx *c, int fd, const char *name, const volatile sig_atomic_t *stop,
                     bool keep_raw, struct import_rows **out);
void import_rows_release(struct import_rows *r); /* NULL is allowed */

/* The same of something that is no file, but can be read at any place. */
int import_rows_open_at(struct ctx *c, const struct parquet_source *source, const char *name,
                        bool keep_raw, struct import_rows **out);

struct parquet_reader *import_rows_reader(struct import_rows *r);
uint64_t import_rows_bytes(const struct import_rows *r); /* of the file */

/* Names, with the types of their values. In the arena of c. */
struct csv_record import_rows_header(struct ctx *c, const struct import_rows *r);

/* As csv_next() has it. */
enum csv_result import_rows_next(struct import_rows *r, struct csv_record *out);
const char *import_rows_message(const struct import_rows *r);

/* Records from all over the file, in its order, into out[max]; then it goes on where it was. In the
 * arena of c. Returns how many. */
size_t import_rows_sample(struct ctx *c, struct import_rows *r, struct csv_record *out, size_t max);

#endif
