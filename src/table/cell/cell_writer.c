/* cell_writer.c: one cell as a stream, in.
 *
 * A writer collects the value in two buffers of a chunk each: the caller fills one while a thread
 * of the pool hashes and stores the other. Before the first chunk a garbage record is made durable,
 * which says that the chunks under this id belong to nobody. Then the chunks go past the log in
 * bulk, or through it if there are only a few (a table file for each small value would be too many
 * files). The last step is an ordinary UpdateRow whose cell is the reference to the chunks, under
 * the row lock, with its condition; its batch puts the cell and removes the garbage record. So at
 * any moment of a crash either the row has the old cell and the record says what to remove, or it
 * has the new one. A value of up to INLINE_BYTES goes into that UpdateRow itself. What keeps other
 * servers from removing the chunks of an upload that takes long is in upload.h.
 *
 * A cell that a stream writes or reads is marked as used, so that the sweeper leaves its chunks
 * however long it takes. An upload whose outcome is unknown stays marked until the process ends:
 * what became of it is known when the data are opened again.
 *
 * Threads. The caller's and one of the pool's meet in `lock`. `busy` says that a pool thread has
 * the stream in its queue or in hand; whoever frees a busy stream leaves that to it. */
#include "base/invariant.h"
#include "table/blob/stream.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"

#include "base/crc8.h"
#include "base/fault.h"
#include "base/waiter.h"
#include "table/blob/upload.h"
#include "table/core/call.h"
#include "table/core/form.h"
#include "table/model/big.h"
#include "table/model/batch_builder.h"
#include "table/model/key.h"
#include "table/model/name.h"
#include "table/model/value.h"
#include "table/sync/reply_wait.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>

#define INLINE_BYTES ((uint64_t)1 << 20)
#define GROUP_BYTES ((size_t)4 << 20) /* of chunks in one batch through the log */
#define PUBLISH_TRIES 1000            /* while others change the row */

/* How far an upload has come. Whoever reads or changes the state holds `lock`.
 *
 *     FILLING ──▶ ENDED ──▶ COMPLETE ──▶ FINISHED
 *                   └───────────────────────▲        it has failed */
enum writer_state {
    WRITER_FILLING,
    WRITER_ENDED,    /* the caller has given all it has; some of it may wait for the pool */
    WRITER_COMPLETE, /* all chunks are stored, and the request is made up; it may be sent again */
    WRITER_FINISHED, /* the answer is there */
};

struct wr_cell_writer {
    struct wr_db *db;
    struct table *table;
    struct ctx
        c; /* the request's memory; used by one thread at a time, as the stream is handed on */
    struct job job;
    struct wr_request request; /* the UpdateRow at the end, or what was attached */
    struct wr_cell cell;
    bool attached; /* `cell` is that at `at` of the request */
    size_t at;
    bytes cols;
    uint64_t id, length;
    uint8_t sha256[32], md5[16];
    bool has_sha256, has_md5, is_inline;

    pthread_mutex_t lock; /* of the next ones */
    pthread_cond_t changed;
    uint8_t *bufs[2]; /* BIG_CHUNK_HEAD bytes in front of each */
    size_t fill;      /* of the one the caller fills */
    int in, out;
    int full; /* buffers that wait for the pool or are in its hands */
    uint64_t taken;
    enum writer_state state;
    bool busy, freed;
    int code; /* of the failure */
    char text[400];
    wr_ready_fn *ready;
    void *ready_arg;

    wr_done_fn *done;
    void *done_arg;

    /* The pool's. */
    struct upload upload; /* its garbage record */
    int tries;            /* of publishing it */
    bool unsure;          /* nobody knows whether the cell is part of the row */
    EVP_MD_CTX *sha256_ctx, *md5_ctx;
    uint8_t crc8;
    uint32_t number;
    struct bulk *bulk;
    struct ctx group_c; /* of the chunks that are on their way through the log */
    struct batch_builder builder;
};

static void writer_run(struct job *job);

/* Under the lock. */
static void writer_enter(struct wr_cell_writer *w, enum writer_state next)
{
    invariant(w->state < next);
    invariant(w->state != WRITER_FILLING || next == WRITER_ENDED);
    w->state = next;
}

