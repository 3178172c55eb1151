/* index_drain.c
 *
 * The order in which things are read is the point of it (settle.h): the fences of all partitions
 * that a record's keys lie in, then the record, then the keys. Fences that were read for one record
 * serve the others, until a guard fails. Where one had to be read for a record, the record is read
 * again behind it.
 *
 * Everything is read as it is durable. Of a batch under way it is not known whether it lands: a
 * record that comes to nothing would bring entries that no row has, and a key that seems settled by
 * it would not be written by anybody.
 *
 * Many records are drained together, step by step, so that their keys cost few operations: all
 * records are read, then all of their keys, and what settles them is sent at once, a batch for each
 * record and partition of an index. A record of which one comes to nothing goes into the next
 * round, where all is read anew. */
#include "table/maint/index_drain.h"

#include "base/fault.h"
#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/db.h"
#include "table/index/settle.h"
#include "table/maint/drain_fence.h"
#include "table/maint/drain_io.h"
#include "table/sync/wait.h"

#define PAGE_RECORDS 256
#define PAGE_BYTES (1u << 20)
#define ROUNDS_MAX 8

enum step {
    STEP_READ,    /* to be read */
    STEP_KNOWN,   /* as it is stored, with all its fences known from before it was read */
    STEP_SETTLED, /* its entries are where they belong */
    STEP_UNMARK,  /* and so is what it says; its marks are to go */
    STEP_ENDED
};

struct drain_record {
    struct drain_key *out;
    enum step step;
    bytes stored;
    struct outbox outbox;
};

/* Of a record, a key of an index where something is to be done. */
struct drain_entry {
    size_t record;
    const struct table *index;
    const struct outbox_index *x;
    bytes cols, value; /* value empty: no entry belongs there */
    struct known_fence at;
};

/* One call; all of it lives in a context of its own. */
struct drain {
    struct ctx *c;
    struct table *table;
    struct table *
        *indexes; /* the indexes' own tables, as in the base's schema; NULL: not looked up */
    uint64_t due;
    struct known_fences fences;
    struct drain_record *records;
    size_t count;
    struct drain_entry *entries;
    size_t entry_count;
};

/* ---- indexes ---- */

/* Is the description of the base table that we have the newest one? One that is read behind a
 * record lists every index that the record can name, unless it was dropped: ids are used once. */
static int check_description(struct drain *d)
{
    const struct table *t = d->table;
    struct get g = {.partition = PARTITION_SYSTEM,
                    .key = catalog_table_key(&d->c->arena, t->schema.instance, t->schema.d.table),
                    .view = VIEW_DURABLE};

    TRY(wait_get(d->c, t->db->engine, &g));
    return g.found && bytes_equal(g.value, t->stored) ? E_OK : fail_code(d->c, E_BUSY);
}

/* The table of the index with that id; NULL: it is no index of the table any more. E_BUSY: it is
 * not known which. */
static int index_table(struct drain *d, uint32_t id, struct table **out)
{
    const struct schema *s = &d->table->schema;
    size_t i = 0;

    *out = NULL;
    while (i < s->index_count && s->indexes[i].id != id)
        i++;
    if (i == s->index_count)
        return check_description(d);
    if (!d->indexes[i])
        d->indexes[i] = catalog_get(d->table->db->catalog, s->instance, s->indexes[i].meta->name);
    if (!d->indexes[i] || d->indexes[i]->schema.id != id)
        return fail_code(d->c, E_BUSY);
    *out = d->indexes[i];
    return E_OK;
}

/* Takes dropped indexes out of a record. */
static int strike_dropped(struct drain *d, struct outbox *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->count; i++) {
        struct table *index;

        TRY(index_table(d, o->indexes[i].id, &index));
        if (index)
            o->indexes[n++] = o->indexes[i];
    }
    o->count = n;
    return E_OK;
}

static bytes entry_key(struct drain *d, const struct table *index, bytes cols)
{
    struct buf key;

    buf_init(&key, &d->c->arena, KEY_PREFIX_BYTES + cols.len);
    layout_put_key(&key, &index->schema.location, KIND_RECORD, cols);
    return buf_bytes(&key);
}

/* ---- entries ---- */

