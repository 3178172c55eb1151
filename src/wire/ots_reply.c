/* Answers of row operations. They are the hot ones: sizes are computed first, so that each answer
 * is one buffer into which the rows are written once. */
#include "wire/matrix.h"
#include "wire/ots_part.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_BYTES 64 /* more than an answer without its rows takes */
#define RANGE_BODY_BYTES_MIN 2048
#define RANGE_BODY_BYTES ((size_t)6 << 20) /* holds a page of rows of 1 KB */

/* The hint where a run of splits lies. There is one place, so it is any text of the usual form. */
#define SPLIT_LOCATION "0123456789abcdef0123456789abcdef"

/* ---- parts */

void ots_put_consumed(struct buf *b, unsigned field, const struct wr_capacity *cu, bool sizes)
{
    size_t start = pb_open(b, field, 0), part = pb_open(b, 1, 0);

    pb_put_int(b, 1, cu->read);
    pb_put_int(b, 2, cu->write);
    pb_close(b, part, 0);
    if (sizes) {
        part = pb_open(b, 2, 0);
        pb_put_int(b, 1, cu->read_size);
        pb_put_int(b, 2, cu->write_size);
        pb_close(b, part, 0);
    }
    pb_close(b, start, 0);
}

/* Bytes of a buffer with this row alone; an absent row is no bytes at all. */
static size_t row_bytes(const struct wr_row *row)
{
    return row->key.count ? PLAIN_HEADER_BYTES + plain_row_size(row, PLAIN_KEY_ALL) : 0;
}

/* The same row as a field; `n` is row_bytes(). */
static void put_row(struct buf *b, unsigned field, const struct wr_row *row, size_t n)
{
    pb_put_head(b, field, n);
    if (n == 0)
        return;
    plain_put_row(plain_put_header(buf_reserve(b, n)), row, PLAIN_KEY_ALL);
    buf_commit(b, n);
}

static void put_key(struct buf *b, unsigned field, const struct wr_key *key)
{
    struct wr_row row = {.key = *key};

    put_row(b, field, &row, row_bytes(&row));
}

/* ---- single rows */

bytes ots_encode_get_row(struct ctx *c, const struct wr_request *req, const struct wr_reply *reply)
{
    const struct wr_row_result *r = &reply->row;
    size_t n = row_bytes(&r->row);
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, n + r->next_token.len + FRAME_BYTES);
    ots_put_consumed(&b, 1, &r->consumed, false);
    put_row(&b, 2, &r->row, n);
    if (r->next_token.len)
        pb_put_bytes(&b, 3, r->next_token);
    return buf_bytes(&b);
}

bytes ots_encode_put_row(struct ctx *c, const struct wr_request *req, const struct wr_reply *reply)
{
    const struct wr_row_result *r = &reply->row;
    size_t n = row_bytes(&r->row);
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, n + FRAME_BYTES);
    ots_put_consumed(&b, 1, &r->consumed, false);
    if (n)
        put_row(&b, 2, &r->row, n);
    return buf_bytes(&b);
}

bytes ots_encode_update_row(struct ctx *c, const struct wr_request *req,
                            const struct wr_reply *reply)
{
    return ots_encode_put_row(c, req, reply);
}

bytes ots_encode_delete_row(struct ctx *c, const struct wr_request *req,
                            const struct wr_reply *reply)
{
    return ots_encode_put_row(c, req, reply);
}

/* ---- batches */

/* Which fields a batch's rows have. */
enum batch { BATCH_GET, BATCH_WRITE, BATCH_IMPORT };

static const char *error_text(const struct wr_row_result *r)
{
    return r->message ? r->message : err_info(r->code)->text;
}

/* About the size of a row's message, exact enough to know how long its length will be. */
static size_t result_guess(const struct wr_row_result *r)
{
    if (r->code)
        return 10 + strlen(err_info(r->code)->code) + strlen(error_text(r));
    return 14 + row_bytes(&r->row) + r->next_token.len;
}

static void put_error(struct buf *b, unsigned field, const struct wr_row_result *r)
{
    size_t start = pb_open(b, field, 0);

    pb_put_bytes(b, 1, bytes_str(err_info(r->code)->code));
    pb_put_bytes(b, 2, bytes_str(error_text(r)));
    pb_close(b, start, 0);
}

static void put_result(struct buf *b, unsigned field, const struct wr_row_result *r,
                       enum batch batch)
{
    size_t guess = result_guess(r), start = pb_open(b, field, guess), n;

