/* index_check.h: what a change may write in the columns of an index. */
#ifndef TABLE_INDEX_INDEX_CHECK_H
#define TABLE_INDEX_INDEX_CHECK_H

#include "table/model/change_point.h"
#include "table/model/schema.h"

/* Can each cell that the change writes stand in the index? E_PARAMETER, with a text that names the
 * column. What the row had before is not looked at. */
int index_check_cells(struct ctx *c, const struct schema *base, const struct index *index,
                      const struct row_change *change);

#endif
