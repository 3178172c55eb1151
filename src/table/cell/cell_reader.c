/* cell_reader.c: one cell as a stream, out.
 *
 * The cell is looked up once, when the reader is opened. One that is out of line is then marked as
 * used, so that its chunks stay whatever becomes of the row, and read by a thread of the pool, one
 * chunk ahead of the caller, past the cache and each verified. Where other servers sweep too, the
 * mark counts only if it came soon after the look (stream.h); so after a pause in between, we look
 * again. */
#include "table/blob/stream.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"

#include "table/blob/upload.h"
#include "table/core/form.h"
#include "table/model/big.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/model/name.h"
#include "table/model/value.h"
#include "table/model/visible.h"
#include "table/row/access.h"
#include "table/row/load.h"
#include "table/sync/wait.h"

#include <openssl/evp.h>
#include <stdio.h>

enum slot_state { SLOT_EMPTY, SLOT_WANTED, SLOT_READY };

/* A chunk that was read, or is to be. */
struct slot {
    enum slot_state state;
    uint32_t number;
    struct ctx c; /* holds the data */
    bytes data;
};

struct wr_cell_reader {
    struct wr_db *db;
    struct table *table;
    struct ctx c;
    struct job job;
    bytes cols, column;
    bytes value; /* of a cell that stands in its row */
    bool out_of_line;
    struct big_ref ref;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct slot slots[2];
    bool busy, freed;
    int code;
    char text[400];
    wr_ready_fn *ready;
    void *ready_arg;
};

/* Finds the newest visible version among what was loaded. */
static int find_cell(struct ctx *c, struct table *table, bytes column, int64_t now_ms,
                     const struct row *row, struct wr_cell *out)
{
    const struct wr_table_options *o = &table->schema.d.options;
    bool there = (table->schema.base.table.len ? visible_entry : visible_row)(o, now_ms, row);

    for (size_t i = 0; there && i < row->cell_count; i++)
        if (bytes_equal(row->cells[i].name, column) &&
            !visible_expired(o, row->cells[i].timestamp_ms, now_ms)) {
            *out = row->cells[i];
            return value_is_bytes(out->value.type)
                       ? E_OK
                       : fail(c, E_PARAMETER,
                              "Column '%.*s' holds a %s; only strings and binaries are read as "
                              "streams.",
                              BYTES_FMT(column), value_type_name(out->value.type));
        }
    return fail(c, E_NOT_EXIST, "The row has no column '%.*s', or there is no such row.",
                BYTES_FMT(column));
}

/* The cell as it is now. */
static int reader_look(struct ctx *c, struct wr_cell_reader *r, struct wr_cell *cell)
{
    struct load load = {.c = c,
                        .table = r->table,
                        .cols = r->cols,
                        .view = VIEW_DURABLE,
                        .columns = &r->column,
                        .column_count = 1};

    TRY(wait_load(&load));
    return find_cell(c, r->table, r->column, clock_watch_ms(r->db), &load.row, cell);
}

/* The same, marked as used if it is out of line. */
static int look_and_mark(struct ctx *c, struct wr_cell_reader *r, struct wr_cell *cell)
{
    for (;;) {
        int64_t began_ms = clock_mono_ms(&r->db->clock);

        TRY(reader_look(c, r, cell));
        r->out_of_line = cell->apart;
        if (!cell->apart)
            return E_OK;
        TRY(big_read(c, cell, &r->ref));
        streams_use_begin(r->db->streams, r->ref.id);
        if (clock_mono_ms(&r->db->clock) - began_ms < upload_grace_ms() / 2)
            return E_OK;
        streams_use_end(r->db->streams, r->ref.id);
        r->ref = (struct big_ref){0};
    }
}

static int load_cell(struct ctx *c, struct wr_cell_reader *r, struct wr_cell *cell)
{
    struct access access = {.db = r->db,
                            .c = c,
                            .table = r->table,
                            .bucket = layout_bucket(&r->table->schema.location, r->cols),
                            .cols = r->cols,
                            .reads = 1};
    int code = access_admit(&access, PARTITION_READ);

    if (!code)
        code = look_and_mark(c, r, cell);
    if (!code) {
        access.read_bytes = big_cell_size(cell);
        access.read_units = meter_units((size_t)access.read_bytes);
    }
    access_count(&access);
    return code;
}