    pb_put_int(b, 1, r->code == 0);
    if (r->code) {
        put_error(b, 2, r);
    } else {
        n = batch == BATCH_IMPORT ? 0 : row_bytes(&r->row);
        ots_put_consumed(b, 3, &r->consumed, batch == BATCH_IMPORT);
        if (n || batch == BATCH_GET)
            put_row(b, 4, &r->row, n);
        if (batch == BATCH_GET && r->next_token.len)
            pb_put_bytes(b, 5, r->next_token);
    }
    pb_close(b, start, guess);
}

static size_t table_guess(const struct wr_table_result *t)
{
    size_t n = t->table.len + 4;

    for (size_t i = 0; i < t->row_count; i++)
        n += result_guess(&t->rows[i]) + 4;
    return n;
}

static void put_table(struct buf *b, const struct wr_table_result *t, enum batch batch)
{
    pb_put_bytes(b, 1, t->table);
    for (size_t i = 0; i < t->row_count; i++)
        put_result(b, 2, &t->rows[i], batch);
}

static bytes encode_batch(struct ctx *c, const struct wr_batch_result *r, enum batch batch)
{
    size_t n = FRAME_BYTES;
    struct buf b;

    for (size_t i = 0; i < r->table_count; i++)
        n += table_guess(&r->tables[i]) + 8;
    buf_init(&b, &c->arena, n);
    for (size_t i = 0; i < r->table_count; i++) {
        size_t guess = table_guess(&r->tables[i]), start = pb_open(&b, 1, guess);

        put_table(&b, &r->tables[i], batch);
        pb_close(&b, start, guess);
    }
    return buf_bytes(&b);
}

bytes ots_encode_batch_get_row(struct ctx *c, const struct wr_request *req,
                               const struct wr_reply *reply)
{
    (void)req;
    return encode_batch(c, &reply->batch, BATCH_GET);
}

bytes ots_encode_batch_write_row(struct ctx *c, const struct wr_request *req,
                                 const struct wr_reply *reply)
{
    (void)req;
    return encode_batch(c, &reply->batch, BATCH_WRITE);
}

bytes ots_encode_bulk_import(struct ctx *c, const struct wr_request *req,
                             const struct wr_reply *reply)
{
    struct buf b;

    if (reply->batch.table_count == 0) {
        buf_init(&b, &c->arena, FRAME_BYTES);
        pb_put_bytes(&b, 1, req->bulk_import.table.table);
        return buf_bytes(&b);
    }
    buf_init(&b, &c->arena, table_guess(&reply->batch.tables[0]) + FRAME_BYTES);
    put_table(&b, &reply->batch.tables[0], BATCH_IMPORT);
    return buf_bytes(&b);
}

/* ---- ranges */

static bool names_have(const bytes *names, size_t n, bytes name)
{
    for (size_t i = 0; i < n; i++)
        if (bytes_equal(names[i], name))
            return true;
    return false;
}

/* The key columns that a GetRange wants back: all, or only those it named. */
static uint32_t key_mask(const struct wr_get_range *r, const struct wr_key *key)
{
    uint32_t mask = 0;

    if (!r->partial_keys || r->read.column_count == 0)
        return PLAIN_KEY_ALL;
    for (size_t i = 0; i < key->count && i < 32; i++)
        if (names_have(r->read.columns, r->read.column_count, key->columns[i].name))
            mask |= 1u << i;
    return mask;
}

/* Rows behind one header; none are no bytes, unless the caller wants the header still. */
static void put_rows(struct buf *b, unsigned field, const struct wr_range_result *r, size_t n,
                     uint32_t mask)
{
    uint8_t *p;

    pb_put_head(b, field, n);
    if (n == 0)
        return;
    p = plain_put_header(buf_reserve(b, n));
    for (size_t i = 0; i < r->row_count; i++)
        p = plain_put_row(p, &r->rows[i], mask);
    buf_commit(b, n);
}

static size_t rows_bytes(const struct wr_range_result *r, uint32_t mask)
{
    size_t n = PLAIN_HEADER_BYTES;

    for (size_t i = 0; i < r->row_count; i++)
        n += plain_row_size(&r->rows[i], mask);
    return n;
}

/* ---- the fields of a matrix ---- */

static int names_compare(const void *a, const void *b)
{
    return bytes_compare(*(const bytes *)a, *(const bytes *)b);
}

/* Which of a matrix's fields are those: the key columns, in key order, all or only those asked for,
 * and behind them the attributes that were asked for, each once, in the order of their names. */
