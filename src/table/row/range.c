/* range.c: GetRange and BulkExport.
 *
 * Heads are read at the durable view, in logical order (merge.h); each record is a row, and a wide
 * one has its wanted cells loaded. A page of the answer ends at the first of: the limit, the cap on
 * scanned rows, the cap on scanned bytes. One record more than needed is always asked for, so that
 * "next" names a row that is there, and is left out when there is none.
 *
 * Where the engine gives snapshots, a page and its wide rows are read at one, unless one walk of
 * the engine and rows in one piece make do with less. When storage is reopened meanwhile, the page
 * ends at the row it has come to; if it has none yet, all is read once more.
 *
 * A page holds whole rows. One that does not fit into the request's memory beside those that the
 * page has begins the next page; one that does not fit alone is refused with its key, so that the
 * client can read it in pieces and go on behind it.
 *
 * Rows that are handed over one by one (wr_get_range.on_row) are decoded in memory that the next
 * row uses again, which stays in the processor's caches. And where the engine can, a walk that
 * needs no merge goes straight through its blocks, without a copy of keys and values (walk_direct).
 */
#include "table/catalog/catalog.h"
#include "table/core/call.h"
#include "table/core/call_series.h"
#include "table/model/key.h"
#include "table/model/key_text.h"
#include "table/model/meter.h"
#include "table/model/visible.h"
#include "table/row/load.h"
#include "table/row/merge.h"
#include "table/row/own_rows.h"
#include "table/row/range_meter.h"
#include "table/model/series_place.h"

#define ROW_BYTES (32u << 10) /* of memory for one row; larger rows take more for themselves */
#define STEP_ROWS 16

/* A walk straight through the engine's blocks. */
struct range_visit {
    struct visit walk;
    int code;
    bool full;
    bool again;          /* the walk begins once more */
    bool left;           /* for a merge, which can give way while it waits for storage */
    struct buf last_key; /* that was taken */
};

struct range_op {
    struct call *call;
    struct table *table;
    const struct table **tables; /* that are walked: this one, or those of a series' periods */
    size_t table_count;
    bool newest_only; /* a key may stand in several of them, and the first one's row counts */
    bytes taken;      /* with it: the key that was taken last, as in a record */
    struct selection selection;
    struct wr_read_options read; /* BulkExport makes its own */
    bool backward;
    bool export;
    size_t limit;                  /* rows to return */
    const struct wr_get_range *to; /* rows are handed over to its on_row; NULL: they are kept */
    struct ctx *row_c;             /* of the row at hand: own_row_c if it is not kept */
    struct ctx own_row_c;
    void *row_memory;
    struct ctx page_c; /* of what is left of a visit */
    bool direct;       /* walk_direct() */
    struct range_visit visit;

    struct wr_row *rows;
    size_t row_count, row_capacity;
    size_t wide_bytes; /* of wide rows that are kept, in memory of their own */
    size_t stepped;    /* of the rows scanned, when the walk last asked whether it may go on */

    struct merge merge;
    const struct wr_key *start, *end; /* as asked for */
    struct snapshot *snapshot;        /* of the page; NULL: none, or none yet */
    bool again;                       /* it was revoked, and the walk begun again */
    bool page_ends;                   /* it was revoked, and the page ends before the next row */

    struct range_meter meter; /* of the rows scanned */

    struct own_rows own;    /* of the request's transaction, if it is in one */
    const struct row *mine; /* the row at hand, if it is one of them */

    struct load load;
    bool loading;
    struct wr_key key;                                    /* of the row at hand */
    struct wr_key_column key_columns[WR_KEY_COLUMNS_MAX]; /* of it, if it is handed over */
};

static void range_walk(void *arg);

static void range_wake(struct range_op *op)
{
    if (!call_enter(op->call, false))
        range_walk(op);
}

static void merge_done(struct merge *m)
{
    range_wake(PORT_CONTAINER(m, struct range_op, merge));
}

static void own_done(struct own_rows *o)
{
    range_wake(PORT_CONTAINER(o, struct range_op, own));
}

static void range_load_done(struct load *l)
{
    range_wake(PORT_CONTAINER(l, struct range_op, load));
}

