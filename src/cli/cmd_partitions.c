/* cmd_partitions.c: `widerow partitions`. */
#include "cli/command.h"
#include "cli/console/print.h"
#include "cli/console/records.h"
#include "cli/console/value.h"

#include <inttypes.h>
#include <stdio.h>

struct partitions_options {
    struct records_options print;
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, "every figure of every partition, one line of JSON each, the table's last",
     OPTION_FLAG, offsetof(struct partitions_options, json), 0, 0},
    RECORDS_ROWS(struct partitions_options),
    {0},
};

static bytes bound_text(struct arena *a, const struct wr_value *v, const struct wr_value *more,
                        size_t more_count, uint32_t bucket)
{
    struct buf b;

    buf_init(&b, a, 32);
    if (bucket)
        buf_put_bytes(&b, arena_printf(a, "%u:", bucket));
    /* An upper bound without a value in a bucket is where that bucket begins. */
    if (v->type == WR_INF_MIN || v->type == WR_INF_MAX)
        buf_put_bytes(&b, v->type == WR_INF_MIN || bucket ? BYTES_LIT("-inf") : BYTES_LIT("+inf"));
    else
        value_put(&b, v);
    for (size_t i = 0; i < more_count; i++) {
        buf_put_u8(&b, ',');
        value_put(&b, &more[i]);
    }
    return buf_bytes(&b);
}

static bytes bytes_text(struct arena *a, uint64_t n)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double v = (double)n;
    size_t unit = 0;

    for (; v >= 1000 && unit + 1 < PORT_COUNT(units); unit++)
        v /= 1000;
    return arena_printf(a, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

/* ---- for people ---- */

static void print_line(struct arena *a, bytes begin, bytes end, uint64_t stored,
                       const struct wr_traffic *t)
{
    bytes size = bytes_text(a, stored);

    printf("%-20.*s %-20.*s %10.*s %9" PRIu64 " %9" PRIu64 " %12" PRIu64 " %12" PRIu64 " %9" PRIu64
           "\n",
           BYTES_FMT(begin), BYTES_FMT(end), BYTES_FMT(size), t->read_rate, t->write_rate,
           t->read_units, t->write_units, t->refused);
}

static void print_balance(const char *way, uint64_t reserved, uint64_t used, uint64_t additional,
                          uint64_t wasted)
{
    printf("%s: reserved %" PRIu64 " a second; used %" PRIu64 ", of which additional %" PRIu64
           "; wasted %" PRIu64 "\n",
           way, reserved, used, additional, wasted);
}

static void print_all(struct arena *a, const struct wr_partition_list *l)
{
    printf("%-20s %-20s %10s %9s %9s %12s %12s %9s\n", "from", "to", "stored", "rCU/s", "wCU/s",
           "read CU", "write CU", "refused");
    for (size_t i = 0; i < l->count; i++) {
        const struct wr_partition *p = &l->partitions[i];

        print_line(a, bound_text(a, &p->begin, p->begin_more, p->begin_more_count, p->begin_bucket),
                   bound_text(a, &p->end, p->end_more, p->end_more_count, p->end_bucket),
                   p->stored_bytes, &p->traffic);
    }
    print_line(a, BYTES_LIT("the table"), BYTES_LIT(""), l->stored_bytes, &l->traffic);
    print_balance("reads ", l->traffic.read_reserved, l->traffic.read_units,
                  l->traffic.read_additional, l->traffic.read_wasted);
    print_balance("writes", l->traffic.write_reserved, l->traffic.write_units,
                  l->traffic.write_additional, l->traffic.write_wasted);
    printf("since the start: %" PRIu64 " splits, %" PRIu64 " merges, the longest %.1f ms\n",
           l->splits, l->merges, (double)l->longest_cut_us / 1000);
    print_servers(l->servers, l->silent);
}

static int print_records(struct ctx *c, const struct partitions_options *o,
                         const struct wr_partition_list *l)
{
    struct arena *a = &c->arena;
    struct records *r;
    int code = 0, more;

    TRY(records_open(c, &o->print, NULL, &r));
    for (size_t i = 0; i < l->count && code == 0; i++) {
        const struct wr_partition *p = &l->partitions[i];
        struct record record = {.count = 0};

        record_text(&record, "from",
                    bound_text(a, &p->begin, p->begin_more, p->begin_more_count, p->begin_bucket));
        record_text(&record, "to",
                    bound_text(a, &p->end, p->end_more, p->end_more_count, p->end_bucket));
        record_integer(&record, "stored_bytes", (int64_t)p->stored_bytes);
        record_integer(&record, "read_rate", (int64_t)p->traffic.read_rate);
        record_integer(&record, "write_rate", (int64_t)p->traffic.write_rate);
        record_integer(&record, "read_units", (int64_t)p->traffic.read_units);
        record_integer(&record, "write_units", (int64_t)p->traffic.write_units);
        record_integer(&record, "refused", (int64_t)p->traffic.refused);
        code = records_put_record(c, r, &record);
    }
    more = records_close(c, r);
    return code ? code : more;
}

/* ---- for programs ---- */

static void print_json(struct arena *a, const char *head, uint64_t stored,
                       const struct wr_traffic *t)
{
    (void)a;
    printf("{%s\"stored_bytes\":%" PRIu64, head, stored);
#define X(name, text) printf(",\"" #name "\":%" PRIu64, t->name);
    WR_TRAFFIC_MAP(X)
#undef X
    printf("}\n");
}

static bytes bound_json(struct arena *a, const struct wr_value *v)
{
    struct buf b;

    buf_init(&b, a, 32);
    value_put(&b, v); /* open ends are null */
    return buf_bytes(&b);
}

static bytes more_json(struct arena *a, const struct wr_value *more, size_t count)
{
    struct buf b;

    buf_init(&b, a, 32);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_put_u8(&b, ',');
        value_put(&b, &more[i]);
    }
    return buf_bytes(&b);
}

