/* value.h: typed values: names, order, sizes, checks. */
#ifndef TABLE_MODEL_VALUE_H
#define TABLE_MODEL_VALUE_H

#include "base/ctx.h"
#include "widerow.h"

/* What a type is; the last row is that of numbers that are no type. `crc` is the byte that stands
 * for the type in a cell's checksum: PlainBuffer's type byte where it has one, else our own number.
 */
struct value_kind {
    const char *name;
    uint8_t width;
    bool stored, key, bytes, text;
    uint8_t crc;
};
#define VALUE_KINDS (WR_AUTO_INCREMENT + 2)
extern const struct value_kind value_kinds[VALUE_KINDS];

/* The name in error texts: "VT_INTEGER", "VT_STRING", "VT_BLOB", "VT_DOUBLE", "VT_BOOLEAN",
 * "VT_INF_MIN", "VT_INF_MAX", "VT_AUTO_INCREMENT"; for the other types their own ("VT_TINYINT"; the
 * 32-bit WR_INTEGER is "VT_INT", because "VT_INTEGER" is what Tablestore calls 64 bits). */
const char *value_type_name(enum wr_type type);

static inline const struct value_kind *value_kind(enum wr_type type)
{
    return &value_kinds[(size_t)type < VALUE_KINDS ? (size_t)type : VALUE_KINDS - 1];
}

/* True if the value is held in `bytes`. */
static inline bool value_is_bytes(enum wr_type type)
{
    return value_kind(type)->bytes;
}

/* True if the value is UTF-8 text: VARCHAR, CHAR, JSON. */
static inline bool value_is_text(enum wr_type type)
{
    return value_kind(type)->text;
}

/* True if a cell may hold the type: not NULL, not a placeholder, not a number that is no type. */
static inline bool value_is_stored(enum wr_type type)
{
    return value_kind(type)->stored;
}

/* True if the type may stand in a key. */
static inline bool value_is_key_type(enum wr_type type)
{
    return value_kind(type)->key;
}

/* Bytes of the stored payload of a type of fixed width; 0 for the types held in `bytes`. */
static inline size_t value_width(enum wr_type type)
{
    return value_kind(type)->width;
}

/* A value of fixed width as a number of value_width() bytes (two's complement, IEEE 754), and back.
 * value_from_bits() is false if no value has these bits (a BOOLEAN above 1). */
uint64_t value_bits(const struct wr_value *v);
bool value_from_bits(enum wr_type type, uint64_t bits, struct wr_value *out);

/* True if the value is one that its type can hold: a whole number within the width, a DECIMAL that
 * is one, a FLOAT or DOUBLE that is finite. Says nothing of lengths and of UTF-8. */
bool value_in_range(const struct wr_value *v);

/* Below, at or above zero; both of one type. Numbers by value (NaN above all), texts and bytes as
 * unsigned bytes, CHAR and BINARY as if padded to one length, DECIMAL by value, false before true.
 */
int value_compare(const struct wr_value *a, const struct wr_value *b);

/* Bytes as capacity counts them: 8 for BIGINT and DOUBLE, 1 for BOOLEAN, the length for texts,
 * bytes and DECIMAL; the other SQL types count their width, placeholders nothing. */
static inline size_t value_size(const struct wr_value *v)
{
    const struct value_kind *kind = value_kind(v->type);

    return kind->bytes ? v->bytes.len : kind->width;
}

/* The checksum PlainBuffer gives a cell: over name, bare value, and the timestamp if it is not
 * WR_TIMESTAMP_NONE. For types that PlainBuffer does not have: over the stored form of the value
 * (doc/format.md, "Cell checksum"). */
uint8_t value_crc8(bytes name, const struct wr_value *v, int64_t timestamp_ms);

/* The byte that stands for the type in it, behind the name. */
uint8_t value_crc8_type(enum wr_type type);

/* Goes on from the checksum of a cell without timestamp. */
uint8_t value_crc8_stamp(uint8_t crc, int64_t timestamp_ms);

/* A copy whose bytes live in the arena. */
struct wr_value value_copy(struct arena *a, const struct wr_value *v);

#endif
