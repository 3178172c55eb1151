/* row_columns.h: which of the attributes of rows get a column of their own in a file of one type a
 * column (CSV, Parquet), and what of a row no column takes: that goes beside them, into
 * CELLS_COLUMN (cells.h). Columns are found in the rows as they come, by several threads. The first
 * value of a name says its type. */
#ifndef ARCHIVE_ROW_COLUMNS_H
#define ARCHIVE_ROW_COLUMNS_H

#include "base/ctx.h"
#include "parquet/writer.h"
#include "widerow.h"

#include <pthread.h>

#define ROW_COLUMNS_MAX 1024     /* of a file without CELLS_COLUMN */
#define ROW_COLUMNS_FREQUENT 500 /* attributes that get a column; others stand beside them */
#define ROW_NAMES_MAX 16384      /* that are counted */

struct row_column {
    bytes name;
    enum wr_type type;
    size_t number;  /* of the values of a row, from 0, as they were found */
    uint64_t count; /* cells, while they are counted */
};

/* Sorted by name. */
struct row_column_list {
    struct row_column *list;
    size_t count;
};

struct row_columns {
    pthread_mutex_t mutex; /* over all that follows, and over the Parquet file */
    struct arena arena;
    struct row_column_list known;
    size_t max;    /* columns that there may be */
    bool beside;   /* what no column takes goes into CELLS_COLUMN */
    bool versions; /* and so do all cells, with their timestamps */
    bool closed;   /* names that are not known by now are passed over */
    bool counted;  /* cells of each are counted */
    size_t key_count;
    struct parquet *parquet; /* where columns that are found are added; NULL: nowhere */
    size_t first;            /* values of a row in front of theirs */
};

/* A thread's view of them. */
struct row_view {
    struct row_columns *columns;
    struct row_column_list known;
    size_t capacity;
    const struct wr_value **values; /* of a row, by number; NULL: none */
    size_t values_size;
    bool whole; /* each cell of the last row is among them */
};

void row_columns_init(struct row_columns *k, size_t key_count, bool beside, bool versions);
void row_columns_release(struct row_columns *k);

/* A name that the user has given, before any thread has a view. */
int row_columns_add(struct ctx *c, struct row_columns *k, bytes name, enum wr_type type);

/* What is taken from now on is counted, where something goes beside the columns, and more names are
 * columns than may be in the end. No thread has a view. */
void row_columns_count(struct row_columns *k);

/* Keeps the ROW_COLUMNS_FREQUENT most frequent, numbered by name; nothing is counted any more. No
 * thread has a view. */
void row_columns_keep_frequent(struct row_columns *k);

void row_view_init(struct row_view *v, struct row_columns *k);
void row_view_release(struct row_view *v);

/* Puts a row's cells into v->values[columns->first + number]; room is made. A name that is new
 * becomes a column, if there may be one more; then *grown. Fails where a column has values of two
 * types and none may stand beside. */
int row_view_take(struct ctx *c, struct row_view *v, const struct wr_row *row, bool *grown);

/* What no column takes of the row that was taken last; all of it with its timestamps, if versions
 * are wanted. ptr NULL: nothing. In the arena of c. */
bytes row_view_beside(struct ctx *c, const struct row_view *v, const struct wr_row *row);

/* Adds the counts of a view to those of all. */
void row_view_merge(struct row_view *v);

#endif
