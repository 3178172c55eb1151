/* Requests as bytes. Answers as structs are in ots_client_reply.c. */
#include "wire/ots_client.h"

#include "wire/ots_part.h"

const char *ots_client_path(enum wr_op op)
{
    static const char *const paths[WR_OP_COUNT] = {
#define OP(constant, member, wire, class, request, ...) [WR_OP_##constant] = "/" wire,
#include "op.def"
    };

    return paths[op];
}

/* ---- table operations */

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

static void put_stream(struct buf *b, unsigned field, const struct wr_stream_spec *s)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, s->enable);
    if (s->has_expiration)
        pb_put_int(b, 2, s->expiration_h);
    ots_put_names(b, 3, s->columns_to_get, s->column_count);
    pb_close(b, start, 0);
}

static void put_partition(struct buf *b, unsigned field, const struct wr_partition_range *r)
{
    size_t start = pb_open(b, field, 0);

    pb_put_bytes(b, 1, plain_encode_value(b->arena, &r->begin));
    pb_put_bytes(b, 2, plain_encode_value(b->arena, &r->end));
    pb_close(b, start, 0);
}

static void ask_create_table(struct buf *b, const struct wr_request *req)
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
        put_partition(b, 4, &t->partitions[i]);
    if (t->stream.given)
        put_stream(b, 5, &t->stream);
    if (t->sse.given)
        ots_put_sse(b, 6, &t->sse);
    ots_put_indexes(b, 7, t->indexes, t->index_count);
    if (t->local_transactions)
        pb_put_int(b, 8, 1);
    if (t->layout.ptr)
        pb_put_bytes(b, OTS_FIELD_OWN, t->layout);
}

static void ask_list_table(struct buf *b, const struct wr_request *req)
{
    (void)b;
    (void)req;
}

static void ask_describe_table(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->describe_table.table);
}

static void ask_update_table(struct buf *b, const struct wr_request *req)
{
    const struct wr_update_table *t = &req->update_table;

    pb_put_bytes(b, 1, t->table);
    if (t->has_reserved)
        put_throughput(b, 2, &t->reserved);
    if (t->has_options)
        ots_put_options(b, 3, &t->options);
    if (t->stream.given)
        put_stream(b, 4, &t->stream);
}

static void ask_rekey_table(struct buf *b, const struct wr_request *req)
{
    const struct wr_rekey_table *r = &req->rekey_table;

    pb_put_bytes(b, 1, r->table);
    pb_put_int(b, 2, r->action);
    if (r->layout.ptr)
        pb_put_bytes(b, 3, r->layout);
}

static void ask_delete_table(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->delete_table.table);
}

static void ask_load_table(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->load_table.table);
}

static void ask_unload_table(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->unload_table.table);
}

static void ask_add_defined_column(struct buf *b, const struct wr_request *req)
{
    const struct wr_defined_columns *d = &req->add_defined_column;

    pb_put_bytes(b, 1, d->table);
    ots_put_defined(b, 2, d->columns, d->count);
}

static void ask_delete_defined_column(struct buf *b, const struct wr_request *req)
{
    const struct wr_defined_columns *d = &req->delete_defined_column;

    pb_put_bytes(b, 1, d->table);
    for (size_t i = 0; i < d->count; i++)
        pb_put_bytes(b, 2, d->columns[i].name);
}

/* ---- reads */

