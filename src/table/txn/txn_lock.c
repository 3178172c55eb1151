#include "table/txn/txn_lock.h"

#include "table/core/clock_watch.h"
#include "table/core/db.h"

#include <xxhash.h>

#define PAGE_RECORDS 2000
#define PAGE_BYTES (1u << 20)
#define MEET_TRIES 10

int txn_fail_conflict(struct ctx *c)
{
    return fail(c, E_CONFLICT, "Data is being modified by the other request.");
}

struct txn_locks *txn_locks_new(struct wr_db *db)
{
    struct txn_locks *locks = mem_zalloc(sizeof(*locks));

    locks->db = db;
    pthread_mutex_init(&locks->lock, NULL);
    return locks;
}

void txn_locks_free(struct txn_locks *locks)
{
    if (!locks)
        return;
    pthread_mutex_destroy(&locks->lock);
    mem_free(locks);
}

/* ---- a batch ---- */

static void write_ask(struct txn_lock_write *w);

static void write_go_on(struct route_wait *wait, int code)
{
    struct txn_lock_write *w = PORT_CONTAINER(wait, struct txn_lock_write, wait);

    if (code)
        w->done(w, code);
    else
        write_ask(w);
}

static void write_applied(void *arg, int code)
{
    struct txn_lock_write *w = arg;

    if (code != E_PARTITION) {
        w->done(w, code);
        return;
    }
    w->wait = (struct route_wait){
        .table = w->table, .key = w->key, .tried = w->batch.partition, .run = write_go_on};
    route_wait(&w->wait);
}

static void write_ask(struct txn_lock_write *w)
{
    w->batch.partition = route_find(w->table, w->key);
    engine_apply(w->c, w->table->db->engine, &w->batch, write_applied, w);
}

void txn_lock_write(struct txn_lock_write *w)
{
    write_ask(w);
}

/* ---- a look ---- */

static void take_rows(struct txn_lock *l, const struct kv *items, size_t count)
{
    struct arena *a = &l->c->arena;

    if (l->row_count + count > l->capacity) {
        struct kv *rows = ARENA_ARRAY(a, struct kv, 2 * (l->row_count + count));

        if (l->row_count)
            memcpy(rows, l->rows, l->row_count * sizeof(*rows));
        l->rows = rows;
        l->capacity = 2 * (l->row_count + count);
    }
    for (size_t i = 0; i < count; i++)
        l->rows[l->row_count++] = items[i];
}

/* The page's items: the head is the first of all. */
static int look_take(struct txn_lock *l)
{
    const struct kv *items = l->page.items;
    size_t count = l->page.count;

    if (!count)
        return E_OK;
    if (!l->held) {
        if (!bytes_equal(items->key,
                         txn_head_key(&l->c->arena, &l->table->schema.location, l->value)))
            return fail(l->c, E_CORRUPT, "a transaction's records have no head");
        TRY(txn_head_decode(l->c, items->value, &l->head));
        l->held = true;
        l->stored = items->value;
        items++;
        count--;
    }
    take_rows(l, items, count);
    return E_OK;
}

static int look_go(struct txn_lock *l);

static void look_done(struct scan *s)
{
    struct txn_lock *l = PORT_CONTAINER(s, struct txn_lock, scan);
    int code = s->code ? s->code : look_take(l);

    if (!code && l->page.more && l->whole) {
        l->range.start = key_after(&l->c->arena, l->page.items[l->page.count - 1].key);
        code = look_go(l);
        if (code == E_LATER)
            return;
    }
    l->done(l, code);
}

static int look_go(struct txn_lock *l)
{
    int code = E_OK;

    do {
        if (l->page.count)
            l->range.start = key_after(&l->c->arena, l->page.items[l->page.count - 1].key);
        l->page = (struct page){0};
        l->scan = (struct scan){.view = VIEW_DURABLE,
                                .ranges = &l->range,
                                .range_count = 1,
                                .items_max = PAGE_RECORDS,
                                .bytes_max = PAGE_BYTES,
                                .pages = &l->page,
                                .done = look_done};
        code = route_scan(l->c, l->table, &l->scan);
        if (!code)
            code = look_take(l);
    } while (!code && l->page.more && l->whole);
    return code;
}

void txn_lock_look(struct txn_lock *l)
{
    struct arena *a = &l->c->arena;
    int code;

    l->held = false;
    l->rows = NULL;
    l->row_count = l->capacity = 0;
    l->page = (struct page){0};
    l->range = txn_records(a, &l->table->schema.location, l->value);
    if (!l->whole)
        l->range.end = key_after(a, l->range.start);
    code = look_go(l);
    if (code != E_LATER)
        l->done(l, code);
}

