/* index_drain.c
 *
 * The order in which things are read is the point of it (settle.h): the fences of all partitions
 * that a record's keys lie in, then the record, then the keys. Fences that were read for one record
 * serve the next ones of the page, until a guard fails. Where one had to be read for a record, the
 * record is read again behind it.
 *
 * Everything is read as it is durable. Of a batch under way it is not known whether it lands: a
 * record that comes to nothing would bring entries that no row has, and a key that seems settled by
 * it would not be written by anybody.
 *
 * A fence and its partition are taken together from the map, and the batch goes to that partition
 * and no other: after a split it fails there, and everything is read anew. */
#include "table/maint/index_drain.h"

#include "table/catalog/catalog.h"
#include "table/catalog/route.h"
#include "table/core/db.h"
#include "table/index/settle.h"
#include "table/sync/wait.h"

#define PAGE_RECORDS 256
#define PAGE_BYTES (1u << 20)
#define TRIES_MAX 8

struct known_fence {
    struct settle_fence fence;
    partition_id partition;
};

/* One page; all of it lives in the page's own context. */
struct drain {
    struct ctx *c;
    struct table *table;
    struct table *
        *indexes; /* the indexes' own tables, as in the base's schema; NULL: not looked up */
    struct known_fence *fences;
    size_t fence_count, fence_room;
    bool fences_read; /* since this was last false */
};

/* ---- what is stored ---- */

static int drain_get(struct drain *d, const struct table *t, bytes key, bytes *out)
{
    struct get g = {.key = key, .view = VIEW_DURABLE};

    TRY(route_get_now(d->c, t, &g));
    *out = g.found ? arena_copy(&d->c->arena, g.value) : BYTES_NONE;
    return E_OK;
}

static struct write_batch batch_of(const struct batch_builder *e, partition_id partition)
{
    return (struct write_batch){.partition = partition,
                                .guards = e->guards,
                                .guard_count = e->guard_count,
                                .edits = e->items,
                                .edit_count = e->count};
}

static int drain_apply(struct drain *d, const struct batch_builder *e, partition_id partition)
{
    struct write_batch b = batch_of(e, partition);

    return e->count ? wait_apply(d->c, d->table->db->engine, &b) : E_OK;
}

static bytes entry_key(struct drain *d, const struct table *index, bytes cols)
{
    struct buf key;

    buf_init(&key, &d->c->arena, KEY_PREFIX_BYTES + cols.len);
    layout_put_key(&key, &index->schema.location, KIND_RECORD, cols);
    return buf_bytes(&key);
}

static int drain_see(struct drain *d, const struct table *index, bytes cols,
                     struct settle_seen *seen)
{
    TRY(drain_get(d, index, entry_key(d, index, cols), &seen->record));
    return drain_get(d, index, beside_key(&d->c->arena, &index->schema.location, cols, BESIDE_MARK),
                     &seen->mark);
}

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

/* ---- fences ---- */

static struct known_fence *find_fence(struct drain *d, const struct known_fence *like)
{
    for (size_t i = 0; i < d->fence_count; i++)
        if (d->fences[i].partition == like->partition &&
            bytes_equal(d->fences[i].fence.key, like->fence.key))
            return &d->fences[i];
    return NULL;
}

static struct known_fence fence_of(struct drain *d, const struct table *index, bytes cols)
{
    struct known_fence f;
    bytes start;

    f.partition = route_bound(&d->c->arena, index, entry_key(d, index, cols), &start);
    f.fence = (struct settle_fence){
        .key = settle_fence_key(&d->c->arena, index->schema.location.id, start)};
    return f;
}

static void forget_fences(struct drain *d)
{
    d->fence_count = 0;
}

static int know_fence(struct drain *d, const struct table *index, bytes cols)
{
    struct known_fence f = fence_of(d, index, cols);

    if (find_fence(d, &f))
        return E_OK;
    d->fences_read = true;
    TRY(drain_get(d, index, f.fence.key, &f.fence.value));
    if (d->fence_count == d->fence_room) {
        size_t room = d->fence_room ? 2 * d->fence_room : 16;
        struct known_fence *list = ARENA_ARRAY(&d->c->arena, struct known_fence, room);

        if (d->fence_count)
            memcpy(list, d->fences, d->fence_count * sizeof(*list));
        d->fences = list;
        d->fence_room = room;
    }
    d->fences[d->fence_count++] = f;
    return E_OK;
}

/* ---- a record ---- */

/* Visits the keys of an index in a record: those where an entry may be, and the entry's own last,
 * with its record. */
typedef int key_visit(struct drain *d, const struct table *index, const struct outbox_index *x,
                      bytes cols, bytes value);

static int each_key(struct drain *d, const struct outbox *o, bool settled, key_visit *visit)
{
    for (size_t i = 0; i < o->count; i++) {
        const struct outbox_index *x = &o->indexes[i];
        struct table *index;

        if (x->settled != settled)
            continue;
        TRY(index_table(d, x->id, &index));
        for (size_t j = 0; j < x->other_count; j++)
            TRY(visit(d, index, x, x->others[j], BYTES_NONE));
        if (x->there)
            TRY(visit(d, index, x, x->cols, x->value));
    }
    return E_OK;
}

static int visit_fence(struct drain *d, const struct table *index, const struct outbox_index *x,
                       bytes cols, bytes value)
{
    (void)x;
    (void)value;
    return know_fence(d, index, cols);
}