static void put_key(struct buf *b, unsigned field, const struct wr_key *key)
{
    pb_put_bytes(b, field, plain_encode_key(b->arena, key));
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

static void put_filter(struct buf *b, unsigned field, const struct wr_read_options *o)
{
    if (o->filter)
        ots_put_filter(b, field, o->filter);
    if (o->start_column.ptr)
        pb_put_bytes(b, field + 1, o->start_column);
    if (o->end_column.ptr)
        pb_put_bytes(b, field + 2, o->end_column);
}

static void ask_get_row(struct buf *b, const struct wr_request *req)
{
    const struct wr_get_row *r = &req->get_row;

    pb_put_bytes(b, 1, r->table);
    put_key(b, 2, &r->key);
    put_versions(b, 3, &r->read);
    put_filter(b, 7, &r->read);
    if (r->token.ptr)
        pb_put_bytes(b, 10, r->token);
    if (r->transaction.ptr)
        pb_put_bytes(b, 11, r->transaction);
}

static void ask_batch_get_row(struct buf *b, const struct wr_request *req)
{
    const struct wr_batch_get_row *r = &req->batch_get_row;

    for (size_t i = 0; i < r->table_count; i++) {
        const struct wr_table_get *t = &r->tables[i];
        size_t start = pb_open(b, 1, 0);

        pb_put_bytes(b, 1, t->table);
        for (size_t k = 0; k < t->key_count; k++)
            put_key(b, 2, &t->keys[k]);
        if (t->tokens)
            ots_put_names(b, 3, t->tokens, t->key_count);
        put_versions(b, 4, &t->read);
        put_filter(b, 8, &t->read);
        pb_close(b, start, 0);
    }
}

static void ask_get_range(struct buf *b, const struct wr_request *req)
{
    const struct wr_get_range *r = &req->get_range;

    pb_put_bytes(b, 1, r->table);
    pb_put_int(b, 2, r->backward);
    put_versions(b, 3, &r->read);
    if (r->has_limit)
        pb_put_int(b, 6, r->limit);
    put_key(b, 7, &r->start);
    put_key(b, 8, &r->end);
    put_filter(b, 10, &r->read);
    if (r->token.ptr)
        pb_put_bytes(b, 13, r->token);
    if (r->transaction.ptr)
        pb_put_bytes(b, 14, r->transaction);
    if (r->matrix)
        pb_put_int(b, 15, OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX);
    if (r->partial_keys)
        pb_put_int(b, 16, 0);
}

static void ask_bulk_export(struct buf *b, const struct wr_request *req)
{
    const struct wr_bulk_export *r = &req->bulk_export;

    pb_put_bytes(b, 1, r->table);
    ots_put_names(b, 2, r->columns, r->column_count);
    put_key(b, 3, &r->start);
    put_key(b, 4, &r->end);
    if (r->filter)
        ots_put_filter(b, 5, r->filter);
    pb_put_int(b, 6, r->matrix);
}

static void ask_compute_split_points(struct buf *b, const struct wr_request *req)
{
    const struct wr_split_points *s = &req->compute_split_points;

    pb_put_bytes(b, 1, s->table);
    pb_put_int(b, 2, s->split_size);
    if (s->has_unit)
        pb_put_int(b, 3, s->unit_bytes);
    if (s->has_limit)
        pb_put_int(b, 4, s->limit);
}

/* ---- writes */

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

static void ask_change(struct buf *b, const struct wr_row_change *change)
{
    pb_put_bytes(b, 1, change->table);
    put_change(b, 2, change);
    put_terms(b, change);
    if (change->transaction.ptr)
        pb_put_bytes(b, 5, change->transaction);
}

static void ask_put_row(struct buf *b, const struct wr_request *req)
{
    ask_change(b, &req->put_row);
}

static void ask_update_row(struct buf *b, const struct wr_request *req)
{
    ask_change(b, &req->update_row);
}

static void ask_delete_row(struct buf *b, const struct wr_request *req)
{
    ask_change(b, &req->delete_row);
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

static void ask_batch_write_row(struct buf *b, const struct wr_request *req)
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

static void ask_bulk_import(struct buf *b, const struct wr_request *req)
{
    put_table_write(b, &req->bulk_import.table, true);
}

#define ask_describe_heat ots_ask_describe_heat
#define ask_describe_sizes ots_ask_describe_sizes

bytes ots_encode_request(struct ctx *c, const struct wr_request *req)
{
    struct buf b;

    buf_init(&b, &c->arena, 512);
#define ask_describe_partitions ots_ask_describe_partitions
    switch (req->op) {
#define OP(constant, member, wire, class, request, ...)                                            \
    case WR_OP_##constant:                                                                         \
        ask_##member(&b, req);                                                                     \
        break;
#include "op.def"
    case WR_OP_COUNT:
        break;
    }
    return buf_bytes(&b);
}
