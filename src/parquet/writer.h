/* parquet.h: rows as a Parquet file, which DuckDB, Spark, pandas and the like read.
 *
 * Pages of about 1 MiB (data pages of the first form, with checksums), zstd; few different values
 * as numbers of a dictionary, other whole numbers as differences, all else PLAIN. Key columns are
 * required, others optional. A row group holds at most 64 MiB before compression, so that memory is
 * bounded whatever the size of the table. The file's own note "widerow.key" names the key columns
 * and types: "id:integer,at:integer". */
#ifndef PARQUET_WRITER_H
#define PARQUET_WRITER_H

#include "widerow.h"

#include <stdbool.h>
#include <stdio.h>

struct parquet_column {
    struct wr_bytes name; /* must outlive the writer */
    enum wr_type type;    /* one of the five that parquet_takes() */
    bool key;
};

/* WR_BIGINT, WR_DOUBLE, WR_BOOLEAN, WR_VARCHAR, WR_VARBINARY. */
bool parquet_takes(enum wr_type type);

struct parquet;

/* Begins a file at the start of `out`, which stays the caller's. `columns` is copied, key_note, the
 * text of the note, must outlive the writer. */
struct parquet *parquet_open(FILE *out, const struct parquet_column *columns, size_t count,
                             struct wr_bytes key_note);

/* A row: a value of its column's type for each column, or NULL: there is none. A key's are all
 * there. */
void parquet_put(struct parquet *p, const struct wr_value *const *values);

/* Writes what is left, and, if `whole`, the footer, without which a file is none; frees. Whether
 * all could be written ferror(out) tells. */
void parquet_close(struct parquet *p, bool whole);

#endif
