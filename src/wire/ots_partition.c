/* DescribePartitions, an operation of our own: answers, both ways. */
#include "wire/ots_part.h"

#define FIGURE(name, text) +1
enum { FIGURES = 0 WR_TRAFFIC_MAP(FIGURE) };
#undef FIGURE
_Static_assert(sizeof(struct wr_traffic) == FIGURES * sizeof(uint64_t), "all figures are numbers");

static void ots_partition_put_traffic(struct buf *b, unsigned field, const struct wr_traffic *t)
{
    size_t start = pb_open(b, field, 64), list = pb_open(b, 1, 64);

#define X(name, text) buf_put_varint(b, t->name);
    WR_TRAFFIC_MAP(X)
#undef X
    pb_close(b, list, 64);
    pb_close(b, start, 64);
}

static void ots_partition_put_number(struct buf *b, unsigned field, uint64_t v)
{
    pb_put_int(b, field, (int64_t)v);
}

static void ots_partition_put_partition(struct buf *b, unsigned field, const struct wr_partition *p)
{
    size_t start = pb_open(b, field, 128);

    ots_partition_put_number(b, 1, p->id);
    pb_put_bytes(b, 2, plain_encode_value(b->arena, &p->begin));
    pb_put_bytes(b, 3, plain_encode_value(b->arena, &p->end));
    if (p->begin_bucket)
        ots_partition_put_number(b, 4, p->begin_bucket);
    if (p->end_bucket)
        ots_partition_put_number(b, 5, p->end_bucket);
    pb_put_int(b, 6, p->creation_us);
    ots_partition_put_number(b, 7, p->stored_bytes);
    ots_partition_put_traffic(b, 8, &p->traffic);
    for (size_t i = 0; i < p->begin_more_count; i++)
        pb_put_bytes(b, 9, plain_encode_value(b->arena, &p->begin_more[i]));
    for (size_t i = 0; i < p->end_more_count; i++)
        pb_put_bytes(b, 10, plain_encode_value(b->arena, &p->end_more[i]));
    pb_close(b, start, 128);
}

bytes ots_encode_describe_partitions_response(struct ctx *c, const struct wr_request *req,
                                              const struct wr_reply *reply)
{
    const struct wr_partition_list *l = &reply->partitions;
    struct buf b;

    (void)req;
    buf_init(&b, &c->arena, 256 + 128 * l->count);
    for (size_t i = 0; i < l->count; i++)
        ots_partition_put_partition(&b, 1, &l->partitions[i]);
    ots_partition_put_number(&b, 2, l->stored_bytes);
    ots_partition_put_traffic(&b, 3, &l->traffic);
    ots_partition_put_number(&b, 4, l->splits);
    ots_partition_put_number(&b, 5, l->merges);
    ots_partition_put_number(&b, 6, l->longest_cut_us);
    ots_partition_put_number(&b, 7, l->servers);
    ots_partition_put_number(&b, 8, l->silent);
    return buf_bytes(&b);
}

/* Figures that a later server adds are passed over; those it does not send are 0. */
static void ots_partition_read_traffic(const Ots__Traffic *m, struct wr_traffic *out)
{
    uint64_t figures[FIGURES] = {0};

    for (size_t i = 0; i < m->n_figures && i < FIGURES; i++)
        figures[i] = m->figures[i];
    memcpy(out, figures, sizeof(*out));
}

static int read_more(struct ctx *c, const ProtobufCBinaryData *list, size_t n,
                     const struct wr_value **out, size_t *count)
{
    struct wr_value *values;

    TRY(ots_array(c, n, sizeof(*values), &values));
    for (size_t i = 0; i < n; i++)
        TRY(plain_decode_value(c, pb_view(list[i]), &values[i]));
    *out = values;
    *count = n;
    return 0;
}

int ots_decode_describe_partitions_response(struct ctx *c, const void *message,
                                            struct wr_reply *out)
{
    struct wr_partition_list *l = &out->partitions;
    const Ots__DescribePartitionsResponse *m = message;
    struct wr_partition *list;

    TRY(ots_array(c, m->n_partitions, sizeof(*list), &list));
    for (size_t i = 0; i < m->n_partitions; i++) {
        const Ots__Partition *p = m->partitions[i];

        list[i].id = p->id;
        TRY(plain_decode_value(c, pb_view(p->begin), &list[i].begin));
        TRY(plain_decode_value(c, pb_view(p->end), &list[i].end));
        list[i].begin_bucket = p->begin_bucket;
        list[i].end_bucket = p->end_bucket;
        list[i].creation_us = p->creation_time;
        list[i].stored_bytes = p->stored_bytes;
        ots_partition_read_traffic(p->traffic, &list[i].traffic);
        TRY(read_more(c, p->begin_more, p->n_begin_more, &list[i].begin_more,
                      &list[i].begin_more_count));
        TRY(read_more(c, p->end_more, p->n_end_more, &list[i].end_more, &list[i].end_more_count));
    }
    l->partitions = list;
    l->count = m->n_partitions;
    l->stored_bytes = m->stored_bytes;
    ots_partition_read_traffic(m->traffic, &l->traffic);
    l->splits = m->splits;
    l->merges = m->merges;
    l->longest_cut_us = m->longest_cut_us;
    l->servers = m->servers;
    l->silent = m->silent;
    return 0;
}
