/* Heat maps and sizes: our own operations, requests and answers of both sides. */
#include "wire/ots_part.h"

#define PLACE_BYTES 96 /* about */

/* ---- places ---- */

static void put_place(struct buf *b, unsigned field, const struct wr_heat_place *place)
{
    size_t start = pb_open(b, field, PLACE_BYTES);

    if (place->bucket)
        pb_put_int(b, 1, place->bucket);
    if (place->key.count) {
        struct wr_row row = {.key = place->key};
        size_t n = PLAIN_HEADER_BYTES + plain_row_size(&row, PLAIN_KEY_ALL);

        pb_put_head(b, 2, n);
        plain_put_row(plain_put_header(buf_reserve(b, n)), &row, PLAIN_KEY_ALL);
        buf_commit(b, n);
    }
    pb_close(b, start, PLACE_BYTES);
}

static int read_place(struct ctx *c, const Ots__HeatPlace *m, struct wr_heat_place *out)
{
    out->bucket = (uint8_t)m->bucket;
    return m->has_key ? plain_decode_key(c, pb_view(m->key), &out->key) : 0;
}

/* ---- numbers, packed ---- */

static void put_numbers(struct buf *b, unsigned field, const uint64_t *numbers, size_t n)
{
    size_t size = 0;

    for (size_t i = 0; i < n; i++)
        size += pb_varint_size(numbers[i]);
    pb_put_head(b, field, size);
    buf_reserve(b, size);
    for (size_t i = 0; i < n; i++)
        buf_put_varint(b, numbers[i]);
}

/* ---- DescribeHeat ---- */

int ots_decode_describe_heat_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__DescribeHeatRequest *m = message;

    (void)c;
    out->describe_heat = (struct wr_describe_heat){.table = pb_view(m->table_name),
                                                   .minutes = m->minutes,
                                                   .columns = m->columns,
                                                   .rows = m->rows,
                                                   .metrics = m->metrics};
    return 0;
}

void ots_encode_describe_heat_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_describe_heat *r = &req->describe_heat;

    pb_put_bytes(b, 1, r->table);
    pb_put_int(b, 2, r->minutes);
    pb_put_int(b, 3, r->columns);
    pb_put_int(b, 4, r->rows);
    pb_put_int(b, 5, r->metrics);
}

static void put_hot(struct buf *b, const struct wr_heat_key *key)
{
    size_t start = pb_open(b, 6, 2 * PLACE_BYTES);

    put_place(b, 1, &key->place);
    pb_put_int(b, 2, (int64_t)key->count);
    pb_put_int(b, 3, (int64_t)key->error);
    put_numbers(b, 4, key->figures, WR_HEAT_METRICS);
    pb_close(b, start, 2 * PLACE_BYTES);
}

bytes ots_encode_describe_heat_response(struct ctx *c, const struct wr_request *req,
                                        const struct wr_reply *reply)
{
    const struct wr_heat_result *r = &reply->heat;
    size_t cells = r->row_count * r->column_count;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, cells + r->row_count * PLACE_BYTES + 1024);
    pb_put_int(&b, 1, r->start_s);
    pb_put_int(&b, 2, r->column_minutes);
    pb_put_int(&b, 3, (int64_t)r->column_count);
    for (size_t i = 0; i < r->row_count; i++)
        put_place(&b, 4, &r->rows[i]);
    for (int m = 0; m < WR_HEAT_METRICS; m++) {
        size_t start;

        if (!r->values[m])
            continue;
        start = pb_open(&b, 5, cells * 2);
        pb_put_int(&b, 1, m);
        put_numbers(&b, 2, r->values[m], cells);
        pb_close(&b, start, cells * 2);
    }
    for (size_t i = 0; i < r->hot_count; i++)
        put_hot(&b, &r->hot[i]);
    pb_put_int(&b, 7, r->hot_minutes);
    pb_put_int(&b, 8, r->buckets);
    pb_put_int(&b, 9, (int64_t)r->missed);
    pb_put_int(&b, 10, r->servers);
    pb_put_int(&b, 11, r->silent);
    return buf_bytes(&b);
}

static int ots_heat_read_hot(struct ctx *c, const Ots__HeatKey *m, struct wr_heat_key *out)
{
    if (m->n_figures != WR_HEAT_METRICS)
        return ots_fail_reply(c);
    out->count = m->count;
    out->error = m->error;
    for (int i = 0; i < WR_HEAT_METRICS; i++)
        out->figures[i] = m->figures[i];
    return read_place(c, m->place, &out->place);
}

static int read_series(struct ctx *c, const Ots__HeatSeries *m, struct wr_heat_result *out)
{
    if (m->metric < 0 || m->metric >= WR_HEAT_METRICS ||
        m->n_values != out->row_count * out->column_count)
        return ots_fail_reply(c);
    out->values[m->metric] = m->values;
    return 0;
}

