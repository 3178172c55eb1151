/* rekey.c
 *
 * A table has a location where its rows are stored (layout.h), and while it is rekeyed a second
 * one, the shadow copy. From the moment that is published, every write applies its edits to both,
 * in one batch. Phases, each published and durable before the next one begins:
 *
 *   COPYING     `location` is the old one, `shadow` the new one. Reads and decisions use the old
 * one. The rekeyer walks the old location; of each row it takes the row lock, and copies what is
 *               stored at LATEST. So a row that was copied is alike in both places from then on:
 * later writes go to both, and earlier ones were copied. A row that only was written, not copied,
 * may be incomplete in the shadow copy (an update of a wide row stores what it changes), which is
 * why every row is copied, whether or not it is there. SWITCHED    `location` is the new one,
 * `shadow` the old one: requests that began before the switch still read the old one, and decide by
 * what it holds, so it is kept alike. (NONE)      place is the new one alone; the old one is left
 * to the sweeper. CANCELLING  as COPYING, but on its way to NONE with the old location.
 *
 * Requests hold the description that they began with. Hence the rekeyer waits, before it copies and
 * before it ends, until none is under way that holds an earlier one (catalog_reconciled()). Row
 * locks are named by the table, not by the location, so requests of all phases wait for one
 * another.
 *
 * Deciding to cancel and to remove the shadow copy are two steps because an answer may be unsure: a
 * stored record that the shadow copy is to be removed must never stand beside a server that still
 * may switch to it.
 *
 * The cells, chunks and garbage records of a row that is partly out of line are copied as they are:
 * ids are the same in both places. The garbage record of an out-of-line id is removed with the last
 * of its cells, so reading garbage and cells at one point in time never gives cells without a row
 * record or a garbage record that names them.
 */
#include "table/maint/rekey.h"

#include "base/fault.h"
#include "base/invariant.h"
#include "base/log.h"
#include "table/catalog/catalog_txn.h"
#include "table/core/call.h"
#include "table/core/row_walk.h"
#include "table/maint/split_key.h"
#include "table/maint/table_slice.h"
#include "table/model/batch_builder.h"
#include "table/sync/wait.h"

#define RETRY_US_MAX 2000000
#define IDLE_US 5000000
#define RETRY_US 100000
#define PAGE_ITEMS 256 /* of what is out of line of a row */
#define PAGE_BYTES (1u << 20)

struct rekeyer {
    struct table_slicing slicing;
    struct task *task;
    pthread_mutex_t lock; /* of what follows */
    /* Of the table that is being copied, for who asks. */
    uint32_t shadow_id;
    uint64_t rows;
    int percent;
};

/* One table's copy under way. */
struct rekey_copy {
    struct rekeyer *r;
    struct wr_db *db;
    struct table *table;
    struct ctx *c; /* of the whole slice */
    struct row_walk walk;
    struct task_step *step;
};

/* ---- progress ---- */

static void progress_set(struct rekeyer *r, uint32_t shadow_id, uint64_t rows, int percent)
{
    pthread_mutex_lock(&r->lock);
    r->shadow_id = shadow_id;
    r->rows = rows;
    if (percent >= 0)
        r->percent = percent;
    pthread_mutex_unlock(&r->lock);
}

/* ---- copying ---- */

static void add_moved(const struct rekey_copy *y, struct batch_builder *e, bytes key, bytes value)
{
    struct buf moved;

    buf_init(&moved, e->arena, key.len);
    layout_move_key(&moved, &y->table->schema.shadow, key);
    batch_add(e, EDIT_PUT, buf_bytes(&moved), value);
}

/* All keys of one kind that belong to the row. */
static struct key_range row_range(struct arena *a, const struct location *p, enum key_kind kind,
                                  bytes cols)
{
    struct buf from, to;

    buf_init(&from, a, KEY_PREFIX_BYTES + cols.len);
    layout_put_key(&from, p, kind, cols);
    buf_init(&to, a, KEY_PREFIX_BYTES + cols.len + KEY_PAST_BYTES);
    buf_put_bytes(&to, buf_bytes(&from));
    key_put_past(&to);
    return (struct key_range){buf_bytes(&from), buf_bytes(&to)};
}