static int reader_find(struct wr_cell_reader *r, const struct wr_cell_get *get,
                       struct wr_cell_info *info)
{
    struct ctx *c = &r->c;
    struct wr_cell cell;

    TRY(name_check_table(c, get->table));
    TRY(name_check_column(c, get->column));
    TRY(key_check_alone(c, &r->db->limits, &get->key, KEY_READ));
    TRY(stream_find_row(c, r->db, get->instance, get->table, &get->key, get->column, &r->table,
                        &r->cols));
    TRY(catalog_check_use(c, r->table, false));
    r->column = arena_copy(&c->arena, get->column);
    TRY(load_cell(c, r, &cell));
    *info = (struct wr_cell_info){.length = big_cell_size(&cell),
                                  .type = cell.value.type,
                                  .timestamp_ms = cell.timestamp_ms,
                                  .read_units = meter_units(big_cell_size(&cell))};
    if (!cell.apart) {
        r->value = cell.value.bytes;
        EVP_Digest(r->value.ptr, r->value.len, info->sha256, NULL, EVP_sha256(), NULL);
        return E_OK;
    }
    memcpy(info->sha256, r->ref.sha256, sizeof(info->sha256));
    return E_OK;
}

static void reader_destroy(struct wr_cell_reader *r)
{
    struct wr_db *db = r->db;

    if (r->ref.id)
        streams_use_end(db->streams, r->ref.id);
    for (size_t i = 0; i < PORT_COUNT(r->slots); i++)
        ctx_release(&r->slots[i].c);
    table_release(r->table);
    ctx_release(&r->c);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    mem_free(r);
    atomic_fetch_sub(&db->requests, 1);
}

static void reader_run(struct job *job);

int wr_cell_reader_open(struct wr_db *db, const struct wr_cell_get *given,
                        struct wr_cell_reader **out, struct wr_cell_info *info, char *message,
                        size_t message_size)
{
    struct wr_cell_get own, *get = &own;
    const char *text = form_read(get, sizeof(own), given, given->size, FORM_CELL_GET_FIRST);
    struct wr_cell_reader *r;
    int code;

    *out = NULL;
    if (text)
        return err_refuse(message, message_size, E_PARAMETER, "%s", text);
    r = mem_zalloc(sizeof(*r));
    r->db = db;
    r->job.run = reader_run;
    ctx_init(&r->c, &db->clock, &db->log, NULL, 0);
    r->c.arena.cap = (size_t)db_limits(db)->request_memory_max;
    for (size_t i = 0; i < PORT_COUNT(r->slots); i++)
        ctx_init(&r->slots[i].c, &db->clock, &db->log, NULL, 0);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    atomic_fetch_add(&db->requests, 1);
    code = reader_find(r, get, info);
    if (code) {
        stream_give_text(&r->c, code, message, message_size);
        reader_destroy(r);
        return code;
    }
    *out = r;
    return E_OK;
}

/* A chunk is missing. If the row has another cell by now, the others could not know that we read
 * the old one: this server was out of touch with them for too long. */
static int fail_missing(struct wr_cell_reader *r, struct slot *s)
{
    struct big_ref ref;
    struct wr_cell cell;
    struct ctx c;
    bool same;

    ctx_init(&c, &r->db->clock, &r->db->log, NULL, 0);
    same = reader_look(&c, r, &cell) == E_OK && cell.apart && big_read(&c, &cell, &ref) == E_OK &&
           ref.id == r->ref.id;
    same |= c.code && c.code != E_NOT_EXIST; /* nobody knows */
    ctx_release(&c);
    if (same)
        return big_chunk_open(&s->c, BYTES_NONE, &r->ref, s->number, &s->data);
    return fail(&s->c, E_BUSY,
                "The cell was replaced while it was read, and the old value removed; read it "
                "again.");
}

static int slot_load(struct wr_cell_reader *r, struct slot *s)
{
    const struct location *p = &r->table->schema.location;
    struct get get = {.view = VIEW_DURABLE,
                      .once = true,
                      .key = big_chunk_key(&s->c.arena, p, r->cols, r->ref.id, s->number)};
    int code = route_get_now(&s->c, r->table, &get);

    if (code)
        return code;
    if (!get.found)
        return fail_missing(r, s);
    return big_chunk_open(&s->c, get.value, &r->ref, s->number, &s->data);
}

