/* convert.h: one value as it stands in a Parquet file to one of ours (column.h has the table). */
#ifndef PARQUET_CONVERT_H
#define PARQUET_CONVERT_H

#include "parquet/footer.h"

#define CONVERT_TEXT_BYTES 64

/* Bytes of a value that is not a BYTE_ARRAY or BOOLEAN, as they stand in the file. */
size_t convert_width(const struct parquet_leaf *leaf);

/* Does it make texts of what are none in the file? They then need room of their own. */
bool convert_makes_text(const struct parquet_leaf *leaf, bool as_text);

/* `raw` as it stands in the file: of whole numbers, floats and FIXED convert_width() bytes. Texts
 * that are made go to `text`, others are views. False: it is beyond what the type holds. */
bool convert_raw(const struct parquet_leaf *leaf, bool as_text, bytes raw,
                 char text[CONVERT_TEXT_BYTES], struct wr_value *out);

/* The same for a whole number that was encoded as a difference. */
bool convert_number(const struct parquet_leaf *leaf, bool as_text, int64_t number,
                    char text[CONVERT_TEXT_BYTES], struct wr_value *out);

#endif
