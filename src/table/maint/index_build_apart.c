/* index_build_apart.c
 *
 * Who may still go by a description without the index, or with one that is coming, is asked of all
 * servers. One that is silent for longer than its lease lasts, and than what it had begun, has
 * nothing under way any more (ENGINE_PUBLISH_MS). Whoever has said that he does is waited for so
 * long again.
 *
 * A row whose outbox record names the index already was changed since the index came. If what it
 * says is not that the entry is where it belongs, all is settled and the marks go first: a mark may
 * stand where the entry belongs, as late as the row itself, from a change while the index was
 * coming. */
#include "table/maint/index_build_apart.h"

#include "base/fault.h"
#include "base/log.h"
#include "table/catalog/catalog_index.h"
#include "table/catalog/route.h"
#include "table/index/entry.h"
#include "table/index/outbox.h"
#include "table/maint/drain_io.h"
#include "table/maint/index_drain.h"
#include "table/row/load.h"
#include "table/sync/wait.h"

#define BUILDS_MAX 64        /* that are remembered; others are asked for again */
#define SILENT_MS 20000      /* more than ENGINE_PUBLISH_MS */
#define HOLDER_DEAD_MS 10000 /* without a beat */
#define PAGE_ROWS 256
#define PAGE_BYTES (1u << 20)
#define SLICE_MS 200
#define TRIES_MAX 16
#define PROGRESS_VERSION 2 /* 1 is row_walk.c's */
#define PROGRESS_BYTES 29  /* version, base id, rows, holder, beat; the position follows */

struct known_build {
    uint32_t id; /* of the index; 0: a free place */
    enum index_phase phase;
    bool told;        /* every server is at that phase */
    int64_t since_ms; /* monotonic: nobody has said since then that he is not */
    uint64_t holder, beat;
    int64_t beat_ms; /* when that beat was first seen */
};

struct builds_apart {
    struct wr_db *db;
    uint64_t self; /* no process has the same */
    struct known_build known[BUILDS_MAX];
    size_t next; /* the place that is used again */
};

struct builds_apart *builds_apart_new(struct wr_db *db)
{
    struct builds_apart *all = mem_zalloc(sizeof(*all));

    all->db = db;
    return all;
}

void builds_apart_free(struct builds_apart *all)
{
    mem_free(all);
}

static struct known_build *known_build(struct builds_apart *all, const struct index *index)
{
    struct known_build *k;

    for (size_t i = 0; i < BUILDS_MAX; i++)
        if (all->known[i].id == index->id && all->known[i].phase == index->phase)
            return &all->known[i];
    k = &all->known[all->next++ % BUILDS_MAX];
    *k = (struct known_build){
        .id = index->id, .phase = index->phase, .since_ms = clock_mono_ms(&all->db->clock)};
    return k;
}

/* ---- does everybody know? ---- */

static bool all_here(struct wr_db *db, const struct table *t, uint32_t id, enum index_phase phase)
{
    return phase == INDEX_COMING ? catalog_keeps_index(db->catalog, t, id)
                                 : catalog_fills_index(db->catalog, t, id);
}

/* The question: the index's id and its phase. The answer: 1 or 0. */
void index_answer(struct ctx *c, struct wr_db *db, struct table *t, struct reader *in,
                  struct buf *out)
{
    uint64_t id = read_varint(in);
    enum index_phase phase = read_u8(in);

    (void)c;
    buf_put_u8(out, !in->bad && all_here(db, t, (uint32_t)id, phase));
}

/* E_BUSY: not yet. */
static int everybody_knows(struct builds_apart *all, struct ctx *c, struct table *t,
                           const struct index *index, struct known_build *k)
{
    struct peers_query query = {.question = PEERS_INDEX, .db = all->db, .table = t, .a = &c->arena};
    bool patient = clock_mono_ms(&all->db->clock) - k->since_ms < SILENT_MS;
    struct buf more;

    if (k->told)
        return E_OK;
    if (!all_here(all->db, t, index->id, index->phase))
        return E_BUSY;
    buf_init(&more, &c->arena, 16);
    buf_put_varint(&more, index->id);
    buf_put_u8(&more, (uint8_t)index->phase);
    query.more = buf_bytes(&more);
    peers_query_now(&query);
    for (size_t i = 0; i < query.count; i++)
        if (query.answers[i].len != 1 || *bytes_u8(query.answers[i]) != 1) {
            k->since_ms = clock_mono_ms(&all->db->clock);
            return E_BUSY;
        }
    if (patient && (!query.sent || query.silent))
        return E_BUSY;
    k->told = true;
    return E_OK;
}

