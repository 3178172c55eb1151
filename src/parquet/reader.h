/* reader.h: the rows of a flat Parquet file, one after the other: what pyarrow, DuckDB, Spark and
 * our own writer make (snappy, gzip, zstd, lz4_raw or not compressed; all encodings of values that
 * these write; data pages of both forms).
 *
 * Memory is some pages of each column, at most PARQUET_MEMORY_MAX, whatever the size of the file.
 * One thread. */
#ifndef PARQUET_READER_H
#define PARQUET_READER_H

#include "parquet/footer.h"
#include "parquet/source.h"

#define PARQUET_MEMORY_MAX (1u << 30)
#define PARQUET_PAGE_BYTES_MAX (256u << 20)

struct parquet_reader;

/* Reads the footer; `footer` of the reader is there until it is closed, in the arena of c. `name`
 * is what messages call the file. page_bytes_max: of a page, unpacked or not
 * (PARQUET_PAGE_BYTES_MAX). E_PARAMETER: it is none that can be read, and why. */
int parquet_reader_open(struct ctx *c, const struct parquet_source *source, const char *name,
                        size_t page_bytes_max, struct parquet_reader **out);
void parquet_reader_close(struct parquet_reader *r); /* NULL is allowed */

const struct parquet_footer *parquet_reader_footer(const struct parquet_reader *r);

/* Before the first row: which columns nobody wants, whose values are then WR_NULL and not read; and
 * which dates and times are wanted as texts. */
void parquet_reader_omit(struct parquet_reader *r, size_t leaf);
void parquet_reader_as_text(struct parquet_reader *r, size_t leaf);

/* Goes on with the first row of a row group. */
void parquet_reader_seek(struct parquet_reader *r, size_t group);
uint64_t parquet_reader_row(const struct parquet_reader *r); /* number of the next one, from 0 */

enum parquet_result {
    PARQUET_ROW,
    PARQUET_END,
    PARQUET_BAD,   /* a value of this row cannot be had; the next one can */
    PARQUET_FAILED /* the file is damaged or cannot be read; further calls fail again */
};

/* The values of the next row, one a leaf, WR_NULL where there is none; views until the next call.
 */
enum parquet_result parquet_reader_next(struct parquet_reader *r, const struct wr_value **values);

/* What the last PARQUET_BAD or PARQUET_FAILED was about. */
const char *parquet_reader_message(const struct parquet_reader *r);

#endif
