#include "cli/transfer/loader.h"

#include "base/buf.h"
#include "base/thread.h"
#include "cli/transfer/resume.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_MEMORY_BYTES (256 << 10)

struct worker {
    struct loader *loader;
    struct client *client;
    struct ctx c; /* of the request under way */
    void *memory; /* where its arena begins */
};

void loader_end_early(struct loader *l, int code, const char *reason)
{
    pthread_mutex_lock(&l->mutex);
    if (!l->failure[0]) {
        snprintf(l->failure, sizeof(l->failure), "%s", reason);
        l->failure_code = code;
    }
    pthread_mutex_unlock(&l->mutex);
}

void loader_give_up(struct loader *l, int code, const char *reason)
{
    loader_end_early(l, code, reason);
    atomic_store(&l->stopped, true);
    shuffle_buffer_stop(l->shuffle);
}

static void tell_reject(struct loader *l, const struct loader_reject *r)
{
    char reason[160];
    bool written;

    if (!l->rejects) {
        progress_say(l->progress, "line %llu: %s", (unsigned long long)r->line, r->reason);
        return;
    }
    pthread_mutex_lock(&l->mutex);
    written = rejects_put(l->rejects, r->line, r->reason, r->raw);
    snprintf(reason, sizeof(reason), "cannot write the --rejects file: %s", strerror(errno));
    pthread_mutex_unlock(&l->mutex);
    if (!written)
        loader_give_up(l, WR_E_NO_SPACE, reason);
}

void loader_reject(struct loader *l, const struct loader_reject *r)
{
    uint64_t errors = atomic_fetch_add(&l->errors, 1) + 1;

    tell_reject(l, r);
    if (errors <= l->errors_max) {
        resume_settle(r->part, true);
        return;
    }
    loader_give_up(l, WR_E_PARAMETER,
                   l->errors_max ? "too many bad lines (--max-errors)"
                                 : "stopped at the first bad line (--max-errors allows more)");
}

static void reject_row(struct loader *l, const struct import_row *row, const char *reason)
{
    loader_reject(l, &(struct loader_reject){row->line, reason, row->raw, row->part});
}

/* ---- one request */

static bool is_beside(const struct import_row *row, bytes name)
{
    for (size_t i = 0; i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, name))
            return true;
    return false;
}

static void make_change(struct worker *w, const struct import_row *row, struct wr_row_change *out)
{
    const struct plan *p = w->loader->plan;
    struct wr_key_column *key = ARENA_ARRAY(&w->c.arena, struct wr_key_column, p->key_count);
    struct wr_cell *cells =
        ARENA_ARRAY(&w->c.arena, struct wr_cell, p->column_count + row->cell_count);
    size_t n = 0;

    for (size_t i = 0; i < p->key_count; i++)
        key[i] = (struct wr_key_column){p->keys[i].name, row->values[i]};
    for (size_t i = 0; i < p->column_count; i++) {
        if (row->values[p->key_count + i].type == WR_NULL || is_beside(row, p->columns[i].name))
            continue;
        cells[n++] = (struct wr_cell){.name = p->columns[i].name,
                                      .value = row->values[p->key_count + i],
                                      .timestamp_ms = WR_TIMESTAMP_NONE};
    }
    for (size_t i = 0; i < row->cell_count; i++)
        cells[n++] = row->cells[i];
    *out = (struct wr_row_change){.type = WR_PUT, .row = {{key, p->key_count}, cells, n}};
}

static int exec_batch(struct worker *w, struct import_row **rows, size_t n,
                      const struct wr_row_result **results)
{
    struct wr_row_change *changes = ARENA_ARRAY(&w->c.arena, struct wr_row_change, n);
    struct wr_table_write table = {w->loader->table, changes, n};
    struct wr_request request = {.op = WR_OP_BATCH_WRITE_ROW,
                                 .batch_write_row = {.tables = &table, .table_count = 1}};
    struct wr_reply reply;

    for (size_t i = 0; i < n; i++)
        make_change(w, rows[i], &changes[i]);
    TRY(client_exec(&w->c, w->client, &request, &reply));
    if (reply.batch.table_count != 1 || reply.batch.tables[0].row_count != n)
        return fail(&w->c, WR_E_INTERNAL, "the server answered for other rows than were sent");
    *results = reply.batch.tables[0].rows;
    return 0;
}

/* ---- acknowledgements */