/* ---- the walk ---- */

/* Of the row at hand. */
static const struct table *range_table(const struct range_op *op)
{
    return PORT_LIKELY(op->table_count == 1) ? *op->tables : merge_table(&op->merge);
}

/* Half of the request's memory is taken: the other half is for encoding what the page has. */
static bool memory_half(const struct range_op *op)
{
    const struct arena *a = &op->call->c.arena;

    return op->meter.rows && a->cap && a->used + op->wide_bytes > a->cap / 2;
}

static bool page_full(const struct range_op *op)
{
    const struct limits *limits = &op->call->db->limits;

    return op->row_count >= op->limit || op->meter.rows >= (size_t)limits->range_rows_max ||
           op->meter.bytes >= (size_t)limits->range_bytes_max || memory_half(op);
}

static void row_memory_open(struct range_op *op)
{
    struct ctx *c = &op->call->c;

    op->row_c = c;
    if (!op->to)
        return;
    op->row_c = &op->own_row_c;
    op->row_memory = arena_alloc(&c->arena, ROW_BYTES);
    ctx_init_part(op->row_c, c, op->row_memory, ROW_BYTES);
    if (op->direct) /* a visit has no end in between at which it could go on */
        op->row_c->turn = NULL;
}

/* The next row begins at the same place. */
static void row_memory_reuse(struct range_op *op)
{
    arena_reuse(&op->own_row_c.arena, op->row_memory, ROW_BYTES);
}

/* Passes on what went wrong in a row's own memory. */
static int row_memory_close(struct range_op *op)
{
    struct ctx *c = &op->call->c, *row_c = op->row_c;

    if (row_c == c)
        return c->code;
    ctx_fail_part(c, row_c);
    ctx_release(row_c);
    return c->code;
}

/* The next record; NULL: there is none. One more than will be taken is asked for. */
static int next_record(struct range_op *op, const struct kv **out)
{
    const struct limits *limits = &op->call->db->limits;
    size_t rows = (size_t)limits->range_rows_max - op->meter.rows + 1;
    size_t left = op->meter.bytes < (size_t)limits->range_bytes_max
                      ? (size_t)limits->range_bytes_max - op->meter.bytes
                      : 0;

    if (!op->selection.filter && rows > op->limit - op->row_count + 1)
        rows = op->limit - op->row_count + 1;
    if (op->page_ends)
        rows = 1;
    return merge_peek(&op->merge, rows, left, out);
}

/* The key of a row that stays: in the arena, but for names, which are the schema's (own_names). */
static int range_read_key(struct range_op *op, struct ctx *c, bytes record_key)
{
    const struct wr_table_description *d = &op->table->schema.d;
    struct wr_key_column *columns = arena_alloc(&c->arena, sizeof(*columns) * d->key_count);
    size_t used;

    op->key = (struct wr_key){columns, d->key_count};
    return key_read_columns(c, bytes_skip(record_key, KEY_PREFIX_BYTES), d->key, d->key_count,
                            columns, &used);
}

/* Of one that is handed over: as long as head_key and until the next one. */
static int view_key(struct range_op *op, bytes record_key)
{
    const struct wr_table_description *d = &op->table->schema.d;
    size_t used;

    op->key = (struct wr_key){op->key_columns, d->key_count};
    return key_view_columns(op->row_c, bytes_skip(record_key, KEY_PREFIX_BYTES), d->key,
                            d->key_count, op->key_columns, &used);
}

static struct wr_row *add_row(struct range_op *op)
{
    if (op->row_count == op->row_capacity) {
        size_t capacity = op->row_capacity ? op->row_capacity * 2 : 64;
        struct wr_row *rows = arena_alloc(&op->call->c.arena, sizeof(*rows) * capacity);

        if (op->row_count)
            memcpy(rows, op->rows, sizeof(*rows) * op->row_count);
        op->rows = rows;
        op->row_capacity = capacity;
    }
    return &op->rows[op->row_count];
}

static void wide_release(void *arg)
{
    ctx_release(arg);
}

