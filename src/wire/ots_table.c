/* Requests of table operations, both ways. */
#include "wire/ots_part.h"

/* ---- parts */

static void read_throughput(const Ots__ReservedThroughput *from, struct wr_throughput *out)
{
    const Ots__CapacityUnit *cu = from->capacity_unit;

    *out = (struct wr_throughput){cu->has_read, cu->has_write, cu->read, cu->write};
}

static void put_throughput(struct buf *b, unsigned field, const struct wr_throughput *t)
{
    size_t start = pb_open(b, field, 0), unit = pb_open(b, 1, 0);

    if (t->has_read)
        pb_put_int(b, 1, t->read);
    if (t->has_write)
        pb_put_int(b, 2, t->write);
    pb_close(b, unit, 0);
    pb_close(b, start, 0);
}

static int ots_table_read_stream(struct ctx *c, const Ots__StreamSpecification *from,
                                 struct wr_stream_spec *out)
{
    *out = (struct wr_stream_spec){
        .given = true,
        .enable = from->enable_stream,
        .has_expiration = from->has_expiration_time,
        .expiration_h = from->expiration_time,
    };
    return ots_views(c, from->n_columns_to_get, from->columns_to_get, &out->columns_to_get,
                     &out->column_count);
}

static void ots_table_put_stream(struct buf *b, unsigned field, const struct wr_stream_spec *s)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, s->enable);
    if (s->has_expiration)
        pb_put_int(b, 2, s->expiration_h);
    ots_put_names(b, 3, s->columns_to_get, s->column_count);
    pb_close(b, start, 0);
}

static int read_partitions(struct ctx *c, const Ots__CreateTableRequest *m,
                           struct wr_create_table *out)
{
    struct wr_partition_range *ranges;

    TRY(ots_array(c, m->n_partitions, sizeof(*ranges), &ranges));
    for (size_t i = 0; i < m->n_partitions; i++) {
        TRY(plain_decode_value(c, pb_view(m->partitions[i]->begin), &ranges[i].begin));
        TRY(plain_decode_value(c, pb_view(m->partitions[i]->end), &ranges[i].end));
    }
    out->partitions = ranges;
    out->partition_count = m->n_partitions;
    return 0;
}

static void ots_table_put_partition(struct buf *b, unsigned field,
                                    const struct wr_partition_range *r)
{
    size_t start = pb_open(b, field, 0);

    pb_put_bytes(b, 1, plain_encode_value(b->arena, &r->begin));
    pb_put_bytes(b, 2, plain_encode_value(b->arena, &r->end));
    pb_close(b, start, 0);
}

/* ---- CreateTable */

int ots_decode_create_table_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__CreateTableRequest *m = message;
    const Ots__TableMeta *meta = m->table_meta;
    struct wr_create_table *t = &out->create_table;

    t->table = pb_view(meta->table_name);
    t->local_transactions = m->has_enable_local_txn && m->enable_local_txn;
    t->layout = m->has_layout ? pb_view(m->layout) : BYTES_NONE;
    read_throughput(m->reserved_throughput, &t->reserved);
    if (m->table_options)
        ots_read_options(m->table_options, &t->options);
    if (m->stream_spec)
        TRY(ots_table_read_stream(c, m->stream_spec, &t->stream));
    if (m->sse_spec)
        ots_read_sse(m->sse_spec, &t->sse);
    TRY(ots_read_keys(c, meta->n_primary_key, meta->primary_key, &t->key, &t->key_count));
    TRY(ots_read_defined(c, meta->n_defined_column, meta->defined_column, &t->defined,
                         &t->defined_count));
    TRY(ots_read_indexes(c, m->n_index_metas, m->index_metas, &t->indexes, &t->index_count));
    return read_partitions(c, m, t);
}

void ots_encode_create_table_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_create_table *t = &req->create_table;
    size_t start = pb_open(b, 1, 0);

    pb_put_bytes(b, 1, t->table);
    ots_put_keys(b, 2, t->key, t->key_count);
    ots_put_defined(b, 3, t->defined, t->defined_count);
    pb_close(b, start, 0);
    put_throughput(b, 2, &t->reserved);
    if (t->options.given)
        ots_put_options(b, 3, &t->options);
    for (size_t i = 0; i < t->partition_count; i++)
        ots_table_put_partition(b, 4, &t->partitions[i]);
    if (t->stream.given)
        ots_table_put_stream(b, 5, &t->stream);
    if (t->sse.given)
        ots_put_sse(b, 6, &t->sse);
    ots_put_indexes(b, 7, t->indexes, t->index_count);
    if (t->local_transactions)
        pb_put_int(b, 8, 1);
    if (t->layout.ptr)
        pb_put_bytes(b, OTS_FIELD_OWN, t->layout);
}

/* ---- a name alone */