static void print_all_json(struct arena *a, const struct wr_partition_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct wr_partition *p = &l->partitions[i];
        bytes begin = bound_json(a, &p->begin), end = bound_json(a, &p->end);
        bytes begin_more = more_json(a, p->begin_more, p->begin_more_count);
        bytes end_more = more_json(a, p->end_more, p->end_more_count);
        bytes head =
            arena_printf(a,
                         "\"id\":%" PRIu64 ",\"begin\":%.*s,\"end\":%.*s,"
                         "\"begin_more\":[%.*s],\"end_more\":[%.*s],"
                         "\"begin_bucket\":%u,\"end_bucket\":%u,\"created_us\":%" PRId64 ",",
                         p->id, BYTES_FMT(begin), BYTES_FMT(end), BYTES_FMT(begin_more),
                         BYTES_FMT(end_more), p->begin_bucket, p->end_bucket, p->creation_us);

        print_json(a, head.ptr, p->stored_bytes, &p->traffic);
    }
    print_json(a,
               arena_printf(a,
                            "\"partitions\":%zu,\"splits\":%" PRIu64 ",\"merges\":%" PRIu64
                            ",\"longest_cut_us\":%" PRIu64 ",\"servers\":%u,\"silent\":%u,",
                            l->count, l->splits, l->merges, l->longest_cut_us, l->servers,
                            l->silent)
                   .ptr,
               l->stored_bytes, &l->traffic);
}

static int run(struct ctx *c, struct client *cl, struct cli *cli, void *options)
{
    struct wr_request request = {.op = WR_OP_DESCRIBE_PARTITIONS,
                                 .describe_partitions = {bytes_str(cli->argv[0])}};
    const struct partitions_options *o = options;
    struct wr_reply reply;

    TRY(client_exec(c, cl, &request, &reply));
    if (o->print.format)
        return print_records(c, o, &reply.partitions);
    if (o->json)
        print_all_json(&c->arena, &reply.partitions);
    else
        print_all(&c->arena, &reply.partitions);
    return 0;
}

const struct command command_partitions = {
    .name = "partitions",
    .group = GROUP_TABLES,
    .args = "TABLE",
    .summary = "show the partitions of a table, and what each is asked for",
    .text = "Capacity units are 4096 bytes, read or written. Units that are reserved and not used "
            "in a second\nare wasted; what a second uses above them is additional.",
    .example = "widerow partitions orders",
    .options = rows,
    .options_size = sizeof(struct partitions_options),
    .argc_min = 1,
    .argc_max = 1,
    .run_connected = run,
};