/* Memory for one wide row, as much as is left to the request. */
static struct ctx *wide_memory(struct range_op *op)
{
    struct ctx *c = &op->call->c, *wide = op->row_c;
    size_t taken = c->arena.used + op->wide_bytes;

    if (!op->to) {
        wide = ARENA_NEW(&c->arena, struct ctx);
        ctx_init_part(wide, c, NULL, 0);
        arena_on_release(&c->arena, wide_release, wide);
    }
    if (c->arena.cap)
        wide->arena.cap = taken < c->arena.cap ? c->arena.cap - taken : 1;
    return wide;
}

static int load_start(struct range_op *op, bytes record_key, const struct row *record)
{
    if (op->direct && !op->snapshot)
        TRY(engine_snapshot(&op->call->c, op->call->db->engine, &op->visit.walk, &op->snapshot));
    if (op->direct && op->snapshot) { /* its cells may have to be waited for */
        op->visit.left = true;
        return E_LATER;
    }
    op->load = (struct load){.c = wide_memory(op),
                             .table = range_table(op),
                             .cols = bytes_skip(record_key, KEY_PREFIX_BYTES),
                             .view = VIEW_DURABLE,
                             .snapshot = op->snapshot,
                             .done = range_load_done,
                             .columns = op->selection.columns,
                             .column_count = op->selection.column_count,
                             .start = op->read.start_column,
                             .end = op->read.end_column,
                             .whole_versions = selection_versions(&op->selection)};
    load_from_record(&op->load, record);
    op->loading = true;
    return E_OK;
}

/* The row's cells; what fails is the page's failure. */
static int load_row(struct range_op *op, struct row *row)
{
    int code = load_run(&op->load);

    if (code && code != E_LATER && op->load.c != op->row_c)
        ctx_fail_part(op->row_c, op->load.c);
    TRY(code);
    op->loading = false;
    *row = op->load.row;
    return E_OK;
}

static int range_take_row(struct range_op *op, const struct kv *kv)
{
    struct ctx *c = op->row_c;
    struct wr_row handed, *out = &handed;
    struct row row = {0};
    size_t size;

    if (!op->loading) {
        TRY(op->to ? view_key(op, kv->key) : range_read_key(op, c, kv->key));
        if (PORT_UNLIKELY(op->mine != NULL))
            row = *op->mine;
        else if (op->selection.picks)
            TRY(row_decode_some(c, kv->value, op->selection.columns, op->selection.column_count,
                                &row));
        else
            TRY(row_decode(c, kv->value, &row));
        if (row.wide && !op->mine)
            TRY(load_start(op, kv->key, &row));
    }
    if (op->loading) {
        c = op->load.c;
        TRY(load_row(op, &row));
    }
    if (!op->to)
        out = add_row(op);
    selection_apply(c, &op->selection, &op->key, &row, out, &size);
    if (c->code) /* a regular expression that took too long */
        return ctx_fail_part(op->row_c, c);
    if (out->key.count && op->to) {
        int code = op->to->on_row(op->to->on_row_arg, out);

        if (PORT_UNLIKELY(code != E_OK))
            return fail_code(c, code);
    }
    op->row_count += out->key.count != 0;
    if (c != op->row_c)
        op->wide_bytes += c->arena.used;
    range_meter_add(&op->meter, kv->key, size);
    if (op->to)
        row_memory_reuse(op);
    return E_OK;
}

static void range_finish(struct range_op *op, bool more, const struct wr_key *next);

/* Does the answer end before this row? A partition that has no throughput left ends it, too; only
 * the first one fails the request. */
static int row_fits(struct range_op *op, const struct kv *kv, bool *full)
{
    struct ctx *c = &op->call->c;

    *full = op->page_ends || page_full(op);
    if (*full || op->loading || !range_meter_enter(&op->meter, range_table(op), kv->key))
        return E_OK;
    if (!op->meter.rows)
        return c->code;
    ctx_clear(c);
    *full = true;
    return E_OK;
}

/* Gives back what a row took that failed, and forgets why. */
static void row_forget(struct range_op *op)
{
    ctx_clear(op->row_c);
    if (op->loading && !op->to) {
        ctx_clear(op->load.c);
        arena_restart(&op->load.c->arena, NULL, 0);
    }
    if (op->to)
        row_memory_reuse(op);
    op->loading = op->own.loading = false;
}

