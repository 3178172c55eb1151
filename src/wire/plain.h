/* plain.h: PlainBuffer, the row format inside protobuf bytes fields (doc/wire.md, "PlainBuffer").
 *
 * Decoders check everything, both checksums included; names, texts and blobs of what they give
 * point into the input, arrays live in the arena of `c`. Zero bytes behind a row checksum are
 * tolerated and nothing else. All failures are E_PARAMETER with the text a client gets, or E_MEMORY
 * at the arena's cap.
 *
 * Encoders come in two steps so that the caller can reserve memory once: plain_*_size() and then
 * plain_put_*(), which writes exactly that many bytes and returns the end. Types that PlainBuffer
 * does not have go as the nearest it has: small integers and times as INTEGER, FLOAT as DOUBLE,
 * texts as STRING, bytes as BLOB. */
#ifndef WIRE_PLAIN_H
#define WIRE_PLAIN_H

#include "base/buf.h"
#include "base/ctx.h"
#include "widerow.h"

#define PLAIN_HEADER_BYTES 4

/* The type byte of bare values, and the tag of the matrix' missing values. */
enum plain_type {
    VT_INTEGER = 0x00,
    VT_DOUBLE = 0x01,
    VT_BOOLEAN = 0x02,
    VT_STRING = 0x03,
    VT_NULL = 0x06,
    VT_BLOB = 0x07,
    VT_INF_MIN = 0x09,
    VT_INF_MAX = 0x0A,
    VT_AUTO_INCREMENT = 0x0B,
};

/* The nearest PlainBuffer type; VT_NULL for WR_NULL. */
enum plain_type plain_type_of(enum wr_type type);

/* Reads a buffer of one row that has a key only. A key without columns is passed on. */
int plain_decode_key(struct ctx *c, bytes in, struct wr_key *out);

/* Reads a buffer of one row change. Cells keep their order and what they ask for; puts have crc8
 * set and known. The delete marker must be there with WR_DELETE and only then; cells that stand
 * beside it are passed on. */
int plain_decode_change(struct ctx *c, bytes in, enum wr_change_type type, struct wr_row *out);

/* Reads any number of rows behind one header, as answers hold them; 0 bytes are no rows. Cells are
 * puts with crc8 known. */
int plain_decode_rows(struct ctx *c, bytes in, const struct wr_row **rows, size_t *count);

/* Reads a bare value that fills the whole input. */
int plain_decode_value(struct ctx *c, bytes in, struct wr_value *out);

size_t plain_value_size(const struct wr_value *v);
uint8_t *plain_put_value(uint8_t *p, const struct wr_value *v);

/* The 4 bytes in front of all rows of a buffer. */
uint8_t *plain_put_header(uint8_t *p);

/* A row of an answer, without header. The checksum of each cell is cell->crc8 as it stands, for the
 * types PlainBuffer has; every cell has a timestamp. `key_mask` has a bit for each key column that
 * is to be written (PLAIN_KEY_ALL: all); with none of them the key section is left out. */
#define PLAIN_KEY_ALL UINT32_MAX
size_t plain_row_size(const struct wr_row *row, uint32_t key_mask);
uint8_t *plain_put_row(uint8_t *p, const struct wr_row *row, uint32_t key_mask);

/* The same without asking for the size before. NULL: the row might not fit in front of `end`, and
 * what stands there now means nothing; of a row that leaves some 100 bytes over this is not said.
 */
uint8_t *plain_try_row(uint8_t *p, const uint8_t *end, const struct wr_row *row, uint32_t key_mask);

/* A row change of a request, without header. Checksums are computed. */
size_t plain_change_size(const struct wr_row *row, enum wr_change_type type);
uint8_t *plain_put_change(uint8_t *p, const struct wr_row *row, enum wr_change_type type);

/* What a row held before a change, in a stream's record: cells without a key, and without header.
 * The key section is there all the same: the tunnel worker for Go reads no row without one. */
size_t plain_old_cells_size(const struct wr_row *row);
uint8_t *plain_put_old_cells(uint8_t *p, const struct wr_row *row);

/* Where a stream's record stands in its shard. */
struct plain_sequence {
    int32_t epoch;
    int64_t timestamp_us;
    int32_t row_index;
};

/* A record of a stream, without header: a row change without delete marker, and its place. */
size_t plain_record_size(const struct wr_row *row);
uint8_t *plain_put_record(uint8_t *p, const struct wr_row *row, const struct plain_sequence *at);

/* Reads a buffer of one record. */
int plain_decode_record(struct ctx *c, bytes in, struct wr_row *out, struct plain_sequence *at);

/* A buffer with header and a key only, in the arena. */
bytes plain_encode_key(struct arena *a, const struct wr_key *key);

/* A bare value, in the arena. */
bytes plain_encode_value(struct arena *a, const struct wr_value *v);

#endif