static void matrix_fields_of(struct ctx *c, const bytes *keys, size_t key_count, bool entire,
                             const bytes *asked, size_t asked_count, struct matrix_fields *out)
{
    bytes *own_keys = ARENA_ARRAY(&c->arena, bytes, key_count + asked_count + 1);
    bytes *columns = own_keys + key_count;

    *out = (struct matrix_fields){.keys = own_keys, .columns = columns};
    for (size_t i = 0; i < key_count; i++)
        if (entire || names_have(asked, asked_count, keys[i]))
            own_keys[out->key_count++] = keys[i];
    out->entire = out->key_count == key_count;
    for (size_t i = 0, n = 0; i < asked_count; i++)
        if (!names_have(keys, key_count, asked[i])) {
            columns[n++] = asked[i];
            out->column_count = n;
        }
    qsort(columns, out->column_count, sizeof(*columns), names_compare);
    for (size_t i = 0, n = out->column_count, kept = 0; i < n; i++)
        if (!kept || !bytes_equal(columns[kept - 1], columns[i])) {
            columns[kept++] = columns[i];
            out->column_count = kept;
        }
}

/* ---- a range as it is read ---- */

/* The body of a GetRange that is written while its rows are read. What stands in front of them is
 * known only at the end, so there is room for it. */
struct range_body {
    const struct wr_get_range *request;
    struct buf b;
    size_t rows_at; /* where they begin in b */
    uint32_t mask;
    /* The rows go as a matrix. Its head is written with the first row, when the request has been
     * checked, or at the end. */
    bool matrix;
    struct ctx *c;
    struct matrix_fields fields;
    size_t row_count;
};

/* Large steps at first, since a page of a few megabytes is what is usual; not beyond what the
 * allocator keeps at hand, nor what the request may take. */
static bool range_body_grow(struct buf *b, size_t n)
{
    size_t want = b->capacity < RANGE_BODY_BYTES / 8 ? b->capacity * 8
                  : b->capacity < RANGE_BODY_BYTES   ? RANGE_BODY_BYTES
                                                     : b->capacity * 2;
    uint8_t *data = want - b->len < n ? NULL : arena_try_alloc(b->arena, want);

    if (!data) {
        want = b->len + n;
        data = arena_try_alloc(b->arena, want);
    }
    if (!data)
        return false;
    memcpy(data, b->data, b->len);
    b->data = data;
    b->capacity = want;
    return true;
}

static bool range_body_has(struct buf *b, size_t n)
{
    return PORT_LIKELY(b->capacity - b->len >= n) || range_body_grow(b, n);
}

static int range_body_begin_matrix(struct range_body *body)
{
    const struct wr_get_range *r = body->request;
    bytes *keys = ARENA_ARRAY(&body->c->arena, bytes, r->start.count);

    for (size_t i = 0; i < r->start.count; i++)
        keys[i] = r->start.columns[i].name;
    matrix_fields_of(body->c, keys, r->start.count, !r->partial_keys, r->read.columns,
                     r->read.column_count, &body->fields);
    if (!range_body_has(&body->b, matrix_head_size(&body->fields)))
        return WR_E_MEMORY;
    matrix_begin(&body->b, &body->fields);
    return WR_OK;
}

static int range_body_add_matrix(struct range_body *body, const struct wr_row *row)
{
    if (!body->row_count)
        TRY(range_body_begin_matrix(body));
    if (!range_body_has(&body->b, matrix_row_size(&body->fields, row)))
        return WR_E_MEMORY;
    matrix_put_row(&body->b, &body->fields, row);
    body->row_count++;
    return WR_OK;
}

static int range_body_add(void *arg, const struct wr_row *row)
{
    struct range_body *body = arg;
    struct buf *b = &body->b;
    size_t n;
    uint8_t *p;

    if (PORT_UNLIKELY(body->matrix))
        return range_body_add_matrix(body, row);
    if (b->len == body->rows_at) {
        body->mask = key_mask(body->request, &row->key);
        plain_put_header(b->data + b->len);
        buf_commit(b, PLAIN_HEADER_BYTES);
    }
    n = plain_row_size(row, body->mask);
    if (!range_body_has(b, n))
        return WR_E_MEMORY;
    p = b->data + b->len;
    buf_commit(b, (size_t)(plain_put_row(p, row, body->mask) - p));
    return WR_OK;
}

/* A matrix has named columns and one version of each, and no timestamps; what it cannot say goes as
 * a plain buffer, for the client only gave a hint. */
static bool range_is_matrix(const struct wr_get_range *r)
{
    return r->matrix && r->read.column_count && r->read.has_max_versions &&
           r->read.max_versions == 1;
}

void ots_stream_rows(struct ctx *c, struct wr_request *req)
{
    struct range_body *body;

    if (req->op != WR_OP_GET_RANGE)
        return;
    body = ARENA_NEW(&c->arena, struct range_body);
    body->request = &req->get_range;
    body->matrix = range_is_matrix(&req->get_range);
    body->c = c;
    buf_init(&body->b, &c->arena, RANGE_BODY_BYTES_MIN);
    body->rows_at = FRAME_BYTES;
    buf_commit(&body->b, body->rows_at);
    req->get_range.on_row = range_body_add;
    req->get_range.on_row_arg = body;
}