/* ---- whose turn it is ---- */

/* One slice. */
struct build_apart {
    struct builds_apart *all;
    struct wr_db *db;
    struct ctx *c;
    struct table *table;
    const struct index *index;
    struct known_build *known;
    struct task_step *step;
    bytes record;   /* the key of the progress */
    bytes stored;   /* as it was read; ptr NULL: there is none */
    bytes position; /* the last row record that was visited; empty: none */
    uint64_t rows, beat;
};

static int progress_read(struct build_apart *b, uint64_t *holder)
{
    struct get g = {.partition = PARTITION_SYSTEM, .key = b->record, .view = VIEW_DURABLE};
    struct reader r;

    TRY(wait_get(b->c, b->db->engine, &g));
    *holder = 0;
    b->stored = g.found ? arena_copy(&b->c->arena, g.value) : BYTES_NONE;
    if (b->stored.len < PROGRESS_BYTES)
        return E_OK;
    r = reader_of(b->stored);
    if (read_u8(&r) != PROGRESS_VERSION || read_u32(&r) != b->table->schema.location.id)
        return E_OK;
    b->rows = read_u64(&r);
    *holder = read_u64(&r);
    b->beat = read_u64(&r);
    b->position = read_bytes(&r, reader_left(&r));
    return E_OK;
}

/* Puts the progress, as ours, in the place of what was read, if the table is as it was: the index
 * may be gone, and then nobody would remove the record. E_BUSY: somebody else was faster. */
static int progress_write(struct build_apart *b)
{
    const struct schema *s = &b->table->schema;
    struct guard guards[] = {
        {catalog_table_key(&b->c->arena, s->instance, s->d.table), b->table->stored, false},
        {b->record, b->stored, !b->stored.ptr}};
    struct edit edit = {.type = EDIT_PUT, .key = b->record};
    struct write_batch batch = {.partition = PARTITION_SYSTEM,
                                .guards = guards,
                                .guard_count = 2,
                                .edits = &edit,
                                .edit_count = 1};
    struct buf v;
    int code;

    buf_init(&v, &b->c->arena, PROGRESS_BYTES + b->position.len);
    buf_put_u8(&v, PROGRESS_VERSION);
    buf_put_u32(&v, s->location.id);
    buf_put_u64(&v, b->rows);
    buf_put_u64(&v, b->all->self);
    buf_put_u64(&v, ++b->beat);
    buf_put_bytes(&v, b->position);
    edit.value = buf_bytes(&v);
    code = wait_apply(b->c, b->db->engine, &batch);
    if (code == E_GUARD)
        return fail_code(b->c, E_BUSY);
    if (!code)
        b->stored = edit.value;
    return code;
}

/* E_BUSY: another server builds it, as far as its beats tell. */
static int take_turn(struct build_apart *b)
{
    struct known_build *k = b->known;
    int64_t now_ms = clock_mono_ms(&b->db->clock);
    uint64_t holder;

    if (!b->all->self)
        b->all->self = catalog_next_number(b->db->catalog);
    TRY(progress_read(b, &holder));
    if (!holder || holder == b->all->self)
        return progress_write(b);
    if (k->holder != holder || k->beat != b->beat) {
        k->holder = holder;
        k->beat = b->beat;
        k->beat_ms = now_ms;
    }
    return now_ms - k->beat_ms < HOLDER_DEAD_MS ? E_BUSY : progress_write(b);
}

/* ---- rows ---- */

