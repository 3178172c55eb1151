/* read.c: GetRow and BatchGetRow.
 *
 * Each row is loaded at the durable view and shaped by the request's selection. A batch asks for
 * the row records of a group of rows at once, so that a disk or a pool answers them side by side,
 * and then loads and shapes one row after the other; a load that answers later resumes the walk
 * where it is woken. A head that could not be had with its group is read again by its row's load,
 * which finds the row's partition anew and records its failure. */
#include "base/invariant.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/call.h"
#include "table/core/call_series.h"
#include "table/model/key.h"
#include "table/model/meter.h"
#include "table/model/visible.h"
#include "table/row/access.h"
#include "table/row/load.h"
#include "table/row/own_rows.h"
#include "table/model/series_place.h"

#define PIECE_BYTES_MIN (4 << 20)
#define AHEAD_ROWS 64                 /* heads that are asked for at once, */
#define AHEAD_BYTES ((size_t)4 << 20) /* and what they may come to */

struct read_table {
    struct table *table;
    struct selection selection;
    const struct call_series *series; /* NULL, or its periods' tables stand behind this one */
};

struct read_row {
    const struct wr_key *key;
    bytes token;
    struct wr_row_result *result;
    struct read_table *t;
    size_t older;           /* as many tables behind t may have the row if t has not */
    bytes cols;             /* the key columns, encoded; ptr NULL: not yet */
    const struct get *head; /* read with others; NULL: by its load */
};

/* Rows whose heads are asked for at once. */
struct ahead {
    struct read_call *read;
    size_t end; /* the walk comes there before it asks for others */
    struct get_many many;
    struct read_row *rows[AHEAD_ROWS]; /* whose gets these are */
};

struct read_call {
    struct call *call;
    struct read_table *tables;
    size_t table_count;
    struct read_row *rows;
    size_t row_count, at;
    struct access access; /* of the row at */
    struct load load;
    const struct txn_row *own; /* what the request's transaction made of the row at; or NULL */
    bool loading;
    bool single;
    size_t bytes; /* of the rows that were read */

    struct ahead *ahead; /* NULL: the request is for one row */
};

static void read_walk(void *arg);

static void read_load_done(struct load *l)
{
    struct read_call *rd = PORT_CONTAINER(l, struct read_call, load);

    if (!call_enter(rd->call, false))
        read_walk(rd);
}

/* A token is the column to go on behind, after a version byte. */
static int token_read(struct ctx *c, bytes token, bytes *after)
{
    *after = BYTES_NONE;
    if (!token.len)
        return E_OK;
    if (bytes_u8(token)[0] != 1)
        return fail(c, E_PARAMETER, "The token is invalid.");
    *after = bytes_skip(token, 1);
    return E_OK;
}

static bytes token_make(struct ctx *c, bytes column)
{
    struct buf b;

    buf_init(&b, &c->arena, column.len + 1);
    buf_put_u8(&b, 1);
    buf_put_bytes(&b, column);
    return buf_bytes(&b);
}

/* A row wider than this many stored bytes is answered in pieces, whole columns at a time. Any row
 * that one change can write comes whole, as far as the request's memory holds it: a short cell
 * takes some ten times its stored bytes there. */
static size_t piece_bytes(const struct read_call *rd, const struct read_row *r)
{
    struct limits l = rd->call->db->limits;
    /* As set, not as --memory bounds it: what comes whole does not depend on the machine. */
    int64_t memory = rd->call->db->given.request_memory_max, most;

    limits_lift(&l, r->t->table->schema.d.options.cell_bytes_max);
    most = l.row_change_bytes_max > PIECE_BYTES_MIN ? l.row_change_bytes_max : PIECE_BYTES_MIN;
    if (most <= PIECE_BYTES_MIN && most > memory / 32)
        most = memory / 32;
    return (size_t)most;
}

/* The row of a series is its period's, or the newest period's that has it. In the series' own table
 * there is none. */
