#include "wire/ots_sql.h"

#include "wire/flat.h"
#include "wire/ots_part.h"

int ots_sql_decode(struct ctx *c, bytes body, struct ots_sql_query *out)
{
    const void *message;
    const Ots__SQLQueryRequest *m;

    TRY(pb_unpack(c, &ots__sqlquery_request__descriptor, body, ots_text_parse, &message));
    m = message;
    *out = (struct ots_sql_query){.sql = pb_view(m->query),
                                  .payload = m->has_version ? (enum ots_sql_payload)m->version
                                                            : OTS_SQL_PLAIN,
                                  .moments = m->sql_version >= 1};
    if (out->payload != OTS_SQL_PLAIN && out->payload != OTS_SQL_FLAT)
        return fail(c, E_PARAMETER,
                    "The version of SQLQuery is 1 (plain buffer) or 2 (flat buffers).");
    out->moments &= out->payload == OTS_SQL_FLAT;
    return E_OK;
}

/* ---- plain buffer: rows of nothing but cells; a NULL is a cell that is not there ---- */

static void row_fill(const struct flat_rows *rows, size_t i, struct wr_row *row)
{
    struct wr_cell *cells = (struct wr_cell *)(uintptr_t)row->cells;

    row->cell_count = 0;
    for (size_t k = 0; k < rows->column_count; k++) {
        const struct wr_value *v = &rows->rows[i][k];

        if (v->type != WR_NULL)
            cells[row->cell_count++] = (struct wr_cell){
                .name = rows->columns[k].name, .value = *v, .timestamp_ms = WR_TIMESTAMP_NONE};
    }
}

static bytes plain_rows(struct ctx *c, const struct flat_rows *rows)
{
    struct wr_row row = {.cells = ARENA_ARRAY(&c->arena, struct wr_cell, rows->column_count)};
    size_t size = PLAIN_HEADER_BYTES;
    uint8_t *start, *p;

    for (size_t i = 0; i < rows->row_count; i++) {
        row_fill(rows, i, &row);
        size += plain_change_size(&row, WR_PUT);
    }
    start = arena_try_alloc(&c->arena, size);
    if (!start)
        return BYTES_NONE;
    p = plain_put_header(start);
    for (size_t i = 0; i < rows->row_count; i++) {
        row_fill(rows, i, &row);
        p = plain_put_change(p, &row, WR_PUT);
    }
    return bytes_of(start, (size_t)(p - start));
}

static bytes flat_encoded(struct ctx *c, const struct flat_rows *rows)
{
    uint8_t *p = arena_try_alloc(&c->arena, flat_size_max(rows));

    return p ? bytes_of(p, flat_put(p, rows)) : BYTES_NONE;
}

static void put_consumed(struct buf *b, const struct ots_sql_consumed *consumed)
{
    size_t guess = consumed->table.len + 16, start = pb_open(b, 1, guess);

    pb_put_bytes(b, 1, consumed->table);
    ots_put_consumed(b, 2, &(struct wr_capacity){.read = consumed->read}, false);
    pb_close(b, start, guess);
}

int ots_sql_encode(struct ctx *c, const struct ots_sql_answer *answer, bytes *out)
{
    bytes rows = BYTES_LIT("");
    struct buf b;

    if (answer->rows)
        rows = answer->payload == OTS_SQL_FLAT ? flat_encoded(c, answer->rows)
                                               : plain_rows(c, answer->rows);
    if (!rows.ptr)
        return fail_code(c, E_MEMORY);
    buf_init(&b, &c->arena, rows.len + 256 * (answer->consumed_count + 1));
    for (size_t i = 0; i < answer->consumed_count; i++)
        put_consumed(&b, &answer->consumed[i]);
    if (answer->rows)
        pb_put_bytes(&b, 2, rows);
    pb_put_int(&b, 3, answer->payload);
    pb_put_int(&b, 4, answer->type);
    *out = buf_bytes(&b);
    return E_OK;
}