/* What is out of line of the row record, page by page, each durable before the next. */
static int copy_out_of_line(struct rekey_copy *y, bytes cols)
{
    static const enum key_kind kinds[] = {KIND_GARBAGE, KIND_CELL, KIND_CHUNK};
    const struct location *p = &y->table->schema.location;
    struct key_range ranges[PORT_COUNT(kinds)];
    struct page pages[PORT_COUNT(kinds)];
    size_t left = PORT_COUNT(kinds);
    struct ctx c;
    int code = E_OK;

    ctx_init(&c, y->c->clock, y->c->log, NULL, 0);
    for (size_t i = 0; i < left; i++)
        ranges[i] = row_range(&y->c->arena, p, kinds[i], cols);
    while (left && !code) {
        struct batch_builder builder = {.arena = &c.arena};
        struct scan scan = {.partition = p->id,
                            .view = VIEW_LATEST,
                            .ranges = ranges,
                            .range_count = left,
                            .items_max = PAGE_ITEMS,
                            .bytes_max = PAGE_BYTES,
                            .pages = pages};
        struct write_batch batch = {.partition = y->table->schema.shadow.id};
        size_t kept = 0;

        code = wait_scan(&c, y->db->engine, &scan);
        if (scheduler_stopping(y->db->background))
            code = E_BUSY; /* the row is copied again after the next start */
        for (size_t i = 0; i < left && !code; i++) {
            for (size_t k = 0; k < pages[i].count; k++)
                add_moved(y, &builder, pages[i].items[k].key, pages[i].items[k].value);
            if (!pages[i].more || !pages[i].count)
                continue;
            ranges[kept].end = ranges[i].end;
            ranges[kept++].start = key_after(&y->c->arena, pages[i].items[pages[i].count - 1].key);
        }
        left = kept;
        batch.edits = builder.items;
        batch.edit_count = builder.count;
        if (!code && builder.count)
            code = wait_apply(&c, y->db->engine, &batch);
        ctx_release(&c);
        ctx_init(&c, y->c->clock, y->c->log, NULL, 0);
    }
    ctx_release(&c);
    return code;
}

static int copy_row(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                    struct batch_builder *e, bool *alone)
{
    const struct rekey_copy *y = PORT_CONTAINER(v, struct rekey_copy, walk.visitor);

    (void)c;
    *alone = atomic_load(&y->table->has_out_of_line);
    if (!*alone)
        add_moved(y, e, kv->key, kv->value);
    return E_OK;
}

static int copy_row_alone(struct walk_visitor *v, struct ctx *c, const struct kv *kv,
                          struct batch_builder *e)
{
    struct rekey_copy *y = PORT_CONTAINER(v, struct rekey_copy, walk.visitor);
    struct get get = {
        .partition = y->table->schema.location.id, .key = kv->key, .view = VIEW_LATEST};

    TRY(wait_get(c, y->db->engine, &get));
    if (!get.found)
        return E_OK;
    if (atomic_load(&y->table->has_out_of_line))
        TRY(copy_out_of_line(y, bytes_skip(kv->key, KEY_PREFIX_BYTES)));
    add_moved(y, e, kv->key, get.value);
    return E_OK;
}

static int copy_paged(struct row_walk *w)
{
    struct rekey_copy *y = PORT_CONTAINER(w, struct rekey_copy, walk);

    if (fault_hit(FAULT_rekey_page))
        return fail(y->c, E_UNAVAILABLE, "a page is not copied, as WR_FAULT says");
    progress_set(y->r, y->table->schema.shadow.id, w->rows, -1);
    return E_OK;
}

/* ---- phases ---- */

/* One phase follows another: a transaction that is decided by what a copy has seen. */
struct step {
    struct catalog_txn txn;
    const struct rekey_copy *y;
    /* What the switch needs: partitions have bounds in buckets of the old layout, so it makes new
     * ones.
     */
    struct schema_partition *partitions;
    size_t partition_count;
};

/* E_PARAMETER: the table is in another phase by now. */
static int step_run(struct step *step, struct rekey_copy *y, int (*decide)(struct catalog_txn *x))
{
    const struct schema *s = &y->table->schema;
    int code;

    invariant(s->shadow.id && s->rekey != REKEY_NONE);
    step->y = y;
    step->txn = (struct catalog_txn){.db = y->db,
                                     .c = y->c,
                                     .instance = s->instance,
                                     .name = s->d.table,
                                     .id = s->id,
                                     .decide = decide};
    code = catalog_txn_wait(&step->txn);
    catalog_txn_release(&step->txn);
    return code;
}