/* The operations that take no more share their struct. */
int ots_decode_table_name_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__TableNameRequest *m = message;

    (void)c;
    out->describe_table.table = pb_view(m->table_name);
    return 0;
}

void ots_encode_table_name_request(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->describe_table.table);
}

int ots_decode_list_table_request(struct ctx *c, const void *message, struct wr_request *out)
{
    (void)c;
    (void)message;
    (void)out;
    return 0;
}

void ots_encode_list_table_request(struct buf *b, const struct wr_request *req)
{
    (void)b;
    (void)req;
}

/* ---- changes */

int ots_decode_update_table_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__UpdateTableRequest *m = message;
    struct wr_update_table *t = &out->update_table;

    t->table = pb_view(m->table_name);
    t->has_reserved = m->reserved_throughput;
    if (m->reserved_throughput)
        read_throughput(m->reserved_throughput, &t->reserved);
    t->has_options = m->table_options;
    if (m->table_options)
        ots_read_options(m->table_options, &t->options);
    return m->stream_spec ? ots_table_read_stream(c, m->stream_spec, &t->stream) : 0;
}

void ots_encode_update_table_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_update_table *t = &req->update_table;

    pb_put_bytes(b, 1, t->table);
    if (t->has_reserved)
        put_throughput(b, 2, &t->reserved);
    if (t->has_options)
        ots_put_options(b, 3, &t->options);
    if (t->stream.given)
        ots_table_put_stream(b, 4, &t->stream);
}

int ots_decode_create_index_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__CreateIndexRequest *m = message;
    struct wr_create_index *create = &out->create_index;
    const struct wr_index_meta *index;
    Ots__IndexMeta *meta = m->index_meta;
    size_t one;

    TRY(ots_read_indexes(c, 1, &meta, &index, &one));
    create->table = pb_view(m->main_table_name);
    create->index = *index;
    create->include_base_data = m->has_include_base_data && m->include_base_data;
    create->scalar_index_keys = m->has_scalar_index_keys && m->scalar_index_keys;
    return 0;
}

void ots_encode_create_index_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_create_index *create = &req->create_index;

    pb_put_bytes(b, 1, create->table);
    ots_put_indexes(b, 2, &create->index, 1);
    pb_put_int(b, 3, create->include_base_data);
    if (create->scalar_index_keys)
        pb_put_int(b, OTS_FIELD_OWN, 1);
}

int ots_decode_drop_index_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__DropIndexRequest *m = message;

    (void)c;
    out->drop_index.table = pb_view(m->main_table_name);
    out->drop_index.index = pb_view(m->index_name);
    return 0;
}

void ots_encode_drop_index_request(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->drop_index.table);
    pb_put_bytes(b, 2, req->drop_index.index);
}

int ots_decode_rekey_table_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__RekeyTableRequest *m = message;

    if (m->action < WR_REKEY_STATUS || m->action > WR_REKEY_CANCEL)
        return ots_fail_parse(c);
    out->rekey_table.table = pb_view(m->table_name);
    out->rekey_table.action = (enum wr_rekey_action)m->action;
    out->rekey_table.layout = m->has_layout ? pb_view(m->layout) : BYTES_NONE;
    return 0;
}

void ots_encode_rekey_table_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_rekey_table *r = &req->rekey_table;

    pb_put_bytes(b, 1, r->table);
    pb_put_int(b, 2, r->action);
    if (r->layout.ptr)
        pb_put_bytes(b, 3, r->layout);
}

int ots_decode_add_defined_column_request(struct ctx *c, const void *message,
                                          struct wr_request *out)
{
    const Ots__AddDefinedColumnRequest *m = message;
    struct wr_defined_columns *d = &out->add_defined_column;

    d->table = pb_view(m->table_name);
    return ots_read_defined(c, m->n_columns, m->columns, &d->columns, &d->count);
}

void ots_encode_add_defined_column_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_defined_columns *d = &req->add_defined_column;

    pb_put_bytes(b, 1, d->table);
    ots_put_defined(b, 2, d->columns, d->count);
}

int ots_decode_delete_defined_column_request(struct ctx *c, const void *message,
                                             struct wr_request *out)
{
    const Ots__DeleteDefinedColumnRequest *m = message;
    struct wr_defined_columns *d = &out->delete_defined_column;
    struct wr_defined_column *columns;

    d->table = pb_view(m->table_name);
    TRY(ots_array(c, m->n_columns, sizeof(*columns), &columns));
    for (size_t i = 0; i < m->n_columns; i++)
        columns[i].name = pb_view(m->columns[i]);
    d->columns = columns;
    d->count = m->n_columns;
    return 0;
}

void ots_encode_delete_defined_column_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_defined_columns *d = &req->delete_defined_column;

    pb_put_bytes(b, 1, d->table);
    for (size_t i = 0; i < d->count; i++)
        pb_put_bytes(b, 2, d->columns[i].name);
}
