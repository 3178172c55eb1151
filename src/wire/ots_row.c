/* Requests of row operations. */
#include "wire/ots_part.h"

/* A field that is empty where it is not needed: some clients send it so. */
static bytes view_filled(bool has, ProtobufCBinaryData field)
{
    return has && field.len ? pb_view(field) : BYTES_NONE;
}

static bytes view_given(bool has, ProtobufCBinaryData field)
{
    return has ? pb_view(field) : BYTES_NONE;
}

/* ---- reads */

/* What GetRow, BatchGetRow and GetRange have in common lies in messages of three types with the
 * same members, so this is a macro over all of them. */
#define READ_OPTIONS(c, m, o)                                                                      \
    read_options((c), (m)->n_columns_to_get, (m)->columns_to_get, (m)->time_range,                 \
                 (m)->has_max_versions ? &(m)->max_versions : NULL,                                \
                 view_given((m)->has_filter, (m)->filter),                                         \
                 view_given((m)->has_start_column, (m)->start_column),                             \
                 view_given((m)->has_end_column, (m)->end_column), (o))

static int read_options(struct ctx *c, size_t n, const ProtobufCBinaryData *columns,
                        const Ots__TimeRange *time, const int32_t *max_versions, bytes filter,
                        bytes start, bytes end, struct wr_read_options *o)
{
    if (time) {
        o->has_start = time->has_start_time;
        o->has_end = time->has_end_time;
        o->has_specific = time->has_specific_time;
        o->start_ms = time->start_time;
        o->end_ms = time->end_time;
        o->specific_ms = time->specific_time;
    }
    o->has_max_versions = max_versions;
    o->max_versions = max_versions ? *max_versions : 0;
    o->start_column = start;
    o->end_column = end;
    if (filter.ptr)
        TRY(ots_read_filter(c, filter, &o->filter));
    return ots_views(c, n, columns, &o->columns, &o->column_count);
}

int ots_decode_get_row(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__GetRowRequest *m = message;
    struct wr_get_row *r = &out->get_row;

    r->table = pb_view(m->table_name);
    r->token = view_filled(m->has_token, m->token);
    r->transaction = view_given(m->has_transaction_id, m->transaction_id);
    TRY(plain_decode_key(c, pb_view(m->primary_key), &r->key));
    return READ_OPTIONS(c, m, &r->read);
}

/* Tokens stand beside the keys, empty for those without; a client that needs none may send none. */
static int read_tokens(struct ctx *c, const Ots__TableInBatchGetRowRequest *m,
                       struct wr_table_get *out)
{
    bytes *tokens;

    if (m->n_token == 0)
        return 0;
    if (m->n_token > m->n_primary_key)
        return ots_fail_parse(c);
    TRY(ots_array(c, m->n_primary_key, sizeof(*tokens), &tokens));
    for (size_t i = 0; i < m->n_token; i++)
        tokens[i] = view_filled(true, m->token[i]);
    out->tokens = tokens;
    return 0;
}

static int read_table_get(struct ctx *c, const Ots__TableInBatchGetRowRequest *m,
                          struct wr_table_get *out)
{
    struct wr_key *keys;

    out->table = pb_view(m->table_name);
    TRY(ots_array(c, m->n_primary_key, sizeof(*keys), &keys));
    for (size_t i = 0; i < m->n_primary_key; i++)
        TRY(plain_decode_key(c, pb_view(m->primary_key[i]), &keys[i]));
    out->keys = keys;
    out->key_count = m->n_primary_key;
    TRY(read_tokens(c, m, out));
    return READ_OPTIONS(c, m, &out->read);
}

int ots_decode_batch_get_row(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__BatchGetRowRequest *m = message;
    struct wr_table_get *tables;

    TRY(ots_array(c, m->n_tables, sizeof(*tables), &tables));
    for (size_t i = 0; i < m->n_tables; i++)
        TRY(read_table_get(c, m->tables[i], &tables[i]));
    out->batch_get_row.tables = tables;
    out->batch_get_row.table_count = m->n_tables;
    return 0;
}

int ots_decode_get_range(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__GetRangeRequest *m = message;
    struct wr_get_range *r = &out->get_range;

    if (m->direction != 0 && m->direction != 1)
        return ots_fail_parse(c);
    r->table = pb_view(m->table_name);
    r->backward = m->direction == 1;
    r->has_limit = m->has_limit;
    r->limit = m->limit;
    r->token = view_filled(m->has_token, m->token);
    r->transaction = view_given(m->has_transaction_id, m->transaction_id);
    r->partial_keys = m->has_return_entire_primary_keys && !m->return_entire_primary_keys;
    r->matrix = m->has_data_block_type_hint &&
                m->data_block_type_hint == OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX;
    TRY(plain_decode_key(c, pb_view(m->inclusive_start_primary_key), &r->start));
    TRY(plain_decode_key(c, pb_view(m->exclusive_end_primary_key), &r->end));
    return READ_OPTIONS(c, m, &r->read);
}

