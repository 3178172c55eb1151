#include "archive/row_file.h"

#include "archive/cells.h"
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

static int check_type(struct ctx *c, bytes name, enum wr_type type)
{
    if (parquet_takes(type))
        return 0;
    return fail(c, E_PARAMETER, "column %.*s is of type %s, which export does not write",
                BYTES_FMT(name), type_name(type));
}

/* By number: the key, what stands beside, the attributes. In the file, what stands beside comes
 * last. */
int row_file_open(struct ctx *c, FILE *out, const struct wr_table_description *table,
                  struct row_columns *k)
{
    struct parquet_column columns[WR_KEY_COLUMNS_MAX + 1];
    const struct row_column_list *known = &k->known;

    for (size_t i = 0; i < k->key_count; i++) {
        columns[i] = (struct parquet_column){table->key[i].name, table->key[i].type, true};
        TRY(check_type(c, columns[i].name, columns[i].type));
    }
    for (size_t i = 0; i < known->count; i++)
        TRY(check_type(c, known->list[i].name, known->list[i].type));
    columns[k->key_count] = (struct parquet_column){BYTES_LIT(CELLS_COLUMN), WR_VARBINARY, false};
    k->first = k->key_count + k->beside;
    k->parquet = parquet_open(out, columns, k->first, row_file_key(c, table));
    for (size_t i = 0; i < known->count; i++)
        parquet_insert(k->parquet,
                       &(struct parquet_column){known->list[i].name, known->list[i].type, false},
                       k->key_count + i);
    return 0;
}

int row_file_put(struct ctx *c, struct row_view *v, struct group *g, const struct wr_row *row)
{
    struct row_columns *k = v->columns;
    struct wr_value beside = {.type = WR_VARBINARY};
    bool grown = g->count == 0;

    TRY(row_view_take(c, v, row, &grown));
    if (grown) {
        pthread_mutex_lock(&k->mutex);
        parquet_widen(k->parquet, g, k->first + v->known.count);
        pthread_mutex_unlock(&k->mutex);
    }
    for (size_t i = 0; i < row->key.count; i++)
        v->values[i] = &row->key.columns[i].value;
    beside.bytes = row_view_beside(c, v, row);
    if (k->beside)
        v->values[row->key.count] = beside.bytes.len ? &beside : NULL;
    group_put(g, v->values);
    return 0;
}
