/* row_value.h: a value of a row, by its column's name. Both the search library and the command line
 * look for one, and neither may know the other. */
#ifndef ROW_VALUE_H
#define ROW_VALUE_H

#include "base/bytes.h"
#include "widerow.h"

/* That of the key, else that of the first cell of the name, which is the newest version in a row of
 * a reply. A view of the row; NULL: it has no such column. */
static inline const struct wr_value *row_value(const struct wr_row *row, bytes column)
{
    for (size_t i = 0; i < row->key.count; i++)
        if (bytes_equal(row->key.columns[i].name, column))
            return &row->key.columns[i].value;
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, column))
            return &row->cells[i].value;
    return NULL;
}

#endif
