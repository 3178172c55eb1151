/* Answers of table operations, both ways. */
#include "wire/ots_part.h"

/* An answer without fields is no bytes at all; one client wants exactly that. */
bytes ots_encode_empty_response(struct ctx *c, const struct wr_request *req,
                                const struct wr_reply *reply)
{
    (void)c;
    (void)req;
    (void)reply;
    return BYTES_LIT("");
}

int ots_decode_empty_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    (void)c;
    (void)message;
    (void)out;
    return 0;
}

bytes ots_encode_list_table_response(struct ctx *c, const struct wr_request *req,
                                     const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256);
    ots_put_names(&b, 1, reply->table_list.tables, reply->table_list.count);
    return buf_bytes(&b);
}

int ots_decode_list_table_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ListTableResponse *m = message;

    return ots_views(c, m->n_table_names, m->table_names, &out->table_list.tables,
                     &out->table_list.count);
}

/* ---- a table as it is now */

/* The options of an answer: what clients read without looking is there whatever `given` says. */
static void put_options_now(struct buf *b, unsigned field, const struct wr_table_options *o)
{
    struct wr_table_options all = *o;

    all.given |= WR_HAS_TTL | WR_HAS_MAX_VERSIONS | WR_HAS_DEVIATION | WR_HAS_ALLOW_UPDATE;
    ots_put_options(b, field, &all);
}

static void put_throughput_now(struct buf *b, unsigned field, const struct wr_table_description *d)
{
    size_t start = pb_open(b, field, 0), unit = pb_open(b, 1, 0);

    pb_put_int(b, 1, d->reserved.read);
    pb_put_int(b, 2, d->reserved.write);
    pb_close(b, unit, 0);
    pb_put_int(b, 2, d->last_increase_s);
    if (d->last_decrease_s)
        pb_put_int(b, 3, d->last_decrease_s);
    pb_close(b, start, 0);
}

static void read_throughput_now(const Ots__ReservedThroughputDetails *m,
                                struct wr_table_description *d)
{
    const Ots__CapacityUnit *cu = m->capacity_unit;

    d->reserved = (struct wr_throughput){cu->has_read, cu->has_write, cu->read, cu->write};
    d->last_increase_s = m->last_increase_time;
    d->last_decrease_s = m->last_decrease_time;
}

static void put_stream_now(struct buf *b, unsigned field, const struct wr_table_description *d)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, d->stream.enable);
    if (d->stream.enable) {
        pb_put_bytes(b, 2, d->stream_id);
        pb_put_int(b, 3, d->stream.expiration_h);
        pb_put_int(b, 4, d->stream_enable_us);
        ots_put_names(b, 5, d->stream.columns_to_get, d->stream.column_count);
    }
    pb_close(b, start, 0);
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

/* The values between partitions, each as a key of the first column alone. */
static void put_splits(struct buf *b, unsigned field, const struct wr_table_description *d)
{
    if (d->key_count == 0)
        return;
    for (size_t i = 0; i < d->split_count; i++) {
        struct wr_key_column column = {d->key[0].name, d->splits[i]};

        pb_put_bytes(b, field, plain_encode_key(b->arena, &(struct wr_key){&column, 1}));
    }
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
            return ots_fail_reply(c);
        splits[i] = key.columns[0].value;
    }
    d->splits = splits;
    d->split_count = m->n_shard_splits;
    return 0;
}

bytes ots_encode_describe_table_response(struct ctx *c, const struct wr_request *req,
                                         const struct wr_reply *reply)
{
    const struct wr_table_description *d = &reply->description;
    struct buf b;
    size_t start;

    (void)req;
    buf_init(&b, &c->arena, 512);
    start = pb_open(&b, 1, 0);
    pb_put_bytes(&b, 1, d->table);
    ots_put_keys(&b, 2, d->key, d->key_count);
    ots_put_defined(&b, 3, d->defined, d->defined_count);
    pb_close(&b, start, 0);
    put_throughput_now(&b, 2, d);
    put_options_now(&b, 3, &d->options);
    pb_put_int(&b, 4, d->status);
    put_stream_now(&b, 5, d);
    put_splits(&b, 6, d);
    if (d->sse.given)
        ots_put_sse(&b, 7, &d->sse);
    ots_put_indexes(&b, 8, d->indexes, d->index_count);
    if (d->creation_us)
        pb_put_int(&b, 9, d->creation_us);
    if (d->layout.len && !bytes_equal(d->layout, BYTES_LIT("plain")))
        pb_put_bytes(&b, OTS_FIELD_OWN, d->layout);
    return buf_bytes(&b);
}

int ots_decode_describe_table_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    struct wr_table_description *d = &out->description;
    const Ots__DescribeTableResponse *m = message;
    const Ots__TableMeta *meta;

    meta = m->table_meta;
    if (m->table_status < WR_TABLE_ACTIVE || m->table_status > WR_TABLE_UPDATING)
        return ots_fail_reply(c);
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

bytes ots_encode_update_table_response(struct ctx *c, const struct wr_request *req,
                                       const struct wr_reply *reply)
{
    const struct wr_table_description *d = &reply->description;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256);
    put_throughput_now(&b, 1, d);
    put_options_now(&b, 2, &d->options);
    put_stream_now(&b, 3, d);
    return buf_bytes(&b);
}

int ots_decode_update_table_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__UpdateTableResponse *m = message;

    read_throughput_now(m->reserved_throughput_details, &out->description);
    ots_read_options(m->table_options, &out->description.options);
    return read_stream_now(c, m->stream_details, &out->description);
}

bytes ots_encode_rekey_table_response(struct ctx *c, const struct wr_request *req,
                                      const struct wr_reply *reply)
{
    const struct wr_rekey_result *r = &reply->rekey;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 64);
    pb_put_bytes(&b, 1, r->layout);
    if (r->target.ptr)
        pb_put_bytes(&b, 2, r->target);
    pb_put_int(&b, 3, r->rows);
    pb_put_int(&b, 4, r->percent);
    return buf_bytes(&b);
}

int ots_decode_rekey_table_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__RekeyTableResponse *m = message;

    (void)c;
    out->rekey = (struct wr_rekey_result){.layout = pb_view(m->layout),
                                          .target = m->has_target ? pb_view(m->target) : BYTES_NONE,
                                          .rows = m->rows,
                                          .percent = m->percent};
    return 0;
}
