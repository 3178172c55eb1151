/* cell_stage.c: a large cell of an ordinary PutRow or UpdateRow.
 *
 * Through the log it would be written twice, fill a write buffer by itself and hold up whoever
 * commits beside it. So it goes the way of a stream: its chunks go past the log first, and the
 * request, with a reference in the cell's place, is the stream's last step (cell_writer.c). The
 * client sees no difference but the time. What the request can be refused for without looking at
 * the row is looked at before; whatever this way cannot do goes the ordinary one. */
#include "table/blob/stream.h"

#include "table/catalog/catalog.h"
#include "table/model/change.h"

struct stage {
    struct job job;
    struct wr_db *db;
    struct wr_cell_writer *writer;
    pthread_mutex_t lock; /* a step may begin on another thread before this one has ended */
    bytes rest;           /* of the value */
    wr_done_fn *done;
    void *arg;
};

/* As a rule no table allows cells that are worth it: then no write is looked through for one. */
static bool may_be_large(const struct wr_db *db)
{
    return db_limits(db)->cell_bytes_max >= (int64_t)CELL_BULK_BYTES_MIN;
}

/* The first cell that is worth it. */
static bool find_large(const struct wr_row_change *change, size_t *at)
{
    const struct wr_row *row = &change->row;

    for (size_t i = 0; i < row->cell_count; i++) {
        const struct wr_cell *cell = &row->cells[i];

        if (PORT_UNLIKELY(cell->op == WR_CELL_PUT && cell->value.type == WR_VARBINARY &&
                          cell->value.bytes.len >= CELL_BULK_BYTES_MIN)) {
            *at = i;
            return true;
        }
    }
    return false;
}

static int stage_check(struct ctx *c, struct wr_db *db, const struct wr_request *req)
{
    const struct wr_row_change *change = &req->put_row;
    struct table *t;
    int code;

    TRY(change_check_alone(c, db_limits(db), change, false));
    TRY(catalog_find_one(c, db->catalog, req->instance, change->table, &t));
    code = change_check_table(c, &db->limits, t, change, false);
    table_release(t);
    return code;
}

static bool may_pass(struct wr_db *db, const struct wr_request *req)
{
    struct ctx c;
    bool good;

    ctx_init(&c, &db->clock, NULL, NULL, 0);
    good = stage_check(&c, db, req) == E_OK;
    ctx_release(&c);
    return good;
}

static void stage_done(void *arg, struct wr_reply *reply)
{
    struct stage *s = arg;
    wr_done_fn *done = s->done;
    void *done_arg = s->arg;

    wr_cell_writer_free(s->writer);
    pthread_mutex_lock(&s->lock); /* the step that ended it may still hold it */
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
    done(done_arg, reply);
}

static void stage_ready(void *arg)
{
    struct stage *s = arg;

    streams_submit(s->db->streams, &s->job);
}

/* One step: as much as the writer takes now. It never waits, so it may run on the thread that the
 * writer's own work needs next. */
static void stage_run(struct job *job)
{
    struct stage *s = PORT_CONTAINER(job, struct stage, job);
    ptrdiff_t n;

    pthread_mutex_lock(&s->lock);
    n = wr_cell_write(s->writer, s->rest.ptr, s->rest.len, stage_ready, s);
    if (n > 0)
        s->rest = bytes_skip(s->rest, (size_t)n);
    if (n < 0 || !s->rest.len) /* a failure is told at the end */
        wr_cell_finish(s->writer, stage_done, s);
    pthread_mutex_unlock(&s->lock);
}

bool cell_stage(struct wr_db *db, const struct wr_request *req, wr_done_fn *done, void *arg)
{
    const struct wr_row_change *change = &req->put_row; /* the two share their struct */
    struct wr_cell_put put;
    struct stage *s;
    size_t at;

    if (change->transaction.ptr || !engine_one_key_space(db->engine) || !may_be_large(db) ||
        !find_large(change, &at) || !may_pass(db, req))
        return false;
    put = (struct wr_cell_put){.instance = req->instance,
                               .table = change->table,
                               .key = change->row.key,
                               .column = change->row.cells[at].name,
                               .length = change->row.cells[at].value.bytes.len,
                               .timestamp_ms = WR_TIMESTAMP_NONE};
    s = mem_zalloc(sizeof(*s));
    if (wr_cell_writer_open(db, &put, &s->writer, NULL, 0)) {
        mem_free(s);
        return false;
    }
    cell_writer_attach(s->writer, req, at);
    s->job.run = stage_run;
    s->db = db;
    s->rest = change->row.cells[at].value.bytes;
    s->done = done;
    s->arg = arg;
    pthread_mutex_init(&s->lock, NULL);
    streams_submit(db->streams, &s->job);
    return true;
}