static int row_place(struct read_call *rd, struct read_row *r)
{
    const struct call_series *s = r->t->series;
    enum series_place place;
    int64_t number;

    if (!s)
        return E_OK;
    TRY(series_place(&rd->call->c, &s->series->schema, r->key, NULL, &place, &number));
    if (place == SERIES_UNKNOWN && s->count) {
        r->t++;
        r->older = s->count - 1;
    }
    for (size_t i = 0; place == SERIES_PERIOD && i < s->count; i++)
        if (s->periods[i].number == number) {
            r->t += 1 + i;
            break;
        }
    return E_OK;
}

/* Checks the key against its table, and encodes it. */
static int row_key(struct read_call *rd, struct read_row *r)
{
    struct ctx *c = &rd->call->c;
    const struct wr_table_description *d = &r->t->table->schema.d;
    struct buf cols;

    if (r->cols.ptr)
        return E_OK;
    TRY(key_check(c, &rd->call->db->limits, d->key, d->key_count, r->key, KEY_READ));
    buf_init(&cols, &c->arena, 64);
    TRY(key_put_columns(c, &cols, d->key, r->key->columns, r->key->count));
    if (PORT_UNLIKELY(rd->call->series != NULL))
        TRY(row_place(rd, r));
    r->cols = buf_bytes(&cols);
    return E_OK;
}

static int row_start(struct read_call *rd, struct read_row *r)
{
    struct ctx *c = &rd->call->c;
    const struct selection *s = &r->t->selection;

    rd->access.cols = r->cols;
    rd->access.bucket = layout_bucket(&r->t->table->schema.location, rd->access.cols);
    TRY(access_admit(&rd->access, PARTITION_READ));
    rd->load = (struct load){.c = c,
                             .table = r->t->table,
                             .cols = r->cols,
                             .view = VIEW_DURABLE,
                             .done = read_load_done,
                             .columns = s->columns,
                             .column_count = s->column_count,
                             .start = s->read->start_column,
                             .end = s->read->end_column,
                             .bytes_max = s->filter ? 0 : piece_bytes(rd, r),
                             .whole_versions = selection_versions(s)};
    TRY(token_read(c, r->token, &rd->load.after));
    if (rd->load.after.ptr)
        rd->load.columns = NULL; /* the selection still drops what is not wanted */
    if (PORT_UNLIKELY(rd->call->txn != NULL)) {
        TRY(txn_check_row(rd->call, r->t->table, r->cols));
        rd->own = own_row_prepare(rd->call, &rd->load);
    }
    if (r->head)
        load_from_get(&rd->load, r->head);
    return E_OK;
}

/* The row is loaded: it is not there, and an older period may have it. */
static bool row_is_older(const struct read_call *rd, const struct read_row *r)
{
    const struct row *row = &rd->load.row;

    return r->older && !(row->there && (row->wide || visible_row(&r->t->table->schema.d.options,
                                                                 rd->call->now_ms, row)));
}

static int row_load(struct read_call *rd, struct read_row *r)
{
    if (!rd->loading) {
        rd->access = (struct access){.db = rd->call->db, .c = &rd->call->c, .reads = 1};
        TRY(row_key(rd, r));
        rd->access.table = r->t->table;
        TRY(row_start(rd, r));
        rd->loading = true;
    }
    if (PORT_LIKELY(!rd->own || !rd->own->replaces))
        TRY(load_run(&rd->load));
    return E_OK;
}

static int row_read(struct read_call *rd, struct read_row *r)
{
    struct ctx *c = &rd->call->c;
    size_t size;

    TRY(row_load(rd, r));
    while (PORT_UNLIKELY(row_is_older(rd, r))) {
        r->t++;
        r->older--;
        r->head = NULL;
        rd->loading = false;
        TRY(row_load(rd, r));
    }
    if (PORT_UNLIKELY(rd->own != NULL))
        TRY(txn_overlay(rd->call, r->t->table, rd->own, &rd->load.row));
    selection_apply(c, &r->t->selection, r->key, &rd->load.row, &r->result->row, &size);
    if (c->code) /* a regular expression that took too long */
        return c->code;
    if (r->result->row.key.count)
        r->result->row.key = key_copy(&c->arena, r->key);
    if (rd->load.next.ptr)
        r->result->next_token = token_make(c, rd->load.next);
    r->result->consumed.read = meter_units(size);
    rd->access.read_bytes = size;
    rd->bytes += size;
    return E_OK;
}