static int visit_settle(struct drain *d, const struct table *index, const struct outbox_index *x,
                        bytes cols, bytes value)
{
    struct known_fence f = fence_of(d, index, cols), *known = find_fence(d, &f);
    struct batch_builder e = {.arena = &d->c->arena};
    struct settle_seen seen;
    bool needed;

    if (!known) /* the map has changed: a fence that is read now would come behind the record */
        return fail_code(d->c, E_PARTITION);
    TRY(drain_see(d, index, cols, &seen));
    TRY(settle_key(d->c, &e, &index->schema.location, cols, x->stamp, value, &seen, &needed));
    if (needed)
        settle_guard_fence(&e, &known->fence);
    return drain_apply(d, &e, known->partition);
}

/* Each mark with a new fence, whose old value may be read late: it only guards itself here. */
static int visit_unmark(struct drain *d, const struct table *index, const struct outbox_index *x,
                        bytes cols, bytes value)
{
    struct known_fence f = fence_of(d, index, cols);
    struct batch_builder e = {.arena = &d->c->arena};
    struct settle_seen seen;

    (void)value;
    TRY(drain_get(d, index, f.fence.key, &f.fence.value));
    TRY(drain_see(d, index, cols, &seen));
    TRY(settle_unmark(d->c, &e, &index->schema.location, cols, x->stamp, seen.mark));
    if (!e.count)
        return E_OK;
    forget_fences(d);
    TRY(settle_move_fence(d->c, &e, &f.fence));
    return drain_apply(d, &e, f.partition);
}

/* Puts *o in the place of a record, unless that has changed. */
static int record_replace(struct drain *d, bytes key, bytes stored, const struct outbox *o)
{
    struct batch_builder e = {.arena = &d->c->arena};
    bytes value = o->count ? outbox_encode(e.arena, o) : BYTES_NONE;
    struct write_batch b;

    if (bytes_equal(value, stored))
        return E_OK;
    batch_add_guard(&e, (struct guard){.key = key, .value = stored});
    batch_add(&e, o->count ? EDIT_PUT : EDIT_DELETE, key, value);
    b = batch_of(&e, 0);
    return route_apply_now(d->c, d->table, &b);
}

/* The record as it is stored, with all fences known that were read before it. *stored.ptr NULL: it
 * is gone. */
static int record_read(struct drain *d, bytes key, bytes *stored, struct outbox *o)
{
    do {
        d->fences_read = false;
        TRY(drain_get(d, d->table, key, stored));
        if (!stored->ptr)
            return E_OK;
        TRY(outbox_decode(d->c, *stored, o));
        TRY(strike_dropped(d, o));
        TRY(each_key(d, o, false, visit_fence));
    } while (d->fences_read);
    return E_OK;
}

/* E_GUARD, E_PARTITION: something has moved meanwhile. *left: a record remains. */
static int record_try(struct drain *d, bytes key, uint64_t due, bool *left)
{
    struct outbox o;
    bytes stored;

    *left = false;
    TRY(record_read(d, key, &stored, &o));
    if (!stored.ptr)
        return E_OK;
    TRY(each_key(d, &o, false, visit_settle));
    outbox_settle(&o);
    if (o.count && (outbox_stamp(&o) < due || outbox_is_half_full(&o))) {
        TRY(record_replace(d, key, stored, &o)); /* first: marks go of settled records alone */
        stored = outbox_encode(&d->c->arena, &o);
        TRY(each_key(d, &o, true, visit_unmark));
        o.count = 0;
    }
    *left = o.count != 0;
    return record_replace(d, key, stored, &o);
}

static int record_drain(struct drain *d, bytes key, uint64_t due, bool *left)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        int code = record_try(d, key, due, left);

        if (code != E_GUARD && code != E_PARTITION)
            return code;
        ctx_clear(d->c);
        forget_fences(d);
    }
    return fail_code(d->c, E_BUSY);
}

/* ---- a page ---- */

static int drain_scan(const struct index_drain *w, struct ctx *c, struct page *page)
{
    uint32_t id = w->table->schema.location.id;
    struct key_range range = {key_prefix(&c->arena, id, (uint8_t)w->bucket, KIND_CHANGE),
                              key_prefix(&c->arena, id, (uint8_t)w->bucket, KIND_CHANGE + 1)};
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

static int drain_items(struct index_drain *w, struct drain *d, const struct page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        bytes key = page->items[i].key;
        bool left;
        int code;

        if (bytes_u8(key)[key.len - 1] != BESIDE_OUTBOX)
            continue;
        code = record_drain(d, key, w->due, &left);
        if (code && code != E_BUSY)
            return code;
        if (code)
            ctx_clear(d->c);
        w->left += code || left;
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
    size_t count = w->table->schema.index_count;
    struct drain d = {.table = w->table};
    struct page page = {0};
    struct ctx c;
    int code;

    ctx_init(&c, w->c->clock, w->c->log, NULL, 0);
    d.c = &c;
    d.indexes = ARENA_ARRAY(&c.arena, struct table *, count);
    memset(d.indexes, 0, count * sizeof(struct table *));
    code = drain_scan(w, &c, &page);
    if (!code)
        code = drain_items(w, &d, &page);
    if (!code)
        drain_go_on(w, &page);
    for (size_t i = 0; i < count; i++)
        if (d.indexes[i])
            table_release(d.indexes[i]);
    if (code)
        fail(w->c, code, "%s", c.text ? c.text : err_info(code)->text);
    ctx_release(&c);
    return code;
}
