#include "server/admin.h"

static const struct http_header text_plain[] = {
    {{"Content-Type", 12}, {"text/plain; version=0.0.4; charset=utf-8", 40}},
};

static void answer(struct http_request *r, int status, bytes body)
{
    http_reply(r, status, text_plain, PORT_COUNT(text_plain), body);
}

static void answer_ready(struct admin *a, struct http_request *r)
{
    struct wr_status status;

    wr_status(a->db, &status);
    if (status.writable)
        answer(r, 200, BYTES_LIT("ready\n"));
    else
        answer(r, 503, arena_printf(&r->ctx.arena, "not ready: %s\n", status.reason));
}

static void answer_metrics(struct admin *a, struct http_request *r)
{
    struct wr_status db;
    struct http_stat http;
    struct buf b;

    wr_status(a->db, &db);
    http_stat(a->door, &http);
    buf_init(&b, &r->ctx.arena, 16384);
    stat_format_one(&b, "widerow_up_seconds", "gauge", "Seconds since the start.",
                    (uint64_t)(clock_mono_us(a->clock) - a->start_us) / 1000000);
    stat_format_one(&b, "widerow_writable", "gauge", "1: writes are served.", db.writable);
    stat_format_one(&b, "widerow_syncs_total", "counter", "Log syncs.", db.syncs);
    stat_format_one(&b, "widerow_acknowledged_total", "counter", "Writes answered.",
                    db.acknowledged);
    stat_format_one(&b, "widerow_stored_bytes", "gauge", "Bytes stored, approximately.",
                    db.bytes_stored);
    stat_format_one(&b, "widerow_connections", "gauge", "Open client connections.",
                    http.connections);
    stat_format_one(&b, "widerow_connections_total", "counter", "Connections accepted.",
                    http.accepted);
    stat_format_one(&b, "widerow_requests_active", "gauge", "Requests under way.", http.active);
    stat_format_one(&b, "widerow_late_total", "counter",
                    "Connections cut because a request or its answer took too long to pass.",
                    http.late);
    stat_format(a->stat, &b);
    answer(r, 200, buf_bytes(&b));
}

void admin_on_request(void *arg, struct http_request *r)
{
    struct admin *a = arg;

    if (!bytes_equal(r->method, BYTES_LIT("GET")) && !bytes_equal(r->method, BYTES_LIT("HEAD")))
        answer(r, 405, BYTES_LIT("only GET\n"));
    else if (bytes_equal(r->path, BYTES_LIT("/healthz")))
        answer(r, 200, BYTES_LIT("ok\n"));
    else if (bytes_equal(r->path, BYTES_LIT("/readyz")))
        answer_ready(a, r);
    else if (bytes_equal(r->path, BYTES_LIT("/metrics")))
        answer_metrics(a, r);
    else
        answer(r, 404, BYTES_LIT("There are /healthz, /readyz and /metrics.\n"));
}
