/* Answers as structs. Requests as bytes are in ots_client.c. */
#include "wire/matrix.h"
#include "wire/ots_client.h"
#include "wire/ots_part.h"

static const char text_reply[] = "The answer is not one of this protocol.";

static int fail_reply(struct ctx *c)
{
    return fail(c, E_PARAMETER, "%s", text_reply);
}

/* A text with its closing NUL. */
static const char *text_of(struct ctx *c, bytes b)
{
    return arena_printf(&c->arena, "%.*s", BYTES_FMT(b)).ptr;
}

/* ---- table operations */

static int read_empty(struct ctx *c, bytes body, struct wr_reply *out)
{
    (void)c;
    (void)body;
    (void)out;
    return 0;
}

static int read_list_table(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__ListTableResponse *m;
    const void *message;

    TRY(pb_unpack(c, &ots__list_table_response__descriptor, body, text_reply, &message));
    m = message;
    return ots_views(c, m->n_table_names, m->table_names, &out->table_list.tables,
                     &out->table_list.count);
}

static int read_stream_now(struct ctx *c, const Ots__StreamDetails *m,
                           struct wr_table_description *d)
{
    if (!m)
        return 0;
    d->stream.given = true;
    d->stream.enable = m->enable_stream;
    d->stream.has_expiration = m->has_expiration_time;
    d->stream.expiration_h = m->expiration_time;
    d->stream_id = pb_view(m->stream_id);
    d->stream_enable_us = m->last_enable_time;
    return ots_views(c, m->n_columns_to_get, m->columns_to_get, &d->stream.columns_to_get,
                     &d->stream.column_count);
}

static void read_throughput_now(const Ots__ReservedThroughputDetails *m,
                                struct wr_table_description *d)
{
    const Ots__CapacityUnit *cu = m->capacity_unit;

    d->reserved = (struct wr_throughput){cu->has_read, cu->has_write, cu->read, cu->write};
    d->last_increase_s = m->last_increase_time;
    d->last_decrease_s = m->last_decrease_time;
}

static int read_splits(struct ctx *c, const Ots__DescribeTableResponse *m,
                       struct wr_table_description *d)
{
    struct wr_value *splits;

    TRY(ots_array(c, m->n_shard_splits, sizeof(*splits), &splits));
    for (size_t i = 0; i < m->n_shard_splits; i++) {
        struct wr_key key;

        TRY(plain_decode_key(c, pb_view(m->shard_splits[i]), &key));
        if (key.count == 0)
            return fail_reply(c);
        splits[i] = key.columns[0].value;
    }
    d->splits = splits;
    d->split_count = m->n_shard_splits;
    return 0;
}

static int read_describe_table(struct ctx *c, bytes body, struct wr_reply *out)
{
    struct wr_table_description *d = &out->description;
    const Ots__DescribeTableResponse *m;
    const Ots__TableMeta *meta;
    const void *message;

    TRY(pb_unpack(c, &ots__describe_table_response__descriptor, body, text_reply, &message));
    m = message;
    meta = m->table_meta;
    if (m->table_status < WR_TABLE_ACTIVE || m->table_status > WR_TABLE_UPDATING)
        return fail_reply(c);
    d->status = (enum wr_table_status)m->table_status;
    d->table = pb_view(meta->table_name);
    d->creation_us = m->creation_time;
    d->layout = m->has_layout ? pb_view(m->layout) : BYTES_LIT("plain");
    read_throughput_now(m->reserved_throughput_details, d);
    ots_read_options(m->table_options, &d->options);
    if (m->sse_details)
        ots_read_sse(m->sse_details, &d->sse);
    TRY(ots_read_keys(c, meta->n_primary_key, meta->primary_key, &d->key, &d->key_count));
    TRY(ots_read_defined(c, meta->n_defined_column, meta->defined_column, &d->defined,
                         &d->defined_count));
    TRY(read_stream_now(c, m->stream_details, d));
    TRY(read_splits(c, m, d));
    return ots_read_indexes(c, m->n_index_metas, m->index_metas, &d->indexes, &d->index_count);
}

