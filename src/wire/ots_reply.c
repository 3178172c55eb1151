/* Answers with single rows and batches of rows, both ways. They are the hot ones: sizes are
 * computed first, so that each is one buffer into which the rows are written once. */
#include "wire/ots_client.h"
#include "wire/ots_part.h"

#include <string.h>

#define FRAME_BYTES 64 /* more than an answer without its rows takes */

/* ---- single rows */

bytes ots_encode_get_row_response(struct ctx *c, const struct wr_request *req,
                                  const struct wr_reply *reply)
{
    const struct wr_row_result *r = &reply->row;
    size_t n = ots_row_bytes(&r->row);
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, n + r->next_token.len + FRAME_BYTES);
    ots_put_consumed(&b, 1, &r->consumed, false);
    ots_put_row(&b, 2, &r->row, n);
    if (r->next_token.len)
        pb_put_bytes(&b, 3, r->next_token);
    return buf_bytes(&b);
}

int ots_decode_get_row_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__GetRowResponse *m = message;

    out->row.message = "";
    ots_read_consumed(m->consumed, &out->row.consumed);
    if (m->has_next_token && m->next_token.len)
        out->row.next_token = pb_view(m->next_token);
    return ots_read_row(c, m->row, &out->row.row);
}

bytes ots_encode_put_row_response(struct ctx *c, const struct wr_request *req,
                                  const struct wr_reply *reply)
{
    const struct wr_row_result *r = &reply->row;
    size_t n = ots_row_bytes(&r->row);
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, n + FRAME_BYTES);
    ots_put_consumed(&b, 1, &r->consumed, false);
    if (n)
        ots_put_row(&b, 2, &r->row, n);
    return buf_bytes(&b);
}

int ots_decode_put_row_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__PutRowResponse *m = message;

    out->row.message = "";
    ots_read_consumed(m->consumed, &out->row.consumed);
    return ots_read_row(c, m->row, &out->row.row);
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
    return 14 + ots_row_bytes(&r->row) + r->next_token.len;
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
        n = batch == BATCH_IMPORT ? 0 : ots_row_bytes(&r->row);
        ots_put_consumed(b, 3, &r->consumed, batch == BATCH_IMPORT);
        if (n || batch == BATCH_GET)
            ots_put_row(b, 4, &r->row, n);
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

/* BatchGetRow and BatchWriteRow. */
bytes ots_encode_batch_response(struct ctx *c, const struct wr_request *req,
                                const struct wr_reply *reply)
{
    enum batch batch = req->op == WR_OP_BATCH_GET_ROW ? BATCH_GET : BATCH_WRITE;
    const struct wr_batch_result *r = &reply->batch;
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

/* A text with its closing NUL. */
static const char *ots_reply_text_of(struct ctx *c, bytes b)
{
    return arena_printf(&c->arena, "%.*s", BYTES_FMT(b)).ptr;
}

static int read_result(struct ctx *c, const Ots__RowInBatchResponse *m, struct wr_row_result *out)
{
    out->message = "";
    ots_read_consumed(m->consumed, &out->consumed);
    if (!m->is_ok && !m->error)
        return ots_fail_reply(c);
    if (!m->is_ok) {
        out->code = ots_error_of(pb_view(m->error->code), pb_view(m->error->message));
        out->message = ots_reply_text_of(c, pb_view(m->error->message));
        return 0;
    }
    if (m->has_next_token && m->next_token.len)
        out->next_token = pb_view(m->next_token);
    return ots_read_row(c, m->row, &out->row);
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

int ots_decode_batch_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__BatchResponse *m = message;
    struct wr_table_result *tables;

    TRY(ots_array(c, m->n_tables, sizeof(*tables), &tables));
    for (size_t i = 0; i < m->n_tables; i++)
        TRY(read_table_result(c, m->tables[i], &tables[i]));
    out->batch = (struct wr_batch_result){tables, m->n_tables};
    return 0;
}

/* ---- BulkImport */

bytes ots_encode_table_in_batch_response(struct ctx *c, const struct wr_request *req,
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

int ots_decode_table_in_batch_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    struct wr_table_result *table;

    TRY(ots_array(c, 1, sizeof(*table), &table));
    TRY(read_table_result(c, message, table));
    out->batch = (struct wr_batch_result){table, 1};
    return 0;
}
