/* meter.h: what requests cost (doc/data-model.md, "Capacity"). */
#ifndef TABLE_MODEL_METER_H
#define TABLE_MODEL_METER_H

#include "widerow.h"

#define METER_UNIT_BYTES 4096

/* Units for a size: rounded up, at least one. */
int32_t meter_units(size_t size);

/* Names and values of key and cells; each cell 8 bytes more where the table keeps versions or ages
 * data. */
size_t meter_row_size(const struct wr_table_options *o, const struct wr_key *key,
                      const struct wr_cell *cells, size_t count);

/* What a row change writes: puts and increments with their values, deletes with their names. */
size_t meter_change_size(const struct wr_table_options *o, const struct wr_key *key,
                         const struct wr_cell *cells, size_t count);

/* Names, values, and 8 bytes for each timestamp given: what the request limits count. */
size_t meter_request_size(const struct wr_row_change *change);

#endif
