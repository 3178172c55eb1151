#include "table/model/meter.h"

#include "table/model/big.h"
#include "table/model/key.h"
#include "table/model/value.h"

int32_t meter_units(size_t size)
{
    size_t units = (size + METER_UNIT_BYTES - 1) / METER_UNIT_BYTES;

    return units ? (int32_t)units : 1;
}

static size_t stamp_size(const struct wr_table_options *o)
{
    return o->max_versions > 1 || o->ttl_s != -1 ? 8 : 0;
}

size_t meter_row_size(const struct wr_table_options *o, const struct wr_key *key,
                      const struct wr_cell *cells, size_t count)
{
    size_t size = key_size(key) + count * stamp_size(o);

    for (size_t i = 0; i < count; i++)
        size += cells[i].name.len + big_cell_size(&cells[i]);
    return size;
}

size_t meter_change_size(const struct wr_table_options *o, const struct wr_key *key,
                         const struct wr_cell *cells, size_t count)
{
    size_t size = key_size(key);

    for (size_t i = 0; i < count; i++) {
        size += cells[i].name.len;
        if (cells[i].op == WR_CELL_PUT || cells[i].op == WR_CELL_INCREMENT)
            size += big_cell_size(&cells[i]) + stamp_size(o);
    }
    return size;
}

size_t meter_request_size(const struct wr_row_change *change)
{
    size_t size = key_size(&change->row.key);

    for (size_t i = 0; i < change->row.cell_count; i++) {
        const struct wr_cell *cell = &change->row.cells[i];

        size += cell->name.len;
        if (cell->op == WR_CELL_PUT || cell->op == WR_CELL_INCREMENT)
            size += value_size(&cell->value);
        if (cell->timestamp_ms != WR_TIMESTAMP_NONE)
            size += 8;
    }
    return size;
}
