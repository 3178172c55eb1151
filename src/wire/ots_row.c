/* Requests of row operations, both ways. */
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

static void ots_row_put_key(struct buf *b, unsigned field, const struct wr_key *key)
{
    pb_put_bytes(b, field, plain_encode_key(b->arena, key));
}

/* ---- what reads have in common */

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

static void put_time_range(struct buf *b, unsigned field, const struct wr_read_options *o)
{
    size_t start;

    if (!o->has_start && !o->has_end && !o->has_specific)
        return;
    start = pb_open(b, field, 0);
    if (o->has_start)
        pb_put_int(b, 1, o->start_ms);
    if (o->has_end)
        pb_put_int(b, 2, o->end_ms);
    if (o->has_specific)
        pb_put_int(b, 3, o->specific_ms);
    pb_close(b, start, 0);
}

/* The options of a read come in two runs of three fields, whose numbers differ by message. */
static void put_versions(struct buf *b, unsigned field, const struct wr_read_options *o)
{
    ots_put_names(b, field, o->columns, o->column_count);
    put_time_range(b, field + 1, o);
    if (o->has_max_versions)
        pb_put_int(b, field + 2, o->max_versions);
}

static void ots_row_put_filter(struct buf *b, unsigned field, const struct wr_read_options *o)
{
    if (o->filter)
        ots_put_filter(b, field, o->filter);
    if (o->start_column.ptr)
        pb_put_bytes(b, field + 1, o->start_column);
    if (o->end_column.ptr)
        pb_put_bytes(b, field + 2, o->end_column);
}

/* ---- reads */

int ots_decode_get_row_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__GetRowRequest *m = message;
    struct wr_get_row *r = &out->get_row;

    r->table = pb_view(m->table_name);
    r->token = view_filled(m->has_token, m->token);
    r->transaction = view_given(m->has_transaction_id, m->transaction_id);
    TRY(plain_decode_key(c, pb_view(m->primary_key), &r->key));
    return READ_OPTIONS(c, m, &r->read);
}

void ots_encode_get_row_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_get_row *r = &req->get_row;

    pb_put_bytes(b, 1, r->table);
    ots_row_put_key(b, 2, &r->key);
    put_versions(b, 3, &r->read);
    ots_row_put_filter(b, 7, &r->read);
    if (r->token.ptr)
        pb_put_bytes(b, 10, r->token);
    if (r->transaction.ptr)
        pb_put_bytes(b, 11, r->transaction);
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

int ots_decode_batch_get_row_request(struct ctx *c, const void *message, struct wr_request *out)
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

void ots_encode_batch_get_row_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_batch_get_row *r = &req->batch_get_row;

    for (size_t i = 0; i < r->table_count; i++) {
        const struct wr_table_get *t = &r->tables[i];
        size_t start = pb_open(b, 1, 0);

        pb_put_bytes(b, 1, t->table);
        for (size_t k = 0; k < t->key_count; k++)
            ots_row_put_key(b, 2, &t->keys[k]);
        if (t->tokens)
            ots_put_names(b, 3, t->tokens, t->key_count);
        put_versions(b, 4, &t->read);
        ots_row_put_filter(b, 8, &t->read);
        pb_close(b, start, 0);
    }
}

int ots_decode_get_range_request(struct ctx *c, const void *message, struct wr_request *out)
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

void ots_encode_get_range_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_get_range *r = &req->get_range;

    pb_put_bytes(b, 1, r->table);
    pb_put_int(b, 2, r->backward);
    put_versions(b, 3, &r->read);
    if (r->has_limit)
        pb_put_int(b, 6, r->limit);
    ots_row_put_key(b, 7, &r->start);
    ots_row_put_key(b, 8, &r->end);
    ots_row_put_filter(b, 10, &r->read);
    if (r->token.ptr)
        pb_put_bytes(b, 13, r->token);
    if (r->transaction.ptr)
        pb_put_bytes(b, 14, r->transaction);
    if (r->matrix)
        pb_put_int(b, 15, OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX);
    if (r->partial_keys)
        pb_put_int(b, 16, 0);
}

int ots_decode_bulk_export_request(struct ctx *c, const void *message, struct wr_request *out)
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

void ots_encode_bulk_export_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_bulk_export *r = &req->bulk_export;

    pb_put_bytes(b, 1, r->table);
    ots_put_names(b, 2, r->columns, r->column_count);
    ots_row_put_key(b, 3, &r->start);
    ots_row_put_key(b, 4, &r->end);
    if (r->filter)
        ots_put_filter(b, 5, r->filter);
    pb_put_int(b, 6, r->matrix);
}

