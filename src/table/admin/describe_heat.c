/* describe_heat.c: DescribeHeat. The map may be large, so it is drawn on the thread for jobs, once
 * the other servers have told what they counted. */
#include "table/admin/heat_place.h"
#include "table/catalog/catalog.h"
#include "table/admin/answers.h"
#include "table/core/call.h"
#include "table/stats/sampler.h"

#define ROWS_DEFAULT 64
#define HOT_MAX 20
#define VALUES_MAX 4000000 /* of one answer */

struct heat_call {
    struct peers_query others;
    struct call *call;
    struct heat_query query;
};

static void fill_hot(struct ctx *c, const struct schema *s, const struct sampler_report *from,
                     struct wr_heat_result *out)
{
    struct wr_heat_key *hot = ARENA_ARRAY(&c->arena, struct wr_heat_key, from->hot_count);

    for (size_t i = 0; i < from->hot_count; i++) {
        const struct sketch_entry *e = &from->hot[i];

        heat_place_read(c, s, bytes_of(e->key, e->key_len), s->location.layout.partition_cols,
                        &hot[i].place);
        hot[i].count = e->count;
        hot[i].error = e->error;
        memcpy(hot[i].figures, e->figures, sizeof(hot[i].figures));
    }
    out->hot = hot;
    out->hot_count = from->hot_count;
    out->hot_minutes = (int32_t)from->hot_minutes;
}

void heat_answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                 struct buf *out)
{
    uint64_t first = read_varint(in);

    (void)c;
    if (!in->bad && first < 1ull << 40)
        sampler_export(db->sampler, t->sampler, out, (int64_t)first, PEERS_ANSWER_BYTES);
}

/* The first minute that matters, or the one before. */
static bytes question(struct arena *a, struct clock *clock, const struct heat_query *query)
{
    struct buf b;

    buf_init(&b, a, 16);
    buf_put_varint(&b, (uint64_t)(clock_wall_ms(clock) / 60000 - query->minutes));
    return buf_bytes(&b);
}

static void heat_run(struct peers_query *others)
{
    struct heat_call *op = PORT_CONTAINER(others, struct heat_call, others);
    struct table *t = others->table;
    const struct schema *s = &t->schema;
    struct call *call = op->call;
    struct ctx *c = &call->c;
    struct wr_heat_result *r = &call->reply.heat;
    struct wr_heat_place *rows;
    struct sampler_report report;
    size_t taken = sampler_report(call->db->sampler, t->sampler, &c->arena, &op->query, HOT_MAX,
                                  others->answers, others->count, &report);

    rows = ARENA_ARRAY(&c->arena, struct wr_heat_place, report.grid.rows);
    for (size_t i = 0; i < report.grid.rows; i++)
        heat_place_read(c, s, report.grid.starts[i], s->d.key_count, &rows[i]);
    r->start_s = report.grid.minute * 60;
    r->column_minutes = (int32_t)op->query.step;
    r->column_count = report.grid.columns;
    r->row_count = report.grid.rows;
    r->rows = rows;
    for (int m = 0; m < WR_HEAT_METRICS; m++)
        r->values[m] = report.grid.values[m];
    fill_hot(c, s, &report, r);
    r->buckets = (int32_t)report.buckets;
    r->missed = report.dropped;
    r->servers = (uint32_t)taken + 1;
    r->silent = (uint32_t)(others->silent + others->count - taken);
    table_release(t);
    call_finish(call);
}

static int heat_op_check(struct ctx *c, const struct wr_describe_heat *d)
{
    if (d->minutes < 1 || d->minutes > WR_HEAT_MINUTES_MAX)
        return fail(c, E_PARAMETER,
                    "Invalid minutes of a heat map: %d. A map is kept for %d minutes; ask for 1 to "
                    "%d of them.",
                    d->minutes, WR_HEAT_MINUTES_MAX, WR_HEAT_MINUTES_MAX);
    if (d->columns < 0 || d->columns > WR_HEAT_MINUTES_MAX)
        return fail(c, E_PARAMETER, "Invalid columns of a heat map: %d. Ask for 1 to %d.",
                    d->columns, WR_HEAT_MINUTES_MAX);
    if (d->rows < 0 || d->rows > WR_HEAT_ROWS_MAX)
        return fail(c, E_PARAMETER, "Invalid rows of a heat map: %d. Ask for 1 to %d.", d->rows,
                    WR_HEAT_ROWS_MAX);
    if (d->metrics >> WR_HEAT_METRICS)
        return fail(c, E_PARAMETER,
                    "Invalid metrics of a heat map: %u. Add up 1 reads, 2 writes, 4 CU, 8 refused, "
                    "16 bytes.",
                    d->metrics);
    return E_OK;
}

int describe_heat_start(struct call *call)
{
    const struct wr_describe_heat *d = &call->req->describe_heat;
    struct ctx *c = &call->c;
    struct heat_call *op;

    TRY(heat_op_check(c, d));
    if (!call->db->sampler)
        return fail(c, E_UNSUPPORTED, "Heat maps are switched off: heat_bytes_max is 0.");
    op = ARENA_NEW(&c->arena, struct heat_call);
    op->call = call;
    op->query =
        (struct heat_query){.minutes = d->minutes,
                            .step = 1,
                            .rows = d->rows ? (size_t)d->rows : ROWS_DEFAULT,
                            .metrics = d->metrics ? d->metrics : (1u << WR_HEAT_METRICS) - 1};
    if (d->columns && d->columns < d->minutes)
        op->query.step = (size_t)((d->minutes + d->columns - 1) / d->columns);
    if ((uint64_t)d->minutes / op->query.step * op->query.rows *
            (uint64_t)__builtin_popcount(op->query.metrics) >
        VALUES_MAX)
        return fail(c, E_PARAMETER,
                    "The heat map asked for has more than %d values. Ask for fewer rows, columns "
                    "or metrics.",
                    VALUES_MAX);
    op->others = (struct peers_query){.question = PEERS_HEAT,
                                      .db = call->db,
                                      .more = question(&c->arena, &call->db->clock, &op->query),
                                      .a = &c->arena,
                                      .run = heat_run};
    TRY(call_open_table(call, d->table, &op->others.table));
    peers_query(&op->others);
    return E_OK;
}