void txn_lock_remove(const struct txn_lock *l, struct write_batch *b, struct guard *guard)
{
    struct arena *a = &l->c->arena;
    struct edit *edits = ARENA_ARRAY(a, struct edit, l->row_count + 1);
    bytes key = txn_head_key(a, &l->table->schema.location, l->value);

    *guard = (struct guard){key, l->stored, false};
    edits[0] = (struct edit){EDIT_DELETE, key, BYTES_NONE};
    for (size_t i = 0; i < l->row_count; i++)
        edits[i + 1] = (struct edit){EDIT_DELETE, l->rows[i].key, BYTES_NONE};
    *b = (struct write_batch){
        .guards = guard, .guard_count = 1, .edits = edits, .edit_count = l->row_count + 1};
}

/* ---- its time ---- */

static int64_t first_seen_ms(struct txn_locks *all, bytes id, int64_t now_ms)
{
    struct txn_seen *seen = &all->seen[XXH3_64bits(id.ptr, id.len) % TXN_SEEN];
    int64_t first_ms;

    pthread_mutex_lock(&all->lock);
    if (memcmp(seen->id, id.ptr, TXN_ID_BYTES) != 0) {
        memcpy(seen->id, id.ptr, TXN_ID_BYTES);
        seen->first_ms = now_ms;
    }
    first_ms = seen->first_ms;
    pthread_mutex_unlock(&all->lock);
    return first_ms;
}

/* Is it over by the clocks of two servers? What they are apart is no part of its life. */
static bool is_over_by_wall(struct wr_db *db, const struct txn_head *head, int64_t life_ms)
{
    int64_t spread_ms = clock_watch_spread_ms(db);

    return spread_ms >= 0 &&
           db_clock_peek(db) / 1000 - head->begun_ms >= life_ms + ENGINE_LEASE_MS + spread_ms;
}

bool txn_lock_is_over(struct txn_locks *all, const struct txn_head *head)
{
    int64_t life_ms = all->db->limits.transaction_ms_max;
    int64_t now_ms = clock_mono_ms(&all->db->clock);

    return now_ms - first_seen_ms(all, head->id, now_ms) >= life_ms ||
           is_over_by_wall(all->db, head, life_ms);
}

/* ---- who meets it ---- */

static void meet_look(struct txn_meet *m, bool whole);

static void meet_erased(struct txn_lock_write *w, int code)
{
    struct txn_meet *m = PORT_CONTAINER(w, struct txn_meet, write);

    if (code == E_GUARD && ++m->tries < MEET_TRIES) { /* its owner, or somebody else who met it */
        meet_look(m, false);
        return;
    }
    if (!code) {
        atomic_fetch_add(&m->all->expired, 1);
        m->done(m, E_OK);
        return;
    }
    m->done(m, code == E_GUARD ? txn_fail_conflict(m->lock.c)
                               : fail(m->lock.c, code, "%s", err_info(code)->text));
}

static void meet_erase(struct txn_meet *m)
{
    m->write = (struct txn_lock_write){
        .c = m->lock.c, .table = m->lock.table, .key = m->lock.range.start, .done = meet_erased};
    txn_lock_remove(&m->lock, &m->write.batch, &m->guard);
    m->write.key = m->guard.key;
    txn_lock_write(&m->write);
}

static int meet_refuse(struct txn_meet *m)
{
    atomic_fetch_add(&m->all->refused, 1);
    return txn_fail_conflict(m->lock.c);
}

static void meet_looked(struct txn_lock *l, int code)
{
    struct txn_meet *m = PORT_CONTAINER(l, struct txn_meet, lock);

    if (code)
        m->done(m, l->c->code ? code : fail(l->c, code, "%s", err_info(code)->text));
    else if (m->own.ptr)
        m->done(m, l->held && bytes_equal(l->stored, m->own) ? E_OK : fail_code(l->c, E_SESSION));
    else if (!l->held)
        m->done(m, E_OK);
    else if (!txn_lock_is_over(m->all, &l->head))
        m->done(m, meet_refuse(m));
    else if (!l->whole)
        meet_look(m, true);
    else
        meet_erase(m);
}

static void meet_look(struct txn_meet *m, bool whole)
{
    m->lock.whole = whole;
    m->lock.done = meet_looked;
    txn_lock_look(&m->lock);
}

void txn_meet(struct txn_meet *m)
{
    m->tries = 0;
    meet_look(m, false);
}
