#include "server/stat.h"

#include "wire/ots.h"

#include <stdio.h>

/* Upper ends of the buckets, microseconds, and as Prometheus writes them in seconds. */
static const struct {
    int64_t us;
    const char *seconds;
} buckets[STAT_BUCKETS] = {
    {50, "0.00005"},  {100, "0.0001"},  {250, "0.00025"},    {500, "0.0005"},  {1000, "0.001"},
    {2500, "0.0025"}, {5000, "0.005"},  {10000, "0.01"},     {25000, "0.025"}, {50000, "0.05"},
    {100000, "0.1"},  {250000, "0.25"}, {500000, "0.5"},     {1000000, "1"},   {2500000, "2.5"},
    {5000000, "5"},   {10000000, "10"}, {INT64_MAX, "+Inf"},
};

void stat_request(struct server_stat *s, size_t op, int code, int64_t us)
{
    struct stat_op *o = &s->ops[op];
    size_t i = 0;

    while (us > buckets[i].us)
        i++;
    stat_add(&o->requests, 1);
    stat_add(&o->latency_us, us > 0 ? (uint64_t)us : 0);
    stat_add(&o->buckets[i], 1);
    if (code) {
        stat_add(&o->errors, 1);
        stat_add(&s->errors[code > 0 && code < E_COUNT ? code : E_INTERNAL], 1);
    }
}

static void stat_put(struct buf *out, const char *fmt, ...) PORT_PRINTF(2, 3);