/* Of one BatchGetRow. All requests together may hold memory_of_requests(), and each answer is there
 * twice for a moment, so one alone must not take most of that. */
static size_t batch_bytes_max(const struct read_call *rd)
{
    struct wr_db *db = rd->call->db;
    uint64_t limit = (uint64_t)db_limits(db)->batch_get_bytes_max;
    uint64_t most = memory_of_requests(&db->memory) / 4;

    return (size_t)(limit < most ? limit : most);
}

/* Its client has to ask for the row again, alone or with fewer others: a code that SDKs retry by
 * themselves would have most of them send the same batch again and again. */
static int row_leave_out(struct read_call *rd, size_t most)
{
    return fail(&rd->call->c, E_PARAMETER,
                "The rows before this one come to %zu bytes, and one BatchGetRow reads no more "
                "than %zu: read this row in another request.",
                rd->bytes, most);
}

/* True: a batch may read one row more. The answer holds no more than the cap and one row. What
 * others hold grows while rows are read: many batches that began when there was room may have none
 * for all of their rows. */
static int read_check_room(struct read_call *rd)
{
    struct wr_db *db = rd->call->db;
    size_t most;

    if (rd->loading || !rd->bytes)
        return E_OK;
    most = batch_bytes_max(rd);
    if (rd->bytes >= most)
        return row_leave_out(rd, most);
    if (memory_full(&db->memory, db->engine))
        return fail(&rd->call->c, E_BUSY, "Server is busy: other requests fill its memory.");
    return E_OK;
}

/* ---- heads of several rows at once ---- */

/* Small rows are their heads, and a larger one is a few bytes. */
static size_t ahead_max(const struct read_call *rd)
{
    size_t head = (size_t)rd->call->db->limits.wide_row_bytes, most = batch_bytes_max(rd) / 4;
    size_t n = (most < AHEAD_BYTES ? most : AHEAD_BYTES) / head;

    return n < AHEAD_ROWS ? n : AHEAD_ROWS;
}

/* What failed is asked for again by its row. */
static void ahead_take(struct ahead *a)
{
    for (size_t i = 0; i < a->many.count; i++)
        a->rows[i]->head = a->many.gets[i].code ? NULL : &a->many.gets[i];
    a->many.count = 0;
    ctx_clear(&a->read->call->c);
}

static void ahead_done(struct get_many *m)
{
    struct ahead *a = PORT_CONTAINER(m, struct ahead, many);

    ahead_take(a);
    if (!call_enter(a->read->call, false))
        read_walk(a->read);
}

/* The next n rows. */
static void ahead_gather(struct ahead *a, size_t n)
{
    struct ctx *c = &a->read->call->c;
    struct get *gets = ARENA_ARRAY(&c->arena, struct get, n);

    invariant(n <= AHEAD_ROWS && a->read->at + n <= a->read->row_count);
    a->many = (struct get_many){.gets = gets, .done = ahead_done};
    for (size_t i = 0; i < n; i++) {
        struct read_row *r = &a->read->rows[a->read->at + i];
        const struct table *t;

        if (row_key(a->read, r))
            continue; /* its load finds out the same */
        t = r->t->table;
        a->rows[a->many.count] = r;
        gets[a->many.count++] = (struct get){.partition = route_find_row(t, r->cols),
                                             .key = load_head_key(&c->arena, t, r->cols),
                                             .view = VIEW_DURABLE};
    }
    ctx_clear(c);
}

/* Asks for the row records of the next rows, if they are several. E_LATER: the walk goes on by
 * itself. */