static void add_entry(struct drain *d, struct drain_entry e)
{
    e.at = fence_at(&d->c->arena, e.index, entry_key(d, e.index, e.cols));
    d->entries[d->entry_count++] = e;
}

/* Lists the keys of the record's indexes that are settled, or that are not: those where an entry
 * may be or a mark, and the entry's own last. */
static int list_entries(struct drain *d, size_t record, bool settled)
{
    const struct outbox *o = &d->records[record].outbox;

    for (size_t i = 0; i < o->count; i++) {
        const struct outbox_index *x = &o->indexes[i];
        struct drain_entry e = {.record = record, .x = x};
        struct table *index;

        if (x->settled != settled)
            continue;
        TRY(index_table(d, x->id, &index));
        e.index = index;
        for (size_t j = 0; j < x->other_count; j++) {
            e.cols = x->others[j];
            add_entry(d, e);
        }
        e.cols = x->cols;
        e.value = x->value;
        if (x->there)
            add_entry(d, e);
    }
    return E_OK;
}

static size_t keys_of(const struct outbox *o)
{
    size_t n = 0;

    for (size_t i = 0; i < o->count; i++)
        n += o->indexes[i].other_count + 1;
    return n;
}

/* Of all records at that step. */
static int list_all_entries(struct drain *d, enum step step, bool settled)
{
    size_t room = 0;

    for (size_t i = 0; i < d->count; i++)
        room += keys_of(&d->records[i].outbox);
    d->entries = ARENA_ARRAY(&d->c->arena, struct drain_entry, room);
    d->entry_count = 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->records[i].step == step)
            TRY(list_entries(d, i, settled));
    return E_OK;
}

/* What stands at the keys of all entries. */
static int see_entries(struct drain *d, struct settle_seen **out)
{
    struct drain_read *reads = ARENA_ARRAY(&d->c->arena, struct drain_read, 2 * d->entry_count);
    struct settle_seen *seen = ARENA_ARRAY(&d->c->arena, struct settle_seen, d->entry_count);

    for (size_t i = 0; i < d->entry_count; i++) {
        const struct drain_entry *e = &d->entries[i];

        reads[2 * i] = (struct drain_read){e->index, entry_key(d, e->index, e->cols), BYTES_NONE};
        reads[2 * i + 1] = (struct drain_read){
            e->index, beside_key(&d->c->arena, &e->index->schema.location, e->cols, BESIDE_MARK),
            BYTES_NONE};
    }
    TRY(drain_read_all(d->c, reads, 2 * d->entry_count));
    for (size_t i = 0; i < d->entry_count; i++)
        seen[i] = (struct settle_seen){reads[2 * i].value, reads[2 * i + 1].value};
    *out = seen;
    return E_OK;
}

/* ---- records ---- */

static void record_end(struct drain_record *r, enum drained end)
{
    r->step = STEP_ENDED;
    r->out->end = end;
}

/* Of a record that was just read. A fence that is not known is wanted, and the record read again
 * behind it. */
static int understand(struct drain *d, size_t record)
{
    struct drain_record *r = &d->records[record];
    bool known = true;

    TRY(outbox_decode(d->c, r->stored, &r->outbox));
    TRY(strike_dropped(d, &r->outbox));
    d->entries = ARENA_ARRAY(&d->c->arena, struct drain_entry, keys_of(&r->outbox));
    d->entry_count = 0;
    TRY(list_entries(d, record, false));
    for (size_t i = 0; i < d->entry_count; i++)
        if (!fences_find(&d->fences, &d->entries[i].at)) {
            fences_want(&d->fences, &d->entries[i].at);
            known = false;
        }
    if (known)
        r->step = STEP_KNOWN;
    return E_OK;
}