static int step_check(const struct step *step)
{
    const struct schema *seen = &step->y->table->schema, *s = &step->txn.now->schema;

    return s->rekey == seen->rekey && s->shadow.id == seen->shadow.id
               ? E_OK
               : fail(step->txn.c, E_PARAMETER, "it was cancelled or ended meanwhile");
}

static int decide_switch(struct catalog_txn *x)
{
    const struct step *step = PORT_CONTAINER(x, struct step, txn);
    struct schema s = catalog_txn_draft(x);

    TRY(step_check(step));
    s.location = x->now->schema.shadow;
    s.shadow = x->now->schema.location;
    schema_rekey(&s, REKEY_SWITCHED);
    TRY(schema_partitions_set(x->c, &s, step->partitions, step->partition_count));
    batch_add(&x->builder, EDIT_DELETE, catalog_rekey_key(x->builder.arena, s.id), BYTES_NONE);
    return catalog_txn_put(x, &s);
}

/* As many partitions as there were, of about the same size, so that a table that had spread over
 * many does not begin anew with a few. */
static int switch_locations(struct rekey_copy *y)
{
    const struct table *t = y->table;
    struct step step;
    size_t count = t->partitions.count;

    if (count > SCHEMA_FIRST_PARTITIONS_MAX)
        count = SCHEMA_FIRST_PARTITIONS_MAX;
    TRY(split_key_spread(y->c, y->db, &t->schema.shadow, count, &step.partitions,
                         &step.partition_count));
    (void)fault_hit(FAULT_rekey_before_switch);
    TRY(step_run(&step, y, decide_switch));
    (void)fault_hit(FAULT_rekey_after_switch);
    return E_OK;
}

static int rekey_decide_end(struct catalog_txn *x)
{
    struct schema s = catalog_txn_draft(x);

    TRY(step_check(PORT_CONTAINER(x, struct step, txn)));
    catalog_drop_edit(&x->builder, s.shadow.id, db_clock_ms(x->db));
    batch_add(&x->builder, EDIT_DELETE, catalog_rekey_key(x->builder.arena, s.id), BYTES_NONE);
    s.shadow = (struct location){.id = 0};
    schema_rekey(&s, REKEY_NONE);
    return catalog_txn_put(x, &s);
}

/* *ended: all rows are copied. */
static int copy_slice(struct rekey_copy *y, bool *ended)
{
    const struct schema *s = &y->table->schema;

    y->walk = (struct row_walk){.visitor = {.db = y->db,
                                            .table = y->table,
                                            .to = s->shadow.id,
                                            .visit = copy_row,
                                            .visit_alone = copy_row_alone},
                                .c = y->c,
                                .step = y->step,
                                .record = catalog_rekey_key(&y->c->arena, s->id),
                                .id = s->shadow.id,
                                .paged = copy_paged};
    TRY(row_walk_slice(&y->walk, ended));
    progress_set(y->r, s->shadow.id, y->walk.rows, y->step->percent);
    return E_OK;
}

static int copy_or_switch(struct rekey_copy *y)
{
    bool ended = false;

    (void)fault_hit(FAULT_rekey_begin);
    TRY(copy_slice(y, &ended));
    return ended ? switch_locations(y) : E_OK;
}

/* What is next for this table. */
static int rekey_slice(struct table_slicing *slicing, struct ctx *c, struct table *t,
                       struct task_step *task_step)
{
    struct rekeyer *r = PORT_CONTAINER(slicing, struct rekeyer, slicing);
    struct rekey_copy y = {.r = r, .db = slicing->db, .c = c, .table = t, .step = task_step};
    struct step step;

    if (!catalog_reconciled(y.db->catalog, t))
        return E_BUSY;
    if (t->schema.rekey == REKEY_COPYING)
        return copy_or_switch(&y);
    TRY(step_run(&step, &y, rekey_decide_end));
    (void)fault_hit(FAULT_rekey_end);
    log_info(&y.db->log, "rekey: table '%.*s' of '%.*s' has the layout %.*s%s",
             BYTES_FMT(t->schema.d.table), BYTES_FMT(t->schema.instance),
             BYTES_FMT(layout_format(&c->arena, &t->schema.location.layout, t->schema.d.key)),
             t->schema.rekey == REKEY_CANCELLING ? " still" : " now");
    return E_OK;
}