static int ahead_ask(struct read_call *rd)
{
    struct ahead *a = rd->ahead;
    size_t left = rd->row_count - rd->at, n = ahead_max(rd);

    /* One after the other each is read in its turn, which may end in between. */
    if (rd->loading || rd->at < a->end || !engine_gets_many(rd->call->db->engine))
        return E_OK;
    invariant(!a->many.count);
    n = n < left ? n : left;
    a->end = rd->at + (n ? n : 1);
    if (n < 2)
        return E_OK;
    ahead_gather(a, n);
    if (engine_get_many(&rd->call->c, rd->call->db->engine, &a->many) == E_LATER)
        return E_LATER;
    ahead_take(a);
    return E_OK;
}

/* The failure that was recorded is this row's alone. */
static void row_fail(struct read_call *rd, struct read_row *r)
{
    struct ctx *c = &rd->call->c;

    call_blame(rd->call);
    r->result->code = c->code;
    r->result->message = c->text;
    ctx_clear(c);
}

static void read_close(struct read_call *rd)
{
    for (size_t i = 0; i < rd->table_count; i++)
        table_release(rd->tables[i].table);
}

static void read_finish(struct read_call *rd)
{
    call_charge(rd->call);
    read_close(rd);
    call_finish(rd->call);
}

/* Begins, for a walk that goes on from wherever it was. */
static void walk_start(struct read_call *rd)
{
    rd->call->go_on = read_walk;
    rd->call->go_on_arg = rd;
    read_walk(rd);
}

static void read_walk(void *arg)
{
    struct read_call *rd = arg;

    for (; rd->at < rd->row_count; rd->at++) {
        struct read_row *r = &rd->rows[rd->at];
        int code = rd->at && !rd->loading ? call_step(rd->call) : E_OK;

        if (code == E_LATER)
            return;
        if (code) /* it took too long: as a whole */
            break;
        if (read_check_room(rd)) {
            row_fail(rd, r);
            continue;
        }
        if (rd->ahead && ahead_ask(rd) == E_LATER)
            return;
        code = row_read(rd, r);
        if (code == E_LATER)
            return;
        rd->loading = false;
        if (code) /* section 7 */
            r->result->consumed.read = err_info(code)->http_status < 500 && !rd->access.refused;
        if (code && !rd->single)
            row_fail(rd, r);
        rd->access.read_units = r->result->consumed.read;
        access_count(&rd->access);
    }
    read_finish(rd);
}

/* How many tables the rows of this one may be of. */
static size_t read_tables_of(const struct call *call, bytes name)
{
    const struct call_series *s = call_series_named(call->series, name);

    return s ? s->count + 1 : 1;
}

/* Opens the table; of a series, those of its periods, too, for which the same is selected. What
 * was opened is in rd->tables, whatever comes of it. */
static int read_open(struct read_call *rd, bytes name, const struct wr_read_options *read)
{
    struct call *call = rd->call;
    struct read_table *t = &rd->tables[rd->table_count];
    const struct schema *s;

    TRY(call_open_table(call, name, &t->table));
    rd->table_count++;
    s = &t->table->schema;
    TRY(selection_init(&call->c, &call->db->limits, read, &s->d.options, s->d.key, s->d.key_count,
                       call->now_ms, &t->selection));
    t->selection.entries = s->base.table.len > 0;
    t->series = call_series_named(call->series, name);
    for (size_t i = 0; t->series && i < t->series->count; i++)
        rd->tables[rd->table_count++] =
            (struct read_table){table_ref(t->series->periods[i].table), t->selection, NULL};
    return E_OK;
}

int get_row_start(struct call *call)
{
    static const char missing[] = "No version condition is specified.";
    const struct wr_get_row *g = &call->req->get_row;
    const struct limits *limits = &call->db->limits;
    struct ctx *c = &call->c;
    struct read_call *rd = ARENA_NEW(&c->arena, struct read_call);

    TRY(selection_check_alone(c, limits, &g->read, missing));
    TRY(key_check_alone(c, limits, &g->key, KEY_READ));
    rd->call = call;
    rd->single = true;
    rd->tables = ARENA_ARRAY(&c->arena, struct read_table, read_tables_of(call, g->table));
    if (read_open(rd, g->table, &g->read)) {
        read_close(rd);
        return c->code;
    }
    rd->rows = ARENA_NEW(&c->arena, struct read_row);
    *rd->rows = (struct read_row){
        .key = &g->key, .token = g->token, .result = &call->reply.row, .t = rd->tables};
    rd->row_count = 1;
    walk_start(rd);
    return E_OK;
}

