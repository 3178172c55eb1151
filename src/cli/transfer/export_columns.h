/* export_columns.h: which attribute columns an export writes, and the types they have: found in the
 * rows as they come, by several threads. The first value of a name says its type. */
#ifndef CLI_TRANSFER_EXPORT_COLUMNS_H
#define CLI_TRANSFER_EXPORT_COLUMNS_H

#include "base/ctx.h"
#include "parquet/writer.h"
#include "widerow.h"

#include <pthread.h>

#define EXPORT_COLUMNS_MAX 1024
#define EXPORT_PARQUET_COLUMNS 500 /* attributes that get a column; others stand beside them */
#define EXPORT_NAMES_MAX 16384     /* that are counted */

struct export_column {
    bytes name;
    enum wr_type type;
    size_t number;  /* of the values of a row, from 0, as they were found */
    uint64_t count; /* cells, while they are counted */
};

/* Sorted by name. */
struct export_list {
    struct export_column *list;
    size_t count;
};

struct export_columns {
    pthread_mutex_t mutex; /* over all that follows, and over the Parquet file */
    struct arena arena;
    struct export_list known;
    size_t max;    /* columns that there may be */
    bool beside;   /* what no column takes goes into CELLS_COLUMN */
    bool versions; /* and so do all cells, with their timestamps */
    bool closed;   /* names that are not known by now are passed over */
    bool counted;  /* cells of each are counted */
    size_t key_count;
    struct parquet *parquet; /* where columns that are found are added; NULL: nowhere */
};

/* A thread's view of them. */
struct export_view {
    struct export_columns *columns;
    struct export_list known;
    size_t capacity;
    const struct wr_value **values; /* of a row, by number; NULL: none */
    size_t values_size;
    bool whole; /* each cell of the last row is among them */
};

void export_columns_init(struct export_columns *k, size_t key_count, bool beside, bool versions);
void export_columns_release(struct export_columns *k);

/* A name that the user has given, before any thread has a view. */
int export_columns_add(struct ctx *c, struct export_columns *k, bytes name, enum wr_type type);

/* Keeps the EXPORT_PARQUET_COLUMNS most frequent, numbered by name. No thread has a view. */
void export_columns_keep_frequent(struct export_columns *k);

void export_view_init(struct export_view *v, struct export_columns *k);
void export_view_release(struct export_view *v);

/* Puts a row's cells into v->values[first + number]; room is made. A name that is new becomes a
 * column, if there may be one more; then *grown. Fails where a column has values of two types and
 * none may stand beside. */
int export_view_take(struct ctx *c, struct export_view *v, const struct wr_row *row, size_t first,
                     bool *grown);

/* What no column takes of the row that was taken last; all of it with its timestamps, if versions
 * are wanted. ptr NULL: nothing. In the arena of c. */
bytes export_view_beside(struct ctx *c, const struct export_view *v, const struct wr_row *row);

/* Adds the counts of a view to those of all. */
void export_view_merge(struct export_view *v);

#endif