int ots_decode_bulk_export(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__BulkExportRequest *m = message;
    struct wr_bulk_export *r = &out->bulk_export;

    r->table = pb_view(m->table_name);
    r->matrix = !m->has_data_block_type_hint ||
                m->data_block_type_hint != OTS__DATA_BLOCK_TYPE__DBT_PLAIN_BUFFER;
    TRY(plain_decode_key(c, pb_view(m->inclusive_start_primary_key), &r->start));
    TRY(plain_decode_key(c, pb_view(m->exclusive_end_primary_key), &r->end));
    if (m->has_filter)
        TRY(ots_read_filter(c, pb_view(m->filter), &r->filter));
    return ots_views(c, m->n_columns_to_get, m->columns_to_get, &r->columns, &r->column_count);
}

int ots_decode_compute_split_points(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ComputeSplitPointsBySizeRequest *m = message;

    (void)c;
    out->compute_split_points = (struct wr_split_points){
        .table = pb_view(m->table_name),
        .split_size = m->split_size,
        .has_unit = m->has_split_size_unit_in_byte,
        .unit_bytes =
            m->has_split_size_unit_in_byte ? m->split_size_unit_in_byte : INT64_C(100) << 20,
        .has_limit = m->has_split_point_limit,
        .limit = m->split_point_limit,
    };
    return 0;
}

/* ---- writes */

static int read_condition(struct ctx *c, const Ots__Condition *from, struct wr_condition *out)
{
    if (from->row_existence < WR_IGNORE || from->row_existence > WR_EXPECT_NOT_EXIST)
        return ots_fail_parse(c);
    out->existence = (enum wr_existence)from->row_existence;
    return from->has_column_condition
               ? ots_read_filter(c, pb_view(from->column_condition), &out->column)
               : 0;
}

/* A return type that is none of ours counts as not given, as for every optional enum. */
static int read_return(struct ctx *c, const Ots__ReturnContent *from, struct wr_row_change *out)
{
    if (!from)
        return 0;
    if (from->has_return_type && from->return_type >= WR_RETURN_NONE &&
        from->return_type <= WR_RETURN_AFTER_MODIFY)
        out->return_type = (enum wr_return_type)from->return_type;
    return ots_views(c, from->n_return_column_names, from->return_column_names,
                     &out->return_columns, &out->return_column_count);
}

/* The three single-row writes have messages of one form; the .proto file keeps them alike. */
static int read_change(struct ctx *c, const Ots__RowChangeRequest *m, enum wr_change_type type,
                       struct wr_row_change *out)
{
    out->type = type;
    out->table = pb_view(m->table_name);
    out->transaction = view_given(m->has_transaction_id, m->transaction_id);
    TRY(plain_decode_change(c, pb_view(m->row), type, &out->row));
    TRY(read_condition(c, m->condition, &out->condition));
    return read_return(c, m->return_content, out);
}

_Static_assert(sizeof(Ots__RowChangeRequest) == sizeof(Ots__RowChangeRequest) &&
                   sizeof(Ots__RowChangeRequest) == sizeof(Ots__RowChangeRequest),
               "PutRow, UpdateRow and DeleteRow are read as one");

int ots_decode_put_row(struct ctx *c, const void *message, struct wr_request *out)
{
    return read_change(c, message, WR_PUT, &out->put_row);
}

int ots_decode_update_row(struct ctx *c, const void *message, struct wr_request *out)
{
    return read_change(c, message, WR_UPDATE, &out->update_row);
}

int ots_decode_delete_row(struct ctx *c, const void *message, struct wr_request *out)
{
    return read_change(c, message, WR_DELETE, &out->delete_row);
}

static int read_batch_row(struct ctx *c, const Ots__RowInBatchWriteRowRequest *m, bool bulk,
                          struct wr_row_change *out)
{
    if (m->type < WR_PUT || m->type > WR_DELETE || (!bulk && !m->condition))
        return ots_fail_parse(c);
    out->type = (enum wr_change_type)m->type;
    TRY(plain_decode_change(c, pb_view(m->row_change), out->type, &out->row));
    if (bulk)
        return 0;
    out->keeps_number = m->has_keeps_number && m->keeps_number;
    TRY(read_condition(c, m->condition, &out->condition));
    return read_return(c, m->return_content, out);
}

static int read_batch_rows(struct ctx *c, size_t n, Ots__RowInBatchWriteRowRequest **rows,
                           bool bulk, struct wr_table_write *out)
{
    struct wr_row_change *changes;

    TRY(ots_array(c, n, sizeof(*changes), &changes));
    for (size_t i = 0; i < n; i++)
        TRY(read_batch_row(c, rows[i], bulk, &changes[i]));
    out->changes = changes;
    out->change_count = n;
    return 0;
}

int ots_decode_batch_write_row(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__BatchWriteRowRequest *m = message;
    struct wr_batch_write_row *w = &out->batch_write_row;
    struct wr_table_write *tables;

    w->atomic = m->has_is_atomic && m->is_atomic;
    w->transaction = view_given(m->has_transaction_id, m->transaction_id);
    TRY(ots_array(c, m->n_tables, sizeof(*tables), &tables));
    for (size_t i = 0; i < m->n_tables; i++) {
        tables[i].table = pb_view(m->tables[i]->table_name);
        TRY(read_batch_rows(c, m->tables[i]->n_rows, m->tables[i]->rows, false, &tables[i]));
    }
    w->tables = tables;
    w->table_count = m->n_tables;
    return 0;
}

int ots_decode_bulk_import(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__BulkImportRequest *m = message;

    out->bulk_import.table.table = pb_view(m->table_name);
    return read_batch_rows(c, m->n_rows, m->rows, true, &out->bulk_import.table);
}
