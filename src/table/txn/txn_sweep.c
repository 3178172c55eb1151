#include "table/txn/txn_sweep.h"

#include "base/waiter.h"
#include "table/catalog/catalog.h"
#include "table/core/db.h"
#include "table/model/lock_key.h"

#include <stdio.h>

#define STEP_US 200000 /* between two reads of a round */
#define ROUND_US_MIN 1000000
#define ROUND_US_MAX 60000000
#define PAGE_RECORDS 512
#define PAGE_BYTES (1u << 20)

/* ---- where the walk is ---- */

static void sweep_keep(struct txn_sweep *s, bytes at)
{
    void *copy = at.ptr ? memcpy(mem_alloc(at.len), at.ptr, at.len) : NULL;

    mem_free((void *)s->at.ptr);
    s->at = copy ? bytes_of(copy, at.len) : BYTES_NONE;
}

void txn_sweep_release(struct txn_sweep *s)
{
    sweep_keep(s, BYTES_NONE);
}

/* The table to go on with, referenced; NULL: the round is over. */
static struct table *sweep_next(const struct txn_sweep *s, struct arena *a)
{
    struct table **tables, *next = NULL;
    size_t n = catalog_all(s->locks->db->catalog, a, &tables);

    for (size_t i = 0; i < n; i++) {
        uint32_t id = tables[i]->schema.id;

        if (tables[i]->schema.txn_records && (s->at.ptr ? id >= s->table : id > s->table) &&
            (!next || id < next->schema.id)) {
            if (next)
                table_release(next);
            next = tables[i];
        } else {
            table_release(tables[i]);
        }
    }
    return next;
}

/* Where the partition that holds `key` ends, or the key's bucket, if that comes first. */
static bytes piece_end(struct arena *a, const struct table *t, bytes key)
{
    const struct partition_map *m = &t->partitions;
    uint8_t bucket = bytes_u8(key)[4];
    bytes cols = bytes_skip(key, KEY_PREFIX_BYTES), bound = BYTES_NONE;
    size_t low = 0, high = m->count;
    struct buf end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (partition_compare(bucket, cols, partition_at(m, middle)->start) < 0)
            high = middle;
        else
            low = middle + 1;
    }
    if (low < m->count)
        bound = partition_at(m, low)->start;
    if (!bound.len || *bytes_u8(bound) != bucket)
        return key_prefix(a, t->schema.location.id, bucket, KIND_CHANGE + 1);
    buf_init(&end, a, KEY_PREFIX_BYTES + bound.len);
    key_put_prefix(&end, t->schema.location.id, bucket, KIND_CHANGE);
    buf_put_bytes(&end, bytes_skip(bound, 1));
    return buf_bytes(&end);
}

/* What comes behind a piece that was read to its end; ptr NULL: the table is over. */
static bytes piece_after(struct arena *a, const struct table *t, const struct key_range *piece)
{
    size_t next = bytes_u8(piece->start)[4] + 1u;

    if (bytes_u8(piece->end)[KEY_PREFIX_BYTES - 1] == KIND_CHANGE)
        return piece->end;
    return next < t->schema.location.layout.buckets
               ? key_prefix(a, t->schema.location.id, (uint8_t)next, KIND_CHANGE)
               : BYTES_NONE;
}

/* ---- a lock ---- */

struct meeting {
    struct txn_meet meet;
    struct waiter waiter;
};

static void meeting_done(struct txn_meet *m, int code)
{
    waiter_wake(&PORT_CONTAINER(m, struct meeting, meet)->waiter, code);
}

/* Its time is over: it goes, unless somebody was faster. */
static int sweep_lock(struct txn_locks *all, struct ctx *c, const struct table *t, bytes value)
{
    struct meeting m = {
        .meet = {.all = all, .lock = {.c = c, .table = t, .value = value}, .done = meeting_done}};
    int code;

    waiter_init(&m.waiter);
    txn_meet(&m.meet);
    code = waiter_wait(&m.waiter);
    if (code != E_CONFLICT)
        return code;
    ctx_clear(c); /* it is another one's by now */
    return E_OK;
}

static int sweep_record(struct txn_sweep *s, struct ctx *c, const struct table *t,
                        const struct kv *kv)
{
    const struct location *p = &t->schema.location;
    bytes rest = bytes_skip(kv->key, KEY_PREFIX_BYTES);
    bytes value = {rest.ptr, key_columns_length(p->key, rest, 1)};
    struct txn_head head;

    if (!key_is_of_lock(p, kv->key) || rest.len != value.len + 1) /* not a head */
        return E_OK;
    TRY(txn_head_decode(c, kv->value, &head));
    if (txn_lock_is_over(s->locks, &head))
        return sweep_lock(s->locks, c, t, value);
    s->open++;
    return E_OK;
}

/* ---- the task ---- */

/* One read; s->at goes on in any case. */
static int sweep_piece(struct txn_sweep *s, struct ctx *c, const struct table *t, uint64_t *read)
{
    bytes first = key_prefix(&c->arena, t->schema.location.id, 0, KIND_CHANGE);
    bool goes_on = s->at.ptr && bytes_starts(s->at, bytes_of(first.ptr, 4)); /* of its place */
    struct key_range piece = {goes_on ? arena_copy(&c->arena, s->at) : first, BYTES_NONE};
    struct page page = {0};
    struct scan scan = {.view = VIEW_DURABLE,
                        .ranges = &piece,
                        .range_count = 1,
                        .items_max = PAGE_RECORDS,
                        .bytes_max = PAGE_BYTES,
                        .pages = &page};
    int code;

    piece.end = piece_end(&c->arena, t, piece.start);
    s->table = t->schema.id;
    code = route_scan_now(c, t, &scan);
    sweep_keep(s, !code && page.more ? key_after(&c->arena, page.items[page.count - 1].key)
                                     : piece_after(&c->arena, t, &piece));
    for (size_t i = 0; i < page.count && !code; i++) {
        code = sweep_record(s, c, t, &page.items[i]);
        *read += page.items[i].key.len + page.items[i].value.len;
    }
    return code;
}

static int64_t round_pause_us(const struct txn_sweep *s)
{
    int64_t life_us = s->locks->db->limits.transaction_ms_max * 1000;

    return life_us < ROUND_US_MIN ? ROUND_US_MIN : life_us > ROUND_US_MAX ? ROUND_US_MAX : life_us;
}

int txn_sweep_step(void *arg, struct task_step *step)
{
    struct txn_sweep *s = arg;
    struct wr_db *db = s->locks->db;
    int code = E_OK;
    struct table *t;
    struct ctx c;

    ctx_init(&c, &db->clock, &db->log, NULL, 0);
    t = sweep_next(s, &c.arena);
    if (t) {
        code = sweep_piece(s, &c, t, &step->bytes);
        if (code)
            snprintf(step->text, sizeof(step->text), "table '%.*s': %s",
                     BYTES_FMT(t->schema.d.table), c.text ? c.text : err_info(code)->text);
        table_release(t);
        step->next_us = STEP_US;
    } else {
        sweep_keep(s, BYTES_NONE);
        s->table = 0;
        atomic_store(&s->locks->open, s->open);
        s->open = 0;
        step->next_us = round_pause_us(s);
    }
    ctx_release(&c);
    return code;
}
