/* parameters.h: the values that a client gives for the question marks of a prepared statement
 * (COM_STMT_EXECUTE). Pure. */
#ifndef SQL_MYSQL_PARAMETERS_H
#define SQL_MYSQL_PARAMETERS_H

#include "sql/mysql/packet.h"
#include "widerow.h"

/* The protocol's type of a parameter, which a client says once and may leave out later. */
struct parameter_type {
    uint8_t code;
    bool is_unsigned;
};

/* Reads the payload of COM_STMT_EXECUTE behind flags and iteration count, which the caller has
 * passed over in *r. `types` (count of them) are what the client said last, and are set anew if it
 * says them again; *known tells whether it ever has. `longs[i]` with a ptr is what
 * COM_STMT_SEND_LONG_DATA brought for the i-th parameter. `out` gets WR_NULL, WR_BIGINT,
 * WR_UBIGINT, WR_DOUBLE, WR_VARCHAR, WR_VARBINARY or WR_TIMESTAMP, WR_DATE, WR_TIME, with views
 * into the packet. False: the packet is not whole, a type is unknown or a moment does not exist. */
bool parameters_parse(struct reader *r, struct parameter_type *types, bool *known,
                      const bytes *longs, size_t count, struct wr_value *out);

#endif
