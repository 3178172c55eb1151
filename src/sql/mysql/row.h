/* row.h: rows as MySQL's two protocols have them: as texts, for COM_QUERY, and in binary, for
 * prepared statements. Each function writes the payload of one packet. */
#ifndef SQL_MYSQL_ROW_H
#define SQL_MYSQL_ROW_H

#include "sql/mysql/packet.h"
#include "widerow.h"

/* `values` has one for each column, of the column's type or WR_NULL. */
void row_put_text(struct buf *b, const struct wr_value *values, size_t count);
void row_put_binary(struct buf *b, const struct wr_value *values, size_t count);

#define ROW_NUMBER_TEXT 32

/* The shortest text that reads back as the same number. Returns its length; it ends with a NUL. */
size_t row_format_double(double v, char out[ROW_NUMBER_TEXT]);
size_t row_format_float(float v, char out[ROW_NUMBER_TEXT]);

#endif
