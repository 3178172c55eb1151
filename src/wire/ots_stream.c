/* Streams, both ways. */
#include "wire/ots_part.h"

#define FRAME_BYTES 64 /* more than an answer without its records takes */

static bytes optional_view(protobuf_c_boolean has, ProtobufCBinaryData field)
{
    return has && field.len ? pb_view(field) : BYTES_NONE;
}

static void put_optional(struct buf *b, unsigned field, bytes text)
{
    if (text.ptr)
        pb_put_bytes(b, field, text);
}

bytes ots_named_table(bytes id)
{
    bytes table;

    return wr_stream_table(id, &table) ? table : id;
}

/* ---- ListStream */

int ots_decode_list_stream_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ListStreamRequest *m = message;

    (void)c;
    out->list_stream.table = optional_view(m->has_table_name, m->table_name);
    return 0;
}

void ots_encode_list_stream_request(struct buf *b, const struct wr_request *req)
{
    put_optional(b, 1, req->list_stream.table);
}

bytes ots_encode_list_stream_response(struct ctx *c, const struct wr_request *req,
                                      const struct wr_reply *reply)
{
    const struct wr_stream_list *list = &reply->streams;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256);
    for (size_t i = 0; i < list->count; i++) {
        size_t start = pb_open(&b, 1, 0);

        pb_put_bytes(&b, 1, list->streams[i].id);
        pb_put_bytes(&b, 2, list->streams[i].table);
        pb_put_int(&b, 3, list->streams[i].creation_us);
        pb_close(&b, start, 0);
    }
    return buf_bytes(&b);
}

int ots_decode_list_stream_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__ListStreamResponse *m = message;
    struct wr_stream *streams;

    TRY(ots_array(c, m->n_streams, sizeof(*streams), &streams));
    for (size_t i = 0; i < m->n_streams; i++)
        streams[i] =
            (struct wr_stream){pb_view(m->streams[i]->stream_id),
                               pb_view(m->streams[i]->table_name), m->streams[i]->creation_time};
    out->streams = (struct wr_stream_list){streams, m->n_streams};
    return 0;
}

/* ---- DescribeStream */

int ots_decode_describe_stream_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__DescribeStreamRequest *m = message;

    (void)c;
    out->describe_stream = (struct wr_describe_stream){
        .table = ots_named_table(pb_view(m->stream_id)),
        .stream = pb_view(m->stream_id),
        .first_shard = optional_view(m->has_inclusive_start_shard_id, m->inclusive_start_shard_id),
        .has_limit = m->has_shard_limit,
        .limit = m->shard_limit,
    };
    return 0;
}

void ots_encode_describe_stream_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_describe_stream *d = &req->describe_stream;

    pb_put_bytes(b, 1, d->stream);
    put_optional(b, 2, d->first_shard);
    if (d->has_limit)
        pb_put_int(b, 3, d->limit);
}

bytes ots_encode_describe_stream_response(struct ctx *c, const struct wr_request *req,
                                          const struct wr_reply *reply)
{
    const struct wr_stream_description *d = &reply->stream;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256);
    pb_put_bytes(&b, 1, d->id);
    pb_put_int(&b, 2, d->expiration_h);
    pb_put_bytes(&b, 3, d->table);
    pb_put_int(&b, 4, d->creation_us);
    pb_put_int(&b, 5, d->status);
    for (size_t i = 0; i < d->shard_count; i++) {
        size_t start = pb_open(&b, 6, 0);

        pb_put_bytes(&b, 1, d->shards[i].id);
        put_optional(&b, 2, d->shards[i].parent);
        put_optional(&b, 3, d->shards[i].parent_sibling);
        pb_close(&b, start, 0);
    }
    put_optional(&b, 7, d->next_shard);
    return buf_bytes(&b);
}

int ots_decode_describe_stream_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__DescribeStreamResponse *m = message;
    struct wr_stream_shard *shards;

    if (m->stream_status < WR_STREAM_ENABLING || m->stream_status > WR_STREAM_ACTIVE)
        return ots_fail_reply(c);
    TRY(ots_array(c, m->n_shards, sizeof(*shards), &shards));
    for (size_t i = 0; i < m->n_shards; i++) {
        const Ots__StreamShard *s = m->shards[i];

        shards[i] = (struct wr_stream_shard){
            pb_view(s->shard_id), optional_view(s->has_parent_id, s->parent_id),
            optional_view(s->has_parent_sibling_id, s->parent_sibling_id)};
    }
    out->stream = (struct wr_stream_description){
        .id = pb_view(m->stream_id),
        .table = pb_view(m->table_name),
        .expiration_h = m->expiration_time,
        .creation_us = m->creation_time,
        .status = (enum wr_stream_status)m->stream_status,
        .shards = shards,
        .shard_count = m->n_shards,
        .next_shard = optional_view(m->has_next_shard_id, m->next_shard_id),
    };
    return 0;
}

/* ---- GetShardIterator */

int ots_decode_get_shard_iterator_request(struct ctx *c, const void *message,
                                          struct wr_request *out)
{
    const Ots__GetShardIteratorRequest *m = message;