static void put_field(struct buf *b, const struct wr_value *v)
{
    const char *text = v->type == WR_BIGINT ? NULL : v->bytes.ptr;
    bool quote = false;

    if (v->type == WR_BIGINT) {
        buf_put_bytes(b, arena_printf(b->arena, "%lld", (long long)v->integer));
        return;
    }
    for (size_t i = 0; i < v->bytes.len; i++)
        quote |= memchr("\",\r\n", text[i], 4) != NULL;
    if (!quote) {
        buf_put_bytes(b, v->bytes);
        return;
    }
    buf_put_u8(b, '"');
    for (size_t i = 0; i < v->bytes.len; i++) {
        if (text[i] == '"')
            buf_put_u8(b, '"');
        buf_put_u8(b, (uint8_t)text[i]);
    }
    buf_put_u8(b, '"');
}

static void put_key(struct buf *b, const struct plan *p, const struct import_row *row)
{
    for (size_t i = 0; i < p->key_count; i++) {
        if (i)
            buf_put_u8(b, ',');
        put_field(b, &row->values[i]);
    }
    buf_put_u8(b, '\n');
}

/* Writes whole lines in one call, so that a reader of the file sees no half key. */
static void log_acknowledged(struct loader *l, bytes keys)
{
    char reason[128];

    pthread_mutex_lock(&l->mutex);
    while (keys.len) {
        ssize_t n = write(l->acked_fd, keys.ptr, keys.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        keys = bytes_skip(keys, (size_t)n);
    }
    snprintf(reason, sizeof(reason), "cannot write the --acked file: %s", strerror(errno));
    pthread_mutex_unlock(&l->mutex);
    if (keys.len)
        loader_give_up(l, WR_E_NO_SPACE, reason);
}

/* ---- one batch */

/* True for answers that say a row or request is wrong in itself. */
static bool is_refusal(int code)
{
    return code == WR_E_PARAMETER || code == WR_E_INVALID_PK || code == WR_E_BODY_TOO_LARGE ||
           code == WR_E_MEMORY || code == WR_E_CONDITION;
}

/* True for answers that are not about the row: what comes behind it would get the same. */
static bool is_everywhere(int code)
{
    return code == WR_E_NO_SPACE || code == WR_E_NOT_EXIST || code == WR_E_AUTH ||
           code == WR_E_PERMISSION || code == WR_E_CORRUPT;
}

/* Sorts the rows of an answer: acknowledged ones are counted, refused ones reported, and those that
 * are to be sent again moved to the front. Returns how many those are. */
static size_t retry_failed(struct worker *w, struct import_row **rows, size_t n,
                           const struct wr_row_result *results, const char **again_text)
{
    struct loader *l = w->loader;
    size_t again = 0, done = 0, size = 0;
    struct buf keys;

    buf_init(&keys, &w->c.arena, l->acked_fd < 0 ? 0 : n * 32);
    for (size_t i = 0; i < n; i++) {
        struct import_row *row = rows[i];

        if (results[i].code == 0) {
            done++;
            size += row->source_bytes;
            resume_settle(row->part, false);
            if (l->acked_fd >= 0)
                put_key(&keys, l->plan, row);
        } else if (client_may_retry(results[i].code, true)) {
            *again_text = results[i].message;
            rows[i] = rows[again];
            rows[again++] = row;
        } else if (is_everywhere(results[i].code)) {
            loader_give_up(l, results[i].code, results[i].message);
        } else {
            reject_row(l, row, results[i].message);
        }
    }
    if (keys.len)
        log_acknowledged(l, buf_bytes(&keys));
    atomic_fetch_add(&l->progress->records, done);
    atomic_fetch_add(&l->progress->bytes, size);
    return again;
}

/* What an answer cost beyond the one unit a row that was waited for. */
static uint64_t units_beyond(const struct wr_row_result *results, size_t n)
{
    uint64_t units = 0;

    for (size_t i = 0; i < n; i++)
        units += results[i].consumed.write > 1 ? (uint64_t)results[i].consumed.write - 1 : 0;
    return units;
}

static void worker_begin(struct worker *w)
{
    ctx_init(&w->c, w->loader->clock, NULL, w->memory, FIRST_MEMORY_BYTES);
}

/* Sends rows until none is left to send. False: the load has ended. */
static bool send_rows(struct worker *w, struct import_row **rows, size_t n)
{
    struct loader *l = w->loader;
    int64_t give_up_ms = clock_mono_ms(l->clock) + l->retry_ms;

    for (unsigned tries = 1; n && !l->stopped; tries++) {
        const struct wr_row_result *results;
        const char *text = NULL;
        size_t again;
        int code;

        if (l->rate && !rate_wait(l->rate, n, &l->stopped))
            break;
        worker_begin(w);
        code = exec_batch(w, rows, n, &results);
        if (l->rate && l->rate->units && code == 0)
            rate_take(l->rate, units_beyond(results, n));
        if (is_refusal(code) && n > 1) {
            ctx_release(&w->c);
            return send_rows(w, rows, n / 2) && send_rows(w, rows + n / 2, n - n / 2);
        }
        if (is_refusal(code)) {
            reject_row(l, rows[0], w->c.text);
            again = 0;
        } else if (code) {
            atomic_store(&l->unsure, true);
            loader_give_up(l, code, w->c.text);
            again = 0;
        } else {
            again = retry_failed(w, rows, n, results, &text);
        }
        if (again < n) {
            tries = 1;
            give_up_ms = clock_mono_ms(l->clock) + l->retry_ms;
        } else if (clock_mono_ms(l->clock) >= give_up_ms) {
            loader_give_up(l, WR_E_UNAVAILABLE, text);
        }
        ctx_release(&w->c);
        n = again;
        if (n && !l->stopped)
            client_pause(w->client, tries);
        if (n)
            atomic_store(&l->unsure, true); /* codes that may be retried leave that open */
    }
    return !l->stopped;
}

/* Hands rows to the load, in the order in which they came. */
static void load_rows(struct worker *w, struct import_row *const *rows, size_t n)
{
    struct loader *l = w->loader;
    size_t size = 0;

    worker_begin(w);
    for (size_t i = 0; i < n && !l->stopped; i++) {
        struct wr_row_change change;
        char message[512];
        int code;

        make_change(w, rows[i], &change);
        code = wr_load_put(l->load, &change.row, message, sizeof(message));
        if (is_refusal(code))
            reject_row(l, rows[i], message);
        else if (code)
            loader_give_up(l, code, message);
        else
            atomic_fetch_add(&l->loaded, 1);
        size += rows[i]->source_bytes;
    }
    atomic_fetch_add(&l->progress->bytes, size);
    ctx_release(&w->c);
}

static void *worker_run(void *arg)
{
    struct loader *l = arg;
    size_t batch_rows = l->shuffle->batch_rows, n;
    struct import_row **rows = mem_alloc(sizeof(*rows) * batch_rows);
    struct import_row **sent = mem_alloc(sizeof(*sent) * batch_rows);
    struct worker w = {.loader = l, .memory = mem_alloc(FIRST_MEMORY_BYTES)};

    worker_begin(&w);
    if (client_open(&w.c, l->target, &w.client)) {
        loader_give_up(l, WR_E_UNAVAILABLE, w.c.text);
    } else {
        w.client->retry_ms = l->retry_ms;
        w.client->repeatable = true;
        w.client->stop = &l->stopped;
    }
    ctx_release(&w.c);
    while ((n = shuffle_buffer_take(l->shuffle, rows)) > 0) {
        memcpy(sent, rows, sizeof(*rows) * n); /* send_rows() moves pointers about */
        if (l->load)
            load_rows(&w, rows, n);
        else
            send_rows(&w, sent, n);
        for (size_t i = 0; i < n; i++)
            mem_free(rows[i]);
    }
    client_close(w.client);
    mem_free(w.memory);
    mem_free(sent);
    mem_free(rows);
    return NULL;
}

int loader_start(struct ctx *c, struct loader *l)
{
    size_t wanted = l->worker_count;

    pthread_mutex_init(&l->mutex, NULL);
    l->threads = mem_alloc(sizeof(*l->threads) * wanted);
    for (l->worker_count = 0; l->worker_count < wanted; l->worker_count++)
        if (!thread_start(&l->threads[l->worker_count], "wr-loader", worker_run, l))
            break;
    if (l->worker_count == wanted)
        return 0;
    loader_give_up(l, WR_E_INTERNAL, "the system gives no more threads");
    loader_finish(l);
    return fail(c, WR_E_INTERNAL, "the system gives no more threads");
}

void loader_finish(struct loader *l)
{
    for (size_t i = 0; i < l->worker_count; i++)
        pthread_join(l->threads[i], NULL);
    mem_free(l->threads);
    l->threads = NULL;
    l->worker_count = 0;
    pthread_mutex_destroy(&l->mutex);
}