/* What a page of rows comes to. */
struct build_page {
    struct build_apart *b;
    struct ctx *c;
    struct drain_batches batches;
    struct kv *rows;
    size_t count;
    struct drain_key *keys; /* outbox records that are to be drained */
    size_t key_count;
};

static void page_add_key(struct build_page *p, bytes key)
{
    p->keys[p->key_count++] = (struct drain_key){.key = key};
}

static bytes outbox_key(struct build_page *p, bytes cols)
{
    return beside_key(&p->c->arena, &p->b->table->schema.location, cols, BESIDE_OUTBOX);
}

static struct index_entry build_entry(struct build_page *p, bytes cols, const struct row *row)
{
    return entry_of(&p->c->arena, &p->b->table->schema, p->b->index, cols, row);
}

/* Adds the row's outbox record, *o with the entry: the batch is guarded by the row and the record
 * as they were read. False: the record has no room for it. */
static bool add_outbox(struct build_page *p, struct batch_builder *e, const struct guard *row,
                       bytes cols, bytes stored, struct outbox *o, const struct index_entry *entry)
{
    struct index_entry none = {.there = false};
    bytes key = outbox_key(p, cols);

    if (!outbox_has_room(o, 1) ||
        !outbox_merge(&p->c->arena, o, p->b->index->id, entry->row.stamp, &none, entry))
        return false;
    batch_add_guard(e, *row);
    batch_add_guard(e, (struct guard){key, stored, !stored.ptr});
    batch_add(e, EDIT_PUT, key, outbox_encode(&p->c->arena, o));
    return true;
}

static const struct outbox_index *names_index(const struct outbox *o, uint32_t id)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->indexes[i].id == id)
            return &o->indexes[i];
    return NULL;
}

/* Its marks go, and with them the record. */
static int drain_wholly(struct build_page *p, bytes cols)
{
    struct drain_key key = {.key = outbox_key(p, cols)};

    return index_drain_keys(p->c, p->b->table, &key, 1, UINT64_MAX);
}

/* *done: nothing is left to do, or the record says it. Else the row is looked at again. */
static int try_alone(struct build_page *p, bytes cols, bool *done)
{
    struct build_apart *b = p->b;
    struct load load = {.c = p->c,
                        .table = b->table,
                        .cols = cols,
                        .view = VIEW_LATEST,
                        .with_outbox = true,
                        .columns = b->index->columns,
                        .column_count = b->index->column_count};
    struct batch_builder e = {.arena = &p->c->arena};
    struct outbox o = {.count = 0};
    const struct outbox_index *x;
    struct index_entry entry;
    struct write_batch batch;
    struct guard row;

    TRY(wait_load(&load));
    entry = build_entry(p, cols, &load.row);
    if (load.outbox.ptr)
        TRY(outbox_decode(p->c, load.outbox, &o));
    x = names_index(&o, b->index->id);
    /* One that brings this entry is of a change since the index is being built, or of this build.
     */
    *done = (!x && !entry.there) ||
            (x && x->there == entry.there && (!x->there || bytes_equal(x->cols, entry.cols)));
    if (*done)
        return E_OK;
    row = (struct guard){load.get.key, load.get.value, !load.get.found};
    if (x || !add_outbox(p, &e, &row, cols, load.outbox, &o, &entry))
        return drain_wholly(p, cols);
    batch = (struct write_batch){
        .guards = e.guards, .guard_count = e.guard_count, .edits = e.items, .edit_count = e.count};
    TRY(route_apply_now(p->c, b->table, &batch));
    *done = true;
    return E_OK;
}

/* A row that is wide, or that changes. */
static int build_alone(struct build_page *p, bytes cols)
{
    bool done = false;

    for (int i = 0; i < TRIES_MAX && !done; i++) {
        int code = try_alone(p, cols, &done);

        if (code && code != E_GUARD && code != E_PARTITION && code != E_BUSY)
            return code;
        ctx_clear(p->c);
    }
    page_add_key(p, outbox_key(p, cols));
    return done ? E_OK : fail_code(p->c, E_BUSY);
}