static int read_update_table(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__UpdateTableResponse *m;
    const void *message;

    TRY(pb_unpack(c, &ots__update_table_response__descriptor, body, text_reply, &message));
    m = message;
    read_throughput_now(m->reserved_throughput_details, &out->description);
    ots_read_options(m->table_options, &out->description.options);
    return read_stream_now(c, m->stream_details, &out->description);
}

static int read_rekey_table(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__RekeyTableResponse *m;
    const void *message;

    TRY(pb_unpack(c, &ots__rekey_table_response__descriptor, body, text_reply, &message));
    m = message;
    out->rekey = (struct wr_rekey_result){.layout = pb_view(m->layout),
                                          .target = m->has_target ? pb_view(m->target) : BYTES_NONE,
                                          .rows = m->rows,
                                          .percent = m->percent};
    return 0;
}

/* ---- row operations */

static void read_consumed(const Ots__ConsumedCapacity *m, struct wr_capacity *out)
{
    if (!m)
        return;
    out->read = m->capacity_unit->read;
    out->write = m->capacity_unit->write;
    if (m->capacity_data_size) {
        out->read_size = m->capacity_data_size->read_size;
        out->write_size = m->capacity_data_size->write_size;
    }
}

/* A field that holds one row or, with 0 bytes, none. */
static int read_one_row(struct ctx *c, ProtobufCBinaryData field, struct wr_row *out)
{
    const struct wr_row *rows;
    size_t n;

    TRY(plain_decode_rows(c, pb_view(field), &rows, &n));
    if (n > 1)
        return fail_reply(c);
    if (n)
        *out = rows[0];
    return 0;
}

static int read_get_row(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__GetRowResponse *m;
    const void *message;

    TRY(pb_unpack(c, &ots__get_row_response__descriptor, body, text_reply, &message));
    m = message;
    out->row.message = "";
    read_consumed(m->consumed, &out->row.consumed);
    if (m->has_next_token && m->next_token.len)
        out->row.next_token = pb_view(m->next_token);
    return read_one_row(c, m->row, &out->row.row);
}

static int read_put_row(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__PutRowResponse *m;
    const void *message;

    TRY(pb_unpack(c, &ots__put_row_response__descriptor, body, text_reply, &message));
    m = message;
    out->row.message = "";
    read_consumed(m->consumed, &out->row.consumed);
    return read_one_row(c, m->row, &out->row.row);
}

static int read_result(struct ctx *c, const Ots__RowInBatchResponse *m, struct wr_row_result *out)
{
    out->message = "";
    read_consumed(m->consumed, &out->consumed);
    if (!m->is_ok && !m->error)
        return fail_reply(c);
    if (!m->is_ok) {
        out->code = ots_error_of(pb_view(m->error->code), pb_view(m->error->message));
        out->message = text_of(c, pb_view(m->error->message));
        return 0;
    }
    if (m->has_next_token && m->next_token.len)
        out->next_token = pb_view(m->next_token);
    return read_one_row(c, m->row, &out->row);
}

static int read_table_result(struct ctx *c, const Ots__TableInBatchResponse *m,
                             struct wr_table_result *out)
{
    struct wr_row_result *rows;

    TRY(ots_array(c, m->n_rows, sizeof(*rows), &rows));
    for (size_t i = 0; i < m->n_rows; i++)
        TRY(read_result(c, m->rows[i], &rows[i]));
    *out = (struct wr_table_result){pb_view(m->table_name), rows, m->n_rows};
    return 0;
}

static int read_batch(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__BatchResponse *m;
    struct wr_table_result *tables;
    const void *message;

    TRY(pb_unpack(c, &ots__batch_response__descriptor, body, text_reply, &message));
    m = message;
    TRY(ots_array(c, m->n_tables, sizeof(*tables), &tables));
    for (size_t i = 0; i < m->n_tables; i++)
        TRY(read_table_result(c, m->tables[i], &tables[i]));
    out->batch = (struct wr_batch_result){tables, m->n_tables};
    return 0;
}

static int read_bulk_import(struct ctx *c, bytes body, struct wr_reply *out)
{
    struct wr_table_result *table;
    const void *message;

    TRY(pb_unpack(c, &ots__table_in_batch_response__descriptor, body, text_reply, &message));
    TRY(ots_array(c, 1, sizeof(*table), &table));
    TRY(read_table_result(c, message, table));
    out->batch = (struct wr_batch_result){table, 1};
    return 0;
}

