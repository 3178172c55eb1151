/* heat_place.h: from a key as heat maps and size watches keep it to what people can read. */
#ifndef TABLE_ADMIN_HEAT_PLACE_H
#define TABLE_ADMIN_HEAT_PLACE_H

#include "base/ctx.h"
#include "table/model/schema.h"

/* `key`: a bucket byte and encoded key columns, of which the last may have been cut. Gives at most
 * `columns` of them; of a text that was cut, what is left of it; of a number that was cut, nothing.
 * Everything in the arena of c. */
void heat_place_read(struct ctx *c, const struct schema *s, bytes key, size_t columns,
                     struct wr_heat_place *out);

#endif
