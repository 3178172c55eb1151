#include "table/index/index_check.h"

#include "base/invariant.h"
#include "table/index/entry.h"
#include "table/model/big.h"
#include "table/model/name.h"
#include "table/model/value.h"

static const struct wr_defined_column *defined_of(const struct schema *s, bytes name)
{
    for (size_t i = 0; i < s->d.defined_count; i++)
        if (bytes_equal(s->d.defined[i].name, name))
            return &s->d.defined[i];
    return NULL;
}

static bool stands_in_key(const struct schema *base, const struct index *index,
                          const struct wr_defined_column *defined)
{
    for (size_t i = 0; i < index->location.key_count; i++)
        if (!index->from[i].is_key && &base->d.defined[index->from[i].at] == defined)
            return true;
    return false;
}

static int refuse(struct ctx *c, bytes index, const struct wr_cell *cell, enum wr_type defined)
{
    if (cell->apart)
        return fail(c, E_PARAMETER,
                    "Column '%.*s' of index '%.*s' cannot hold a value of %zu bytes, which is kept "
                    "apart from its row.",
                    BYTES_FMT(cell->name), BYTES_FMT(index), big_cell_size(cell));
    if (cell->value.type != defined)
        return fail(c, E_PARAMETER,
                    "Column '%.*s' of index '%.*s' is defined as %s. Value type: %s.",
                    BYTES_FMT(cell->name), BYTES_FMT(index), value_type_name(defined),
                    value_type_name(cell->value.type));
    return fail(c, E_PARAMETER,
                "The length of primary key column: '%.*s' exceeds the MaxLength:%d with "
                "CurrentLength:%zu in index '%.*s'.",
                BYTES_FMT(cell->name), INDEX_KEY_VALUE_BYTES_MAX, cell->value.bytes.len,
                BYTES_FMT(index));
}

/* Only what the change itself writes can be refused. */
int index_check_cells(struct ctx *c, const struct schema *base, const struct index *index,
                      const struct row_change *change)
{
    const struct wr_row *asked = &change->asked->row;

    for (size_t i = 0; i < asked->cell_count; i++) {
        struct wr_cell cell = asked->cells[i];
        const struct wr_defined_column *defined;

        if ((cell.op != WR_CELL_PUT && cell.op != WR_CELL_INCREMENT) ||
            !names_find(index->columns, index->column_count, cell.name))
            continue;
        defined = defined_of(base, cell.name);
        invariant(defined); /* or the index would not have been resolved */
        if (!entry_takes(&cell, defined->type, stands_in_key(base, index, defined)))
            return refuse(c, index->meta->name, &cell, defined->type);
    }
    return E_OK;
}