/* Reads all that are to be read, once. */
static int read_once(struct drain *d)
{
    struct drain_read *reads = ARENA_ARRAY(&d->c->arena, struct drain_read, d->count);
    size_t *of = ARENA_ARRAY(&d->c->arena, size_t, d->count), n = 0;

    for (size_t i = 0; i < d->count; i++)
        if (d->records[i].step == STEP_READ) {
            of[n] = i;
            reads[n++] = (struct drain_read){d->table, d->records[i].out->key, BYTES_NONE};
        }
    TRY(drain_read_all(d->c, reads, n));
    for (size_t i = 0; i < n; i++) {
        struct drain_record *r = &d->records[of[i]];
        int code;

        r->stored = reads[i].value;
        if (!r->stored.ptr) {
            record_end(r, DRAINED_GONE);
            continue;
        }
        code = understand(d, of[i]);
        if (code && code != E_BUSY)
            return code;
        if (code) {
            ctx_clear(d->c);
            record_end(r, DRAINED_NOT);
        }
    }
    return E_OK;
}

static bool any_at(const struct drain *d, enum step step)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->records[i].step == step)
            return true;
    return false;
}

/* Until all are known: a second time behind fences, a third time where a map has changed. */
static int read_records(struct drain *d)
{
    for (int i = 0; i < ROUNDS_MAX && any_at(d, STEP_READ); i++) {
        TRY(read_once(d));
        TRY(fences_read(d->c, &d->fences));
    }
    return E_OK;
}

/* ---- settling ---- */

/* A guard has failed, or a partition was split: the record is read anew. */
static int take_code(struct drain *d, size_t record, int code)
{
    if (!code)
        return E_OK;
    if (code != E_GUARD && code != E_PARTITION && code != E_BUSY)
        return fail(d->c, code, "%s", err_info(code)->text);
    d->records[record].step = STEP_READ;
    fences_forget(&d->fences);
    return E_OK;
}

/* What brings every entry of the records that are known to where it belongs. */
static int settle_batches(struct drain *d, struct drain_batches *out)
{
    struct settle_seen *seen;

    TRY(list_all_entries(d, STEP_KNOWN, false));
    TRY(see_entries(d, &seen));
    for (size_t i = 0; i < d->entry_count; i++) {
        const struct drain_entry *e = &d->entries[i];
        const struct known_fence *known = fences_find(&d->fences, &e->at);
        struct batch_builder *b;
        bool needed;

        if (!known) { /* the map has changed: a fence that is read now would come behind the record
                       */
            d->records[e->record].step = STEP_READ;
            continue;
        }
        b = drain_batch_of(out, e->record, e->at.partition);
        if (!b->guard_count)
            settle_guard_fence(b, &known->fence);
        TRY(settle_key(d->c, b, &e->index->schema.location, e->cols, e->x->stamp, e->value,
                       &seen[i], &needed));
    }
    return E_OK;
}

static int settle_records(struct drain *d)
{
    struct drain_batches batches = {.arena = &d->c->arena};

    TRY(settle_batches(d, &batches));
    drain_apply_all(d->c, d->table->db->engine, &batches);
    if (fault_hit(FAULT_drain_settled))
        return fail(d->c, E_UNAVAILABLE, "settled entries are not noted, as WR_FAULT says");
    for (size_t i = 0; i < d->count; i++)
        if (d->records[i].step == STEP_KNOWN)
            d->records[i].step = STEP_SETTLED;
    for (size_t i = 0; i < batches.count; i++)
        TRY(take_code(d, batches.items[i].owner, batches.items[i].code));
    return E_OK;
}

/* Adds what puts *o in the place of a record, unless that has changed. */
static void replace_record(struct drain *d, struct drain_batches *all, size_t record, bytes value)
{
    const struct drain_record *r = &d->records[record];
    struct batch_builder *b;

    if (bytes_equal(value, r->stored))
        return;
    b = drain_batch_of(all, record, route_find(d->table, r->out->key));
    batch_add_guard(b, (struct guard){.key = r->out->key, .value = r->stored});
    batch_add(b, value.len ? EDIT_PUT : EDIT_DELETE, r->out->key, value);
}

static bool marks_are_due(const struct drain *d, const struct outbox *o)
{
    return o->count && (outbox_stamp(o) < d->due || outbox_is_half_full(o));
}

