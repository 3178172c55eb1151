/* flat.h: rows as SQLQuery's FlatBuffers have them: by column (doc/wire.md, "SQLQuery"). */
#ifndef WIRE_FLAT_H
#define WIRE_FLAT_H

#include "base/bytes.h"
#include "widerow.h"

/* A column's type is one of WR_BIGINT, WR_DOUBLE, WR_BOOLEAN, WR_VARCHAR, WR_VARBINARY; and in flat
 * buffers WR_TIMESTAMP, WR_DATE and WR_TIME, whose values are microseconds and seconds since 1970,
 * and nanoseconds. */
struct flat_column {
    bytes name;
    enum wr_type type;
};

/* Values are of the column's type or WR_NULL. */
struct flat_rows {
    const struct flat_column *columns;
    size_t column_count;
    const struct wr_value *const *rows;
    size_t row_count;
};

/* How many bytes flat_put() writes at most. */
size_t flat_size_max(const struct flat_rows *rows);

/* Writes the buffer to `to`, aligned for 8 bytes within itself; its size. */
size_t flat_put(uint8_t *to, const struct flat_rows *rows);

#endif
