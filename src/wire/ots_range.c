/* Answers with a range of rows, both ways: GetRange, which may be written while its rows are read,
 * BulkExport, and ComputeSplitPointsBySize. */
#include "base/bytes_short.h"
#include "base/crc8.h"
#include "wire/matrix.h"
#include "wire/ots.h"
#include "wire/ots_part.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_BYTES 64 /* more than an answer without its rows takes */
#define RANGE_BODY_BYTES_MIN 2048
#define RANGE_BODY_BYTES ((size_t)6 << 20)   /* holds a page of rows of 1 KB */
#define OPEN_WIDEN_BYTES ((size_t)128 << 10) /* up to there a matrix is written anew */
#define RANGE_BODY_OWN ((size_t)1 << 20)     /* from there on it is sent from its own memory, */
#define RANGE_BODY_ROOM 4096                 /* with room for a head in front */

/* The hint where a run of splits lies. There is one place, so it is any text of the usual form. */
#define SPLIT_LOCATION "0123456789abcdef0123456789abcdef"

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
static void ots_range_put_rows(struct buf *b, unsigned field, const struct wr_range_result *r,
                               size_t n, uint32_t mask)
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

/* ---- the fields of a matrix */

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

/* ---- a range as it is read */

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
    bool open; /* of whatever columns the rows have */
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
    size_t room = want < RANGE_BODY_OWN ? 0 : RANGE_BODY_ROOM;
    uint8_t *data = want - b->len < n ? NULL : arena_try_alloc(b->arena, room + want);

    if (!data) {
        want = b->len + n;
        data = arena_try_alloc(b->arena, room + want);
    }
    if (!data)
        return false;
    memcpy(data + room, b->data, b->len);
    b->data = data + room;
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
    if (body->open) {
        body->fields.keys = keys;
        body->fields.key_count = r->start.count;
        body->fields.entire = true;
    } else {
        matrix_fields_of(body->c, keys, r->start.count, !r->partial_keys, r->read.columns,
                         r->read.column_count, &body->fields);
    }
    if (!range_body_has(&body->b, matrix_head_size(&body->fields)))
        return WR_E_MEMORY;
    matrix_begin(&body->b, &body->fields);
    return WR_OK;
}

/* ---- a matrix of whatever columns the rows have */

static int range_body_add(void *arg, const struct wr_row *row);

static bool fields_have(const struct matrix_fields *fields, const struct wr_row *row)
{
    size_t at = 0;

    for (size_t i = 0; i < row->cell_count; i++) {
        while (at < fields->column_count &&
               !bytes_equal_short(fields->columns[at], row->cells[i].name))
            at++;
        if (at == fields->column_count)
            return false;
    }
    return true;
}

/* Adds the row's columns to those there are; both are sorted. Names are copied, for a row does not
 * stay. */
static void fields_widen(struct ctx *c, struct matrix_fields *fields, const struct wr_row *row)
{
    bytes *all = ARENA_ARRAY(&c->arena, bytes, fields->column_count + row->cell_count + 1);
    size_t n = 0, at = 0;

    for (size_t i = 0; i < row->cell_count; i++) {
        bytes name = row->cells[i].name;

        while (at < fields->column_count && bytes_compare(fields->columns[at], name) < 0)
            all[n++] = fields->columns[at++];
        if (at < fields->column_count && bytes_equal(fields->columns[at], name))
            all[n++] = fields->columns[at++];
        else if (!n || !bytes_equal(all[n - 1], name))
            all[n++] = arena_copy(&c->arena, name);
    }
    while (at < fields->column_count)
        all[n++] = fields->columns[at++];
    fields->columns = all;
    fields->column_count = n;
}

/* A cell of a matrix as one of a plain buffer: with a time, and the checksum that storage else
 * gives. */
static void cell_complete(struct ctx *c, struct wr_cell *cell)
{
    size_t n = plain_value_size(&cell->value);
    uint8_t *value = arena_alloc(&c->arena, n);

    plain_put_value(value, &cell->value);
    cell->timestamp_ms = 0;
    cell->crc8 = crc8(crc8(0, cell->name.ptr, cell->name.len), value, n);
    cell->crc8 = crc8_u64(cell->crc8, (uint64_t)cell->timestamp_ms);
}

/* Writes the rows so far anew, and makes room for the row's columns: as a matrix, or, if that has
 * grown large already, as a plain buffer, whose cells have the time 0 then. */
static int range_body_widen(struct range_body *body, const struct wr_row *row)
{
    const struct wr_row *rows = NULL;
    size_t count = 0;

    if (body->row_count) {
        bytes old;

        matrix_end(&body->b, body->rows_at, body->row_count);
        old = bytes_skip(buf_bytes(&body->b), body->rows_at);
        TRY(matrix_decode(body->c, old, &rows, &count));
        body->matrix = old.len < OPEN_WIDEN_BYTES;
    }
    buf_init(&body->b, &body->c->arena, RANGE_BODY_BYTES_MIN);
    buf_commit(&body->b, body->rows_at);
    body->row_count = 0;
    fields_widen(body->c, &body->fields, row);
    for (size_t i = 0; i < count; i++) {
        struct wr_cell *cells = (struct wr_cell *)(uintptr_t)rows[i].cells; /* decoded here */

        for (size_t k = 0; k < rows[i].cell_count && !body->matrix; k++)
            cell_complete(body->c, &cells[k]);
        TRY(range_body_add(body, &rows[i]));
    }
    return WR_OK;
}