static size_t buffer_bytes(const struct wr_cell_writer *w)
{
    return w->is_inline ? (size_t)w->length : BIG_CHUNK_BYTES;
}

static int check_put(struct ctx *c, struct wr_db *db, const struct wr_cell_put *put)
{
    TRY(name_check_table(c, put->table));
    TRY(name_check_column(c, put->column));
    TRY(key_check_alone(c, &db->limits, &put->key, KEY_READ));
    if (put->length > (uint64_t)db->limits.streamed_cell_bytes_max)
        return fail(c, E_PARAMETER,
                    "The value has %" PRIu64 " bytes, more than the %" PRId64
                    " of the setting streamed_cell_bytes_max.",
                    put->length, db->limits.streamed_cell_bytes_max);
    if (put->timestamp_ms != WR_TIMESTAMP_NONE &&
        (put->timestamp_ms < 0 || put->timestamp_ms >= INT64_MAX / 1000))
        return fail(c, E_PARAMETER, "Timestamp must be in range [0, INT64_MAX/1000).");
    return E_OK;
}

static void writer_request(struct wr_cell_writer *w, const struct wr_cell_put *put)
{
    struct arena *a = &w->c.arena;

    w->cell = (struct wr_cell){
        .name = arena_copy(a, put->column), .timestamp_ms = put->timestamp_ms, .crc8_known = true};
    w->request = (struct wr_request){
        .op = WR_OP_UPDATE_ROW,
        .instance = arena_copy(a, put->instance),
        .update_row = {.type = WR_UPDATE,
                       .table = arena_copy(a, put->table),
                       .condition = {.existence = put->existence},
                       .row = {.key = key_copy(a, &put->key), .cells = &w->cell, .cell_count = 1}}};
}

static void writer_init(struct wr_cell_writer *w, const struct wr_cell_put *put)
{
    writer_request(w, put);
    w->length = put->length;
    w->is_inline = put->length <= INLINE_BYTES;
    w->has_sha256 = put->sha256;
    w->has_md5 = put->md5;
    if (put->sha256)
        memcpy(w->sha256, put->sha256, sizeof(w->sha256));
    if (put->md5)
        memcpy(w->md5, put->md5, sizeof(w->md5));
    for (int i = 0; i < (w->is_inline ? 1 : 2); i++)
        w->bufs[i] = mem_alloc(BIG_CHUNK_HEAD + buffer_bytes(w));
    w->sha256_ctx = EVP_MD_CTX_new();
    EVP_DigestInit_ex(w->sha256_ctx, EVP_sha256(), NULL);
    if (put->md5) {
        w->md5_ctx = EVP_MD_CTX_new();
        EVP_DigestInit_ex(w->md5_ctx, EVP_md5(), NULL);
    }
    /* As value_crc8() does it, piece by piece. */
    w->crc8 = crc8_byte(crc8(0, put->column.ptr, put->column.len), value_crc8_type(WR_VARBINARY));
    w->crc8 = crc8_u32(w->crc8, (uint32_t)put->length);
    w->id = catalog_next_number(w->db->catalog);
    streams_use_begin(w->db->streams, w->id);
    upload_init(&w->upload, w->db, w->table, w->cols, w->id);
}

int wr_cell_writer_open(struct wr_db *db, const struct wr_cell_put *given,
                        struct wr_cell_writer **out, char *message, size_t message_size)
{
    struct wr_cell_put own, *put = &own;
    const char *text = form_read(put, sizeof(own), given, given->size, FORM_CELL_PUT_FIRST);
    struct wr_cell_writer *w;
    int code;

