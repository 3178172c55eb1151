/* Parts that several messages of search indexes have. */
#include "wire/ots_search_part.h"

#include <inttypes.h>

int search_enter(struct search_read *s)
{
    if (++s->depth > SEARCH_DEPTH_MAX)
        return fail(s->c, E_PARAMETER,
                    "The request nests queries, fields or groups deeper than %d levels.",
                    SEARCH_DEPTH_MAX);
    return 0;
}

int search_end(struct search_read *s, const struct pb_reader *r)
{
    return r->bad ? fail(s->c, E_PARAMETER, "%s", s->text) : 0;
}

int search_items(struct search_read *s, size_t n, size_t item_bytes, void *out)
{
    s->parts += n;
    if (s->text == ots_text_parse && s->parts > SEARCH_PARTS_MAX)
        return fail(s->c, E_PARAMETER,
                    "The request has more than %d queries, fields, values and groups in all.",
                    SEARCH_PARTS_MAX);
    return ots_array(s->c, n, item_bytes, out);
}

int search_value(struct search_read *s, struct pb_reader *r, struct wr_value *out)
{
    TRY(plain_decode_value(s->c, pb_bytes(r), out));
    if (out->type != WR_BIGINT && out->type != WR_DOUBLE && out->type != WR_BOOLEAN &&
        out->type != WR_VARCHAR)
        return fail(s->c, E_PARAMETER,
                    "A value in a search is an INTEGER, a DOUBLE, a BOOLEAN or a STRING.");
    return 0;
}

void search_put_value(struct buf *b, unsigned field, const struct wr_value *v)
{
    size_t n = plain_value_size(v);

    if (v->type == WR_NULL)
        return;
    pb_put_head(b, field, n);
    plain_put_value(buf_reserve(b, n), v);
    buf_commit(b, n);
}

int search_texts(struct search_read *s, bytes in, unsigned field, const bytes **out, size_t *count)
{
    struct pb_reader r = pb_reader_of(in);
    bytes *list;
    size_t n = 0;

    TRY(search_items(s, pb_count(in, field), sizeof(*list), &list));
    while (pb_next(&r))
        if (r.field == field)
            list[n++] = pb_bytes(&r);
    *out = n ? list : NULL;
    *count = n;
    return search_end(s, &r);
}

int search_enum(struct search_read *s, struct pb_reader *r, int32_t least, int32_t most,
                const char *what, int32_t *out)
{
    *out = pb_int32(r);
    if (*out < least || *out > most)
        return fail(s->c, E_PARAMETER,
                    "%s %" PRId32 " is not known; %" PRId32 " to %" PRId32 " are.", what, *out,
                    least, most);
    return 0;
}

int search_read_named(struct search_read *s, bytes in, int32_t most, const char *what,
                      struct search_named *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (struct search_named){.body = BYTES_LIT("")};
    while (pb_next(&r))
        if (r.field == 1)
            out->name = pb_bytes(&r);
        else if (r.field == 2)
            TRY(search_enum(s, &r, 1, most, what, &out->type));
        else if (r.field == 3)
            out->body = pb_bytes(&r);
    return search_end(s, &r);
}

int search_need(struct search_read *s, bool given, const char *what, const char *member)
{
    return given ? 0 : fail(s->c, E_PARAMETER, "[%s] %s must be set.", what, member);
}

int search_read_interval(struct search_read *s, bytes in, struct wr_date_interval *out)
{
    struct pb_reader r = pb_reader_of(in);

    *out = (struct wr_date_interval){.given = true};
    while (pb_next(&r))
        if (r.field == 1)
            out->value = pb_int32(&r);
        else if (r.field == 2)
            TRY(search_enum(s, &r, 1, 9, "Unit of time", &out->unit));
    TRY(search_end(s, &r));
    return search_need(s, out->unit, "interval", "unit");
}

void search_put_interval(struct buf *b, unsigned field, const struct wr_date_interval *v)
{
    size_t start;

    if (!v->given)
        return;
    start = pb_open(b, field, 0);
    pb_put_int(b, 1, v->value);
    pb_put_int(b, 2, v->unit);
    pb_close(b, start, 0);
}

int search_read_row(struct search_read *s, bytes in, struct wr_row *out)
{
    const struct wr_row *rows;
    size_t n;

    TRY(plain_decode_rows(s->c, in, &rows, &n));
    if (n != 1)
        return ots_fail_reply(s->c);
    *out = rows[0];
    return 0;
}

/* A row as one that is put, for what an index keeps of it has neither timestamps nor checksums. */
void search_put_rows(struct buf *b, unsigned field, const struct wr_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t size = PLAIN_HEADER_BYTES + plain_change_size(&rows[i], WR_PUT);

        pb_put_head(b, field, size);
        plain_put_change(plain_put_header(buf_reserve(b, size)), &rows[i], WR_PUT);
        buf_commit(b, size);
    }
}