static int range_body_add_matrix(struct range_body *body, const struct wr_row *row)
{
    if (body->open && !fields_have(&body->fields, row)) {
        TRY(range_body_widen(body, row));
        if (!body->matrix)
            return range_body_add(body, row);
    }
    if (!body->row_count)
        TRY(range_body_begin_matrix(body));
    if (!range_body_has(&body->b, matrix_row_room(&body->fields, row)))
        return WR_E_MEMORY;
    matrix_put_row(&body->b, &body->fields, row);
    body->row_count++;
    return WR_OK;
}

static int range_body_add(void *arg, const struct wr_row *row)
{
    struct range_body *body = arg;
    struct buf *b = &body->b;
    uint8_t *p, *end;

    if (PORT_UNLIKELY(body->matrix))
        return range_body_add_matrix(body, row);
    if (b->len == body->rows_at) {
        body->mask = key_mask(body->request, &row->key);
        plain_put_header(b->data + b->len);
        buf_commit(b, PLAIN_HEADER_BYTES);
    }
    p = b->data + b->len;
    end = plain_try_row(p, b->data + b->capacity, row, body->mask);
    if (PORT_UNLIKELY(!end)) {
        if (!range_body_has(b, plain_row_size(row, body->mask)))
            return WR_E_MEMORY;
        p = b->data + b->len;
        end = plain_put_row(p, row, body->mask);
    }
    buf_commit(b, (size_t)(end - p));
    return WR_OK;
}

/* Whatever columns the rows have: asked for as a part of the key without saying which. */
static bool range_is_open(const struct wr_get_range *r)
{
    return r->matrix && r->partial_keys && !r->read.column_count;
}

/* A matrix has named columns and one version of each, and no timestamps; what it cannot say goes as
 * a plain buffer, for the client only gave a hint. */
static bool range_is_matrix(const struct wr_get_range *r)
{
    return r->matrix && (r->read.column_count || range_is_open(r)) && r->read.has_max_versions &&
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
    body->open = range_is_open(&req->get_range);
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
    size_t next_bytes = ots_row_bytes(&next), at;
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
        ots_put_row(b, 3, &next, next_bytes);
    if (body->matrix)
        pb_put_int(b, 5, OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX);
    return bytes_skip(buf_bytes(b), at);
}

/* ---- GetRange and BulkExport */

bytes ots_encode_get_range_response(struct ctx *c, const struct wr_request *req,
                                    const struct wr_reply *reply)
{
    const struct wr_range_result *r = &reply->range;
    uint32_t mask = PLAIN_KEY_ALL;
    struct wr_row next = {.key = r->next};
    size_t n, next_bytes = ots_row_bytes(&next);
    struct buf b;

    if (req->get_range.on_row == range_body_add)
        return range_body_end(req->get_range.on_row_arg, c, r);
    if (r->row_count)
        mask = key_mask(&req->get_range, &r->rows[0].key);
    n = r->row_count ? rows_bytes(r, mask) : 0;
    buf_init(&b, &c->arena, n + next_bytes + FRAME_BYTES);
    ots_put_consumed(&b, 1, &r->consumed, false);
    ots_range_put_rows(&b, 2, r, n, mask);
    if (next_bytes)
        ots_put_row(&b, 3, &next, next_bytes);
    return buf_bytes(&b);
}

bytes ots_encode_bulk_export_response(struct ctx *c, const struct wr_request *req,
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
        ots_range_put_rows(&b, 2, r, n, PLAIN_KEY_ALL); /* a bare header if there are none */
    if (r->next.count)
        ots_put_key(&b, 3, &r->next);
    pb_put_int(&b, 4,
               e->matrix ? OTS__DATA_BLOCK_TYPE__DBT_SIMPLE_ROW_MATRIX
                         : OTS__DATA_BLOCK_TYPE__DBT_PLAIN_BUFFER);
    return buf_bytes(&b);
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

int ots_decode_get_range_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__GetRangeResponse *m = message;

    ots_read_consumed(m->consumed, &out->range.consumed);
    return read_range_rows(c, pb_view(m->next_start_primary_key), pb_view(m->rows),
                           m->data_block_type, &out->range);
}

int ots_decode_bulk_export_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__BulkExportResponse *m = message;

    ots_read_consumed(m->consumed, &out->range.consumed);
    return read_range_rows(c, pb_view(m->next_start_primary_key), pb_view(m->rows),
                           m->data_block_type, &out->range);
}

/* ---- splits */

bytes ots_encode_compute_split_points_by_size_response(struct ctx *c, const struct wr_request *req,
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
            ots_put_key(&b, 3, &key);
    }
    start = pb_open(&b, 4, 0);
    pb_put_bytes(&b, 1, BYTES_LIT(SPLIT_LOCATION));
    pb_put_int(&b, 2, (int64_t)zigzag((int64_t)r->point_count + 1));
    pb_close(&b, start, 0);
    return buf_bytes(&b);
}

int ots_decode_compute_split_points_by_size_response(struct ctx *c, const void *message,
                                                     struct wr_reply *out)
{
    struct wr_split_result *r = &out->splits;
    const Ots__ComputeSplitPointsBySizeResponse *m = message;
    struct wr_key *points;

    ots_read_consumed(m->consumed, &r->consumed);
    TRY(ots_read_keys(c, m->n_schema, m->schema, &r->schema, &r->schema_count));
    TRY(ots_array(c, m->n_split_points, sizeof(*points), &points));
    for (size_t i = 0; i < m->n_split_points; i++)
        TRY(plain_decode_key(c, pb_view(m->split_points[i]), &points[i]));
    r->points = points;
    r->point_count = m->n_split_points;
    return 0;
}