    (void)c;
    out->get_shard_iterator = (struct wr_get_shard_iterator){
        .table = ots_named_table(pb_view(m->stream_id)),
        .stream = pb_view(m->stream_id),
        .shard = pb_view(m->shard_id),
        .has_timestamp = m->has_timestamp,
        .timestamp_us = m->timestamp,
        .token = optional_view(m->has_token, m->token),
    };
    return 0;
}

void ots_encode_get_shard_iterator_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_get_shard_iterator *g = &req->get_shard_iterator;

    pb_put_bytes(b, 1, g->stream);
    pb_put_bytes(b, 2, g->shard);
    if (g->has_timestamp)
        pb_put_int(b, 3, g->timestamp_us);
    put_optional(b, 4, g->token);
}

bytes ots_encode_get_shard_iterator_response(struct ctx *c, const struct wr_request *req,
                                             const struct wr_reply *reply)
{
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, FRAME_BYTES + reply->shard_iterator.iterator.len);
    pb_put_bytes(&b, 1, reply->shard_iterator.iterator);
    put_optional(&b, 2, reply->shard_iterator.next_token);
    return buf_bytes(&b);
}

int ots_decode_get_shard_iterator_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__GetShardIteratorResponse *m = message;

    (void)c;
    out->shard_iterator = (struct wr_shard_iterator){
        pb_view(m->shard_iterator), optional_view(m->has_next_token, m->next_token)};
    return 0;
}

/* ---- GetStreamRecord */

int ots_decode_get_stream_record_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__GetStreamRecordRequest *m = message;

    (void)c;
    out->get_stream_record = (struct wr_get_stream_record){
        .table = ots_named_table(pb_view(m->shard_iterator)),
        .iterator = pb_view(m->shard_iterator),
        .has_limit = m->has_limit,
        .limit = m->limit,
    };
    return 0;
}

void ots_encode_get_stream_record_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_get_stream_record *g = &req->get_stream_record;

    pb_put_bytes(b, 1, g->iterator);
    if (g->has_limit)
        pb_put_int(b, 2, g->limit);
    pb_put_bytes(b, 3, g->table);
}

/* The old values, as a row without key columns. */
static void put_original(struct buf *b, const struct wr_stream_record *r, bool key_section)
{
    struct wr_row row = {.cells = r->original, .cell_count = r->original_count};
    size_t n = PLAIN_HEADER_BYTES +
               (key_section ? plain_old_cells_size(&row) : plain_change_size(&row, WR_PUT));
    uint8_t *p;

    pb_put_head(b, 3, n);
    p = plain_put_header(buf_reserve(b, n));
    if (key_section)
        plain_put_old_cells(p, &row);
    else
        plain_put_change(p, &row, WR_PUT);
    buf_commit(b, n);
}

void ots_put_change(struct buf *b, const struct wr_stream_record *r, bool key_section)
{
    struct plain_sequence at = {r->epoch, r->timestamp_us, r->row_index};
    size_t n = PLAIN_HEADER_BYTES + plain_record_size(&r->row), start = pb_open(b, 1, n);

    pb_put_int(b, 1, r->type);
    pb_put_head(b, 2, n);
    plain_put_record(plain_put_header(buf_reserve(b, n)), &r->row, &at);
    buf_commit(b, n);
    if (r->has_original)
        put_original(b, r, key_section);
    pb_close(b, start, n);
}

bytes ots_encode_get_stream_record_response(struct ctx *c, const struct wr_request *req,
                                            const struct wr_reply *reply)
{
    const struct wr_stream_records *r = &reply->stream_records;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, FRAME_BYTES + r->next.len + 256 * r->count);
    for (size_t i = 0; i < r->count; i++)
        ots_put_change(&b, &r->records[i], false);
    put_optional(&b, 2, r->next);
    ots_put_consumed(&b, 3, &r->consumed, false);
    pb_put_int(&b, 4, r->more);
    return buf_bytes(&b);
}

int ots_read_change(struct ctx *c, const Ots__StreamRecord *m, struct wr_stream_record *out)
{
    struct plain_sequence at;
    struct wr_row original = {0};

    if (m->action_type < WR_PUT || m->action_type > WR_DELETE)
        return ots_fail_reply(c);
    TRY(plain_decode_record(c, pb_view(m->record), &out->row, &at));
    if (m->has_origin_record)
        TRY(ots_read_row(c, m->origin_record, &original));
    out->type = (enum wr_change_type)m->action_type;
    out->epoch = at.epoch;
    out->timestamp_us = at.timestamp_us;
    out->row_index = at.row_index;
    out->has_original = m->has_origin_record;
    out->original = original.cells;
    out->original_count = original.cell_count;
    return 0;
}

int ots_decode_get_stream_record_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__GetStreamRecordResponse *m = message;
    struct wr_stream_records *r = &out->stream_records;
    struct wr_stream_record *records;

    TRY(ots_array(c, m->n_stream_records, sizeof(*records), &records));
    for (size_t i = 0; i < m->n_stream_records; i++)
        TRY(ots_read_change(c, m->stream_records[i], &records[i]));
    if (m->consumed)
        ots_read_consumed(m->consumed, &r->consumed);
    r->records = records;
    r->count = m->n_stream_records;
    r->next = optional_view(m->has_next_shard_iterator, m->next_shard_iterator);
    r->more = m->has_may_more_record && m->may_more_record;
    return 0;
}
