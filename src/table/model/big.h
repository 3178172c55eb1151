/* big.h: big cells as stored bytes: the reference that stands in the row, and the pieces it is made
 * of.
 *
 * A value that came as a stream may be stored out of line, in chunks under an id of its own. The
 * row's cell then has `apart` (out of line) set and a reference as its value. doc/format.md,
 * "Cells of wide rows", has every byte. */
#ifndef TABLE_MODEL_BIG_H
#define TABLE_MODEL_BIG_H

#include "base/buf.h"
#include "base/ctx.h"
#include "table/model/layout.h"
#include "table/model/value.h"
#include "widerow.h"

#define BIG_CHUNK_BYTES ((size_t)512 << 10) /* of new cells; each reference names its own */
#define BIG_CHUNK_HEAD 9                    /* in front of a chunk's data */
#define BIG_REF_BYTES 56
#define BIG_SHA256_BYTES 32

struct big_ref {
    uint64_t id;
    uint64_t length;
    uint32_t location;    /* the chunks' (layout.h): an upload must not end in another table */
    uint32_t chunk_bytes; /* of every chunk but the last */
    uint8_t sha256[BIG_SHA256_BYTES]; /* of the value */
};

/* The value of a cell that is out of line, in the arena; and back (E_CORRUPT). */
struct wr_value big_value(struct arena *a, const struct big_ref *ref);
int big_read(struct ctx *c, const struct wr_cell *cell, struct big_ref *out);
/* What big_read() has read before. */
struct big_ref big_peek(const struct wr_cell *cell);

/* Bytes of a cell's value as capacity and limits count them, wherever it is. */
size_t big_out_of_line_size(const struct wr_cell *cell); /* of one that is out of line */
static inline size_t big_cell_size(const struct wr_cell *cell)
{
    return PORT_UNLIKELY(cell->apart) ? big_out_of_line_size(cell) : value_size(&cell->value);
}

/* Keys, in the arena: a chunk's, the bounds of all chunks of a cell, the garbage record of an id.
 */
bytes big_chunk_key(struct arena *a, const struct location *p, bytes cols, uint64_t id,
                    uint32_t number);
bytes big_chunk_bound(struct arena *a, const struct location *p, bytes cols, uint64_t id,
                      bool past);
bytes big_garbage_key(struct arena *a, const struct location *p, bytes cols, uint64_t id);

/* What a garbage record says: which kind of data out of line, and since when nobody needs it. */
enum garbage_kind {
    GARBAGE_ROW = 1, /* the cells of a wide row, and the chunks those refer to */
    GARBAGE_CELL =
        2, /* the chunks of one big cell; where nobody else writes, it may be on its way */
    GARBAGE_UPLOAD =
        3, /* the same, on its way; the time is when the writer renewed it (upload.h) */
    GARBAGE_ERASING = 4, /* chunks that are being erased: nobody may add to them or publish them */
};
#define BIG_GARBAGE_BYTES 9
bytes big_garbage_value(struct arena *a, enum garbage_kind kind, int64_t time_ms);
bool big_garbage_read(bytes value, enum garbage_kind *kind, int64_t *time_ms);

/* Fills the BIG_CHUNK_HEAD bytes at `chunk`, behind which `len` bytes of data stand. */
void big_chunk_seal(uint8_t *chunk, size_t len, uint64_t id, uint32_t number);

/* The data of chunk `number` of a cell, verified. E_CORRUPT. */
int big_chunk_open(struct ctx *c, bytes stored, const struct big_ref *ref, uint32_t number,
                   bytes *data);

/* How many chunks there are, and the bytes of one. */
uint64_t big_chunk_count(const struct big_ref *ref);
size_t big_chunk_len(const struct big_ref *ref, uint32_t number);

#endif