/* Records whose entries are settled and durable say so from now on, or go. */
static int note_settled(struct drain *d)
{
    struct drain_batches batches = {.arena = &d->c->arena};
    bytes *values = ARENA_ARRAY(&d->c->arena, bytes, d->count);

    for (size_t i = 0; i < d->count; i++) {
        struct drain_record *r = &d->records[i];

        if (r->step != STEP_SETTLED)
            continue;
        outbox_settle(&r->outbox);
        values[i] = r->outbox.count ? outbox_encode(&d->c->arena, &r->outbox) : BYTES_NONE;
        replace_record(d, &batches, i, values[i]);
    }
    drain_apply_all(d->c, d->table->db->engine, &batches);
    for (size_t i = 0; i < batches.count; i++)
        TRY(take_code(d, batches.items[i].owner, batches.items[i].code));
    for (size_t i = 0; i < d->count; i++) {
        struct drain_record *r = &d->records[i];

        if (r->step != STEP_SETTLED)
            continue;
        r->stored = values[i];
        if (marks_are_due(d, &r->outbox))
            r->step = STEP_UNMARK;
        else
            record_end(r, r->outbox.count ? DRAINED_SETTLED : DRAINED_GONE);
    }
    return E_OK;
}

/* ---- marks ---- */

/* Their fences, as they are now. They are read behind the records, and may be: each only guards
 * itself here. */
static int read_fences_anew(struct drain *d)
{
    fences_forget(&d->fences);
    for (size_t i = 0; i < d->entry_count; i++)
        fences_want(&d->fences, &d->entries[i].at);
    return fences_read(d->c, &d->fences);
}

/* The marks of all records that lie in one partition go in one batch, with a new fence. */
static int unmark_batches(struct drain *d, struct drain_batches *out)
{
    struct settle_seen *seen;

    TRY(see_entries(d, &seen));
    for (size_t i = 0; i < d->entry_count; i++) {
        const struct drain_entry *e = &d->entries[i];
        struct batch_builder *b = drain_batch_of(out, 0, e->at.partition);
        bool first = !b->count;

        TRY(settle_unmark(d->c, b, &e->index->schema.location, e->cols, e->x->stamp, seen[i].mark));
        if (first && b->count)
            TRY(settle_move_fence(d->c, b, &fences_find(&d->fences, &e->at)->fence));
    }
    return E_OK;
}

/* Records whose marks could not all be removed stay; the next walk finds them. */
static void keep_marked(struct drain *d, const struct drain_batches *batches)
{
    for (size_t i = 0; i < d->entry_count; i++)
        for (size_t j = 0; j < batches->count; j++)
            if (batches->items[j].partition == d->entries[i].at.partition && batches->items[j].code)
                record_end(&d->records[d->entries[i].record], DRAINED_SETTLED);
}

static void remove_records(struct drain *d)
{
    struct drain_batches batches = {.arena = &d->c->arena};

    for (size_t i = 0; i < d->count; i++)
        if (d->records[i].step == STEP_UNMARK)
            replace_record(d, &batches, i, BYTES_NONE);
    drain_apply_all(d->c, d->table->db->engine, &batches);
    for (size_t i = 0; i < batches.count; i++) /* what was written meanwhile is drained by others */
        record_end(&d->records[batches.items[i].owner],
                   batches.items[i].code ? DRAINED_NOT : DRAINED_GONE);
}

static int remove_marks(struct drain *d)
{
    struct drain_batches batches = {.arena = &d->c->arena};

    if (!any_at(d, STEP_UNMARK))
        return E_OK;
    TRY(list_all_entries(d, STEP_UNMARK, true));
    TRY(read_fences_anew(d));
    TRY(unmark_batches(d, &batches));
    fences_forget(&d->fences);
    if (fault_hit(FAULT_drain_noted))
        return fail(d->c, E_UNAVAILABLE, "marks stay, as WR_FAULT says");
    drain_apply_all(d->c, d->table->db->engine, &batches);
    if (fault_hit(FAULT_drain_unmarked))
        return fail(d->c, E_UNAVAILABLE, "records stay without their marks, as WR_FAULT says");
    keep_marked(d, &batches);
    remove_records(d);
    return E_OK;
}

/* ---- a call ---- */

static int drain_round(struct drain *d)
{
    TRY(read_records(d));
    if (any_at(d, STEP_KNOWN))
        TRY(settle_records(d));
    return note_settled(d);
}

static int drain_rounds(struct drain *d)
{
    if (fault_hit(FAULT_drain_begin))
        return fail(d->c, E_UNAVAILABLE, "records are not drained, as WR_FAULT says");
    for (int i = 0; i < ROUNDS_MAX && any_at(d, STEP_READ); i++)
        TRY(drain_round(d));
    return remove_marks(d);
}