/* Every so many rows the walk asks whether it may go on. A row that is being loaded comes first,
 * and so does what the merge has asked for. */
static bool is_step(struct range_op *op)
{
    if (PORT_LIKELY(op->meter.rows - op->stepped < STEP_ROWS) || op->loading || op->own.loading ||
        op->merge.scanning)
        return false;
    op->stepped = op->meter.rows;
    return true;
}

/* Did the walk fail only because its snapshot was revoked? Then it goes on: from the beginning if
 * it has taken no row (`again`), else to the end of the page, before the next row (`cut`). */
static bool walk_revoked(struct range_op *op, int code)
{
    if (code != E_BUSY || !op->snapshot || !op->snapshot->revoked || op->again || op->page_ends)
        return false;
    ctx_clear(&op->call->c);
    row_forget(op);
    snapshot_release(op->snapshot);
    op->snapshot = op->merge.snapshot = NULL;
    op->again = !op->meter.rows;
    op->page_ends = !op->again;
    return true;
}

/* A snapshot for all streams, where the engine gives them. */
static int merge_pin(struct range_op *op)
{
    TRY(engine_snapshot(&op->call->c, op->call->db->engine, NULL, &op->snapshot));
    op->merge.snapshot = op->snapshot;
    return E_OK;
}

/* There was no memory for this row. Alone in its page it is refused, else the page ends before it.
 */
static int row_too_large(struct range_op *op, bytes record_key, bool *full)
{
    struct ctx *c = &op->call->c;

    row_forget(op);
    *full = op->meter.rows != 0;
    if (*full)
        return E_OK;
    TRY(range_read_key(op, c, record_key));
    return fail(c, E_MEMORY,
                "The row with the key %.*s needs more memory than one request may use. Read it in "
                "pieces with GetRow, or only some of its columns; the rows behind it are a range "
                "that begins behind its key.",
                BYTES_FMT(key_text(&c->arena, &op->key)));
}

/* There is no memory for what storage would give next: the answer ends with the rows it has, if it
 * has any. Only the one behind them is read on, for its key. */
static int next_or_end(struct range_op *op, const struct kv **out)
{
    int code = next_record(op, out);

    if (code != E_MEMORY || !op->meter.rows || op->page_ends)
        return code;
    ctx_clear(&op->call->c);
    op->page_ends = true;
    (op->merge.page_c ? op->merge.page_c : &op->call->c)->arena.full = NULL;
    return next_record(op, out);
}

/* Of a key that stands in several periods, what was taken is the newest row: others are passed
 * over. */
static int next_newest(struct range_op *op, const struct kv **out)
{
    for (;;) {
        TRY(next_or_end(op, out));
        if (!*out || !op->taken.ptr ||
            !bytes_equal(bytes_skip((*out)->key, KEY_PREFIX_BYTES), op->taken))
            return E_OK;
        merge_pop(&op->merge);
    }
}

/* The next record, stored or of the transaction; what is gone for it is passed over. */
static int next_seen(struct range_op *op, const struct kv **out)
{
    bool gone = true;

    op->mine = NULL;
    if (PORT_UNLIKELY(op->newest_only))
        return next_newest(op, out);
    if (PORT_LIKELY(!op->call->txn))
        return next_or_end(op, out);
    while (gone) {
        TRY(next_or_end(op, out));
        op->own.snapshot = op->snapshot;
        TRY(own_rows_peek(&op->own, out, &op->mine, &gone));
        if (gone && own_rows_pop(&op->own))
            merge_pop(&op->merge);
    }
    return E_OK;
}

/* The next record is taken. *full: there are more rows, and op->key is the next one. *ended: there
 * are none. */
