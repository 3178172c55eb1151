#include "server/admin.h"

#include "base/thread.h"
#include "server/metrics.h"

#include <inttypes.h>

#define TASKS_MAX 32       /* more than there are */
#define INDEX_LATE_MS 5000 /* a change is in its indexes long before */

static const struct http_header text_plain[] = {
    {{"Content-Type", 12}, {"text/plain; version=0.0.4; charset=utf-8", 40}},
};

static void admin_answer(struct http_request *r, int status, bytes body)
{
    http_reply(r, status, text_plain, PORT_COUNT(text_plain), body);
}

static void put_indexes(struct buf *b, struct arena *arena, const struct wr_status *s)
{
    if (s->index_behind_ms >= INDEX_LATE_MS)
        buf_put_bytes(b, arena_printf(arena,
                                      ", but indexes are %" PRIu64
                                      " s behind their tables (%" PRIu64 " changes of rows wait)",
                                      s->index_behind_ms / 1000, s->index_waiting));
}

static void put_search(struct buf *b, struct arena *arena, const struct wr_status *s)
{
    if (s->search_indexes_reading)
        buf_put_bytes(b, arena_printf(arena, ", but %" PRIu64 " search indexes read their tables",
                                      s->search_indexes_reading));
    if (s->search_indexes_stopped)
        buf_put_bytes(b, arena_printf(arena,
                                      ", but %" PRIu64 " search indexes do not follow their tables "
                                      "(DescribeSearchIndex says why)",
                                      s->search_indexes_stopped));
}

/* "ready", and what does not keep it from that: the clock, indexes that are late, tasks that fail.
 * Then a line a task. */
static void answer_served(struct admin *a, struct http_request *r, const struct wr_status *status)
{
    static const char *const states[] = {"idle", "waiting", "running", "failed"};
    struct wr_task tasks[TASKS_MAX];
    size_t n = wr_tasks(a->db, tasks, TASKS_MAX);
    struct arena *arena = &r->ctx.arena;
    struct buf b;

    n = n < TASKS_MAX ? n : TASKS_MAX;
    buf_init(&b, arena, 512);
    buf_put_bytes(&b, BYTES_LIT("ready"));
    if (status->clock[0])
        buf_put_bytes(&b, arena_printf(arena, ", but %s", status->clock));
    put_indexes(&b, arena, status);
    put_search(&b, arena, status);
    for (size_t i = 0; i < n; i++)
        if (tasks[i].text[0])
            buf_put_bytes(&b, arena_printf(arena, ", but the task %s fails: %s", tasks[i].name,
                                           tasks[i].text));
    buf_put_u8(&b, '\n');
    for (size_t i = 0; r->query && i < n; i++) {
        buf_put_bytes(&b, arena_printf(arena, "task %s: %s, %" PRIu64 " steps", tasks[i].name,
                                       states[tasks[i].state], tasks[i].steps));
        if (tasks[i].percent >= 0)
            buf_put_bytes(&b, arena_printf(arena, ", %d %%", tasks[i].percent));
        if (tasks[i].ago_ms >= 0)
            buf_put_bytes(
                &b, arena_printf(arena, ", the last %" PRId64 " s ago", tasks[i].ago_ms / 1000));
        buf_put_u8(&b, '\n');
    }
    admin_answer(r, 200, buf_bytes(&b));
}

static void answer_ready(struct admin *a, struct http_request *r)
{
    struct wr_status status;

    wr_status(a->db, &status, sizeof(status));
    if (!status.writable)
        admin_answer(r, 503, arena_printf(&r->ctx.arena, "not ready: %s\n", status.reason));
    else if (!wr_in_touch(a->db))
        admin_answer(r, 503, BYTES_LIT("not ready: out of touch with the other servers\n"));
    else if (status.clock_odd)
        admin_answer(r, 503, arena_printf(&r->ctx.arena, "not ready: %s\n", status.clock));
    else
        answer_served(a, r, &status);
}

static void answer_metrics(struct admin *a, struct http_request *r)
{
    struct buf b;

    buf_init(&b, &r->ctx.arena, 16384);
    metrics_format(&b, a->db, a->front, a->stat,
                   (uint64_t)(clock_mono_us(a->clock) - a->start_us) / 1000000);
    admin_answer(r, 200, buf_bytes(&b));
}

/* On a thread of its own: it takes as long as the disk needs. */
static void *backup_main(void *arg)
{
    struct http_request *r = arg;
    struct admin *a = r->user;
    const char *dir = arena_printf(&r->ctx.arena, "%.*s", BYTES_FMT(r->body)).ptr;
    char message[1024] = "";
    int code = wr_backup(a->db, dir, message, sizeof(message));

    atomic_store(&a->backing_up, false);
    if (code)
        admin_answer(r, wr_error_status(code), arena_printf(&r->ctx.arena, "%s\n", message));
    else
        admin_answer(r, 200, BYTES_LIT("done\n"));
    return NULL;
}

static void start_backup(struct admin *a, struct http_request *r)
{
    bool free_now = false;
    const char *why;
    pthread_t thread;

    if (!bytes_equal(r->method, BYTES_LIT("POST"))) {
        admin_answer(r, 405, BYTES_LIT("only POST\n"));
    } else if (!bytes_equal(http_header(r, "x-widerow-admin"), BYTES_LIT("backup"))) {
        admin_answer(r, 403, BYTES_LIT("The header 'X-Widerow-Admin: backup' is missing.\n"));
    } else if (!r->body.len || *(const char *)r->body.ptr != '/' ||
               memchr(r->body.ptr, 0, r->body.len)) {
        admin_answer(r, 400, BYTES_LIT("The body is to be the whole path of a new folder.\n"));
    } else if (!ticket_check(a->tickets, r->body, http_header(r, "x-widerow-ticket"), &why)) {
        admin_answer(r, 403, arena_printf(&r->ctx.arena, "%s\n", why));
    } else if (!atomic_compare_exchange_strong(&a->backing_up, &free_now, true)) {
        admin_answer(r, 503,
                     BYTES_LIT("Another backup is under way; try again when it is done.\n"));
    } else {
        r->user = a;
        if (thread_start(&thread, "wr-backup", backup_main, r)) {
            pthread_detach(thread);
            return;
        }
        atomic_store(&a->backing_up, false);
        admin_answer(r, 503, BYTES_LIT("The system gives no thread for it; try again.\n"));
    }
}

void admin_on_request(void *arg, struct http_request *r)
{
    struct admin *a = arg;

    if (bytes_equal(r->path, BYTES_LIT("/backup")))
        start_backup(a, r);
    else if (!bytes_equal(r->method, BYTES_LIT("GET")) &&
             !bytes_equal(r->method, BYTES_LIT("HEAD")))
        admin_answer(r, 405, BYTES_LIT("only GET\n"));
    else if (bytes_equal(r->path, BYTES_LIT("/healthz")))
        admin_answer(r, 200, BYTES_LIT("ok\n"));
    else if (bytes_equal(r->path, BYTES_LIT("/readyz")))
        answer_ready(a, r);
    else if (bytes_equal(r->path, BYTES_LIT("/metrics")))
        answer_metrics(a, r);
    else
        admin_answer(r, 404,
                     BYTES_LIT("There are /healthz, /readyz, /metrics and (POST) /backup.\n"));
}
