#include "archive/row_file.h"

#include "record/type_name.h"

bytes row_file_key(struct ctx *c, const struct wr_table_description *table)
{
    struct buf b;

    buf_init(&b, &c->arena, 0);
    for (size_t i = 0; i < table->key_count; i++) {
        if (i)
            buf_put_u8(&b, ',');
        buf_put_bytes(&b, table->key[i].name);
        buf_put_u8(&b, ':');
        buf_put_bytes(&b, bytes_str(type_name(table->key[i].type)));
    }
    return buf_bytes(&b);
}

int row_file_open(struct ctx *c, FILE *out, const struct wr_table_description *table,
                  const struct row_columns *r, struct parquet **file)
{
    size_t keys = table->key_count, count = keys + r->count;
    struct parquet_column *columns = ARENA_ARRAY(&c->arena, struct parquet_column, count + 1);

    for (size_t i = 0; i < count; i++) {
        columns[i] =
            i < keys
                ? (struct parquet_column){table->key[i].name, table->key[i].type, true}
                : (struct parquet_column){r->list[i - keys].name, r->list[i - keys].type, false};
        if (!parquet_takes(columns[i].type))
            return fail(c, E_PARAMETER, "column %.*s is of type %s, which export does not write",
                        BYTES_FMT(columns[i].name), type_name(columns[i].type));
    }
    if (r->beside)
        columns[count++] = (struct parquet_column){BYTES_LIT(CELLS_COLUMN), WR_VARBINARY, false};
    *file = parquet_open(out, columns, count, row_file_key(c, table));
    return 0;
}

int row_file_put(struct ctx *c, struct parquet *file, const struct row_columns *r,
                 const struct wr_row *row)
{
    const struct wr_value *values[WR_KEY_COLUMNS_MAX + ROW_COLUMNS_MAX + 1];
    struct wr_value beside = {.type = WR_VARBINARY, .bytes = row_columns_beside(c, r, row)};
    size_t cell = 0, keys = row->key.count;

    for (size_t i = 0; i < keys; i++)
        values[i] = &row->key.columns[i].value;
    for (size_t i = 0; i < r->count; i++)
        TRY(row_columns_take(c, r, row, &cell, i, &values[keys + i]));
    values[keys + r->count] = beside.bytes.len ? &beside : NULL;
    parquet_put(file, values);
    return 0;
}