static int range_step(struct range_op *op, bool *full, bool *ended)
{
    const struct kv *record;

    if (is_step(op))
        TRY(call_step(op->call));
    TRY(next_seen(op, &record));
    *ended = !record;
    if (!record)
        return E_OK;
    TRY(row_fits(op, record, full));
    if (!*full) {
        int code = range_take_row(op, record);

        TRY(code == E_MEMORY ? row_too_large(op, record->key, full) : code);
    }
    if (*full)
        return range_read_key(op, &op->call->c, record->key);
    if (PORT_UNLIKELY(op->newest_only))
        op->taken = bytes_skip(record->key, KEY_PREFIX_BYTES);
    if (!op->mine || own_rows_pop(&op->own))
        merge_pop(&op->merge);
    return E_OK;
}

/* The transaction's rows in the bounds of the walk. */
static void own_begin(struct range_op *op)
{
    const struct key_range *range = &op->merge.streams->range;

    if (PORT_LIKELY(!op->call->txn))
        return;
    op->own = (struct own_rows){
        .call = op->call, .table = op->table, .backward = op->backward, .done = own_done};
    own_rows_begin(&op->own, range->start, range->end);
}

static int range_run(struct range_op *op, bool *full)
{
    bool ended = false;

    while (!*full && !ended) {
        int code = range_step(op, full, &ended);

        if (!code)
            continue;
        if (code == E_LATER || !walk_revoked(op, code))
            return code;
        TRY(merge_pin(op));
        if (op->again) {
            merge_start(&op->merge, op->start, op->end);
            own_begin(op);
        }
    }
    return E_OK;
}

/* What is left of the range, from this key on or from behind it (empty: all), is walked as a merge
 * of one stream at the moment of the visit. */
static void leave_visit(struct range_op *op, bytes key, bool behind)
{
    struct arena *a = &op->call->c.arena;
    struct key_range *left = &op->merge.streams[0].range;

    if (op->backward && key.len)
        left->end = behind ? arena_copy(a, key) : key_after(a, key);
    else if (key.len)
        left->start = behind ? key_after(a, key) : arena_copy(a, key);
    op->direct = false;
    op->row_c->turn = op->call->c.turn;
    op->merge.snapshot = op->snapshot;
    ctx_init_part(&op->page_c, &op->call->c, NULL, 0);
    op->merge.page_c = &op->page_c;
}

/* The next row is on the disk, which this thread must not wait for. */
static void visit_cold(struct visit *v)
{
    struct range_op *op = PORT_CONTAINER(v, struct range_op, visit.walk);

    if (!op->snapshot)
        op->visit.code = engine_snapshot(&op->call->c, op->call->db->engine, v, &op->snapshot);
    if (op->visit.code)
        return;
    op->visit.left = true;
    leave_visit(op, buf_bytes(&op->visit.last_key), true);
}

/* The key of the row that was taken. */
static inline void visit_passed(struct range_visit *v, bytes key)
{
    v->last_key.len = 0;
    if (PORT_UNLIKELY(key.len > v->last_key.capacity))
        buf_reserve(&v->last_key, key.len);
    bytes_copy(v->last_key.data, key.ptr, key.len);
    v->last_key.len = key.len;
}

static bool take_item(struct visit *v, bytes key, bytes value)
{
    struct range_op *op = PORT_CONTAINER(v, struct range_op, visit.walk);
    struct ctx *c = &op->call->c;
    const struct kv kv = {key, value};

    op->visit.code = is_step(op) ? turn_check_deadline(c, clock_mono_us(c->clock)) : E_OK;
    if (PORT_LIKELY(op->visit.code == E_OK))
        op->visit.code = row_fits(op, &kv, &op->visit.full);
    if (PORT_LIKELY(op->visit.code == E_OK && !op->visit.full)) {
        op->visit.code = range_take_row(op, &kv);
        if (PORT_LIKELY(op->visit.code == E_OK)) {
            visit_passed(&op->visit, key);
            return true;
        }
        if (op->visit.left) {
            leave_visit(op, key, false);
            return false;
        }
        if (op->visit.code == E_MEMORY) {
            op->visit.code = row_too_large(op, key, &op->visit.full);
        } else if (walk_revoked(op, op->visit.code)) {
            op->visit.code = E_OK;
            op->visit.full = op->page_ends;
            op->visit.again = op->again;
        }
    }
    if (op->visit.code == E_OK && op->visit.full)
        op->visit.code = range_read_key(op, c, key);
    return false;
}