int ots_decode_compute_split_points_by_size_request(struct ctx *c, const void *message,
                                                    struct wr_request *out)
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
        .estimated = m->estimated,
    };
    return 0;
}

void ots_encode_compute_split_points_by_size_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_split_points *s = &req->compute_split_points;

    pb_put_bytes(b, 1, s->table);
    pb_put_int(b, 2, s->split_size);
    if (s->has_unit)
        pb_put_int(b, 3, s->unit_bytes);
    if (s->has_limit)
        pb_put_int(b, 4, s->limit);
    if (s->estimated)
        pb_put_int(b, 1000, 1);
}

/* ---- what writes have in common */

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

static void put_change(struct buf *b, unsigned field, const struct wr_row_change *change)
{
    size_t n = PLAIN_HEADER_BYTES + plain_change_size(&change->row, change->type);

    pb_put_head(b, field, n);
    plain_put_change(plain_put_header(buf_reserve(b, n)), &change->row, change->type);
    buf_commit(b, n);
}

/* Condition and return content, fields 3 and 4 wherever they are. */
static void put_terms(struct buf *b, const struct wr_row_change *change)
{
    size_t start = pb_open(b, 3, 0);

    pb_put_int(b, 1, change->condition.existence);
    if (change->condition.column)
        ots_put_filter(b, 2, change->condition.column);
    pb_close(b, start, 0);
    if (change->return_type == WR_RETURN_NONE && change->return_column_count == 0)
        return;
    start = pb_open(b, 4, 0);
    pb_put_int(b, 1, change->return_type);
    ots_put_names(b, 2, change->return_columns, change->return_column_count);
    pb_close(b, start, 0);
}

/* ---- writes */

/* PutRow, UpdateRow and DeleteRow share their message and their struct. */
int ots_decode_row_change_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__RowChangeRequest *m = message;
    struct wr_row_change *change = &out->put_row;

    change->type = out->op == WR_OP_PUT_ROW      ? WR_PUT
                   : out->op == WR_OP_UPDATE_ROW ? WR_UPDATE
                                                 : WR_DELETE;
    change->table = pb_view(m->table_name);
    change->transaction = view_given(m->has_transaction_id, m->transaction_id);
    TRY(plain_decode_change(c, pb_view(m->row), change->type, &change->row));
    TRY(read_condition(c, m->condition, &change->condition));
    return read_return(c, m->return_content, change);
}

void ots_encode_row_change_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_row_change *change = &req->put_row;

    pb_put_bytes(b, 1, change->table);
    put_change(b, 2, change);
    put_terms(b, change);
    if (change->transaction.ptr)
        pb_put_bytes(b, 5, change->transaction);
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

static void put_table_write(struct buf *b, const struct wr_table_write *t, bool bulk)
{
    pb_put_bytes(b, 1, t->table);
    for (size_t i = 0; i < t->change_count; i++) {
        size_t guess = plain_change_size(&t->changes[i].row, t->changes[i].type);
        size_t start = pb_open(b, 2, guess);

        pb_put_int(b, 1, t->changes[i].type);
        put_change(b, 2, &t->changes[i]);
        if (!bulk)
            put_terms(b, &t->changes[i]);
        if (t->changes[i].keeps_number)
            pb_put_int(b, OTS_FIELD_OWN, 1);
        pb_close(b, start, guess);
    }
}

int ots_decode_batch_write_row_request(struct ctx *c, const void *message, struct wr_request *out)
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

void ots_encode_batch_write_row_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_batch_write_row *w = &req->batch_write_row;

    for (size_t i = 0; i < w->table_count; i++) {
        size_t start = pb_open(b, 1, 1 << 16);

        put_table_write(b, &w->tables[i], false);
        pb_close(b, start, 1 << 16);
    }
    if (w->transaction.ptr)
        pb_put_bytes(b, 2, w->transaction);
    if (w->atomic)
        pb_put_int(b, 3, 1);
}

int ots_decode_bulk_import_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__BulkImportRequest *m = message;

    out->bulk_import.table.table = pb_view(m->table_name);
    return read_batch_rows(c, m->n_rows, m->rows, true, &out->bulk_import.table);
}

void ots_encode_bulk_import_request(struct buf *b, const struct wr_request *req)
{
    put_table_write(b, &req->bulk_import.table, true);
}
