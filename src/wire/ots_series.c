/* Series of tables: requests and answers, both ways. Messages of our own. */
#include "wire/ots_part.h"

static void put_spec(struct buf *b, unsigned field, const struct wr_series_spec *s)
{
    size_t start = pb_open(b, field, 0);

    pb_put_int(b, 1, s->by);
    pb_put_bytes(b, 2, s->column);
    pb_put_int(b, 3, s->unit);
    pb_put_int(b, 4, s->hot);
    pb_put_int(b, 5, s->warm);
    pb_put_int(b, 6, s->warm_reserved.read);
    pb_put_int(b, 7, s->warm_reserved.write);
    pb_close(b, start, 0);
}

static struct wr_series_spec read_spec(const Ots__SeriesSpec *m)
{
    return (struct wr_series_spec){.by = (enum wr_series_by)m->by,
                                   .column = pb_view(m->column),
                                   .unit = (enum wr_series_unit)m->unit,
                                   .hot = m->hot,
                                   .warm = m->warm,
                                   .warm_reserved = {true, true, m->warm_read, m->warm_write}};
}

int ots_decode_create_series_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__CreateSeriesRequest *m = message;
    struct wr_request table = {.op = WR_OP_CREATE_TABLE};

    TRY(ots_decode_create_table_request(c, m->table, &table));
    out->create_series =
        (struct wr_create_series){.table = table.create_table, .series = read_spec(m->series)};
    if (m->has_archive)
        out->create_series.archive = pb_view(m->archive);
    return 0;
}

void ots_encode_create_series_request(struct buf *b, const struct wr_request *req)
{
    struct wr_request table = {.op = WR_OP_CREATE_TABLE, .create_table = req->create_series.table};
    size_t start = pb_open(b, 1, 0);

    ots_encode_create_table_request(b, &table);
    pb_close(b, start, 0);
    put_spec(b, 2, &req->create_series.series);
    if (req->create_series.archive.len)
        pb_put_bytes(b, 3, req->create_series.archive);
}

int ots_decode_change_series_request(struct ctx *c, const void *message, struct wr_request *out)
{
    const Ots__ChangeSeriesRequest *m = message;
    struct wr_change_series *change = &out->change_series;

    (void)c;
    *change = (struct wr_change_series){.table = pb_view(m->table_name),
                                        .action = (enum wr_series_action)m->action};
    if (m->series)
        change->spec = read_spec(m->series);
    if (m->has_period)
        change->period = pb_view(m->period);
    if (m->has_archive)
        change->archive = pb_view(m->archive);
    return 0;
}

void ots_encode_change_series_request(struct buf *b, const struct wr_request *req)
{
    const struct wr_change_series *change = &req->change_series;

    pb_put_bytes(b, 1, change->table);
    pb_put_int(b, 2, change->action);
    if (change->action == WR_SERIES_AGE)
        put_spec(b, 3, &change->spec);
    if (change->period.ptr)
        pb_put_bytes(b, 4, change->period);
    if (change->archive.len)
        pb_put_bytes(b, 5, change->archive);
}

static void put_period(struct buf *b, unsigned field, const struct wr_series_period *p)
{
    size_t start = pb_open(b, field, 0);

    pb_put_bytes(b, 1, p->name);
    pb_put_int(b, 2, p->frozen);
    pb_put_int(b, 3, p->creation_us);
    pb_put_int(b, 4, (int64_t)p->stored_bytes);
    pb_close(b, start, 0);
}

bytes ots_encode_series_response(struct ctx *c, const struct wr_request *req,
                                 const struct wr_reply *reply)
{
    const struct wr_series_result *r = &reply->series;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256);
    put_spec(&b, 1, &r->spec);
    pb_put_bytes(&b, 2, r->frozen);
    pb_put_bytes(&b, 3, r->dropped);
    for (size_t i = 0; i < r->count; i++)
        put_period(&b, 4, &r->periods[i]);
    if (r->archive.len) {
        pb_put_bytes(&b, 5, r->archive);
        pb_put_bytes(&b, 6, r->archived);
        pb_put_bytes(&b, 7, r->archive_state);
    }
    return buf_bytes(&b);
}

int ots_decode_series_response(struct ctx *c, const void *message, struct wr_reply *out)
{
    const Ots__SeriesResponse *m = message;
    struct wr_series_period *periods;

    TRY(ots_array(c, m->n_periods, sizeof(*periods), &periods));
    for (size_t i = 0; i < m->n_periods; i++)
        periods[i] =
            (struct wr_series_period){.name = pb_view(m->periods[i]->name),
                                      .frozen = m->periods[i]->has_frozen && m->periods[i]->frozen,
                                      .creation_us = m->periods[i]->creation_us,
                                      .stored_bytes = (uint64_t)m->periods[i]->stored_bytes};
    out->series = (struct wr_series_result){.spec = read_spec(m->series),
                                            .frozen = pb_view(m->frozen),
                                            .dropped = pb_view(m->dropped),
                                            .periods = periods,
                                            .count = m->n_periods};
    if (m->has_archive) {
        out->series.archive = pb_view(m->archive);
        out->series.archived = pb_view(m->archived);
        out->series.archive_state = pb_view(m->archive_state);
    }
    return 0;
}
