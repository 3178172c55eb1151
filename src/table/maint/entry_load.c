#include "table/maint/entry_load.h"

#include "table/row/load.h"

int entry_load(struct ctx *c, const struct table *t, const struct index *index, bytes cols,
               struct index_entry *out)
{
    struct load load = {.c = c,
                        .table = t,
                        .cols = cols,
                        .view = VIEW_LATEST,
                        .urgent = true,
                        .columns = index->columns,
                        .column_count = index->column_count};

    TRY(wait_load(&load));
    *out = entry_of(&c->arena, &t->schema, index, cols, &load.row);
    return E_OK;
}
