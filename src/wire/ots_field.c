/* Parts that messages of several families have, and what is said of bytes that are no message. */
#include "wire/ots_part.h"

const char ots_text_parse[] = "Parse PBMessage from RawString failed.";
const char ots_text_reply[] = "The answer is not one of this protocol.";

int ots_fail_parse(struct ctx *c)
{
    return fail(c, E_PARAMETER, "%s", ots_text_parse);
}

int ots_fail_reply(struct ctx *c)
{
    return fail(c, E_PARAMETER, "%s", ots_text_reply);
}

int ots_array(struct ctx *c, size_t n, size_t item_bytes, void *out)
{
    void *p = arena_try_alloc(&c->arena, n * item_bytes);

    if (!p)
        return fail_code(c, E_MEMORY);
    memset(p, 0, n * item_bytes);
    memcpy(out, &p, sizeof(p));
    return 0;
}

int ots_views(struct ctx *c, size_t n, const ProtobufCBinaryData *fields, const bytes **out,
              size_t *count)
{
    bytes *views = NULL;

    *out = NULL;
    *count = n;
    if (n == 0)
        return 0;
    TRY(ots_array(c, n, sizeof(*views), &views));
    for (size_t i = 0; i < n; i++)
        views[i] = pb_view(fields[i]);
    *out = views;
    return 0;
}

void ots_put_names(struct buf *b, unsigned field, const bytes *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pb_put_bytes(b, field, names[i]);
}

/* ---- capacity */

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

void ots_read_consumed(const Ots__ConsumedCapacity *m, struct wr_capacity *out)
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

/* ---- rows and keys */

size_t ots_row_bytes(const struct wr_row *row)
{
    return row->key.count ? PLAIN_HEADER_BYTES + plain_row_size(row, PLAIN_KEY_ALL) : 0;
}

void ots_put_row(struct buf *b, unsigned field, const struct wr_row *row, size_t n)
{
    pb_put_head(b, field, n);
    if (n == 0)
        return;
    plain_put_row(plain_put_header(buf_reserve(b, n)), row, PLAIN_KEY_ALL);
    buf_commit(b, n);
}

void ots_put_key(struct buf *b, unsigned field, const struct wr_key *key)
{
    struct wr_row row = {.key = *key};

    ots_put_row(b, field, &row, ots_row_bytes(&row));
}

int ots_read_row(struct ctx *c, ProtobufCBinaryData field, struct wr_row *out)
{
    const struct wr_row *rows;
    size_t n;

    TRY(plain_decode_rows(c, pb_view(field), &rows, &n));
    if (n > 1)
        return ots_fail_reply(c);
    if (n)
        *out = rows[0];
    return 0;
}