static int check_batch(struct call *call, const struct wr_batch_get_row *b)
{
    static const char missing[] = "No version condition is specified while querying row.";
    const struct limits *limits = &call->db->limits;
    struct ctx *c = &call->c;
    size_t rows = 0;

    for (size_t i = 0; i < b->table_count; i++) {
        if (!b->tables[i].key_count)
            return fail(c, E_PARAMETER, "No row specified in the request of BatchGetRow.");
        rows += b->tables[i].key_count;
    }
    if (!rows)
        return fail(c, E_PARAMETER, "No row specified in the request of BatchGetRow.");
    if (rows > (size_t)limits->batch_get_rows_max)
        return fail(c, E_PARAMETER, "Rows count exceeds the upper limit: %d.",
                    (int)limits->batch_get_rows_max);
    /* Each table has a row, so there are no more tables than rows. */
    for (size_t i = 0; i < b->table_count; i++)
        for (size_t j = 0; j < i; j++)
            if (bytes_equal(b->tables[i].table, b->tables[j].table))
                return fail(c, E_PARAMETER, "Duplicated table name: '%.*s'.",
                            BYTES_FMT(b->tables[i].table));
    for (size_t i = 0; i < b->table_count; i++)
        TRY(selection_check_alone(c, limits, &b->tables[i].read, missing));
    for (size_t i = 0; i < b->table_count; i++)
        for (size_t j = 0; j < b->tables[i].key_count; j++)
            TRY(key_check_alone(c, limits, &b->tables[i].keys[j], KEY_READ));
    return E_OK;
}

static int batch_table(struct call *call, struct read_call *rd, const struct wr_table_get *g,
                       struct wr_table_result *result)
{
    struct ctx *c = &call->c;
    struct read_table *t = &rd->tables[rd->table_count];
    struct wr_row_result *results = ARENA_ARRAY(&c->arena, struct wr_row_result, g->key_count);

    TRY(read_open(rd, g->table, &g->read));
    *result = (struct wr_table_result){arena_copy(&c->arena, g->table), results, g->key_count};
    for (size_t i = 0; i < g->key_count; i++)
        rd->rows[rd->row_count++] =
            (struct read_row){.key = &g->keys[i],
                              .token = g->tokens ? g->tokens[i] : BYTES_NONE,
                              .result = &results[i],
                              .t = t};
    return E_OK;
}

int batch_get_row_start(struct call *call)
{
    const struct wr_batch_get_row *b = &call->req->batch_get_row;
    struct ctx *c = &call->c;
    struct read_call *rd = ARENA_NEW(&c->arena, struct read_call);
    struct wr_table_result *results =
        ARENA_ARRAY(&c->arena, struct wr_table_result, b->table_count);
    size_t rows = 0, tables = 0;

    TRY(check_batch(call, b));
    for (size_t i = 0; i < b->table_count; i++) {
        rows += b->tables[i].key_count;
        tables += read_tables_of(call, b->tables[i].table);
    }
    rd->call = call;
    rd->tables = ARENA_ARRAY(&c->arena, struct read_table, tables);
    rd->rows = ARENA_ARRAY(&c->arena, struct read_row, rows);
    for (size_t i = 0; i < b->table_count; i++)
        if (batch_table(call, rd, &b->tables[i], &results[i])) {
            read_close(rd);
            return c->code;
        }
    call->reply.batch = (struct wr_batch_result){results, b->table_count};
    rd->ahead = ARENA_NEW(&c->arena, struct ahead);
    rd->ahead->read = rd;
    walk_start(rd);
    return E_OK;
}