/* Adds the batch of a row that lies in one piece. *left: it does not. */
static int add_row(struct build_page *p, size_t i, bool *left)
{
    const struct kv *kv = &p->rows[i];
    bytes cols = bytes_skip(kv->key, KEY_PREFIX_BYTES);
    struct guard guard = {kv->key, kv->value, false};
    struct row row = {.there = false};
    struct outbox o = {.count = 0};
    struct index_entry entry;

    TRY(row_decode(p->c, kv->value, &row));
    *left = row.wide;
    if (row.wide)
        return E_OK;
    entry = build_entry(p, cols, &row);
    if (!entry.there)
        return E_OK;
    (void)add_outbox(p, drain_batch_of(&p->batches, i, route_find(p->b->table, kv->key)), &guard,
                     cols, BYTES_NONE, &o, &entry);
    return E_OK;
}

/* All that is left, side by side, as the rows were read and where they have no record yet. */
static int build_together(struct build_page *p, bool *left)
{
    p->batches = (struct drain_batches){.arena = &p->c->arena};
    for (size_t i = 0; i < p->count; i++)
        if (left[i])
            TRY(add_row(p, i, &left[i]));
    drain_apply_all(p->c, p->b->db->engine, &p->batches);
    for (size_t i = 0; i < p->batches.count; i++) {
        const struct drain_batch *d = &p->batches.items[i];

        if (d->code && d->code != E_GUARD && d->code != E_PARTITION && d->code != E_BUSY)
            return fail(p->c, d->code, "%s", err_info(d->code)->text);
        if (d->code)
            left[d->owner] = true;
        else
            page_add_key(p, outbox_key(p, bytes_skip(p->rows[d->owner].key, KEY_PREFIX_BYTES)));
    }
    return E_OK;
}

/* The page's rows as they are now; one that is not found stays as it was, and its guard fails. */
static int read_again(struct build_page *p)
{
    struct key_range range = {p->rows[0].key, key_after(&p->c->arena, p->rows[p->count - 1].key)};
    struct page page = {.count = 0};
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = 2 * PAGE_ROWS,
                        .bytes_max = 2 * PAGE_BYTES,
                        .pages = &page};
    size_t at = 0;

    TRY(route_scan_now(p->c, p->b->table, &scan));
    for (size_t i = 0; i < p->count; i++) {
        while (at < page.count && bytes_compare(page.items[at].key, p->rows[i].key) < 0)
            at++;
        if (at < page.count && bytes_equal(page.items[at].key, p->rows[i].key))
            p->rows[i] = page.items[at];
    }
    return E_OK;
}

/* Changes from the time when the index was coming have left records for most rows of a busy table.
 * They are drained side by side, wholly, for one row after the other takes a table's writers' time.
 */
static int drain_left(struct build_page *p, const bool *left)
{
    struct drain_key *keys = ARENA_ARRAY(&p->c->arena, struct drain_key, p->count);
    size_t n = 0;

    for (size_t i = 0; i < p->count; i++)
        if (left[i])
            keys[n++] = (struct drain_key){
                .key = outbox_key(p, bytes_skip(p->rows[i].key, KEY_PREFIX_BYTES))};
    if (!n)
        return E_OK;
    TRY(index_drain_keys(p->c, p->b->table, keys, n, UINT64_MAX));
    return read_again(p);
}

static int build_rows(struct build_page *p)
{
    bool *left = ARENA_ARRAY(&p->c->arena, bool, p->count);

    memset(left, true, p->count * sizeof(*left));
    TRY(build_together(p, left));
    TRY(drain_left(p, left));
    TRY(build_together(p, left));
    for (size_t i = 0; i < p->count; i++)
        if (left[i])
            TRY(build_alone(p, bytes_skip(p->rows[i].key, KEY_PREFIX_BYTES)));
    return E_OK;
}

