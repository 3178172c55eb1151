#include "server/metrics.h"

#include "server/process_stat.h"

/* Tables that the page tells of: however many there are, it stays short. */
#define TABLES_MAX 20
#define TASKS_MAX 32 /* more than there are */

static void put_server(struct buf *out, struct wr_db *database, struct http *front, uint64_t up_s)
{
    struct wr_status db;
    struct http_stat http;

    wr_status(database, &db, sizeof(db));
    http_stat(front, &http);
#define METRIC(name, type, value, text) stat_format_one(out, "widerow_" #name, type, text, value);
#include "server/metric.def"
#undef METRIC
}

static void put_process(struct buf *out)
{
    struct process_stat p;

    process_stat_read(&p);
    stat_format_real(out, "process_cpu_seconds_total", "counter",
                     "Processor time of the process, user and system.", p.cpu_s);
    stat_format_real(out, "process_start_time_seconds", "gauge",
                     "When the process was started, in seconds since 1970.", p.start_s);
    stat_format_one(out, "process_resident_memory_bytes", "gauge", "Memory in use.",
                    p.resident_bytes);
    stat_format_one(out, "process_virtual_memory_bytes", "gauge", "Memory mapped.",
                    p.virtual_bytes);
    stat_format_one(out, "process_open_fds", "gauge", "Open descriptors.", p.open_fds);
    stat_format_one(out, "process_max_fds", "gauge", "Descriptors that may be open.", p.max_fds);
}

void metrics_format(struct buf *out, struct wr_db *db, struct http *front, struct server_stat *stat,
                    uint64_t up_s)
{
    struct wr_table_traffic tables[TABLES_MAX];
    struct wr_task tasks[TASKS_MAX];
    size_t n = wr_tasks(db, tasks, TASKS_MAX);

    stat_format_build(out);
    put_server(out, db, front, up_s);
    put_process(out);
    stat_format_tasks(out, tasks, n < TASKS_MAX ? n : TASKS_MAX);
    stat_format_tables(out, tables, wr_busiest(db, tables, TABLES_MAX));
    stat_format(stat, out);
}