/* The fields in front of the rows go into the room that ends where they begin. */
static bytes range_body_end(struct range_body *body, struct ctx *c, const struct wr_range_result *r)
{
    struct wr_row next = {.key = r->next};
    size_t next_bytes = row_bytes(&next), at;
    struct buf *b = &body->b, front;

    if (body->matrix && !body->row_count)
        range_body_begin_matrix(body);
    if (body->matrix)
        matrix_end(b, body->rows_at, body->row_count);
    buf_init(&front, &c->arena, FRAME_BYTES);
    ots_put_consumed(&front, 1, &r->consumed, false);
    pb_put_head(&front, 2, b->len - body->rows_at);
    at = body->rows_at - front.len;
    memcpy(b->data + at, front.data, front.len);
    if (next_bytes)
        put_row(b, 3, &next, next_bytes);
    if (body->matrix)
        pb_put_int(b, 5, OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX);
    return bytes_skip(buf_bytes(b), at);
}

bytes ots_encode_get_range(struct ctx *c, const struct wr_request *req,
                           const struct wr_reply *reply)
{
    const struct wr_range_result *r = &reply->range;
    uint32_t mask = PLAIN_KEY_ALL;
    struct wr_row next = {.key = r->next};
    size_t n, next_bytes = row_bytes(&next);
    struct buf b;

    if (req->get_range.on_row == range_body_add)
        return range_body_end(req->get_range.on_row_arg, c, r);
    if (r->row_count)
        mask = key_mask(&req->get_range, &r->rows[0].key);
    n = r->row_count ? rows_bytes(r, mask) : 0;
    buf_init(&b, &c->arena, n + next_bytes + FRAME_BYTES);
    ots_put_consumed(&b, 1, &r->consumed, false);
    put_rows(&b, 2, r, n, mask);
    if (next_bytes)
        put_row(&b, 3, &next, next_bytes);
    return buf_bytes(&b);
}

bytes ots_encode_bulk_export(struct ctx *c, const struct wr_request *req,
                             const struct wr_reply *reply)
{
    const struct wr_bulk_export *e = &req->bulk_export;
    const struct wr_range_result *r = &reply->range;
    bytes *keys = ARENA_ARRAY(&c->arena, bytes, r->key_count), block = BYTES_NONE;
    struct matrix_fields fields;
    size_t n = 0;
    struct buf b;

    if (e->matrix) {
        for (size_t i = 0; i < r->key_count; i++)
            keys[i] = r->key[i].name;
        matrix_fields_of(c, keys, r->key_count, false, e->columns, e->column_count, &fields);
        block = matrix_encode(c, &fields, r->rows, r->row_count);
    } else {
        n = rows_bytes(r, PLAIN_KEY_ALL);
    }
    buf_init(&b, &c->arena, n + block.len + FRAME_BYTES);
    ots_put_consumed(&b, 1, &r->consumed, true);
    if (e->matrix)
        pb_put_bytes(&b, 2, block);
    else
        put_rows(&b, 2, r, n, PLAIN_KEY_ALL); /* a bare header if there are none */
    if (r->next.count)
        put_key(&b, 3, &r->next);
    pb_put_int(&b, 4,
               e->matrix ? OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX
                         : OTS__DATA_BLOCK_TYPE__DBT_PLAIN_BUFFER);
    return buf_bytes(&b);
}

/* ---- splits */

bytes ots_encode_compute_split_points(struct ctx *c, const struct wr_request *req,
                                      const struct wr_reply *reply)
{
    const struct wr_split_result *r = &reply->splits;
    struct buf b;
    size_t start;

    (void)req;
    buf_init(&b, &c->arena, FRAME_BYTES + r->point_count * 64);
    ots_put_consumed(&b, 1, &r->consumed, false);
    ots_put_keys(&b, 2, r->schema, r->schema_count);
    for (size_t i = 0; i < r->point_count; i++) {
        struct wr_key key = r->points[i];

        while (key.count && key.columns[key.count - 1].value.type == WR_INF_MIN)
            key.count--;
        if (key.count)
            put_key(&b, 3, &key);
    }
    start = pb_open(&b, 4, 0);
    pb_put_bytes(&b, 1, BYTES_LIT(SPLIT_LOCATION));
    pb_put_int(&b, 2, (int64_t)zigzag((int64_t)r->point_count + 1));
    pb_close(&b, start, 0);
    return buf_bytes(&b);
}