static bool wants_rekey_slice(const struct table *t)
{
    return t->schema.rekey != REKEY_NONE;
}

static bytes about_rekey(struct arena *a, const struct table *t)
{
    return arena_printf(a, "table '%.*s'", BYTES_FMT(t->schema.d.table));
}

static int rekey_step(void *arg, struct task_step *step)
{
    struct rekeyer *r = arg;

    return table_slices(&r->slicing, step);
}

struct rekeyer *rekeyer_start(struct wr_db *db)
{
    struct rekeyer *r = mem_zalloc(sizeof(*r));
    struct task_spec spec = {.name = "rekey",
                             .thread = TASK_LONG,
                             .priority = PRIORITY_REKEY,
                             .run = rekey_step,
                             .retry_us_max = RETRY_US_MAX, /* the other tables wait, too */
                             .arg = r};

    r->slicing = (struct table_slicing){.db = db,
                                        .log_as = "rekey",
                                        .idle_us = IDLE_US,
                                        .retry_us = RETRY_US,
                                        .wants = wants_rekey_slice,
                                        .run = rekey_slice,
                                        .about = about_rekey};
    pthread_mutex_init(&r->lock, NULL);
    r->task = scheduler_add(db->background, &spec);
    if (r->task)
        return r;
    rekeyer_free(r);
    return NULL;
}

void rekeyer_free(struct rekeyer *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

/* ---- requests ---- */

static bytes rekey_text_of(struct call *call, const struct schema *s, const struct layout *l)
{
    return layout_format(&call->c.arena, l, s->d.key);
}

int rekey_check_start(struct call *call, const struct schema *s, struct layout *out)
{
    struct ctx *c = &call->c;
    bytes now = rekey_text_of(call, s, &s->location.layout);

    if (!engine_one_key_space(call->db->engine))
        return fail(c, E_UNSUPPORTED, "This engine can't rekey a table.");
    if (s->rekey == REKEY_COPYING)
        return fail(c, E_PARAMETER,
                    "The table is being rekeyed to %.*s. Wait for the end, or cancel it.",
                    BYTES_FMT(rekey_text_of(call, s, &s->shadow.layout)));
    if (s->rekey != REKEY_NONE)
        return fail(c, E_PARAMETER,
                    "The table is at the end of a rekeying. Try again in a few seconds.");
    TRY(layout_parse(c, call->req->rekey_table.layout, s->d.key, s->d.key_count, out));
    if (bytes_equal(now, rekey_text_of(call, s, out)))
        return fail(c, E_PARAMETER, "The table has the key layout %.*s already.", BYTES_FMT(now));
    return E_OK;
}

int rekey_check_cancel(struct call *call, const struct schema *s)
{
    struct ctx *c = &call->c;

    if (call->req->rekey_table.action != WR_REKEY_CANCEL)
        return fail(c, E_PARAMETER, "Unknown action of RekeyTable.");
    if (s->rekey == REKEY_SWITCHED)
        return fail(c, E_PARAMETER,
                    "The table has switched to %.*s already; it is too late to cancel.",
                    BYTES_FMT(rekey_text_of(call, s, &s->location.layout)));
    if (s->rekey != REKEY_COPYING)
        return fail(c, E_PARAMETER, "The table is not being rekeyed.");
    return E_OK;
}

void rekey_describe(struct call *call, const struct schema *s)
{
    struct rekeyer *r = call->db->rekeyer;
    struct wr_rekey_result *out = &call->reply.rekey;

    *out = (struct wr_rekey_result){.layout = rekey_text_of(call, s, &s->location.layout)};
    if (s->rekey == REKEY_COPYING)
        out->target = rekey_text_of(call, s, &s->shadow.layout);
    pthread_mutex_lock(&r->lock);
    if (out->target.ptr && r->shadow_id == s->shadow.id) {
        out->rows = (int64_t)r->rows;
        out->percent = r->percent;
    }
    pthread_mutex_unlock(&r->lock);
    task_wake(r->task);
}