int ots_decode_describe_heat_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    struct wr_heat_result *r = &out->heat;
    const Ots__DescribeHeatResponse *m = message;
    struct wr_heat_place *rows;
    struct wr_heat_key *hot;

    if (m->column_count < 0)
        return ots_fail_reply(c);
    *r = (struct wr_heat_result){.start_s = m->start_time,
                                 .column_minutes = m->column_minutes,
                                 .column_count = (size_t)m->column_count,
                                 .row_count = m->n_rows,
                                 .hot_count = m->n_hot,
                                 .hot_minutes = m->hot_minutes,
                                 .buckets = m->buckets,
                                 .missed = m->missed,
                                 .servers = m->servers,
                                 .silent = m->silent};
    TRY(ots_array(c, m->n_rows, sizeof(*rows), &rows));
    TRY(ots_array(c, m->n_hot, sizeof(*hot), &hot));
    for (size_t i = 0; i < m->n_rows; i++)
        TRY(read_place(c, m->rows[i], &rows[i]));
    for (size_t i = 0; i < m->n_series; i++)
        TRY(read_series(c, m->series[i], r));
    for (size_t i = 0; i < m->n_hot; i++)
        TRY(ots_heat_read_hot(c, m->hot[i], &hot[i]));
    r->rows = rows;
    r->hot = hot;
    return 0;
}

/* ---- DescribeSizes ---- */

int ots_decode_describe_sizes_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__DescribeSizesRequest *m = message;

    (void)c;
    out->describe_sizes = (struct wr_describe_sizes){pb_view(m->table_name), m->now};
    return 0;
}

void ots_encode_describe_sizes_request(struct buf *b, const struct wr_request *req)
{
    pb_put_bytes(b, 1, req->describe_sizes.table);
    pb_put_int(b, 2, req->describe_sizes.now);
}

static void put_size(struct buf *b, const struct wr_size_key *key)
{
    size_t start = pb_open(b, 1, 2 * PLACE_BYTES);

    put_place(b, 1, &key->place);
    pb_put_int(b, 2, (int64_t)key->bytes);
    pb_put_int(b, 3, (int64_t)key->rows);
    pb_put_int(b, 4, (int64_t)key->reads);
    pb_put_int(b, 5, (int64_t)key->writes);
    pb_put_int(b, 6, (int64_t)key->bytes_written);
    pb_close(b, start, 2 * PLACE_BYTES);
}

bytes ots_encode_describe_sizes_response(struct ctx *c, const struct wr_request *req,
                                         const struct wr_reply *reply)
{
    const struct wr_sizes_result *r = &reply->sizes;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, r->key_count * 2 * PLACE_BYTES + 128);
    for (size_t i = 0; i < r->key_count; i++)
        put_size(&b, &r->keys[i]);
    pb_put_int(&b, 2, (int64_t)r->bytes);
    pb_put_int(&b, 3, (int64_t)r->rows);
    pb_put_int(&b, 4, (int64_t)r->values);
    pb_put_int(&b, 5, (int64_t)r->over);
    pb_put_int(&b, 6, (int64_t)r->warn_bytes);
    pb_put_int(&b, 7, r->start_s);
    pb_put_int(&b, 8, r->end_s);
    pb_put_int(&b, 9, (int64_t)r->passes);
    pb_put_int(&b, 10, r->running);
    pb_put_int(&b, 11, (int64_t)r->running_bytes);
    pb_put_int(&b, 12, r->servers);
    pb_put_int(&b, 13, r->silent);
    return buf_bytes(&b);
}

int ots_decode_describe_sizes_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    struct wr_sizes_result *r = &out->sizes;
    const Ots__DescribeSizesResponse *m = message;
    struct wr_size_key *keys;

    TRY(ots_array(c, m->n_keys, sizeof(*keys), &keys));
    for (size_t i = 0; i < m->n_keys; i++) {
        const Ots__SizeKey *k = m->keys[i];

        keys[i] = (struct wr_size_key){.bytes = k->bytes,
                                       .rows = k->rows,
                                       .reads = k->reads,
                                       .writes = k->writes,
                                       .bytes_written = k->bytes_written};
        TRY(read_place(c, k->place, &keys[i].place));
    }
    *r = (struct wr_sizes_result){.keys = keys,
                                  .key_count = m->n_keys,
                                  .bytes = m->bytes,
                                  .rows = m->rows,
                                  .values = m->values,
                                  .over = m->over,
                                  .warn_bytes = m->warn_bytes,
                                  .start_s = m->start_time,
                                  .end_s = m->end_time,
                                  .passes = m->passes,
                                  .running = m->running,
                                  .running_bytes = m->running_bytes,
                                  .servers = m->servers,
                                  .silent = m->silent};
    return 0;
}