static int read_range_rows(struct ctx *c, bytes next, bytes rows, int32_t block_type,
                           struct wr_range_result *r)
{
    if (next.len)
        TRY(plain_decode_key(c, next, &r->next));
    if (block_type == OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX)
        return matrix_decode(c, rows, &r->rows, &r->row_count);
    return plain_decode_rows(c, rows, &r->rows, &r->row_count);
}

static int read_get_range(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__GetRangeResponse *m;
    const void *message;

    TRY(pb_unpack(c, &ots__get_range_response__descriptor, body, text_reply, &message));
    m = message;
    read_consumed(m->consumed, &out->range.consumed);
    return read_range_rows(c, pb_view(m->next_start_primary_key), pb_view(m->rows),
                           m->data_block_type, &out->range);
}

static int read_bulk_export(struct ctx *c, bytes body, struct wr_reply *out)
{
    const Ots__BulkExportResponse *m;
    const void *message;

    TRY(pb_unpack(c, &ots__bulk_export_response__descriptor, body, text_reply, &message));
    m = message;
    read_consumed(m->consumed, &out->range.consumed);
    return read_range_rows(c, pb_view(m->next_start_primary_key), pb_view(m->rows),
                           m->data_block_type, &out->range);
}

static int read_compute_split_points(struct ctx *c, bytes body, struct wr_reply *out)
{
    struct wr_split_result *r = &out->splits;
    const Ots__ComputeSplitPointsBySizeResponse *m;
    struct wr_key *points;
    const void *message;

    TRY(pb_unpack(c, &ots__compute_split_points_by_size_response__descriptor, body, text_reply,
                  &message));
    m = message;
    read_consumed(m->consumed, &r->consumed);
    TRY(ots_read_keys(c, m->n_schema, m->schema, &r->schema, &r->schema_count));
    TRY(ots_array(c, m->n_split_points, sizeof(*points), &points));
    for (size_t i = 0; i < m->n_split_points; i++)
        TRY(plain_decode_key(c, pb_view(m->split_points[i]), &points[i]));
    r->points = points;
    r->point_count = m->n_split_points;
    return 0;
}

/* ---- by operation */

#define read_create_table read_empty
#define read_delete_table read_empty
#define read_load_table read_empty
#define read_unload_table read_empty
#define read_add_defined_column read_empty
#define read_delete_defined_column read_empty
#define read_update_row read_put_row
#define read_delete_row read_put_row
#define read_batch_get_row read_batch
#define read_batch_write_row read_batch
#define read_describe_heat ots_read_describe_heat
#define read_describe_sizes ots_read_describe_sizes
#define read_describe_partitions ots_read_describe_partitions

int ots_decode_reply(struct ctx *c, enum wr_op op, bytes body, struct wr_reply *out)
{
    *out = (struct wr_reply){.op = op, .message = ""};
    switch (op) {
#define OP(constant, member, wire, class, request, ...)                                            \
    case WR_OP_##constant:                                                                         \
        return read_##member(c, body, out);
#include "op.def"
    case WR_OP_COUNT:
        break;
    }
    return fail_code(c, E_UNSUPPORTED);
}

int ots_decode_error(struct ctx *c, bytes body, bytes *code, bytes *message)
{
    const Ots__Error *m;
    const void *parsed;

    TRY(pb_unpack(c, &ots__error__descriptor, body, text_reply, &parsed));
    m = parsed;
    *code = pb_view(m->code);
    *message = pb_view(m->message);
    return 0;
}

int ots_error_of(bytes code, bytes message)
{
    if (bytes_equal(code, bytes_str(err_info(E_PARAMETER)->code)) &&
        bytes_equal(message, bytes_str(ots_text_no_table)))
        return WR_E_NOT_EXIST;
    if (bytes_equal(code, bytes_str(err_info(E_TOO_FREQUENT)->code)) &&
        bytes_equal(message, bytes_str(err_info(E_TOO_FREQUENT)->text)))
        return WR_E_TOO_FREQUENT;
    for (int i = 1; i < E_COUNT; i++)
        if (bytes_equal(bytes_str(err_info(i)->code), code))
            return i;
    return WR_E_INTERNAL;
}