/* The row records behind the position, of its bucket and then of the next. */
static int read_rows(struct build_apart *b, struct ctx *c, struct page *page)
{
    const struct location *l = &b->table->schema.location;
    size_t bucket = b->position.len > 4 ? bytes_u8(b->position)[4] : 0;
    bytes after = b->position;

    for (; bucket < l->layout.buckets && !page->count; bucket++) {
        struct key_range range = {key_prefix(&c->arena, l->id, (uint8_t)bucket, KIND_RECORD),
                                  key_prefix(&c->arena, l->id, (uint8_t)bucket, KIND_RECORD + 1)};
        struct scan scan = {.view = VIEW_DURABLE,
                            .ranges = &range,
                            .range_count = 1,
                            .items_max = PAGE_ROWS,
                            .bytes_max = PAGE_BYTES,
                            .pages = page};

        if (after.len)
            range.start = key_after(&c->arena, after);
        after = BYTES_NONE;
        TRY(route_scan_now(c, b->table, &scan));
    }
    return E_OK;
}

static int build_page(struct build_apart *b, struct ctx *c, bool *ended)
{
    struct build_page p = {.b = b, .c = c};
    struct page page = {.count = 0};

    TRY(read_rows(b, c, &page));
    *ended = !page.count;
    if (*ended)
        return E_OK;
    p.rows = page.items;
    p.count = page.count;
    p.keys = ARENA_ARRAY(&c->arena, struct drain_key, page.count);
    TRY(build_rows(&p));
    /* So that the drainer is not left behind. What changes all the time is left to it. */
    TRY(index_drain_keys(c, b->table, p.keys, p.key_count, 0));
    b->position = arena_copy(&b->c->arena, page.items[page.count - 1].key);
    b->rows += page.count;
    b->step->bytes += page.bytes;
    return fault_hit(FAULT_index_page)
               ? fail(c, E_UNAVAILABLE, "a page is not indexed, as WR_FAULT says")
               : E_OK;
}

static int build_pages(struct build_apart *b, bool *ended)
{
    int64_t until_ms = clock_mono_ms(&b->db->clock) + SLICE_MS;

    do {
        struct ctx c;
        int code;

        ctx_init(&c, &b->db->clock, &b->db->log, NULL, 0);
        code = build_page(b, &c, ended);
        if (code)
            fail(b->c, code, "%s", c.text ? c.text : err_info(code)->text);
        ctx_release(&c);
        TRY(code);
    } while (!*ended && clock_mono_ms(&b->db->clock) < until_ms &&
             !scheduler_stopping(b->db->background));
    return E_OK;
}

/* ---- a slice ---- */

/* Into the next phase; it is no failure that somebody else was faster, or has dropped it. */
static int build_advance(struct build_apart *b)
{
    int code = catalog_index_advance(b->c, b->table, b->index);

    if (code == E_NOT_EXIST) {
        ctx_clear(b->c);
        return E_OK;
    }
    if (!code && b->index->phase == INDEX_FULL)
        log_info(&b->db->log, "index: '%.*s' of table '%.*s' is complete: %llu rows",
                 BYTES_FMT(b->index->meta->name), BYTES_FMT(b->table->schema.d.table),
                 (unsigned long long)b->rows);
    return code;
}

static int build_on(struct build_apart *b)
{
    bool ended = false;
    int code;

    TRY(take_turn(b));
    (void)fault_hit(FAULT_index_begin);
    code = build_pages(b, &ended);
    if (code || !ended) {
        int noted = progress_write(b);

        return code ? code : noted;
    }
    (void)fault_hit(FAULT_index_before_end);
    code = build_advance(b);
    (void)fault_hit(FAULT_index_end);
    return code;
}

int index_build_apart(struct builds_apart *all, struct ctx *c, struct table *t,
                      const struct index *index, struct task_step *step)
{
    struct build_apart b = {.all = all,
                            .db = all->db,
                            .c = c,
                            .table = t,
                            .index = index,
                            .known = known_build(all, index),
                            .step = step,
                            .record = catalog_rekey_key(&c->arena, index->id)};

    step->percent = -1;
    if (catalog_check(c, all->db->catalog)) {
        ctx_clear(c);
        return E_BUSY;
    }
    TRY(everybody_knows(all, c, t, index, b.known));
    if (index->phase == INDEX_COMING || !index->include_base_data)
        return build_advance(&b);
    return build_on(&b);
}
