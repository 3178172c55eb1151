/* traffic.c: what tables and their partitions were asked for, for those who ask: DescribePartitions
 * (of all servers over the same data) and status pages (of this one). All figures are in memory. */
#include "table/catalog/catalog.h"
#include "base/invariant.h"
#include "table/admin/answers.h"
#include "table/core/call.h"
#include "table/model/key.h"
#include "table/model/value.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t whole(const atomic_ullong *thousandths)
{
    return atomic_load(thousandths) / 1000;
}

/* `shares`: how many share what the table reserves. */
static struct wr_traffic figures(const struct partition_counts *c,
                                 const struct partition_balance *b, const struct wr_throughput *r,
                                 uint64_t shares)
{
    return (struct wr_traffic){
        .reads = c->reads,
        .writes = c->writes,
        .read_units = c->read_units,
        .write_units = c->write_units,
        .read_bytes = c->read_bytes,
        .write_bytes = c->write_bytes,
        .refused = c->refused,
        .read_rate = atomic_load(&b->rate[PARTITION_READ]),
        .write_rate = atomic_load(&b->rate[PARTITION_WRITE]),
        .read_reserved = (uint64_t)r->read / shares,
        .write_reserved = (uint64_t)r->write / shares,
        .read_additional = whole(&b->additional[PARTITION_READ]),
        .write_additional = whole(&b->additional[PARTITION_WRITE]),
        .read_wasted = whole(&b->wasted[PARTITION_READ]),
        .write_wasted = whole(&b->wasted[PARTITION_WRITE]),
    };
}

/* A bound as clients see it; `open` if it has no value. */
struct received_bound {
    uint32_t bucket;
    struct wr_value first;
    struct wr_value *more;
    size_t more_count;
};

static int read_bound(struct ctx *c, const struct schema *s, bytes bound, enum wr_type open,
                      struct received_bound *out)
{
    bytes rest = bound.len ? bytes_skip(bound, 1) : bound;

    *out = (struct received_bound){.bucket = bound.len ? *bytes_u8(bound) : 0, .first.type = open};
    for (size_t i = 0; rest.len && i < s->d.key_count; i++) {
        struct wr_key_column column;
        size_t used;

        TRY(key_read_columns(c, rest, &s->d.key[i], 1, &column, &used));
        rest = bytes_skip(rest, used);
        if (i == 1)
            out->more = ARENA_ARRAY(&c->arena, struct wr_value, s->d.key_count);
        *(i ? &out->more[out->more_count++] : &out->first) = value_copy(&c->arena, &column.value);
    }
    return E_OK;
}

/* `*all` are the same partitions as in out, for who adds to them. */
static int traffic_describe(struct ctx *c, const struct table *t, struct wr_partition_list *out,
                            struct wr_partition **all)
{
    const struct partition_map *m = &t->partitions;
    const struct schema *s = &t->schema;
    struct wr_partition *list = ARENA_ARRAY(&c->arena, struct wr_partition, m->count);
    struct partition_counts counts = traffic_counts(t->traffic, m, &out->stored_bytes);

    invariant(m->count == s->partition_count);
    for (size_t i = 0; i < m->count; i++) {
        const struct partition_at *at = partition_at(m, i);
        const struct partition *p = at->partition;
        struct partition_counts own = partition_counts(p);
        struct received_bound begin, end;

        list[i].id = p->id;
        list[i].creation_us = p->created_us;
        list[i].stored_bytes = atomic_load(&p->bytes);
        list[i].traffic = figures(&own, &p->balance, &s->d.reserved, m->count);
        TRY(read_bound(c, s, at->start, WR_INF_MIN, &begin));
        TRY(read_bound(c, s, partition_end(m, i), WR_INF_MAX, &end));
        list[i].begin = begin.first;
        list[i].begin_bucket = begin.bucket;
        list[i].begin_more = begin.more;
        list[i].begin_more_count = begin.more_count;
        list[i].end = end.first;
        list[i].end_bucket = end.bucket;
        list[i].end_more = end.more;
        list[i].end_more_count = end.more_count;
    }
    out->partitions = *all = list;
    out->count = m->count;
    out->traffic = figures(&counts, &t->traffic->balance, &s->d.reserved, 1);
    out->splits = atomic_load(&t->traffic->splits);
    out->merges = atomic_load(&t->traffic->merges);
    out->longest_cut_us = atomic_load(&t->traffic->repartition_us_max);
    return E_OK;
}

/* ---- over several servers ---- */

/* Reserved throughput is the table's, not the server's. */
static void traffic_add(struct wr_traffic *to, const struct wr_traffic *from)
{
    uint64_t read = to->read_reserved, write = to->write_reserved;

#define X(name, text) to->name += from->name;
    WR_TRAFFIC_MAP(X)
#undef X
    to->read_reserved = read;
    to->write_reserved = write;
}