    *out = NULL;
    if (text)
        return err_refuse(message, message_size, E_PARAMETER, "%s", text);
    w = mem_zalloc(sizeof(*w));
    ctx_init(&w->c, &db->clock, &db->log, NULL, 0);
    ctx_init(&w->group_c, &db->clock, &db->log, NULL, 0);
    w->db = db;
    w->builder.arena = &w->group_c.arena;
    code = check_put(&w->c, db, put);
    if (!code)
        code = stream_find_row(&w->c, db, put->instance, put->table, &put->key, put->column,
                               &w->table, &w->cols);
    if (!code)
        code = catalog_check_use(&w->c, w->table, true);
    if (!code && !w->table->schema.d.options.allow_update)
        code = fail(&w->c, E_PARAMETER,
                    "A cell is not put into a table whose option allow_update is false.");
    if (code) {
        stream_give_text(&w->c, code, message, message_size);
        table_release(w->table);
        ctx_release(&w->group_c);
        ctx_release(&w->c);
        mem_free(w);
        return code;
    }
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    writer_init(w, put);
    w->job.run = writer_run;
    atomic_fetch_add(&db->requests, 1);
    *out = w;
    return E_OK;
}

void cell_writer_attach(struct wr_cell_writer *w, const struct wr_request *req, size_t at)
{
    const struct wr_cell *cell = &req->put_row.row.cells[at];

    w->request = *req;
    w->cell = *cell;
    w->attached = true;
    w->at = at;
    w->crc8 =
        cell->crc8_known ? cell->crc8 : value_crc8(cell->name, &cell->value, cell->timestamp_ms);
    w->cell.crc8_known = true;
}

static void writer_destroy(struct wr_cell_writer *w)
{
    struct wr_db *db = w->db;

    bulk_close(w->bulk);
    /* Where others write, its record tells what became of it. */
    if (!w->unsure || db_is_shared(db))
        streams_use_end(db->streams, w->id);
    EVP_MD_CTX_free(w->sha256_ctx);
    EVP_MD_CTX_free(w->md5_ctx);
    mem_free(w->bufs[0]);
    mem_free(w->bufs[1]);
    table_release(w->table);
    ctx_release(&w->group_c);
    ctx_release(&w->c);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
    mem_free(w);
    atomic_fetch_sub(&db->requests, 1);
}