static void stat_put(struct buf *out, const char *fmt, ...)
{
    char line[512];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    buf_put(out, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void stat_put_head(struct buf *out, const char *name, const char *type, const char *help)
{
    stat_put(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void stat_format_one(struct buf *out, const char *name, const char *type, const char *help,
                     uint64_t value)
{
    stat_put_head(out, name, type, help);
    stat_put(out, "%s %llu\n", name, (unsigned long long)value);
}

void stat_format_real(struct buf *out, const char *name, const char *type, const char *help,
                      double value)
{
    stat_put_head(out, name, type, help);
    stat_put(out, "%s %.6f\n", name, value);
}

void stat_format_build(struct buf *out)
{
    stat_put_head(out, "widerow_build_info", "gauge", "Always 1; the version is a label.");
    stat_put(out, "widerow_build_info{version=\"%s\"} 1\n", wr_version());
}

/* A label's value: quotes, backslashes and line ends are escaped. */
static void put_label(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buf_put_u8(out, '\\');
        buf_put_u8(out, *text == '\n' ? ' ' : (uint8_t)*text);
    }
}

static double scaled(uint64_t value, bool microseconds)
{
    return microseconds ? (double)value / 1e6 : (double)value;
}

/* `offset`: of a uint64_t in the struct. A figure that is counted in microseconds is told in
 * seconds. */
static void put_table_figure(struct buf *out, const char *name, const char *type, const char *help,
                             const struct wr_table_traffic *tables, size_t count, size_t offset,
                             bool microseconds)
{
    stat_put_head(out, name, type, help);
    for (size_t i = 0; i < count; i++) {
        uint64_t value;

        memcpy(&value, (const char *)&tables[i] + offset, sizeof(value));
        stat_put(out, "%s{instance=\"", name);
        put_label(out, tables[i].instance);
        stat_put(out, "\",table=\"");
        put_label(out, tables[i].table);
        stat_put(out, "\"} %.*f\n", microseconds ? 6 : 0, scaled(value, microseconds));
    }
}

void stat_format_tables(struct buf *out, const struct wr_table_traffic *tables, size_t count)
{
#define FIGURE(member, name, type, text)                                                           \
    put_table_figure(out, "widerow_table_" name, type, text, tables, count,                        \
                     offsetof(struct wr_table_traffic, member), false);
    FIGURE(partitions, "partitions", "gauge", "Partitions of the busiest tables.")
    FIGURE(splits, "splits_total", "counter", "Partitions split since the start.")
    FIGURE(merges, "merges_total", "counter", "Partitions merged since the start.")
    put_table_figure(out, "widerow_table_longest_split_seconds", "gauge", "The longest of these.",
                     tables, count, offsetof(struct wr_table_traffic, longest_cut_us), true);
    FIGURE(stored_bytes, "stored_bytes", "gauge", "Stored bytes, about, of the busiest tables.")
#define COUNT(name, text)                                                                          \
    FIGURE(traffic.name, #name "_total", "counter", "Of the busiest tables: " text ".")
    WR_TRAFFIC_COUNTS(COUNT)
    WR_TRAFFIC_RESERVED_COUNTS(COUNT)
#undef COUNT
#define RATE(name, text) FIGURE(traffic.name, #name, "gauge", "Of the busiest tables: " text ".")
    WR_TRAFFIC_RATES(RATE)
#undef RATE
#undef FIGURE
}

static void put_task_figure(struct buf *out, const char *name, const char *type, const char *help,
                            const struct wr_task *tasks, size_t count,
                            uint64_t (*of)(const struct wr_task *), bool microseconds)
{
    stat_put_head(out, name, type, help);
    for (size_t i = 0; i < count; i++)
        stat_put(out, "%s{task=\"%s\"} %.*f\n", name, tasks[i].name, microseconds ? 6 : 0,
                 scaled(of(&tasks[i]), microseconds));
}

static uint64_t task_state(const struct wr_task *t)
{
    return t->state;
}

static uint64_t task_steps(const struct wr_task *t)
{
    return t->steps;
}

static uint64_t task_failures(const struct wr_task *t)
{
    return t->failures;
}

static uint64_t task_bytes(const struct wr_task *t)
{
    return t->bytes;
}

static uint64_t task_busy(const struct wr_task *t)
{
    return t->busy_us;
}

void stat_format_tasks(struct buf *out, const struct wr_task *tasks, size_t count)
{
#define FIGURE(member, name, type, text)                                                           \
    put_task_figure(out, "widerow_task_" name, type, text, tasks, count, task_##member, false);
    FIGURE(state, "state", "gauge", "Background tasks: 0 idle, 1 waiting, 2 running, 3 failed.")
    FIGURE(steps, "steps_total", "counter", "Steps that background tasks took.")
    FIGURE(failures, "failures_total", "counter", "Of these, those that failed.")
    FIGURE(bytes, "bytes_total", "counter", "Bytes that they read and wrote.")
#undef FIGURE
    put_task_figure(out, "widerow_task_busy_seconds_total", "counter", "Time that they took.",
                    tasks, count, task_busy, true);
}

static const char *stat_label(size_t op)
{
    return op < WR_OP_COUNT ? ots_op_name((enum wr_op)op) : "other";
}

static uint64_t get(atomic_ullong *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Operations that were never asked for are left out: a page should be short. */
static void put_latency(struct buf *out, struct stat_op *o, const char *op)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < STAT_BUCKETS; i++) {
        sum += get(&o->buckets[i]);
        stat_put(out, "widerow_request_seconds_bucket{op=\"%s\",le=\"%s\"} %llu\n", op,
                 buckets[i].seconds, (unsigned long long)sum);
    }
    stat_put(out, "widerow_request_seconds_sum{op=\"%s\"} %.6f\n", op,
             (double)get(&o->latency_us) / 1e6);
    stat_put(out, "widerow_request_seconds_count{op=\"%s\"} %llu\n", op, (unsigned long long)sum);
}

void stat_format(struct server_stat *s, struct buf *out)
{
    stat_put_head(out, "widerow_requests_total", "counter", "Requests answered.");
    for (size_t i = 0; i < STAT_OPS; i++)
        if (get(&s->ops[i].requests))
            stat_put(out, "widerow_requests_total{op=\"%s\"} %llu\n", stat_label(i),
                     (unsigned long long)get(&s->ops[i].requests));
    stat_put_head(out, "widerow_request_errors_total", "counter",
                  "Requests answered with an error.");
    for (size_t i = 0; i < STAT_OPS; i++)
        if (get(&s->ops[i].requests))
            stat_put(out, "widerow_request_errors_total{op=\"%s\"} %llu\n", stat_label(i),
                     (unsigned long long)get(&s->ops[i].errors));
    stat_put_head(out, "widerow_errors_total", "counter", "Errors by kind.");
    for (int i = 1; i < E_COUNT; i++)
        if (get(&s->errors[i]))
            stat_put(out, "widerow_errors_total{kind=\"%s\",code=\"%s\"} %llu\n", err_info(i)->name,
                     err_info(i)->code, (unsigned long long)get(&s->errors[i]));
    stat_put_head(out, "widerow_request_seconds", "histogram",
                  "Time from the request line to the answer.");
    for (size_t i = 0; i < STAT_OPS; i++)
        if (get(&s->ops[i].requests))
            put_latency(out, &s->ops[i], stat_label(i));
#define STAT(name, text)                                                                           \
    stat_format_one(out, "widerow_" #name "_total", "counter", text, get(&s->name));
#include "server/stat.def"
#undef STAT
}