static void traffic_put(struct buf *b, const struct wr_traffic *t)
{
#define X(name, text) buf_put_varint(b, t->name);
    WR_TRAFFIC_MAP(X)
#undef X
}

static struct wr_traffic traffic_read(struct reader *r)
{
    struct wr_traffic t;

#define X(name, text) t.name = read_varint(r);
    WR_TRAFFIC_MAP(X)
#undef X
    return t;
}

/* An answer: splits, merges, the longest of them, the table's figures, and of each partition its
 * id and figures. */
void traffic_answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                    struct buf *out)
{
    struct wr_partition_list l;
    struct wr_partition *list;

    (void)db;
    (void)in;
    if (traffic_describe(c, t, &l, &list))
        return;
    buf_put_varint(out, l.splits);
    buf_put_varint(out, l.merges);
    buf_put_varint(out, l.longest_cut_us);
    traffic_put(out, &l.traffic);
    for (size_t i = 0; i < l.count; i++) {
        buf_put_varint(out, list[i].id);
        traffic_put(out, &list[i].traffic);
    }
}

struct traffic_call {
    struct peers_query others;
    struct call *call;
};

/* False: it is not an answer; nothing was added. */
static bool add_answer(struct wr_partition_list *l, struct wr_partition *list, bytes answer)
{
    struct reader r = reader_of(answer);
    uint64_t splits = read_varint(&r), merges = read_varint(&r), longest = read_varint(&r);
    struct wr_traffic all = traffic_read(&r);
    size_t at = 0;

    if (r.bad)
        return false;
    while (reader_left(&r)) {
        uint64_t id = read_varint(&r);
        struct wr_traffic part = traffic_read(&r);
        size_t i = 0;

        while (i < l->count && list[(at + i) % l->count].id != id)
            i++;
        if (r.bad || i == l->count) /* of another map: its figures are in the table's */
            continue;
        at = (at + i) % l->count;
        traffic_add(&list[at].traffic, &part);
        at++;
    }
    traffic_add(&l->traffic, &all);
    l->splits += splits;
    l->merges += merges;
    l->longest_cut_us = longest > l->longest_cut_us ? longest : l->longest_cut_us;
    return true;
}

static void traffic_run(struct peers_query *others)
{
    struct traffic_call *op = PORT_CONTAINER(others, struct traffic_call, others);
    struct call *call = op->call;
    struct wr_partition_list *l = &call->reply.partitions;
    struct wr_partition *list;

    if (!traffic_describe(&call->c, others->table, l, &list)) {
        l->servers = 1;
        l->silent = (uint32_t)others->silent;
        for (size_t i = 0; i < others->count; i++)
            if (add_answer(l, list, others->answers[i]))
                l->servers++;
            else
                l->silent++;
    }
    table_release(others->table);
    call_finish(call);
}

int describe_partitions_start(struct call *call)
{
    struct ctx *c = &call->c;
    struct traffic_call *op;
    struct table *t;

    TRY(call_open_table(call, call->req->describe_partitions.table, &t));
    op = ARENA_NEW(&c->arena, struct traffic_call);
    op->call = call;
    op->others = (struct peers_query){
        .question = PEERS_TRAFFIC, .db = call->db, .table = t, .a = &c->arena, .run = traffic_run};
    peers_query(&op->others);
    return E_OK;
}

static int busier(const void *a, const void *b)
{
    const struct wr_table_traffic *x = a, *y = b;
    uint64_t nx = x->traffic.read_units + x->traffic.write_units;
    uint64_t ny = y->traffic.read_units + y->traffic.write_units;

    return (nx < ny) - (nx > ny);
}

size_t wr_busiest(struct wr_db *db, struct wr_table_traffic *out, size_t max)
{
    struct wr_table_traffic *all;
    struct table **tables;
    struct ctx c;
    size_t n;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    n = catalog_all(db->catalog, &c.arena, &tables);
    all = ARENA_ARRAY(&c.arena, struct wr_table_traffic, n);
    for (size_t i = 0; i < n; i++) {
        struct table *t = tables[i];
        struct partition_counts counts =
            traffic_counts(t->traffic, &t->partitions, &all[i].stored_bytes);

        snprintf(all[i].instance, sizeof(all[i].instance), "%.*s", BYTES_FMT(t->schema.instance));
        snprintf(all[i].table, sizeof(all[i].table), "%.*s", BYTES_FMT(t->schema.d.table));
        all[i].partitions = t->partitions.count;
        all[i].splits = atomic_load(&t->traffic->splits);
        all[i].merges = atomic_load(&t->traffic->merges);
        all[i].longest_cut_us = atomic_load(&t->traffic->repartition_us_max);
        all[i].traffic = figures(&counts, &t->traffic->balance, &t->schema.d.reserved, 1);
        table_release(t);
    }
    if (n)
        qsort(all, n, sizeof(*all), busier);
    n = n < max ? n : max;
    if (n)
        memcpy(out, all, sizeof(*all) * n);
    ctx_release(&c);
    return n;
}