static void writer_fail(struct wr_cell_writer *w, int code, const char *text)
{
    pthread_mutex_lock(&w->lock);
    if (!w->code) {
        w->code = code;
        snprintf(w->text, sizeof(w->text), "%s", text ? text : err_info(code)->text);
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---- what the pool does for a writer ---- */

/* The table's flag comes first, since the sweeper looks at it. */
static int mark_out_of_line(struct ctx *c, struct wr_cell_writer *w)
{
    struct waiter waiter;
    int code;

    if (catalog_is_out_of_line(w->table))
        return E_OK;
    waiter_init(&waiter);
    catalog_mark_out_of_line(w->db, w->table, waiter_done, &waiter);
    code = waiter_wait(&waiter);
    return code ? fail_code(c, code) : E_OK;
}

static int writer_begin(struct ctx *c, struct wr_cell_writer *w)
{
    TRY(mark_out_of_line(c, w));
    TRY(upload_begin(c, &w->upload));
    (void)fault_hit(FAULT_cell_after_record);
    /* A table that is being rekeyed takes every chunk twice, in one batch; and where a repartition
     * may come in between, batches find their way. */
    if (w->length >= CELL_BULK_BYTES_MIN && !w->table->schema.shadow.id &&
        engine_one_key_space(w->db->engine))
        TRY(engine_bulk(c, w->db->engine, w->table->schema.location.id, &w->bulk));
    return E_OK;
}

/* The chunks that were collected go through the log. */
static int group_flush(struct ctx *c, struct wr_cell_writer *w)
{
    int code = w->builder.count ? upload_store(c, &w->upload, &w->builder) : E_OK;

    ctx_release(&w->group_c);
    ctx_init(&w->group_c, &w->db->clock, &w->db->log, NULL, 0);
    w->builder = (struct batch_builder){.arena = &w->group_c.arena};
    return code;
}

static int chunk_store(struct ctx *c, struct wr_cell_writer *w, uint8_t *chunk, size_t len)
{
    const struct location *p = &w->table->schema.location;
    uint32_t number = w->number++;
    bytes value = bytes_of(chunk, BIG_CHUNK_HEAD + len);

    invariant(len > 0 && len <= BIG_CHUNK_BYTES);
    if (!w->upload.begun)
        TRY(writer_begin(c, w));
    big_chunk_seal(chunk, len, w->id, number);
    if (w->bulk)
        return bulk_put(c, w->bulk, big_chunk_key(&c->arena, p, w->cols, w->id, number), value);
    batch_add(&w->builder, EDIT_PUT, big_chunk_key(&w->group_c.arena, p, w->cols, w->id, number),
              arena_copy(&w->group_c.arena, value));
    return w->builder.bytes < GROUP_BYTES ? E_OK : group_flush(c, w);
}

static void writer_chunk_hash(struct wr_cell_writer *w, const uint8_t *data, size_t len)
{
    EVP_DigestUpdate(w->sha256_ctx, data, len);
    if (w->md5_ctx)
        EVP_DigestUpdate(w->md5_ctx, data, len);
    if (!w->attached &&
        w->length <= (uint64_t)LIMIT_CELL_MOST) /* nobody is shown the checksum of larger ones */
        w->crc8 = crc8(w->crc8, data, len);
}

static void chunk_run(struct wr_cell_writer *w, uint8_t *chunk, size_t len)
{
    struct ctx c;
    int code = E_OK;

    writer_chunk_hash(w, chunk + BIG_CHUNK_HEAD, len);
    if (w->is_inline)
        return;
    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    code = chunk_store(&c, w, chunk, len);
    if (code)
        writer_fail(w, code, c.text);
    ctx_release(&c);
}

/* What was received is what was meant. */
static int check_hashes(struct ctx *c, struct wr_cell_writer *w, uint8_t sha256[32])
{
    uint8_t md5[16];

    EVP_DigestFinal_ex(w->sha256_ctx, sha256, NULL);
    if (w->taken < w->length)
        return fail(c, E_PARAMETER,
                    "Only %" PRIu64 " of the %" PRIu64 " bytes that were announced have come.",
                    w->taken, w->length);
    if (w->has_sha256 && memcmp(sha256, w->sha256, sizeof(w->sha256)) != 0)
        return fail(c, E_AUTH,
                    "Mismatch between the SHA-256 of the value and the one that was "
                    "given; the cell was not changed.");
    if (w->md5_ctx) {
        EVP_DigestFinal_ex(w->md5_ctx, md5, NULL);
        if (memcmp(md5, w->md5, sizeof(md5)) != 0)
            return fail(c, E_AUTH,
                        "Mismatch between the MD5 of the value and the one that was "
                        "given; the cell was not changed.");
    }
    return E_OK;
}

/* The reference stands where the value did. */
static void writer_take_location(struct wr_cell_writer *w)
{
    struct wr_row *row = &w->request.put_row.row;
    struct wr_cell *cells = ARENA_ARRAY(&w->c.arena, struct wr_cell, row->cell_count);

    invariant(w->at < row->cell_count);
    memcpy(cells, row->cells, sizeof(*cells) * row->cell_count);
    cells[w->at] = w->cell;
    row->cells = cells;
}

/* All chunks are stored; the cell is ready to become part of its row. */
static int writer_complete(struct ctx *c, struct wr_cell_writer *w)
{
    struct big_ref ref = {.id = w->id,
                          .length = w->length,
                          .location = w->table->schema.location.id,
                          .chunk_bytes = BIG_CHUNK_BYTES};

    TRY(check_hashes(c, w, ref.sha256));
    w->cell.crc8 = w->crc8;
    if (w->is_inline) {
        w->cell.value =
            (struct wr_value){.type = WR_VARBINARY,
                              .bytes = bytes_of(w->bufs[0] + BIG_CHUNK_HEAD, (size_t)w->length)};
        return E_OK;
    }
    TRY(group_flush(c, w));
    if (w->bulk)
        TRY(bulk_finish(c, w->bulk));
    w->cell.value = big_value(&w->c.arena, &ref);
    w->cell.apart = true;
    if (w->attached)
        writer_take_location(w);
    return E_OK;
}

/* The request may go, once more or for the first time. */
static int writer_prepare(struct ctx *c, struct wr_cell_writer *w)
{
    if (w->state != WRITER_COMPLETE) { /* nobody else changes it while the pool has the stream */
        TRY(writer_complete(c, w));
        pthread_mutex_lock(&w->lock);
        writer_enter(w, WRITER_COMPLETE);
        pthread_mutex_unlock(&w->lock);
    }
    TRY(upload_publish_begin(c, &w->upload));
    if (!w->is_inline && fault_hit(FAULT_cell_before_publish))
        return fail(c, E_UNAVAILABLE, "A fault was asked for.");
    return E_OK;
}

/* The failure's reply has its own memory, as every reply. */
static void give_failure(struct wr_cell_writer *w)
{
    struct call *call = call_new(w->db, &w->request, w->done, w->done_arg);

    fail(&call->c, w->code, "%s", w->text);
    call_finish(call);
}

/* A guard failed: the row's, so that it is decided anew, or that on the record, which is seen when
 * it is published again.
 * */
static bool publish_again(struct wr_cell_writer *w, const struct wr_reply *reply)
{
    if (reply->code != E_CONFLICT || w->is_inline || !db_is_shared(w->db) ||
        ++w->tries >= PUBLISH_TRIES)
        return false;
    pthread_mutex_lock(&w->lock);
    w->busy = true;
    streams_submit(w->db->streams, &w->job);
    pthread_mutex_unlock(&w->lock);
    return true;
}

static void publish_done(void *arg, struct wr_reply *reply)
{
    struct wr_cell_writer *w = arg;
    wr_done_fn *done = w->done;
    void *done_arg = w->done_arg;

    (void)fault_hit(FAULT_cell_after_publish);
    if (publish_again(w, reply)) {
        wr_reply_free(reply);
        return;
    }
    w->unsure = reply->code && err_info(reply->code)->applied != APPLIED_NO;
    if (reply->code)
        writer_fail(w, reply->code, reply->message);
    pthread_mutex_lock(&w->lock);
    writer_enter(w, WRITER_FINISHED);
    pthread_mutex_unlock(&w->lock);
    done(done_arg, reply); /* may free the writer */
}

static void writer_publish(struct wr_cell_writer *w)
{
    struct ctx c;
    int code;

    ctx_init(&c, &w->db->clock, &w->db->log, NULL, 0);
    pthread_mutex_lock(&w->lock);
    invariant(w->busy && !w->full && w->state >= WRITER_ENDED && w->state < WRITER_FINISHED);
    code = w->code;
    pthread_mutex_unlock(&w->lock);
    if (!code && (code = writer_prepare(&c, w)) != E_OK)
        writer_fail(w, code, c.text);
    ctx_release(&c);
    pthread_mutex_lock(&w->lock);
    w->busy = false;
    if (code)
        writer_enter(w, WRITER_FINISHED);
    pthread_mutex_unlock(&w->lock);
    if (code)
        give_failure(w);
    else
        w->db->submit(w->db, &w->request, publish_done, w);
}

/* Frees; what is stored and belongs to nobody can go at the next sweep. */
static void writer_end(struct wr_cell_writer *w)
{
    upload_end(&w->upload, w->code && !w->unsure);
    writer_destroy(w);
}

/* One step; the writer then queues up again behind the others. */
static void writer_run(struct job *job)
{
    struct wr_cell_writer *w = PORT_CONTAINER(job, struct wr_cell_writer, job);
    wr_ready_fn *ready;
    uint8_t *chunk;
    void *arg;
    size_t len;
    int failed;

    pthread_mutex_lock(&w->lock);
    if (w->freed) {
        pthread_mutex_unlock(&w->lock);
        writer_end(w);
        return;
    }
    if (!w->full && w->state >= WRITER_ENDED) {
        pthread_mutex_unlock(&w->lock);
        writer_publish(w);
        return;
    }
    chunk = w->bufs[w->out];
    invariant(w->full > 0);
    len = w->full == 1 && w->state >= WRITER_ENDED && w->fill ? w->fill : buffer_bytes(w);
    failed = w->code;
    pthread_mutex_unlock(&w->lock);
    if (!failed)
        chunk_run(w, chunk, len);
    pthread_mutex_lock(&w->lock);
    w->full--;
    w->out ^= !w->is_inline;
    ready = w->ready;
    arg = w->ready_arg;
    w->ready = NULL;
    w->busy = w->full || w->state >= WRITER_ENDED || w->freed;
    if (w->busy)
        streams_submit(w->db->streams, &w->job);
    pthread_cond_signal(&w->changed);
    if (ready) /* under the lock: a writer that is freed now is freed behind it */
        ready(arg);
    pthread_mutex_unlock(&w->lock);
}

/* Under the lock: a buffer is full, or the last one has come to its end. */
static void buffer_hand_over(struct wr_cell_writer *w)
{
    invariant(w->full < (w->is_inline ? 1 : 2));
    w->full++;
    w->in ^= !w->is_inline;
    if (!w->busy)
        streams_submit(w->db->streams, &w->job);
    w->busy = true;
}

/* ---- what callers of a writer do ---- */

static size_t take_some(struct wr_cell_writer *w, const uint8_t *data, size_t size)
{
    size_t room = buffer_bytes(w) - w->fill, n = size < room ? size : room;

    memcpy(w->bufs[w->in] + BIG_CHUNK_HEAD + w->fill, data, n);
    w->fill += n;
    w->taken += n;
    invariant(w->fill <= buffer_bytes(w) && w->taken <= w->length);
    if (w->fill == buffer_bytes(w)) {
        w->fill = 0;
        buffer_hand_over(w);
    }
    return n;
}

ptrdiff_t wr_cell_write(struct wr_cell_writer *w, const void *data, size_t size, wr_ready_fn *ready,
                        void *arg)
{
    int buffers = w->is_inline ? 1 : 2;
    size_t done = 0;
    int code;

    pthread_mutex_lock(&w->lock);
    if (!w->code && size > w->length - w->taken) {
        w->code = E_PARAMETER;
        snprintf(w->text, sizeof(w->text),
                 "More bytes have come than the %" PRIu64 " that were announced.", w->length);
    }
    while (!w->code && done < size) {
        if (w->full < buffers) {
            done += take_some(w, (const uint8_t *)data + done, size - done);
        } else if (ready) {
            w->ready = ready;
            w->ready_arg = arg;
            break;
        } else {
            pthread_cond_wait(&w->changed, &w->lock);
        }
    }
    code = w->code;
    pthread_mutex_unlock(&w->lock);
    return code ? -1 : (ptrdiff_t)done;
}

void wr_cell_expect(struct wr_cell_writer *w, const uint8_t sha256[32])
{
    pthread_mutex_lock(&w->lock); /* the pool looks once `ended` is set */
    memcpy(w->sha256, sha256, sizeof(w->sha256));
    w->has_sha256 = true;
    pthread_mutex_unlock(&w->lock);
}

void wr_cell_finish(struct wr_cell_writer *w, wr_done_fn *done, void *arg)
{
    pthread_mutex_lock(&w->lock);
    w->done = done;
    w->done_arg = arg;
    writer_enter(w, WRITER_ENDED);
    if (w->fill) {
        buffer_hand_over(w);
    } else if (!w->busy) {
        w->busy = true;
        streams_submit(w->db->streams, &w->job);
    }
    pthread_mutex_unlock(&w->lock);
}

struct wr_reply *wr_cell_finish_wait(struct wr_cell_writer *w)
{
    struct reply_wait r;

    reply_wait_init(&r);
    wr_cell_finish(w, reply_wait_done, &r);
    return reply_wait_end(&r);
}

void wr_cell_writer_free(struct wr_cell_writer *w)
{
    bool busy;

    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    if (w->state != WRITER_FINISHED && !w->code)
        w->code = E_PARAMETER; /* given up */
    w->ready = NULL;
    w->freed = true;
    busy = w->busy;
    pthread_mutex_unlock(&w->lock);
    if (!busy) /* its record is still to be written, which may wait */
        streams_submit(w->db->streams, &w->job);
}