int index_drain_keys(struct ctx *own, struct table *t, struct drain_key *keys, size_t count,
                     uint64_t due)
{
    size_t index_count = t->schema.index_count;
    struct drain d = {.table = t, .due = due, .count = count};
    struct ctx c;
    int code;

    ctx_init(&c, own->clock, own->log, NULL, 0);
    d.c = &c;
    d.fences.arena = &c.arena;
    d.indexes = ARENA_ARRAY(&c.arena, struct table *, index_count);
    memset(d.indexes, 0, index_count * sizeof(struct table *));
    d.records = ARENA_ARRAY(&c.arena, struct drain_record, count);
    for (size_t i = 0; i < count; i++) {
        keys[i].end = DRAINED_NOT;
        d.records[i] = (struct drain_record){.out = &keys[i]};
    }
    code = drain_rounds(&d);
    for (size_t i = 0; i < index_count; i++)
        if (d.indexes[i])
            table_release(d.indexes[i]);
    if (code)
        fail(own, code, "%s", c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}

/* ---- a page ---- */

/* A bound of the bucket that the walk is in. */
static bytes drain_bound(const struct index_drain *w, struct ctx *c, bytes cols, int kind)
{
    struct buf b;

    buf_init(&b, &c->arena, KEY_PREFIX_BYTES + cols.len);
    key_put_prefix(&b, w->table->schema.location.id, (uint8_t)w->bucket, kind);
    buf_put_bytes(&b, cols);
    return buf_bytes(&b);
}

/* Is there something to do for a record as it was found? What does not look like one is read. */
static bool drain_wants(const struct index_drain *w, struct ctx *c, const struct kv *kv)
{
    struct outbox o;
    bool settled = true;

    if (!beside_is(&w->table->schema.location, kv->key, BESIDE_OUTBOX))
        return false;
    if (w->due || outbox_decode(c, kv->value, &o)) {
        ctx_clear(c);
        return true;
    }
    for (size_t i = 0; i < o.count; i++)
        settled &= o.indexes[i].settled;
    return !settled || outbox_is_half_full(&o);
}

static int drain_scan(const struct index_drain *w, struct ctx *c, struct page *page)
{
    struct key_range range = {drain_bound(w, c, w->from, KIND_CHANGE),
                              drain_bound(w, c, w->to, KIND_CHANGE + (w->to.len == 0))};
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &range,
                        .range_count = 1,
                        .items_max = PAGE_RECORDS,
                        .bytes_max = PAGE_BYTES,
                        .pages = page};

    if (w->after.ptr)
        range.start = key_after(&c->arena, w->after);
    return route_scan_now(c, w->table, &scan);
}

static int drain_items(struct index_drain *w, struct ctx *c, const struct page *page)
{
    struct drain_key *keys = ARENA_ARRAY(&c->arena, struct drain_key, page->count);
    size_t n = 0;

    for (size_t i = 0; i < page->count; i++)
        if (drain_wants(w, c, &page->items[i]))
            keys[n++].key = page->items[i].key;
    TRY(index_drain_keys(c, w->table, keys, n, w->due));
    for (size_t i = 0; i < n; i++) {
        w->left += keys[i].end != DRAINED_GONE;
        w->unsettled += keys[i].end == DRAINED_NOT;
    }
    return E_OK;
}

static void drain_go_on(struct index_drain *w, const struct page *page)
{
    if (page->more) {
        w->after = arena_copy(&w->c->arena, page->items[page->count - 1].key);
        return;
    }
    w->after = BYTES_NONE;
    w->bucket++;
    w->ended = w->bucket >= w->table->schema.location.layout.buckets;
}

int index_drain_page(struct index_drain *w)
{
    struct page page = {0};
    struct ctx c;
    int code;

    ctx_init(&c, w->c->clock, w->c->log, NULL, 0);
    code = drain_scan(w, &c, &page);
    if (!code)
        code = drain_items(w, &c, &page);
    if (!code)
        drain_go_on(w, &page);
    else
        fail(w->c, code, "%s", c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}