/* Reads the chunks that are wanted. */
static void reader_run(struct job *job)
{
    struct wr_cell_reader *r = PORT_CONTAINER(job, struct wr_cell_reader, job);
    struct slot *s = NULL;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        int code;

        s = NULL;
        for (size_t i = 0; i < PORT_COUNT(r->slots); i++)
            if (r->slots[i].state == SLOT_WANTED && (!s || r->slots[i].number < s->number))
                s = &r->slots[i];
        if (!s || r->freed || r->code)
            break;
        pthread_mutex_unlock(&r->lock);
        code = slot_load(r, s);
        pthread_mutex_lock(&r->lock);
        s->state = SLOT_READY;
        if (code) {
            r->code = code;
            snprintf(r->text, sizeof(r->text), "%s", s->c.text ? s->c.text : err_info(code)->text);
            log_error(&r->db->log, "stream: a big cell cannot be read: %s", r->text);
        }
        pthread_cond_signal(&r->changed);
        if (r->ready)
            r->ready(r->ready_arg);
        r->ready = NULL;
    }
    r->busy = false;
    if (r->freed) {
        pthread_mutex_unlock(&r->lock);
        reader_destroy(r);
        return;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Under the lock: the chunk's slot, empty or on its way if it is not there yet. */
static struct slot *reader_slot_of(struct wr_cell_reader *r, uint32_t number)
{
    struct slot *s = &r->slots[number % PORT_COUNT(r->slots)];

    if (s->state != SLOT_EMPTY && s->number == number)
        return s;
    if (s->state == SLOT_WANTED)
        return NULL; /* being read for somewhere else: later */
    ctx_release(&s->c);
    ctx_init(&s->c, &r->db->clock, &r->db->log, NULL, 0);
    s->number = number;
    s->state = SLOT_WANTED;
    if (!r->busy)
        streams_submit(r->db->streams, &r->job);
    r->busy = true;
    return s;
}

static ptrdiff_t read_out_of_line(struct wr_cell_reader *r, uint64_t offset, void *to, size_t size,
                                  wr_ready_fn *ready, void *arg)
{
    uint32_t number = (uint32_t)(offset / r->ref.chunk_bytes);
    size_t at = (size_t)(offset % r->ref.chunk_bytes), n;
    struct slot *s = NULL;

    while (!r->code && (!(s = reader_slot_of(r, number)) || s->state != SLOT_READY)) {
        if (ready) {
            r->ready = ready;
            r->ready_arg = arg;
            return 0;
        }
        pthread_cond_wait(&r->changed, &r->lock);
    }
    if (r->code)
        return -1;
    if (number + 1 < big_chunk_count(&r->ref))
        reader_slot_of(r, number + 1);
    n = s->data.len - at < size ? s->data.len - at : size;
    memcpy(to, bytes_u8(s->data) + at, n);
    return (ptrdiff_t)n;
}

ptrdiff_t wr_cell_read(struct wr_cell_reader *r, uint64_t offset, void *to, size_t size,
                       wr_ready_fn *ready, void *arg)
{
    uint64_t length = r->out_of_line ? r->ref.length : r->value.len;
    ptrdiff_t n;

    if (offset >= length || !size)
        return 0;
    if (!r->out_of_line) {
        n = (ptrdiff_t)(length - offset < size ? length - offset : size);
        memcpy(to, bytes_u8(r->value) + offset, (size_t)n);
        return n;
    }
    pthread_mutex_lock(&r->lock);
    n = read_out_of_line(r, offset, to, size, ready, arg);
    pthread_mutex_unlock(&r->lock);
    return n;
}

int wr_cell_reader_error(struct wr_cell_reader *r, char *message, size_t message_size)
{
    int code;

    pthread_mutex_lock(&r->lock);
    code = r->code;
    if (message && message_size)
        snprintf(message, message_size, "%s", code ? r->text : "");
    pthread_mutex_unlock(&r->lock);
    return code;
}

void wr_cell_reader_free(struct wr_cell_reader *r)
{
    bool busy;

    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->freed = true;
    r->ready = NULL;
    busy = r->busy;
    pthread_mutex_unlock(&r->lock);
    if (!busy)
        reader_destroy(r);
}