/* One stream, whose rows are handed over: no row is copied on its way. *full as for step(). */
static int walk_direct(struct range_op *op, bool *full)
{
    do {
        op->visit.walk = (struct visit){.partition = op->tables[0]->schema.location.id,
                                        .range = op->merge.streams[0].range,
                                        .backward = op->backward,
                                        .take = take_item,
                                        .cold = turn_waits_here() ? NULL : visit_cold};
        op->visit.last_key.len = 0;
        op->visit.again = false;
        TRY(engine_visit(&op->call->c, op->call->db->engine, &op->visit.walk));
    } while (op->visit.again);
    if (op->visit.left)
        return range_run(op, full);
    *full = op->visit.full;
    return op->visit.code;
}

static int walk_steps(struct range_op *op, bool *full)
{
    if (op->direct)
        return walk_direct(op, full);
    if (!op->snapshot)
        TRY(merge_pin(op));
    return range_run(op, full);
}

static void range_walk(void *arg)
{
    struct range_op *op = arg;
    bool full = false;

    if (walk_steps(op, &full) != E_LATER)
        range_finish(op, full, &op->key);
}

/* ---- the end ---- */

/* Answers may outlive the table, so names in keys are copied once and shared by all rows. */
static void own_names(struct range_op *op, struct wr_range_result *r)
{
    const struct wr_table_description *d = &op->table->schema.d;
    struct arena *a = &op->call->c.arena;
    struct wr_key_schema *key = ARENA_ARRAY(a, struct wr_key_schema, d->key_count);

    for (size_t i = 0; i < d->key_count; i++) {
        key[i] = d->key[i];
        key[i].name = arena_copy(a, d->key[i].name);
    }
    for (size_t i = 0; i < r->row_count; i++)
        for (size_t k = 0; k < op->rows[i].key.count; k++)
            ((struct wr_key_column *)op->rows[i].key.columns)[k].name = key[k].name;
    for (size_t k = 0; k < r->next.count; k++)
        ((struct wr_key_column *)r->next.columns)[k].name = key[k].name;
    r->key = key;
    r->key_count = d->key_count;
}

static void range_finish(struct range_op *op, bool more, const struct wr_key *next)
{
    struct call *call = op->call;
    struct wr_range_result *r = &call->reply.range;

    call_charge(call);
    row_memory_close(op);
    if (op->merge.page_c)
        ctx_release(op->merge.page_c);
    snapshot_release(op->snapshot);
    op->snapshot = NULL;
    range_meter_end(&op->meter);
    if (!call->c.code) {
        r->rows = op->rows;
        r->row_count = op->to ? 0 : op->row_count;
        if (more)
            r->next = *next;
        if (op->export)
            r->consumed.read_size = (int64_t)op->meter.bytes;
        else
            r->consumed.read = meter_units(op->meter.bytes);
        own_names(op, r);
    }
    table_release(op->table);
    call_finish(call);
}

/* ---- the beginning ---- */

/* A transaction reads rows of its own value. */
static int check_bound_inside(struct call *call, struct table *t, const struct wr_key *bound)
{
    const struct location *p = &t->schema.location;
    struct buf cols;

    buf_init(&cols, &call->c.arena, 64);
    TRY(key_put_columns(&call->c, &cols, p->key, bound->columns, TXN_KEY_COLUMNS));
    return txn_check_row(call, t, buf_bytes(&cols));
}

static int check_bounds(struct call *call, struct table *t, const struct wr_key *start,
                        const struct wr_key *end, bool backward)
{
    const struct wr_table_description *d = &t->schema.d;
    struct ctx *c = &call->c;
    int order;

    TRY(key_check(c, &call->db->limits, d->key, d->key_count, start, KEY_BOUND));
    TRY(key_check(c, &call->db->limits, d->key, d->key_count, end, KEY_BOUND));
    if (PORT_UNLIKELY(call->txn != NULL)) {
        TRY(check_bound_inside(call, t, start));
        TRY(check_bound_inside(call, t, end));
    }
    order = key_compare(d->key, start, end);
    if (!backward && order >= 0)
        return fail(c, E_PARAMETER, "Begin key must less than end key in FORWARD");
    if (backward && order <= 0)
        return fail(c, E_PARAMETER, "Begin key must more than end key in BACKWARD");
    return E_OK;
}

