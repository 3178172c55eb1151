/* row.h: rows as stored bytes.
 *
 * A small row is one value at its record key. A wide row's record says only {wide, out-of-line id,
 * stamp, marker}, and its cells stand alone under  cell prefix | key columns | id | column name |
 * inverted version. doc/format.md has every byte; golden files under test/golden hold them. */
#ifndef TABLE_MODEL_ROW_H
#define TABLE_MODEL_ROW_H

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

/* A row as stored. Cells are sorted by name, newest first within a name; their timestamps are set,
 * op is PUT and crc8 is known. */
struct row {
    bool there;       /* false: no such row; all else is zero */
    bool wide;        /* cells stand alone under `id` */
    bool read_locked; /* wide: a reader asks writers to wait a moment (load.h) */
    uint64_t id;      /* of the data out of line; 0: none */
    uint64_t stamp;   /* grows with every write of the row; a guard over the row record covers it */
    int64_t marker_ms;     /* when the row was last put or created: keeps a row without cells alive
                              under a TTL */
    struct wr_cell *cells; /* small rows; NULL for wide ones until loaded */
    size_t cell_count;
    bool picked; /* cells are those of row_decode_some() alone */
};

/* The value for the record key. A wide row's cells are not in it. */
void row_encode(struct buf *b, const struct row *row);

/* Reads a row record; cells point into `value` and live in the arena of c. Damaged or of a newer
 * version: E_CORRUPT, E_FORMAT. `there` is set. */
int row_decode(struct ctx *c, bytes value, struct row *out);

/* The same of a small row with its cells of these columns alone, which are sorted; the others are
 * passed over, and what stands behind the last wanted one is not looked at. A wide row comes as of
 * row_decode(). */
int row_decode_some(struct ctx *c, bytes value, const bytes *names, size_t count, struct row *out);

/* Appends what follows the key columns in the key of a wide row's cell: id, name, version (newest
 * first). */
void cell_put_key(struct buf *b, uint64_t id, bytes name, int64_t timestamp_ms);

/* Appends only id, or id and name: the start of a range over all cells, or one column's versions.
 */
void cell_put_key_id(struct buf *b, uint64_t id);
void cell_put_key_column(struct buf *b, uint64_t id, bytes name);

/* Reads back what cell_put_key() wrote; the name lives in the arena of c. */
int cell_read_key(struct ctx *c, bytes suffix, uint64_t *id, bytes *name, int64_t *timestamp_ms);

/* The value at a wide row's cell key: everything but name and timestamp. */
void cell_encode(struct buf *b, const struct wr_cell *cell);
int cell_decode(struct ctx *c, bytes value, struct wr_cell *out);

/* Sorts cells by name, and within a name newest first; of two with the same name and timestamp only
 * the one that came later in the array stays. Returns the count that is left. */
size_t cells_sort(struct wr_cell *cells, size_t count);

/* The newest cell of the column among sorted ones, which is the first of its name, or NULL. */
const struct wr_cell *cells_find(const struct wr_cell *cells, size_t count, bytes name);

#endif
