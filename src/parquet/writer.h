/* parquet.h: rows as a Parquet file, which DuckDB, Spark, pandas and the like read.
 *
 * Pages of about 1 MiB (data pages of the first form, with checksums), zstd; each column of a row
 * group in the encoding that gives the fewest bytes (chunk.h), with its statistics, column index
 * and offset index (page_index.h). Key columns are required, others optional. Row groups are made
 * apart (group.h), so that memory is bounded whatever the size of the table, but for the indexes,
 * which take some tens of bytes a page until the end. The file's own note "widerow.key" names the
 * key columns and types: "id:integer,at:integer".
 *
 * Row groups may be made by several threads and written as they come: the footer, which is what
 * readers go by, has them in their order. */
#ifndef PARQUET_WRITER_H
#define PARQUET_WRITER_H

#include "parquet/group.h"

#include <stdio.h>

struct parquet;

/* Begins a file at the start of `out`, which stays the caller's. `columns` is copied, key_note, the
 * text of the note, must outlive the writer. */
struct parquet *parquet_open(FILE *out, const struct parquet_column *columns, size_t count,
                             struct wr_bytes key_note);

/* One column more, optional, which stands at place `at` of the file; its number is how many there
 * were before. Row groups that were made without it have no value there. */
void parquet_insert(struct parquet *p, const struct parquet_column *column, size_t at);

/* Gives a row group that is made apart the first `count` columns, by their numbers; rows that it
 * has already have no value in what it lacked. Not while one is inserted. */
void parquet_widen(const struct parquet *p, struct group *g, size_t count);

/* Writes a row group that was packed, of some of the file's columns, the first ones by number, and
 * empties it. Groups stand in the file's footer by their order: `piece`, then as they came. One
 * thread at a time. */
void parquet_add(struct parquet *p, struct group *g, uint64_t piece);

/* Writes, if `whole`, the page indexes and the footer, without which a file is none; frees. Whether
 * all could be written ferror(out) tells. */
void parquet_close(struct parquet *p, bool whole);

#endif