/* The tables that are walked. A series without a period in the range is walked as itself, which has
 * no row. */
static void range_tables(struct range_op *op)
{
    struct call *call = op->call;
    const struct call_series *s = call_series_named(call->series, op->table->schema.d.table);
    size_t count = s && s->count ? s->count : 1;

    op->tables = ARENA_ARRAY(&call->c.arena, const struct table *, count);
    op->table_count = count;
    op->tables[0] = op->table;
    for (size_t i = 0; s && i < s->count; i++)
        op->tables[i] = s->periods[i].table;
    op->newest_only = count > 1 && series_by_attribute(&op->table->schema);
}

static int op_start(struct range_op *op, bytes table, const struct wr_key *start,
                    const struct wr_key *end)
{
    struct call *call = op->call;
    struct ctx *c = &call->c;
    const struct wr_table_description *d;
    int code;

    call->go_on = range_walk;
    call->go_on_arg = op;
    TRY(key_check_alone(c, &call->db->limits, start, KEY_BOUND));
    TRY(key_check_alone(c, &call->db->limits, end, KEY_BOUND));
    TRY(call_open_table(call, table, &op->table));
    d = &op->table->schema.d;
    code = check_bounds(call, op->table, start, end, op->backward);
    if (!code)
        code = selection_init(c, &call->db->limits, &op->read, &d->options, d->key, d->key_count,
                              call->now_ms, &op->selection);
    if (code) {
        table_release(op->table);
        return code;
    }
    op->selection.entries = op->table->schema.base.table.len > 0;
    range_tables(op);
    op->merge = (struct merge){.c = c,
                               .tables = op->tables,
                               .table_count = op->table_count,
                               .view = VIEW_DURABLE,
                               .backward = op->backward,
                               .done = merge_done};
    op->start = start;
    op->end = end;
    merge_start(&op->merge, start, end);
    own_begin(op);
    op->direct =
        op->to && !call->txn && op->merge.stream_count == 1 && engine_can_visit(call->db->engine);
    row_memory_open(op);
    range_meter_init(&op->meter, call, op->tables[0], op->direct);
    buf_init(&op->visit.last_key, &c->arena, 0);
    if (range_meter_enter(&op->meter, op->tables[0],
                          op->backward ? op->merge.streams->range.end
                                       : op->merge.streams->range.start)) {
        range_finish(op, false, NULL);
        return E_OK;
    }
    range_walk(op);
    return E_OK;
}

int get_range_start(struct call *call)
{
    const struct wr_get_range *g = &call->req->get_range;
    struct ctx *c = &call->c;
    struct range_op *op = ARENA_NEW(&c->arena, struct range_op);

    op->call = call;
    TRY(selection_check_alone(c, &call->db->limits, &g->read,
                              "No version condition is specified."));
    if (g->has_limit && g->limit <= 0)
        return fail(c, E_PARAMETER, "The limit must be greater than 0.");
    op->read = g->read;
    op->backward = g->backward;
    op->to = g->on_row ? g : NULL;
    op->limit = g->has_limit ? (size_t)g->limit : SIZE_MAX / 2;
    return op_start(op, g->table, &g->start, &g->end);
}

int bulk_export_start(struct call *call)
{
    const struct wr_bulk_export *e = &call->req->bulk_export;
    struct ctx *c = &call->c;
    struct range_op *op = ARENA_NEW(&c->arena, struct range_op);

    op->call = call;
    op->read = (struct wr_read_options){.columns = e->columns,
                                        .column_count = e->column_count,
                                        .has_max_versions = true,
                                        .max_versions = 1,
                                        .filter = e->filter};
    TRY(selection_check_alone(c, &call->db->limits, &op->read, ""));
    if (e->matrix && !e->column_count)
        return fail(c, E_PARAMETER, "DBT_SIMPLE_ROW_MATRIX need at least one column to get.");
    op->export = true;
    op->limit = SIZE_MAX / 2;
    return op_start(op, e->table, &e->start, &e->end);
}
